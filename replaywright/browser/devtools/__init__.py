"""Chromium's DevTools protocol: connections, tabs, and what the browser says without being asked."""

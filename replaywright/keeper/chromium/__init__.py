"""Chromium in a keeper's care: its process, its DevTools shared among clients, its window lent to a person."""

"""Notices to people: what happened, who is told of it, and when."""

"""Narrow protocols of what the activities need from the world; adapters implement them, `testing` fakes them."""

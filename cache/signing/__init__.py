"""Signed content of what is kept in Redis."""

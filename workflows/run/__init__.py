"""A run as others see it: board, queries, updates, search attributes, and its end."""

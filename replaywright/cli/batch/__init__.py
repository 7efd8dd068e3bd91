"""Batches: a task over the rows of a file."""

"""Runs: starting them, following them to their end, listing and showing them, going on after them."""

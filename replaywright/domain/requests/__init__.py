"""Requests behind the steps of a run: derived from page runs, replayed without a page."""

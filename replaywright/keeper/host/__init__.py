"""Keepers on one host: starting and finding them, their places, their processes and their users."""

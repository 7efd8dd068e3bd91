"""Whole runs in activities: going on after another run, people, and what a finished run leaves behind."""

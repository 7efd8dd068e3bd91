"""Schedules: runs that a clock starts."""

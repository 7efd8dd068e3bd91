"""Batches and schedules: rows, their runs, and firing times. Above `trace`."""

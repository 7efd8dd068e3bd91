"""Batches and schedules: rows, their runs, and when a schedule fires. Above `trace`."""

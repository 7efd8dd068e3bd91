"""Batches in activities: rows read, runs watched, ends kept."""

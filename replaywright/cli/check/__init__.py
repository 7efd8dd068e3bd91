"""Checks: skills that a pipeline replays."""

"""Effective policy of a run: the operator's file joined with the task's own. Above `proof`."""

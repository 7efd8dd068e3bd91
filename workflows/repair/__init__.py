"""Repairs of a step that failed, in their fixed order."""

"""Recall: from a sentence to a skill and its values, or to none. Above `run`."""

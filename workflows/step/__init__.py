"""One step in the workflow: its attempts, what follows from their outcome, doubts, lists and conditions."""

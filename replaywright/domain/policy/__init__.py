"""The policy that holds for a run: the operator's file joined with the task's own. Above `proof`."""

"""Tasks, steps, policies and budgets as people write them. Above `predicate` and `session`."""

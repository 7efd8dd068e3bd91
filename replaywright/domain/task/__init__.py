"""What people write: tasks, steps, policies and budgets. Above `predicate` and `session`."""

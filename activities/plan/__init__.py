"""Planning in activities: pages read for a planner, goals, plans and element choices, each a call of a model."""

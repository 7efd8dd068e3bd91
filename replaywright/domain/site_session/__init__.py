"""Site sessions: named signed-in states that tasks share."""

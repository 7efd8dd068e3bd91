"""Finding the recorded element again: identity, likeness, wording, rows, and the decision. Above `step`."""

"""Locating of the recorded element: identity, likeness, wording, rows, and the decision. Above `step`."""

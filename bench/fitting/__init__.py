"""Weights of the table of evidence, fitted on pages of which the right element is known."""

"""Evidence of a run: steps, artifacts, report and trace."""

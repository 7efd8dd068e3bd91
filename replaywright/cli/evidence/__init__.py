"""What is kept of a run: its steps, artifacts, report and trace."""

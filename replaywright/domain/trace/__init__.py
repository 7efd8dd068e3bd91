"""Reading of runs: trace, histories, audit, and the view for reports. Above `recall`."""

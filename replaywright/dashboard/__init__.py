"""The dashboard: runs, skills, inbox and cache as pages of a server on loopback, and a run's browser to take over."""

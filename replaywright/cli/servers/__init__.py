"""The servers that commands use: where Temporal and Redis are, and what a request to them carries."""

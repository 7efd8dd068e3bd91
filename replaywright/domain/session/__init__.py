"""A browser session: its identity, its network policy and its guard. Above `common`."""

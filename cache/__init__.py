"""Redis: ledger, action cache and trace. The one place that imports the Redis library."""

"""Browser sessions in activities: opened, adopted, left and closed; their checkpoints and their network policy."""

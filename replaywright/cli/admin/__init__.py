"""Commands of operators: `replaywright admin`."""

"""`replaywright record`: a demonstration, or another tool's recording, becomes a task."""

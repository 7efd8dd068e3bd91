"""What operators need rarely: `replaywright admin`."""

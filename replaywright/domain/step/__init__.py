"""One step at work: fingerprints, checkpoints, overrides, grants and the outcome. Above `task`."""

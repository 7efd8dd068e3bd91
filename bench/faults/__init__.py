"""One mail under faults, by Replaywright, a Playwright script and other tools; see `python -m bench.faults -h`."""

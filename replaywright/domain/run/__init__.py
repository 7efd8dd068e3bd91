"""Runs: what crosses between caller, workflow and activities, and how a run stands. Above `plan`."""

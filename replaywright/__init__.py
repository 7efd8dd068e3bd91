"""Replaywright learns a browser task once with a model and replays it without one."""

__version__ = "0.1.0"

"""Gathers the commands: importing a module of commands registers them."""

from replaywright.cli import artifacts, cache, demo, doctor, run, runs, schema, up
from replaywright.cli.app import app

__all__ = ["COMMANDS", "app"]

COMMANDS = (demo, doctor, up, run, runs, artifacts, cache, schema)
"""Imported for what they register."""

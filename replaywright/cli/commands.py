"""Gathers the commands: importing a module of commands registers them."""

from replaywright.cli import artifacts, cache, demo, doctor, overrides, resume, run, runs, schema, trace, up
from replaywright.cli.app import app

__all__ = ["COMMANDS", "app"]

COMMANDS = (demo, doctor, up, run, resume, runs, artifacts, cache, overrides, trace, schema)
"""Imported for what they register."""

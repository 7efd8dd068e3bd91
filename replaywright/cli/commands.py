"""The whole command line: every command is registered once this module is imported."""

from replaywright.cli.app import app, load

__all__ = ["app"]

load()

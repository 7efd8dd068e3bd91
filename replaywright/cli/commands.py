"""Gathers the commands: importing a module of commands registers them."""

from replaywright.cli import (
    answer,
    artifacts,
    cache,
    codec_server,
    demo,
    doctor,
    importing,
    inbox,
    keys,
    overrides,
    policy,
    recall,
    resume,
    run,
    runs,
    schema,
    secrets,
    skill_changes,
    skill_run,
    skills,
    steer,
    takeover,
    trace,
    up,
)
from replaywright.cli.app import app

__all__ = ["COMMANDS", "app"]

COMMANDS = (
    *(demo, doctor, up, run, resume, runs, inbox, answer, steer, takeover, recall, skills, skill_run, skill_changes),
    *(artifacts, cache, overrides, policy, keys, codec_server, trace, importing, schema, secrets),
)
"""Imported for what they register."""

"""Gathers the commands: importing a module of commands registers them."""

from replaywright.cli import (
    answer,
    artifacts,
    batch,
    cache,
    check,
    codec_server,
    dashboard,
    demo,
    doctor,
    export,
    hosts,
    importing,
    inbox,
    keys,
    overrides,
    policy,
    recall,
    report,
    resume,
    run,
    runs,
    schedule,
    schema,
    secrets,
    skill_changes,
    skill_run,
    skills,
    steer,
    takeover,
    trace,
    up,
    versions,
)
from replaywright.cli.app import app

__all__ = ["COMMANDS", "app"]

COMMANDS = (
    *(demo, doctor, up, versions, run, resume, runs, schedule, dashboard, inbox, answer, steer, takeover, recall),
    *(batch, check, skills, skill_run, skill_changes),
    *(
        artifacts,
        report,
        cache,
        overrides,
        policy,
        hosts,
        keys,
        codec_server,
        trace,
        importing,
        export,
        schema,
        secrets,
    ),
)
"""Imported for what they register."""

"""Gathers the commands: importing a module of commands registers them."""

from replaywright.cli.admin import cache, codec_server, hosts, keys, overrides, policy, schema, secrets, versions
from replaywright.cli.app import app
from replaywright.cli.batch import batch
from replaywright.cli.check import check
from replaywright.cli.evidence import artifacts, report, trace
from replaywright.cli.local import dashboard, demo, doctor, up
from replaywright.cli.people import answer, inbox, steer, takeover
from replaywright.cli.runs import resume, run, runs
from replaywright.cli.schedule import schedule
from replaywright.cli.skills import export, recall, skill_changes, skill_run, skills
from replaywright.cli.tasks import importing

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

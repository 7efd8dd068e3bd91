"""`replaywright skills script`: a skill as a script that runs without Replaywright."""

import os
from collections.abc import Sequence
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.completion import tasks_or_skills
from replaywright.cli.files import write_new
from replaywright.cli.options import Force, Json, ValueOptions, Version
from replaywright.cli.servers.store import open_or_start_store
from replaywright.cli.skills.elements import read_skills
from replaywright.cli.skills.skill_store import require_no_secrets, require_unredacted
from replaywright.cli.skills.skills import skills_app
from replaywright.cli.tasks.goal import is_file
from replaywright.cli.tasks.taskfile import read_parameters
from replaywright.domain.skill.entries import EntryInfo
from replaywright.domain.skill.recorded import RecordedElement, entries_of
from replaywright.domain.skill.skills import Skill
from replaywright.domain.task.tasks import bind_parameters
from replaywright.errors import InputInvalid
from replaywright.export import Exported, Format, Recordings, exported
from replaywright.settings import load_settings
from replaywright.vault.environment import EnvironmentSecrets


@skills_app.command("script")
async def write_script(
    *,
    name: Annotated[
        str,
        typer.Argument(metavar="SKILL", help="Name of the skill, or a file with one.", autocompletion=tasks_or_skills),
    ],
    form: Annotated[Format, typer.Option("--format", help="What to write.")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="`-` is standard output.")] = "-",
    force: Force = False,
    version: Version = None,
    given: ValueOptions,
    json: Json = False,
) -> None:
    """Write a skill as a script that needs Playwright only, or as a recording for DevTools (`devtools`).

    Parameters become arguments (of tests: environment variables), secrets are taken from the environment by name,
    conditions become assertions. Parts that cannot be expressed are listed; actions that cannot be done are refused.

    Example: `replaywright skills script send-mail --format python --out send_mail.py`
    """
    if json and out == "-":
        raise InputInvalid("--json and --out - both want standard output; name a file for the script")
    given_values = read_parameters(given.param or [], given.params)
    if given_values and form is not Format.DEVTOOLS:
        raise InputInvalid(f"--param: a script of --format {form.value} takes its parameters when it is run")
    if version is not None and is_file(name):
        raise InputInvalid("--version: a task file has no versions; leave it out")
    skill, recordings = await _found(name, version)
    require_no_secrets([skill])
    values = bind_parameters(skill.task, given_values) if form is Format.DEVTOOLS else {}
    script = exported(skill, recordings, form, values)
    redacted = EnvironmentSecrets(os.environ, load_settings().home).redact(script.text)
    require_unredacted(f"the script of {skill.name!r} would hold", script.text, redacted)
    write_new(out, script.text, force=force)
    _print(skill, script, form, out, json=json)


async def _found(name: str, version: int | None) -> tuple[Skill, Recordings]:
    """Return the skill and the recordings of its steps."""
    written, elements = _written(name) if is_file(name) else (None, ())
    async with open_or_start_store(load_settings()) as store:
        skill = written or await store.knowledge.skill(name, version)
        entries = await store.steps.entries(tenant=store.tenant)
    carried = entries_of(skill.task, elements, store.tenant, "", skill.name)
    entries += [EntryInfo(content_key=entry.content_key, entry=entry, versions=1) for entry in carried]
    return skill, Recordings(store.tenant, entries, skill.name, skill.site, skill.context.device)


def _written(path: str) -> tuple[Skill, Sequence[RecordedElement]]:
    """Read the skill of a task file or of a file with one skill, with its elements."""
    found = read_skills([path])
    if len(found) > 1:
        raise InputInvalid(f"{path}: it holds {len(found)} skills, and one is exported: import them, and name one")
    return found[0].skill, found[0].elements


def _print(skill: Skill, script: Exported, form: Format, out: str, *, json: bool) -> None:
    console = output.standard_error() if out == "-" else output.standard_output()
    if json:
        payload = {"skill": skill.name, "version": skill.version, "format": form.value, "file": out}
        output.print_json({**payload, "secrets": list(skill.task.secrets), "warnings": list(script.warnings)})
        return
    for warning in script.warnings:
        output.warn(f"warning: {warning}")
    if out != "-":
        output.print_line(f"{out}: {output.count(len(skill.task.steps), 'step')} of {skill.name}", style="green")
    if form is Format.DEVTOOLS and skill.task.secrets:
        names = ", ".join("{{secret:" + name + "}}" for name in skill.task.secrets)
        message = f"the format has no secrets: {names} stands where one belongs; put it in when you run it"
        output.print_line(message, console=console)

"""`replaywright skills`: looking at what was learned, and taking it elsewhere."""

import difflib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.completion import skills
from replaywright.cli.files import write
from replaywright.cli.groups import SortedCommands
from replaywright.cli.options import Json, SkillName, Version
from replaywright.cli.servers.store import open_or_start_store
from replaywright.cli.skills.elements import elements_of, unknown_steps
from replaywright.cli.skills.skill_store import KnowledgeBase, as_yaml, require_no_secrets, yaml_of
from replaywright.domain.skill.skill_files import written_file
from replaywright.domain.skill.skills import Rate, Skill, SkillRecord, SkillStatistics, SkillStatus
from replaywright.domain.skill.weak_steps import StepRate
from replaywright.domain.task.tasks import Parameter
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings

_STYLES = {
    SkillStatus.ACTIVE: "green",
    SkillStatus.CANDIDATE: "cyan",
    SkillStatus.SUSPECT: "yellow",
    SkillStatus.RETIRED: "dim",
}

skills_app = app.group(
    "skills",
    "Look at what was learned, run it by name, mend it, forget it, or take it elsewhere.",
    "replaywright skills list",
    cls=SortedCommands,
)


class SkillFormat(StrEnum):
    """Formats of a file of skills."""

    YAML = "yaml"
    JSON = "json"


@skills_app.command("list")
async def list_skills(
    site: Annotated[
        str | None, typer.Option("--site", metavar="TEXT", help="Only those of sites whose address contains this.")
    ] = None,
    status: Annotated[SkillStatus | None, typer.Option("--status", help="Only those with this status.")] = None,
    json: Json = False,
) -> None:
    """List the skills: status, site, version, success rate of the last runs, last success.

    Example: `replaywright skills list`
    """
    async with open_or_start_store(load_settings()) as store:
        base = store.knowledge
        found = await base.skills.all(base.tenant)
        statistics = await base.skills.statistics(base.tenant, found)
    shown = [
        (skill, statistics[skill.name])
        for skill in found
        if (site is None or site.lower() in skill.site) and status in (None, skill.status)
    ]
    numbers = ("version", "succeeded")
    output.print_list(
        {"skills": [_listed(*each) for each in shown]},
        ("name", "status", "site", *numbers, "last success", "what"),
        [
            (
                *(skill.name, Text(skill.status.value, style=_STYLES[skill.status]), skill.site or "anywhere"),
                *(skill.version, _percent(went.runs), output.time_text(went.last_success), skill.label),
            )
            for skill, went in shown
        ],
        json=json,
        nothing="no skill is like that"
        if found
        else "there are no skills yet: `replaywright skills import FILE` takes one over",
        right=numbers,
    )


@skills_app.command("show")
async def show_skill(
    name: SkillName,
    version: Version = None,
    json: Json = False,
) -> None:
    """Show a skill: steps with success rates, parameters, sentences, history.

    Example: `replaywright skills show send-mail`
    """
    async with open_or_start_store(load_settings()) as store:
        record = await store.knowledge.shown(name, version)
    if json:
        output.print_json(record.model_dump(mode="json", by_alias=True))
        return
    for line in _shown(record):
        output.print_line(line)


@skills_app.command("diff")
async def diff_versions(
    name: SkillName,
    old: Annotated[int | None, typer.Argument(metavar="OLD", help="Version; without it, the one before NEW.")] = None,
    new: Annotated[int | None, typer.Argument(metavar="NEW", help="Version; without it, the newest.")] = None,
    json: Json = False,
) -> None:
    """Show the differences between two versions of a skill.

    Example: `replaywright skills diff send-mail 1 2`
    """
    async with open_or_start_store(load_settings()) as store:
        first, second = await _two(store.knowledge, name, old, new)
    lines = list(differences(first, second))
    if json:
        output.print_json({"old": first.version, "new": second.version, "diff": lines})
        return
    if not lines:
        output.print_line(f"versions {first.version} and {second.version} say the same")
    print_diff(lines)


@skills_app.command("export")
async def export_skills(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Skills; without one, all that are not retired.", autocompletion=skills
        ),
    ] = None,
    to: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="`-`: standard output.")] = "-",
    form: Annotated[
        SkillFormat | None, typer.Option("--format", help="Without it: by the file's ending, else YAML.")
    ] = None,
    elements: Annotated[
        bool,
        typer.Option(
            "--elements",
            help="Include the learned elements of the steps, so that the file can be replayed elsewhere.",
        ),
    ] = False,
) -> None:
    """Write skills to a file that `skills import` reads: steps, parameters, sentences; secrets by name only.

    The same skills always make the same file. With `--elements` it is all that `replaywright check` needs.

    Example: `replaywright skills export send-mail -o send-mail.yaml`

    Example: `replaywright skills export send-mail --elements -o checks/send-mail.yaml`
    """
    async with open_or_start_store(load_settings()) as store:
        skills = await _chosen(store.knowledge, names or [])
        found = await elements_of(store.steps, store.tenant, skills) if elements else {}
    require_no_secrets(skills, found)
    data = written_file(skills, found)
    as_json = form is SkillFormat.JSON or (form is None and Path(to).suffix.lower() == ".json")
    text = output.json_text(data) if as_json else yaml_of(data)
    write("--output", to, text)
    if to == "-":
        return
    output.print_line(f"{output.count(len(skills), 'skill')} written to {to}", style="green")
    for skill in skills if elements else ():
        for title in unknown_steps(skill, found.get(skill.name, ())):
            message = (
                f"{skill.name}: nothing that a run has verified is recorded for `{title}`: run it once with a model, "
                "with conditions under `verify`, then export it again"
            )
            output.warn(message)


# --------------------------------------------------------------------------------------------- reading


async def _two(base: KnowledgeBase, name: str, old: int | None, new: int | None) -> tuple[Skill, Skill]:
    versions = (await base.record(name)).versions
    newer = versions[-1] if new is None else new
    before = [version for version in versions if version < newer]
    if old is None and not before:
        raise InputInvalid(f"skill {name!r} has no version before {newer}: there is nothing to compare it with")
    return await base.skill(name, before[-1] if old is None else old), await base.skill(name, newer)


async def _chosen(base: KnowledgeBase, names: Sequence[str]) -> list[Skill]:
    """Return the named skills; without names, all that are not retired."""
    if names:
        return [await base.skill(name) for name in dict.fromkeys(names)]
    found = [skill for skill in await base.skills.all(base.tenant) if skill.status is not SkillStatus.RETIRED]
    if not found:
        raise InputInvalid("there is no skill to export; `replaywright skills list` lists them")
    return found


# --------------------------------------------------------------------------------------------- showing


def differences(old: Skill, new: Skill) -> Iterator[str]:
    """Compare two versions, as a unified diff of what a file would hold."""
    return difflib.unified_diff(
        as_yaml(old).splitlines(),
        as_yaml(new).splitlines(),
        f"{old.name} version {old.version} ({old.status.value})",
        f"{new.name} version {new.version} ({new.status.value})",
        lineterm="",
    )


def print_diff(lines: Sequence[str]) -> None:
    """Print a unified diff with its indentation."""
    for line in lines:
        sign, rest = line[:1], line[1:]
        indent = " " * (len(rest) - len(rest.lstrip(" ")))
        output.print_line_as_is(sign + indent + output.plain(rest))


def _listed(skill: Skill, statistics: SkillStatistics) -> dict[str, Any]:
    return {
        "name": skill.name,
        "label": skill.label,
        "status": skill.status.value,
        "site": skill.site,
        "version": skill.version,
        "origin": skill.origin,
        "successRate": statistics.runs.rolling,
        "runs": statistics.runs.model_dump(mode="json", by_alias=True),
        "lastSuccess": statistics.last_success or None,
        "lastFailure": statistics.last_failure or None,
    }


def _shown(record: SkillRecord) -> Iterator[str]:
    skill, statistics = record.skill, record.statistics
    task = skill.task
    yield f"{skill.name}: {skill.label or skill.description or 'no label'}"
    others = [version for version in record.versions if version != skill.version]
    more = f", others: {', '.join(map(str, others))}" if others else ""
    yield f"  version {skill.version} is {skill.status.value} ({skill.origin}, {output.time_text(skill.created)}{more})"
    if skill.description and skill.description != skill.label:
        yield f"  {skill.description}"
    yield f"  site: {skill.site or 'anywhere'}"
    if task.url:
        yield f"  begins at: {task.url}"
    yield f"  runs: {_runs_text(statistics)}"
    if skill.patterns:
        yield "  sentences:"
        yield from (f"    {pattern}" for pattern in skill.patterns)
    if skill.near_misses:
        yield "  sentences that do not mean it:"
        yield from (f"    {each}" for each in skill.near_misses)
    if task.parameters:
        yield "  parameters:"
        yield from (f"    {name}: {_parameter(parameter)}" for name, parameter in task.parameters.items())
    if task.secrets:
        yield f"  secrets: {', '.join(task.secrets)}"
    yield "  steps:"
    for index, step in enumerate(task.steps):
        rate = statistics.steps.get(index)
        went = "" if rate is None else f" ({_percent(rate)} of the last {len(rate.recent)}{_weak(rate)})"
        yield f"    {index + 1}. {step.title}{went}"
    yield f"  verified at the end: {output.count(len(task.verify), 'condition')}"
    if skill.note:
        yield f"  note: {skill.note}"
    yield "  history:"
    for change in record.history:
        why = f": {change.reason}" if change.reason else ""
        what = f"version {change.version} {change.what} by {change.who or 'unknown'}"
        yield f"    {output.time_text(change.at)} {what}{why}"


def _runs_text(statistics: SkillStatistics) -> str:
    runs = statistics.runs
    if not runs.recent:
        return "none yet"
    total = runs.succeeded + runs.failed
    message = f"{runs.succeeded} of {total} succeeded, {_percent(runs)} of the last {len(runs.recent)}"
    message += f"; last success {output.time_text(statistics.last_success)}" if statistics.last_success else ""
    return message + (f"; last failure {output.time_text(statistics.last_failure)}" if statistics.last_failure else "")


def _parameter(parameter: Parameter) -> str:
    parts = [parameter.type, *([f"one of {', '.join(parameter.choices)}"] if parameter.choices else [])]
    parts += [parameter.description] if parameter.description else []
    parts += [f"for example {parameter.example!r}"] if parameter.example else []
    parts += [f"default {parameter.default!r}"] if parameter.default is not None else []
    return ", ".join(parts)


def _weak(rate: Rate) -> str:
    """Describe a step's failure rate by the thresholds of runs."""
    weak = StepRate(done=sum(rate.recent), of=len(rate.recent))
    return ": fails too often" if weak.asks else ": fails often" if weak.warns else ""


def _percent(rate: Rate) -> str:
    return "" if rate.rolling is None else f"{100 * rate.rolling:.0f} %"

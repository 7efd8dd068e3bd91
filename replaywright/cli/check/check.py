"""`replaywright check`: replay skills in a pipeline, and say which still hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from replaywright.cli import output
from replaywright.cli.app import app
from replaywright.cli.check.check_input import (
    CheckedSkill,
    Given,
    Selection,
    moved,
    of_store,
    read_given,
    selected,
    until_commit,
)
from replaywright.cli.check.checking import Checking
from replaywright.cli.command import Exit
from replaywright.cli.completion import tasks_or_skills
from replaywright.cli.files import require_writable, write
from replaywright.cli.interrupts import ENDING, interrupts
from replaywright.cli.options import Json, ValueOptions
from replaywright.cli.servers.connect import Backend, open_scratch_backend, open_working_backend
from replaywright.cli.servers.store import open_store
from replaywright.cli.skills.elements import elements_of, read_skills, take_over
from replaywright.cli.tasks import taskfile
from replaywright.domain.common.templates import fill
from replaywright.domain.skill.recorded import entries_of
from replaywright.domain.task.steps import Goto
from replaywright.domain.trace.checks import BEGINNING, SkillCheck
from replaywright.domain.trace.junit import junit_xml
from replaywright.errors import InputInvalid
from replaywright.settings import Settings, load_settings

_MARKS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "error": ("!", "yellow"), "skipped": ("–", "dim")}


@dataclass(frozen=True)
class CheckOptions:
    """Options for the selection of skills, the site, and the last step."""

    every: Annotated[bool, typer.Option("--all", help="All skills of the knowledge base that are not retired.")] = False
    label: Annotated[
        str, typer.Option("--label", metavar="PATTERN", help="Skills of the knowledge base, by label (`*mail*`).")
    ] = ""
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", help="Check on this site instead of the one in the skills: a preview."),
    ] = None
    to_commit: Annotated[
        bool, typer.Option("--until-commit", help="Stop before the first step that changes something for good.")
    ] = False
    parallel: Annotated[
        int, typer.Option("--parallel", metavar="N", min=1, max=32, help="Skills that are replayed in parallel.")
    ] = 1


@dataclass(frozen=True)
class ReportOptions:
    """Options for the output of results."""

    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML; `-` is standard output.")
    ] = None
    reports: Annotated[
        Path | None,
        typer.Option(
            "--reports",
            metavar="FOLDER",
            help="Write the report of each run into this folder: SKILL.html, with pictures.",
        ),
    ] = None
    json: Json = False


@app.command()
async def check(
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE|SKILL]...",
            help="Files of skills (`skills export --elements`) or tasks; or skills of the knowledge base, by name or "
            "pattern (`send-*`).",
            autocompletion=tasks_or_skills,
        ),
    ] = None,
    choice: CheckOptions,
    given: ValueOptions,
    reporting: ReportOptions,
) -> None:
    """Replay skills without healing and without a model, for pipelines: do they still work as learned?

    A check performs the skill on the site: give it values for tests, or `--until-commit`. Files are checked on empty
    servers, which are started unless addresses are configured. Values that are not given are the parameters' defaults,
    else their examples; in the file of `--params`, values under a skill's name are for it alone. Secrets come from the
    environment as for `run`.

    Exit status: 0 all passed, 1 one failed (one that waits for a person, too), 2 bad input, 5 none failed and one was
    blocked by the policy, 130 interrupted.

    Example: `replaywright check checks/*.yaml --param base_url=http://127.0.0.1:8025 --junit results/checks.xml`

    Example: `replaywright check "send-*" --params checks/values.yaml --until-commit`
    """
    junit, reports = reporting.junit, reporting.reports
    if reporting.json and junit == "-":
        raise InputInvalid("--json and --junit - both want standard output; name a file for the XML")
    for option, path in (("--junit", None if junit in (None, "-") else Path(str(junit))), ("--reports", reports)):
        require_writable(option, path, is_folder=path is reports)
    selection = selected(what or [], choice.label, every=choice.every)
    console = output.for_people(json=reporting.json or junit == "-")
    asked = _Asked(load_settings(), console, read_given(given.param or [], given.params), choice, reporting)
    checks, interrupted = await (_of_files(asked, selection) if selection.files else _of_store(asked, selection))
    status = Exit.INTERRUPTED if interrupted else exit_status(checks)
    _print(checks, console)
    if reporting.json:
        parts = [each.model_dump(mode="json", by_alias=True) for each in checks]
        output.print_json({"checks": parts, "exitStatus": int(status)})
    raise typer.Exit(status)


def exit_status(checks: Sequence[SkillCheck]) -> Exit:
    """Return the exit status for the results of the checks."""
    unmet = [each for each in checks if each.verdict != "passed"]
    if not unmet:
        return Exit.DONE
    return Exit.BLOCKED if all(each.is_blocked for each in unmet) else Exit.FAILED


@dataclass(frozen=True)
class _Asked:
    """Request of the caller without the skills."""

    settings: Settings
    console: Console
    given: Given
    choice: CheckOptions
    reporting: ReportOptions

    def tell(self, text: str) -> None:
        """Print a progress message."""
        output.print_line(text, style="dim", console=self.console)

    def wanted(self, found: Sequence[CheckedSkill]) -> list[CheckedSkill]:
        """Return the skills with values, on the right site, and cut where `--until-commit` says.

        Raises:
            InputInvalid: a value, or the site, does not fit.
        """
        self.given.require_used([each.task for each in found])
        wanted = [replace(each, values=self.given.values_of(each.task)) for each in found]
        wanted = wanted if self.choice.url is None else moved(wanted, self.choice.url)
        return [until_commit(each) for each in wanted] if self.choice.to_commit else wanted


async def _of_files(asked: _Asked, selection: Selection) -> tuple[list[SkillCheck], bool]:
    """Check the skills of files on empty servers; return the results, and whether it was interrupted."""
    found = [CheckedSkill(each.skill.task, {}, each.elements, each.source) for each in read_skills(selection.files)]
    wanted = asked.wanted(found)
    if asked.settings.temporal_address is None:
        _require_secrets(wanted, asked.settings)
    async with open_scratch_backend(asked.settings, tell=asked.tell) as here:
        async with open_store(here.settings) as store:
            for each in wanted:
                entries = entries_of(each.task, each.elements, store.tenant, _begins_at(each), each.task.task)
                await take_over(store.steps, store.tenant, entries)
        return await _performed(asked, here, wanted)


async def _of_store(asked: _Asked, selection: Selection) -> tuple[list[SkillCheck], bool]:
    """Check skills of the knowledge base; return the results, and whether it was interrupted."""
    async with open_working_backend(asked.settings, tell=asked.tell) as here:
        async with open_store(here.settings) as store:
            skills = await of_store(selection, store.knowledge)
            elements = await elements_of(store.steps, store.tenant, skills)
        wanted = asked.wanted([CheckedSkill(skill.task, {}, tuple(elements[skill.name])) for skill in skills])
        if here.how != "configured":
            _require_secrets(wanted, here.settings)
        return await _performed(asked, here, wanted)


async def _performed(asked: _Asked, here: Backend, wanted: Sequence[CheckedSkill]) -> tuple[list[SkillCheck], bool]:
    skills = output.count(len(wanted), "skill")
    output.print_line(f"checking {skills}: no model, no healing", style="bold", console=asked.console)
    async with open_store(here.settings) as store:
        checking = Checking(
            here, store.steps, asked.choice.parallel, lambda check: _say(check, asked.console), asked.reporting.reports
        )

        def stop() -> None:
            asked.tell("stopping: what was begun is cancelled, what is known is written")
            checking.stopping.set()

        with interrupts(stop, *ENDING):
            checks = await checking.perform(wanted)
    if asked.reporting.junit is not None:
        write("--junit", asked.reporting.junit, junit_xml(checks).decode())
    return checks, checking.stopping.is_set()


def _begins_at(wanted: CheckedSkill) -> str:
    first = wanted.task.steps[0]
    return fill(wanted.task.url or (first.url if isinstance(first, Goto) else ""), wanted.values)


def _require_secrets(wanted: Sequence[CheckedSkill], settings: Settings) -> None:
    for each in wanted:
        taskfile.require_secrets(each.task, each.values, settings.home)


# --------------------------------------------------------------------------------------------- results


def _say(check: SkillCheck, console: Console) -> None:
    """Print the result of a check as one line."""
    sign, style = _MARKS[check.verdict]
    why = "" if check.verdict == "passed" else f": {_why(check)}"
    output.print_line(
        f"{output.fitting(sign, console)} {check.skill} ({output.duration(check.seconds)}){why}",
        style=style,
        console=console,
    )


def _why(check: SkillCheck) -> str:
    unmet = next((case for case in check.cases if case.verdict in ("failed", "error")), None)
    if unmet is None or unmet.name == BEGINNING:
        return f"{check.message or check.reason} ({check.rule or check.reason})"
    return f"{unmet.name}: {unmet.message} ({check.rule or unmet.reason})"


def _print(checks: Sequence[SkillCheck], console: Console) -> None:
    """Print the results as a table, with a remedy for each failure."""
    numbers = ("passed", "failed", "skipped", "seconds")
    rows: list[tuple[object, ...]] = []
    for each in checks:
        verdicts = [case.verdict for case in each.cases]
        failed = verdicts.count("failed") + verdicts.count("error")
        counts = (verdicts.count("passed"), failed, verdicts.count("skipped"), f"{each.seconds:.1f}")
        result = Text(each.verdict, style=_MARKS[each.verdict][1])
        rows.append((each.skill, result, *counts, each.rule or each.reason, each.run_id))
    output.print_table(("check", "result", *numbers, "reason", "run"), rows, right=numbers, console=console)
    for each in checks:
        if each.note:
            output.print_line(f"{each.skill}: {each.note}", console=console)
        if each.report:
            output.print_line(f"{each.skill}: report {each.report}", console=console)
        if each.verdict in ("failed", "error"):
            for line in _failure(each):
                output.print_line(line, console=console)
    passed = sum(each.verdict == "passed" for each in checks)
    style = "green" if passed == len(checks) else "red"
    output.print_line(f"{passed} of {output.count(len(checks), 'check')} passed", style=style, console=console)


def _failure(check: SkillCheck) -> Iterator[str]:
    yield f"{check.skill}: {_why(check)}"
    for case in check.cases:
        yield from (f"  {line}" for line in case.lines)
    if check.to_do:
        yield f"  what to do: {check.to_do}"

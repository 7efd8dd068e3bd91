"""A skill as a script, whatever the language."""

import re
from collections.abc import Sequence
from typing import Final

from replaywright.domain.common.lists import list_of
from replaywright.domain.common.templates import parameters_in, texts_of
from replaywright.domain.skill.skills import Skill
from replaywright.domain.task.browser import BrowserOptions
from replaywright.domain.task.steps import Goto
from replaywright.errors import InputInvalid
from replaywright.export.checks import Checks
from replaywright.export.code import PAGE, Blank, Comment, Do, Notes, Script, Statement, call, text
from replaywright.export.names import environment_name
from replaywright.export.recordings import Recordings
from replaywright.export.steps import Steps

_NOT_WRITTEN: Final = {
    "headers": "not written, as Playwright sends a page's headers to every site; add them for one by page.route",
    "basic_auth": "not written; give the new page http_credentials with the task's origin",
}


def script_of(skill: Skill, recordings: Recordings) -> Script:
    """Write the skill's steps with its recordings, precondition and final verification.

    Raises:
        InputInvalid: steps that a script cannot do, each with its place and the remedy.
    """
    task, notes = skill.task, Notes()
    entries = recordings.of_all(task.steps, task.url)
    targets = tuple(entry.target for entry in entries.values() if entry.target is not None)
    checks = Checks(notes, targets)
    steps = Steps(entries, checks, notes)
    statements: list[Statement] = []
    if not isinstance(task.steps[0], Goto):
        statements.append(Do(call(PAGE, "goto", text(task.url))))
        statements += _conditions(skill, checks)
    written = steps.written(task.steps)
    if isinstance(task.steps[0], Goto) and skill.precondition:
        second = next((at for at, one in enumerate(written[1:], 1) if isinstance(one, Blank)), len(written))
        written = (*written[:second], *_conditions(skill, checks), *written[second:])
    statements += written
    if task.verify:
        statements += [Blank(), Comment("What must hold at the end.")]
        for index, predicate in enumerate(task.verify):
            statements += checks.statements(predicate, f"verify[{index}]")
    for field in fields_of(task.browser):
        if why := _NOT_WRITTEN.get(field):
            notes.warn(f"browser.{field}", why)
    refuse(notes.refusals, skill.name)
    return Script(
        statements=tuple(statements[1:] if isinstance(statements[0], Blank) else statements),
        parameters=_used(skill),
        secrets=task.secrets,
        warnings=tuple(dict.fromkeys(notes.warnings)),
        needs_person=steps.has_person,
        reads=steps.reads,
    )


def refuse(refusals: Sequence[str], name: str) -> None:
    """Raise `InputInvalid` with all of them, if there are any."""
    if refusals:
        raise InputInvalid(f"skill {name!r} cannot be exported: " + "; ".join(dict.fromkeys(refusals)))


def _conditions(skill: Skill, checks: Checks) -> list[Statement]:
    return [
        one
        for index, predicate in enumerate(skill.precondition)
        for one in checks.statements(predicate, f"precondition[{index}]")
    ]


def _used(skill: Skill) -> tuple[str, ...]:
    """Return the parameters that steps or verification use, in the task's order."""
    task = skill.task
    data = task.model_dump(mode="json", include={"url", "steps", "verify"})
    precondition = [predicate.model_dump(mode="json") for predicate in skill.precondition]
    used = frozenset().union(*map(parameters_in, texts_of([data, precondition])))
    return tuple(name for name in task.parameters if name in used)


def required(skill: Skill, script: Script) -> list[str]:
    """List the parameters that have no default."""
    return [name for name in script.parameters if skill.task.parameters[name].default is None]


def from_environment(skill: Skill, name: str) -> list[str]:
    """Return the environment variable that gives a parameter to a test, and its default if it has one."""
    parameter = skill.task.parameters[name]
    variable = environment_name(skill.name, name)
    if parameter.default is None:
        return [variable]
    return [variable, ", ".join(list_of(parameter.default)) if parameter.type == "list" else parameter.default]


def context_of(skill: Skill) -> tuple[str, tuple[str, str] | None]:
    """Return language and window size of the task, else of where it was learned; empty and None if not known."""
    browser = skill.task.browser or BrowserOptions()
    language = browser.locale or skill.context.locale
    match = re.fullmatch(r"(\d+)x(\d+)", browser.viewport or skill.context.viewport)
    locale = language if re.fullmatch(r"[A-Za-z0-9-]+", language) else ""
    return locale, (match[1], match[2]) if match else None


def emulated(skill: Skill) -> dict[str, str]:
    """Return the other options of the task's browser that a new page of Playwright takes, by Playwright's names."""
    browser = skill.task.browser or BrowserOptions()
    given = {"timezone_id": browser.time_zone, "color_scheme": browser.color_scheme, "user_agent": browser.user_agent}
    return {name: value for name, value in given.items() if value}


def fields_of(browser: BrowserOptions | None) -> tuple[str, ...]:
    """Return the names of the options that are given."""
    return () if browser is None else tuple(browser.model_dump(exclude_defaults=True))

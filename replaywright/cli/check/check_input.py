"""Input of `replaywright check`: skills of files or of the knowledge base, each with its values."""

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from replaywright.cli import output
from replaywright.cli.skills.skill_run import runnable
from replaywright.cli.skills.skill_store import KnowledgeBase, no_such_skill
from replaywright.cli.tasks import taskfile
from replaywright.domain.skill.check_tasks import (
    first_with_consequences,
    observed_effects,
    on_site,
    shortened,
    site_written,
)
from replaywright.domain.skill.recorded import RecordedElement
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.errors import InputInvalid

_ENDINGS = frozenset({".yaml", ".yml", ".json"})
_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class CheckedSkill:
    """Skill to check."""

    task: Task
    """Task on the site of the check, cut where the check ends."""
    values: dict[str, str]
    elements: tuple[RecordedElement, ...] = ()
    file: str = ""
    note: str = ""


@dataclass(frozen=True)
class Selection:
    """Selection of files, or of skills of the knowledge base."""

    files: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Names, or patterns of names."""
    label: str = ""
    """A pattern of labels."""
    every: bool = False

    @property
    def in_store(self) -> bool:
        """Return True if skills of the knowledge base are selected."""
        return bool(self.names or self.label or self.every)


def selected(what: Sequence[str], label: str, *, every: bool) -> Selection:
    """Return the selection that the arguments name.

    Raises:
        InputInvalid: nothing, or files together with skills by name.
    """
    files = tuple(dict.fromkeys(each for each in what if is_file(each)))
    names = tuple(dict.fromkeys(each for each in what if not is_file(each)))
    found = Selection(files, names, label, every)
    if not (files or found.in_store):
        raise InputInvalid("nothing to check: name files of skills or tasks, or skills, or give --label or --all")
    if files and found.in_store:
        raise InputInvalid(
            f"{files[0]} is a file, and {(*names, '--label', '--all')[0]} means skills that are kept here: check files "
            "and kept skills with a command each"
        )
    return found


def is_file(text: str) -> bool:
    """Tell whether an argument names a file, and not a skill."""
    return text == "-" or "/" in text or Path(text).suffix.lower() in _ENDINGS


async def of_store(selection: Selection, base: KnowledgeBase) -> list[Skill]:
    """Return the selected skills of the knowledge base, sorted by name.

    Raises:
        InputInvalid: a name or pattern means none, or one was retired.
    """
    kept = [skill for skill in await base.skills.all(base.tenant) if skill.status is not SkillStatus.RETIRED]
    known = [skill.name for skill in kept]
    found = {skill.name: skill for skill in kept} if selection.every else {}
    for name in selection.names:
        if _PATTERN & set(name):
            like = [skill for skill in kept if fnmatch.fnmatchcase(skill.name, name)]
            if not like:
                raise no_such_skill(name, known)
            found |= {skill.name: skill for skill in like}
        else:
            found[name] = await runnable(base, name, None)
    if selection.label:
        wanted = selection.label.casefold()
        like = [skill for skill in kept if fnmatch.fnmatchcase(skill.label.casefold(), wanted)]
        if not like:
            labels = ", ".join(repr(skill.label) for skill in kept if skill.label) or "none has one"
            raise InputInvalid(f"--label {selection.label!r}: no skill has such a label; there are: {labels}")
        found |= {skill.name: skill for skill in like}
    if not found:
        raise InputInvalid("there is no skill to check; `replaywright skills list` lists them")
    return [found[name] for name in sorted(found)]


@dataclass(frozen=True)
class Given:
    """Values of the caller."""

    pairs: Mapping[str, str]
    """Values of `--param`, for every skill that has such a parameter."""
    common: Mapping[str, str]
    """Values of the file for all skills."""
    own: Mapping[str, Mapping[str, str]]
    """Values of the file for one skill, by its name."""

    def require_used(self, tasks: Sequence[Task]) -> None:
        """Check that every value belongs to a parameter.

        Raises:
            InputInvalid: names what is not.
        """
        known = sorted({name for task in tasks for name in task.parameters})
        for option, names in (("--param", self.pairs), ("--params", self.common)):
            for name in names:
                if name not in known:
                    raise InputInvalid(
                        f"{option} {name}: no skill to be checked has such a parameter; they have: "
                        f"{', '.join(known) or 'none'}"
                    )
        checked = {task.task for task in tasks}
        if unknown := sorted(set(self.own) - checked):
            raise InputInvalid(
                f"--params {unknown[0]}: holds values for a skill that is not checked; checked are: "
                f"{', '.join(sorted(checked))}"
            )

    def values_of(self, task: Task) -> dict[str, str]:
        """Return the task's values: the given one, else the default, else the example.

        Raises:
            InputInvalid: one has none, or is of another type.
        """
        for name in self.own.get(task.task, {}):
            if name not in task.parameters:
                raise InputInvalid(
                    f"--params {task.task}.{name}: task {task.task!r} has no such parameter; it has: "
                    f"{', '.join(sorted(task.parameters)) or 'none'}"
                )
        given = {**self.common, **self.own.get(task.task, {}), **self.pairs}
        examples = {
            name: parameter.example
            for name, parameter in task.parameters.items()
            if parameter.example and parameter.default is None and name not in given
        }
        own = {name: value for name, value in given.items() if name in task.parameters}
        return bind_parameters(task, examples | own)


def read_given(param: Sequence[str], params: str | None) -> Given:
    """Read the values of `--param` and of the file of `--params`.

    Raises:
        InputInvalid: as `taskfile.read_parameters`.
    """
    common, own = taskfile.read_parameter_sets(params)
    return Given(taskfile.read_parameters(param, None), common, own)


def moved(wanted: Sequence[CheckedSkill], url: str) -> list[CheckedSkill]:
    """Return the skills moved to the site of `url`.

    Raises:
        InputInvalid: they are of several sites, or `on_site` refuses one.
    """
    sites = sorted({site_written(each.task) for each in wanted} - {""})
    if len(sites) > 1:
        raise InputInvalid(f"--url {url!r}: the skills are of several sites: {', '.join(sites)}; check them one by one")
    return [replace(each, task=on_site(each.task, url)) for each in wanted]


def until_commit(wanted: CheckedSkill) -> CheckedSkill:
    """Cut the skill before its first step with consequences."""
    stop = first_with_consequences(wanted.task, observed_effects(wanted.elements))
    if stop is None:
        return wanted
    message = f"checked up to step {stop + 1}, {output.plain(wanted.task.steps[stop].title)}, which has consequences"
    return replace(wanted, task=shortened(wanted.task, stop), note=message)

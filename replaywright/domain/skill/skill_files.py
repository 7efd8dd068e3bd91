"""Skills in files that people write, exchange and compare, without status, numbers and statistics."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field, field_validator, model_validator

from replaywright.domain.common.base import Authored
from replaywright.domain.common.templates import malformed_in, parameters_in, secrets_in, texts_of
from replaywright.domain.common.urls import origin_of, without_usual_port
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.skill.check_tasks import site_written
from replaywright.domain.skill.recorded import RecordedElement, strangers
from replaywright.domain.skill.skills import Origin, Skill, SkillContext
from replaywright.domain.task.tasks import Task, parse_authored, parse_task
from replaywright.errors import InputInvalid


class WrittenContext(Authored):
    """Context in which a skill is recalled; see `SkillContext`."""

    device: str = "desktop"
    viewport: str = Field("", pattern=r"^(\d+x\d+)?$")
    locale: str = ""
    signed_in: bool | None = None
    start: str = ""


class WrittenSkill(Authored):
    """One skill of a file."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    label: str = ""
    description: str = ""
    site: str = ""
    """Site, such as `https://mail.example`; without it, the skill runs on the site that its parameters give."""
    patterns: tuple[str, ...] = ()
    near_misses: tuple[str, ...] = ()
    precondition: tuple[Predicate, ...] = ()
    context: WrittenContext = WrittenContext()
    note: str = ""
    task: Task
    elements: tuple[RecordedElement, ...] = ()
    """Learned elements of its steps, for a machine that has not learned it."""

    @field_validator("site")
    @classmethod
    def _is_an_origin(cls, site: str) -> str:
        origin = origin_of(site)
        if site and (not origin or site.removesuffix("/").count("/") > 2):
            raise ValueError(f"expected scheme, host and port, as in https://mail.example, found {site!r}")
        return origin

    @model_validator(mode="after")
    def _is_one(self) -> "WrittenSkill":
        if self.task.task != self.name:
            raise ValueError(f"task.task is {self.task.task!r} and name is {self.name!r}: write the same name in both")
        places: list[tuple[str, Any]] = [(f"patterns[{index}]", text) for index, text in enumerate(self.patterns)]
        places += [(f"near_misses[{index}]", text) for index, text in enumerate(self.near_misses)]
        places.append(("precondition", [predicate.model_dump(mode="json") for predicate in self.precondition]))
        places.append(("context.start", self.context.start))
        for place, value in places:
            for text in texts_of(value):
                if typo := malformed_in(text):
                    raise ValueError(f"{place} has {typo!r}, which is no {{{{parameter}}}}")
                if unknown := parameters_in(text) - set(self.task.parameters):
                    raise ValueError(
                        f"{place} uses undeclared parameter {min(unknown)!r}; add it under task.parameters"
                    )
                if secrets_in(text):
                    raise ValueError(f"{place} uses a secret; secrets may only be entered into fields")
        for index in strangers(self.task, self.elements):
            found = self.elements[index]
            raise ValueError(
                f"elements[{index}] ({found.action.value} {found.instruction!r}) belongs to no step of the task: it "
                "was recorded for a step that said something else; export the skill again, or leave it out"
            )
        return self


class SkillsFile(Authored):
    """A file of skills."""

    skills: tuple[WrittenSkill, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _names_differ(self) -> "SkillsFile":
        names = [skill.name for skill in self.skills]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"the skill {twice!r} is here twice")
        return self


def written(skill: Skill) -> dict[str, Any]:
    """Return a skill as plain data of a file, in a fixed order, without defaults."""
    task = skill.task.model_dump(mode="json", exclude_defaults=True)
    beside = skill.model_dump(mode="json", exclude_defaults=True, include=set(WrittenSkill.model_fields) - {"task"})
    if skill.site:
        beside["site"] = without_usual_port(skill.site)
    beside["task"] = {name: task[name] for name in Task.model_fields if name in task}
    return {name: beside[name] for name in WrittenSkill.model_fields if beside.get(name)}


def written_file(
    skills: Iterable[Skill], elements: Mapping[str, Sequence[RecordedElement]] | None = None
) -> dict[str, Any]:
    """Return a file of skills sorted by name, with their elements if given; deterministic."""
    found = elements or {}
    return {
        "skills": [
            written(skill) | _written_elements(found.get(skill.name, ()))
            for skill in sorted(skills, key=lambda skill: skill.name)
        ]
    }


def elements_in(data: Any, source: str) -> dict[str, tuple[RecordedElement, ...]]:
    """Return the elements in a file's data by skill name; none of a task file.

    Raises:
        InputInvalid: as `skills_in`.
    """
    return {skill.name: skill.elements for skill in _given_skills(data, source) if skill.elements}


def skills_in(data: Any, source: str) -> tuple[Skill, ...]:
    """Return the skills in a file's data (skills, one skill or a task) as candidates.

    Raises:
        InputInvalid: one line: `source`, the first wrong field, and what was expected.
    """
    if given := _given_skills(data, source):
        return tuple(_skill(each, "imported") for each in given)
    if not isinstance(data, Mapping):
        raise InputInvalid(f"{source}: expected a mapping with skills, or a task, found {type(data).__name__}")
    return (imported_skill(parse_task(data, source)),)


def _given_skills(data: Any, source: str) -> tuple[WrittenSkill, ...]:
    if isinstance(data, Mapping) and "skills" in data:
        return parse_authored(SkillsFile, data, source, "skills").skills
    if isinstance(data, Mapping) and isinstance(data.get("task"), Mapping):
        return (parse_authored(WrittenSkill, data, source, "name and task"),)
    return ()


def edited_skill(data: Any, source: str, old: Skill) -> Skill:
    """Return the next version of `old` as a person wrote it, a candidate.

    Raises:
        InputInvalid: one line: `source`, the first wrong field, and what was expected.
    """
    given = parse_authored(WrittenSkill, data, source, "name and task")
    if given.elements:
        raise InputInvalid(f"{source}: elements: they are imported, not edited; leave them out")
    skill = _skill(given, "written")
    if skill.name != old.name:
        raise InputInvalid(
            f"{source}: name: a skill is not renamed by editing, expected {old.name!r}, found {skill.name!r}; export "
            "it and import it under the new name"
        )
    return skill


def imported_skill(task: Task, *, note: str = "") -> Skill:
    """Return a candidate from a task file or a recording of another tool; `note` has source and omissions."""
    goal = (task.goal,) if task.goal and not secrets_in(task.goal) and not malformed_in(task.goal) else ()
    return Skill(
        name=task.task,
        label=task.task.replace("-", " ").capitalize(),
        description=task.goal,
        site=site_written(task),
        task=task,
        patterns=tuple(text for text in goal if parameters_in(text) <= set(task.parameters)),
        origin="imported",
        note=note,
    )


def _skill(given: WrittenSkill, origin: Origin) -> Skill:
    fields = {name: getattr(given, name) for name in WrittenSkill.model_fields if name not in ("context", "elements")}
    return Skill(**fields, context=SkillContext(**given.context.model_dump()), origin=origin)


def _written_elements(elements: Sequence[RecordedElement]) -> dict[str, Any]:
    found = [element.model_dump(mode="json", exclude_defaults=True) for element in elements]
    return {"elements": found} if found else {}

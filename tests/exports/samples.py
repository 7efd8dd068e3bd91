"""Skills and recordings for the tests of this folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from demo.main_job import TASK_FILE
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.page.targets import Target
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo, EntryStatus
from replaywright.domain.skill.skill_files import imported_skill
from replaywright.domain.skill.skills import Skill
from replaywright.domain.step.fingerprints import content_key
from replaywright.domain.task.steps import ForEach, Step, action_of
from replaywright.domain.task.tasks import parse_task
from replaywright.export import Exported, Format, Recordings, exported

TENANT = "test"
SITE = "https://shop.example"
RECORDINGS = Path(__file__).parent / "recordings"


def webmail_skill() -> tuple[Skill, Recordings]:
    """The demo's task with the recordings that a run of it has made with a model."""
    skill = imported_skill(read_task(str(TASK_FILE)))
    data = json.loads((RECORDINGS / "send_mail.json").read_text(encoding="utf-8"))
    steps = skill.task.steps
    entries = []
    for info in data["entries"]:
        entry = ActionCacheEntry.model_validate({**info["entry"], "content_key": ""})
        key = content_key(TENANT, entry.site, steps[entry.step_index])
        entries.append(EntryInfo(content_key=key, entry=entry.model_copy(update={"content_key": key}), versions=1))
    return skill, Recordings(TENANT, entries)


def skill_of(steps: Sequence[Mapping[str, Any]], **fields: Any) -> Skill:
    """A skill with these steps on a page of `SITE`."""
    data = {"task": "shop", "url": SITE, "steps": list(steps), **fields}
    return imported_skill(parse_task(data, "the test"))


def recorded(skill: Skill, targets: Mapping[int, Mapping[str, Any]], **entry: Any) -> Recordings:
    """Recordings of the steps with these numbers: their elements, and whatever else `entry` says of all."""
    entries = [_recorded(skill.task.steps[number], target, entry) for number, target in targets.items()]
    return Recordings(TENANT, entries, site=SITE)


def inside(skill: Skill, at: int, targets: Mapping[int, Mapping[str, Any]]) -> tuple[EntryInfo, ...]:
    """Recordings of the steps of the list at this place."""
    loop = skill.task.steps[at]
    assert isinstance(loop, ForEach)
    return tuple(_recorded(loop.steps[number], target, {}) for number, target in targets.items())


def _recorded(step: Step, target: Mapping[str, Any], fields: Mapping[str, Any]) -> EntryInfo:
    key = content_key(TENANT, f"{SITE}/", step)
    given = {"tag": "button", "namesakes": 1, **target, **fields}
    own = Target.model_validate({name: given[name] for name in Target.model_fields if name in given})
    others = {name: value for name, value in given.items() if name not in Target.model_fields}
    entry = ActionCacheEntry(
        **own.model_dump(),
        **others,
        content_key=key,
        site=f"{SITE}/",
        instruction=step.instruction,
        action_type=action_of(step),
        status=EntryStatus.ACTIVE,
    )
    return EntryInfo(content_key=key, entry=entry, versions=1)


def written(skill: Skill, recordings: Recordings | None = None, form: Format = Format.PYTHON, **values: str) -> str:
    """The script's text."""
    return told(skill, recordings, form, **values).text


def told(skill: Skill, recordings: Recordings | None = None, form: Format = Format.PYTHON, **values: str) -> Exported:
    """The script with its warnings."""
    return exported(skill, recordings or Recordings(TENANT), form, values)


def lines(text: str) -> list[str]:
    """The lines of the task itself in a script: neither comments nor what every script has around it."""
    begin = next(number for number, line in enumerate(text.split("\n")) if ".goto(" in line)
    body = text.split("\n")[begin:]
    ends = next((number for number, line in enumerate(body) if not line.startswith((" ", "\t")) and line), len(body))
    found = [line.strip() for line in body[:ends]]
    return [line for line in found if line and not line.startswith(("#", "//"))]

"""The evaluation set of recall: skills, sentences, and the right answers."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from replaywright.domain.choices import choice_of
from replaywright.domain.lists import list_value
from replaywright.domain.skills import Skill, SkillStatus
from replaywright.domain.steps import Goto
from replaywright.domain.tasks import Parameter, Task

_FOLDER = Path(__file__).parent
_BLIND = {path.stem[-1].upper(): path.name for path in sorted(_FOLDER.glob("sentences_blind_?.yaml"))}
"""Letters of the batches that were written by somebody who did not see the code, and their files."""
FILES: tuple[str, ...] = (
    "sentences.yaml",
    "sentences_more.yaml",
    "sentences_tuning.yaml",
    "sentences_tuning_2.yaml",
    "sentences_tuning_3.yaml",
    "sentences_tuning_4.yaml",
    "sentences_lists.yaml",
    *_BLIND.values(),
)
_WHOLE = {
    "sentences_lists.yaml": "calibration",
    "sentences_tuning.yaml": "calibration",
    "sentences_tuning_2.yaml": "calibration",
    "sentences_tuning_3.yaml": "calibration",
    "sentences_tuning_4.yaml": "calibration",
    **{name: f"blind {letter}" for letter, name in _BLIND.items()},
}
"""Files that belong to one part; the others are split in two by a hash of the sentence."""
BLIND = tuple(f"blind {letter}" for letter in _BLIND)
JUDGED = BLIND[-1]
"""The part whose figures count: the newest one."""
LOOKED_AT = ("calibration", "held-out", "blind A", "blind B", "blind C", "blind D")
"""Parts whose failures were read while the mechanism was changed."""


@dataclass(frozen=True)
class Sentence:
    """One thing that somebody asks for."""

    site: str
    """Origin that it is asked on."""
    category: str
    text: str
    skill: str = ""
    """The one that it means; empty where the right answer is to abstain."""
    values: tuple[tuple[str, str], ...] = ()
    file: str = ""

    @property
    def part(self) -> str:
        """`calibration`, `held-out` (by a hash of the sentence), or `blind` and the letter of a batch."""
        halves = ("calibration", "held-out")
        return _WHOLE.get(self.file) or halves[hashlib.sha256(self.text.encode()).digest()[0] % 2]


def load(files: Sequence[str] = FILES) -> tuple[list[Skill], list[Sentence]]:
    """All skills, as they would be after they were verified, and the sentences of the files."""
    given = _yaml("skills.yaml")
    sites: dict[str, str] = given["sites"]
    skills = [_skill(name, sites[data["site"]], data) for name, data in given["skills"].items()]
    parameters = {skill.name: skill.task.parameters for skill in skills}
    sentences = [
        Sentence(sites[site], entry[0], entry[1], *_answer(entry, parameters), file=name)
        for name in files
        for site, entries in _yaml(name).items()
        for entry in entries
    ]
    return skills, sentences


def _yaml(name: str) -> Any:
    # Every value is text: a date is not to become another notation of itself.
    return yaml.load((_FOLDER / name).read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506 - makes texts only


def _answer(
    entry: list[Any], parameters: Mapping[str, Mapping[str, Parameter]]
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The skill and its values: several of one parameter may be a list, a choice is as in the sentence."""
    if len(entry) < 3:
        return "", ()
    known = parameters[entry[2]]
    given = {name: _value(value, known[name]) for name, value in entry[3].items()}
    return entry[2], tuple(sorted(given.items()))


def _value(value: str | list[str], parameter: Parameter) -> str:
    if isinstance(value, list):
        return list_value(value)
    return choice_of(value, parameter.choices) or value


def _skill(name: str, site: str, data: dict[str, Any]) -> Skill:
    parameters = {
        key: Parameter(type="choice", choices=tuple(kind)) if isinstance(kind, list) else Parameter(type=kind)
        for key, kind in data["parameters"].items()
    }
    return Skill(
        name=name,
        version=1,
        status=SkillStatus.ACTIVE,
        label=data["label"],
        site=site,
        verbs=tuple(data["verbs"]),
        objects=tuple(data["objects"]),
        patterns=tuple(data["patterns"]),
        task=Task(task=name, url=site, parameters=parameters, steps=(Goto(action="goto", url=site),)),
    )

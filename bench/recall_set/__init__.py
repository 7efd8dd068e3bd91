"""The evaluation set of recall: skills, sentences, and the right answers."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from replaywright.domain.skills import Skill, SkillStatus
from replaywright.domain.steps import Goto
from replaywright.domain.tasks import Parameter, Task

FILES: tuple[str, ...] = (
    "sentences.yaml",
    "sentences_more.yaml",
    "sentences_tuning.yaml",
    "sentences_lists.yaml",
    "sentences_blind_a.yaml",
    "sentences_blind_b.yaml",
)
_NEWEST = "sentences_blind_c.yaml"
if (Path(__file__).parent / _NEWEST).exists():
    FILES = (*FILES, _NEWEST)
_WHOLE = {
    "sentences_lists.yaml": "calibration",
    "sentences_tuning.yaml": "calibration",
    "sentences_blind_a.yaml": "blind A",
    "sentences_blind_b.yaml": "blind B",
    _NEWEST: "blind C",
}
"""Files that belong to one part; the others are split in two by a hash of the sentence."""
JUDGED = "blind C" if _NEWEST in FILES else "blind B"
"""The part whose figures count: the newest one."""
LOOKED_AT = ("calibration", "held-out", "blind A", "blind B")
"""Parts whose failures were read while the mechanism was changed."""
_FOLDER = Path(__file__).parent


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
        """`calibration`, `held-out` (by a hash of the sentence), `blind A`, `blind B` or `blind C`."""
        halves = ("calibration", "held-out")
        return _WHOLE.get(self.file) or halves[hashlib.sha256(self.text.encode()).digest()[0] % 2]


def load(files: Sequence[str] = FILES) -> tuple[list[Skill], list[Sentence]]:
    """All skills, as they would be after they were verified, and the sentences of the files."""
    given = _yaml("skills.yaml")
    sites: dict[str, str] = given["sites"]
    skills = [_skill(name, sites[data["site"]], data) for name, data in given["skills"].items()]
    sentences = [
        Sentence(sites[site], entry[0], entry[1], *_answer(entry), file=name)
        for name in files
        for site, entries in _yaml(name).items()
        for entry in entries
    ]
    return skills, sentences


def _yaml(name: str) -> Any:
    # Every value is text: a date is not to become another notation of itself.
    return yaml.load((_FOLDER / name).read_text(encoding="utf-8"), yaml.BaseLoader)  # noqa: S506 - makes texts only


def _answer(entry: list[Any]) -> tuple[str, tuple[tuple[str, str], ...]]:
    return (entry[2], tuple(sorted(entry[3].items()))) if len(entry) > 2 else ("", ())


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

"""The evaluation set of recall: skills, sentences, and the right answers."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from replaywright.domain.skills import Skill, SkillStatus
from replaywright.domain.steps import Goto
from replaywright.domain.tasks import Parameter, Task

_TUNING = "sentences_tuning.yaml"
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
    is_for_tuning: bool = False

    @property
    def is_held_out(self) -> bool:
        """Whether it belongs to the half that was not looked at: by a hash of the sentence."""
        return not self.is_for_tuning and hashlib.sha256(self.text.encode()).digest()[0] % 2 == 1


def load() -> tuple[list[Skill], list[Sentence]]:
    """All skills, as they would be after they were verified, and all sentences."""
    given = _yaml("skills.yaml")
    sites: dict[str, str] = given["sites"]
    skills = [_skill(name, sites[data["site"]], data) for name, data in given["skills"].items()]
    sentences = [
        Sentence(sites[site], entry[0], entry[1], *_answer(entry), is_for_tuning=name == _TUNING)
        for name in ("sentences.yaml", "sentences_more.yaml", _TUNING)
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

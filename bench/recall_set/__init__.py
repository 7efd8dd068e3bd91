"""The evaluation set of recall: skills, sentences, and the right answers."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from replaywright.domain.common.lists import list_value
from replaywright.domain.recall.choices import choice_of
from replaywright.domain.recall.phrases import Phrases
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Click, Goto
from replaywright.domain.task.tasks import Parameter, Task

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
_READS = frozenset({"search-product", "track-order", "download-statement", "export-customers", "search-flight"})
"""Skills without consequences; all others commit something."""


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
    """As the skill takes them."""
    said: tuple[tuple[str, str | tuple[str, ...]], ...] = ()
    """The same as they stand in the sentence; of a list each text."""
    file: str = ""

    @property
    def part(self) -> str:
        """`calibration`, `held-out` (by a hash of the sentence), or `blind` and the letter of a batch."""
        halves = ("calibration", "held-out")
        return _WHOLE.get(self.file) or halves[hashlib.sha256(self.text.encode()).digest()[0] % 2]


def load(files: Sequence[str] = FILES) -> tuple[list[Skill], list[Sentence]]:
    """Load all skills, as they are when they have been learned and labelled, and the sentences of the files."""
    given, phrases = _yaml("skills.yaml"), _yaml("phrases.yaml")
    sites: dict[str, str] = given["sites"]
    skills = [_skill(name, sites[data["site"]], data, phrases[name]) for name, data in given["skills"].items()]
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
) -> tuple[str, tuple[tuple[str, str], ...], tuple[tuple[str, str | tuple[str, ...]], ...]]:
    """Return the skill and its values: as the skill takes them, and as the sentence has them."""
    if len(entry) < 3:
        return "", (), ()
    known = parameters[entry[2]]
    taken = {name: _value(value, known[name]) for name, value in entry[3].items()}
    said = {name: tuple(value) if isinstance(value, list) else value for name, value in entry[3].items()}
    return entry[2], tuple(sorted(taken.items())), tuple(sorted(said.items()))


def _value(value: str | list[str], parameter: Parameter) -> str:
    if isinstance(value, list):
        return list_value(value)
    return choice_of(value, parameter.choices) or value


def _skill(name: str, site: str, data: dict[str, Any], phrases: dict[str, list[str]]) -> Skill:
    parameters = {
        key: Parameter(type="choice", choices=tuple(kind)) if isinstance(kind, list) else Parameter(type=kind)
        for key, kind in data["parameters"].items()
    }
    goal = data["patterns"][0]
    checked = Phrases(goal, parameters, {}, lambda _text: False)
    patterns = checked.patterns(phrases["patterns"])
    near_misses = checked.near_misses(phrases["near_misses"], patterns)
    if checked.refused:
        raise ValueError(f"phrases.yaml: {name}: {checked.refused[0]}")
    effect = Effect.READ if name in _READS else Effect.COMMIT
    steps = (Goto(action="goto", url=site), Click(action="click", instruction="the button", effect=effect))
    return Skill(
        name=name,
        version=1,
        status=SkillStatus.ACTIVE,
        label=data["label"],
        site=site,
        patterns=(*data["patterns"], *patterns),
        near_misses=near_misses,
        task=Task(task=name, url=site, parameters=parameters, steps=steps),
    )

"""Examples to fit on: a recorded element, the signals of every element that may be it, and which one it is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.mutations import key_of
from bench.scenes import Look, Scene
from bench.verdicts import is_inside
from replaywright.domain.locating.evidence import (
    OF_GONE,
    SPEAKS_AGAINST,
    SPEAKS_FOR,
    compare_all,
    link_of,
    signals_of_gone,
)
from replaywright.domain.locating.matching import comparable
from replaywright.domain.page.targets import Target

SIGNALS = (*SPEAKS_FOR, *SPEAKS_AGAINST)
_TOLD_BY = ("href", "name", "id", "value")
"""Attributes by which pairs of versions are told to be for the same purpose."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Example:
    """One choice."""

    source: str
    recorded: str
    """Role and name of the recorded element."""
    is_fitted: bool
    """Whether it may be fitted on; else it judges."""
    is_there: bool
    """Whether the element is on the page."""
    elements: Matrix
    """Signals of each element that may be it."""
    gone: npt.NDArray[np.float64]
    """Signals of none of them being it."""
    is_right: npt.NDArray[np.bool_]
    links: tuple[object, ...]
    """What each element is one with: links of one name to one address are one choice."""

    @property
    def is_refused(self) -> bool:
        """Whether the element is there, and certainly taken for another one: no weight can change that."""
        return self.is_there and not self.is_right.any()


def examples_of(scene: Scene) -> Iterator[Example]:
    """The picks of a scene as they are, and with the true element taken away.

    Of pairs of versions also without what told that both are for the same purpose, as others change that, too. A copy
    that a mutation made of a row or block is no other element: where the original is gone, nothing is right or wrong.
    Nor is it where nobody would know the element again.
    """
    elements = [candidate.target for candidate in comparable(scene.elements, needs_input=True)]
    is_pair, is_copied = scene.operators == ("version",), any(name.startswith("duplicate") for name in scene.operators)
    for look in scene.looks:
        is_there = any(key_of(target) in look.truth for target in elements)
        if look.truth and not is_there:
            continue
        rest = [target for target in elements if not is_inside(target, look.truth)]
        is_known = is_there and (look.recognisable or is_pair)
        choices: list[tuple[list[Target], bool]] = [(elements, True)] if is_known else []
        choices += [] if is_copied else [(rest, False)]
        for targets, there in choices:
            yield _example(scene, look, look.recorded, targets, there)
            if is_pair:
                yield _example(scene, look, _masked(look.recorded), list(map(_masked, targets)), there)


def _example(scene: Scene, look: Look, recorded: Target, targets: Sequence[Target], is_there: bool) -> Example:
    compared = compare_all(recorded, targets)
    gone = signals_of_gone(recorded, targets, len(compared))
    rows = [[signals.get(name, 0.0) for name in SIGNALS] for _, signals in compared]
    return Example(
        source=f"{scene.source} {'+'.join(scene.operators)}".strip(),
        recorded=f"{recorded.role} {recorded.name!r}",
        is_fitted=scene.calibrates,
        is_there=is_there,
        elements=np.array(rows, dtype=np.float64).reshape(-1, len(SIGNALS)),
        gone=np.array([gone[name] for name in OF_GONE]),
        is_right=np.array([is_there and key_of(target) in look.truth for target, _ in compared], dtype=np.bool_),
        links=tuple(link_of(target) or index for index, (target, _) in enumerate(compared)),
    )


def _masked(target: Target) -> Target:
    kept = {key: value for key, value in target.attributes.items() if key not in _TOLD_BY}
    return target.model_copy(update={"attributes": kept, "css": "", "element_hash": ""})

"""What the ladder makes of a scene, and whether that was right."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.mutations import key_of
from bench.scenes import Look, Scene
from replaywright.domain.common.text import normalise
from replaywright.domain.locating.matching import (
    ACCEPT,
    ElementCandidate,
    MatchDecision,
    comparable,
    decide_identified,
    decide_similar,
)
from replaywright.domain.page.targets import Target

ANY = 0.0
"""The last tier names its likeliest element however unlikely, so that every threshold can be tried afterwards."""
RIGHT, MISSED, WRONG = "right", "missed", "wrong"


@dataclass(frozen=True)
class Verdict:
    """One pick, before the thresholds of the last tier."""

    site: str
    source: str
    operators: tuple[str, ...]
    calibrates: bool
    gone: bool
    """Whether the element was really taken out of the page."""
    alone: bool
    """Whether it is a single mutation that touched the element and left it recognisable to a person."""
    tier: str
    """The tier that decided; the reason for a miss before the last tier."""
    score: float
    open_outcome: str
    """right, missed or wrong; for an element that is not there, a miss is all that can be right."""
    told: str = ""
    """What was recorded and what was taken, of a wrong pick."""

    def outcome(self, accept: float = ACCEPT) -> str:
        """What came out with this threshold of the last tier."""
        below = self.tier == "similarity" and self.score < accept
        return MISSED if below else self.open_outcome


def climb(look: Look, compared: Sequence[ElementCandidate]) -> MatchDecision:
    """The whole ladder, as `replaywright.browser.step.find` climbs it.

    The page's own certainty first, then the candidates of the tiers, then the comparison with every element; an
    element that was found by comparison is looked up once more by its new description.
    """
    if look.certain >= 0:
        identified = decide_identified(look.recorded, [look.candidates[look.certain]])
    else:
        identified = decide_identified(look.recorded, look.candidates)
    if identified.lookup.hit:
        return identified
    similar = decide_similar(look.recorded, compared, accept=ANY)
    return similar if similar.chosen is not None or not identified.lookup.candidates else identified


def _without(look: Look) -> Look:
    """The look with the true element and what is inside it taken away."""
    kept = [c for c in look.candidates if not is_taken_out(look, c.target)]
    certain = look.candidates[look.certain] if look.certain >= 0 else None
    position = kept.index(certain) if certain in kept else -1
    return Look(look.recorded, tuple(kept), position, frozenset(), look.recognisable, look.affected)


def is_inside(target: Target, keys: Iterable[str]) -> bool:
    """Whether the element is one of these, or in one of them."""
    own = key_of(target)
    return any(own == key or own.startswith(f"{key}/") for key in keys)


def is_taken_out(look: Look, target: Target) -> bool:
    """Whether it goes with the true element: what is inside it, and what is around it and called so."""
    own, name = key_of(target), normalise(look.recorded.name)
    wraps = bool(name) and normalise(target.name) == name and any(key.startswith(f"{own}/") for key in look.truth)
    return wraps or is_inside(target, look.truth)


def judge(scene: Scene) -> tuple[list[Verdict], list[Verdict]]:
    """The picks on a scene, and those with the true element left out of what is looked at.

    A scene whose element is really gone gives picks of the second kind only.
    """
    compared = comparable(scene.elements, needs_input=True)
    picks, without = [], []
    for look in scene.looks:
        if not look.truth:
            without.append(_verdict(scene, look, compared))
            continue
        picks.append(_verdict(scene, look, compared))
        rest = [c for c in compared if not is_taken_out(look, c.target)]
        without.append(_verdict(scene, _without(look), rest))
    return picks, without


def _verdict(scene: Scene, look: Look, compared: Sequence[ElementCandidate]) -> Verdict:
    decision = climb(look, compared)
    lookup = decision.lookup
    right = decision.chosen is not None and key_of(decision.chosen.target) in look.truth
    is_wrong = decision.chosen is not None and not right
    return Verdict(
        site=scene.site,
        source=scene.source,
        operators=scene.operators,
        calibrates=scene.calibrates,
        gone=scene.gone,
        alone=len(scene.operators) == 1 and not scene.gone and look.affected and look.recognisable,
        tier=lookup.tier or lookup.reason,
        score=lookup.score,
        open_outcome=MISSED if decision.chosen is None else RIGHT if right else WRONG,
        told=_told(look.recorded, decision.chosen.target) if is_wrong and decision.chosen is not None else "",
    )


def _told(recorded: Target, taken: Target) -> str:
    """Return the fields in which the two differ, after what names the recorded element."""
    one, other = (target.model_dump(mode="json", exclude_defaults=True) for target in (recorded, taken))
    fields = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    differing = "".join(f"\n    {name}: {one.get(name)!r} -> {other.get(name)!r}" for name in fields)
    return f"{recorded.role} {recorded.name!r}{differing}"


def counted(verdicts: Iterable[Verdict], accept: float = ACCEPT) -> Counter[str]:
    """How many came out how, with this threshold."""
    return Counter(verdict.outcome(accept) for verdict in verdicts)

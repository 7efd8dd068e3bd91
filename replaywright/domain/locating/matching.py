"""Deciding which element on a page is the recorded one, or that none certainly is.

The page script looks the recording up by its identifiers (tiers xpath to hash) and returns every candidate; an
identifier is never believed alone, role and name must confirm it. When that leads nowhere, all elements of the page are
compared with the recording by the table of evidence, and the likeliest is accepted if it is likely enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise
from replaywright.domain.locating.evidence import (
    is_contradicted,
    is_in_other_row,
    is_of_other_kind,
    likelihoods,
    link_of,
)
from replaywright.domain.locating.identity import (
    FIELDS,
    Identity,
    identities_of,
    identity_keys,
    telling_keys,
)
from replaywright.domain.locating.likeness import (
    PRESSED,
    agrees,
    place,
    roles_compatible,
    similarity,
    stays,
    wording_of,
)
from replaywright.domain.locating.wording import Wording, compare, says_how_long_ago
from replaywright.domain.page.snapshots import Element
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.step.outcomes import Lookup

ACCEPT = 0.92
"""An element is taken for the recorded one if it is at least this likely by the table of evidence."""
ACCEPT_COMMIT = 0.94
"""The same for a step that must not be repeated."""
TWIN_LEAD = 0.08
"""Required lead of the best among several elements found by identifiers with the recorded role and name."""
IDENTIFIED_SCORE = 0.45
"""A candidate found by an identifier and confirmed by role and name needs only this."""
SAME_PLACE = 0.30
"""An element of the recorded name at less of the recorded place needs an identifier that speaks for it."""
KIN_PLACE = 0.50
"""The same for an element whose name only means the same, or whose identifiers say that it is another."""
MOVED_PLACE = 0.60
"""The same for an element that stands in another kind of container: a namesake may be there from the beginning."""

_BESIDE = {"box", "namesakes", "alike", "neighbours", "query", "heard", "focused"}
"""Fields of a target that say what is around it, or may differ at every visit."""


class ElementCandidate(Record):
    """One element that a tier of the page script led to."""

    index: int
    """Index in the page script."""
    tier: str
    """The first tier that found it."""
    target: Target


@dataclass(frozen=True)
class MatchDecision:
    """The element to act on, or a miss with its reason."""

    lookup: Lookup
    chosen: ElementCandidate | None = None


@dataclass(frozen=True)
class _Scored:
    candidate: ElementCandidate
    score: float
    wording: Wording
    identity: Identity


def _elsewhere(recorded: Target, seen: Target, known: Identity, namesakes: int) -> bool:
    """Return True if neither an identifier nor the place confirms an element of the right name, of which there are so
    many.

    When there were more of its name, the recorded one may be gone, or another have left its row: then only the same
    row, or the very same place, says that this is not another.
    """
    if known.speaks_for:
        return False
    in_row = bool(recorded.row and seen.row) and not known.speaks_against
    has_left_row = (
        recorded.namesakes > 1 and recorded.row and all(normalise(t) == normalise(seen.name) for t in seen.row)
    )
    if (has_left_row or (namesakes < recorded.namesakes and not in_row)) and not stays(recorded, seen):
        return True
    least = MOVED_PLACE if _kind_of(recorded.container) != _kind_of(seen.container) else SAME_PLACE
    return place(recorded, seen) < (max(least, KIN_PLACE) if known.speaks_against else least)


def decide_identified(
    recorded: Target, candidates: Sequence[ElementCandidate], entry_version: int = 0
) -> MatchDecision:
    """Decide on the elements of the tiers xpath to hash: exactly one confirmed element, or a miss."""

    def lookup(**fields: object) -> Lookup:
        return Lookup.model_validate({"candidates": len(candidates), "entry_version": entry_version, **fields})

    agreeing = [c for c in candidates if agrees(recorded, c.target)]
    alike = len(agreeing)
    if (same := _unchanged(recorded, agreeing)) is not None:
        [known] = identities_of(recorded, [same.target])
        evidence = _evidence(recorded, _Scored(same, 1.0, Wording.SAME, known))
        return MatchDecision(lookup(hit=True, tier=same.tier, score=1.0, evidence=evidence), same)
    if (held := _focused(recorded, candidates)) is not None:
        healed = bool(recorded.element_hash) and held.target.element_hash != recorded.element_hash
        evidence = ("the focus, as then", f"place {place(recorded, held.target):.2f}")
        found = lookup(
            hit=True, tier=held.tier, healed=healed, score=similarity(recorded, held.target), evidence=evidence
        )
        return MatchDecision(found, held)
    confirmed = [
        c for c in agreeing if not is_in_other_row(recorded, c.target) and not _is_stranger(recorded, c.target, alike)
    ]
    if not confirmed:
        return MatchDecision(lookup(reason="disagrees" if candidates else "not_found"))
    leading = _one_of_nested(recorded, confirmed)
    confirmed = _one_of_each_link(leading, recorded)
    identities = identities_of(recorded, [c.target for c in confirmed])
    scored = sorted(
        (
            _Scored(c, similarity(recorded, c.target), Wording.SAME, known)
            for c, known in zip(confirmed, identities, strict=True)
        ),
        key=lambda one: -one.score,
    )
    best = scored[0]
    seen = best.candidate.target
    runner_up = scored[1].score if len(scored) > 1 else 0.0
    conflict = _points_elsewhere(recorded, candidates, leading) and not any(known.speaks_for for known in identities)
    if conflict or (len(confirmed) > 1 and not _stands_out(recorded, scored)):
        return MatchDecision(lookup(reason="ambiguous", score=best.score, runner_up=runner_up))
    moved = _kind_of(recorded.container) != _kind_of(seen.container) and not best.identity.speaks_for
    # What moved into another kind of container may be a namesake: it is compared with all others first.
    if best.score < IDENTIFIED_SCORE or moved or _elsewhere(recorded, seen, best.identity, alike):
        tier = best.candidate.tier
        return MatchDecision(lookup(reason="low_score", tier=tier, score=best.score, runner_up=runner_up))
    healed = bool(recorded.element_hash) and seen.element_hash != recorded.element_hash
    found = lookup(
        hit=True,
        tier=best.candidate.tier,
        healed=healed,
        score=best.score,
        runner_up=runner_up,
        evidence=_evidence(recorded, best),
    )
    return MatchDecision(found, best.candidate)


def _unchanged(recorded: Target, agreeing: Sequence[ElementCandidate]) -> ElementCandidate | None:
    """Return the element that is as it was recorded, and stands where it stood, among as many of its name as then.

    One that was seen a moment ago, and not counted among them yet, is the same if it has not moved either. Clocks and
    tips that change come and go among the texts around it; the nearest stays, and no other element has more of them
    around.
    """

    def around(target: Target) -> tuple[bool, int]:
        left = {normalise(text) for text in recorded.neighbours} & {normalise(text) for text in target.neighbours}
        return target.neighbours[:1] == recorded.neighbours[:1], len(left)

    same = [c for c in agreeing if c.target.model_dump(exclude=_BESIDE) == recorded.model_dump(exclude=_BESIDE)]
    if len(same) != 1:
        return None
    is_counted = bool(recorded.namesakes) and same[0].target.namesakes == recorded.namesakes
    is_unmoved = not recorded.namesakes and recorded.box is not None and same[0].target.box == recorded.box
    if not (is_counted or is_unmoved):
        return None
    seen, others = same[0].target, [c.target for c in agreeing if c is not same[0]]
    is_surrounded = around(seen)[0] and all(around(seen) > around(target) for target in others)
    return same[0] if is_surrounded or seen.neighbours == recorded.neighbours else None


def _focused(recorded: Target, candidates: Sequence[ElementCandidate]) -> ElementCandidate | None:
    """Return the nameless field that has the focus, as the recorded one had before a step gave it any.

    What opens a field gives it the focus: that of a file's new name, or of a new cell. Among other values, the texts
    around it are others. It stands in a container of the same kind, or in its place without a change in itself. It is
    in no other row, and no identifier says otherwise.
    """
    if not recorded.focused or recorded.name:
        return None

    def is_it(seen: Target) -> bool:
        is_alike = (
            seen.focused and not seen.name and seen.role == recorded.role and not is_of_other_kind(recorded, seen)
        )
        is_in_place = seen.attributes == recorded.attributes and place(recorded, seen) >= MOVED_PLACE
        is_there = is_in_place or _kind_of(recorded.container) == _kind_of(seen.container)
        is_there = is_there and not is_in_other_row(recorded, seen)
        return is_alike and is_there and not identities_of(recorded, [seen])[0].speaks_against

    held = [c for c in candidates if is_it(c.target)]
    return held[0] if len(held) == 1 else None


def without_content(target: Target) -> Target:
    """Return an element that is only read without what it says, which is no name: the next reading may be another.

    Its name is what it says if it begins its text: that of an element without a role, of a heading, of a cell.
    """
    said, called = normalise(target.text), normalise(target.name).rstrip("…").strip()
    if not said.startswith(called):
        return target
    row = tuple(cell for cell in target.row if normalise(cell) not in said)
    none: dict[str, object] = {"name": "", "text": "", "element_hash": "", "namesakes": 0, "alike": ()}
    return target.model_copy(update={**none, "row": row})


def may_be_declared(recorded: Target, seen: Target, query: ElementQuery, *, is_read: bool = False) -> bool:
    """Return True if the element that the task declares, and that is not what was recorded, may be the recorded one.

    What the task calls by visible words is believed. An identifier may be that of something else by now: what is called
    otherwise, or stands in another row, is not believed. One that was made for programs outlives a name, unless the new
    name says the opposite. Where an element `is_read` only, what it says is not what it is called.
    """
    if query.says_what_it_is:
        return True
    if is_read:
        recorded, seen = without_content(recorded), without_content(seen)
        if not recorded.name and recorded.role == seen.role:
            return not is_in_other_row(recorded, seen)
    if is_in_other_row(recorded, seen):
        return False
    if not (recorded.name or recorded.label or recorded.row):
        return True
    least = Wording.OTHER if query.test_id is not None else Wording.LONGER
    return wording_of(recorded, seen) >= least


def _one_of_nested(recorded: Target, confirmed: list[ElementCandidate]) -> list[ElementCandidate]:
    """Return the exact element among nested ones with the same name."""
    paths = sorted((c.target.xpath for c in confirmed), key=len)
    if len(confirmed) < 2 or any(not inner.startswith(f"{outer}/") for outer, inner in pairwise(paths)):
        return confirmed

    def told(target: Target) -> tuple[object, ...]:
        return target.frame, target.xpath, target.css, target.tag, target.element_hash

    same = [c for c in confirmed if recorded.element_hash and told(c.target) == told(recorded)]
    return same if len(same) == 1 else confirmed


def _kind_of(container: str) -> str:
    return container.partition(" ")[0]


def _evidence(recorded: Target, chosen: _Scored) -> tuple[str, ...]:
    """Return the evidence for the element in words for a report."""
    seen = chosen.candidate.target
    names = {Wording.SAME: "same name", Wording.ALIKE: "name of the same meaning", Wording.LONGER: "longer name"}
    told = [names[chosen.wording]] if chosen.wording in names and (recorded.name or recorded.label) else []
    told += chosen.identity.agreeing
    if recorded.row and seen.row:
        told.append("row")
    return (*told, f"place {place(recorded, seen):.2f}")


def _points_elsewhere(
    recorded: Target, candidates: Sequence[ElementCandidate], confirmed: Sequence[ElementCandidate]
) -> bool:
    """Return True if an identifier of the recording is on another element than those with its name.

    An id with a number in it counts where that other element is called nearly the same; where there were namesakes, so
    does an element that has not changed at all.
    """
    others = [c.target for c in candidates if c not in confirmed and roles_compatible(recorded.role, c.target.role)]
    if recorded.element_hash and all(c.target.element_hash != recorded.element_hash for c in confirmed):
        unchanged = any(t.element_hash == recorded.element_hash for t in others)
        if unchanged and recorded.namesakes > 1:
            return True
    looks_so = [_looks_as_recorded(recorded, each) for each in (others, [c.target for c in confirmed])]
    if not recorded.name and looks_so == [True, False]:
        return True
    own = recorded.attributes.get("id", "")
    if own and not any(c.target.attributes.get("id") == own for c in confirmed):
        kin = [t for t in others if t.attributes.get("id") == own]
        if any(Wording.LONGER <= wording_of(recorded, t) < Wording.SAME for t in kin):
            return True
    return any(known.speaks_for for known in identities_of(recorded, others))


def _looks_as_recorded(recorded: Target, seen: Sequence[Target]) -> bool:
    """Return True if one of them has all attributes of the recorded element, and is not in the row of another thing."""
    own = recorded.attributes
    return bool(own) and any(one.attributes == own and not is_in_other_row(recorded, one) for one in seen)


def _is_stranger(recorded: Target, seen: Target, alike: int) -> bool:
    """Return True if two elements without role and name differ for a person.

    Without a role, that is how they look. Without a name, it is what is read on them, where there are or were others
    (`alike` are there now), and its sign, or else the row, or the nearest text; the text of a field is what was
    typed into it.
    """
    classes, others = recorded.attributes.get("class", "").split(), seen.attributes.get("class", "").split()
    if (
        not recorded.role
        and classes
        and not set(classes) & set(others)
        and (recorded.xpath != seen.xpath or not others)
    ):
        return True
    known = identities_of(recorded, [seen])[0]
    if recorded.name or seen.name or known.speaks_for:
        return False
    is_relabelled = normalise(recorded.label) != normalise(seen.label)
    # The digest is left out of a recording that is of another row with another value, and has an id.
    is_unlike = recorded.element_hash != seen.element_hash if recorded.element_hash else is_relabelled
    if known.speaks_against or (recorded.namesakes > 1 and is_unlike):
        return True
    in_row, is_called = bool(recorded.row and seen.row), bool(recorded.label or recorded.text)
    if 0 < seen.namesakes < recorded.namesakes and not (in_row or is_called):
        return True  # those after one that is gone have moved up: the place tells none of them
    # Those without a name were counted by their label: of one that has another label now, that told nothing.
    by_place = (recorded.namesakes > 1 or (is_relabelled and alike > 1)) and not in_row
    if by_place and (alike > recorded.namesakes or not stays(recorded, seen)):
        return True
    if recorded.text and recorded.role not in FIELDS:
        said = compare(recorded.text, seen.text)
        if said >= Wording.ALIKE or max(alike, recorded.namesakes) > 1:
            return said < Wording.ALIKE
    has_signs = recorded.role in PRESSED and bool(recorded.label and seen.label)
    is_other_sign = has_signs and is_relabelled and max(alike, recorded.namesakes) > 1
    if is_other_sign or in_row:
        return is_other_sign  # the row tells it; what is nearest in it changes as parts of it move
    near, now = (
        [normalise(text) for text in one.neighbours if not says_how_long_ago(text)] for one in (recorded, seen)
    )
    return bool(near) and near[0] not in now[:2]


def _stands_out(recorded: Target, scored: Sequence[_Scored]) -> bool:
    """Return True if the best of several elements with equal role and name differs by more than position."""
    best, second = scored[0].candidate.target, scored[1].candidate.target
    if any(one.candidate.target.attributes == recorded.attributes != best.attributes for one in scored[1:]):
        return False  # the other has not changed in itself: both may have changed places
    lead = scored[0].score - scored[1].score
    telling = telling_keys(recorded)

    def identifiers(target: Target) -> dict[str, str]:
        return {key: value for key, value in identity_keys(target).items() if key in telling}

    for descriptor in (lambda t: t.row, lambda t: t.container, identifiers, lambda t: ("frames", t.frame)):
        # That it was in no row tells nothing: what stands beside it may have made it one.
        if descriptor(recorded) and descriptor(best) == descriptor(recorded) != descriptor(second):
            return lead >= TWIN_LEAD / 2
    if recorded.row and best.row and second.row:  # both rows are the recorded one: where they stand tells nothing
        return False
    # Among twins, what is likest in itself must stand likest too: the other may be the one that changed.
    if recorded.namesakes > 1 and not stays(recorded, best):
        return False
    return lead >= TWIN_LEAD and place(recorded, best) >= place(recorded, second)


def _one_of_each_link(confirmed: Sequence[ElementCandidate], recorded: Target) -> list[ElementCandidate]:
    """Return the likest of links of one name to one address, which are one to whoever follows them, and all others."""
    kept: dict[object, ElementCandidate] = {}
    for candidate in sorted(confirmed, key=lambda one: -similarity(recorded, one.target)):
        kept.setdefault(link_of(candidate.target) or candidate.index, candidate)
    return list(kept.values())


def decide_similar(
    recorded: Target, candidates: Sequence[ElementCandidate], entry_version: int = 0, accept: float = ACCEPT
) -> MatchDecision:
    """Decide over all elements of the page by the table of evidence: the likeliest one, or a miss."""

    def lookup(**fields: object) -> Lookup:
        counted = {"candidates": len(candidates), "entry_version": entry_version, "tier": "similarity"}
        return Lookup.model_validate({**counted, **fields})

    likely, gone = likelihoods(recorded, [candidate.target for candidate in candidates])
    if not likely:
        return MatchDecision(lookup(reason="not_found"))
    best, runner_up = likely[0], likely[1].share if len(likely) > 1 else 0.0
    contradicted = is_contradicted(recorded, likely)
    if best.share < accept or contradicted:
        reason = "ambiguous" if contradicted or runner_up > gone else "low_score"
        return MatchDecision(lookup(reason=reason, score=best.share, runner_up=runner_up))
    chosen = next(candidate for candidate in candidates if candidate.target is best.seen)
    found = lookup(hit=True, healed=True, score=best.share, runner_up=runner_up, evidence=best.reasons)
    return MatchDecision(found, chosen)


def comparable(elements: Sequence[Element], *, needs_input: bool) -> list[ElementCandidate]:
    """Return the elements that the last tier compares; inactive ones are no targets for input."""
    return [
        ElementCandidate(index=index, tier="similarity", target=element.target)
        for index, element in enumerate(elements)
        if (element.actionable and element.visible) or not needs_input
    ]


def found_among(recorded: Target, elements: Sequence[Element]) -> Element | None:
    """Return the recorded element among those of a snapshot; None if none certainly is it."""
    candidates = comparable(elements, needs_input=True)
    in_place = [one for one in candidates if (one.target.frame, one.target.xpath) == (recorded.frame, recorded.xpath)]
    decision = decide_identified(recorded, in_place)
    if decision.chosen is None:
        decision = decide_similar(recorded, candidates)
    return None if decision.chosen is None else elements[decision.chosen.index]

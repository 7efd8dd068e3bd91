"""Deciding which element on a page is the recorded one, or that none certainly is.

Two kinds of evidence. The page script looks the recording up by its identifiers (tiers xpath to hash) and
returns every candidate; an identifier is never believed alone, role and name must confirm it. When that leads
nowhere, all elements of the snapshot are compared by all descriptors (after Similo: Nass, Alégroth, Feldt, Leotta
and Ricca, "Similarity-based web element localization for robust test automation", TOSEM 2023), and the best is
accepted only with a score, a margin over the runner-up, and no contradiction.

What may speak for an element: its wording, identifiers that were made to identify (see `identity.py`), its row, and the
place it stands in. A wording that changed needs one of the others; one that turned into something else is never taken.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise, tokens
from replaywright.domain.locating.identity import (
    FIELDS,
    Identity,
    identities_of,
    identity_keys,
    telling_keys,
)
from replaywright.domain.locating.likeness import agrees, place, ratio, roles_compatible, similarity, wording_of
from replaywright.domain.locating.rows import same_row
from replaywright.domain.locating.wording import Wording, compare
from replaywright.domain.page.snapshots import Element
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.step.outcomes import Lookup

# Proposed by `python -m bench.locate --calibrate` on the calibration half of seeds 51 and 77 (8,251 picks). With two
# more seeds (30,141 picks) milder ones are proposed, 0.50 and 0.00. The stricter stay: beside 0.50 and 0.08 they cost
# 32 of 27,522 right picks and take away 28 of 397 false heals.
ACCEPT_SCORE = 0.60
"""A similarity below this is a miss."""
ACCEPT_MARGIN = 0.20
"""The best must lead the second by this much."""
TWIN_LEAD = 0.08
"""Required lead of the best among several elements found by identifiers with the recorded role and name."""
IDENTIFIED_SCORE = 0.45
"""A candidate found by an identifier and confirmed by role and name needs only this."""
SAME_PLACE = 0.30
"""An element of the recorded name at less of the recorded place needs an identifier that speaks for it."""
KIN_PLACE = 0.50
"""The same for an element whose name only means the same, or whose identifiers say that it is another."""
LONGER_PLACE = 0.60
"""The same for an element whose name is a part of the recorded one, or the other way about."""
ALIKE_PLACE = 0.65
"""The same for a name of the same meaning on a page whose other words stayed: it may have been there beside it."""
MOVED_PLACE = 0.60
"""The same for an element that stands in another kind of container: a namesake may be there from the beginning."""
PLACE_LEFT = 0.58
"""When no element of the page has this much of the recorded place, the page was rebuilt: places tell little then."""
NEAR_BEST = 0.15
"""On a rebuilt page the element has at most this much less of the recorded place than whatever has most of it."""
STILL_WORDED = 0.34
"""A page on which at most this share of the recorded neighbours' texts is left has been reworded as a whole."""
SAME_PATH = 0.9
"""Paths at least this alike lead to one place of a page that was hardly rebuilt."""

_BESIDE = {"box", "namesakes", "neighbours"}
"""Fields of a target that say what is around it."""
_DISTINCT_KINDS = frozenset({"password", "checkbox", "radio", "file"})


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the last tier for the best element."""

    score: float = ACCEPT_SCORE
    margin: float = ACCEPT_MARGIN


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
class _Sight:
    """One element as it is seen beside a recording."""

    seen: Target
    wording: Wording
    identity: Identity
    namesakes: int
    """Number of current elements with a name at least as similar, itself included."""
    is_alone: bool = False
    """True if role and name identify it, now and when it was recorded."""
    is_parent_left_empty: bool = False
    """True if its recorded container has no element of its role or a similar one any more."""


@dataclass(frozen=True)
class _Scored:
    candidate: ElementCandidate
    score: float
    wording: Wording
    identity: Identity


def _never(recorded: Target, seen: Target) -> bool:
    """Return True if `seen` has another kind, frame or row."""
    if not roles_compatible(recorded.role, seen.role) or len(recorded.frame) != len(seen.frame):
        return True
    kinds = {recorded.attributes.get("type", "text"), seen.attributes.get("type", "text")}
    if recorded.tag == seen.tag == "input" and len(kinds) > 1 and kinds & _DISTINCT_KINDS:
        return True
    return _other_row(recorded, seen)


def _has_telling_row(recorded: Target) -> bool:
    """Return True if the recorded row identifies the element; a field beside its label is a line of a form."""
    own = {normalise(recorded.name), normalise(recorded.label)}
    is_line = recorded.role in FIELDS and bool(recorded.row) and normalise(recorded.row[0]) in own
    return bool(recorded.row) and not is_line


def _other_row(recorded: Target, seen: Target) -> bool:
    """Return True if both are in rows with different subjects; the element's own words do not count."""
    if not _has_telling_row(recorded):
        return False
    return not same_row(recorded.row, seen.row, tokens(recorded.name) | tokens(seen.name), seen.neighbours)


def _contradicts(
    recorded: Target, sight: _Sight, is_reworded: Callable[[], bool], is_rebuilt_around: Callable[[Target], bool]
) -> bool:
    """Return True if the element is visibly another one, however similar its surroundings.

    `is_reworded` says whether hardly a text of the recorded surroundings is left on the page: it may be in another
    language; `is_rebuilt_around`, whether the recorded place is nowhere and the element about where it was: then what
    is alone of its role and name is the one.
    """
    seen, known = sight.seen, sight.identity
    # A label near by may be near to several: it does not speak for an element without a name.
    if sight.wording is Wording.OPPOSED or not (recorded.name or known.speaks_for):
        return True
    is_sibling = sight.wording is Wording.LONGER and recorded.xpath != seen.xpath and _same_path(recorded, seen)
    if sight.is_alone and not is_sibling and not _was_beside(recorded, seen) and is_rebuilt_around(seen):
        return False
    return _is_unlike(recorded, sight, is_reworded)


def _is_unlike(recorded: Target, sight: _Sight, is_reworded: Callable[[], bool]) -> bool:
    """Return True if wording, identifiers and place together do not confirm the element."""
    seen, known = sight.seen, sight.identity
    match sight.wording:
        case Wording.SAME:
            return _elsewhere(recorded, sight, SAME_PLACE)
        case Wording.ALIKE:
            least = KIN_PLACE if is_reworded() else ALIKE_PLACE
            is_another = recorded.role != seen.role and not known.speaks_for and not _same_path(recorded, seen)
            return is_another or _was_beside(recorded, seen) or _elsewhere(recorded, sight, least)
        case Wording.LONGER:
            if recorded.role != seen.role or known.speaks_against or _was_beside(recorded, seen):
                return True
            return not _may_be_longer(recorded, sight) or _elsewhere(recorded, sight, LONGER_PLACE)
        case _:
            if not known.agreeing or known.differing or (recorded.name and _was_beside(recorded, seen)):
                return True
            if known.is_made_for_it:
                return False
            # Only a name that nobody saw is gone, or the whole page speaks another language.
            unlabelled = "aria-label" in recorded.attributes and not seen.name and recorded.tag == seen.tag
            return not (_same_path(recorded, seen) and (unlabelled or is_reworded()))


def _may_be_longer(recorded: Target, sight: _Sight) -> bool:
    """Return True if an element with a longer or shorter name may be the recorded one.

    "Link" and "Still a link" may have been there side by side: without an identifier, only what stands where it stood
    is the one, or what is alone when everything has left the place where it stood.
    """
    if sight.identity.speaks_for or recorded.xpath == sight.seen.xpath:
        return True
    return sight.is_alone and sight.is_parent_left_empty and not _same_path(recorded, sight.seen)


def _stays(recorded: Target, seen: Target) -> bool:
    """Return True if the element has the recorded place and the same texts beside it."""
    return recorded.xpath == seen.xpath and recorded.neighbours[:3] == seen.neighbours[:3]


def _same_path(recorded: Target, seen: Target) -> bool:
    return bool(recorded.xpath) and ratio(recorded.xpath, seen.xpath) >= SAME_PATH


def _parent(xpath: str) -> str:
    return xpath.rpartition("/")[0]


def _elsewhere(recorded: Target, sight: _Sight, least: float) -> bool:
    """Return True if neither an identifier nor the place confirms an element with the right name.

    When there were more of its name, the recorded one may be gone, or another have left its row: then only the same
    row, or the very same place, says that this is not another.
    """
    seen, known = sight.seen, sight.identity
    if known.speaks_for:
        return False
    in_row = bool(recorded.row and seen.row) and not known.speaks_against
    has_left_row = recorded.namesakes > 1 and recorded.row and not seen.row
    if (has_left_row or (sight.namesakes < recorded.namesakes and not in_row)) and not _stays(recorded, seen):
        return True
    if _kind_of(recorded.container) != _kind_of(seen.container):
        least = max(least, MOVED_PLACE)
    return place(recorded, seen) < (max(least, KIN_PLACE) if known.speaks_against else least)


def _was_beside(recorded: Target, seen: Target) -> bool:
    """Return True if `seen` has the name of a recorded neighbour, and so is that neighbour."""
    own = (recorded.name, recorded.label, recorded.text)
    if any(compare(text, seen.name) is Wording.SAME for text in own if text):
        return False
    return any(compare(text, seen.name) is Wording.SAME for text in recorded.neighbours)


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
    confirmed = [
        c for c in agreeing if not _other_row(recorded, c.target) and not _is_stranger(recorded, c.target, alike)
    ]
    if not confirmed:
        return MatchDecision(lookup(reason="disagrees" if candidates else "not_found"))
    confirmed = _one_of_nested(recorded, confirmed)
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
    conflict = _points_elsewhere(recorded, candidates, confirmed) and not any(known.speaks_for for known in identities)
    if conflict or (len(confirmed) > 1 and not _stands_out(recorded, scored)):
        return MatchDecision(lookup(reason="ambiguous", score=best.score, runner_up=runner_up))
    moved = _kind_of(recorded.container) != _kind_of(seen.container) and not best.identity.speaks_for
    # What moved into another kind of container may be a namesake: it is compared with all others first.
    sight = _Sight(seen, Wording.SAME, best.identity, alike)
    if best.score < IDENTIFIED_SCORE or moved or _elsewhere(recorded, sight, SAME_PLACE):
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

    Clocks and tips that change come and go among the texts around it; the nearest stays, and no other element has more
    of them around.
    """

    def around(target: Target) -> tuple[bool, int]:
        left = {normalise(text) for text in recorded.neighbours} & {normalise(text) for text in target.neighbours}
        return target.neighbours[:1] == recorded.neighbours[:1], len(left)

    same = [c for c in agreeing if c.target.model_dump(exclude=_BESIDE) == recorded.model_dump(exclude=_BESIDE)]
    if len(same) != 1 or not recorded.namesakes or same[0].target.namesakes != recorded.namesakes:
        return None
    seen, others = same[0].target, [c.target for c in agreeing if c is not same[0]]
    is_surrounded = around(seen)[0] and all(around(seen) > around(target) for target in others)
    return same[0] if is_surrounded or seen.neighbours == recorded.neighbours else None


def may_be_declared(recorded: Target, seen: Target, query: ElementQuery) -> bool:
    """Return True if the element that the task declares, and that is not what was recorded, may be the recorded one.

    What the task calls by visible words is believed. An identifier may be that of something else by now: what is called
    otherwise, or stands in another row, is not believed. One that was made for programs outlives a name, unless the new
    name says the opposite.
    """
    if query.says_what_it_is:
        return True
    if _other_row(recorded, seen):
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
    own = recorded.attributes.get("id", "")
    if own and not any(c.target.attributes.get("id") == own for c in confirmed):
        kin = [t for t in others if t.attributes.get("id") == own]
        if any(Wording.LONGER <= wording_of(recorded, t) < Wording.SAME for t in kin):
            return True
    return any(known.speaks_for for known in identities_of(recorded, others))


def _is_stranger(recorded: Target, seen: Target, alike: int) -> bool:
    """Return True if two elements without role and name differ for a person.

    Without a role, that is how they look. Without a name, it is what is read on them, where there are or were others
    (`alike` are there now), or else the nearest text; the text of a field is what was typed into it.
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
    if known.speaks_against or (recorded.namesakes > 1 and recorded.element_hash != seen.element_hash):
        return True
    # Those without a name were counted by their label: of one that has another label now, that told nothing.
    is_relabelled = normalise(recorded.label) != normalise(seen.label)
    by_place = (recorded.namesakes > 1 or (is_relabelled and alike > 1)) and not (recorded.row and seen.row)
    if by_place and (alike > recorded.namesakes or not _stays(recorded, seen)):
        return True
    if recorded.text and recorded.role not in FIELDS:
        said = compare(recorded.text, seen.text)
        if said >= Wording.ALIKE or max(alike, recorded.namesakes) > 1:
            return said < Wording.ALIKE
    if not recorded.neighbours:
        return False
    return normalise(recorded.neighbours[0]) not in {normalise(text) for text in seen.neighbours[:2]}


def _stands_out(recorded: Target, scored: Sequence[_Scored]) -> bool:
    """Return True if the best of several elements with equal role and name differs by more than position."""
    best, second = scored[0].candidate.target, scored[1].candidate.target
    if any(one.candidate.target.attributes == recorded.attributes != best.attributes for one in scored[1:]):
        return False  # the other has not changed in itself: both may have changed places
    lead = scored[0].score - scored[1].score
    telling = telling_keys(recorded)

    def identifiers(target: Target) -> dict[str, str]:
        return {key: value for key, value in identity_keys(target).items() if key in telling}

    for descriptor in (lambda t: t.row, lambda t: t.container, identifiers, lambda t: t.frame):
        if descriptor(best) == descriptor(recorded) != descriptor(second):
            return lead >= TWIN_LEAD / 2
    if recorded.row and best.row and second.row:  # both rows are the recorded one: where they stand tells nothing
        return False
    # Among twins, what is likest in itself must stand likest too: the other may be the one that changed.
    if recorded.namesakes > 1 and not _stays(recorded, best):
        return False
    return lead >= TWIN_LEAD and place(recorded, best) >= place(recorded, second)


def decide_similar(
    recorded: Target,
    candidates: Sequence[ElementCandidate],
    entry_version: int = 0,
    thresholds: Thresholds = Thresholds(),
) -> MatchDecision:
    """Decide over all elements of the page by score, margin and contradictions: one element, or a miss."""

    def lookup(**fields: object) -> Lookup:
        counted = {"candidates": len(candidates), "entry_version": entry_version, "tier": "similarity"}
        return Lookup.model_validate({**counted, **fields})

    possible, refused = _possible(recorded, candidates)
    if not possible:
        return MatchDecision(lookup(reason="not_found"))
    best = possible[0]
    runner_up = possible[1].score if len(possible) > 1 else 0.0
    if best.score < thresholds.score:
        return MatchDecision(lookup(reason="low_score", score=best.score, runner_up=runner_up))
    # What bears the recorded name elsewhere is no less likely the one than what is only called alike.
    # Of several of one name, one that is refused for its place may still be the one: the other only stands nearer.
    is_one_of_several = recorded.namesakes > 1 and not _stays(recorded, best.candidate.target)
    outdoes = refused >= best.wording if is_one_of_several else refused > best.wording
    is_outdone = (outdoes and not best.identity.speaks_for) or any(
        one.wording > best.wording
        or (one.identity.speaks_for and not best.identity.speaks_for)
        or (is_one_of_several and _stands_nearer(recorded, one, best))
        for one in possible[1:]
    )
    if is_outdone or best.score - runner_up < thresholds.margin:
        return MatchDecision(lookup(reason="ambiguous", score=best.score, runner_up=runner_up))
    evidence = _evidence(recorded, best)
    found = lookup(hit=True, healed=True, score=best.score, runner_up=runner_up, evidence=evidence)
    return MatchDecision(found, best.candidate)


def _stands_nearer(recorded: Target, one: _Scored, best: _Scored) -> bool:
    """Return True if a namesake has the recorded place, and the best only looks more similar."""
    if best.identity.speaks_for or one.wording < best.wording:
        return False
    return place(recorded, one.candidate.target) > place(recorded, best.candidate.target)


def _possible(recorded: Target, candidates: Sequence[ElementCandidate]) -> tuple[list[_Scored], Wording]:
    """Return the uncontradicted elements, most similar first, and the best wording of the others.

    Elements of other rows do not count among the latter: each row has its own "Edit".
    """
    kin = [c for c in candidates if roles_compatible(recorded.role, c.target.role)]
    identities = identities_of(recorded, [c.target for c in kin])
    is_reworded = cache(lambda: _is_reworded(recorded, candidates))
    most = cache(lambda: max(place(recorded, c.target) for c in candidates))

    def is_rebuilt_around(seen: Target) -> bool:
        return most() < PLACE_LEFT and place(recorded, seen) >= most() - NEAR_BEST

    wordings = [wording_of(recorded, c.target) for c in kin]
    parent = _parent(recorded.xpath)
    is_parent_left_empty = all(_parent(c.target.xpath) != parent for c in kin)
    found = []
    refused = Wording.OPPOSED
    for candidate, known, wording in zip(kin, identities, wordings, strict=True):
        seen = candidate.target
        alike = sum(other >= wording for other in wordings)
        sight = _Sight(seen, wording, known, alike, _is_alone(recorded, seen, kin, wordings), is_parent_left_empty)
        if _never(recorded, seen):
            continue
        if _contradicts(recorded, sight, is_reworded, is_rebuilt_around) or _is_stranger(recorded, seen, len(kin)):
            refused = max(refused, wording)
            continue
        found.append(_Scored(candidate, similarity(recorded, seen), wording, known))
    return sorted(found, key=lambda one: -one.score), refused


def _is_alone(recorded: Target, seen: Target, kin: Sequence[ElementCandidate], wordings: Sequence[Wording]) -> bool:
    """Return True if role and name fit no other element; a longer name requires the role."""
    called = [
        c.target
        for c, wording in zip(kin, wordings, strict=True)
        if wording >= Wording.ALIKE or (wording is Wording.LONGER and c.target.role == recorded.role)
    ]
    in_row = tokens(" ".join(recorded.row)) - tokens(f"{recorded.name} {recorded.label} {recorded.text}")
    is_told_by_row = bool(in_row) and _has_telling_row(recorded)
    return recorded.namesakes <= 1 and not is_told_by_row and called == [seen]


def _is_reworded(recorded: Target, candidates: Sequence[ElementCandidate]) -> bool:
    if not recorded.neighbours:
        return False
    texts = {normalise(text) for c in candidates for text in (c.target.name, c.target.text, *c.target.neighbours)}
    left = sum(normalise(text) in texts for text in recorded.neighbours)
    return left <= len(recorded.neighbours) * STILL_WORDED


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
    if may_compare(decision.lookup):
        decision = decide_similar(recorded, candidates)
    return None if decision.chosen is None else elements[decision.chosen.index]


def may_compare(identified: Lookup) -> bool:
    """Return True if comparison may decide, as the identifying descriptions left no tie."""
    return not identified.hit and identified.reason != "ambiguous"

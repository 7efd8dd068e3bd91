"""Deciding which element on a page is the recorded one, or that none certainly is.

Two kinds of evidence. The page script looks the recording up by its identifiers (tiers xpath to hash) and
returns every candidate; an identifier is never believed alone, role and name must confirm it. When that leads
nowhere, all elements of the snapshot are compared by all descriptors (after Similo: Nass, Alégroth, Feldt, Leotta
and Ricca, "Similarity-based web element localization for robust test automation", TOSEM 2023), and the best is
accepted only with a score, a margin over the runner-up, and no contradiction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz

from replaywright.domain.base import Record
from replaywright.domain.outcomes import Lookup
from replaywright.domain.targets import Target
from replaywright.domain.text import normalise, tokens

SAME_ROW = 0.7
"""A row that holds a smaller share of the recorded row's words is about something else."""
ACCEPT_SCORE = 0.50
"""A similarity below this is a miss."""
ACCEPT_MARGIN = 0.08
"""The best must lead the second by this much."""
IDENTIFIED_SCORE = 0.45
"""A candidate found by an identifier and confirmed by role and name needs only this."""
SAME_NAME = 0.75
"""Names at least this similar count as the same wording."""

_ROLE_GROUPS = (
    {"button", "link", "menuitem", "tab"},
    {"textbox", "searchbox", "combobox", "spinbutton"},
    {"combobox", "listbox"},
    {"checkbox", "switch", "menuitemcheckbox"},
    {"radio", "menuitemradio"},
)
_TEST_IDS = ("data-testid", "data-test", "data-test-id", "data-qa", "data-cy")
_STABLE = (*_TEST_IDS, "name", "placeholder", "href", "title", "alt")
_FIELDS = {"textbox", "searchbox", "combobox", "listbox", "spinbutton", "slider"}
_TURNING = tokens("""
    not no don dont never without cancel discard delete remove clear reset undo revert reject decline deny disable
    dismiss stop skip out off up down back previous all
    nicht kein keine ohne abbrechen verwerfen löschen entfernen zurücksetzen ablehnen zurück alle
    ne pas sans annuler supprimer effacer refuser retour tout tous
    sin cancelar descartar eliminar borrar rechazar quitar atrás todo todos
    消 删 刪 削 除 不 拒 否 全
""")
"""Words that turn what a control does into something else when only one of two names has them."""


class Candidate(Record):
    """One element that a tier of the page script led to."""

    index: int
    """How the page script knows it."""
    tier: str
    """The first tier that found it."""
    target: Target


@dataclass(frozen=True)
class Decision:
    """The element to act on, or a miss with its reason."""

    lookup: Lookup
    chosen: Candidate | None = None


def name_similarity(recorded: str, seen: str) -> float:
    """0 to 1; 1 for names equal after normalisation, 0.9 when one's words are all among the other's."""
    left, right = normalise(recorded), normalise(seen)
    if left == right:
        return 1.0
    if not left or not right:
        return 0.0
    left_words, right_words = tokens(left), tokens(right)
    if left_words and right_words and (left_words <= right_words or right_words <= left_words):
        return 0.9
    return fuzz.ratio(left, right) / 100


def roles_compatible(recorded: str, seen: str) -> bool:
    """Whether one role may have become the other in a redesign."""
    return recorded == seen or any(recorded in group and seen in group for group in _ROLE_GROUPS)


def agrees(recorded: Target, seen: Target) -> bool:
    """Whether role and name confirm that `seen` is what was recorded.

    For elements without a name, the stable attributes and the label speak instead.
    """
    if recorded.role != seen.role:
        return False
    if recorded.name or seen.name:
        return normalise(recorded.name) == normalise(seen.name)
    if recorded.element_hash and recorded.element_hash == seen.element_hash:
        return True
    told = [key for key in _STABLE if recorded.attributes.get(key) or seen.attributes.get(key)]
    return all(recorded.attributes.get(key) == seen.attributes.get(key) for key in told) and (
        normalise(recorded.label) == normalise(seen.label)
    )


def _overlap(left: Iterable[str], right: Iterable[str]) -> float:
    """Share of words that both have. Signs and icons are no words; where there are no others, nothing differs."""
    a = frozenset().union(*(tokens(text) for text in left))
    b = frozenset().union(*(tokens(text) for text in right))
    return len(a & b) / len(a | b) if a or b else 1.0


def _ratio(left: str, right: str) -> float:
    return fuzz.ratio(left, right) / 100


def similarity(recorded: Target, seen: Target) -> float:
    """0 to 1 over all descriptors that the recording has; a descriptor it lacks says nothing."""
    parts: list[tuple[float, float]] = []

    def compare(weight: float, has: object, value: float) -> None:
        if has:
            parts.append((weight, value))

    attributes = recorded.attributes
    compare(1.0, recorded.tag, float(recorded.tag == seen.tag))
    role = 1.0 if recorded.role == seen.role else 0.5 if roles_compatible(recorded.role, seen.role) else 0.0
    compare(1.5, recorded.role, role)
    compare(3.0, recorded.name, name_similarity(recorded.name, seen.name))
    compare(1.0, recorded.label, name_similarity(recorded.label, seen.label or seen.name))
    compare(0.5, recorded.text, name_similarity(recorded.text, seen.text))
    compare(0.5, attributes.get("type"), float(attributes.get("type") == seen.attributes.get("type")))
    for key in _STABLE:
        compare(1.0, attributes.get(key), name_similarity(attributes.get(key, ""), seen.attributes.get(key, "")))
    compare(0.75, attributes.get("id"), _ratio(attributes.get("id", ""), seen.attributes.get("id", "")))
    classes, seen_classes = attributes.get("class", "").split(), seen.attributes.get("class", "").split()
    compare(0.25, classes, _overlap(classes, seen_classes))
    compare(0.5, recorded.xpath, _ratio(recorded.xpath, seen.xpath))
    compare(1.0, recorded.neighbours, _overlap(recorded.neighbours, seen.neighbours))
    compare(0.75, recorded.container, _ratio(normalise(recorded.container), normalise(seen.container)))
    compare(1.5, recorded.row and seen.row, _overlap(recorded.row, seen.row))
    total = sum(weight for weight, _ in parts)
    return sum(weight * value for weight, value in parts) / total if total else 0.0


def _contradicts(recorded: Target, seen: Target) -> bool:
    """Whether `seen` is visibly something else, however alike its surroundings are."""
    if not roles_compatible(recorded.role, seen.role):
        return True
    if len(recorded.frame) != len(seen.frame) or _other_row(recorded, seen) or _turned(recorded.name, seen.name):
        return True
    kinds = {recorded.attributes.get("type", "text"), seen.attributes.get("type", "text")}
    inputs = recorded.tag == "input" and seen.tag == "input"
    if inputs and len(kinds) > 1 and kinds & {"password", "checkbox", "radio", "file"}:
        return True
    if _same_identity(recorded, seen):
        return False
    if not recorded.name:
        return bool(seen.name)
    if _was_beside(recorded, seen):
        return True
    named = name_similarity(recorded.name, seen.name)
    shared = bool(tokens(recorded.name) & tokens(seen.name))
    return named < SAME_NAME and not (shared and named >= 0.5)


def _same_identity(recorded: Target, seen: Target) -> bool:
    """Whether an attribute that was made to identify the element is still the same.

    `name` does so for fields only: the buttons of a form often share one (`action`), and radio buttons must.
    """
    keys = {*_TEST_IDS, "placeholder", "alt"} | ({"name"} if recorded.role in _FIELDS else set())
    return any(recorded.attributes.get(key) and recorded.attributes[key] == seen.attributes.get(key) for key in keys)


def _turned(recorded: str, seen: str) -> bool:
    """Whether one name says the opposite of the other: "Send" and "Cancel send", "Log in" and "Log out"."""
    left, right = tokens(recorded), tokens(seen)
    if not left or not right:
        return False
    if (left ^ right) & _TURNING:
        return True
    pairs = [(a, b) for a in left - right for b in right - left]
    return any(a == prefix + b or b == prefix + a for a, b in pairs for prefix in ("un", "dis", "de"))


def _other_row(recorded: Target, seen: Target) -> bool:
    """Whether both stand in rows, and these are about different things; the element's own words do not count."""
    own = tokens(recorded.name) | tokens(seen.name)
    left = frozenset().union(*(tokens(text) for text in recorded.row)) - own
    right = frozenset().union(*(tokens(text) for text in seen.row)) - own
    return bool(left and right) and len(left & right) / len(left) < SAME_ROW


def _was_beside(recorded: Target, seen: Target) -> bool:
    """Whether `seen` bears the name of something that stood next to the recorded element: then it is that."""
    own = {normalise(recorded.name), normalise(recorded.label), normalise(recorded.text)}
    name = normalise(seen.name)
    return name not in own and name in {normalise(text) for text in recorded.neighbours}


def decide_identified(recorded: Target, candidates: Sequence[Candidate], entry_version: int = 0) -> Decision:
    """The verdict on what the tiers xpath to hash found: exactly one confirmed element, or a miss."""

    def lookup(**fields: object) -> Lookup:
        return Lookup.model_validate({"candidates": len(candidates), "entry_version": entry_version, **fields})

    if not candidates:
        return Decision(lookup(reason="not_found"))
    confirmed = [c for c in candidates if agrees(recorded, c.target) and not _other_row(recorded, c.target)]
    if not confirmed:
        return Decision(lookup(reason="disagrees"))
    scored = sorted(((similarity(recorded, c.target), c) for c in confirmed), key=lambda pair: -pair[0])
    best_score, best = scored[0]
    runner_up = scored[1][0] if len(scored) > 1 else 0.0
    if len(confirmed) > 1 and not _stands_out(recorded, scored):
        return Decision(lookup(reason="ambiguous", score=best_score, runner_up=runner_up))
    if best_score < IDENTIFIED_SCORE:
        return Decision(lookup(reason="low_score", tier=best.tier, score=best_score, runner_up=runner_up))
    healed = bool(recorded.element_hash) and best.target.element_hash != recorded.element_hash
    found = lookup(hit=True, tier=best.tier, healed=healed, score=best_score, runner_up=runner_up)
    return Decision(found, best)


def _stands_out(recorded: Target, scored: Sequence[tuple[float, Candidate]]) -> bool:
    """Whether the best of several elements with equal role and name is told apart by more than its position."""
    best, second = scored[0][1].target, scored[1][1].target
    for descriptor in (lambda t: t.row, lambda t: t.container, _identity, lambda t: t.frame):
        if descriptor(best) == descriptor(recorded) != descriptor(second):
            return scored[0][0] - scored[1][0] >= ACCEPT_MARGIN / 2
    return scored[0][0] - scored[1][0] >= ACCEPT_MARGIN


def _identity(target: Target) -> dict[str, str]:
    return {key: value for key, value in target.attributes.items() if key in _STABLE or key == "id"}


def decide_similar(recorded: Target, candidates: Sequence[Candidate], entry_version: int = 0) -> Decision:
    """The verdict of the last tier, over all elements of the page: score, margin and no contradiction, or a miss."""

    def lookup(**fields: object) -> Lookup:
        counted = {"candidates": len(candidates), "entry_version": entry_version, "tier": "similarity"}
        return Lookup.model_validate({**counted, **fields})

    scored = sorted(((similarity(recorded, c.target), c) for c in candidates), key=lambda pair: -pair[0])
    possible = [pair for pair in scored if not _contradicts(recorded, pair[1].target)]
    if not possible:
        return Decision(lookup(reason="not_found"))
    best_score, best = possible[0]
    runner_up = max((score for score, candidate in scored if candidate is not best), default=0.0)
    if best_score < ACCEPT_SCORE:
        return Decision(lookup(reason="low_score", score=best_score, runner_up=runner_up))
    if best_score - runner_up < ACCEPT_MARGIN:
        return Decision(lookup(reason="ambiguous", score=best_score, runner_up=runner_up))
    return Decision(lookup(hit=True, healed=True, score=best_score, runner_up=runner_up), best)

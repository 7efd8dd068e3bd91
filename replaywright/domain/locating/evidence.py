"""The table of evidence: what speaks for each element of a page being the recorded one, and what against it.

It is a conditional logit model (McFadden, "Conditional logit analysis of qualitative choice behavior", 1974). Each
element compares with the recording in signals from 0 to 1; its worth is the sum of their weights. What speaks for the
element being gone has a worth, too. The likelihood of an alternative is its share of the exponentials of all worths.
The weights are in `weights.py`: `python -m bench.fitting` fits them on pages of which the right element is known.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from replaywright.domain.common.text import normalise, tokens
from replaywright.domain.locating.identity import FIELDS, TEST_IDS, identity_keys, telling_keys
from replaywright.domain.locating.likeness import place, roles_compatible, said_among, stays, wording_of
from replaywright.domain.locating.rows import same_row
from replaywright.domain.locating.weights import WEIGHTS
from replaywright.domain.locating.wording import Wording, compare
from replaywright.domain.page.targets import FrameStep, Target

SPEAKS_FOR = (
    *("same_role", "same_type", "same_name", "alike_name", "longer_name", "same_label", "same_text"),
    *("own_identifier", "shared_identifier", "own_id", "own_address", "shared_address", "same_link"),
    *("own_action", "alike_action", "shared_action"),
    *("same_row", "same_container", "near", "nearest", "same_path", "close", "looks"),
    *("only_one", "only_one_alike", "first_alike", "placed", "alike_placed", "longer_placed", "reworded_placed"),
)
"""Signals whose weight is never negative."""
SPEAKS_AGAINST = (
    *("opposed_name", "nameless", "other_label", "other_text", "other_identifier", "other_id", "other_address"),
    *("other_query", "lost_identifier", "lost_id", "lost_address"),
    *("no_row", "fewer", "rivals", "name_elsewhere", "behind"),
)
"""Signals whose weight is never positive."""
OF_GONE = ("always", "reworded", "rebuilt", "was_named", "was_one_of_several", "was_identified", "was_in_row", "choice")
"""Signals for no element of the page being the recorded one."""

_CLOSE_PX = 200
_DISTINCT_KINDS = frozenset({"password", "checkbox", "radio", "file"})
_MADE = (*TEST_IDS, "name", "name and value")

Signals = Mapping[str, float]


@dataclass(frozen=True)
class Likelihood:
    """How likely one element is the recorded one."""

    seen: Target
    share: float
    """0 to 1; with those of all other elements, and of none of them, it makes 1."""
    signals: Signals

    @property
    def reasons(self) -> tuple[str, ...]:
        """The signals that weigh most, in words, with their weights."""
        weighed = ((name, WEIGHTS.get(name, 0.0) * value) for name, value in self.signals.items())
        most = sorted((one for one in weighed if abs(one[1]) >= _TELLING), key=lambda one: -abs(one[1]))
        return tuple(f"{_IN_WORDS.get(name, name.replace('_', ' '))} {weight:+.1f}" for name, weight in most[:_REASONS])


_TELLING = 0.5
"""Least weight of a signal that is told."""
_REASONS = 4
_IN_WORDS = {
    "alike_name": "name of the same meaning",
    "longer_name": "longer or shorter name",
    "own_identifier": "its own identifier",
    "shared_identifier": "an identifier that others have, too",
    "own_id": "its own id",
    "own_address": "its own address",
    "shared_address": "an address that others have, too",
    "own_action": "the only one of its name to send its form there",
    "alike_action": "the only one of such a name to send its form there",
    "shared_action": "one of several of such a name to send a form there",
    "near": "same texts around it",
    "nearest": "same text next to it",
    "close": "drawn near by",
    "looks": "same classes",
    "only_one": "the only one of its name",
    "only_one_alike": "the only one of such a name",
    "first_alike": "nothing had such a name then",
    "placed": "same name in its place",
    "alike_placed": "name of the same meaning in its place",
    "longer_placed": "longer or shorter name in its place",
    "reworded_placed": "in its place on a reworded page",
    "opposed_name": "opposite name",
    "nameless": "nothing of its name",
    "fewer": "fewer of its name than then",
    "rivals": "others of such a name",
    "name_elsewhere": "another has the recorded name",
    "behind": "something is nearer to its place",
}
"""Signals that are not called as they read."""


def likelihoods(recorded: Target, seen: Sequence[Target]) -> tuple[list[Likelihood], float]:
    """Return the elements that may be the recorded one, the likeliest first, and how likely it is none of them.

    Links of one name to one address are one choice: the likeliest of them stands for all.
    """
    compared = compare_all(recorded, seen)
    worths = [_worth(signals) for _, signals in compared]
    gone = _worth(signals_of_gone(recorded, seen, len(compared)))
    most = max([gone, *worths])
    total = math.exp(gone - most) + sum(math.exp(worth - most) for worth in worths)
    found: dict[object, Likelihood] = {}
    for (target, signals), worth in sorted(zip(compared, worths, strict=True), key=lambda one: -one[1]):
        share, key = math.exp(worth - most) / total, link_of(target) or id(target)
        known = found.get(key)
        found[key] = Likelihood(target, share, signals) if known is None else replace(known, share=known.share + share)
    return sorted(found.values(), key=lambda one: -one.share), math.exp(gone - most) / total


def is_contradicted(recorded: Target, likely: Sequence[Likelihood]) -> bool:
    """Return True if another element is the recorded one as well as the likeliest is.

    The likeliest does not read as recorded, and another one of the recorded name does; or one of its name came since,
    another is equal to it in itself, and it does not stand where the recorded one stood.
    """

    def called_so(one: Likelihood, reads: bool) -> bool:
        return "same_name" in one.signals and ("other_text" not in one.signals) is reads

    best, others = likely[0], likely[1:]
    if called_so(best, False) and any(called_so(one, True) for one in others):
        return True
    is_doubled = any(_in_itself(one.seen) == _in_itself(best.seen) for one in others)
    came_since = 0 < recorded.namesakes < sum("same_name" in one.signals for one in likely)
    return is_doubled and came_since and not stays(recorded, best.seen)


def _in_itself(target: Target) -> tuple[object, ...]:
    return target.role, target.name, target.text, target.label, target.attributes, target.row, target.container


def link_of(target: Target) -> tuple[object, ...] | None:
    """Return what makes two links one to whoever follows them, their name and address; None for anything else."""
    address, called = (target.attributes.get("href", ""), target.query), _called(target)
    return (target.frame, *address, called) if target.role == "link" and any(address) and called else None


def _worth(signals: Signals) -> float:
    return sum(WEIGHTS.get(name, 0.0) * value for name, value in signals.items())


def compare_all(recorded: Target, seen: Sequence[Target]) -> list[tuple[Target, Signals]]:
    """Return the elements that are not certainly others, each with its signals."""
    comparison = _Comparison(recorded, seen)
    return [(target, comparison.signals(target)) for target in comparison.kin if not comparison.objection(target)]


def objections(recorded: Target, seen: Sequence[Target]) -> list[tuple[Target, str]]:
    """Return the elements of the recorded kind that certainly are others, each with the reason in words."""
    comparison = _Comparison(recorded, seen)
    return [(target, why) for target in comparison.kin if (why := comparison.objection(target))]


def is_of_other_kind(recorded: Target, seen: Target) -> bool:
    """Return True if `seen` is another kind of element, or in another frame."""
    if not roles_compatible(recorded.role, seen.role) or not _is_same_frame(recorded.frame, seen.frame):
        return True
    kinds = {recorded.attributes.get("type", "text"), seen.attributes.get("type", "text")}
    return recorded.tag == seen.tag == "input" and len(kinds) > 1 and bool(kinds & _DISTINCT_KINDS)


def _is_same_frame(recorded: Sequence[FrameStep], seen: Sequence[FrameStep]) -> bool:
    """Return True if both are at one depth. A frame of another name or title and in another position is another one."""
    if len(recorded) != len(seen):
        return False
    for then, now in zip(recorded, seen, strict=True):
        told = [(a, b) for a, b in ((then.name, now.name), (then.title, now.title)) if a and b]
        if then.index != now.index and told and all(a != b for a, b in told):
            return False
    return True


def has_telling_row(recorded: Target) -> bool:
    """Return True if the recorded row identifies the element.

    A field beside its label is a line of a form, and a row that is called like the only element of that name tells no
    more than the name.
    """
    if not recorded.row:
        return False
    is_called_so = normalise(recorded.row[0]) in {normalise(recorded.name), normalise(recorded.label)}
    return not (is_called_so and (recorded.role in FIELDS or recorded.namesakes == 1))


def is_in_other_row(recorded: Target, seen: Target) -> bool:
    """Return True if both are in rows with different subjects; the element's own words do not count.

    A row that tells no more than the name did tells what has no name any more.
    """
    if not has_telling_row(recorded) and (seen.name or not recorded.name):
        return False
    return not same_row(recorded.row, seen.row, tokens(recorded.name) | tokens(seen.name), seen.neighbours)


def was_beside(recorded: Target, seen: Target) -> bool:
    """Return True if `seen` is called like another that stood there, too, and so is that: near it, or of its kind."""
    own = (recorded.name, recorded.label, recorded.text)
    if any(compare(text, seen.name) is Wording.SAME for text in own if text):
        return False
    return any(compare(text, seen.name) is Wording.SAME for text in (*recorded.neighbours, *recorded.alike))


def signals_of_gone(recorded: Target, seen: Sequence[Target], choice: int) -> Signals:
    """Return what speaks for the recorded element being gone from a page with the elements `seen`.

    `choice`: how many of them may be the recorded one.
    """
    return {
        "always": 1.0,
        "reworded": 1 - _texts_left(recorded, seen),
        "rebuilt": 1 - max((place(recorded, target) for target in seen), default=0.0),
        "was_named": float(bool(recorded.name)),
        "was_one_of_several": float(recorded.namesakes > 1),
        "was_identified": float(bool(identity_keys(recorded))),
        "was_in_row": float(has_telling_row(recorded)),
        "choice": math.log1p(choice),
    }


def _texts_left(recorded: Target, seen: Sequence[Target]) -> float:
    """Return the share of the recorded neighbours' texts that is anywhere on the page."""
    if not recorded.neighbours:
        return 1.0
    texts = {text for target in seen for text in (target.name, target.text, *target.neighbours)}
    return said_among(recorded.neighbours, texts)


class _Comparison:
    """A recording beside all elements of a page."""

    def __init__(self, recorded: Target, seen: Sequence[Target]) -> None:
        self.recorded = recorded
        self.kin = [target for target in seen if roles_compatible(recorded.role, target.role)]
        self._seen = seen
        self._wordings = {id(target): wording_of(recorded, target) for target in self.kin}
        self._own, self._link = identity_keys(recorded), link_of(recorded)
        self._keys = {id(target): identity_keys(target) for target in self.kin}
        new = [target for target in self.kin if not self.was_neighbour(target)]
        self._counts = Counter({link_of(target) or id(target): self._wordings[id(target)] for target in new}.values())
        self._bearers = Counter(item for keys in self._keys.values() for item in keys.items())
        self._called = Counter((target.role, _called(target)) for target in self.kin)
        named = (target for target in self.kin if self._wordings[id(target)] >= Wording.LONGER)
        self._senders = Counter(target.attributes.get("action") for target in named)
        self._telling = frozenset(telling_keys(recorded))
        self._is_named = bool(recorded.name or recorded.label or (recorded.text and recorded.role not in FIELDS))

    @cached_property
    def _most(self) -> float:
        """The most of the recorded place that any element of the page has."""
        return max((place(self.recorded, target) for target in self._seen), default=0.0)

    @cached_property
    def _reworded(self) -> float:
        return 1 - _texts_left(self.recorded, self._seen)

    def _rivals(self, wording: Wording) -> int:
        """Return the number of elements that are called at least so much like the recorded one, itself included."""
        return sum(count for other, count in self._counts.items() if other >= wording)

    def _agrees(self, target: Target, key: str) -> bool:
        """Return True if the element has the recorded identifier; an address has its query in it."""
        is_other = key == "href" and target.query != self.recorded.query
        return self._keys[id(target)].get(key) == self._own[key] and not is_other

    def _is_own(self, target: Target, key: str) -> bool:
        """Return True if the identifier agrees, and tells the element from all others, now as it did then."""
        agrees = key in self._own and self._agrees(target, key)
        return agrees and self._bearers[key, self._own[key]] == 1 and key in self._telling

    def objection(self, target: Target) -> str:
        """Return why the element certainly is another one; empty if it may be the recorded one."""
        if is_of_other_kind(self.recorded, target):
            return "of another kind, or in another frame"
        if self.is_opposed(target):
            return "its name says another thing"
        if self.was_neighbour(target):
            return "stood there beside it, too"
        if self.is_mute(target):
            return "nothing but its place could tell it"
        if self.is_left_of_several(target):
            return "there were more fields of its name"
        return "in another row" if self.is_in_other_row(target) else ""

    def is_in_other_row(self, target: Target) -> bool:
        """Return True if both are in rows with different subjects.

        The only link of its name and address is itself. So may be the only element of its name that is in no row now.
        """
        if self.recorded.namesakes == 1:
            wording = self._wordings[id(target)]
            is_only = wording is Wording.SAME and self._rivals(wording) == 1
            is_only_link = self._is_same_link(target) and self._called[target.role, _called(target)] == 1
            if is_only_link or (is_only and not target.row):
                return False
        return is_in_other_row(self.recorded, target)

    def was_neighbour(self, target: Target) -> bool:
        """Return True if it is called like what stood beside the recorded element, and no identifier says otherwise."""
        return was_beside(self.recorded, target) and not any(self._agrees(target, key) for key in self._own)

    def _is_same_link(self, target: Target) -> bool:
        return self._link is not None and link_of(target) == self._link

    def is_opposed(self, target: Target) -> bool:
        """Return True if the name says another thing; a field is what the server reads under its name."""
        if self._wordings[id(target)] is not Wording.OPPOSED:
            return False
        return self.recorded.role not in FIELDS or not any(self._is_own(target, key) for key in _MADE)

    def is_mute(self, target: Target) -> bool:
        """Return True if nothing but its place could tell the element.

        That is so of one among others like it, now or then, and of one that has got a name since.
        """
        if self._is_named or self._has_own(target):
            return False
        return len(self.kin) > 1 or self.recorded.namesakes > 1 or bool(target.name)

    def is_left_of_several(self, target: Target) -> bool:
        """Return True if it is a field of which there were more of its name, and nothing tells which of them it is.

        Two buttons of one name may do the same; two fields of one name never hold the same.
        """
        recorded = self.recorded
        is_twin = recorded.role in FIELDS and self._wordings[id(target)] >= Wording.ALIKE
        if not is_twin or not self._is_fewer(target) or self._has_own(target):
            return False
        return not (recorded.row and target.row) and not stays(recorded, target)

    def _is_fewer(self, target: Target) -> bool:
        """Return True if there are fewer elements of its name than there were."""
        return max(self._namesakes(target), self._rivals(self._wordings[id(target)])) < self.recorded.namesakes

    def _has_own(self, target: Target) -> bool:
        return any(self._is_own(target, key) for key in self._own)

    def signals(self, target: Target) -> Signals:
        """Return all signals that are not 0."""
        recorded, wording = self.recorded, self._wordings[id(target)]
        is_alone = recorded.namesakes <= 1 and self._rivals(wording) == 1
        is_alone_alike = is_alone and Wording.LONGER <= wording < Wording.SAME
        stands = place(recorded, target)
        known = {
            "same_role": recorded.role == target.role,
            "same_type": recorded.attributes.get("type", "") == target.attributes.get("type", ""),
            "same_name": self._is_named and wording is Wording.SAME,
            "alike_name": wording is Wording.ALIKE,
            "longer_name": wording is Wording.LONGER,
            "opposed_name": wording is Wording.OPPOSED,
            "same_text": _agreement(_own_text(recorded), _own_text(target)) == 1,
            "other_text": _difference(_own_text(recorded), _own_text(target)),
            "same_row": has_telling_row(recorded) and bool(target.row),
            "no_row": has_telling_row(recorded) and not target.row,
            "same_container": normalise(recorded.container) == normalise(target.container),
            "same_link": self._is_same_link(target),
            "looks": _looks(recorded, target),
            "same_path": recorded.xpath == target.xpath,
            "close": _closeness(recorded, target),
            "fewer": self._is_fewer(target) and not self._is_same_link(target),
            "rivals": math.log(self._rivals(wording)),
            "name_elsewhere": wording is not Wording.SAME and self._counts[Wording.SAME] > 0,
            "behind": self._most - stands,
            "only_one": is_alone and self._is_named and wording is Wording.SAME,
            "only_one_alike": is_alone_alike,
            "first_alike": is_alone_alike and not recorded.alike,
            "placed": stands * (wording is Wording.SAME),
            "alike_placed": stands * (wording is Wording.ALIKE),
            "longer_placed": stands * (wording is Wording.LONGER),
            "reworded_placed": stands * self._reworded * (wording is Wording.OTHER),
            **_labels(recorded, target),
            **self._nearness(target),
            **self._identifiers(target, wording),
        }
        return {name: float(value) for name, value in known.items() if value}

    def _namesakes(self, target: Target) -> int:
        return target.namesakes or self._called[target.role, _called(target)]

    def _nearness(self, target: Target) -> dict[str, float]:
        """Return how many of the recorded texts are near, and if the nearest is."""
        near = self.recorded.neighbours
        if not near:
            return {}
        return {"near": said_among(near, target.neighbours), "nearest": said_among(near[:1], target.neighbours[:2])}

    def _identifiers(self, target: Target, wording: Wording) -> dict[str, float]:
        """Return which identifiers agree, differ or are gone."""
        found: dict[str, float] = {}
        now, is_own = self._keys[id(target)], False
        for key, value in self._own.items():
            kind = {"id": "id", "href": "address"}.get(key, "identifier")
            if self._agrees(target, key):
                is_own = is_own or self._is_own(target, key)
                manner = "own" if self._is_own(target, key) else "shared"
                found[f"{manner}_{kind}"] = 1.0
            elif now.get(key) == value:
                found["other_query"] = 1.0
            else:
                found[f"{'other' if key in now else 'lost'}_{kind}"] = 1.0
        found |= self._action(target, wording)
        if wording is Wording.OTHER and not is_own and self._is_named:
            found["nameless"] = 1.0
        return found

    def _action(self, target: Target, wording: Wording) -> dict[str, float]:
        """Return whether a button sends its form where the recorded one did, and no other of such a name does."""
        sends_to = self.recorded.attributes.get("action")
        if not sends_to or target.attributes.get("action") != sends_to or wording < Wording.LONGER:
            return {}
        if self.recorded.namesakes > 1 or self._senders[sends_to] > 1:
            return {"shared_action": 1.0}
        return {"own_action" if wording is Wording.SAME else "alike_action": 1.0}


def _called(target: Target) -> str:
    return normalise(target.name or target.label or target.text)


def _labels(recorded: Target, seen: Target) -> dict[str, float]:
    """Return what the labels say of elements of which one has no name; a name says it better than a guessed label."""
    if recorded.name and seen.name:
        return {}
    agreement = float(bool(recorded.label and seen.label) and normalise(recorded.label) == normalise(seen.label))
    return {"same_label": agreement, "other_label": _difference(recorded.label, seen.label)}


def _own_text(target: Target) -> str:
    """Return what is read on the element beside its name; that of a field is what was typed into it."""
    is_said = target.role in FIELDS or normalise(target.text) == normalise(target.name)
    return "" if is_said else target.text


def _agreement(recorded: str, seen: str) -> float:
    return float(bool(recorded and seen) and normalise(recorded) == normalise(seen))


def _difference(recorded: str, seen: str) -> float:
    """Return 1 if both say something else, 0.5 if only one says anything."""
    if not (recorded or seen) or normalise(recorded) == normalise(seen):
        return 0.0
    return 1.0 if recorded and seen else 0.5


def _looks(recorded: Target, seen: Target) -> float:
    """Return the share of their classes that both have; without any, they look alike."""
    then, now = set(recorded.attributes.get("class", "").split()), set(seen.attributes.get("class", "").split())
    return len(then & now) / len(then | now) if then | now else 1.0


def _closeness(recorded: Target, seen: Target) -> float:
    if recorded.box is None or seen.box is None:
        return 0.0
    return math.exp(-math.hypot(recorded.box.x - seen.box.x, recorded.box.y - seen.box.y) / _CLOSE_PX)

"""Differences between two snapshots: appeared, vanished, changed and moved elements.

Element ids are valid for one snapshot only, and an inserted row changes the absolute paths of all rows below. So items
of repetitions are paired first, by their words: a row in the place of a deleted one is another row. Then elements are
paired in passes over the remaining ones, from the strictest criterion (equal in everything) to the weakest (same
place).
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log
from typing import Final, Literal

from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise, tokens
from replaywright.domain.page.snapshot_text import element_line, quoted, section_of, word
from replaywright.domain.page.snapshots import Element, Snapshot

Field = Literal["value", "states", "name", "text", "options"]

_FIELDS: Final[tuple[Field, ...]] = ("value", "states", "name", "text", "options")
_STABLE: Final = ("data-testid", "data-test", "data-test-id", "data-qa", "data-cy", "id", "name")
_SAME_ITEM: Final = 0.3
"""Share of an item's words, weighted by rarity, that the same item must keep."""
_RARE: Final = 8
"""Items are compared only if they share a word that at most so many items have, to bound the time."""

_Key = Callable[[Element], Hashable | None]


class ElementChange(Record):
    """An element in both snapshots that has changed."""

    before: Element
    after: Element
    fields: tuple[Field, ...]
    """Changed fields, at least one."""


class SnapshotDiff(Record):
    """Differences; appeared, changed and moved elements have the ids of the later snapshot."""

    url: tuple[str, str] | None = None
    """Before and after, if changed."""
    title: tuple[str, str] | None = None
    appeared: tuple[Element, ...] = ()
    vanished: tuple[Element, ...] = ()
    changed: tuple[ElementChange, ...] = ()
    moved: tuple[Element, ...] = ()
    """Smallest set of remaining elements that explains the new order."""

    def as_text(self, limit: int = 40) -> str:
        """Return about `limit` lines: `+` appeared, `-` vanished, `~` changed, `>` moved.

        Actionable elements come first in each kind. Texts of the page stand in double quotes, as in
        `replaywright.domain.page.snapshot_text`. Empty without changes.
        """
        lines = []
        for what, pair in (("url", self.url), ("title", self.title)):
            if pair is not None:
                lines.append(f"{what} {quoted(pair[0], 200)} → {quoted(pair[1], 200)}")
        signs: tuple[tuple[str, str, list[str]], ...] = (
            ("~", "changed", [_change_line(change) for change in self.changed]),
            ("+", "appeared", [_element_line(element) for element in _actionable_first(self.appeared)]),
            ("-", "vanished", [_element_line(element) for element in _actionable_first(self.vanished)]),
            (">", "moved", [_element_line(element) for element in _actionable_first(self.moved)]),
        )
        left, kinds = max(0, limit - len(lines)), sum(1 for *_, found in signs if found)
        for sign, happened, found in signs:
            if not found:
                continue
            # Each kind has its share, so that a thousand new rows do not hide the one message that vanished.
            share = max(1, left // kinds)
            kinds -= 1
            kept = found if len(found) <= share else found[: share - 1]
            lines += [f"{sign} {line}" for line in kept]
            if len(kept) < len(found):
                lines.append(f"{sign} {len(found) - len(kept)} more {happened}")
            left -= min(share, len(found))
        return "\n".join(lines)


def diff(before: Snapshot, after: Snapshot) -> SnapshotDiff:
    """Return the differences from `before` to `after`; invisible elements are ignored."""
    old = [element for element in before.elements if element.visible]
    new = [element for element in after.elements if element.visible]
    pairs = _paired(old, new)
    changed = []
    for was, now in sorted(pairs.items(), key=lambda pair: pair[1]):
        if fields := _different(old[was], new[now]):
            changed.append(ElementChange(before=old[was], after=new[now], fields=fields))
    found = set(pairs.values())
    return SnapshotDiff(
        url=None if before.url == after.url else (before.url, after.url),
        title=None if before.title == after.title else (before.title, after.title),
        appeared=tuple(element for at, element in enumerate(new) if at not in found),
        vanished=tuple(element for at, element in enumerate(old) if at not in pairs),
        changed=tuple(changed),
        moved=tuple(new[at] for at in _out_of_order([pairs[at] for at in sorted(pairs)])),
    )


# ----------------------------------------------------------------------------------------------------------- pairing


@dataclass
class _Side:
    """One of the two snapshots."""

    elements: Sequence[Element]
    items: dict[Hashable, list[int]]
    """Indexes of the elements of each repeated item, such as a table row, in order."""
    repeated: frozenset[int]
    """Indexes of all elements in items."""


def _paired(old: Sequence[Element], new: Sequence[Element]) -> dict[int, int]:
    """Map indexes in `old` to indexes in `new`."""
    was, now = _side(old), _side(new)
    pairs: dict[int, int] = {}
    for left, right in _paired_items(was, now):
        _pair_within(was.items[left], now.items[right], old, new, pairs)

    def apart(left: int, right: int) -> bool:
        # Two items were paired above or are two; but the last row of a table may be no repetition any more.
        return left not in was.repeated or right not in now.repeated

    def outside(left: int, right: int) -> bool:
        return left not in was.repeated and right not in now.repeated

    for key in (_everything, _content_and_state, _content):
        _pair_by(key, old, new, pairs, agree=apart)
    for key in (_hash_and_place, _identity_and_place):
        _pair_by(key, old, new, pairs, agree=outside)
    for attribute in _STABLE:
        _pair_by(_by_attribute(attribute), old, new, pairs, agree=outside, alone=True)
    _pair_by(_identity, old, new, pairs, agree=outside, alone=True)
    _pair_by(_place, old, new, pairs, agree=outside)
    return pairs


def _side(elements: Sequence[Element]) -> _Side:
    items: dict[Hashable, list[int]] = defaultdict(list)
    for at, element in enumerate(elements):
        if (item := _item(element)) is not None:
            items[item].append(at)
    return _Side(elements, dict(items), frozenset(at for places in items.values() for at in places))


def _item(element: Element) -> Hashable | None:
    target = element.target
    if element.group:
        return _frame(element), element.group, element.group_item
    return (_frame(element), target.container, target.row) if target.row else None


def _paired_items(was: _Side, now: _Side) -> list[tuple[Hashable, Hashable]]:
    """Pair items with equal words, then those that kept most of their rare words."""
    pairs: list[tuple[Hashable, Hashable]] = []
    alike: dict[Hashable, list[Hashable]] = defaultdict(list)
    for item, places in now.items.items():
        alike[tuple(_identity(now.elements[at]) for at in places)].append(item)
    left: list[Hashable] = []
    for item, places in was.items.items():
        equal = alike[tuple(_identity(was.elements[at]) for at in places)]
        if equal:
            pairs.append((item, equal.pop(0)))
        else:
            left.append(item)
    right = [item for items in alike.values() for item in items]
    return pairs + _likely_items(was, left, now, right)


def _likely_items(
    was: _Side, left: Sequence[Hashable], now: _Side, right: Sequence[Hashable]
) -> list[tuple[Hashable, Hashable]]:
    """Pair items that are each other's most likely match: rows with a changed cell."""
    old = {item: _words(was, places) for item, places in was.items.items()}
    new = {item: _words(now, places) for item, places in now.items.items()}
    held = Counter(word for words in (*old.values(), *new.values()) for word in words)
    total = len(old) + len(new)
    holders: dict[str, list[Hashable]] = defaultdict(list)
    for item in right:
        for token in new[item]:
            holders[token].append(item)

    def weight(words: frozenset[str]) -> float:
        return sum(log(total / held[word]) for word in words)

    scores: list[tuple[float, int, Hashable, Hashable]] = []
    for place, item in enumerate(left):
        rare = [one for one in old[item] if len(holders[one]) <= _RARE]
        for other in dict.fromkeys(other for one in rare for other in holders[one]):
            score = weight(old[item] & new[other]) / (weight(old[item] | new[other]) or 1.0)
            if score >= _SAME_ITEM:
                scores.append((score, place, item, other))
    pairs: dict[Hashable, Hashable] = {}
    taken: set[Hashable] = set()
    for _, _, item, other in sorted(scores, key=lambda one: (-one[0], one[1])):
        if item not in pairs and other not in taken:
            pairs[item] = other
            taken.add(other)
    return list(pairs.items())


def _words(side: _Side, places: Sequence[int]) -> frozenset[str]:
    targets = [side.elements[at].target for at in places]
    texts = ((each.name, each.text, *each.row, each.attributes.get("href", "")) for each in targets)
    return tokens(" ".join(chain.from_iterable(texts)))


def _pair_within(
    left: Sequence[int], right: Sequence[int], old: Sequence[Element], new: Sequence[Element], pairs: dict[int, int]
) -> None:
    """Pair the elements of one item: equal ones, then those of a kind if their number is the same."""
    were, are = [old[at] for at in left], [new[at] for at in right]
    found: dict[int, int] = {}
    for key in (_content_and_state, _content, _identity):
        _pair_by(key, were, are, found)
    old_places, new_places = _by_key(_kind, were, found), _by_key(_kind, are, found.values())
    for kind, places in old_places.items():
        # A cell more or less: which of them changed cannot be told.
        if len(places) == len(new_places.get(kind, [])):
            found.update(zip(places, new_places[kind], strict=True))
    pairs.update((left[was], right[now]) for was, now in found.items())


def _pair_by(
    key: _Key,
    old: Sequence[Element],
    new: Sequence[Element],
    pairs: dict[int, int],
    *,
    agree: Callable[[int, int], bool] = lambda _was, _now: True,
    alone: bool = False,
) -> None:
    """Pair elements with equal `key`, in order; with `alone`, only unique ones."""
    was, now = _by_key(key, old, pairs), _by_key(key, new, pairs.values())
    for value, places in was.items():
        others = now.get(value, [])
        if alone and (len(places), len(others)) != (1, 1):
            continue
        both = zip(places, others, strict=False)
        pairs.update((left, right) for left, right in both if agree(left, right))


def _by_key(key: _Key, elements: Sequence[Element], taken: Iterable[int]) -> Mapping[Hashable, list[int]]:
    skipped = set(taken)
    found: dict[Hashable, list[int]] = defaultdict(list)
    for at, element in enumerate(elements):
        if at not in skipped and (value := key(element)) is not None:
            found[value].append(at)
    return found


def _frame(element: Element) -> Hashable:
    # A frame that navigates is the same frame: its URL is left out.
    return tuple(hop.name or hop.title or hop.index for hop in element.target.frame)


def _kind(element: Element) -> Hashable:
    return _frame(element), element.target.tag, element.target.role


def _identity(element: Element) -> Hashable:
    return _kind(element), element.target.name or element.target.text


def _identity_and_place(element: Element) -> Hashable:
    return _identity(element), element.target.xpath


def _content(element: Element) -> Hashable:
    target = element.target
    return _identity(element), target.text, target.row, target.container, target.element_hash


def _content_and_state(element: Element) -> Hashable:
    return _content(element), element.value, element.states, element.options


def _everything(element: Element) -> Hashable:
    return _content_and_state(element), element.target.xpath


def _hash_and_place(element: Element) -> Hashable | None:
    target = element.target
    return (_frame(element), target.element_hash, target.xpath) if target.element_hash else None


def _place(element: Element) -> Hashable | None:
    return (_kind(element), element.target.xpath) if element.target.xpath else None


def _by_attribute(attribute: str) -> _Key:
    def key(element: Element) -> Hashable | None:
        value = element.target.attributes.get(attribute)
        return (_kind(element), value) if value else None

    return key


def _different(was: Element, now: Element) -> tuple[Field, ...]:
    differences = (
        was.value != now.value,
        was.states != now.states,
        normalise(was.target.name) != normalise(now.target.name),
        normalise(was.target.text) != normalise(now.target.text),
        was.options != now.options,
    )
    return tuple(field for field, differs in zip(_FIELDS, differences, strict=True) if differs)


def _out_of_order(places: Sequence[int]) -> list[int]:
    """Return the places outside one longest increasing run (after Schensted), in order."""
    tails: list[int] = []
    tops: list[int] = []
    before: list[int] = []
    for at, place in enumerate(places):
        pile = bisect_left(tops, place)
        before.append(tails[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(place)
            tails.append(at)
        else:
            tops[pile], tails[pile] = place, at
    kept = set()
    at = tails[-1] if tails else -1
    while at >= 0:
        kept.add(places[at])
        at = before[at]
    return sorted(place for place in places if place not in kept)


# -------------------------------------------------------------------------------------------------------------- text


def _actionable_first(elements: Sequence[Element]) -> list[Element]:
    return sorted(elements, key=lambda element: not element.actionable)


def _element_line(element: Element) -> str:
    target = element.target
    row = f" row {' | '.join(quoted(cell, 40) for cell in target.row[:4])}" if target.row else ""
    where = section_of(target)
    return f"{element_line(element)}{row}{f' in {where}' if where != 'page' else ''}"


def _change_line(change: ElementChange) -> str:
    was, now = change.before, change.after
    values: dict[Field, tuple[str, str]] = {
        "value": (quoted(was.value), quoted(now.value)),
        "states": (_states(was), _states(now)),
        "name": (quoted(was.target.name), quoted(now.target.name)),
        "text": (quoted(was.target.text), quoted(now.target.text)),
        "options": (quoted("|".join(was.options)), quoted("|".join(now.options))),
    }
    fields = [field for field in change.fields if field != "text" or "name" not in change.fields]
    changes = ", ".join(f"{field} {values[field][0]} → {values[field][1]}" for field in fields)
    called = word(now.target.role or now.target.tag) or "text"
    if now.actionable:
        called = f"[{word(now.id)}] {called}"
    name = "" if "name" in fields or not now.target.name else f" {quoted(now.target.name)}"
    return f"{called}{name}: {changes}"


def _states(element: Element) -> str:
    return f"({', '.join(word(state) for state in element.states)})"

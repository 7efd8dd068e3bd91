"""A snapshot as the text that a model reads: few tokens, and nothing in it can be forged by the page.

    page "Orders"
     [e1] link "Home"
    table "Orders"
     columns "Customer" | "Date"
     1: "Anna Schmidt" | "12 May"
      [e5] link "Edit"
     … 97 more like these (e40–e330)
     101: "Zoe Young" | "3 June"
      [e331] link "Edit"
    (12 more not shown: e340–e345, 6 texts)

A line without indentation begins a section: the nearest landmark, form, dialog, table or list of what follows, with
its frame if it is in one. Of a long repetition the first items, the last, and those that the instruction names are
shown. Everything that a page can choose stands in double quotes, on one line, without double quotes in it.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Final

from replaywright.domain.common.text import normalise, shorten, tokens
from replaywright.domain.common.token_count import count_tokens
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import FrameStep, Target

LINE_LIMIT: Final = 400
TOKEN_LIMIT: Final = 6000

_WHOLE_ITEMS: Final = 8
_WHOLE_TOKENS: Final = 300
"""A repetition of at most so many items, or costing at most so many tokens, is shown whole."""
_FIRST_ITEMS: Final = 3
_NAMED_ITEMS: Final = 8
"""At most so many items are shown because the instruction names them: the ones that it names best."""

_NAME_LIMIT: Final = 80
_CELL_LIMIT: Final = 60
_OPTIONS_LIMIT: Final = 160

_TELLING_TYPES: Final = frozenset(
    {"password", "file", "date", "time", "datetime-local", "month", "week", "color", "email", "tel", "url"}
)
"""Types of <input> that the role does not say."""
_SPOKEN_ROLES: Final = frozenset(
    {"heading", "alert", "status", "alertdialog", "dialog", "img", "progressbar", "meter", "tooltip", "log", "caption"}
)
"""Roles of texts that are worth their token; of a paragraph or a cell its words say enough."""
_CELL_ROLES: Final = frozenset({"cell", "gridcell", "rowheader", "paragraph", ""})
_ROW_REACH: Final = 10
"""How far after its cells the first element of a row may stand: a row tells at most eight cells."""
_URGENT_ROLES: Final = frozenset({"alert", "status", "alertdialog", "dialog"})

_LISTED: Final = re.compile(r"^ *\[([^\]\s]+)\] ", re.MULTILINE)

_Key = tuple[tuple[FrameStep, ...], str]
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_SELECTORS: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""What takes no room although it counts as a letter or a mark: as many bits as anybody wants can be told by it."""


@dataclass
class _Entry:
    """What is shown or left out as one: an element, a run of texts, or the note of what a repetition holds more."""

    line: str
    section: str
    rank: int
    """What is left out last comes first: 0 is the most important."""
    header: str = ""
    """The line of the repeated item, printed before the first entry of the item that is shown."""
    ids: tuple[str, ...] = ()
    """Of what can be acted on."""
    texts: int = 0


@dataclass
class _Item:
    """One item of a repetition: a table row, a list item, a card."""

    number: int
    at: list[int] = field(default_factory=list)
    """Places in the list of elements, those nested in the item included."""


def snapshot_text(
    snapshot: Snapshot, limit: int = LINE_LIMIT, *, about: str = "", max_tokens: int = TOKEN_LIMIT
) -> str:
    """At most `limit` lines of about `max_tokens` tokens: the form described above.

    What can be acted on, what `about` (an instruction with its values) names and what is in the viewport goes first
    when something must be left out; the last line then says what was.
    """
    shown = [element for element in snapshot.elements if element.visible]
    wanted = tokens(about)
    hidden, folds = _folded(shown, wanted, snapshot.repeated)
    entries = _entries(shown, hidden, folds, wanted)
    head = [f"page {quoted(snapshot.title)}" if snapshot.title else "page"]
    tail = [f"note: {quoted(note, 160)}" for note in snapshot.notes]
    text = _render(entries, head, tail)
    if text.count("\n") < limit and count_tokens(text) <= max_tokens:
        return text
    order = sorted(range(len(entries)), key=lambda at: (entries[at].rank, at))
    low, high, best = 0, len(entries) - 1, _render([], head, [*tail, _left_out(entries)])
    while low <= high:
        middle = (low + high) // 2
        kept = set(order[:middle])
        rest = [entry for at, entry in enumerate(entries) if at not in kept]
        text = _render([entries[at] for at in sorted(kept)], head, [*tail, _left_out(rest)])
        if text.count("\n") < limit and count_tokens(text) <= max_tokens:
            low, best = middle + 1, text
        else:
            high = middle - 1
    return best


def listed_ids(text: str) -> tuple[str, ...]:
    """Ids of the elements that the text form of a snapshot lists; what a page says stands in quotes and is none."""
    return tuple(_LISTED.findall(text))


def element_line(element: Element, *, more: Iterable[str] = ()) -> str:
    """`[e12] button "Send"` and what tells it apart; `more` are details that are only shown between twins.

    What cannot be acted on has no id: `heading "Orders"`, or its words alone.
    """
    if not element.actionable:
        return _context_line(element) or quoted("")
    target = element.target
    name = target.name or target.text
    parts = [f"[{word(element.id)}] {word(target.role or target.tag) or 'element'}", quoted(name)]
    said = tokens(name)
    attributes = target.attributes
    # A label of what has a name is a guess from where texts stand; the name has what the page itself gives as label.
    label = "" if target.name else target.label
    for key, text in (
        ("label", label),
        ("placeholder", attributes.get("placeholder", "")),
        ("title", attributes.get("title", "")),
    ):
        if not tokens(text) <= said:
            parts.append(f"{key}={quoted(text)}")
            said |= tokens(text)
    kind = attributes.get("type", "").lower()
    if kind in _TELLING_TYPES:
        parts.append(f"type={kind}")
    if element.value and kind != "password":
        parts.append(f"value={quoted(element.value)}")
    if element.options:
        parts.append(f"options={quoted('|'.join(element.options), _OPTIONS_LIMIT)}")
    parts += [f"({word(state)})" for state in element.states]
    parts += more
    return " ".join(parts)


# ------------------------------------------------------------------------------------------------------ repetitions


def _folded(
    shown: Sequence[Element], wanted: frozenset[str], repeated: Mapping[str, int]
) -> tuple[frozenset[int], dict[int, _Entry]]:
    """Places of the elements that a repetition leaves out, and what stands for them, by place."""
    groups: dict[_Key, dict[int, _Item]] = defaultdict(dict)
    for at, element in enumerate(shown):
        if element.group:
            item = groups[element.target.frame, element.group].setdefault(element.group_item, _Item(element.group_item))
            item.at.append(at)
    hidden: dict[_Key, set[int]] = {}
    folds: dict[int, tuple[_Key, _Entry]] = {}
    for key, found in groups.items():
        items = list(found.values())
        for item in items:
            item.at = list(range(item.at[0], item.at[-1] + 1))
        unread = max(0, repeated.get(key[1], 0) - len(items))
        if not unread and (len(items) <= _WHOLE_ITEMS or _costs_little(items, shown)):
            continue
        keep = {*range(_FIRST_ITEMS), len(items) - 1, *_named(items, shown, wanted)}
        left = [item for place, item in enumerate(items) if place not in keep]
        hidden[key] = {at for item in left for at in item.at}
        if left or unread:
            ids = tuple(shown[at].id for item in left for at in item.at if shown[at].actionable)
            where = f" ({_range(ids)})" if ids and not unread else ""
            place = (left or items[-1:])[0].at[0]
            folds[place] = key, _Entry(f"… {len(left) + unread} more like these{where}", "", 2, ids=ids)
    told = {
        at: entry
        for at, (key, entry) in folds.items()
        if not any(at in places for other, places in hidden.items() if other != key)
    }
    return frozenset[int]().union(*hidden.values()), told


def _costs_little(items: Sequence[_Item], shown: Sequence[Element]) -> bool:
    total = 0
    for item in items:
        total += sum(count_tokens(element_line(shown[at])) for at in item.at)
        if total > _WHOLE_TOKENS:
            return False
    return True


def _named(items: Sequence[_Item], shown: Sequence[Element], wanted: frozenset[str]) -> list[int]:
    """Places of the items that hold words of the instruction which few others hold, the best first."""
    if not wanted:
        return []
    words = [wanted & frozenset[str]().union(*(_words(shown[at]) for at in item.at)) for item in items]
    held = Counter(word for one in words for word in one)
    scores = [sum(log(len(items) / held[word]) for word in one) for one in words]
    ranked = sorted((place for place, score in enumerate(scores) if score > log(2)), key=lambda at: (-scores[at], at))
    return ranked[:_NAMED_ITEMS]


def _words(element: Element) -> frozenset[str]:
    target = element.target
    own = (target.name, target.text, target.label, element.value, *target.row, *target.attributes.values())
    return tokens(" ".join((*own, *element.options)))


def _range(ids: Sequence[str]) -> str:
    return word(ids[0]) if len(ids) == 1 else f"{word(ids[0])}–{word(ids[-1])}"


# ---------------------------------------------------------------------------------------------------------- entries


def _entries(
    shown: Sequence[Element], hidden: frozenset[int], folds: dict[int, _Entry], wanted: frozenset[str]
) -> list[_Entry]:
    entries: list[_Entry] = []
    items = _items(shown)
    headers = _headers(items, shown)
    twins, named = _twins(shown, items), _named_elements(shown, wanted)
    section = ""
    for at, element in enumerate(shown):
        if at in folds:
            entries.append(replace(folds[at], section=section))
        if at in hidden:
            continue
        section = section_of(element.target)
        header = headers[at]
        if element.actionable:
            more = _differences(element) if at in twins else ()
            line, rank = element_line(element, more=more), _rank(element, at in named)
            entries.append(_Entry(line, section, rank, header, ids=(element.id,)))
            continue
        line = _context_line(element)
        if not line or _said_already(at, shown, headers):
            continue
        before = entries[-1] if entries else None
        joins = before is not None and before.texts and (before.section, before.header) == (section, header)
        if joins and before is not None and _joinable(before.line, line):
            before.line += " | " + line.removeprefix("columns ")
            before.texts += 1
            before.rank = min(before.rank, _rank(element, at in named))
            continue
        entries.append(_Entry(line, section, _rank(element, at in named), header, texts=1))
    return entries


def _items(shown: Sequence[Element]) -> list[tuple[int, ...]]:
    """For each element the places of all that stand in the same item; empty when it stands in none."""
    keys: list[object] = []
    for element in shown:
        target = element.target
        if element.group:
            keys.append((target.frame, element.group, element.group_item))
        elif target.row:
            keys.append((target.frame, target.container, target.row))
        else:
            keys.append(None)
    found: list[tuple[int, ...]] = [()] * len(shown)
    start = 0
    for at in range(1, len(shown) + 1):
        if at == len(shown) or keys[at] != keys[start]:
            if keys[start] is not None:
                found[start:at] = [tuple(range(start, at))] * (at - start)
            start = at
    return found


def _headers(items: Sequence[tuple[int, ...]], shown: Sequence[Element]) -> list[str]:
    known: dict[tuple[int, ...], str] = {(): ""}
    for item in items:
        if item not in known:
            known[item] = _header(item, shown)
    return [known[item] for item in items]


def _header(item: Sequence[int], shown: Sequence[Element]) -> str:
    """`17: "Anna" | "12 May"`: the cells of an item that its elements do not say themselves.

    Outside of repetitions a row may be part of a layout: a cell that is cut off holds half a page, and one alone
    stands for no row.
    """
    row = next((shown[at].target.row for at in item if shown[at].target.row), ())
    acting = [shown[at].target for at in item if shown[at].actionable]
    said = tokens(" ".join(f"{target.name or target.text} {'' if target.name else target.label}" for target in acting))
    number = shown[item[0]].group_item
    own = [cell for cell in row if not tokens(cell) <= said and (number or not cell.endswith("…"))]
    if not own or (not number and len(own) < 2):
        return ""
    return (f"{number}: " if number else "row: ") + " | ".join(quoted(cell, _CELL_LIMIT) for cell in own)


def _twins(shown: Sequence[Element], items: Sequence[tuple[int, ...]]) -> set[int]:
    """Places of the elements that role, name, section and row do not tell apart."""
    seen: dict[object, list[int]] = defaultdict(list)
    for at, element in enumerate(shown):
        if element.actionable:
            target = element.target
            key = (target.frame, target.container, target.row, items[at][:1], target.role, target.name or target.text)
            seen[key].append(at)
    return {at for places in seen.values() if len(places) > 1 for at in places}


def _differences(element: Element) -> list[str]:
    target = element.target
    parts = []
    for key in ("href", "name", "id"):
        value = target.attributes.get(key, "")
        if value and (key == "href" or not re.search(r"\d", value)):
            parts.append(f"{key}={quoted(value, 60)}")
            break
    if target.neighbours:
        parts.append("near " + quoted(target.neighbours[0], 40))
    return parts


def _said_already(at: int, shown: Sequence[Element], headers: Sequence[str]) -> bool:
    """Whether a text only repeats what stands beside it: a section's name, a field's label, a cell of a row."""
    target = shown[at].target
    words = target.name or target.text
    text = normalise(words)
    if at + 1 < len(shown) and _container(shown[at + 1].target) == (target.role, words):
        return True
    if text == normalise(_container(target)[1]) or quoted(words, _CELL_LIMIT) in headers[at]:
        return True
    for near in (at - 1, at + 1, at + 2):
        if 0 <= near < len(shown) and shown[near].actionable:
            beside = shown[near].target
            if text in (normalise(beside.name), normalise(beside.text), normalise(beside.label)):
                return True
    if target.role not in _CELL_ROLES or shown[at].group:
        return False
    following = range(at + 1, min(at + _ROW_REACH, len(shown)))
    row = next((near for near in following if shown[near].actionable), at)
    if row != at and quoted(words, _CELL_LIMIT) in headers[row]:
        return True
    # The cell of a layout: all that it says is said again by what is in it.
    inside = (normalise(shown[near].target.name or shown[near].target.text) for near in following)
    return target.role in ("cell", "gridcell") and sum(1 for one in inside if one and one in text) > 1


def _context_line(element: Element) -> str:
    target = element.target
    words = target.name or target.text
    if "scrollable" in element.states:
        return f"{word(target.role or target.tag)} {quoted(words, 40)} (scrollable)"
    if not words:
        return ""
    if target.role == "columnheader":
        return f"columns {quoted(words, _CELL_LIMIT)}"
    if target.role in _SPOKEN_ROLES or target.tag in ("iframe", "frame"):
        return f"{word(target.role or target.tag)} {quoted(words)}"
    return quoted(words)


def _joinable(before: str, line: str) -> bool:
    if before.startswith("columns ") != line.startswith("columns "):
        return False
    return (line[0] == '"' and before[0] == '"') or line.startswith("columns ")


def _named_elements(shown: Sequence[Element], wanted: frozenset[str]) -> set[int]:
    """Places of the elements to act on that hold a word of the instruction which few others hold."""
    if not wanted:
        return set()
    words = {at: wanted & _words(element) for at, element in enumerate(shown) if element.actionable}
    held = Counter(word for one in words.values() for word in one)
    return {at for at, one in words.items() if any(held[word] <= _NAMED_ITEMS for word in one)}


def _rank(element: Element, is_named: bool) -> int:
    if element.actionable:
        return 0 if is_named else 1 if element.in_viewport else 3
    if element.target.role in _URGENT_ROLES:
        return 2
    if element.target.role in ("heading", "columnheader"):
        return 3 if element.in_viewport else 4
    return 4 if element.in_viewport else 5


# --------------------------------------------------------------------------------------------------------- rendering


def section_of(target: Target) -> str:
    """`frame "inner" form "Compose"`: where an element stands; `page` when it stands in nothing that has a role."""
    hops = [hop.name or hop.title or hop.url or str(hop.index) for hop in target.frame]
    frame = " ".join(f"frame {quoted(hop, 60)}" for hop in hops)
    role, name = _container(target)
    container = f"{role} {quoted(name, 60)}" if role and name else role
    return f"{frame} {container}".strip() or "page"


def _container(target: Target) -> tuple[str, str]:
    """Role and name of a container that is told as `form "Compose"`."""
    role, _, name = target.container.partition(" ")
    return word(role), name.strip().removeprefix('"').removesuffix('"')


def _render(entries: Sequence[_Entry], head: Sequence[str], tail: Sequence[str]) -> str:
    lines = list(head)
    section, header = "page", ""
    for entry in entries:
        if entry.section != section:
            section, header = entry.section, ""
            lines.append(section)
        if entry.header != header:
            header = entry.header
            if header:
                lines.append(f" {header}")
        lines.append(f"{'  ' if header else ' '}{entry.line}")
    return "\n".join((*lines, *tail))


def _left_out(entries: Sequence[_Entry]) -> str:
    ids = [one for entry in entries for one in entry.ids]
    texts = sum(entry.texts for entry in entries)
    parts = ([_range(ids)] if ids else []) + ([f"{texts} texts"] if texts else [])
    return f"({len(ids) + texts} more not shown: {', '.join(parts)})"


def _plain(text: str) -> str:
    """On one line, without what does not show and without double quotes."""
    seen = text
    if not text.isascii():
        seen = "".join(" " if unicodedata.category(char) in _UNSEEN else char for char in _SELECTORS.sub("", text))
    return re.sub(r"[\s\x00-\x1f\x7f]+", " ", seen).strip().replace('"', "'")


def quoted(text: str, limit: int = _NAME_LIMIT) -> str:
    """A text of the page in double quotes, on one line, at most `limit` characters."""
    return f'"{shorten(_plain(text[: 4 * limit]), limit)}"'


def word(text: str) -> str:
    """A role, tag or id: what HTML lets a tag name hold beside letters could imitate the form."""
    return re.sub(r"[^\w-]", "", text)[:40]

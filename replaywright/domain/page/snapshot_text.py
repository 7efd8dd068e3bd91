"""Snapshots as text for a model: few tokens, and the page cannot forge its structure.

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

A line without indentation begins a section: the nearest landmark, form, dialog, table or list, after its frame. A long
repetition shows its first and last items and those that the instruction names. Every text of the page stands in double
quotes, on one line, without double quotes in it.
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
"""A repetition with at most so many items, or tokens, is shown whole."""
_FIRST_ITEMS: Final = 3
_NAMED_ITEMS: Final = 8
"""Maximum items shown because the instruction names them, best matches first."""

_NAME_LIMIT: Final = 80
_CELL_LIMIT: Final = 60
_TELLING_CELLS: Final = 3
_OPTIONS_LIMIT: Final = 160

_TELLING_TYPES: Final = frozenset(
    {"password", "file", "date", "time", "datetime-local", "month", "week", "color", "email", "tel", "url"}
)
"""Types of <input> that the role does not imply."""
_SPOKEN_ROLES: Final = frozenset(
    {"heading", "alert", "status", "alertdialog", "dialog", "img", "progressbar", "meter", "tooltip", "log", "caption"}
)
"""Roles of texts that are worth a token; other texts appear without one."""
_CELL_ROLES: Final = frozenset({"cell", "gridcell", "rowheader", "paragraph", ""})
_ROW_REACH: Final = 10
"""Distance between a row's cells and its first element: a row has at most eight cells."""
_URGENT_ROLES: Final = frozenset({"alert", "status", "alertdialog", "dialog"})

_LISTED: Final = re.compile(r"^ *\[([^\]\s]+)\] ", re.MULTILINE)

_Key = tuple[tuple[FrameStep, ...], str]
_UNSEEN: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_SELECTORS: Final = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Invisible characters that count as letters or marks, which could carry hidden text."""


@dataclass
class _Entry:
    """A unit that is shown or left out: an element, a run of texts, or the note for omitted items."""

    line: str
    """Empty for a text that names a section of which nothing else is shown."""
    section: str
    rank: int
    """Importance; 0 is left out last."""
    header: str = ""
    """Line of the repeated item, printed before its first shown entry."""
    ids: tuple[str, ...] = ()
    """Ids of its actionable elements."""
    texts: int = 0


@dataclass
class _Item:
    """An item of a repetition: a table row, a list item, a card."""

    number: int
    at: list[int] = field(default_factory=list)
    """Indexes of its elements, including nested ones."""


def snapshot_text(
    snapshot: Snapshot, limit: int = LINE_LIMIT, *, about: str = "", max_tokens: int = TOKEN_LIMIT
) -> str:
    """Return at most `limit` lines of about `max_tokens` tokens in the form above.

    Actionable elements, those that `about` (an instruction with its values) names and those in the viewport come first;
    the last line describes the omissions.
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
    """Return the ids of the elements that the text lists; quoted texts of the page do not count."""
    return tuple(_LISTED.findall(text))


def element_line(element: Element, *, more: Iterable[str] = ()) -> str:
    """Return `[e12] button "Send"` with distinguishing details; `more` are those for twins only.

    Other elements have no id: `heading "Orders"`, or the words alone.
    """
    if not element.actionable:
        return _context_line(element) or quoted("")
    target = element.target
    name = target.name or target.text
    parts = [f"[{word(element.id)}] {word(target.role or target.tag) or 'element'}", quoted(name)]
    shown = tokens(name)
    attributes = target.attributes
    for key, text in (
        ("label", _label(target)),
        ("placeholder", attributes.get("placeholder", "")),
        ("title", attributes.get("title", "")),
    ):
        if not tokens(text) <= shown:
            parts.append(f"{key}={quoted(text)}")
            shown |= tokens(text)
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


def _label(target: Target) -> str:
    """Return the label that an element's line tells.

    For a named element it is only a guess from positions, as the name includes the declared label, unless it is a hint.
    """
    hints = (target.attributes.get("placeholder"), target.attributes.get("title"))
    return target.label if not tokens(target.name) or target.name in hints else ""


# ------------------------------------------------------------------------------------------------------ repetitions


def _folded(
    shown: Sequence[Element], wanted: frozenset[str], repeated: Mapping[str, int]
) -> tuple[frozenset[int], dict[int, _Entry]]:
    """Return the indexes of elements that repetitions leave out, and the notes for them, by index."""
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
    notes = {
        at: entry
        for at, (key, entry) in folds.items()
        if not any(at in places for other, places in hidden.items() if other != key)
    }
    return frozenset[int]().union(*hidden.values()), notes


def _costs_little(items: Sequence[_Item], shown: Sequence[Element]) -> bool:
    total = 0
    for item in items:
        total += sum(count_tokens(element_line(shown[at])) for at in item.at)
        if total > _WHOLE_TOKENS:
            return False
    return True


def _named(items: Sequence[_Item], shown: Sequence[Element], wanted: frozenset[str]) -> list[int]:
    """Return the indexes of the items with rare words of the instruction, best first."""
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
    headers, sections = _headers(items, shown), _sections(items, shown)
    printed = {sections[at] for at, element in enumerate(shown) if element.actionable and at not in hidden}
    twins, named = _twins(shown, items), _named_elements(shown, wanted)
    section = ""
    for at, element in enumerate(shown):
        if at in folds:
            entries.append(replace(folds[at], section=section))
        if at in hidden:
            continue
        section = sections[at]
        header = headers[at]
        if element.actionable:
            more = _differences(element) if at in twins else ()
            line, rank = element_line(element, more=more), _rank(element, at in named)
            entries.append(_Entry(line, section, rank, header, ids=(element.id,)))
            continue
        line = _context_line(element)
        if not line or _said_already(at, shown, headers):
            if line and section not in printed and _names_section(element.target):
                printed.add(section)
                entries.append(_Entry("", section, _rank(element, at in named), texts=1))
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
    """Return for each element the indexes of all elements in its item; empty without one."""
    keys: list[object] = []
    parts = _parts(shown)
    for element in shown:
        target = element.target
        if element.group and (target.frame, element.group, target.row) not in parts:
            keys.append((target.frame, element.group, element.group_item))
        elif target.row:
            keys.append((target.frame, target.row))
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


def _parts(shown: Sequence[Element]) -> set[tuple[tuple[FrameStep, ...], str, tuple[str, ...]]]:
    """Return frame, group and row of repetitions inside of one row, as of its actions: each item has another one."""
    found: dict[tuple[tuple[FrameStep, ...], str, tuple[str, ...]], list[Element]] = defaultdict(list)
    for element in shown:
        if element.group and element.actionable and element.target.row:
            found[element.target.frame, element.group, element.target.row].append(element)

    def are_parts(elements: Sequence[Element]) -> bool:
        names = [element.target.name for element in elements]
        return len({element.group_item for element in elements}) > 1 and len({*names}) == len(names)

    return {key for key, elements in found.items() if are_parts(elements)}


def _sections(items: Sequence[tuple[int, ...]], shown: Sequence[Element]) -> list[str]:
    """Return the section of each element: a nameless list or table inside of an item is none of its own."""
    sections = [section_of(element.target) for element in shown]
    for at, item in enumerate(items):
        if item and not _container(shown[at].target)[1]:
            sections[at] = sections[item[0]]
    return sections


def _headers(items: Sequence[tuple[int, ...]], shown: Sequence[Element]) -> list[str]:
    items_of: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for element, item in zip(shown, items, strict=True):
        if item and element.actionable:
            items_of[_words_of(element.target)].add(item)
    repeated = frozenset(words for words, there in items_of.items() if len(there) > 1)
    known: dict[tuple[int, ...], str] = {(): ""}
    for item in items:
        if item not in known:
            known[item] = _header(item, shown, repeated)
    return [known[item] for item in items]


def _words_of(target: Target) -> str:
    return normalise(target.name or target.text)


def _header(item: Sequence[int], shown: Sequence[Element], repeated: frozenset[str]) -> str:
    """Return `17: "Anna" | "12 May"`: the cells of an item that its elements do not repeat.

    Where its elements repeat them all, as in a table whose cells can be pressed, and some of the elements have the
    words of another item's, the first cells that only this item has: else nothing says whose "Delete" it is.
    Outside of repetitions a row may be layout: a truncated cell or a single one is ignored.
    """
    rows = dict.fromkeys(shown[at].target.row for at in item if shown[at].target.row)
    acting = [shown[at].target for at in item if shown[at].actionable]
    acted_on = tokens(" ".join(f"{target.name or target.text} {_label(target)}" for target in acting))
    numbers = {shown[at].group_item for at in item}
    number = numbers.pop() if len(numbers) == 1 else 0
    # An item's parts may be rows themselves: the row that says the most is the item.
    row = max(rows, key=lambda cells: len(tokens(" ".join(cells)) - acted_on), default=())
    whole = [cell for cell in row if number or not cell.endswith("…")]
    own = [cell for cell in whole if not tokens(cell) <= acted_on]
    if not own and any(_words_of(target) in repeated for target in acting):
        own = [cell for cell in whole if normalise(cell) not in repeated][:_TELLING_CELLS]
    if not own or (not number and len(own) < 2):
        return ""
    return (f"{number}: " if number else "row: ") + " | ".join(quoted(cell, _CELL_LIMIT) for cell in own)


def _twins(shown: Sequence[Element], items: Sequence[tuple[int, ...]]) -> set[int]:
    """Return the indexes of elements with equal role, name, section and row."""
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


def _names_section(target: Target) -> bool:
    return normalise(target.name or target.text) == normalise(_container(target)[1])


def _said_already(at: int, shown: Sequence[Element], headers: Sequence[str]) -> bool:
    """Return True if the text repeats a neighbour: a section's name, a field's label, a cell of a row."""
    target = shown[at].target
    words = target.name or target.text
    text = normalise(words)
    if at + 1 < len(shown) and _container(shown[at + 1].target) == (target.role, words):
        return True
    if _names_section(target) or quoted(words, _CELL_LIMIT) in headers[at]:
        return True
    for near in (at - 1, at + 1, at + 2):
        if 0 <= near < len(shown) and shown[near].actionable:
            beside = shown[near].target
            if text in (normalise(beside.name), normalise(beside.text), normalise(_label(beside))):
                return True
    if target.role not in _CELL_ROLES or shown[at].group:
        return False
    following = range(at + 1, min(at + _ROW_REACH, len(shown)))
    row = next((near for near in following if shown[near].actionable), at)
    if row != at and quoted(words, _CELL_LIMIT) in headers[row]:
        return True
    # A layout cell repeats the texts inside it.
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
    return (line.startswith('"') and before.startswith('"')) or line.startswith("columns ")


def _named_elements(shown: Sequence[Element], wanted: frozenset[str]) -> set[int]:
    """Return the indexes of actionable elements with a rare word of the instruction."""
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
    """Return the section of an element, `frame "inner" form "Compose"`, or `page`."""
    hops = [hop.name or hop.title or hop.url or str(hop.index) for hop in target.frame]
    frame = " ".join(f"frame {quoted(hop, 60)}" for hop in hops)
    role, name = _container(target)
    container = f"{role} {quoted(name, 60)}" if role and name else role
    return f"{frame} {container}".strip() or "page"


def _container(target: Target) -> tuple[str, str]:
    """Return role and name of a container such as `form "Compose"`."""
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
        if entry.line:
            lines.append(f"{'  ' if header else ' '}{entry.line}")
    return "\n".join((*lines, *tail))


def _left_out(entries: Sequence[_Entry]) -> str:
    ids = [one for entry in entries for one in entry.ids]
    texts = sum(entry.texts for entry in entries)
    parts = ([_range(ids)] if ids else []) + ([f"{texts} texts"] if texts else [])
    return f"({len(ids) + texts} more not shown: {', '.join(parts)})"


def _plain(text: str) -> str:
    """Return the text on one line, without invisible characters and double quotes."""
    seen = text
    if not text.isascii():
        seen = "".join(" " if unicodedata.category(char) in _UNSEEN else char for char in _SELECTORS.sub("", text))
    return re.sub(r"[\s\x00-\x1f\x7f]+", " ", seen).strip().replace('"', "'")


def quoted(text: str, limit: int = _NAME_LIMIT) -> str:
    """Return a text of the page in double quotes, on one line of at most `limit` characters."""
    return f'"{shorten(_plain(text[: 4 * limit]), limit)}"'


def word(text: str) -> str:
    """Return a role, tag or id without characters that could imitate the form."""
    return re.sub(r"[^\w-]", "", text)[:40]

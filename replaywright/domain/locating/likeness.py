"""Likeness of two descriptions of elements: by role, wording, place, and all together."""

from collections.abc import Callable, Iterable, Sequence

from rapidfuzz import fuzz

from replaywright.domain.common.text import normalise, tokens
from replaywright.domain.locating.identity import FIELDS, IDENTIFYING, TEST_IDS
from replaywright.domain.locating.wording import Wording, compare, says_how_long_ago
from replaywright.domain.page.targets import Target

_ROLE_GROUPS = (
    frozenset({"button", "link", "menuitem", "tab"}),
    frozenset({"textbox", "searchbox", "combobox", "spinbutton"}),
    frozenset({"combobox", "listbox"}),
    frozenset({"checkbox", "switch", "menuitemcheckbox"}),
    frozenset({"radio", "menuitemradio"}),
)
PRESSED = _ROLE_GROUPS[0]
_STABLE = (*TEST_IDS, "name", "placeholder", "href", "title", "alt")


def name_similarity(recorded: str, seen: str) -> float:
    """0 to 1; 1 for names that read the same, 0.9 when one's words are all among the other's, else by spelling."""
    left, right = normalise(recorded), normalise(seen)
    if left == right:
        return 1.0
    if not left or not right:
        return 0.0
    match compare(recorded, seen):
        case Wording.SAME:
            return 1.0
        case Wording.ALIKE:
            return 0.95
        case Wording.LONGER:
            return 0.9
        case _:
            return fuzz.ratio(left, right) / 100


def roles_compatible(recorded: str, seen: str) -> bool:
    """Return True if a redesign may change one role into the other."""
    return recorded == seen or any(recorded in group and seen in group for group in _ROLE_GROUPS)


def agrees(recorded: Target, seen: Target) -> bool:
    """Return True if role and name confirm the recorded element.

    For elements without a name, the stable attributes and the label speak instead. A recording with a row and no hash
    is of many elements, which a parameter in the row tells apart: an attribute that it lacks is not known.
    """
    if recorded.role != seen.role:
        return False
    if recorded.name or seen.name:
        return normalise(recorded.name) == normalise(seen.name)
    same_label = normalise(recorded.label) == normalise(seen.label)
    if recorded.element_hash and recorded.element_hash == seen.element_hash:
        return True
    is_of_many = bool(recorded.row) and not recorded.element_hash
    had = {} if is_of_many else seen.attributes
    told = [key for key in _STABLE if recorded.attributes.get(key) or had.get(key)]
    return all(recorded.attributes.get(key) == seen.attributes.get(key) for key in told) and same_label


def wording_of(recorded: Target, seen: Target) -> Wording:
    """Return the agreement of the names; a field is also called by its label and placeholder.

    What has no name is called by its label, or else by what is read on it. A redesign may make a name the tip of an
    icon, or a tip the name.
    """
    if not recorded.name and not seen.name:
        is_field = recorded.role in FIELDS or seen.role in FIELDS
        pairs = [(recorded.label, seen.label), *([] if is_field else [(recorded.text, seen.text)])]
        return next((compare(then, now) for then, now in pairs if then and now), Wording.OTHER)
    best = compare(recorded.name, seen.name)
    if recorded.role in FIELDS or seen.role in FIELDS:
        own, others = _called(recorded), _called(seen)
        pairs = [(a, b) for a in own for b in others]
        if len(own) > 1 and len(others) > 1:
            # Several fields say "Filter" inside; that tells nothing where what stands at them says which is which.
            crossed = [(a, b) for a, b in ((own[0], others[1]), (own[1], others[0])) if compare(a, b) is Wording.SAME]
            pairs = [(own[0], others[0]), *crossed]
        best = max((compare(a, b) for a, b in pairs), default=best)
        # What was only the placeholder, and now is the name, may be said by several: it counts as a part of a name.
        if best > Wording.LONGER and own and others and compare(own[0], others[0]) < best:
            best = Wording.LONGER
    elif not (recorded.name and seen.name):
        # A name that nobody saw came or went; what is read on the control is still the same.
        texts = (
            [text for text in (recorded.name, recorded.text) if text],
            [text for text in (seen.name, seen.text) if text],
        )
        best = max((compare(a, b) for a in texts[0] for b in texts[1]), default=best)
    if best is Wording.OPPOSED:
        return best
    if not (recorded.name and seen.name) and recorded.label and seen.label:
        best = max(best, compare(recorded.label, seen.label))  # what stands beside it is the same
    tips = ((recorded.name, seen.attributes.get("title")), (recorded.attributes.get("title"), seen.name))
    return max(best, *(compare(a, b) for a, b in tips if a and b), Wording.OPPOSED)


def _called(field: Target) -> list[str]:
    """Return its name or label, and its placeholder."""
    texts = (field.name or field.label, field.attributes.get("placeholder", ""))
    return list(dict.fromkeys(text for text in texts if text))


def stays(recorded: Target, seen: Target) -> bool:
    """Return True if the element has the recorded place and the same texts beside it."""
    return recorded.xpath == seen.xpath and recorded.neighbours[:3] == seen.neighbours[:3]


def place(recorded: Target, seen: Target) -> float:
    """0 to 1: how much of the place agrees: the container, the texts near by, the path."""
    parts: list[tuple[float, float]] = []
    if recorded.container or seen.container:
        parts.append((0.75, ratio(normalise(recorded.container), normalise(seen.container))))
    if recorded.neighbours:
        parts.append((1.0, said_among(recorded.neighbours, seen.neighbours)))
    if recorded.xpath:
        parts.append((0.75, ratio(recorded.xpath, seen.xpath)))
    return _mean(parts) if parts else 1.0


def said_among(recorded: Sequence[str], seen: Iterable[str]) -> float:
    """Return the share of the recorded texts that are among those seen, or nearly so: "User name", "Username".

    Texts that are others at every visit are left out.
    """
    there, telling = frozenset(seen), [text for text in recorded if not says_how_long_ago(text)]
    said = (text in there or any(compare(text, other) >= Wording.ALIKE for other in there) for text in telling)
    return sum(said) / len(telling) if telling else 1.0


def _overlap(left: Iterable[str], right: Iterable[str]) -> float:
    """Return the share of common words. Symbols are no words; without words, nothing differs."""
    a = frozenset().union(*(tokens(text) for text in left))
    b = frozenset().union(*(tokens(text) for text in right))
    return len(a & b) / len(a | b) if a or b else 1.0


def ratio(left: str, right: str) -> float:
    """Return how much of two texts is equal in the same order, 0 to 1."""
    return fuzz.ratio(left, right) / 100


def _mean(parts: Sequence[tuple[float, float]]) -> float:
    total = sum(weight for weight, _ in parts)
    return sum(weight * value for weight, value in parts) / total if total else 0.0


def similarity(recorded: Target, seen: Target) -> float:
    """0 to 1 over all descriptors that the recording has; a descriptor it lacks says nothing."""
    parts: list[tuple[float, float]] = []

    def compared(weight: float, has: object, value: Callable[[], float]) -> None:
        if has:
            parts.append((weight, value()))

    attributes, others = recorded.attributes, seen.attributes
    compared(1.0, recorded.tag, lambda: float(recorded.tag == seen.tag))
    role = 1.0 if recorded.role == seen.role else 0.5 if roles_compatible(recorded.role, seen.role) else 0.0
    compared(1.5, recorded.role, lambda: role)
    compared(3.0, recorded.name, lambda: name_similarity(recorded.name, seen.name))
    compared(1.0, recorded.label, lambda: name_similarity(recorded.label, seen.label or seen.name))
    compared(0.5, recorded.text, lambda: name_similarity(recorded.text, seen.text))
    compared(0.5, attributes.get("type"), lambda: float(attributes.get("type") == others.get("type")))
    for key in IDENTIFYING:
        value = attributes.get(key, "")
        compared(1.0, value, lambda value=value, key=key: name_similarity(value, others.get(key, "")))  # type: ignore[misc]
    compared(0.75, attributes.get("id"), lambda: ratio(attributes.get("id", ""), others.get("id", "")))
    classes, seen_classes = attributes.get("class", "").split(), others.get("class", "").split()
    compared(0.25, classes, lambda: _overlap(classes, seen_classes))
    compared(0.5, recorded.xpath, lambda: ratio(recorded.xpath, seen.xpath))
    compared(1.0, recorded.neighbours, lambda: _overlap(recorded.neighbours, seen.neighbours))
    compared(0.75, recorded.container, lambda: ratio(normalise(recorded.container), normalise(seen.container)))
    compared(1.5, recorded.row and seen.row, lambda: _overlap(recorded.row, seen.row))
    return _mean(parts)

"""Preference rules: choose the first, the last, or the lowest-numbered row of several elements."""

import re
from collections.abc import Sequence
from decimal import Decimal

from replaywright.domain.common import expressions
from replaywright.domain.common.base import Record
from replaywright.domain.common.text import normalise
from replaywright.domain.locating.identity import TEST_IDS
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.step.overrides import OverrideRule, Preference

_SPACES = " \u00a0\u2009\u202f"
_NUMBER = rf"(?<![\w.,'’])[-−]?\d(?:[\d.,'’]|[{_SPACES}](?=\d{{3}}(?!\d)))*"
_SIGN = r"[$€£¥₹₩₽₺₫₱฿₪₴₦₿]|\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|KRW|TRY|RUB|ZAR)\b"
_AMOUNT = re.compile(
    rf"(?P<before>{_SIGN})[{_SPACES}]*(?P<first>{_NUMBER})|(?P<last>{_NUMBER})[{_SPACES}]*(?P<after>{_SIGN})"
)
_BARE = re.compile(_NUMBER)
_ISO = {"€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY"}
"""Signs that only one currency has: `€ 5` and `5 EUR` are the same money."""


class Overruling(Record):
    """A pick of the model's that a rule changed."""

    rule: str
    element: Element
    said: str
    """Note for the trace: the rule, the model's pick, the element taken."""


def overruled(rules: Sequence[OverrideRule], snapshot: Snapshot, picked_id: str) -> Overruling | None:
    """Return the element that the first applicable preference chooses instead of `picked_id`; None if it stays.

    A rule by numbers abstains when they cannot be compared: a row with several, or two currencies.
    """
    picked = snapshot.element(picked_id)
    if picked is None:
        return None
    for rule in rules:
        if rule.prefer is None or not _is_among(rule.prefer.among, picked):
            continue
        chosen = _preferred(rule.prefer, snapshot, picked)
        if chosen is None:
            continue
        if chosen.id == picked.id:
            return None
        before, after = _shown(picked, snapshot), _shown(chosen, snapshot)
        said = f"rule {rule.name}: the model picked {before}, the rule chose {after}"
        return Overruling(rule=rule.name, element=chosen, said=said[:500])
    return None


def number_in(text: str) -> Decimal | None:
    """Parse the number in `text` with either decimal mark: `1.234,56`, `1,234.56`, `1 234`; None if unclear.

    One mark alone before three digits groups them (`1.234` is a thousand and more), unless a zero stands before it.
    """
    digits = re.sub(rf"[{_SPACES}'’]", "", text.strip().replace("−", "-")).rstrip(".,")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("-")
    marks = [mark for mark in digits if mark in ".,"]
    if not digits or not digits[0].isdigit():
        return None
    whole, fraction = digits, ""
    if marks and _ends_in_decimals(digits, marks):
        whole, _, fraction = digits.rpartition(marks[-1])
    groups = re.split(r"[.,]", whole)
    if len(set(re.findall(r"[.,]", whole))) > 1 or not _are_thousands(groups):
        return None
    return sign * Decimal("".join(groups) + (f".{fraction}" if fraction else ""))


def _ends_in_decimals(digits: str, marks: Sequence[str]) -> bool:
    if len(set(marks)) > 1:
        return marks.count(marks[-1]) == 1
    before, _, after = digits.rpartition(marks[-1])
    return len(marks) == 1 and (len(after) != 3 or before == "0" or len(before) > 3)


def _are_thousands(groups: Sequence[str]) -> bool:
    return len(groups) == 1 or (1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:]))


def _preferred(prefer: Preference, snapshot: Snapshot, picked: Element) -> Element | None:
    found = [element for element in snapshot.elements if element.visible and _is_among(prefer.among, element)]
    if prefer.order in ("first", "last"):
        return found[0 if prefer.order == "first" else -1] if found else None
    numbered: list[tuple[Decimal, Element]] = []
    currencies: set[str] = set()
    for element in found:
        amounts = _amounts(_row_text(element, snapshot), prefer.by)
        if len({number for number, _ in amounts}) > 1:
            return None
        if amounts:
            numbered.append((amounts[0][0], element))
            currencies |= {currency for _, currency in amounts if currency}
    if not numbered or len(currencies) > 1:
        return None
    best = (min if prefer.order == "lowest" else max)(number for number, _ in numbered)
    equals = [element for number, element in numbered if number == best]
    return picked if picked in equals else equals[0]


def _amounts(row: str, by: str | None) -> list[tuple[Decimal, str]]:
    """Return the candidate numbers of a row with their currencies."""
    if by is not None:
        text = expressions.part_found(by, row) or ""
        amounts = _money(text) or _numbers(text)
    else:
        amounts = _money(row) or _numbers(row)
    return amounts


def _money(text: str) -> list[tuple[Decimal, str]]:
    amounts = []
    for match in _AMOUNT.finditer(text):
        sign = match["before"] or match["after"]
        number = number_in(match["first"] or match["last"])
        if number is not None:
            amounts.append((number, _ISO.get(sign, sign)))
    return amounts


def _numbers(text: str) -> list[tuple[Decimal, str]]:
    return [(number, "") for match in _BARE.finditer(text) if (number := number_in(match[0])) is not None]


def _row_text(element: Element, snapshot: Snapshot) -> str:
    """Return the text of the element's row or repeated item, else of the element itself."""
    target = element.target
    if target.row:
        return "\n".join(target.row)
    if element.group:
        item = (element.group, element.group_item)
        beside = [other for other in snapshot.elements if (other.group, other.group_item) == item]
        return "\n".join(dict.fromkeys(other.target.text or other.target.name for other in beside))
    return target.text or target.name


def _is_among(query: ElementQuery, element: Element) -> bool:
    target = element.target
    name = normalise(target.name)
    text = normalise(target.text or target.name)
    equal = (
        (query.name, name),
        (query.label, normalise(target.label)),
        (query.placeholder, normalise(target.attributes.get("placeholder", ""))),
    )
    return (
        (query.role is None or query.role == target.role)
        and all(want is None or normalise(want) == seen for want, seen in equal)
        and (query.name_in is None or name in map(normalise, query.name_in))
        and (query.name_contains is None or normalise(query.name_contains) in name)
        and (query.text is None or normalise(query.text) in text)
        and (query.text_in is None or any(normalise(one) in text for one in query.text_in))
        and (query.test_id is None or query.test_id in (target.attributes.get(key) for key in TEST_IDS))
    )


def _shown(element: Element, snapshot: Snapshot) -> str:
    row = " · ".join(_row_text(element, snapshot).split("\n"))
    called = f'{element.target.role or element.target.tag} "{element.target.name}"'
    return f"{called} ({row[:120]})" if row and row != element.target.name else called

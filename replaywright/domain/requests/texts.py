"""Texts of requests and the values behind them: templates, dates, and the forms of values."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from typing import Final

from replaywright.domain.common.templates import LONG, lone_parameter
from replaywright.domain.common.text import is_word_edge

_NEAR: Final = dt.timedelta(days=400)
"""Distance from the day of a run within which a date is one of that day: the next due date, the year's first."""
_PARTS: Final = re.compile(r"(?<!\d)(\d{1,4})([-/. ])(\d{1,2})\2(\d{1,4})(?!\d)")
_COMPACT: Final = re.compile(r"(?<!\d)(\d{4})(\d{2})(\d{2})(?!\d)")
_EPOCH: Final = re.compile(r"(?<![\d.])(\d{10})(?:\d{3})?(?!\d)")
_MONTH: Final = re.compile(r"(?<!\d)(\d{4})[-/.](\d{1,2})(?![-/.\d])|(?<![-/.\d])(\d{1,2})[-/.](\d{4})(?!\d)")
_NAMED: Final = re.compile(
    r"\b(?:\d{1,2}\W{1,2})?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\W{1,2}(?:\d{1,2}\W{1,2})?(\d{4})\b",
    re.IGNORECASE,
)
_LETTER: Final = re.compile(r"[^\W\d_]")


def templates_of(text: str, values: Mapping[str, str], secrets: Mapping[str, str]) -> Iterator[str]:
    """Yield `text` with values of parameters and secrets as templates; nothing if it has none.

    One that is the whole text comes first. Shorter than `LONG`, or inside of a word, a value counts only as the whole.
    """
    known = [(value, f"{{{{secret:{name}}}}}") for name, value in secrets.items() if value]
    known += [(value, f"{{{{{name}}}}}") for name, value in values.items()]
    whole = [template for value, template in known if value == text]
    if whole or "{{" in text:
        yield from whole
        return
    named = {value: template for value, template in reversed(known) if len(value) >= LONG}
    if not named:
        return

    def template_of(found: re.Match[str]) -> str:
        is_word = is_word_edge(text, found.start()) and is_word_edge(text, found.end())
        return named[found[0]] if is_word else found[0]

    # One pass: what was put in is not searched for further values.
    embedded = re.sub("|".join(map(re.escape, sorted(named, key=len, reverse=True))), template_of, text)
    if embedded != text:
        yield embedded


def is_embedding(template: str) -> bool:
    """Tell if values stand inside of a longer text, where a page may have escaped them."""
    return "{{" in template and lone_parameter(template) != template[2:-2]


def is_of_time(text: str, day: dt.date) -> bool:
    """Tell if a text holds a date or a time near the day: on another one, the page may send another one."""
    dates = [(found[1], found[3], found[4]) for found in _PARTS.finditer(text)]
    dates += [(found[1], found[2], found[3]) for found in _COMPACT.finditer(text)]
    for one, middle, last in dates:
        orders = ((one, middle, last), (last, middle, one), (last, one, middle))
        if any(_is_near(int(year), int(month), int(number), day) for year, month, number in orders):
            return True
    if any(
        _is_near(int(year or last), int(month or first), 1, day) for year, month, first, last in _MONTH.findall(text)
    ):
        return True
    if any(abs(int(found[1]) - day.year) <= 1 for found in _NAMED.finditer(text)):
        return True
    moments = (dt.datetime.fromtimestamp(int(found[1]), dt.UTC).date() for found in _EPOCH.finditer(text))
    return any(abs(moment - day) <= _NEAR for moment in moments)


def of_day(texts: Mapping[tuple[str, ...], str], day: dt.date) -> frozenset[tuple[str, ...]]:
    """Return the keys of texts that together are the day: its year, its month and its number, each by itself."""
    parts = [
        {
            key
            for key, text in texts.items()
            if text.isdecimal() and len(text) <= len(str(day.year)) and int(text) == part
        }
        for part in (day.year, day.month, day.day)
    ]
    return frozenset().union(*parts) if all(parts) else frozenset()


def _is_near(year: int, month: int, number: int, day: dt.date) -> bool:
    year += 2000 if year < 100 else 0
    try:
        return abs(dt.date(year, month, number) - day) <= _NEAR
    except ValueError:
        return False


def form_of(value: str) -> str:
    """Return the coarse form of a value: pages check, trim and convert values of one form alike.

    Of a number, date or the like these are its marks, with `9` for up to three digits and `9999` for more, as pages
    part these; of words, only what pages look at: blanks around, line breaks, an at sign.
    """
    if not value.strip():
        return "empty" if not value else "blank"
    more = " around" if value != value.strip() else ""
    more += " lines" if "\n" in value else ""
    more += " controls" if re.search(r"[\x00-\x09\x0b-\x1f\x7f]", value) else ""
    if _LETTER.search(value):
        return ("at" if "@" in value else "words") + more
    lone = value.strip()
    if lone.isdecimal() and len(lone) > 1 and lone.startswith("0"):
        return "0" + more
    return re.sub(r"\d+", lambda run: "9" if len(run[0]) <= LONG else "9999", lone) + more


def marks_of(value: str) -> str:
    """Return the characters of a value that are escaped somewhere: all but letters and digits of ASCII.

    Those beyond ASCII are one.
    """
    marks = {mark if mark.isascii() else "é" for mark in value if not (mark.isascii() and mark.isalnum())}
    return "".join(sorted(marks))

"""Expectations that do not hold, in words: what was expected, what was found, and what comes nearest."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from replaywright.domain.common.text import EDGE, contains, shorten
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.query_words import plain_words, quoted, words_of_fields

_SHOWN: Final = 120
"""Characters of a text or an address that a message shows."""
_SENTENCES: Final[Mapping[str, str]] = {
    "url_differs": "the address does not have {expected}",
    "title_differs": "the title is {actual}, without {expected}",
    "text_missing": "the page does not say {expected}",
    "text_differs": "it says {actual}, not {expected}",
    "value_differs": "the field holds {actual}, not {expected}",
    "none_found": "the page has no {query}",
    "still_there": "the page still has {count} of {query}",
    "out_of_view": "{query} is out of view",
    "count_differs": "the page has {count} of {query}; expected: {expected}",
    "ambiguous": "the page has {count} of {query}; expected: one",
    "disabled": "{query} is disabled",
    "not_focused": "{query} does not have the focus",
    "not_checked": "{query} is not checked",
    "not_checkable": "{query} cannot be checked: it is a {role}",
    "not_downloaded": "no file {expected} was downloaded; downloaded: {actual}",
    "no_dialog": "no dialog said {expected}; said: {actual}",
    "no_response": "no request was answered; expected: {expected}",
    "status_differs": "the answer is {actual}, not {expected}",
    "not_all": "not all of it holds: {failed}",
    "none_holds": "none of it holds: {failed}",
    "holds_but_must_not": "it holds, but must not",
    "pattern_unusable": "the pattern {expected} cannot be used: {error}",
    "custom_unknown": "nothing that is installed judges {custom} (there is {installed}): {remedy}",
    "custom_failed": "{custom} failed: {error}",
    "custom_differs": "{custom} says that it does not hold",
}
"""Reason of a verdict → sentence of its details."""


def unmet_message(result: PredicateResult) -> str:
    """Return why an expectation does not hold, as one sentence of a message."""
    told = f"{_sentence(result.reason, result.details)}{_near(result.details)}{_where(result.details)}"
    return f"{told}; {_WHOLE_WORDS}" if _is_part_of_word(result.details) else told


_WHOLE_WORDS: Final = "a parameter's value is looked for as whole words: `substring: true` takes parts of words, too"


def _is_part_of_word(details: Mapping[str, Any]) -> bool:
    """Return True if the text that was looked for stands in what comes nearest, and not as whole words."""
    expected, near = details.get("expected"), details.get("nearest") or ()
    has_edge = isinstance(expected, str) and EDGE in expected
    return has_edge and any(contains(str(one), str(expected).replace(EDGE, "")) for one in near)


def _sentence(reason: str, details: Mapping[str, Any]) -> str:
    said = {name: _words(name, value) for name, value in details.items()}
    if (sentence := _SENTENCES.get(reason)) is not None:
        try:
            return sentence.format_map(said)
        except KeyError:  # a verdict of a function of the user's, under a reason of ours
            pass
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in said.items() if name not in _APART)
    return f"{reason.replace('_', ' ')}{': ' if told else ''}{told}"


_APART: Final = ("nearest", "url", "passed", "reason")


def _near(details: Mapping[str, Any]) -> str:
    near = details.get("nearest") or ()
    return f"; nearest: {', '.join(shorten(' '.join(str(one).split()), _SHOWN) for one in near)}" if near else ""


def _where(details: Mapping[str, Any]) -> str:
    return f"; at {plain_words(details['url'], _SHOWN)}" if details.get("url") else ""


def _words(name: str, value: object) -> str:
    match value:
        case str() if name in ("error", "installed", "remedy", "role"):
            return plain_words(value, _SHOWN)
        case str():
            return f'"{plain_words(value, _SHOWN)}"'
        case Mapping() if name == "query":
            return words_of_fields(value)
        case Mapping():
            return ", ".join(f"{key.replace('_', ' ')} {_words(str(key), each)}" for key, each in value.items())
        case list() | tuple() if name == "failed":
            return "; ".join(_sentence(str(one.get("reason", "")), one) for one in value)
        case Sequence():
            return ", ".join(quoted(each) for each in value) or "nothing"
        case _:
            return str(value)

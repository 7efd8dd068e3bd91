"""Consequences of presses that a model chose: each is granted once, by the author's words, the operator or a person.

A page can talk a model into a press, in any language and under any name. So no list of words decides here. The first
unsafe request of such a press is held, and leaves only if somebody other than the page stands behind it. A grant is for
a kind of request, and is recorded with the step, so that a replay does not ask again.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from replaywright.domain.common.base import Record
from replaywright.domain.common.masks import seen
from replaywright.domain.common.text import EDGE, found_whole, shorten
from replaywright.domain.common.urls import origin_of
from replaywright.domain.page.targets import Target

UNGRANTED: Final = "ungranted"
"""Reason of a step whose request was held and thrown away, because nobody had granted it."""
AUTHOR: Final = "the author's step"
"""The one behind a press that its author described or declared."""
GRANTS_KEPT: Final = 8
"""Grants that are kept with a step's recording."""
FIELDS_KEPT: Final = 12
"""Names of fields that are kept of a request, each of at most `_NAME_LIMIT` characters."""
_NAME_LIMIT: Final = 40
_BODY_LIMIT: Final = 65_536
"""Characters of a body that are looked through for names."""
_KIND_FIELDS: Final = frozenset({"operationName", "_method"})
"""Fields by whose value one address does different things: GraphQL over HTTP, forms that mean another method."""
_PART: Final = re.compile(r'content-disposition:[^\r\n]*?\bname="([^"\r\n]*)"', re.IGNORECASE)
_IDENTIFIER: Final = re.compile(r"[^/]*\d[^/]*")
_SHORTEST: Final = 2
"""Characters of the shortest name that words can name."""


class RequestKind(Record):
    """One kind of request: requests of one kind have the same consequence, as far as a browser can tell."""

    method: str
    origin: str
    path: str
    """A template: `*` stands for a segment with a digit in it."""
    fields: tuple[str, ...] = ()
    """Names of what is sent, sorted; never their values."""

    @property
    def on_any_site(self) -> str:
        """The request without its site, which may be another edition of the recorded one, and its fields."""
        return f"{self.method} {self.path}"

    def __str__(self) -> str:
        sent = f" with {', '.join(self.fields)}" if self.fields else ""
        where = f"{self.origin}{self.path}" or "by a connection that was opened before the browser was taken over"
        return f"{self.method} {where}{sent}"


class Grant(Record):
    """A kind of request that may be sent, and the one who says so."""

    kind: RequestKind
    by: str
    """`the author's words`, `policy 'NAME': learning.trust`, `the recording`, or a person's name."""


class Consequence(Record):
    """A request that was held, with the control that was pressed: all that a person needs in order to decide."""

    kind: RequestKind
    control: str = ""
    """Role and name as the page gives them."""
    place: str = ""
    """The form, dialog or table that the control stands in."""
    near: tuple[str, ...] = ()
    """The row, the label and the headings beside it."""

    def lines(self) -> tuple[str, ...]:
        """Return the lines that a person is shown; everything but the request is the page's word."""
        told = (
            ("control", self.control or "the page itself"),
            ("in", self.place),
            ("beside it", " | ".join(self.near)),
            ("would send", str(self.kind)),
        )
        return tuple(f"{name}: {value}" for name, value in told if value)


class Consent(Record):
    """Basis for a press that a model chose, before anything of it was seen."""

    words: tuple[str, ...] = ()
    """The author's own: the goal without its values, and the instruction of an author's step."""
    site: str = ""
    """The address that the task begins at: words grant nothing beyond its site."""
    granted: tuple[Grant, ...] = ()
    """Grants by people in this run."""
    is_planned: bool = False
    """A model has chosen the step itself, not only its element."""


def kind_of(method: str, url: str, fields: Iterable[str] = ()) -> RequestKind:
    """Make the kind of a request, without its query and with identifiers left open."""
    parts = urlsplit(url)
    path = "/".join("*" if _IDENTIFIER.fullmatch(part) else part for part in parts.path.split("/"))
    origin = f"{parts.scheme}://{parts.netloc}" if parts.scheme in ("ws", "wss") else origin_of(url) or url[:100]
    return RequestKind(method=method, origin=origin, path=path, fields=tuple(sorted(set(fields))))


def held_consequence(kind: RequestKind, target: Target | None) -> Consequence:
    """Tell a person of a request and of the control that was pressed."""
    if target is None:
        return Consequence(kind=kind)
    name = target.name or target.text or target.label
    described = (target.attributes.get("aria-description", ""), target.attributes.get("title", ""))
    near = dict.fromkeys(filter(None, (*target.row, target.label, *described, *target.neighbours)))
    return Consequence(
        kind=kind,
        control=shorten(f"{target.role or target.tag} {' '.join(seen(name).split())!r}", 120),
        place=shorten(" ".join(seen(target.container).split()), 120),
        near=tuple(shorten(" ".join(seen(text).split()), 80) for text in list(near)[:4]),
    )


# ------------------------------------------------------------------------------------------------------ words


def are_named(target: Target | None, words: Iterable[str]) -> bool:
    """Tell if the whole name of a control stands in the author's words, as words of their own.

    Writing is compared, not meaning: without regard to case, width, punctuation and what does not show. A letter that
    only looks like another one is another letter. "The button that exports" names "Export".
    """
    name = "" if target is None else _plain(target.name or target.text)
    if len(name.replace(" ", "")) < _SHORTEST:
        return False
    forms = (name, f"{name}s", f"{name}es")
    return any(found_whole(_plain(text), form, f"{EDGE}{form}{EDGE}") for text in words for form in forms)


def _plain(text: str) -> str:
    folded = seen(text).casefold()
    return " ".join("".join(char if char.isalnum() else " " for char in folded).split())


# ----------------------------------------------------------------------------------------------------- fields


def field_names(body: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """Read the names of what a request sends: of a form, of a form with files, or the keys of a JSON object."""
    kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "").lower()
    text = body[:_BODY_LIMIT]
    pairs: list[tuple[str, object]] = []
    if "multipart/" in kind:
        pairs = [(name, "") for name in _PART.findall(text)]
    elif "json" in kind or text[:1] in "{[":
        pairs = _json_pairs(text)
    elif text and ("urlencoded" in kind or "=" in text):
        pairs = list(parse_qsl(text, keep_blank_values=True))
    names = (f"{name}={value}" if name in _KIND_FIELDS and value else name for name, value in pairs)
    return tuple(sorted({shorten(name, _NAME_LIMIT) for name in names if name})[:FIELDS_KEPT])


def _json_pairs(text: str) -> list[tuple[str, object]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return []
    first = found[0] if isinstance(found, list) and found else found
    return [(str(name), value) for name, value in first.items()] if isinstance(first, dict) else []

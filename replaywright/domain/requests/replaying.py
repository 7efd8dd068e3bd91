"""A recipe on its way: requests filled with values and with what earlier responses hold, and responses checked."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from replaywright.domain.common.templates import fill, parameters_in
from replaywright.domain.predicate.predicates import NotExists, Predicate
from replaywright.domain.requests.document import Document, read_document
from replaywright.domain.requests.exchanges import Request, SiteResponse
from replaywright.domain.requests.omitted import omitted
from replaywright.domain.requests.places import find, with_labels
from replaywright.domain.requests.reading import read
from replaywright.domain.requests.recipes import (
    ConstantText,
    CookieText,
    FoundText,
    GivenText,
    Recipe,
    RecipeCall,
    SealedText,
    Slot,
    Source,
)
from replaywright.domain.requests.sketching import is_gone, keys_of, query_of
from replaywright.domain.requests.slots import WHOLE, Address, path_in, put_together, taken_apart
from replaywright.domain.requests.texts import form_of, is_embedding, marks_of
from replaywright.domain.requests.verdicts import filled_in, verdict_of, verdicts_of
from replaywright.domain.step.fingerprints import digest


class Unexpected(Exception):
    """The site does not answer as it did when the recipe was learned; the message says where."""


def unfit_values(recipe: Recipe, values: Mapping[str, str]) -> str:
    """Return the name of a parameter with a value of which nobody knows what is sent; "" if there is none.

    That is another value than in all recorded runs, where these had one, or one of a form that none of these had.
    """
    for name, value in values.items():
        if recipe.pinned.get(name, seen := digest(value)) != seen or form_of(value) not in recipe.forms.get(name, ()):
            return name
    return next((name for name in recipe.forms if name not in values), "")


class Replaying:
    """One run of a recipe."""

    def __init__(
        self,
        recipe: Recipe,
        values: Mapping[str, str],
        secret: Callable[[str], str],
        cookie: Callable[[str, str], str | None],
    ) -> None:
        """Fill secrets by `secret`; `cookie` gives the value of a cookie, by address and name."""
        self._recipe = recipe
        self._values = values
        self._secret = secret
        self._cookie = cookie
        self._documents: dict[str, tuple[SiteResponse, Document]] = {}
        self._page = ""
        self._echoes: dict[str, set[str]] = {}
        """What the last request says, as verdicts by the names of its fields and keys."""

    def request(self, call: RecipeCall) -> Request:
        """Return the request to send.

        Raises:
            Unexpected: a part of it is nowhere to be had.
        """
        start = next(slot for slot in call.slots if slot.address in (("origin",), WHOLE))
        at = self._text(start.sources[0], call, "")
        slots = {slot.address: self._agreed(slot, call, at) for slot in call.slots}
        self._echoes = {}
        for address, text in slots.items():
            name = address[-1] if address[0] == "json" else address[min(1, len(address) - 1)]
            self._echoes.setdefault(name, set()).add(verdict_of(text))
        try:
            self._require_whole(call, at if WHOLE in slots else f"{at}{path_in(slots)}")
            return put_together(call.shape, slots, self._page)
        except ValueError as error:
            raise Unexpected(f"{_said(call)}: {error}") from error

    def _agreed(self, slot: Slot, call: RecipeCall, at: str) -> str:
        for source in slot.sources:
            if isinstance(source, GivenText):
                self._require_plain(source.template, slot.address, call)
        texts = [self._text(source, call, at) for source in slot.sources]
        if any(text.splitlines() != texts[0].splitlines() for text in texts):
            where = " ".join(part for part in slot.address if not part.isdigit())
            raise Unexpected(f"{_said(call)}: the page and the parameters do not say the same of its {where}")
        return texts[0]

    def _require_whole(self, call: RecipeCall, url: str) -> None:
        """Refuse to send less than a page would: what is left out of a form is a box that is no longer ticked."""
        documents = [document for _, document in reversed(self._documents.values())]
        if call.is_unsafe and (more := omitted(documents, call.shape, url) - Counter(call.unsent)):
            raise Unexpected(f"{_said(call)}: the page would send {min(more)} as well")

    def _text(self, source: Source, call: RecipeCall, at: str) -> str:
        match source:
            case ConstantText():
                return source.text
            case GivenText():
                return fill(source.template, self._values, self._secret)
            case FoundText():
                place = with_labels(source.place, lambda text: fill(text, self._values))
                text = find(self._documents[source.ref][1], place)
                if text is None:
                    raise Unexpected(f"{_said(call)}: {place.kind} is not there any more, or there are several")
                return text
            case CookieText():
                value = self._cookie(at, source.name)
                if value is None:
                    raise Unexpected(f"{_said(call)}: the site has not set the cookie {source.name!r}")
                return value

            case SealedText():
                raise Unexpected(f"{_said(call)}: a part of it is not known")

    def _require_plain(self, template: str, address: Address, call: RecipeCall) -> None:
        """Refuse values with characters that a page may escape, or not: in longer texts, and where one is opened."""
        is_opened = call.shape.kind == "document" and address[0] in ("path", "query")
        if not (is_opened or is_embedding(template)):
            return
        for name in parameters_in(template):
            known = self._recipe.marks.get(name, "")
            if any(mark not in known for mark in marks_of(self._values.get(name, ""))):
                raise Unexpected(f"{_said(call)}: {name} has characters that the page may write in another way")

    def take(self, call: RecipeCall, response: SiteResponse) -> None:
        """Keep a response, if it is as it was.

        Raises:
            Unexpected: it is not.
        """
        expected, document = call.expected, read_document(response)
        if response.status != expected.status:
            raise Unexpected(f"{_said(call)}: the answer is {response.status}, it was {expected.status}")
        if response.media_type != expected.media_type:
            found = response.media_type or "of no type"
            raise Unexpected(f"{_said(call)}: the answer is {found}, it was {expected.media_type or 'of no type'}")
        _, slots = taken_apart(Request("GET", response.url), "document")
        wanted = {slot.address: slot.sources for slot in expected.path}
        led_to = {address: text for address, text in slots.items() if address[0] in ("origin", "path")}
        same = led_to.keys() == wanted.keys() and all(
            not wanted[address] or self._text(wanted[address][0], call, "") == text for address, text in led_to.items()
        )
        if not same:
            raise Unexpected(f"{_said(call)}: it led to {response.url.partition('?')[0]}")
        if call.is_unsafe and expected.query is not None and query_of(response) != expected.query:
            raise Unexpected(f"{_said(call)}: it led to an address with another query")
        if missing := sorted(set(expected.keys).difference(keys_of(document))):
            raise Unexpected(f"{_said(call)}: the answer has no {missing[0]} any more")
        self._require_success(call, document)
        self._documents[call.ref] = (response, document)
        if call.shape.kind == "document":
            self._page = response.url

    def _require_success(self, call: RecipeCall, document: Document) -> None:
        """Refuse an answer that says of its success what it never said; what it repeats of the request says nothing."""
        found = verdicts_of(document)
        for at, said in call.expected.verdicts.items():
            if found.get(at) != said and found.get(at) not in self._echoes.get(at.rpartition(".")[2], ()):
                raise Unexpected(f"{_said(call)}: the answer says something else in {at or 'its whole'}")
        if call.is_unsafe and (new := [at for at in filled_in(document) if at not in call.expected.filled]):
            raise Unexpected(f"{_said(call)}: the answer reports something in {new[0]}, where it never did")

    def unmet(self, step: int, predicates: Sequence[Predicate]) -> Predicate | None:
        """Return the first predicate of a step, or of the final verification, that the responses do not show."""
        for told in self._recipe.told:
            if told.step != step:
                continue
            seen = [self._documents[ref] for ref in told.refs if ref in self._documents]
            predicate = predicates[told.index]
            if told.before and isinstance(predicate, NotExists):
                before = self._documents[told.before][1]
                holds = any(is_gone(predicate, before, document) for _, document in seen)
            else:
                holds = any(document.evaluate(predicate, response.status) for response, document in seen)
            if not holds:
                return predicate
        return None

    def extracted(self, step: int) -> dict[str, Any]:
        """Return what an extract step reads.

        Raises:
            Unexpected: it is not there, or not the same everywhere.
        """
        values: dict[str, Any] = {}
        for each in self._recipe.reads:
            if each.step != step:
                continue
            found = [read(self._documents[ref][1], reader) for ref, reader in each.readers if ref in self._documents]
            if not found or found[0] in ("", [], None) or any(value != found[0] for value in found):
                raise Unexpected(f"step {step + 1}: {each.field} does not stand where it stood")
            values[each.field] = found[0]
        return values

    @property
    def url(self) -> str:
        """Address of the newest document."""
        return self._page


def _said(call: RecipeCall) -> str:
    return f"step {call.step + 1}, {call.shape.method}"

"""A sketch of one run: where each part of its requests comes from, and where its results stand in the responses."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from replaywright.domain.common.templates import secrets_in, texts_of
from replaywright.domain.common.text import contains
from replaywright.domain.predicate.predicates import NotExists, Predicate, UrlContains, UrlMatches
from replaywright.domain.requests.document import Document, leaves, read_document
from replaywright.domain.requests.exchanges import Exchange, Request, SiteResponse
from replaywright.domain.requests.forms import path_of
from replaywright.domain.requests.omitted import omitted
from replaywright.domain.requests.places import (
    FormField,
    FormOption,
    FormTarget,
    JsonItem,
    JsonPath,
    LinkAddress,
    MetaContent,
    Place,
    RowLink,
    ScriptJson,
    find,
    items_named,
    keyed,
    places_of,
    values_in,
    with_labels,
)
from replaywright.domain.requests.reading import AtPath, Reader, readers_of
from replaywright.domain.requests.recipes import (
    ConstantText,
    CookieText,
    ExpectedAnswer,
    FieldRead,
    FoundText,
    GivenText,
    RecipeCall,
    Sketch,
    Slot,
    Source,
    ToldPredicate,
)
from replaywright.domain.requests.slots import WHOLE, Address, Shape, put_together, says_the_same, taken_apart
from replaywright.domain.requests.texts import form_of, is_of_time, marks_of, of_day, templates_of
from replaywright.domain.requests.verdicts import filled_in, verdicts_of
from replaywright.domain.secrets.redaction import Redactor
from replaywright.domain.step.fingerprints import ENTERED, digest, naming_parameters
from replaywright.domain.task.steps import Extract, Step, arguments_of

VERIFICATION = -1
"""Number of the final verification among the steps."""
CREDENTIALS = frozenset({"authorization", "proxy-authorization"})
"""Headers that are never kept as they were."""
_PLACES = 200
"""Places of a text that are regarded, those in the newest responses first."""
_FETCHED = frozenset({"document", "xhr", "fetch"})
"""Kinds whose responses pages work with; all others only decorate."""
_ITEMS = 8
"""Explanations by an item of a list that are kept of each response."""


class Unfit(Exception):
    """The run cannot be replayed by its requests; the message says why, in plain words."""


@dataclass(frozen=True)
class ShownRun:
    """A run through the page, with all that it leaves behind."""

    run_id: str
    plan: Sequence[Step]
    """Steps with the parameters' values filled in."""
    written: Sequence[Step]
    """The same steps as written."""
    values: Mapping[str, str]
    exchanges: Sequence[Exchange]
    verify: Sequence[Predicate] = ()
    """Final predicates, values filled in."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    extracted: Mapping[str, Any] = field(default_factory=dict)
    commits: Sequence[int] = ()
    """Indexes of the steps done that must not be repeated."""
    day: dt.date = dt.date(1970, 1, 1)
    """When it was."""


def sketch(shown: ShownRun) -> Sketch:
    """Return what the run shows of its requests.

    Raises:
        Unfit: no other run can be replayed by them.
    """
    return _Sketching(shown).result()


class _Sketching:
    def __init__(self, shown: ShownRun) -> None:
        self._shown = shown
        self._documents: dict[str, tuple[Exchange, Document]] = {}
        """Responses by their call, in the order of sending."""
        self._values: dict[str, frozenset[str]] = {}
        """Values that stand in the responses, by their call."""
        self._places: dict[tuple[str, str], tuple[FoundText, ...]] = {}
        """Places of values that were looked up."""
        self._items: dict[str, dict[str, list[JsonItem]]] = {}
        """Leaves of items that parameters name, by their call and value."""
        self._commit = ""
        """Call that must not be repeated."""
        self._redact = Redactor(shown.secrets.items()).text
        self._written = _literals(shown.written)

    def result(self) -> Sketch:
        shown = self._shown
        _require_flat(shown)
        seen: Counter[str] = Counter()
        calls = []
        for exchange in shown.exchanges:
            if exchange.kind not in _FETCHED and not (exchange.request.is_unsafe or exchange.kind == "websocket"):
                continue
            is_wanted = exchange.request.is_unsafe or exchange.is_main
            if fault := _fault(exchange, shown.commits):
                if is_wanted or exchange.kind == "websocket":
                    raise Unfit(f"step {exchange.step + 1}: {_named(exchange.request)}: {fault}")
                continue
            if exchange.kind == "ping" or exchange.response is None:
                continue
            if (call := self._call(exchange, exchange.response, seen, is_wanted=is_wanted)) is not None:
                calls.append(call)
        self._commit = _the_commit(calls, shown)
        return Sketch(
            run_id=shown.run_id,
            values={name: digest(value) for name, value in shown.values.items()},
            forms={name: form_of(value) for name, value in shown.values.items()},
            marks={name: marks_of(value) for name, value in shown.values.items()},
            needed=tuple(_needed(shown.written)),
            calls=tuple(calls),
            told=self._evident(),
            reads=tuple(self._reads()),
        )

    def _call(
        self, exchange: Exchange, response: SiteResponse, seen: Counter[str], *, is_wanted: bool
    ) -> RecipeCall | None:
        request = exchange.request
        try:
            shape, slots = taken_apart(request, exchange.kind)
            if not says_the_same(request, put_together(shape, slots, "")):
                raise ValueError("it is written in a way that cannot be repeated exactly")
        except ValueError as error:
            if not is_wanted:
                return None
            raise Unfit(f"step {exchange.step + 1}: {_named(request)}: {error}") from error
        of_time = of_day(slots, self._shown.day)
        paths = sum(address[0] == "path" for address in slots)
        group = f"{exchange.step} {request.method} {exchange.kind} {paths} {','.join(sorted(shape.query))}"
        ref = f"{group} {seen[group]}"
        seen[group] += 1
        call = RecipeCall(
            ref=ref,
            step=exchange.step,
            shape=shape,
            slots=(
                *(
                    Slot(address=address, sources=tuple(self._sources(address, text, exchange, of_time)))
                    for address, text in slots.items()
                ),
                Slot(address=WHOLE, sources=tuple(self._followed(exchange))),
            ),
            expected=self._expected(response, document := read_document(response), is_change=request.is_unsafe),
            unsent=dict(self._omitted(shape, request)),
            is_wanted=is_wanted,
        )
        self._documents[ref] = (exchange, document)
        self._values[ref] = values_in(document)
        if document.kind == "json":
            self._items[ref] = items_named(document, frozenset(filter(None, self._shown.values.values())))
        return call

    def _omitted(self, shape: Shape, request: Request) -> Counter[str]:
        documents = [document for _, document in reversed(self._documents.values())]
        return omitted(documents, shape, request.url) if request.is_unsafe else Counter()

    def _expected(self, response: SiteResponse, document: Document, *, is_change: bool) -> ExpectedAnswer:
        _, slots = taken_apart(Request("GET", response.url), "document")
        path = tuple(
            Slot(address=address, sources=tuple(self._own_sources(text)))
            for address, text in slots.items()
            if address[0] in ("origin", "path")
        )
        return ExpectedAnswer(
            status=response.status,
            media_type=response.media_type,
            path=path,
            query=query_of(response),
            keys=keys_of(document),
            verdicts=verdicts_of(document),
            filled=filled_in(document) if is_change else (),
        )

    def _sources(
        self, address: Address, text: str, exchange: Exchange, of_time: frozenset[Address]
    ) -> Iterator[Source]:
        """Yield all that explains a text, the likeliest first."""
        found = list(islice(self._found(text), _PLACES))
        if address[0] == "json":
            found = [
                FoundText(ref=ref, place=place)
                for ref in self._holding(text)
                for place in keyed(self._documents[ref][1], address[-1], text)
            ] + found
        is_own_field = [each for each in found if _is_token(address, each.place)]
        own_fields = frozenset(is_own_field)
        yield from is_own_field
        if address[0] in ("path", "query", "form", "part", "json"):
            yield from self._in_items(text)
        if address[0] == "header":
            yield from (CookieText(name=name) for name, value in exchange.cookies.items() if value == text)
            yield from (each for each in found if each not in own_fields)
        is_varying = address in of_time or address[-1] in CREDENTIALS
        yield from (each for each in self._own_sources(text) if not (is_varying and isinstance(each, ConstantText)))
        if address[0] != "header":
            yield from (each for each in found if each not in own_fields)

    def _in_items(self, text: str) -> Iterator[FoundText]:
        """Yield the items of lists that a parameter names and that have a text."""
        for ref, items in reversed(self._items.items()):
            for place in items.get(text, ())[:_ITEMS]:
                if find(self._documents[ref][1], place) == text:
                    yield FoundText(ref=ref, place=_generalised(place, self._shown.values))

    def _followed(self, exchange: Exchange) -> Iterator[FoundText]:
        """Yield the links and forms that lead to a document's address, unless the task itself says where to go."""
        if exchange.kind == "document" and self._shown.plan[exchange.step].action != "goto":
            found = self._found(exchange.request.url)
            yield from (each for each in found if isinstance(each.place, LinkAddress | RowLink | FormTarget))

    def _own_sources(self, text: str) -> Iterator[Source]:
        yield from (GivenText(template=each) for each in templates_of(text, self._shown.values, self._shown.secrets))
        if text in self._written:
            yield GivenText(template=text)
        elif self._redact(text) == text and not is_of_time(text, self._shown.day):
            yield ConstantText(text=text)

    def _found(self, text: str) -> Iterator[FoundText]:
        for ref in self._holding(text):
            if (ref, text) not in self._places:
                self._places[ref, text] = tuple(self._found_in(ref, text))
            yield from self._places[ref, text]

    def _found_in(self, ref: str, text: str) -> Iterator[FoundText]:
        for place in places_of(self._documents[ref][1], text):
            if not (_is_by_number(place) or "{{" in place.model_dump_json()):  # a site writes no templates
                yield FoundText(ref=ref, place=_generalised(place, self._shown.values))

    def _holding(self, text: str) -> list[str]:
        """Return the calls whose responses hold a text, the newest first."""
        return [ref for ref, values in reversed(self._values.items()) if text in values]

    # ------------------------------------------------------------------------------------- what responses tell

    def _evident(self) -> tuple[ToldPredicate, ...]:
        """Return what the responses tell.

        Raises:
            Unfit: nothing of it became true with the step that has consequences.
        """
        told = tuple(self._told())
        refs = list(self._documents)
        for commit in self._shown.commits:
            after = refs[refs.index(self._commit) :]
            ends = [each for each in told if each.step in (commit, VERIFICATION) and each.refs[-1] in after]
            if all(self._held_before(commit, each) for each in ends):
                raise Unfit(
                    f"step {commit + 1}: nothing that the site answered shows that it was done: give it an "
                    "expectation, or the task a `verify`, that holds only then"
                )
        return told

    def _held_before(self, commit: int, told: ToldPredicate) -> bool:
        """Tell if the site showed so much already before the step."""
        shown = self._shown
        predicates = shown.verify if told.step == VERIFICATION else shown.plan[told.step].expect
        before = [(exchange, document) for exchange, document in self._documents.values() if exchange.step < commit]
        return any(
            exchange.response is not None and document.evaluate(predicates[told.index], exchange.response.status)
            for exchange, document in before[-1:]
        )

    def _told(self) -> Iterator[ToldPredicate]:
        shown = self._shown
        expected = [(index, step.expect) for index, step in enumerate(shown.plan)]
        for step, predicates in (*expected, (VERIFICATION, tuple(shown.verify))):
            for index, predicate in enumerate(predicates):
                if not predicate.is_required:
                    continue
                if refs := tuple(self._telling(step, predicate)):
                    yield ToldPredicate(step=step, index=index, refs=refs)
                elif isinstance(predicate, NotExists) and (pair := self._gone(step, predicate)):
                    yield ToldPredicate(step=step, index=index, refs=pair[1:], before=pair[0])
                elif step == VERIFICATION or step in shown.commits:
                    what = "the final verification" if step == VERIFICATION else f"step {step + 1}"
                    raise Unfit(f"{what}: nothing that the site answered tells of expectation {index + 1}")

    def _telling(self, step: int, predicate: Predicate) -> Iterator[str]:
        current = self._current(step)
        after = self._after(step, current)
        told = [ref for ref in current if self._tells(ref, predicate)]
        fresh = [ref for ref in told if ref in after]
        # A page keeps its address when its scripts send something; all else of it may be another thing afterwards.
        yield from fresh or (told if isinstance(predicate, UrlContains | UrlMatches) else ())

    def _tells(self, ref: str, predicate: Predicate) -> bool:
        exchange, document = self._documents[ref]
        return exchange.response is not None and bool(document.evaluate(predicate, exchange.response.status))

    def _after(self, step: int, current: Sequence[str]) -> Sequence[str]:
        """Return those of the calls that were answered after the step with consequences had begun to act."""
        commits = self._shown.commits
        is_later = step == VERIFICATION or any(step >= commit for commit in commits)
        return current[current.index(self._commit) :] if is_later and self._commit in current else current

    def _gone(self, step: int, predicate: NotExists) -> tuple[str, str] | None:
        """Return two calls for the same page, of which the first still showed the element: no script draws it."""
        for ref in reversed(self._after(step, self._current(step))):
            exchange, after = self._documents[ref]
            if not (exchange.is_main or after.kind == "json"):
                continue
            refs = list(self._documents)
            for before in reversed(refs[: refs.index(ref)]):
                if is_gone(predicate, self._documents[before][1], after):
                    return before, ref
        return None

    def _current(self, step: int) -> list[str]:
        """Return the calls whose responses a page could show after a step: the newest document, and what it fetched."""
        until = [
            (ref, exchange)
            for ref, (exchange, _) in self._documents.items()
            if step == VERIFICATION or exchange.step <= step
        ]
        mains = [index for index, (_, exchange) in enumerate(until) if exchange.is_main]
        return [ref for ref, _ in until[mains[-1] if mains else 0 :]]

    def _reads(self) -> Iterator[FieldRead]:
        for index, (step, written) in enumerate(zip(self._shown.plan, self._shown.written, strict=True)):
            if not isinstance(step, Extract):
                continue
            if named := naming_parameters(written):
                raise Unfit(
                    f"step {index + 1} reads what {{{{{min(named)}}}}} names: only a page can tell which that is"
                )
            for name, wanted in step.fields.items():
                value = self._shown.extracted.get(name)
                readers = tuple(
                    (ref, reader)
                    for ref in self._current(index)
                    for reader in readers_of(self._documents[ref][1], wanted, value)
                    if not _is_by_number(reader.at)
                )
                if all(_is_by_place(reader) for _, reader in readers):
                    raise Unfit(f"step {index + 1}: nothing but its place tells where the site's answer has {name}")
                yield FieldRead(step=index, field=name, readers=readers)


def is_gone(predicate: NotExists, before: Document, after: Document) -> bool:
    """Tell if one response for a page had an element that the next one for the same page has not."""
    query = predicate.not_exists
    if path_of(before.url) != path_of(after.url) or predicate.in_dom is not None:
        return False
    wanted = query.text or query.name
    if before.kind == after.kind == "json" and wanted:
        old, new = ([contains(line, wanted) for line in document.lines] for document in (before, after))
        return any(old) and not any(new)
    return bool(before.matches(query)) and after.matches(query) == ()


def query_of(response: SiteResponse) -> tuple[str, ...]:
    """Return the names in the query of the address that a response came from, sorted."""
    return tuple(sorted(name for name, _ in parse_qsl(urlsplit(response.url).query, keep_blank_values=True)))


def keys_of(document: Document) -> tuple[str, ...]:
    """Return the paths of the values of JSON; of each list, what its items have."""
    paths = (".".join("*" if isinstance(key, int) else key for key in path) for path, _ in leaves(document.data))
    return tuple(dict.fromkeys(paths)) if document.kind == "json" else ()


def _is_by_number(place: object) -> bool:
    """Tell if a place is that of an item of a list by its number: another one stands there tomorrow."""
    return isinstance(place, JsonPath | ScriptJson) and any(isinstance(key, int) for key in place.path)


def _is_by_place(reader: Reader) -> bool:
    return isinstance(reader.at, AtPath)


def _require_flat(shown: ShownRun) -> None:
    for index, step in enumerate(shown.plan):
        if step.action in ("for_each", "approve", "verification_code", "solve_captcha", "take_over"):
            raise Unfit(f"step {index + 1} is {step.action}, which needs a page or a person")
        if step.action == "upload" or step.dialog is not None:
            raise Unfit(f"step {index + 1} gives a file or answers a dialog, which needs a page")
        if step.when:
            raise Unfit(f"step {index + 1} has a `when`, which only a page can tell")
    if len(shown.commits) > 1:
        numbers = " and ".join(str(index + 1) for index in shown.commits[:2])
        raise Unfit(f"steps {numbers} both have consequences: a task with one such step at most can be replayed so")


def _the_commit(calls: Sequence[RecipeCall], shown: ShownRun) -> str:
    """Return the call of the step with consequences; empty if no step has any."""
    for index, step in enumerate(shown.plan):
        if step.effect is not None and not step.effect.repeatable and index not in shown.commits:
            raise Unfit(f"step {index + 1} has consequences, and was not done in this run")
    for commit in shown.commits:
        sent = [call for call in calls if call.step == commit and call.is_unsafe]
        if len(sent) != 1:
            raise Unfit(f"step {commit + 1} sends {len(sent)} requests that change something: it has to be one")
        later = [call for call in calls[calls.index(sent[0]) + 1 :] if call.is_unsafe]
        if later:
            raise Unfit(f"step {later[0].step + 1} sends something after step {commit + 1}, which has consequences")
        return sent[0].ref
    return ""


def _literals(written: Sequence[Step]) -> frozenset[str]:
    """Return the texts that steps enter whatever the parameters are."""
    entered = (
        text
        for step in written
        for key, value in arguments_of(step).items()
        if key in ENTERED
        for text in texts_of(value)
    )
    return frozenset(text for text in entered if text and "{{" not in text)


def _needed(written: Sequence[Step]) -> Iterator[tuple[int, str]]:
    """Yield what requests have to hold: parameters that name what a step acts on, and secrets that it enters."""
    for index, step in enumerate(written):
        if step.action in ("extract", "wait_for"):
            continue
        yield from ((index, name) for name in sorted(naming_parameters(step)))
        entered = (secrets_in(text) for text in texts_of(step.model_dump(mode="json")))
        yield from ((index, f"secret:{name}") for name in sorted(frozenset().union(*entered)))


def _fault(exchange: Exchange, commits: Sequence[int]) -> str:
    if exchange.kind == "websocket":
        return "the page works over a WebSocket"
    if exchange.kind == "ping" and exchange.step in commits:
        return "it is a beacon, and nobody waits for its answer"
    if exchange.fault:
        return exchange.fault
    return "it had no answer" if exchange.response is None and exchange.kind != "ping" else ""


def _named(request: Request) -> str:
    return f"{request.method} {request.url.partition('?')[0]}"


def _generalised(place: Place, values: Mapping[str, str]) -> Place:
    """Return the place with values of parameters in its labels and paths as templates."""
    return with_labels(place, lambda text: next(templates_of(text, values, {}), text))


def _is_token(address: Address, place: Place) -> bool:
    """Tell if a page would send what stands there, whatever that is: a form's own field, a token, a key of JSON."""
    if isinstance(place, FormField | FormOption):
        return address[0] in ("form", "part", "query") and place.name == address[1]
    if isinstance(place, JsonPath):
        return address[0] == "json" and address[-1:] == place.path[-1:]
    return isinstance(place, MetaContent) and address[0] == "header"

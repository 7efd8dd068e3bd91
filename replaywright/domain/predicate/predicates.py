"""Predicates: conditions on a page and on the evidence of a step, as data.

In a task file a predicate is a mapping with one key for its kind, and further fields of that kind:
`{url_contains: /inbox}`, `{exists: {role: button, name: Send}}`, `{count: {role: row}, at_least: 3, within_ms: 8000}`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self, TypeAlias, TypeVar, get_args

from pydantic import Discriminator, Field, Tag, field_validator, model_validator
from typing_extensions import TypeAliasType

from replaywright.domain.common import expressions
from replaywright.domain.common.base import Authored
from replaywright.domain.common.templates import fill, fill_wanted, parameters_in, texts_of
from replaywright.domain.common.text import EDGE
from replaywright.domain.page.observed import ElementProbe, Probe, TextProbe
from replaywright.domain.page.targets import ElementQuery
from replaywright.errors import InputInvalid

TEXT_LIMIT = 2_000
"""Compared characters of an element's text."""


class PredicateBase(Authored):
    """Fields of every outermost predicate."""

    required: bool | None = None
    """False: an unmet predicate is a warning, not a failure."""
    within_ms: int | None = Field(None, ge=0, le=300_000)
    """Time to come true while the page is at rest; None for the patience of its kind."""

    # The same condition must have the same digest, however it is written.
    @field_validator("required")
    @classmethod
    def _required_goes_without_saying(cls, required: bool | None) -> bool | None:
        return None if required else required

    @model_validator(mode="after")
    def _is_one_condition(self) -> Self:
        for part in self.parts:
            for field in ("required", "within_ms"):
                if getattr(part, field) is not None:
                    raise ValueError(
                        f"{field} belongs to the outermost predicate: leave it out inside another predicate"
                    )
        return self

    @property
    def is_required(self) -> bool:
        """True if the step or task fails when it does not hold."""
        return self.required is not False

    @property
    def parts(self) -> "tuple[Predicate, ...]":
        """The predicates directly inside."""
        return ()

    @property
    def probe(self) -> Probe | None:
        """The question to the page that the predicate needs answered; None for none."""
        return None


class OfPlace(PredicateBase):
    """A condition on where the browser is: its address or title."""


class OfStep(PredicateBase):
    """A condition on what a step caused; a page alone cannot tell it."""


class OfElement(PredicateBase):
    """A condition on the elements that its query finds."""

    _view: ClassVar[bool] = False

    @property
    def probe(self) -> Probe | None:
        """The element query to answer."""
        query = next(value for _, value in self if isinstance(value, ElementQuery))
        return ElementProbe(query=query, view=self._view)


class OfPresence(OfElement):
    """A condition on the presence of elements."""

    in_dom: bool | None = None
    """`true` counts elements that nobody can see, too."""

    @field_validator("in_dom")
    @classmethod
    def _sight_goes_without_saying(cls, in_dom: bool | None) -> bool | None:
        return in_dom or None

    @property
    def probe(self) -> Probe | None:
        """The element query to answer."""
        probe = super().probe
        return probe.model_copy(update={"in_dom": True}) if self.in_dom and isinstance(probe, ElementProbe) else probe


class Containing(PredicateBase):
    """A condition on a substring."""

    substring: bool | None = None
    """True: values of parameters also match inside words, as `12` in `123`."""

    @field_validator("substring")
    @classmethod
    def _words_go_without_saying(cls, substring: bool | None) -> bool | None:
        return substring or None


class UrlContains(Containing, OfPlace):
    url_contains: str = Field(min_length=1)


class UrlMatches(OfPlace):
    url_matches: str
    """A regular expression (RE2), searched anywhere in the URL."""

    @field_validator("url_matches")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        expressions.check(pattern)
        return pattern


class TitleContains(Containing, OfPlace):
    title_contains: str = Field(min_length=1)
    """Part of the document's title, after normalisation."""


class Exists(OfPresence):
    exists: ElementQuery
    """A person could see one match somewhere on the page, if need be by scrolling."""


class NotExists(OfPresence):
    not_exists: ElementQuery
    """A person could see no match anywhere on the page."""


class Visible(OfElement):
    _view: ClassVar[bool] = True
    visible: ElementQuery
    """At least one match is in the viewport and not covered."""


class Count(OfElement):
    count: ElementQuery
    equals: int | None = Field(None, ge=0)
    at_least: int | None = Field(None, ge=0)
    at_most: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _says_how_many(self) -> "Count":
        if self.equals is None and self.at_least is None and self.at_most is None:
            raise ValueError("count needs equals, at_least or at_most: how many there must be")
        if self.equals is not None and (self.at_least is not None or self.at_most is not None):
            raise ValueError("equals leaves nothing for at_least and at_most to say; give one or the other")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least} is more than at_most {self.at_most}, which can never hold")
        return self


class TextContains(Containing):
    text_contains: str
    within: ElementQuery | None = None

    @property
    def probe(self) -> Probe | None:
        """The text to look for."""
        return TextProbe(text=self.text_contains, within=self.within) if self.text_contains else None


class TextEquals(OfElement):
    text_equals: str = Field(max_length=TEXT_LIMIT)
    of: ElementQuery
    """Exactly one element must match; its visible text is compared after normalisation."""


class ValueEquals(OfElement):
    value_equals: str
    of: ElementQuery
    """Exactly one element must match."""


class Checked(OfElement):
    checked: ElementQuery
    """Exactly one element must match: ticked, chosen, switched on or pressed."""


class Enabled(OfElement):
    enabled: ElementQuery
    """Exactly one element must match and accept input."""


class Focused(OfElement):
    focused: ElementQuery
    """Exactly one element must match."""


class Downloaded(OfStep):
    downloaded: str = Field(min_length=1)
    """Name of a file that the step downloaded completely; `*` stands for any characters."""


class ResponseStatus(OfStep):
    response_status: str
    """`200`, or a class such as `2xx`. At least one response must exist and all must have it: the responses to
    documents and to unsafe requests of the step, or those that `of` and `method` select."""
    of: str | None = Field(None, min_length=1)
    """Part of the request's address (origin and path)."""
    method: str | None = None

    @field_validator("response_status", mode="before")
    @classmethod
    def _is_a_status(cls, status: Any) -> str:
        text = str(status).lower()
        if isinstance(status, bool) or not re.fullmatch(r"[1-5](?:\d\d|xx)", text):
            raise ValueError(f"expected an HTTP status such as 200, or a class such as 2xx, found {status!r}")
        return text

    @field_validator("method")
    @classmethod
    def _method_is_a_word(cls, method: str | None) -> str | None:
        if method is not None and not re.fullmatch(r"[A-Za-z]+", method):
            raise ValueError(f"expected an HTTP method such as POST, found {method!r}")
        return method and method.upper()


class DialogSeen(Containing, OfStep):
    dialog_seen: str = Field(min_length=1)
    """Part of the kind or text of a dialog that the step caused, after normalisation."""


class Custom(PredicateBase):
    """A user's own condition: a function that an installed distribution offers as an entry point."""

    custom: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")
    """Its name in the group `replaywright.predicates`."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    of: ElementQuery | None = None
    """Elements that are passed to the function."""

    @property
    def probe(self) -> Probe | None:
        """The elements that the function judges."""
        return None if self.of is None else ElementProbe(query=self.of)


class AllOf(PredicateBase):
    all_of: tuple["Predicate", ...]

    @property
    def parts(self) -> "tuple[Predicate, ...]":
        """All of them."""
        return self.all_of


class AnyOf(PredicateBase):
    any_of: tuple["Predicate", ...]

    @model_validator(mode="after")
    def _not_empty(self) -> "AnyOf":
        if not self.any_of:
            raise ValueError("any_of needs at least one predicate: an empty one can never hold")
        return self

    @property
    def parts(self) -> "tuple[Predicate, ...]":
        """The alternatives."""
        return self.any_of


class Not(PredicateBase):
    not_: "Predicate"

    @property
    def parts(self) -> "tuple[Predicate, ...]":
        """The one that must not hold."""
        return (self.not_,)


_Any: TypeAlias = (
    Annotated[UrlContains, Tag("url_contains")]
    | Annotated[UrlMatches, Tag("url_matches")]
    | Annotated[TitleContains, Tag("title_contains")]
    | Annotated[Exists, Tag("exists")]
    | Annotated[NotExists, Tag("not_exists")]
    | Annotated[Visible, Tag("visible")]
    | Annotated[Count, Tag("count")]
    | Annotated[TextContains, Tag("text_contains")]
    | Annotated[TextEquals, Tag("text_equals")]
    | Annotated[ValueEquals, Tag("value_equals")]
    | Annotated[Checked, Tag("checked")]
    | Annotated[Enabled, Tag("enabled")]
    | Annotated[Focused, Tag("focused")]
    | Annotated[Downloaded, Tag("downloaded")]
    | Annotated[ResponseStatus, Tag("response_status")]
    | Annotated[DialogSeen, Tag("dialog_seen")]
    | Annotated[Custom, Tag("custom")]
    | Annotated[AllOf, Tag("all_of")]
    | Annotated[AnyOf, Tag("any_of")]
    | Annotated[Not, Tag("not_")]
)
_CLASSES: dict[str, type[PredicateBase]] = {tag.tag: model for model, tag in map(get_args, get_args(_Any))}
KINDS = tuple(_CLASSES)
"""Keys that identify the kind of a predicate."""


def _kind(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return next((key for key in value if key in _CLASSES), None)
    return next((kind for kind, model in _CLASSES.items() if isinstance(value, model)), None)


Predicate = TypeAliasType(
    "Predicate",
    Annotated[
        _Any,
        Discriminator(
            _kind,
            custom_error_type="predicate_unknown",
            custom_error_message="expected a mapping with one of the keys " + ", ".join(KINDS),
        ),
    ],
)

_CONTAINED = frozenset({"name_contains", "text", "text_in"})
"""Fields of a query that match substrings."""
_AnyPredicate = TypeVar("_AnyPredicate", bound=PredicateBase)


def kind_of(predicate: Predicate) -> str:
    """Return the key of its kind, such as `exists`."""
    kind = _kind(predicate)
    assert kind is not None
    return kind


def flattened(predicate: Predicate) -> "Iterator[Predicate]":
    """Yield the predicate and everything inside it."""
    yield predicate
    for part in predicate.parts:
        yield from flattened(part)


def judges_responses(predicates: Iterable[Predicate]) -> bool:
    """Return True if one of them says what servers are to answer: an error status is then no failure by itself."""
    return any(isinstance(part, ResponseStatus) for each in predicates for part in flattened(each))


def meaning_of(predicate: Predicate) -> dict[str, Any]:
    """Return the predicate as JSON without its patience: part of a step's digests."""
    return predicate.model_dump(mode="json", exclude_none=True, exclude={"within_ms"})


def named_parameters(predicate: Predicate) -> frozenset[str]:
    """Return the parameters that the predicate uses."""
    return frozenset().union(*(parameters_in(text) for text in texts_of(meaning_of(predicate))))


def fill_query(query: ElementQuery, values: Mapping[str, str]) -> ElementQuery:
    """Fill the parameters of the query.

    Raises:
        InputInvalid: it is empty because every parameter in it is.
    """
    fields = query.model_dump(exclude_none=True, exclude={"within", "substring", "nth", "frame"})
    filled: dict[str, Any] = {
        key: _filled_texts(value, values, is_contained=key in _CONTAINED and not query.substring)
        for key, value in fields.items()
    }
    if query.substring is False:
        filled |= {key: _as_words(filled[key]) for key in _CONTAINED & filled.keys()}
    if not any(filled.values()) and (fields or query.within is None):
        raise InputInvalid(f"nothing is left of {query.model_dump(exclude_none=True)}: its parameters are all empty")
    if query.within is not None:
        filled["within"] = fill_query(query.within, values)
    if query.frame is not None:
        filled["frame"] = _filled_texts(query.frame, values, is_contained=False)
    return ElementQuery(**filled, substring=query.substring, nth=query.nth)


def _as_words(texts: Any) -> Any:
    return f"{EDGE}{texts}{EDGE}" if isinstance(texts, str) else tuple(map(_as_words, texts))


def _filled_texts(value: str | tuple[str, ...], values: Mapping[str, str], *, is_contained: bool) -> Any:
    with_values = fill_wanted if is_contained else fill
    return with_values(value, values) if isinstance(value, str) else tuple(with_values(one, values) for one in value)


def fill_predicate(predicate: _AnyPredicate, values: Mapping[str, str]) -> _AnyPredicate:
    """Fill the parameters of the predicate. Secrets stay references: no check compares a secret."""
    given = {name: re.escape(value) for name, value in values.items()} if isinstance(predicate, UrlMatches) else values
    update = {name: _filled(getattr(predicate, name), given) for name in type(predicate).model_fields}
    if isinstance(predicate, Containing) and not predicate.substring:
        name = str(_kind(predicate))
        update[name] = fill_wanted(getattr(predicate, name), values)
    return predicate.model_copy(update=update)


def _filled(value: Any, values: Mapping[str, str]) -> Any:
    match value:
        case str():
            return fill(value, values)
        case ElementQuery():
            return fill_query(value, values)
        case PredicateBase():
            return fill_predicate(value, values)
        case tuple() | list():
            return type(value)(_filled(inner, values) for inner in value)
        case Mapping():
            return {key: _filled(inner, values) for key, inner in value.items()}
        case _:
            return value


def probes_of(predicates: Iterable[Predicate]) -> tuple[Probe, ...]:
    """List the questions to the page that `predicates` need answered, each once, in order."""
    probes = (part.probe for predicate in predicates for part in flattened(predicate))
    return tuple({repr(probe): probe for probe in probes if probe is not None}.values())

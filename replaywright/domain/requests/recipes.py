"""Sketches of the requests behind the steps of one run, and the recipe on which several runs agree."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.observed import SAFE_METHODS
from replaywright.domain.requests.places import Place
from replaywright.domain.requests.reading import Reader
from replaywright.domain.requests.slots import Address, Shape

SCHEMA = 1
SKETCHES_KEPT = 4
"""Runs whose sketches are kept: the newest."""
AGREEING = 2
"""Runs that have to agree before a recipe is used."""


class ConstantText(Record):
    """The same text in every run."""

    kind: Literal["constant"] = "constant"
    text: str


class GivenText(Record):
    """A text of the run's values: a template with parameters and secrets."""

    kind: Literal["given"] = "given"
    template: str


class FoundText(Record):
    """A text that an earlier response holds; the labels in its place are templates."""

    kind: Literal["found"] = "found"
    ref: str
    """Call whose response it is."""
    place: Place


class CookieText(Record):
    """The value of a cookie that the site has set."""

    kind: Literal["cookie"] = "cookie"
    name: str


class SealedText(Record):
    """A text that is kept as its digest until runs agree on it: a token of a session that lives."""

    kind: Literal["sealed"] = "sealed"
    digest: str


Source: TypeAlias = Annotated[
    ConstantText | GivenText | FoundText | CookieText | SealedText, Field(discriminator="kind")
]


class Slot(Record):
    """A part of a request, and where its text may come from.

    In a recipe the first source is meant; others that stand there have to give the same text.
    """

    address: Address
    sources: tuple[Source, ...]


class ExpectedAnswer(Record):
    """Properties that a response must have."""

    status: int
    media_type: str = ""
    path: tuple[Slot, ...] = ()
    """Slots of the address that it came from; those whose texts nobody can foretell have no sources."""
    query: tuple[str, ...] | None = None
    """Names in the query of that address, sorted; None where they are others in each run."""
    keys: tuple[str, ...] = ()
    """Of JSON: paths of its values."""
    verdicts: dict[str, str] = Field(default_factory=dict)
    """Of JSON: what it says of its success; see `replaywright.domain.requests.verdicts`."""
    filled: tuple[str, ...] = ()
    """Of JSON that answers a change: all paths that held something in any run."""


class RecipeCall(Record):
    """A request with its response, as a run sent it or is to send it."""

    ref: str
    step: int
    """Index of the step behind it."""
    shape: Shape
    slots: tuple[Slot, ...]
    expected: ExpectedAnswer
    unsent: dict[str, int] = Field(default_factory=dict)
    """Names, and how often, of what a page would send more if nothing were done to it."""
    is_wanted: bool = True
    """False for one that is sent only if another one needs its response."""

    @property
    def is_unsafe(self) -> bool:
        """True if it may change something on its site."""
        return self.shape.method not in SAFE_METHODS


class ToldPredicate(Record):
    """A predicate that responses tell of."""

    step: int
    """Index of the step that expects it; -1 for the final verification."""
    index: int
    """Index among the predicates of that step."""
    refs: tuple[str, ...]
    """Calls whose responses show that it holds; any of them is enough."""
    before: str = ""
    """Of an element that is to be gone: the call whose response still showed it, at the same address."""


class FieldRead(Record):
    """A value that an extract step reads."""

    step: int
    field: str
    readers: tuple[tuple[str, Reader], ...]
    """Calls, and where their responses have it: all have to give the same."""


class Sketch(Record):
    """Requests of one run, with all that explains their parts."""

    run_id: str
    values: dict[str, str] = Field(default_factory=dict)
    """Digests of the parameters' values, by name."""
    forms: dict[str, str] = Field(default_factory=dict)
    """Coarse forms of the parameters' values; see `replaywright.domain.requests.texts.form_of`."""
    marks: dict[str, str] = Field(default_factory=dict)
    """Characters of the parameters' values that are escaped somewhere."""
    needed: tuple[tuple[int, str], ...] = ()
    """Steps and the parameters and secrets that requests of them or of later ones have to hold."""
    calls: tuple[RecipeCall, ...] = ()
    told: tuple[ToldPredicate, ...] = ()
    reads: tuple[FieldRead, ...] = ()


class Recipe(Record):
    """Requests that do what a task does; each slot has one source."""

    calls: tuple[RecipeCall, ...]
    commit: int = -1
    """Index among the calls of the one that must not be repeated; -1 for none."""
    told: tuple[ToldPredicate, ...] = ()
    reads: tuple[FieldRead, ...] = ()
    pinned: dict[str, str] = Field(default_factory=dict)
    """Digests of the values of parameters that were the same in all runs: with others, nobody knows what is sent."""
    forms: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Forms that the parameters' values have had: of others, nobody knows what the page makes."""
    marks: dict[str, str] = Field(default_factory=dict)
    """Characters of the parameters' values that have been sent as they are."""


class Knowledge(Record):
    """All that is known of the requests of one task."""

    sketches: tuple[Sketch, ...] = ()
    """Of runs through the page, oldest first."""
    recipe: Recipe | None = None
    why_not: str = ""
    """Reason for which there is no recipe."""

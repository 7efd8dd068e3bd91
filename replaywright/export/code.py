"""A script before it is written in a language: statements and expressions in Playwright's words.

Methods and options have Playwright's Python names (`get_by_role`, `has_text`); a language with other customs converts
them. What came from a page, a task or a model is in a `Text`, a `Pattern` or a `Comment`, which each language writes as
literals of its own: nothing of it is ever written as code.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from replaywright.domain.common.templates import Placeholder, split


@dataclass(frozen=True)
class Text:
    """A text with parameters, secrets and items in it."""

    parts: tuple[str | Placeholder, ...]

    @property
    def literal(self) -> str | None:
        """The text itself if it has no placeholder."""
        return "".join(map(str, self.parts)) if all(isinstance(part, str) for part in self.parts) else None


@dataclass(frozen=True)
class Regex:
    """A regular expression in the words that Python and JavaScript share; a `Text` in it is searched for literally."""

    parts: tuple[str | Text, ...]
    ignore_case: bool = False


@dataclass(frozen=True)
class Constant:
    """A number, or a truth value."""

    value: float | bool


@dataclass(frozen=True)
class ListLiteral:
    """A list."""

    each: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Fields:
    """A mapping of fixed names, such as a position."""

    fields: "tuple[tuple[str, Expression], ...]"


@dataclass(frozen=True)
class Name:
    """A variable of the script's own, or a parameter that is a list."""

    name: str
    is_parameter: bool = False


@dataclass(frozen=True)
class Call:
    """A method of Playwright's, or with `on` None a function of the script's."""

    on: "Expression | None"
    method: str
    arguments: "tuple[Expression, ...]" = ()
    options: "tuple[tuple[str, Expression], ...]" = ()


@dataclass(frozen=True)
class Part:
    """A property of Playwright's, such as `first`."""

    on: "Expression"
    name: str


Expression: TypeAlias = Text | Regex | Constant | ListLiteral | Fields | Name | Call | Part


# ------------------------------------------------------------------------------------------ statements


@dataclass(frozen=True)
class Comment:
    """Words for the reader."""

    text: str


@dataclass(frozen=True)
class Blank:
    """An empty line."""


@dataclass(frozen=True)
class Do:
    """Something that the browser does, or is asked."""

    call: Call


@dataclass(frozen=True)
class CurrentTab:
    """Another tab becomes the current one."""

    how: Literal["popup", "latest", "first", "url", "title"]
    """`popup` is the tab that opened meanwhile; see `During`."""
    contains: Text = Text(())


@dataclass(frozen=True)
class ClosePage:
    """Close the current tab; the one that opened it, or the first, becomes the current one."""


@dataclass(frozen=True)
class During:
    """An event that the body causes: a tab, a file, a response or a file chooser."""

    event: Literal["popup", "download", "response", "file_chooser"]
    body: "tuple[Statement, ...]"
    url_contains: Text = Text(())
    """Part of the response's address."""
    http_method: str = ""
    """Method of the response's request; empty with no `url_contains` means documents and unsafe requests."""


@dataclass(frozen=True)
class Dialogs:
    """Answers, in order, to the dialogs that the body opens; other dialogs are dismissed."""

    answers: tuple[bool, ...]
    every: bool
    """One answer for all dialogs."""
    text: Text | None
    """Text for prompts."""
    body: "tuple[Statement, ...]"
    said: tuple[Text, ...] = ()
    """Each must be in the kind or text of one of them."""


@dataclass(frozen=True)
class SaveDownload:
    """The file that came must have this name (`*` for any letters), if one is given; it is kept."""

    name: Text | None


@dataclass(frozen=True)
class ExpectStatus:
    """The answer that came must have this status, such as `200` or `2xx`."""

    status: str


@dataclass(frozen=True)
class Either:
    """At least one must hold."""

    checks: "tuple[Condition, ...]"


@dataclass(frozen=True)
class Both:
    """All must hold."""

    checks: "tuple[Condition, ...]"


Condition: TypeAlias = Call | Either | Both
"""A call is an assertion of `expect`."""


@dataclass(frozen=True)
class Expect:
    """This must hold."""

    condition: Condition
    warning: str = ""
    """What to say if it does not; empty: the script fails."""


@dataclass(frozen=True)
class When:
    """Do this only where the condition holds."""

    condition: Condition
    body: "tuple[Statement, ...]"


@dataclass(frozen=True)
class CellIs:
    """A test of a cell of a row."""

    column: str
    kind: Literal["equals", "contains", "one_of", "none_of", "matches"]
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class Repeat:
    """Do this for each item of a list."""

    item: str
    source: Literal["values", "texts", "rows"]
    of: Expression
    """The list, or the elements whose texts it is, or the table."""
    columns: tuple[str, ...]
    """Cells that are used, each as a variable of its own."""
    where: tuple[CellIs, ...]
    limit: int
    stops: bool
    """Take the first `limit` items of a longer list; otherwise take none."""
    skips: bool
    """Skip an item that fails."""
    body: "tuple[Statement, ...]"


@dataclass(frozen=True)
class Read:
    """A named value of the result."""

    field: str
    take: Literal["text", "texts", "value", "attribute", "table", "count"]
    of: Expression
    attribute: str = ""
    kind: Literal["string", "number", "integer", "boolean"] = "string"
    item: str = ""
    """Variable of the list's item; empty outside of lists."""


@dataclass(frozen=True)
class AskPerson:
    """Wait for a person."""

    asks: Literal["approval", "hands", "code"]
    text: str
    """Request to the person."""


Statement: TypeAlias = (
    Comment
    | Blank
    | Do
    | CurrentTab
    | ClosePage
    | During
    | Dialogs
    | SaveDownload
    | ExpectStatus
    | Expect
    | When
    | Repeat
    | Read
    | AskPerson
)

PAGE: Final = Name("page")
CODE: Final = Name("code")
"""A person's last answer."""


@dataclass(frozen=True)
class Script:
    """A skill as statements."""

    statements: tuple[Statement, ...]
    parameters: tuple[str, ...]
    secrets: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    """Gaps of the script; each is a comment in it, too."""
    needs_person: bool = False
    reads: bool = False
    """True: it returns values."""


@dataclass
class Notes:
    """Warnings and refusals collected while a script is written."""

    warnings: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)

    def warn(self, where: str, why: str) -> Comment:
        """Take note, and have it in the script."""
        self.warnings.append(f"{where}: {why}")
        return Comment(f"Not in this script: {why}")


def text(template: str) -> Text:
    """Parse a template of the task into a text."""
    return Text(split(template))


def call(on: Expression | None, method: str, *arguments: Expression, **options: Expression | None) -> Call:
    """Make a call; options that are None are left out."""
    given = tuple((name, value) for name, value in options.items() if value is not None)
    return Call(on, method, arguments, given)


def expect(subject: Expression, assertion: str, *arguments: Expression, **options: Expression | None) -> Call:
    """Make an assertion of Playwright's `expect`."""
    return call(call(None, "expect", subject), assertion, *arguments, **options)


def several(texts: Iterable[str]) -> ListLiteral:
    """Make a list of templates."""
    return ListLiteral(tuple(map(text, texts)))


def all_of(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements and everything inside them."""
    for statement in statements:
        yield statement
        yield from all_of(getattr(statement, "body", ()))


def uses(statements: Sequence[Statement], parameter: str) -> bool:
    """Return True if the statements use the parameter or item."""
    return repr(Placeholder("parameter", parameter)) in repr(statements)

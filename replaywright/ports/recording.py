"""What the recorder of demonstrations needs of a browser: what a person does in it, and what comes of that."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.step.outcomes import Evidence

ActKind: TypeAlias = Literal[
    "click",
    "double_click",
    "fill",
    "select",
    "check",
    "uncheck",
    "upload",
    "press",
    "drag",
    "goto",
    "go_back",
    "close_tab",
    "point",
]
"""The acts of a person. `point` touches nothing: it says that the element shall be there."""


class ActedOn(Record):
    """The element of an act, as it was before the page reacted."""

    number: str
    """Equal for the same element of the same document."""
    target: Target
    query: ElementQuery | None = None
    """Matches this element alone on its page; None if nothing says which it is."""
    by_place: bool = False
    """The query says where it stands, and not what it is."""
    is_field: bool = False
    """It takes a value."""
    is_hidden: bool = False


class Shift(Record):
    """A distance in CSS pixels, to the right and down."""

    x: float = 0
    y: float = 0


class Act(Record):
    """One thing that a person did."""

    kind: ActKind
    number: int = 0
    """Equal for acts that make one step, such as the letters that are typed into a field."""
    tab: str
    """Id of the tab."""
    opener: str = ""
    """Id of the tab that opened it; empty for none."""
    url: str = ""
    """Address of the tab's document, or the one that was opened."""
    element: ActedOn | None = None
    value: str = Field("", repr=False)
    values: tuple[str, ...] = ()
    """Chosen options, or names of files."""
    text: str = ""
    """Visible text of what was pointed at."""
    secret: bool = False
    """The page itself says that the value is a secret."""
    signs_in: bool = False
    """The page itself says that the value is the password of an account."""
    keys: str = ""
    button: str = "left"
    modifiers: tuple[str, ...] = ()
    to: ActedOn | None = None
    """Where it was dropped; None where only the distance says it."""
    by: Shift = Shift()
    drop: bool = False
    """Files were dropped on the element."""
    at: float = 0.0
    """Monotonic seconds."""


class DialogAnswer(Record):
    """Answer of a person to a dialog."""

    accepted: bool
    text: str | None = Field(None, repr=False)
    """What was entered into a prompt."""


class Outcome(Record):
    """What came of an act so far."""

    evidence: Evidence = Evidence()
    dialogs: tuple[DialogAnswer, ...] = ()
    after: Snapshot | None = None
    """The page once it was quiet; None if it was not read in time."""
    again: Snapshot | None = None
    """The same a moment later."""


class Demonstration(Protocol):
    """A browser in which a person works, and which tells what they do."""

    async def open(self, url: str) -> None:
        """Open the page to begin on.

        Raises:
            ActionFailed: it does not load.
        """

    async def next_act(self) -> Act | None:
        """Return the next act; None once the browser or its last tab is closed."""

    async def outcome(self, number: int, secrets: Sequence[str]) -> Outcome:
        """Return what came of the act of that number, once its page is quiet; snapshots lack `secrets`."""

    def so_far(self, number: int) -> Outcome:
        """Return what came of that act until the next one, or until now, without snapshots."""

    async def look(self, secrets: Sequence[str]) -> Snapshot | None:
        """Return the page as it is; None if it cannot be read now."""

    def listen(self, *, on: bool, pointing: bool = False) -> None:
        """Tell acts or not; with `pointing` the next click only points."""

    async def close(self) -> None:
        """Let go of the browser."""

"""What the recorder of demonstrations needs of a browser: what a person does in it, and what comes of that."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Authored, Record
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


class OpenTab(Record):
    """A tab as a view lists it."""

    id: str
    title: str
    is_current: bool


class OpenDialog(Record):
    """A dialog that waits for an answer."""

    kind: str
    message: str
    suggested: str = ""


class ShownPage(Record):
    """What a view of the browser shows beside its picture."""

    url: str = ""
    width: int = 0
    height: int = 0
    """Size of the page's viewport in CSS pixels."""
    tabs: tuple[OpenTab, ...] = ()
    dialog: OpenDialog | None = None
    choices: tuple[str, ...] = ()
    """Options of a list that was opened; a picture does not show them."""
    wants_file: bool = False
    """The page asks for a file."""


class Pointer(Authored):
    """A movement or button of the mouse, in CSS pixels of the viewport."""

    do: Literal["pointer"]
    kind: Literal["mouseMoved", "mousePressed", "mouseReleased", "mouseWheel"]
    x: float = Field(allow_inf_nan=False)
    y: float = Field(allow_inf_nan=False)
    button: Literal["none", "left", "middle", "right"] = "none"
    buttons: int = Field(0, ge=0, le=31)
    clicks: int = Field(0, ge=0, le=3)
    modifiers: int = Field(0, ge=0, le=15)
    """Bits: 1 Alt, 2 Control, 4 Meta, 8 Shift."""
    dx: float = Field(0, allow_inf_nan=False)
    dy: float = Field(0, allow_inf_nan=False)


class Keys(Authored):
    """A key with its modifiers, such as `Control+a`."""

    do: Literal["keys"]
    keys: str = Field(min_length=1, max_length=60)


class Insert(Authored):
    """A text that no key types."""

    do: Literal["insert"]
    text: str = Field(max_length=100_000, repr=False)


class GoTo(Authored):
    """An address that was typed into the view."""

    do: Literal["goto"]
    url: str = Field(pattern=r"^https?://")


class GoBackOnce(Authored):
    """Back in the tab's history."""

    do: Literal["back"]


class TakeTab(Authored):
    """Another tab to work in, or to close."""

    do: Literal["tab"]
    id: str
    close: bool = False


class AnswerDialog(Authored):
    """The answer to the open dialog."""

    do: Literal["answer"]
    accept: bool
    text: str = Field("", repr=False)


class Choose(Authored):
    """The option of the open list, by its position; None closes the list."""

    do: Literal["choose"]
    index: int | None = Field(None, ge=0)


ViewInput: TypeAlias = Pointer | Keys | Insert | GoTo | GoBackOnce | TakeTab | AnswerDialog | Choose
"""What a person does in a view of the browser."""


class Screen(Protocol):
    """A browser that is seen and used from elsewhere."""

    @property
    def shown(self) -> ShownPage:
        """What there is beside the picture."""

    @property
    def picture(self) -> tuple[int, bytes]:
        """The latest picture of the page, a JPEG, with its number; 0 and nothing before the first one."""

    async def changed(self, picture: int, limit_s: float) -> None:
        """Return once there is another picture, or after `limit_s`."""

    async def give(self, entered: ViewInput) -> None:
        """Do in the browser what was done in the view.

        Raises:
            ActionFailed: it cannot be done.
        """

    async def give_files(self, paths: Sequence[str]) -> None:
        """Give files of this machine to the field that asks for them."""

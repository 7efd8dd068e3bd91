"""The pruned, structured reading of a page."""

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.targets import Target


class Element(Record):
    """One element of a snapshot that can be acted on or read."""

    id: str
    """`e1`, `e2`, …: valid for this snapshot only."""
    target: Target
    actionable: bool = True
    """False for plain text, headings and the like, which only give context."""
    visible: bool = True
    in_viewport: bool = True
    value: str = ""
    """Current value; always empty for password fields."""
    states: tuple[str, ...] = ()
    """disabled, checked, mixed, pressed, expanded, collapsed, required, invalid, selected, readonly, focused,
    scrollable (up and down), scrollable-x (sideways)."""
    options: tuple[str, ...] = ()
    """Labels of a <select>'s options, at most 30."""
    group: str = ""
    """`g1`, `g2`, …: equal for all elements of one repetition, such as all rows of one table; empty outside of any."""
    group_item: int = 0
    """The repeated item this element stands in, counted from 1; 0 outside of any repetition."""


class Snapshot(Record):
    """A page as the model and the similarity search see it, frames and open shadow roots included."""

    url: str
    title: str = ""
    elements: tuple[Element, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out and why: too many elements, a closed shadow root, a frame that did not answer."""
    node_count: int = 0
    repeated: dict[str, int] = Field(default_factory=dict)
    """How many items a repetition has in all, by its `group`, where not all of them were read."""

    def element(self, element_id: str) -> Element | None:
        """The element with this id, if it is in the snapshot."""
        return next((element for element in self.elements if element.id == element_id), None)

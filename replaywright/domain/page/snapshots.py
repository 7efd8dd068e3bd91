"""Snapshots: the pruned, structured reading of a page."""

from collections import Counter

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.page.targets import FrameStep, Target

_TELLING_STATES = frozenset({"disabled", "focused"})


class Element(Record):
    """A snapshot element that can be acted on or read."""

    id: str
    """`e1`, `e2`, …: valid in this snapshot only."""
    target: Target
    actionable: bool = True
    """False for plain text, headings and the like, which give context."""
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
    """`g1`, `g2`, …: equal for all elements of one repetition, such as the rows of a table; empty outside."""
    group_item: int = 0
    """Number of the repeated item, from 1; 0 outside of repetitions."""


class Snapshot(Record):
    """A page as the model and the similarity search see it, with frames and open shadow roots."""

    url: str
    title: str = ""
    elements: tuple[Element, ...] = ()
    notes: tuple[str, ...] = ()
    """Omissions with reasons: too many elements, a closed shadow root, a frame that did not answer."""
    node_count: int = 0
    repeated: dict[str, int] = Field(default_factory=dict)
    """Total items of each repetition, by `group`, if not all were read."""

    @property
    def controls(self) -> tuple[tuple[tuple[FrameStep, ...], str, str, str, frozenset[str]], ...]:
        """Return what can be acted on: frame, role, name, label, and if it is disabled, or has the focus.

        Two snapshots with the same controls are one page to whoever looks for an element; texts and values may differ.
        """
        acting = (element for element in self.elements if element.actionable and element.visible)
        return tuple(
            (of.frame, of.role or of.tag, of.name or of.text, of.label, _TELLING_STATES.intersection(element.states))
            for element in acting
            for of in (element.target,)
        )

    def adds_to(self, earlier: "Snapshot") -> bool:
        """Return whether more can be seen and acted on than in an `earlier` snapshot, or this is another page.

        Less may be there; texts, values and states may differ.
        """
        before, now = (Counter(control[:-1] for control in of.controls) for of in (earlier, self))
        return self.url != earlier.url or not now <= before

    def element(self, element_id: str) -> Element | None:
        """Return the element with this id; None without one."""
        return next((element for element in self.elements if element.id == element_id), None)

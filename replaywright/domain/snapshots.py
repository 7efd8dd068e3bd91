"""The pruned, structured reading of a page."""

from replaywright.domain.base import Record
from replaywright.domain.targets import Target
from replaywright.domain.text import shorten


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
    """disabled, checked, expanded, collapsed, required, invalid, selected, readonly, focused, scrollable."""
    options: tuple[str, ...] = ()
    """Labels of a <select>'s options, at most 30."""


class Snapshot(Record):
    """A page as the model and the similarity search see it, frames and open shadow roots included."""

    url: str
    title: str = ""
    elements: tuple[Element, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out and why: too many elements, a closed shadow root, a frame that did not answer."""
    node_count: int = 0

    def element(self, element_id: str) -> Element | None:
        """The element with this id, if it is in the snapshot."""
        return next((element for element in self.elements if element.id == element_id), None)

    def as_text(self, limit: int = 400) -> str:
        """One line per element, `[e12] button "Send"` and what tells it apart: the form a model reads.

        At most `limit` lines; elements in the viewport go first when something must be left out.
        """
        shown = [element for element in self.elements if element.visible]
        if len(shown) > limit:
            first = [e for e in shown if e.in_viewport and e.actionable][:limit]
            rest = [e for e in shown if e not in first][: limit - len(first)]
            keep = {e.id for e in (*first, *rest)}
            shown = [e for e in shown if e.id in keep]
        lines = [_line(element) for element in shown]
        left_out = len([e for e in self.elements if e.visible]) - len(shown)
        if left_out:
            lines.append(f"({left_out} more elements not shown)")
        return "\n".join(lines)


def _line(element: Element) -> str:
    target = element.target
    if not element.actionable:
        return f"{target.role or 'text'} {_quoted(target.name or target.text)}"
    parts = [f"[{element.id}] {target.role or target.tag}"]
    parts.append(_quoted(target.name or target.text))
    if target.label and target.label != target.name:
        parts.append(f"label={_quoted(target.label)}")
    for key in ("type", "placeholder", "title"):
        value = target.attributes.get(key, "")
        if value and value != target.name and not (key == "type" and value == "text"):
            parts.append(f"{key}={value}" if key == "type" else f"{key}={_quoted(value)}")
    if element.value:
        parts.append(f"value={_quoted(element.value)}")
    if element.options:
        parts.append(f'options="{shorten("|".join(_plain(option) for option in element.options), 160)}"')
    parts += [f"({state})" for state in element.states]
    if target.row:
        parts.append("row " + _quoted(" | ".join(target.row), 120))
    if target.container:
        parts.append(f"in {target.container}")
    return " ".join(parts)


def _plain(text: str) -> str:
    return " ".join(text.split()).replace('"', "'")


def _quoted(text: str, limit: int = 80) -> str:
    return f'"{shorten(_plain(text), limit)}"'

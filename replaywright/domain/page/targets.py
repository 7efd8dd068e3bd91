"""Descriptions of elements by which they are found again."""

from typing import Any, Final

from pydantic import Field, field_validator, model_validator

from replaywright.domain.common.base import Authored, Record
from replaywright.domain.common.text import near


class FrameStep(Record):
    """A step into an iframe, described by properties that survive a rebuild."""

    name: str = ""
    """The frame's `name` or `id`."""
    title: str = ""
    url: str = ""
    """Origin and path of the frame's document, without query."""
    index: int = 0
    """Index among sibling frames, as a last resort."""


class Box(Record):
    """A place on a page, in CSS pixels from the top left corner of its top document, independent of scrolling."""

    x: float
    y: float
    width: float = Field(ge=0)
    height: float = Field(ge=0)


class Target(Record):
    """The recorded description of an element. Empty means "had none", which is information, too."""

    frame: tuple[FrameStep, ...] = ()
    """Frames from the top document; empty for the top document itself."""
    tag: str = ""
    role: str = ""
    name: str = ""
    """Accessible name as the page gave it, not normalised."""
    text: str = ""
    """Visible text, at most 200 characters."""
    label: str = ""
    """Text of the <label> or of the visual label."""
    attributes: dict[str, str] = Field(default_factory=dict)
    """id, class, name, type, placeholder, title, alt, paths of href and action, value of buttons, test ids, aria-*."""
    query: str = ""
    """Digest of query and fragment of a link's address. It may differ between links of one path, or at every visit."""
    xpath: str = ""
    """Absolute; `#shadow` steps into an open shadow root."""
    css: str = ""
    """Short and unique when recorded, made of stable attributes; ` >>> ` steps into shadow roots."""
    neighbours: tuple[str, ...] = ()
    """Texts near the element, nearest first, at most eight."""
    container: str = ""
    """Role and name of the nearest landmark, form, dialog, table or list, such as `form "Compose"`."""
    row: tuple[str, ...] = ()
    """Texts of the element's table row or list item."""
    namesakes: int = 0
    """Number of visible elements in its frame with its role and name (without a name, its label) when recorded, itself
    included; 0 if not counted."""
    alike: tuple[str, ...] = ()
    """Names of others of its role then that have all words of its name, or no other words; at most eight."""
    element_hash: str = ""
    """Digest of tag, role, name and stable attributes, without position: equal means unchanged."""
    box: Box | None = None
    focused: bool = False
    """True if it had the focus, and neither the page as it was loaded nor the step itself had given it that."""
    heard: dict[str, int] | None = None
    """Number of listeners of its input, on it and around it, by type; None if not counted."""


_ROLES: Final = """
    alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox
    complementary contentinfo definition deletion dialog directory document emphasis feed figure form grid gridcell
    group heading img insertion link list listbox listitem log main marquee math menu menubar menuitem menuitemcheckbox
    menuitemradio meter navigation note option paragraph progressbar radio radiogroup region row rowgroup rowheader
    scrollbar search searchbox separator slider spinbutton status strong subscript superscript switch tab table tablist
    tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem
"""
ROLES: Final = frozenset(_ROLES.split())
"""Roles of WAI-ARIA 1.2 that Playwright looks for, too. The others (`generic`, none) say nothing."""
_MORE_ROLES: Final = frozenset({"comment", "mark", "overlay", "suggestion"})
"""Roles that a query takes beside them: our own, and those of ARIA's drafts that pages have."""
_MODIFIERS = {"substring", "nth", "frame"}
"""Fields of a query that describe no element."""


class ElementQuery(Authored):
    """A condition on elements in a task file; every given field must match."""

    role: str | None = None
    """An ARIA role, or `overlay`: an element over the page, declared as a dialog or not."""
    name: str | None = None
    """Accessible name, equal after normalisation."""
    name_contains: str | None = None
    """Part of the accessible name, after normalisation."""
    name_in: tuple[str, ...] | None = None
    """Accessible name, equal to one of these after normalisation: the same button in several languages."""
    text: str | None = None
    """Part of the visible text, after normalisation."""
    text_in: tuple[str, ...] | None = None
    """Parts of the visible text, at least one of which must match; only together with `role`."""
    label: str | None = None
    """Text of its label, after normalisation."""
    placeholder: str | None = None
    """Placeholder, after normalisation."""
    test_id: str | None = None
    """`data-testid`, or the like."""
    css: str | None = None
    """A CSS selector, tried in the document and in each open shadow root; ` >>> ` steps from a host into its root."""
    within: "ElementQuery | None" = None
    """Only inside an element that matches this, in the same document, through open shadow roots."""
    nth: int | None = None
    """Position among the visible elements that match all else, in the order of the page: 1 the first, -1 the last."""
    frame: tuple[str, ...] | None = Field(None, min_length=1)
    """Frame: its name or id, title, a part of its address, or a CSS selector; a list leads into nested frames."""
    substring: bool | None = None
    """True: values of parameters also match inside words, as `12` in `123`. False: a whole `text` or `name_contains`
    matches as words only, as values do without this."""

    @property
    def says_what_it_is(self) -> bool:
        """True if it names the element in visible words, not only by an identifier or a role."""
        return any((self.name, self.name_contains, self.name_in, self.text, self.label, self.placeholder))

    @property
    def is_placed(self) -> bool:
        """True if it counts elements: another page has another element at the same position."""
        return self.nth is not None or (self.within is not None and self.within.is_placed)

    @field_validator("role")
    @classmethod
    def _knows_the_role(cls, role: str | None) -> str | None:
        if role and role not in ROLES | _MORE_ROLES:
            known = sorted(ROLES | _MORE_ROLES)
            raise ValueError(
                f"unknown role {role[:60]!r}; {near(role, known) or 'expected one of: ' + ', '.join(known)}"
            )
        return role

    @field_validator("frame", mode="before", json_schema_input_type=str | tuple[str, ...] | None)
    @classmethod
    def _one_frame(cls, frame: Any) -> Any:
        return (frame,) if isinstance(frame, str) else frame

    @field_validator("frame")
    @classmethod
    def _names_frames(cls, frame: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if frame is not None and not all(each.strip() for each in frame):
            raise ValueError("a frame is named by its name, title, a part of its address or a selector, not by nothing")
        return frame

    @field_validator("nth")
    @classmethod
    def _counts_from_one(cls, nth: int | None) -> int | None:
        if nth == 0:
            raise ValueError("nth counts from 1, and from -1 backwards; 0 is no position")
        return nth

    @model_validator(mode="after")
    def _says_something(self) -> "ElementQuery":
        if not any(self.model_dump(exclude=_MODIFIERS).values()):
            fields = ", ".join(name for name in type(self).model_fields if name not in _MODIFIERS)
            raise ValueError(f"every element would match; give at least one of {fields}")
        if self.text_in and not self.role:
            raise ValueError("text_in would match whole pages; give a role with it, such as dialog or overlay")
        if self.within is not None and self.within.frame is not None:
            raise ValueError("within is in the same document: write frame beside within, not inside it")
        return self

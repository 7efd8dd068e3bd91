"""How an element is described, so that it can be found again and told apart from its like."""

from pydantic import Field, model_validator

from replaywright.domain.common.base import Authored, Record


class FrameStep(Record):
    """One hop into an iframe, described by what stays when the page is rebuilt."""

    name: str = ""
    """The frame's `name` or `id`."""
    title: str = ""
    url: str = ""
    """Origin and path of the frame's document; no query."""
    index: int = 0
    """Position among the sibling frames: only the last resort when nothing else differs."""


class Box(Record):
    """Position and size in the page, in CSS pixels."""

    x: float
    y: float
    width: float
    height: float


class Target(Record):
    """Everything recorded about one element. Empty means "had none", which is information too."""

    frame: tuple[FrameStep, ...] = ()
    """The path of frames from the top document; empty for the top document itself."""
    tag: str = ""
    role: str = ""
    name: str = ""
    """Accessible name as the page gave it (not normalised)."""
    text: str = ""
    """Visible text, at most 200 characters."""
    label: str = ""
    """The text of the element's <label> or of what labels it visually."""
    attributes: dict[str, str] = Field(default_factory=dict)
    """id, class, name, type, placeholder, href (path only), title, alt, value of buttons, data-test ids, aria-*."""
    xpath: str = ""
    """Absolute; a hop into an open shadow root is the segment `#shadow`."""
    css: str = ""
    """Short and unique when recorded, built from stable attributes; shadow hops as ` >>> `."""
    neighbours: tuple[str, ...] = ()
    """Texts near the element, nearest first, at most eight."""
    container: str = ""
    """Role and name of the nearest landmark, form, dialog, table or list, such as `form "Compose"`."""
    row: tuple[str, ...] = ()
    """Texts of the table row or list item the element stands in."""
    namesakes: int = 0
    """How many visible elements of its frame had its role and name, or for want of a name its label, when it was
    recorded, itself included; 0 where nobody counted."""
    element_hash: str = ""
    """Digest of tag, role, name and stable attributes, without position: equal means unchanged."""
    box: Box | None = None


class ElementQuery(Authored):
    """A condition on elements, as written in task files; every field given must agree."""

    role: str | None = None
    """A role of ARIA, or `overlay`: what lies over the page, declared a dialog or not."""
    name: str | None = None
    """Accessible name, equal after normalisation."""
    name_contains: str | None = None
    """Contained in the accessible name, after normalisation."""
    name_in: tuple[str, ...] | None = None
    """Accessible name, equal to one of these after normalisation: the same button in several languages."""
    text: str | None = None
    """Contained in the visible text, after normalisation."""
    text_in: tuple[str, ...] | None = None
    """At least one of these is contained in the visible text; only together with `role`."""
    label: str | None = None
    """The text of its label, after normalisation."""
    placeholder: str | None = None
    """Its placeholder, after normalisation."""
    test_id: str | None = None
    """Its `data-testid`, or the like."""
    css: str | None = None
    """The escape hatch; does not look into shadow roots or frames."""
    within: "ElementQuery | None" = None
    """Only inside an element that matches this, in the same document."""
    substring: bool | None = None
    """True: values of parameters are found inside of words, too, as `12` in `123`."""

    @property
    def says_what_it_is(self) -> bool:
        """Whether it names the element in words that a person sees, not by an identifier or a role alone."""
        return any((self.name, self.name_contains, self.name_in, self.text, self.label, self.placeholder))

    @model_validator(mode="after")
    def _says_something(self) -> "ElementQuery":
        if not any(self.model_dump(exclude={"substring"}).values()):
            fields = ", ".join(name for name in type(self).model_fields if name != "substring")
            raise ValueError(f"every element would match; give at least one of {fields}")
        if self.text_in and not self.role:
            raise ValueError("text_in would match whole pages; give a role with it, such as dialog or overlay")
        return self

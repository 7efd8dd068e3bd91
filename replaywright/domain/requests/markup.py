"""HTML as a tree of elements with what of it can be seen, as far as the markup alone says so.

Style sheets and scripts are not read: an element that only they hide counts as visible, except by the class names that
most style sheets use for it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, LexborNode, SelectolaxError


def words(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(text.split())


DEPTH_LIMIT = 1_000
"""Elements inside each other; a parser needs time by the square of it, and no page made by people comes near."""
ATTRIBUTES_LIMIT = 2_000
"""Attributes of an element, which take a parser time by their square, too."""
ELEMENTS_LIMIT = 60_000
"""Elements of a document; one with more is left to a browser."""
_NO_TEXT = words(
    "script style noscript template head title select datalist textarea input iframe object video audio canvas svg "
    "math meter progress"
)
"""Elements without text of the page, as in `browser/page/text.js`."""
_UNSEEN = words("head title script style noscript template datalist param source track area link meta base")
_BLOCKS = words(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol p pre search section summary table "
    "tbody td tfoot th thead tr ul"
)
_HIDING = words("hidden d-none is-hidden invisible visually-hidden sr-only hide")
_OPENED = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]*)")
_LEAVES = words("area base br col embed hr img input link meta source track wbr p tr td th option path")
"""Elements that have no end tag, or need none: they do not nest by being left open."""
_TAG = re.compile(r"""<[a-zA-Z](?>[^>"']+|"[^"]*"|'[^']*')*""")
_STYLE = re.compile(r"(?:^|;)\s*(display|visibility)\s*:\s*([a-z-]+)", re.IGNORECASE)


@dataclass(eq=False, slots=True)
class MarkupElement:
    """An element of a document."""

    tag: str
    attributes: dict[str, str]
    parent: "MarkupElement | None" = field(default=None, repr=False)
    children: "list[MarkupElement | str]" = field(default_factory=list, repr=False)
    before: "MarkupElement | None" = field(default=None, repr=False)
    """The element before it in the same parent."""
    is_visible: bool = True
    is_apart: bool = False
    """True if it is drawn as a block: its text stands on lines of its own."""

    def get(self, name: str) -> str:
        """Return an attribute; empty if there is none."""
        return self.attributes.get(name, "")

    @property
    def elements(self) -> "list[MarkupElement]":
        """Its child elements."""
        return [child for child in self.children if not isinstance(child, str)]

    def ancestors(self) -> "Iterator[MarkupElement]":
        """Yield its parent, and so on."""
        at = self.parent
        while at is not None:
            yield at
            at = at.parent

    def inside(self, *tags: str) -> "Iterator[MarkupElement]":
        """Yield the elements inside it in the order of the document, those with one of `tags` if there are any."""
        left = self.elements[::-1]
        while left:
            element = left.pop()
            if not tags or element.tag in tags:
                yield element
            left.extend(element.elements[::-1])


@dataclass(frozen=True, eq=False)
class Markup:
    """A parsed document."""

    elements: tuple[MarkupElement, ...]
    """All of them in order; the first is the root. Empty for an empty or refused text."""
    _parser: LexborHTMLParser | None = field(default=None, repr=False)
    _by_node: dict[int, MarkupElement] = field(default_factory=dict, repr=False)

    def select(self, css: str) -> tuple[MarkupElement, ...]:
        """Return the elements that a selector matches; none for one that is wrong."""
        if self._parser is None or self._parser.root is None:
            return ()
        try:
            nodes = self._parser.root.css(css)
        except SelectolaxError:
            return ()
        found = (self._by_node.get(node.mem_id) for node in nodes)
        return tuple({id(one): one for one in found if one is not None}.values())

    def by_id(self, id_: str) -> MarkupElement | None:
        """Return the first element with this id."""
        return self._by_id.get(id_)

    def tagged(self, *tags: str) -> tuple[MarkupElement, ...]:
        """Return the elements with one of the tags, in order for each."""
        return tuple(one for tag in tags for one in self._by_tag.get(tag, ()))

    def labels_for(self, id_: str) -> tuple[MarkupElement, ...]:
        """Return the labels that name this id, in order."""
        return tuple(self._labels.get(id_, ()))

    @cached_property
    def _labels(self) -> dict[str, list[MarkupElement]]:
        found: dict[str, list[MarkupElement]] = {}
        for label in self.tagged("label"):
            if label.get("for"):
                found.setdefault(label.get("for"), []).append(label)
        return found

    @cached_property
    def _by_id(self) -> dict[str, MarkupElement]:
        return {one.get("id"): one for one in reversed(self.elements) if one.get("id")}

    @cached_property
    def _by_tag(self) -> dict[str, list[MarkupElement]]:
        found: dict[str, list[MarkupElement]] = {}
        for one in self.elements:
            found.setdefault(one.tag, []).append(one)
        return found


def parse(html: str) -> Markup:
    """Parse HTML as a browser does, however broken it is; empty if it is deeper or longer than any page of people."""
    if _depth(html) > DEPTH_LIMIT or any(len(tag[0].split()) > ATTRIBUTES_LIMIT for tag in _TAG.finditer(html)):
        return Markup(())
    # Without events: with them, each option of a list is copied again and again.
    parser = LexborHTMLParser(html.encode("utf-8", "replace"), options=LexborDocumentOptions.WO_EVENTS)
    if parser.root is None:
        return Markup(())
    root = _element(parser.root)
    order: list[MarkupElement] = []
    by_node: dict[int, MarkupElement] = {}
    left = [(parser.root, root)]
    while left:
        node, element = left.pop()
        order.append(element)
        if len(order) > ELEMENTS_LIMIT:
            return Markup(())
        by_node[node.mem_id] = element
        inner: list[tuple[LexborNode, MarkupElement]] = []
        child = node.first_child
        while child is not None:
            if child.is_text_node:
                element.children.append(child.text_content or "")
            elif child.is_element_node:
                before = inner[-1][1] if inner else None
                inner.append((child, _element(child, element, before)))
                element.children.append(inner[-1][1])
            child = child.next
        left.extend(reversed(inner))
    return Markup(tuple(order), parser, by_node)


def _depth(html: str) -> int:
    """Return a bound of how deep the elements of a text nest."""
    depth = deepest = 0
    for found in _OPENED.finditer(html):
        if found[2].lower() not in _LEAVES:
            depth = max(0, depth - 1) if found[1] else depth + 1
            deepest = max(deepest, depth)
    return deepest


def _element(
    node: LexborNode, parent: MarkupElement | None = None, before: MarkupElement | None = None
) -> MarkupElement:
    attributes = {name.lower(): value or "" for name, value in node.attributes.items()}
    element = MarkupElement((node.tag or "").lower(), attributes, parent, before=before)
    element.is_apart = element.tag in _BLOCKS
    element.is_visible = (parent is None or parent.is_visible) and not _is_hidden(element)
    if "style" in attributes:
        style = {name.lower(): value.lower() for name, value in _STYLE.findall(attributes["style"])}
        if display := style.get("display"):
            element.is_apart = not display.startswith(("inline", "contents", "ruby"))
        veiled = display == "none" or style.get("visibility") in ("hidden", "collapse")
        element.is_visible = element.is_visible and not veiled
    return element


def _is_hidden(element: MarkupElement) -> bool:
    """Return True if tag and attributes hide an element."""
    attributes, parent = element.attributes, element.parent
    return (
        element.tag in _UNSEEN
        or "hidden" in attributes
        or "popover" in attributes
        or ("class" in attributes and not _HIDING.isdisjoint(attributes["class"].split()))
        or (element.tag == "input" and element.get("type").strip().lower() == "hidden")
        or (element.tag == "dialog" and "open" not in attributes)
        or (parent is not None and parent.tag == "details" and _is_folded(element, parent))
    )


def _is_folded(element: MarkupElement, details: MarkupElement) -> bool:
    """Return True for the content of closed details, except their summary."""
    is_first = not any(one.tag == "summary" for one in details.elements)
    return "open" not in details.attributes and not (element.tag == "summary" and is_first)


def text_of(element: MarkupElement) -> str:
    """Return the visible text of an element as the page's `readText` does: blocks on lines, white space collapsed.

    Contents of fields and lists of options are left out.
    """
    parts: list[str] = []
    left: list[MarkupElement | str] = [element]
    while left:
        node = left.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.tag == "br":
            parts.append("\n")
        elif node.tag in _NO_TEXT:
            parts.append(" ")
        elif node.is_visible:
            closed = node.tag == "details" and "open" not in node.attributes
            edge = ["\n"] if node.is_apart else []
            left.extend(edge)
            left.extend(reversed(node.elements if closed else node.children))
            parts.extend(edge)
    text = re.sub(r"[^\S\n]+", " ", "".join(parts))
    return re.sub(r" ?\n\s*", "\n", text).strip()


def line_of(element: MarkupElement) -> str:
    """Return the visible text of an element on one line."""
    return " ".join(text_of(element).split())


def raw_text(element: MarkupElement) -> str:
    """Return all text inside an element as it stands in the markup: of a script, a field or a title."""
    parts: list[str] = []
    left: list[MarkupElement | str] = [element]
    while left:
        node = left.pop()
        if isinstance(node, str):
            parts.append(node)
        else:
            left.extend(reversed(node.children))
    return "".join(parts)

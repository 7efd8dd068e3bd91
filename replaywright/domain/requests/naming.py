"""Roles and names of elements as the markup alone gives them: the part of WAI-ARIA that needs no style sheet."""

from collections.abc import Mapping

from replaywright.domain.requests.markup import Markup, MarkupElement, line_of, raw_text, words

_TAGS: Mapping[str, str] = {
    "button": "button", "textarea": "textbox", "img": "img", "table": "table",
    "ul": "list", "ol": "list", "menu": "list", "nav": "navigation", "main": "main", "form": "form", "dialog": "dialog",
    "output": "status", "p": "paragraph", "article": "article",
    **{f"h{level}": "heading" for level in range(1, 7)},
}  # fmt: skip
_INPUTS: Mapping[str, str] = {
    "hidden": "", "button": "button", "submit": "button", "reset": "button", "image": "button", "file": "button",
    "checkbox": "checkbox", "radio": "radio", "search": "searchbox", "number": "spinbutton", "range": "slider",
}  # fmt: skip
_DECLARED = words("alert alertdialog status tab switch log note")
"""Roles that hardly an element has by itself: pages declare them."""
_COMPUTED = words(
    "link searchbox spinbutton slider checkbox radio combobox listbox cell gridcell columnheader rowheader listitem"
)
KNOWN = frozenset({"row", *_TAGS.values(), *_COMPUTED, *_DECLARED})
"""Roles that can be told."""
_NAMED_BY_CONTENT = words("button cell checkbox columnheader gridcell heading link radio rowheader switch tab")
_LISTED = ("", "email", "search", "tel", "text", "url")
"""Types of inputs that take a list of suggestions."""
_PARTS = words("dialog fieldset form menu nav search")
"""Elements in a cell that have content of their own: it is none of the cell's name."""
_FIELDS = words("input select textarea button meter output progress")
_ALIASES = {"image": "img", "directory": "list"}


def role_of(element: MarkupElement) -> str:  # noqa: PLR0911 - one case a tag
    """Return the role of an element; empty if it has none, or one that cannot be told."""
    explicit = element.get("role").lower().split()
    if explicit:
        role = _ALIASES.get(explicit[0], explicit[0])
        return "" if role in ("none", "presentation", "generic") else role
    match element.tag:
        case "a" | "area":
            return "link" if "href" in element.attributes else ""
        case "input":
            kind = element.get("type").strip().lower()
            return "combobox" if kind in _LISTED and _has_list(element) else _INPUTS.get(kind, "textbox")
        case "select":
            several = "multiple" in element.attributes or element.get("size").strip() not in ("", "0", "1")
            return "listbox" if several else "combobox"
        case "li":
            return "listitem" if element.parent is not None and element.parent.tag in ("ul", "ol", "menu") else ""
        case "summary":
            return "button" if element.parent is not None and element.parent.tag == "details" else ""
        case "tr" | "td" | "th":
            return _role_in_table(element)
        case "img":
            return "" if element.attributes.get("alt") == "" and not element.get("title") else "img"
        case tag:
            return _TAGS.get(tag, "")


def _has_list(field: MarkupElement) -> bool:
    if not field.get("list"):
        return False
    root = next(reversed(list(field.ancestors())), field)
    return any(one.get("id") == field.get("list") for one in root.inside("datalist"))


def _role_in_table(element: MarkupElement) -> str:
    table = next((one for one in element.ancestors() if one.tag == "table"), None)
    kind = table.get("role").lower().strip() if table is not None else ""
    if kind in ("none", "presentation"):
        return ""
    if element.tag == "th":
        return _header_role(element)
    return "row" if element.tag == "tr" else "gridcell" if kind in ("grid", "treegrid") else "cell"


def _header_role(element: MarkupElement) -> str:
    scope = element.get("scope").lower()
    if scope.startswith(("col", "row")):
        return "columnheader" if scope.startswith("col") else "rowheader"
    siblings = element.parent.elements if element.parent is not None else []
    return "rowheader" if any(one.tag == "td" for one in siblings) else "columnheader"


def name_of(element: MarkupElement, markup: Markup) -> str:
    """Return the accessible name on one line; empty without one."""
    referred = (markup.by_id(one) for one in element.get("aria-labelledby").split())
    referring = " ".join(content_of(one) for one in referred if one is not None)
    role = role_of(element)
    if role == "paragraph":
        return ""
    by_content = content_of(element) if role in _NAMED_BY_CONTENT and element.tag != "input" else ""
    title = element.get("title") if element.tag != "img" or "alt" not in element.attributes else ""
    ways = (referring, element.get("aria-label"), _native(element, markup), by_content, title)
    hint = element.get("placeholder") if element.tag in ("input", "textarea") else ""
    return next((" ".join(way.split()) for way in (*ways, hint) if way.strip()), "")


def _native(element: MarkupElement, markup: Markup) -> str:
    """Return the name that HTML itself gives: labels, alternatives, values of buttons."""
    if element.tag in _FIELDS and (labels := label_of(element, markup)):
        return labels
    kind = element.get("type").strip().lower()
    if element.tag == "input" and kind in ("submit", "reset", "button"):
        return element.attributes.get("value", {"submit": "Submit", "reset": "Reset"}.get(kind, ""))
    if element.tag in ("img", "area") or (element.tag == "input" and kind == "image"):
        return element.get("alt")
    if element.tag == "table":
        return next((line_of(one) for one in element.elements if one.tag == "caption"), "")
    return element.get("label") if element.tag in ("option", "optgroup") else ""


def label_of(element: MarkupElement, markup: Markup) -> str:
    """Return the texts of the labels of a field, those for it and the one around it."""
    id_ = element.get("id")
    around = next((one for one in element.ancestors() if one.tag == "label" and "for" not in one.attributes), None)
    labels = [*markup.labels_for(id_), *([around] if around is not None else [])]
    return " ".join(filter(None, (one.get("aria-label") or content_of(one, element) for one in labels)))


def content_of(element: MarkupElement, labelled: MarkupElement | None = None) -> str:
    """Return the words inside an element on one line, with the alternatives of images and labels of what is in it.

    In a label for something else, `labelled`, a field stands for its value: "after 5 days".
    """
    is_cell = element.tag in ("td", "th")
    parts: list[str] = []
    left: list[MarkupElement | str] = list(reversed(element.children))
    while left:
        node = left.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node is labelled or _is_silent(node) or (is_cell and node.tag in _PARTS):
            continue
        elif labelled is not None and node.tag == "input" and role_of(node) in ("textbox", "searchbox", "spinbutton"):
            parts.append("" if node.get("type").strip().lower() == "password" else node.get("value"))
        elif said := node.get("aria-label") or (node.get("alt") if node.tag == "img" else ""):
            parts.append(said)
        elif node.tag == "svg":
            parts.extend(raw_text(one) for one in node.elements if one.tag == "title")
        elif node.tag not in ("select", "textarea"):
            edge = [" "] if node.is_apart or node.tag == "br" else []
            left.extend(edge)
            left.extend(reversed(node.children))
            parts.extend(edge)
    return " ".join("".join(parts).split())


def _is_silent(element: MarkupElement) -> bool:
    return not element.is_visible or element.get("aria-hidden").lower() == "true"

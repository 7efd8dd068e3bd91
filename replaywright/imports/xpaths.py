"""XPath and CSS as recorders write them: one as the other, and what a selector says about its element."""

import re
from typing import Final

from replaywright.domain.common.text import css_attribute

_SEGMENT: Final = re.compile(
    r"""(?P<tag>\*|[A-Za-z][\w-]*)
    (?:\[(?P<index>[1-9]\d{0,4})\])?
    (?:\[@(?P<attribute>[A-Za-z_][\w-]*)=(?P<quote>["'])(?P<value>[^"']*)(?P=quote)\])?
    (?:\[(?P<after>[1-9]\d{0,4})\])?""",
    re.VERBOSE,
)
_TEXT_NODE: Final = re.compile(r"/text\(\)(?:\[\d+\])?$", re.IGNORECASE)
_POSITIONAL: Final = re.compile(r":nth-|:first-|:last-|:only-")
_NOT_CSS: Final = re.compile(
    r":(?:has-text|text|text-is|text-matches|visible|nth-match|light|left-of|right-of|near)\b|>>"
)
_INPUT_ROLES: Final = {
    "": "textbox",
    "text": "textbox",
    "email": "textbox",
    "tel": "textbox",
    "url": "textbox",
    "search": "searchbox",
    "checkbox": "checkbox",
    "radio": "radio",
    "number": "spinbutton",
    "range": "slider",
    "button": "button",
    "submit": "button",
    "reset": "button",
    "image": "button",
}
_TAG_ROLES: Final = {
    "a": "link",
    "button": "button",
    "select": "combobox",
    "textarea": "textbox",
    "option": "option",
    "img": "img",
    "summary": "",
    **{f"h{level}": "heading" for level in range(1, 7)},
}


def css_of_xpath(xpath: str) -> str | None:
    """Convert a path of tags, positions and `=` comparisons to CSS; None for any other."""
    path = _TEXT_NODE.sub("", xpath.strip())
    path = path.removeprefix("xpath=")
    if path.startswith("//"):
        rest, anchored = path[2:], True
    elif path.startswith("/"):
        rest, anchored = path[1:], path.startswith("/html")
    else:
        rest, anchored = path, path.startswith("html")
    if not anchored or not rest:
        return None
    css = ""
    for number, segment in enumerate(_split(rest)):
        if not segment:  # `//` inside the path
            css += " "
            continue
        match = _SEGMENT.fullmatch(segment)
        if match is None or len(css) > 2_000:
            return None
        css += ("" if not number or css.endswith(" ") else " > ") + _step(match)
    return css.strip() or None


def _split(path: str) -> list[str]:
    """Split a path into segments; a slash in quotes belongs to its segment."""
    return re.findall(r"(?:[^/\"']|\"[^\"]*\"|'[^']*')+|(?<=/)(?=/)", path)


def _step(match: re.Match[str]) -> str:
    tag, index = match["tag"], match["index"] or match["after"]
    position = "" if index is None else f":nth-child({index})" if tag == "*" else f":nth-of-type({index})"
    if tag.lower() in {"html", "body"}:
        position = ""
    attribute = "" if match["attribute"] is None else css_attribute(match["attribute"], match["value"])
    name = "" if tag == "*" and (attribute or position) else tag
    return f"{name}{attribute}{position}"


def is_css(selector: str) -> bool:
    """Return True if a selector is standard CSS, as far as can be seen."""
    return bool(selector.strip()) and not _NOT_CSS.search(selector) and "{{" not in selector


def is_positional(css: str) -> bool:
    """Return True if a selector gives the element's position, not its identity."""
    if re.search(r"[#.\[]", _subject(css)):
        return False
    return bool(_POSITIONAL.search(css)) or re.fullmatch(r"[\w\s>*-]+", css) is not None


def _subject(css: str) -> str:
    """Return the last compound of a selector: what it says about the element itself."""
    plain = re.sub(r"\[[^\]]*\]|\([^)]*\)", lambda inside: "[" + "_" * (len(inside[0]) - 2) + "]", css)
    at = max((match.end() for match in re.finditer(r"[\s>+~]+", plain)), default=0)
    return css[at:]


def tag_of(css: str) -> str:
    """Return the tag that the selector's last part names; empty if it names none."""
    match = re.match(r"[A-Za-z][\w-]*", _subject(css))
    return match[0].lower() if match else ""


def role_of(tag: str, kind: str = "") -> str:
    """Return the implicit role of a tag (of an input: with this `type`); empty if it is not certain."""
    return _INPUT_ROLES.get(kind.lower(), "") if tag.lower() == "input" else _TAG_ROLES.get(tag.lower(), "")


def role_of_css(css: str) -> str:
    """Return the role that a selector's last part tells; of an `input` only if its type is in it."""
    tag, subject = tag_of(css), _subject(css)
    kind = re.search(r"\[type=[\"']?([a-z-]+)", subject)
    if tag == "input":
        return role_of(tag, kind[1]) if kind else ""
    return role_of(tag)


def looks_generated(text: str) -> bool:
    """Return True if a framework generated an id or name: the next build has another."""
    return bool(
        re.search(r"\d{3}|:\w*:|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}|^(?:ember|ext-|mui-|radix)", text)
    )

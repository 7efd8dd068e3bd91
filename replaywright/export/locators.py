"""Elements as Playwright's locators: of what was recorded, and of the queries that people write.

Playwright refuses to act where a locator matches more than one element, as a replay does. So the locator is the most
telling description that was the element's alone when it was recorded: role and name, else an attribute that was made to
identify, else its row or its container, and only where nothing else tells it apart, its place.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from replaywright.domain.common.templates import parameters_in
from replaywright.domain.common.text import css_attribute, normalise
from replaywright.domain.locating.identity import TEST_IDS, looks_generated
from replaywright.domain.page.targets import ROLES, ElementQuery, FrameStep, Target
from replaywright.export.code import PAGE, Call, Comment, Constant, Expression, Notes, Part, Regex, Text, call, text

_TEXT_LIMIT: Final = 80
"""Characters of a text that may say which element it is; a longer one is content."""
_PLACED: Final = re.compile(r":nth-|:first-|:last-|:only-")
_SELECTOR: Final = re.compile(r"i?frame\b|[#.\[]")
"""Beginning of a frame's selector, which no name or title has."""
_CONTAINER: Final = re.compile(r'(?P<role>[a-z]+)(?: "(?P<name>.*)")?', re.DOTALL)
_GLYPHS: Final = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")
"""Icons of fonts: no name that anybody would write."""
_FORM: Final = re.compile(r"\b(?:0000|00[./:-] ?00)\b")
"""Form of a date or time in a placeholder, where browsers show the moment itself."""
_EXACTLY: Final = Constant(value=True)


@dataclass(frozen=True)
class Found:
    """A locator, what has to be said of it, and whether it leaves out elements that are not to be seen."""

    locator: Expression
    comment: Comment | None = None
    only_visible: bool = False


def in_frames(frames: Sequence[FrameStep]) -> tuple[Expression, Comment | None]:
    """Return the page, or the frame at the end of this path."""
    where: Expression = PAGE
    by_place = False
    for frame in frames:
        if frame.name:
            css = ", ".join(f"iframe{css_attribute(key, frame.name)}" for key in ("name", "id"))
            where = call(where, "frame_locator", text(css))
        elif frame.title:
            where = call(where, "frame_locator", text(f"iframe{css_attribute('title', frame.title)}"))
        else:
            where = call(call(where, "frame_locator", text("iframe")), "nth", Constant(frame.index))
            by_place = True
    return where, Comment("By its place among the frames: it has neither name nor title.") if by_place else None


def in_named_frames(path: Sequence[str]) -> Expression:
    """Return the frame that a query names by names, titles, parts of addresses or selectors."""
    where: Expression = PAGE
    for part in path:
        where = call(where, "frame_locator", text(_css_of_frame(part)))
    return where


def _css_of_frame(part: str) -> str:
    if _SELECTOR.match(part):
        return part
    keys = ["name", "id", "title"]
    css = [f"iframe{css_attribute(key, part)}" for key in keys]
    if "/" in part or "." in part:
        css.append("iframe" + css_attribute("src", part).replace("=", "*=", 1))
    return ", ".join(css)


def is_placed(css: str) -> bool:
    """Return True if a selector counts elements: it gives a position, not an identity."""
    return _PLACED.search(css) is not None


# ------------------------------------------------------------------------------------ what was recorded


def of_target(target: Target, named: frozenset[str]) -> Found | None:
    """Return the locator of a recorded element; None if nothing says which one it is.

    `named` are the parameters that say which element is meant: they must be in the locator if the recording has them.
    """
    where, said = in_frames(target.frame)
    target = _without_forms(target)
    found = _by_itself(where, target, named) or _in_its_surroundings(where, target, named) or _by_place(where, target)
    if found is None or said is None or found.comment is not None:
        return found
    return Found(found.locator, said, found.only_visible)


def _without_forms(target: Target) -> Target:
    """Drop a placeholder that is told by the form of its date or time, and the name if that is it."""
    placeholder = target.attributes.get("placeholder", "")
    if not _FORM.search(placeholder):
        return target
    attributes = {key: value for key, value in target.attributes.items() if key != "placeholder"}
    return target.model_copy(
        update={"attributes": attributes, "name": "" if target.name == placeholder else target.name}
    )


def _by_itself(  # noqa: C901, PLR0911 - one after the other
    where: Expression, target: Target, named: frozenset[str]
) -> Found | None:
    """Locate it by its name or identifier, if that was unique."""
    wanted = named & _parameters_of_row(target)
    role_name = _role_and_name(where, target)
    if role_name is not None and target.namesakes <= 1 and wanted <= parameters_in(target.name):
        return Found(role_name, only_visible=True)
    if wanted:
        return None
    attributes = target.attributes
    alone = target.namesakes <= 1
    for key in TEST_IDS:
        value = attributes.get(key, "")
        if value and (alone or value in target.css) and (key == "data-testid" or not parameters_in(value)):
            own = call(where, "get_by_test_id", text(value)) if key == "data-testid" else _css(where, key, value)
            return Found(own)
    # A label that only stands beside the element is none that the browser knows: then the element has a name as well.
    if alone and target.label and normalise(target.label) == normalise(target.name):
        return Found(call(where, "get_by_label", text(target.label), exact=_EXACTLY))
    if alone and (placeholder := attributes.get("placeholder")):
        return Found(call(where, "get_by_placeholder", text(placeholder), exact=_EXACTLY))
    for key, method in (("title", "get_by_title"), ("alt", "get_by_alt_text")):
        if alone and (value := attributes.get(key, "")):
            return Found(call(where, method, text(value), exact=_EXACTLY))
    for key in ("id", "name"):
        value = attributes.get(key, "")
        is_its_own = key == "id" or ((alone or value in target.css) and target.role != "radio")
        if value and is_its_own and not looks_generated(value) and not parameters_in(value):
            return Found(_css(where, key, value))
    words = target.text.strip()
    if alone and words and len(words) <= _TEXT_LIMIT and not target.name and target.role not in ROLES:
        return Found(call(where, "get_by_text", text(words), exact=_EXACTLY))
    if target.css and not is_placed(target.css) and not parameters_in(target.css):
        return Found(_of_css(where, target.css))
    return None


def _in_its_surroundings(where: Expression, target: Target, named: frozenset[str]) -> Found | None:
    """Role and name inside its row, or else inside the form, dialog or list that it stands in."""
    own = normalise(target.name or target.text)
    cells = [cell for cell in target.row if cell.strip() and normalise(cell) != own and len(cell) <= _TEXT_LIMIT]
    telling = [cell for cell in cells if parameters_in(cell) & named] or [cell for cell in cells if parameters_in(cell)]
    if cells:
        role = "listitem" if _stands_in(target.xpath, "li") else "row"
        rows: Expression = call(where, "get_by_role", text(role))
        row = reduce(lambda so_far, cell: call(so_far, "filter", has_text=text(cell)), telling or cells[:1], rows)
        inside = _role_and_name(row, target) or (_within_row(row, target))
        if inside is not None:
            return Found(inside, only_visible=True)
    role_name = _container(where, target)
    return None if role_name is None else Found(role_name, only_visible=True)


def _within_row(row: Expression, target: Target) -> Expression | None:
    if target.role not in ROLES:
        return call(row, "locator", text(target.tag)) if target.tag else None
    return call(row, "get_by_role", text(target.role))


def _container(where: Expression, target: Target) -> Expression | None:
    match = _CONTAINER.fullmatch(target.container)
    if match is None or not match["name"] or match["role"] not in ROLES:
        return None
    outer = call(where, "get_by_role", text(match["role"]), name=text(match["name"]), exact=_EXACTLY)
    return _role_and_name(outer, target)


def _by_place(where: Expression, target: Target) -> Found | None:
    """Locate it by its position, which another element may have tomorrow."""
    said = Comment("By its place on the page: nothing else told it from its like.")
    if target.css and not parameters_in(target.css):
        return Found(_of_css(where, target.css), said)
    if target.xpath and "#shadow" not in target.xpath:
        return Found(call(where, "locator", text(f"xpath={target.xpath}")), said)
    return None


def _role_and_name(where: Expression, target: Target) -> Expression | None:
    """Locate it by role and accessible name; None if it has none, or browsers disagree on it."""
    name = " ".join(target.name.split())
    if target.role not in ROLES or not name or target.attributes.get("type") == "file":
        return None
    if target.tag == "summary":
        return call(call(where, "locator", text("summary")), "filter", has_text=text(name))
    plain = _GLYPHS.sub("\n", name)
    if plain != name:
        longest = max(plain.split("\n"), key=len).strip()
        return call(where, "get_by_role", text(target.role), name=text(longest)) if longest else None
    return call(where, "get_by_role", text(target.role), name=text(name), exact=_EXACTLY)


def _css(where: Expression, key: str, value: str) -> Expression:
    plain = key == "id" and re.fullmatch(r"[A-Za-z][\w-]*", value)
    return call(where, "locator", text(f"#{value}" if plain else css_attribute(key, value)))


def _of_css(where: Expression, css: str) -> Expression:
    """Locate it by a recorded selector; each shadow root on its path is a locator of its own."""
    return reduce(lambda so_far, part: call(so_far, "locator", text(part)), css.split(" >>> "), where)


def _stands_in(xpath: str, tag: str) -> bool:
    """Return True if this tag is the nearest row or list item around the element."""
    rows = re.findall(r"/(tr|li)(?=[\[/]|$)", xpath)
    return bool(rows) and rows[-1] == tag


def _parameters_of_row(target: Target) -> frozenset[str]:
    return frozenset().union(*map(parameters_in, (*target.row, target.name, *target.attributes.values())))


# --------------------------------------------------------------------------------------------- queries


def of_query(query: ElementQuery, where: Expression, seen: Target | None, notes: Notes, place: str) -> Found:
    """Return the locator of a query.

    Args:
        query: as written; its texts are templates.
        where: page or frame to look in.
        seen: the element that answered to it when it was recorded, for how its name is spelt; None if nobody knows.
        notes: gets what cannot be said.
        place: of the query in the task, for the notes.
    """
    if query.frame is not None:
        where = in_named_frames(query.frame)
    base = where if query.within is None else of_query(query.within, where, None, notes, f"{place}.within").locator
    parts = _parts(query, base, seen, notes, place)
    locator = reduce(lambda so_far, other: call(so_far, "and_", other), parts)
    if query.text is not None and query.role:
        locator = call(locator, "filter", has_text=text(query.text))
    if query.text_in:
        locator = call(locator, "filter", has_text=_one_of(query.text_in, whole=False))
    found = Found(locator, only_visible=bool(query.role))
    if query.nth is None:
        return found
    if query.nth < -1:
        notes.refusals.append(f"{place}.nth: a script counts from the end only to the last: write -1, or count from 1")
    index = Constant(query.nth - 1 if query.nth > 0 else -1)
    return Found(call(seen_only(found), "nth", index), only_visible=True)


def _parts(query: ElementQuery, base: Expression, seen: Target | None, notes: Notes, place: str) -> list[Expression]:
    """Conditions on the element, all required; at least one."""
    parts: list[Expression] = []
    role = query.role or ("" if seen is None or seen.role not in ROLES else seen.role)
    if role == "overlay":
        notes.warn(f"{place}.role", "overlay means whatever lies over the page; here only what is declared a dialog")
        role = "dialog"
    elif role and role not in ROLES:
        parts.append(call(base, "locator", text(css_attribute("role", role))))
        role = ""
    named = query.name is not None or query.name_contains is not None or query.name_in is not None
    if role and (query.role or named):
        parts.append(_of_role(query, base, role, seen))
    elif named:
        parts.append(_of_name(query, base))
        notes.warn(f"{place}.name", "a name without a role is looked for as a label or a text; add the role")
    if query.label is not None:
        parts.append(call(base, "get_by_label", text(query.label), exact=_EXACTLY))
    if query.placeholder is not None:
        parts.append(call(base, "get_by_placeholder", text(query.placeholder), exact=_EXACTLY))
    if query.test_id is not None:
        attributes = {} if seen is None else seen.attributes
        key = next((key for key in TEST_IDS if attributes.get(key) == query.test_id), "data-testid")
        by_id = call(base, "get_by_test_id", text(query.test_id))
        parts.append(by_id if key == "data-testid" else _css(base, key, query.test_id))
    if query.css is not None:
        parts.append(call(base, "locator", text(query.css)))
    if query.text is not None and not query.role:
        parts.append(call(base, "get_by_text", text(query.text)))
    if not parts and isinstance(base, Call):
        return [call(base, "locator", text("*"))]
    return parts


def _of_role(query: ElementQuery, base: Expression, role: str, seen: Target | None) -> Expression:
    if query.name is not None:
        # Compared without case and spacing in a replay; as it was spelt on the page here, if that is known.
        spelt = (
            " ".join(seen.name.split()) if seen is not None and normalise(seen.name) == normalise(query.name) else ""
        )
        return call(base, "get_by_role", text(role), name=text(spelt or query.name), exact=_EXACTLY)
    if query.name_contains is not None:
        return call(base, "get_by_role", text(role), name=text(query.name_contains))
    if query.name_in is not None:
        return call(base, "get_by_role", text(role), name=_one_of(query.name_in, whole=True))
    return call(base, "get_by_role", text(role))


def _of_name(query: ElementQuery, base: Expression) -> Expression:
    if query.name_in is not None:
        names: Text | Regex = _one_of(query.name_in, whole=True)
        return call(call(base, "get_by_label", names), "or_", call(base, "get_by_text", names))
    exact = _EXACTLY if query.name is not None else None
    name = text(query.name or query.name_contains or "")
    by_label = call(base, "get_by_label", name, exact=exact)
    return call(by_label, "or_", call(base, "get_by_text", name, exact=exact))


def _one_of(words: Sequence[str], *, whole: bool) -> Regex:
    begin, end = (r"^\s*(?:", r")\s*$") if whole else ("", "")
    parts: list[str | Text] = [begin] if begin else []
    for number, word in enumerate(words):
        parts += ["|", text(word)] if number else [text(word)]
    return Regex((*parts, end) if end else tuple(parts), ignore_case=True)


def seen_only(found: Found) -> Expression:
    """Leave hidden elements out; locators by role do so themselves."""
    return found.locator if found.only_visible else call(found.locator, "filter", visible=_EXACTLY)


def first(locator: Expression) -> Part:
    """Take the first match: for conditions on any of them."""
    return Part(locator, "first")

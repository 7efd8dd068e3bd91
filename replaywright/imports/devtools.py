"""Recordings of the Recorder panel of Chrome's DevTools, exported as JSON.

The format is the user flow of `@puppeteer/replay` (github.com/puppeteer/replay, `src/Schema.ts`): `title`, and `steps`
with a `type` each. A step on an element has `selectors`: alternatives, each a selector or a list of selectors, of which
the later ones are looked for inside the earlier ones; `aria/…`, `text/…`, `xpath/…` and `pierce/…` say their kind, the
others are CSS. `assertedEvents` tell which page a step led to. Texts are recorded when a field has changed, keys only
where they do more than write.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import Count, Exists, NotExists, Predicate
from replaywright.imports.data import found, items, mapping, number, string
from replaywright.imports.draft import TaskDraft, host_of
from replaywright.imports.elements import ImportedElement, aria_role, query_of, words_for
from replaywright.imports.imported import Imported, RecordingKind
from replaywright.imports.keys import key_name, modifier
from replaywright.imports.values import Typed
from replaywright.imports.xpaths import css_of_xpath, is_css, is_positional, role_of_css, tag_of

_ATTRIBUTE: Final = re.compile(r"\[\s*(name|role)\s*=\s*([\"'])(.{0,1000}?)\2\s*\]")
_TEST_ID: Final = re.compile(r"^\[data-(?:testid|test|test-id|qa|cy)=([\"']?)([^\"'\]]+)\1\]$")
_BUTTONS: Final = {"primary": "left", "auxiliary": "middle", "secondary": "right"}
_TICKED: Final = frozenset({"checkbox", "radio", "switch"})
_OFF: Final = frozenset({"", "0", "false", "off"})
"""Values of a `change` that clears a checkbox."""
_CLICKABLE: Final = {"button": "button", "a": "link", "summary": ""}
"""Tags of what is pressed although something inside it was hit, with their roles."""


def read_devtools(data: Mapping[str, Any], name: str) -> Imported:
    """Convert the recording to a task.

    Raises:
        InputInvalid: no step of it can be taken over.
    """
    reader = _Reader()
    for index, raw in enumerate(items(data.get("steps"))):
        reader.read(f"steps[{index}]", mapping(raw), found(raw))
    reader.told_places()
    return reader.draft.finish(name, goal=string(data.get("title")))


class _Reader:
    """Goes through the steps once; keys that are held down are its state."""

    def __init__(self) -> None:
        self.draft = TaskDraft(RecordingKind.DEVTOOLS)
        self._held: list[str] = []
        self._target = "main"
        self._positions = 0

    def read(self, where: str, step: Mapping[str, Any], otherwise: str) -> None:
        """Take over one step, or tell why not."""
        kind = string(step.get("type"))
        if not kind:
            self.draft.left_out(where, otherwise, "it has no type, so it is no step")
            return
        if kind not in {"navigate", "setViewport", "emulateNetworkConditions", "waitForExpression"}:
            self._switch(where, string(step.get("target")) or "main")
        self._act(where, kind, step)

    def _act(self, where: str, kind: str, step: Mapping[str, Any]) -> None:
        match kind:
            case "navigate":
                self._navigate(where, string(step.get("url")))
            case "click" | "doubleClick":
                self._click(where, kind, step)
            case "hover":
                self.draft.act(where, kind, "hover", _element(step), **_time(step))
            case "change":
                self._change(where, step)
            case "keyDown" | "keyUp":
                self._key(where, kind, string(step.get("key")))
            case "waitForElement":
                self._wait(where, step)
            case "close":
                self.draft.page(where, kind, "close_tab")
                self._target = "main"
            case _:
                self.draft.left_out(where, f"{kind} {string(step.get('name'))}".strip())
        if kind != "keyUp":
            self._asserted(step)

    def told_places(self) -> None:
        """Add one note for the offsets of all clicks: every click has them, and few matter."""
        if self._positions:
            advice = (
                "clicks go to the middle of their elements; write `position` where the place matters (maps, canvas)"
            )
            self.draft.left_out("steps", f"offsetX, offsetY of {self._positions} clicks", advice)

    def _switch(self, where: str, target: str) -> None:
        if target == self._target:
            return
        self._target = target
        if target == "main":
            self.draft.page(where, "target", "switch_tab", tab="first")
        elif host_of(target):
            self.draft.page(where, "target", "switch_tab", url_contains=target.partition("?")[0].partition("#")[0])
        else:
            self.draft.page(where, "target", "switch_tab", tab="latest")

    def _navigate(self, where: str, url: str) -> None:
        self.draft.goto(where, "navigate", url)
        self._target = "main"

    def _asserted(self, step: Mapping[str, Any]) -> None:
        for event in map(mapping, items(step.get("assertedEvents"))):
            if event.get("type") == "navigation":
                self.draft.reached(string(event.get("url")), expected=step.get("type") != "navigate")

    def _click(self, where: str, kind: str, step: Mapping[str, Any]) -> None:
        button = string(step.get("button")) or "primary"
        if button not in _BUTTONS:
            self.draft.left_out(where, kind, f"no step presses the mouse's {button!r} button")
            return
        if step.get("deviceType") not in (None, "mouse") or (number(step.get("duration")) or 0) > 500:
            self.draft.changed(where, kind, "recorded by touch or by holding; done as a plain click of the mouse")
        if "offsetX" in step or "offsetY" in step:
            self._positions += 1
        fields = _time(step) | ({"modifiers": tuple(dict.fromkeys(self._held))} if self._held else {})
        action = "click" if kind == "click" else "double_click"
        if _BUTTONS[button] != "left":
            fields["button"] = _BUTTONS[button]
        element = _element(step)
        if self.draft.act(where, kind, action, element, **fields):
            role = element.query.role if element.query else None
            if role in {"checkbox", "switch"}:
                self.draft.check(
                    where, kind, "a click turns it over; use check or uncheck where its state is to be certain"
                )

    def _change(self, where: str, step: Mapping[str, Any]) -> None:
        element, value = _element(step, takes_value=True), step.get("value")
        if not isinstance(value, str):
            self.draft.left_out(where, "change", f"it has no value, but {found(value)}")
            return
        text = string(value)
        if path := re.fullmatch(r"[A-Za-z]:\\fakepath\\(.+)", text):
            self.draft.upload(where, "change", element, [path[1]])
        elif element.query is not None and element.query.role in _TICKED:
            is_on = element.query.role == "radio" or text.lower() not in _OFF
            self.draft.tick(where, "change", element, on=is_on)
        elif element.is_list:
            self.draft.choose(where, "change", element, [Typed(text)])
        else:
            self.draft.enter(where, "change", "fill", element, Typed(text))

    def _key(self, where: str, kind: str, key: str) -> None:
        name, held = key_name(key), modifier(key)
        if kind == "keyUp":
            self._held = [one for one in self._held if one != held]
        elif held:
            self._held.append(held)
        elif name:
            self.draft.press(where, f"keyDown {key}", "+".join([*dict.fromkeys(self._held), name]), self.draft.focused)
        else:
            self.draft.left_out(where, f"keyDown {key}", "no step presses this key")

    def _wait(self, where: str, step: Mapping[str, Any]) -> None:
        element = _element(step)
        if element.query is None:
            self.draft.left_out(where, "waitForElement", f"its element cannot be described ({element.why})")
            return
        count, operator = number(step.get("count")), string(step.get("operator"))
        predicate: Predicate = Exists(exists=element.query)
        if count is not None or operator:
            limit = {">=": "at_least", "<=": "at_most"}.get(operator, "equals")
            wanted = 1 if count is None else int(min(max(count, 0), 100_000))
            predicate = Count.model_validate({"count": element.query, limit: wanted})
        if step.get("visible") is False:
            predicate = NotExists(not_exists=element.query)
        if step.get("properties") or step.get("attributes"):
            advice = "properties and attributes are not compared; add value_equals, checked or enabled"
            self.draft.changed(where, "waitForElement", advice)
        expect = [predicate.model_dump(mode="json", exclude_none=True)]
        self.draft.page(where, "waitForElement", "wait_for", expect=expect, **_time(step))


def _time(step: Mapping[str, Any]) -> dict[str, Any]:
    timeout = number(step.get("timeout"))
    return {} if timeout is None else {"timeout_ms": int(min(max(timeout, 100), 300_000))}


# ------------------------------------------------------------------------------------------------------ selectors


def _element(step: Mapping[str, Any], *, takes_value: bool = False) -> ImportedElement:
    """Return the element that the selectors lead to, by the one that says best what it is."""
    chains = [chain for raw in items(step.get("selectors")) if (chain := _chain(raw))]
    css = [chain[-1] for chain in chains if len(chain) == 1 and is_css(chain[-1]) and not _prefix(chain[-1])]
    hints = " ".join(selector for chain in chains for selector in chain if _prefix(selector) not in {"aria", "text"})
    query = next(_queries(chains, css, takes_value=takes_value), None)
    called = (query.name or query.label or query.text or "") if query is not None else ""
    role = (query.role or "") if query is not None else ""
    tags = {tag_of(selector) for selector in css}
    return ImportedElement(
        query=query,
        words=words_for(query, css[0] if css else ""),
        field=called,
        hints=hints[:2_000],
        by_place=query is not None and bool(query.css) and not query.name and is_positional(query.css or ""),
        is_list=role in {"combobox", "listbox"} or "select" in tags,
        identity="\n".join(selector for chain in chains for selector in chain),
        in_frame=bool(items(step.get("frame"))),
        why="its selectors are none that a query can have" if chains else "it has no selectors",
    )


def _chain(raw: Any) -> list[str]:
    """Return the selectors of one alternative, from the outside in."""
    parts = [string(raw)] if isinstance(raw, str) else [string(part) for part in items(raw)]
    return parts if parts and all(parts) else []


def _prefix(selector: str) -> str:
    match = re.match(r"(aria|text|xpath|pierce)/", selector)
    return match[1] if match else ""


def _queries(chains: Sequence[Sequence[str]], css: Sequence[str], *, takes_value: bool) -> Iterator[ElementQuery]:
    """Descriptions of the element, the most telling first: test id, name, CSS that says what it is, text, place."""
    tests = [match[2] for selector in css if (match := _TEST_ID.match(selector))]
    yield from (query for test in tests if (query := query_of(test_id=test)))
    texts = [chain[-1].removeprefix("text/") for chain in chains if _prefix(chain[-1]) == "text"]
    paths = [css_of_xpath(chain[-1].removeprefix("xpath/")) for chain in chains if _prefix(chain[-1]) == "xpath"]
    places = [*css, *filter(None, paths)]
    for chain in chains:
        if _prefix(chain[-1]) == "aria" and (query := _aria_query(chain, places, texts, takes_value=takes_value)):
            yield query
    telling = [selector for selector in css if not is_positional(selector)]
    yield from (query for selector in telling if (query := query_of(css=selector)))
    yield from (query for text in texts if (query := query_of(text=text)))
    yield from (query for selector in places if (query := query_of(css=selector)))


def _aria_query(
    chain: Sequence[str], places: Sequence[str], texts: Sequence[str], *, takes_value: bool
) -> ElementQuery | None:
    """Return the query for `aria/Name[role="…"]`; for a nameless part of a control, the control's own.

    A name alone is also that of what labels the element and of what stands in it. Without a role, the role is that of
    the tag that another selector ends with; else the name has to be that of the element at the recorded place.
    """
    parts = [_aria(selector) for selector in chain if _prefix(selector) == "aria"]
    role_here = next(filter(None, map(role_of_css, places)), "")
    place = next((one for one in places if not is_positional(one)), next(iter(places), ""))
    if len(parts) > 1 and not any(parts[-1]) and parts[-2][0]:
        tags = {word for one in places for word in re.findall(r"(?<![\w#.:-])[a-z]+(?![\w(-])", one)}
        if parts[-2][0] not in texts and not _CLICKABLE.keys() & tags:
            return None
        parts, place = parts[:-1], ""
        role_here = next((role for tag, role in _CLICKABLE.items() if tag in tags), "")
    name, role = parts[-1]
    if not name:
        return None
    within = None
    for outer_name, outer_role in parts[:-1]:
        if outer_name:
            within = query_of(name=outer_name, role=outer_role, within=within)
    if role or role_here:
        return query_of(name=name, role=role or role_here, within=within)
    return query_of(label=name, within=within) if takes_value else query_of(name=name, css=place, within=within)


def _aria(selector: str) -> tuple[str, str]:
    """Name and role."""
    body = selector.removeprefix("aria/")
    given = {match[1]: match[3] for match in _ATTRIBUTE.finditer(body)}
    name = " ".join(_ATTRIBUTE.sub("", body).split())
    return name or given.get("name", ""), aria_role(given.get("role", ""))

"""Histories of browser-use.

The format is what `AgentHistoryList.save_to_file` writes (github.com/browser-use/browser-use,
`browser_use/agent/views.py` and `browser_use/tools/views.py`): `history`, of which each item has `model_output.action`,
a list of `{name: parameters}`; `result`, one for each action; and `state` with `url`, `tabs` and `interacted_element`,
one for each action or null. Elements have tag (`node_name`, formerly `tag_name`), `attributes`, `x_path` (formerly
`xpath`) and in newer versions `ax_name`. The actions' names have changed with the versions; all are read.
`<secret>name</secret>` stands for sensitive data.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from replaywright.domain.common.text import css_attribute
from replaywright.domain.locating.identity import TEST_IDS
from replaywright.domain.page.targets import ElementQuery
from replaywright.imports.data import found, items, mapping, number, scalar, string
from replaywright.imports.draft import TaskDraft, host_of
from replaywright.imports.elements import ImportedElement, aria_role, query_of, words_for
from replaywright.imports.imported import Imported, RecordingKind
from replaywright.imports.keys import combination
from replaywright.imports.values import Typed
from replaywright.imports.xpaths import css_of_xpath, is_positional, looks_generated, role_of

_SECRET: Final = re.compile(r"<secret>\s{0,20}([^<>]{1,60}?)\s{0,20}</secret>")


@dataclass(frozen=True)
class _Moment:
    """One action with what surrounded it."""

    where: str
    name: str
    parameters: Mapping[str, Any]
    element: Mapping[str, Any]
    tabs: Sequence[Any]


def read_browser_use(data: Mapping[str, Any], name: str) -> Imported:
    """Convert the history to a task.

    Raises:
        InputInvalid: no action of it can be taken over.
    """
    draft = TaskDraft(RecordingKind.BROWSER_USE)
    start = final = ""
    for index, raw in enumerate(items(data.get("history"))):
        item = mapping(raw)
        state = mapping(item.get("state"))
        url = string(state.get("url"))
        if not draft.entries and not start and host_of(url):
            start = url
        final = url if host_of(url) else final
        _read_item(draft, f"history[{index}]", item, state)
    return draft.finish(name, start_url=start, final_url=final)


def _read_item(draft: TaskDraft, where: str, item: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    output = mapping(item.get("model_output"))
    if not output:
        draft.left_out(where, "model_output", "the model gave no action here")
        return
    results, elements = items(item.get("result")), items(state.get("interacted_element"))
    for number_, raw in enumerate(items(output.get("action"))):
        place = f"{where}.action[{number_}]"
        named = [key for key, value in mapping(raw).items() if value is not None and key != "interacted_element"]
        if len(named) != 1:
            draft.left_out(place, found(raw), "an action has exactly one name")
            continue
        result = mapping(results[number_]) if number_ < len(results) else {}
        element = mapping(elements[number_]) if number_ < len(elements) else {}
        name = string(named[0])
        if result.get("error"):
            draft.left_out(place, name, "it failed when it was recorded")
        elif number_ >= len(results) > 0:
            draft.left_out(place, name, "it was planned and not performed: the page had changed before")
        else:
            _act(draft, _Moment(place, name, mapping(mapping(raw)[named[0]]), element, items(state.get("tabs"))))


def _act(draft: TaskDraft, moment: _Moment) -> None:
    where, name, given = moment.where, moment.name, moment.parameters
    match name:
        case "navigate" | "go_to_url" | "open_tab":
            if given.get("new_tab") is True or name == "open_tab":
                draft.changed(where, name, "it opened a tab of its own; the task goes there in the current one")
            draft.goto(where, name, string(given.get("url")))
        case "go_back":
            draft.page(where, name, "go_back")
        case "click" | "click_element" | "click_element_by_index":
            if number(given.get("index")) is None and not moment.element:
                draft.left_out(where, name, "it clicked at coordinates, which another window has elsewhere")
            else:
                draft.act(where, name, "click", _element(moment))
        case "input" | "input_text" | "type":
            _input(draft, moment)
        case "select_dropdown" | "select_dropdown_option":
            draft.choose(where, name, _element(moment), [Typed(string(given.get("text")))])
        case "send_keys":
            _keys(draft, moment)
        case "upload_file":
            draft.upload(where, name, _element(moment), [string(given.get("path"))])
        case "switch" | "switch_tab":
            _switch(draft, moment)
        case "close" | "close_tab":
            draft.page(where, name, "close_tab")
        case _:
            draft.left_out(where, name)


def _input(draft: TaskDraft, moment: _Moment) -> None:
    text = string(moment.parameters.get("text"))
    element = _element(moment)
    if moment.parameters.get("clear") is False:
        draft.changed(moment.where, moment.name, "it was added to what the field held; the task replaces that")
    typed = Typed(text, secret=bool(_SECRET.search(text)), marks=_SECRET)
    if element.is_list:
        draft.choose(moment.where, moment.name, element, [typed])
    else:
        draft.enter(moment.where, moment.name, "fill", element, typed)


def _keys(draft: TaskDraft, moment: _Moment) -> None:
    text = string(moment.parameters.get("keys"))
    if keys := combination(text):
        draft.press(moment.where, moment.name, keys, draft.focused)
    else:
        draft.left_out(moment.where, moment.name, "no step presses these keys")


def _switch(draft: TaskDraft, moment: _Moment) -> None:
    wanted = scalar(moment.parameters.get("tab_id")) or scalar(moment.parameters.get("page_id"))
    for tab in map(mapping, moment.tabs):
        known = [scalar(tab.get(key)) for key in ("tab_id", "target_id", "page_id")]
        if (
            wanted
            and any(one == wanted or one.endswith(wanted) for one in known if one)
            and host_of(string(tab.get("url")))
        ):
            url = string(tab["url"]).partition("?")[0].partition("#")[0]
            draft.page(moment.where, moment.name, "switch_tab", url_contains=url)
            return
    draft.check(moment.where, moment.name, "the history does not say which tab; the task takes the latest")
    draft.page(moment.where, moment.name, "switch_tab", tab="latest")


# ------------------------------------------------------------------------------------------------------ elements


def _element(moment: _Moment) -> ImportedElement:
    raw = moment.element
    attributes = {string(key).lower(): scalar(value) for key, value in mapping(raw.get("attributes")).items()}
    tag = (string(raw.get("node_name")) or string(raw.get("tag_name"))).lower()
    kind = attributes.get("type", "")
    role = aria_role(attributes.get("role", "")) or role_of(tag, kind)
    if tag == "input" and attributes.get("list"):
        role = "combobox"
    name = string(raw.get("ax_name")).strip() or attributes.get("aria-label", "").strip()
    path = css_of_xpath(string(raw.get("x_path")) or string(raw.get("xpath"))) or ""
    query = _query(tag, role, name, attributes, path)
    telling = ("type", "id", "name", "autocomplete", "placeholder", "title")
    return ImportedElement(
        query=query,
        words=words_for(query, f"the {tag} element" if tag else ""),
        field=name or attributes.get("placeholder", "") or _stable(attributes.get("name", "")),
        hints=" ".join(filter(None, (attributes.get(key, "") for key in telling))),
        by_place=query is not None and bool(query.css) and not query.name and is_positional(query.css or ""),
        is_list=tag == "select" or role == "listbox",
        why="its attributes are none that a query can have" if raw else "the history has no element for it",
    )


def _stable(name: str) -> str:
    return "" if looks_generated(name) else name


def _query(tag: str, role: str, name: str, attributes: Mapping[str, str], path: str) -> ElementQuery | None:
    """Return the most telling description: test id, role and name, placeholder, stable id or name, the place."""
    test_id = next((attributes[key] for key in TEST_IDS if attributes.get(key)), "")
    identity = _stable(attributes.get("id", ""))
    form_name = _stable(attributes.get("name", ""))
    place = css_attribute("id", identity) if identity else path
    own = tag if re.fullmatch(r"[a-z][a-z0-9-]*", tag) else ""
    candidates: tuple[dict[str, Any], ...] = (
        {"test_id": test_id},
        {"name": name, "role": role} if name and role else {},
        {"label": name} if name and tag in {"input", "textarea", "select"} else {},
        {"placeholder": attributes.get("placeholder", ""), "role": role} if attributes.get("placeholder") else {},
        {"name": name, "css": place} if name and place else {},
        {"css": own + css_attribute("id", identity)} if identity else {},
        {"css": own + css_attribute("name", form_name)} if form_name else {},
        {"css": path},
    )
    return next((query for fields in candidates if (query := query_of(**fields)) is not None), None)

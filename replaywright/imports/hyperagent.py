"""Action caches of HyperAgent.

The format is `ActionCacheOutput` (github.com/hyperbrowserai/HyperAgent, `src/types/agent/types.ts`): `taskId`,
`createdAt`, `status`, and `steps` of `ActionCacheEntry`: `stepIndex`, `actionType`, `instruction`, `method`,
`arguments`, `actionParams`, `xpath`, `frameIndex`, `success`, `message`. Elements are known by an absolute XPath and by
the instruction alone. `<<name>>` in arguments stands for a variable.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Literal

from replaywright.imports.data import found, items, mapping, number, scalar, string
from replaywright.imports.draft import TaskDraft
from replaywright.imports.elements import ImportedElement, query_of, words_for
from replaywright.imports.imported import Imported, RecordingKind
from replaywright.imports.keys import combination
from replaywright.imports.values import Typed
from replaywright.imports.xpaths import css_of_xpath, is_positional, tag_of

_VARIABLE: Final = re.compile(r"<<\s{0,20}([^<>]{1,60}?)\s{0,20}>>")
_FIELD: Final = re.compile(
    r"\b(?:in(?:to|side)?|on|for|of|from|the)\s+(?:the\s+)?[\"'“]?([^\"'“”,.]{1,40}?)[\"'”]?\s+"
    r"(?:text\s*|input\s*|search\s*)?(?:field|input|box|textbox|area|dropdown|select|combobox|menu|list|picker)\b",
    re.IGNORECASE,
)
_ENTERS: Final[Mapping[str, Literal["fill", "type"]]] = {"fill": "fill", "type": "type"}
_PLAIN: Final = {
    "click": "click",
    "check": "check",
    "uncheck": "uncheck",
    "hover": "hover",
    "doubleClick": "double_click",
    "scrollToElement": "scroll",
}


def read_hyperagent(data: Mapping[str, Any], name: str) -> Imported:
    """Convert the cache to a task.

    Raises:
        InputInvalid: no step of it can be taken over.
    """
    draft = TaskDraft(RecordingKind.HYPERAGENT)
    for index, raw in enumerate(items(data.get("steps"))):
        _read(draft, f"steps[{index}]", mapping(raw), found(raw))
    if string(data.get("status")) not in {"", "completed"}:
        draft.check("status", string(data.get("status")), "the recorded task was not completed; see how far it came")
    return draft.finish(name)


def _read(draft: TaskDraft, where: str, entry: Mapping[str, Any], otherwise: str) -> None:
    kind = string(entry.get("actionType"))
    arguments = [scalar(argument) for argument in items(entry.get("arguments"))]
    if not kind:
        draft.left_out(where, otherwise, "it has no actionType, so it is no step")
    elif entry.get("success") is False and kind != "complete":
        draft.left_out(where, kind, "it failed when it was recorded")
    elif kind == "goToUrl":
        url = (arguments[0] if arguments else "") or string(mapping(entry.get("actionParams")).get("url"))
        draft.goto(where, kind, url)
    elif kind == "pageBack":
        draft.page(where, kind, "go_back")
    elif string(entry.get("method")):
        _act(draft, where, entry, string(entry.get("method")), arguments)
    else:
        draft.left_out(where, kind)


def _act(draft: TaskDraft, where: str, entry: Mapping[str, Any], method: str, arguments: list[str]) -> None:
    element = _element(entry, arguments)
    text = arguments[0] if arguments else ""
    typed = Typed(text, marks=_VARIABLE)
    if method in _PLAIN:
        draft.act(where, method, _PLAIN[method], element)
    elif method in _ENTERS:
        draft.enter(where, method, _ENTERS[method], element, typed)
    elif method == "selectOptionFromDropdown":
        draft.choose(where, method, element, [typed])
    elif method == "press" and (keys := combination(text)):
        draft.press(where, method, keys, element)
    else:
        draft.left_out(where, method)


def _element(entry: Mapping[str, Any], arguments: list[str]) -> ImportedElement:
    """Describe the element by its path and the instruction, without the value that it may quote."""
    instruction = string(entry.get("instruction"))
    for value in sorted(filter(None, arguments), key=len, reverse=True):
        instruction = instruction.replace(value, "…")
    xpath = string(entry.get("xpath"))
    css = css_of_xpath(xpath) or ""
    query = query_of(css=css)
    called = _FIELD.search(instruction)
    return ImportedElement(
        query=query,
        words=words_for(None, instruction) if instruction else words_for(query),
        field=called[1].strip() if called else "",
        hints=f"{instruction[:200]} {xpath[:400]}" if not called else xpath[:400],
        by_place=bool(css) and is_positional(css),
        is_list=tag_of(css) == "select",
        in_frame=bool(number(entry.get("frameIndex"))),
        why="its path is none that a query can have" if xpath else "the cache has no path of it",
    )

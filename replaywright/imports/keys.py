"""Names of keys in recordings, as a `press` step has them."""

import re
from typing import Final

_HELD: Final = ("Alt", "Control", "Meta", "Shift")
_MODIFIERS: Final = (
    {name: name for name in _HELD}
    | {f"{name}{side}": name for name in _HELD for side in ("Left", "Right")}
    | {"ControlOrMeta": "Control", "Ctrl": "Control", "Cmd": "Meta", "Command": "Meta", "Option": "Alt"}
)
_NAMED: Final = frozenset(
    {"Enter", "Tab", "Escape", "Backspace", "Delete", "Insert", "Home", "End", "PageUp", "PageDown", "ContextMenu"}
    | {"ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown", "Space"}
    | {f"F{number}" for number in range(1, 13)}
)
_CODES: Final = {
    "\r": "Enter",
    "\n": "Enter",
    "NumpadEnter": "Enter",
    "Return": "Enter",
    "Esc": "Escape",
    "Del": "Delete",
    "Up": "ArrowUp",
    "Down": "ArrowDown",
    "Left": "ArrowLeft",
    "Right": "ArrowRight",
    " ": "Space",
}


def modifier(key: str) -> str:
    """Return the modifier that a key is; empty for any other."""
    return _MODIFIERS.get(key, "")


def key_name(key: str) -> str:
    """Return the key's name in a task; empty for one that a task cannot press."""
    if found := _CODES.get(key):
        return found
    if match := re.fullmatch(r"(?:Digit|Numpad)(\d)|Key([A-Z])", key):
        return match[1] or match[2].lower()
    if key in _NAMED or modifier(key):
        return modifier(key) or key
    return key if len(key) == 1 and key.isprintable() else ""


def combination(keys: str) -> str:
    """Return a combination such as `Control+a`, with each key as a task names it; empty if one is not known."""
    parts = keys.split("+")
    if parts[-2:] == ["", ""]:  # the key is + itself
        parts[-2:] = ["+"]
    *held, key = parts
    names = [*(modifier(one) for one in held), key_name(key)]
    return "+".join(names) if all(names) else ""

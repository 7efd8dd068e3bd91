"""Keyboard input for CDP: key names to key codes, on the US layout."""

from collections.abc import Mapping, Sequence
from typing import Any

from replaywright.errors import ActionFailed

MODIFIERS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}
_MODIFIER_KEYS = {
    "Alt": ("AltLeft", 18),
    "Control": ("ControlLeft", 17),
    "Meta": ("MetaLeft", 91),
    "Shift": ("ShiftLeft", 16),
}
_ALIASES = {"Ctrl": "Control", "Cmd": "Meta", "Command": "Meta", "Option": "Alt", "Esc": "Escape", "Return": "Enter"}
_ALIASES |= {"Space": " ", "Del": "Delete", "Up": "ArrowUp", "Down": "ArrowDown"}
_ALIASES |= {"Left": "ArrowLeft", "Right": "ArrowRight"}
_PLAIN_KEYS = {"Tab": 9, "Escape": 27, "Backspace": 8, "Delete": 46, "Insert": 45, "Home": 36, "End": 35, "PageUp": 33}
_PLAIN_KEYS |= {"PageDown": 34, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "ContextMenu": 93}
_PLAIN_KEYS |= {f"F{number}": 111 + number for number in range(1, 13)}
_NAMED = {name: (name, number, "") for name, number in _PLAIN_KEYS.items()}
_NAMED |= {"Enter": ("Enter", 13, "\r"), " ": ("Space", 32, " ")}
"""Key → code, virtual key code, text."""
_PUNCTUATION = {
    ";:": ("Semicolon", 186),
    "=+": ("Equal", 187),
    ",<": ("Comma", 188),
    "-_": ("Minus", 189),
    ".>": ("Period", 190),
    "/?": ("Slash", 191),
    "`~": ("Backquote", 192),
    "[{": ("BracketLeft", 219),
    "\\|": ("Backslash", 220),
    "]}": ("BracketRight", 221),
    "'\"": ("Quote", 222),
}
_SHIFTED_DIGITS = ")!@#$%^&*("
_EDITING = {"a": "selectAll", "c": "copy", "x": "cut", "v": "paste", "z": "undo", "y": "redo"}
"""Editing commands of Control shortcuts: Chromium expects them from its embedder."""


def _character(key: str) -> tuple[str, int, bool] | None:
    """Return code, virtual key code and need of Shift of a printable ASCII character."""
    if key.isascii() and key.isalpha():
        return f"Key{key.upper()}", ord(key.upper()), key.isupper()
    if key.isascii() and key.isdigit():
        return f"Digit{key}", ord(key), False
    if key in _SHIFTED_DIGITS:
        digit = _SHIFTED_DIGITS.index(key)
        return f"Digit{digit}", ord("0") + digit, True
    for pair, (code, number) in _PUNCTUATION.items():
        if key in pair:
            return code, number, pair.index(key) == 1
    return None


def can_type(character: str) -> bool:
    """Return whether the keyboard has a key for `character`; others are inserted as text."""
    return len(character) == 1 and (character in " \n\t" or _character(character) is not None)


def parse(keys: str) -> tuple[tuple[str, ...], str]:
    """Return modifiers and key of a combination such as `Control+Shift+A`.

    Raises:
        ActionFailed: `unknown_key`.
    """
    parts = keys.split("+")
    if parts[-2:] == ["", ""]:  # the key is + itself
        parts[-2:] = ["+"]
    names = [_ALIASES.get(part, part) for part in parts]
    *modifiers, key = names
    known = key in _NAMED or key in MODIFIERS or (len(key) == 1 and key.isprintable())
    if not known or any(modifier not in MODIFIERS for modifier in modifiers):
        examples = "a character, or a name such as Enter, Tab, ArrowDown, F5, with Control+, Shift+, Alt+ or Meta+"
        raise ActionFailed("unknown_key", f"cannot press {keys!r}: expected {examples}", dispatched=False)
    return tuple(modifiers), key


def press(key: str, modifiers: tuple[str, ...] = ()) -> list[Mapping[str, Any]]:
    """Return the parameters of the `Input.dispatchKeyEvent` calls for a key with modifiers."""
    return [*hold(modifiers), *_stroke(key, mask(modifiers)), *let_go(modifiers)]


def mask(modifiers: Sequence[str]) -> int:
    """Return CDP's bit mask of held modifiers."""
    held = 0
    for name in modifiers:
        held |= MODIFIERS[name]
    return held


def hold(modifiers: Sequence[str]) -> list[Mapping[str, Any]]:
    """Press the modifier keys, in this order."""
    return [
        _event("rawKeyDown", name, *_MODIFIER_KEYS[name], mask(modifiers[: position + 1]))
        for position, name in enumerate(modifiers)
    ]


def let_go(modifiers: Sequence[str]) -> list[Mapping[str, Any]]:
    """Release them in the opposite order."""
    return [
        _event("keyUp", modifiers[position], *_MODIFIER_KEYS[modifiers[position]], mask(modifiers[:position]))
        for position in reversed(range(len(modifiers)))
    ]


def _stroke(key: str, held: int) -> list[Mapping[str, Any]]:
    key = {"\n": "Enter", "\t": "Tab"}.get(key, key)
    if key in MODIFIERS:
        code, number = _MODIFIER_KEYS[key]
        pressed = _event("rawKeyDown", key, code, number, held | MODIFIERS[key])
        return [pressed, _event("keyUp", key, code, number, held)]
    text = ""
    if key in _NAMED:
        code, number, text = _NAMED[key]
    elif found := _character(key):
        code, number, shifted = found
        if held and key.isalpha():  # `Control+A` means the key A, without Shift
            key = key.upper() if held & MODIFIERS["Shift"] else key.lower()
        elif shifted:
            held |= MODIFIERS["Shift"]
        text = key
    else:
        code, number, text = "", 0, key
    if held & ~MODIFIERS["Shift"]:  # a shortcut types nothing
        text = ""
    down: dict[str, Any] = dict(_event("keyDown" if text else "rawKeyDown", key, code, number, held))
    if text:
        down |= {"text": text, "unmodifiedText": text}
    if held == MODIFIERS["Control"] and key.lower() in _EDITING:
        down["commands"] = [_EDITING[key.lower()]]
    return [down, _event("keyUp", key, code, number, held)]


def _event(kind: str, key: str, code: str, number: int, held: int) -> Mapping[str, Any]:
    return {"type": kind, "key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": held}

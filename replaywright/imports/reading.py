"""The way in: which kind of recording a text is, and its reader."""

import re
from collections.abc import Mapping
from typing import Any, Final

from replaywright.domain.common.elsewhere import RECORDING_LIMIT
from replaywright.domain.common.text import shorten
from replaywright.errors import InputInvalid
from replaywright.imports.browser_use import read_browser_use
from replaywright.imports.codegen import drives_a_page, parse_python, read_codegen
from replaywright.imports.data import found, items, mapping, parse_json, string
from replaywright.imports.devtools import read_devtools
from replaywright.imports.hyperagent import read_hyperagent
from replaywright.imports.imported import KINDS_SAID, Imported, RecordingKind

MOST_OF_SCRIPT: Final = 1024 * 1024
"""Characters of a script at most."""
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_JAVASCRIPT: Final = re.compile(r"@playwright/test|require\(['\"](?:playwright|puppeteer)")
_CALLED_IN_JAVASCRIPT: Final = re.compile(r"await page\.[a-z]+[A-Z]\w*\(")


def read_recording(text: str, name: str, kind: str | None = None) -> Imported:
    """Convert a recording to a task called `name`, with notes on every difference.

    `kind` is one of `Kind`; without it the content tells. Every action of the recording is a step of the task or has a
    note. Values that were entered are parameters of the task, passwords are secrets and appear nowhere.

    Raises:
        InputInvalid: the name or kind is none, the text is no recording of a kind that can be read, it is too large,
            or there is no step in it.
    """
    check_name(name)
    wanted_kind = _kind_called(kind) if kind is not None else None
    if len(text) > RECORDING_LIMIT:
        raise InputInvalid(f"the recording has {len(text)} characters; {RECORDING_LIMIT} can be read")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise InputInvalid(f"the recording is empty; expected one of: {KINDS_SAID}")
    try:
        if wanted_kind is RecordingKind.CODEGEN or (wanted_kind is None and not text.lstrip().startswith(("{", "["))):
            return _read_script(text, name, sure=wanted_kind is not None)
        return _read_json(parse_json(text), name, wanted_kind)
    except RecursionError as exc:
        raise InputInvalid("the recording is nested too deeply to be read") from exc


def check_name(name: str) -> str:
    """Return `name` if a task can have it.

    Raises:
        InputInvalid: it cannot; names one that can.
    """
    if not _NAME.fullmatch(name):
        wanted = "lower case letters, digits and dashes, at most 63, beginning with a letter or digit"
        raise InputInvalid(f"{name!r} is no task's name: use {wanted}; {task_name(name)!r} for example")
    return name


def task_name(text: str) -> str:
    """Make a task's name of a title or file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-") or "imported"


def _kind_called(kind: str) -> RecordingKind:
    try:
        return RecordingKind(kind)
    except ValueError as exc:
        raise InputInvalid(f"{kind!r} is no kind of recording; expected one of: {KINDS_SAID}") from exc


def _read_script(text: str, name: str, *, sure: bool) -> Imported:
    if len(text) > MOST_OF_SCRIPT:
        raise InputInvalid(f"the script has {len(text)} characters; {MOST_OF_SCRIPT} can be read")
    called = (line for line in text.splitlines() if line.rstrip().endswith(";"))
    if _JAVASCRIPT.search(text) or any(map(_CALLED_IN_JAVASCRIPT.search, called)):
        raise InputInvalid(
            "the recording is a script in JavaScript; record it with `playwright codegen --target python`, or export it"
            f" from DevTools as JSON (expected one of: {KINDS_SAID})"
        )
    try:
        tree = parse_python(text)
    except InputInvalid as exc:
        if sure:
            raise
        first = shorten(" ".join(text.split()), 60)
        raise InputInvalid(
            f"found neither JSON nor Python, but {first!r} ({exc}); expected one of: {KINDS_SAID}"
        ) from exc
    if not drives_a_page(tree):
        raise InputInvalid(f"found Python in which no page is driven; expected one of: {KINDS_SAID}")
    return read_codegen(text, name)


def _read_json(data: Any, name: str, kind: RecordingKind | None) -> Imported:
    recording = _inner(data)
    actual = kind or _kind_of(recording)
    if actual is None or actual is RecordingKind.CODEGEN:
        raise InputInvalid(f"found {found(data)}; expected one of: {KINDS_SAID}")
    key = "history" if actual is RecordingKind.BROWSER_USE else "steps"
    if not isinstance(recording.get(key), list):
        raise InputInvalid(f"a {actual} recording has a list {key!r}; found {found(data)}")
    match actual:
        case RecordingKind.DEVTOOLS:
            return read_devtools(recording, name)
        case RecordingKind.HYPERAGENT:
            return read_hyperagent(recording, name)
        case _:
            return read_browser_use(recording, name)


def _inner(data: Any) -> Mapping[str, Any]:
    """Return the recording inside: the result of a HyperAgent task contains its cache."""
    outer = mapping(data)
    return mapping(outer.get("actionCache")) or outer


def _kind_of(recording: Mapping[str, Any]) -> RecordingKind | None:
    if isinstance(recording.get("history"), list):
        return RecordingKind.BROWSER_USE
    steps = [mapping(step) for step in items(recording.get("steps"))]
    if any(string(step.get("actionType")) for step in steps):
        return RecordingKind.HYPERAGENT
    if any(string(step.get("type")) for step in steps):
        return RecordingKind.DEVTOOLS
    return None

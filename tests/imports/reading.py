"""Recordings for the tests of this folder, and their steps in a form that is quickly compared."""

import json
from pathlib import Path
from typing import Any

from replaywright.imports import Imported, read_recording

RECORDINGS = Path(__file__).parent / "recordings"


def recorded(name: str) -> Imported:
    """A recording of this folder."""
    return read_recording((RECORDINGS / name).read_text("utf-8"), "imported")


def devtools(*steps: dict[str, Any]) -> Imported:
    """A recording of DevTools with these steps after a navigation."""
    first = {"type": "navigate", "url": "https://shop.example/"}
    return read_recording(json.dumps({"title": "Shop", "steps": [first, *steps]}), "shop")


def script(*lines: str) -> Imported:
    """A script of codegen with these lines after a navigation, which stands in line 4."""
    body = ["page.goto('https://shop.example/')", *lines]
    text = "import re\nfrom playwright.sync_api import Page, expect\ndef test_example(page: Page) -> None:\n"
    return read_recording(text + "".join(f"    {line}\n" for line in "\n".join(body).split("\n")), "shop")


def steps(imported: Imported) -> list[dict[str, Any]]:
    """The steps as data, without what goes without saying."""
    return [step.model_dump(mode="json", exclude_none=True, exclude_defaults=True) for step in imported.task.steps]


def brief(imported: Imported) -> list[str]:
    """Each step as `action field=value …`, its target as `(…)`."""
    return [_brief(step) for step in steps(imported)]


def _brief(step: dict[str, Any]) -> str:
    keys = ("url", "keys", "value", "values", "files", "tab", "url_contains", "to", "dialog")
    said = [step["action"], *(f"{key}={step[key]}" for key in keys if key in step)]
    if "target" in step:
        said.append("(" + ", ".join(f"{key} {value}" for key, value in sorted(step["target"].items())) + ")")
    return " ".join(said)


def told(imported: Imported, kind: str) -> list[tuple[str, str]]:
    """Where and what of the notes of this kind."""
    return [(note.where, note.what) for note in imported.notes if note.kind == kind]

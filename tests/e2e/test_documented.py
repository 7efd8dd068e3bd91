"""The tutorial and the examples, done as they are written: each command in its order, and what the pages tell of it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT
from tests.e2e.terminal import Terminal, Typed, normalised

pytestmark = pytest.mark.slow

TUTORIAL = ROOT / "docs" / "tutorial" / "first-task.md"
EXAMPLES = ROOT / "examples" / "README.md"
TOLD = {
    "--id learned": ("3 model calls", "0 hits"),
    "--id replayed": ("0 model calls", "9 hits"),
    "--id healed": ("9 heals", "0 model calls"),
    "--id sentence": ("learned the skill",),
    "--id recalled": ("replayed the skill", "0 model calls"),
    "skills run tea": ("0 model calls",),
}
"""What the tutorial says in sentences, by a part of the command."""


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    # Not pytest's own folder: its long path leaves no room for the path of a socket.
    with tempfile.TemporaryDirectory(prefix="rw-docs-", ignore_cleanup_errors=True) as folder:
        made = Terminal.in_clone(Path(folder))
        yield made
        made.close()


def assert_as_told(typed: Typed) -> None:
    """It ended as the page tells, and said what the page shows."""
    assert typed.status == typed.expected, f"{typed.command}\n{typed.said}"
    said = iter(normalised(line) for line in typed.said.splitlines())
    missing = [line for line in typed.transcript.splitlines() if normalised(line) not in said]
    assert missing == [], f"{typed.command}\n{typed.said}"


@pytest.mark.long
def test_the_tutorial_can_be_followed_as_it_is_written(terminal: Terminal) -> None:
    for typed in terminal.follow(TUTORIAL):
        assert_as_told(typed)
        told = [text for part, texts in TOLD.items() if part in typed.command for text in texts]
        assert [text for text in told if text not in typed.said] == [], typed.said

    assert terminal.sent() == ["Minutes", "Again", "Redesigned", "Tea", "Cake"]
    assert (terminal.folder / "tea.xml").is_file()


@pytest.mark.long
def test_every_example_can_be_run_as_their_readme_says(terminal: Terminal) -> None:
    terminal.type(".venv/bin/replaywright up")

    for typed in terminal.follow(EXAMPLES):
        assert_as_told(typed)

"""Predicates of the user's own, from distributions that are really there to be found."""

import sys
from pathlib import Path

import pytest

from replaywright.domain.page.observed import AssertionContext
from replaywright.domain.predicate.evaluation import evaluate
from replaywright.domain.predicate.predicates import Custom
from replaywright.errors import StackFailed
from replaywright.extensions import custom_predicates

MODULE = """
def is_short(context, elements, arguments):
    return len(context.title) < arguments["letters"]

not_a_function = 5
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, entries: str, name: str = "own-checks") -> None:
    """Lay a distribution's files where Python looks for them."""
    (folder / f"{name.replace('-', '_')}_module.py").write_text(MODULE)
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[replaywright.predicates]\n{entries}\n")
    if str(folder) not in sys.path:
        monkeypatch.syspath_prepend(str(folder))


def test_what_a_distribution_offers_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "is_short = own_checks_module:is_short")
    context = AssertionContext(url="https://mail.example/", title="Inbox")

    found = custom_predicates()

    assert evaluate(Custom(custom="is_short", arguments={"letters": 6}), context, found).passed
    assert not evaluate(Custom(custom="is_short", arguments={"letters": 5}), context, found).passed


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (
            "broken = own_checks_module:missing",
            r"'broken' \(own_checks_module:missing\) cannot be loaded",
        ),
        ("gone = no_such_module:x", "ModuleNotFoundError.*uninstall own-checks"),
        ("five = own_checks_module:not_a_function", "is no function"),
    ],
)
def test_what_cannot_be_loaded_is_said_when_the_worker_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: str, said: str
) -> None:
    install(tmp_path, monkeypatch, entries)

    with pytest.raises(StackFailed, match=said):
        custom_predicates()


def test_two_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "is_short = own_checks_module:is_short")
    install(tmp_path, monkeypatch, "is_short = more_checks_module:is_short", name="more-checks")

    with pytest.raises(StackFailed, match="two installed distributions offer a predicate 'is_short'"):
        custom_predicates()

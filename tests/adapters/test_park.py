"""An application of the park: its elements are found again after a reload, and a task goes on in its next version."""

import io

import pytest
from rich.console import Console

from bench.park import report
from bench.park.__main__ import measured, shown
from bench.park.apps import APPS
from bench.park.runs import evaluated

pytestmark = pytest.mark.slow

DATASETTE = [app for app in APPS if app.name == "datasette"]


@pytest.mark.long
async def test_every_element_of_an_application_that_nobody_here_wrote_is_found_again_after_a_reload() -> None:
    console = Console(file=io.StringIO())

    figures = shown(console, await measured(DATASETTE, console))

    assert figures["elements"] == 135
    assert (figures["reload"], figures["wrong"]) == (1.0, 0)


async def test_a_task_that_was_learned_in_one_version_is_done_in_the_next_one_and_the_database_says_so() -> None:
    console = Console(file=io.StringIO())

    figures = report.shown(console, await evaluated(DATASETTE, "run-a-query-that-adds", console))

    shares = ("learned", "replayed", "new_values", "healed", "second_run")
    assert {name: figures[name] for name in shares} == dict.fromkeys(shares, 1.0)
    counts = ("silently_wrong", "replay_model_calls", "second_run_calls")
    assert {name: figures[name] for name in counts} == dict.fromkeys(counts, 0)

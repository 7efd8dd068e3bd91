"""An application of the park: its elements are found again after a reload, and a task goes on in its next version."""

import io

import pytest
from rich.console import Console

from bench.miniwob import End
from bench.park import report
from bench.park.__main__ import measured, shown
from bench.park.apps import APPS
from bench.park.runs import Kind, evaluated, lab
from bench.requests import reported
from bench.requests import shown as shown_requests

pytestmark = pytest.mark.slow

DATASETTE = [app for app in APPS if app.name == "datasette"]
ADDS = "run-a-query-that-adds"


@pytest.mark.long
async def test_every_element_of_an_application_that_nobody_here_wrote_is_found_again_after_a_reload() -> None:
    console = Console(file=io.StringIO())

    figures = shown(console, await measured(DATASETTE, console))

    assert figures["elements"] == 135
    assert (figures["reload"], figures["wrong"]) == (1.0, 0)


async def test_a_task_that_was_learned_in_one_version_is_done_in_the_next_one_and_the_database_says_so() -> None:
    [app] = DATASETTE
    [job] = [job for job in app.jobs if job.name == ADDS]
    async with lab() as here, app.site() as site:
        learned = await here.run(app, site, job, app.editions[0], Kind.LEARN)
        replayed = await here.run(app, site, job, app.editions[1], Kind.OTHER)

    assert [(run.end, run.why) for run in (learned, replayed)] == [(End.DONE, "")] * 2
    assert replayed.model_calls == 0


@pytest.mark.long
async def test_every_run_of_a_task_in_either_version_is_as_the_database_says() -> None:
    console = Console(file=io.StringIO())

    figures = report.shown(console, await evaluated(DATASETTE, ADDS, console))

    shares = ("learned", "replayed", "new_values", "healed", "second_run")
    assert {name: figures[name] for name in shares} == dict.fromkeys(shares, 1.0)
    counts = ("silently_wrong", "replay_model_calls", "second_run_calls")
    assert {name: figures[name] for name in counts} == dict.fromkeys(counts, 0)


@pytest.mark.long
async def test_a_task_of_an_application_is_done_by_its_requests_and_the_database_says_so() -> None:
    console = Console(file=io.StringIO())

    figures = shown_requests(console, await reported(DATASETTE, ADDS, 2, console))

    counts = {"tasks": 1, "learned": 1, "replays": 2, "stopped": 0, "wrong": 0, "duplicates": 0}
    assert {name: figures[name] for name in counts} == counts
    assert figures["by_requests"] in (
        1,
        2,
    )  # now and then a replay goes through the page, to see if the site has changed

"""The request tier under faults: nothing is sent twice, nothing is lost, nothing is said to be done that is not."""

import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import pytest

from replaywright.cli.people.updates import decide
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.resume import Wish, planned
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.requests.commands import WITHOUT_PAGE, is_sampled
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.task.tasks import Task, parse_task
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, led_to, serving

pytestmark = pytest.mark.slow

SAVE = 2
FORM = """<title>Notes</title><form method=post action={action}><input type=hidden name=csrf value={token}>
<label>Note <input name={name}></label><button>Save</button></form>"""


@dataclass
class Notes:
    """A site that keeps notes, with a token for each form; its next answer to a note is in a `manner` of its own."""

    url: str = ""
    stored: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    manner: str = ""
    named: str = "note"
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)

    def answer(self, asked: Asked) -> Answer:
        if asked.path == "/new":
            token = f"token-{next(self.numbers)}-{len(self.stored)}"
            self.tokens.add(token)
            return Answer(FORM.format(action=f"/{self.named}s", token=token, name=self.named))
        if asked.path == "/refused":
            return Answer("<h1>Not for you</h1>", 403)
        if asked.method != "POST":
            return Answer("<title>Notes</title><ul>" + "".join(f"<li>Stored {each}</li>" for each in self.stored))
        return self._kept({name: values[0] for name, values in parse_qs(asked.body).items()})

    def _kept(self, fields: dict[str, str]) -> Answer:
        manner, self.manner = self.manner, ""
        if manner == "refused" or fields["csrf"] not in self.tokens:
            return Answer("<h1>Forbidden</h1>", 403)
        self.tokens.remove(fields["csrf"])
        self.stored.append(fields[self.named])
        match manner:
            case "accepted, no answer":
                raise ConnectionAbortedError
            case "accepted, answered with 502":
                return Answer("<h1>Bad gateway</h1>", 502)
            case "accepted, the page after it refused":
                return led_to("/refused")
            case "accepted, another page after it":
                return led_to("/new")
        return led_to("/list")


@dataclass
class Desk:
    """A lab, a site, and a task that two runs have shown."""

    lab: Lab
    site: Notes
    task: Task

    def order(self, note: str) -> Order:
        """A run that goes by requests, if anything is known."""
        values = {"note": note}
        ids = (new_run_id(self.task, values) for _ in itertools.count())
        return Order(self.task, values, next(each for each in ids if not is_sampled(each)))

    async def opened(self, order: Order) -> int:
        """Count the browsers that the run has opened."""
        names = [
            event.activity_task_scheduled_event_attributes.activity_type.name
            async for event in self.lab.handle(order).fetch_history_events()
        ]
        return names.count("session.open")

    def assert_done(self, order: Order, ending: Ending) -> None:
        """Done, with the one right note, and the commit is named."""
        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
        assert self.site.stored.count(order.values["note"]) == 1
        assert [(line.step, line.state) for line in ending.result.commits] == [(SAVE, "done")]


def task_at(url: str) -> Task:
    steps: list[dict[str, Any]] = [
        {"action": "goto", "url": f"{url}/new"},
        {"action": "fill", "instruction": "the note", "target": {"label": "Note"}, "value": "{{note}}"},
        {
            "action": "click",
            "instruction": "save",
            "target": {"role": "button", "name": "Save"},
            "effect": "commit",
            "expect": [{"text_contains": "Stored {{note}}"}],
            "reconcile": {
                "steps": [{"action": "goto", "url": f"{url}/list"}],
                "expect": [{"text_contains": "Stored {{note}}"}],
                "site_lag_ms": 0,
                "in_flight_ms": 500,
            },
            "timeout_ms": 3000,
        },
    ]
    data = {"task": "note", "tier": "requests", "url": f"{url}/new", "parameters": {"note": {}}, "steps": steps}
    return parse_task({**data, "verify": [{"text_contains": "{{note}}"}]}, "test")


@pytest.fixture(scope="module")
async def desk(bare_lab: Lab) -> AsyncIterator[Desk]:
    site = Notes()
    with serving(site.answer) as site.url:
        desk = Desk(bare_lab, site, task_at(site.url))
        first = await bare_lab.run(desk.order("first one"))
        second = await bare_lab.run(desk.order("second"))
        assert (first.status, second.status) == ("done", "done"), (first, second)
        assert second.result.warnings == ()
        yield desk


async def test_a_replay_sends_one_note_with_its_own_values_without_a_browser(desk: Desk) -> None:
    order = desk.order("Grüße & more")
    ending = await desk.lab.run(order)

    desk.assert_done(order, ending)
    assert (ending.result.note, ending.result.warnings) == (WITHOUT_PAGE, ())
    assert await desk.opened(order) == 0
    assert await desk.lab.performed(order) == {0: 1, 1: 1, SAVE: 1}
    assert await desk.lab.audited(order) == ()


def others(*points: str) -> list[object]:
    """Points that belong to the long form."""
    return [pytest.param(point, marks=pytest.mark.long) for point in points]


@pytest.mark.parametrize("point", ["intended", *others("acted", "recorded")])
async def test_killed_before_the_ledger_lets_it_go_or_when_the_site_has_it_nobody_is_asked(
    desk: Desk, point: str
) -> None:
    await desk.lab.served()
    order = desk.order(f"killed {point}")
    await desk.lab.killed_at(point, SAVE, order)
    ending = await desk.lab.follow(order)

    desk.assert_done(order, ending)
    assert ending.result.totals.recoveries == 0
    assert await desk.lab.audited(order) == ()


@pytest.mark.long
async def test_killed_when_the_ledger_has_let_it_go_a_person_is_asked_and_it_is_sent_once(desk: Desk) -> None:
    await desk.lab.served()
    order = desk.order("killed dispatched")
    await desk.lab.killed_at("dispatched", SAVE, order)
    waiting = await desk.lab.follow(order)
    verdict = PersonVerdict(sequence=SAVE, verdict="not_done", who="the test", why="the site's store")
    await decide(desk.lab.place, order.run_id, verdict)
    ending = await desk.lab.follow(order)

    assert (waiting.status, waiting.result.totals.steps) == ("waiting", SAVE)
    desk.assert_done(order, ending)
    assert ending.result.totals.recoveries == 0
    assert await desk.lab.audited(order) == ()


@pytest.mark.parametrize(
    "manner",
    [
        "accepted, the page after it refused",
        *others("refused", "accepted, answered with 502", "accepted, no answer", "accepted, another page after it"),
    ],
)
async def test_whatever_the_site_answers_one_note_is_there(desk: Desk, manner: str) -> None:
    desk.site.manner = manner
    order = desk.order(manner)
    ending = await desk.lab.run(order)

    desk.assert_done(order, ending)
    assert desk.site.manner == ""
    assert await desk.opened(order) == 1
    [warning] = ending.result.warnings
    assert "is done by the page" in warning
    assert await desk.lab.audited(order) == ()


@pytest.mark.long
async def test_a_run_that_is_cancelled_when_its_request_has_left_says_that_it_is_in_doubt_and_resume_settles_it(
    desk: Desk,
) -> None:
    await desk.lab.served()
    order = desk.order("cancelled")
    await desk.lab.frozen_at(desk.lab.stage.worker, "acted", SAVE, order)
    await desk.lab.handle(order).cancel()
    await desk.lab.replace_worker()
    ending = await desk.lab.follow(order)
    found = await planned(desk.lab.place, Wish(order.run_id))
    again = await desk.lab.run(found.order)

    assert ending.status == "cancelled"
    assert [(line.step, line.state) for line in ending.result.commits] == [(SAVE, "in_doubt")]
    desk.assert_done(order, again)


@pytest.mark.long
async def test_a_run_that_ended_with_its_step_done_is_resumed_and_does_not_send_again(desk: Desk) -> None:
    order = desk.order("resumed")
    await desk.lab.frozen_at(desk.lab.stage.worker, "recorded", SAVE, order)
    await desk.lab.handle(order).terminate("by the test")
    await desk.lab.replace_worker()
    found = await planned(desk.lab.place, Wish(order.run_id))
    ending = await desk.lab.run(found.order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert desk.site.stored.count("resumed") == 1


@pytest.mark.long
async def test_a_site_that_has_changed_is_done_by_its_page_and_learned_anew(desk: Desk) -> None:
    desk.site.named = "text"
    notes = []
    for note in ("third", "fourth", "fifth"):
        order = desk.order(note)
        ending = await desk.lab.run(order)
        desk.assert_done(order, ending)
        notes.append(ending.result.note)

    assert notes == ["", "", WITHOUT_PAGE]

"""Other pages, modes and tasks than the demonstration's, and a model that misbehaves; the site is the judge."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.macs import start_memo
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.task.tasks import Task, bind_parameters, parse_task
from tests.adapters.browser_site import serving
from tests.e2e.lab import Lab, until

ELEMENTS = 9
"""That the demonstration's task has to find."""

LOG_IN: list[dict[str, Any]] = [
    {"action": "goto", "url": "{{base_url}}/login"},
    {"action": "fill", "instruction": "the user name field", "value": "demo"},
    {"action": "fill", "instruction": "the password field", "value": "{{secret:PASSWORD}}"},
    {
        "action": "click",
        "instruction": "the log in button",
        "effect": "idempotent",
        "expect": [{"url_contains": "/inbox"}],
    },
]

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
async def _as_it_was(lab: Lab) -> AsyncIterator[None]:
    yield
    await lab.stage.redesign("classic")
    await misbehave(lab, "null", times=0)


async def misbehave(lab: Lab, kind: str, *, times: int = 1, retry_after: float | None = None) -> None:
    """Let the model's stand-in go wrong in its next calls; `times` 0 calls that off."""
    body = {"kind": kind, "times": times, "retry_after": retry_after}
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.post(f"{lab.stage.stand_in}/__admin__/fail", json=body)
    assert answer.status_code == httpx.codes.OK, answer.text


def asked(lab: Lab) -> list[dict[str, Any]]:
    """Every call of the stand-in, from its own log."""
    log = lab.stage.home / "standin.jsonl"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


async def entries(lab: Lab) -> dict[str, list[ActionCacheEntry]]:
    """All versions of all that is known, by content key."""
    client = open_redis(lab.place.settings.redis_url or "")
    store = RedisStepStore(client)
    try:
        keys = [info.content_key for info in await store.entries(tenant=lab.place.settings.tenant)]
        return {key: await store.versions(tenant=lab.place.settings.tenant, content_key=key) for key in keys}
    finally:
        await client.aclose()


def order_of(lab: Lab, task: Task, values: dict[str, str], **fields: Any) -> Order:
    bound = bind_parameters(task, {"base_url": lab.stage.webmail, **values})
    return Order(task, bound, new_run_id(task, bound), **fields)


def assert_done(*endings: Ending) -> None:
    for ending in endings:
        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)


# ---------------------------------------------------------------------------------------------------- skins


@pytest.mark.long
@pytest.mark.parametrize("skin", ["frames", "shadow"])
async def test_a_form_in_a_frame_or_in_shadow_roots_is_learned_and_replayed_without_the_model(
    lab: Lab, skin: str
) -> None:
    await lab.stage.redesign(skin)
    here = lab.apart()
    learned, replayed = here.order(), here.order()

    first = await here.run(learned)
    calls = len(asked(lab))
    second = await here.run(replayed)

    assert_done(first, second)
    assert first.result.totals.learned == ELEMENTS
    assert second.result.totals.hits == ELEMENTS
    assert len(asked(lab)) == calls
    here.assert_one_right_mail(learned)
    here.assert_one_right_mail(replayed)


@pytest.mark.parametrize("skin", [pytest.param(skin, marks=pytest.mark.long) for skin in ("frames", "shadow")])
async def test_learned_on_a_plain_form_a_form_in_frames_or_shadow_roots_gets_the_right_mail_or_none(
    lab: Lab, skin: str
) -> None:
    here = lab.apart()
    assert_done(await here.run(here.order()))
    await lab.stage.redesign(skin)
    before = await lab.stage.state()

    for order in (here.order(mode=Mode.REPLAY), here.order(mode=Mode.AUTO)):
        ending = await here.run(order)
        if ending.status == "done":
            here.assert_one_right_mail(order)
        else:
            assert ending.status == "failed"
            assert ending.result.reason
            assert here.mails(order) == []
    after = await lab.stage.state()

    assert (after["discarded"], after["drafts"]) == (before["discarded"], before["drafts"])


# ---------------------------------------------------------------------------------------------------- modes


@pytest.mark.long
async def test_four_runs_at_the_same_time_on_one_worker_send_their_own_mails(lab: Lab) -> None:
    orders = [lab.order() for _ in range(4)]

    endings = await asyncio.gather(*(lab.run(order) for order in orders))

    assert_done(*endings)
    for order in orders:
        lab.assert_one_right_mail(order)


async def test_without_healing_a_replay_on_the_redesigned_site_fails_before_anything_is_clicked(lab: Lab) -> None:
    await lab.stage.redesign("modern")
    before, calls = await lab.stage.state(), len(asked(lab))
    order = lab.order(mode=Mode.REPLAY, heal=Heal.OFF)

    ending = await lab.run(order)

    steps = [line for line in await lab.trace(order) if line["kind"] == "step"]
    assert ending.status == "failed"
    assert ending.result.reason == "heal_off"
    assert steps[-1]["status"] == "missed"
    assert not any(line["title"].startswith("click") and line["status"] == "done" for line in steps)
    assert await lab.stage.state() == before
    assert len(asked(lab)) == calls
    assert lab.mails(order) == []


@pytest.mark.long
async def test_healing_that_is_only_proposed_finishes_the_run_and_leaves_the_old_versions_active(lab: Lab) -> None:
    here = lab.apart()
    assert_done(await here.run(here.order()))
    known = await entries(here)
    await lab.stage.redesign("modern")
    order = here.order(mode=Mode.REPLAY, heal=Heal.PROPOSE)

    ending = await here.run(order)

    assert_done(ending)
    here.assert_one_right_mail(order)
    assert ending.result.totals.heals > 0
    assert ending.result.held == ending.result.totals.heals
    now = await entries(here)
    held = [versions for versions in now.values() if any(version.hold for version in versions)]
    assert len(held) == ending.result.totals.heals
    for key, versions in known.items():
        active = {version.version for version in versions if version.status is EntryStatus.ACTIVE}
        assert {version.version for version in now[key] if version.status is EntryStatus.ACTIVE} == active
    assert all(version.status is EntryStatus.CANDIDATE for versions in held for version in versions if version.hold)


# ---------------------------------------------------------------------------------------------------- tasks


def opening(lab: Lab, instruction: str, *, lands_on: dict[str, Any]) -> Lab:
    """A task that clicks what its parameter names."""
    steps = [*LOG_IN, {"action": "click", "instruction": instruction, "effect": "idempotent", "expect": [lands_on]}]
    task = {
        "task": "open",
        "parameters": {"base_url": {"type": "text"}, "name": {"type": "text"}},
        "secrets": ["PASSWORD"],
        "steps": steps,
        "verify": [{"exists": {"role": "heading", "name_contains": "{{name}}"}}],
    }
    return lab.apart(parse_task(task, "the test"))


async def test_a_row_named_by_a_parameter_is_the_row_of_todays_name(lab: Lab) -> None:
    here = opening(lab, "the link {{name}}", lands_on={"url_contains": "/message/"})
    titles = await first_titles(lab)

    first = await here.run(order_of(here, here.task, {"name": titles[1]}))
    calls = len(asked(lab))
    second = await here.run(order_of(here, here.task, {"name": titles[3]}, mode=Mode.REPLAY))

    assert_done(first, second)
    assert second.result.totals.hits == len(LOG_IN)
    assert len(asked(lab)) == calls


async def first_titles(lab: Lab) -> list[str]:
    """What the links of the first messages are called, as the site itself lists them."""
    async with httpx.AsyncClient(trust_env=False, base_url=lab.stage.webmail, follow_redirects=True) as client:
        page = await client.post("/login", data={"user": "demo", "password": lab.stage.password})
    return [cell.partition('">')[2].partition("</a>")[0] for cell in page.text.split('<td class="subject">')[1:]]


@pytest.mark.long
async def test_a_run_of_thirty_steps_continues_as_new_in_the_same_browser(lab: Lab) -> None:
    fill = {"action": "fill", "instruction": "the subject field"}
    task = parse_task(
        {
            "task": "long",
            "parameters": {"base_url": {"type": "text"}},
            "secrets": ["PASSWORD"],
            "steps": [
                *LOG_IN,
                {"action": "click", "instruction": "the compose link", "effect": "idempotent"},
                *({**fill, "value": f"Version {number}"} for number in range(25)),
            ],
            "verify": [{"value_equals": "Version 24", "of": {"role": "textbox", "name": "Subject"}}],
        },
        "the test",
    )
    here = lab.apart(task)
    run = RunInput(task=task, values={"base_url": lab.stage.webmail}, tenant=here.tenant, steps_per_history=10)
    place = here.place
    run_id = new_run_id(task, run.values)
    handle = await place.client.start_workflow(
        "BrowserTask",
        run,
        id=run_id,
        memo=start_memo(place, "BrowserTask", run_id, run),
        task_queue=place.queue,
        result_type=RunResult,
    )

    result: RunResult = await handle.result()

    histories = []
    following: str | None = handle.first_execution_run_id
    while following:
        history = await place.client.get_workflow_handle(handle.id, run_id=following).fetch_history()
        histories.append([event.activity_task_scheduled_event_attributes for event in history.events])
        following = history.events[-1].workflow_execution_continued_as_new_event_attributes.new_execution_run_id
    types = [[scheduled.activity_type.name for scheduled in history] for history in histories]
    assert result.succeeded
    assert result.totals.steps == len(task.steps)
    assert len(histories) == 3
    assert [names.count("session.open") for names in types] == [1, 0, 0]
    assert [names.count("session.close") for names in types] == [0, 0, 1]
    queues = {
        scheduled.task_queue.name
        for history in histories
        for scheduled in history
        if scheduled.activity_type.name.startswith("browser.")
    }
    assert len(queues) == 1
    await until("no keeper is left", lambda: lab.sessions() == [])


# ---------------------------------------------------------------------------------------------- the model


def one_element(lab: Lab) -> Lab:
    """A task of which the model is asked one thing, and nothing learned."""
    steps = [
        LOG_IN[0],
        {**LOG_IN[1], "expect": [{"value_equals": "demo", "of": {"role": "textbox", "name": "User name"}}]},
    ]
    task = {"task": "one-element", "parameters": {"base_url": {"type": "text"}}, "steps": steps}
    return lab.apart(parse_task(task, "the test"))


@pytest.mark.parametrize(
    "kind",
    [
        "rate_limit",
        pytest.param("server_error", marks=pytest.mark.long),
        pytest.param("malformed", marks=pytest.mark.long),
        pytest.param("unknown_id", marks=pytest.mark.long),
    ],
)
async def test_a_model_that_fails_once_is_asked_again_and_the_run_is_done(lab: Lab, kind: str) -> None:
    here = one_element(lab)
    calls = len(asked(lab))
    await misbehave(lab, kind)

    ending = await here.run(order_of(here, here.task, {}))

    assert_done(ending)
    assert ending.result.totals.learned == 1
    assert len(asked(lab)) == calls + 2


@pytest.mark.long
async def test_a_model_that_asks_to_wait_is_not_asked_again_before(lab: Lab) -> None:
    here = one_element(lab)
    calls = len(asked(lab))
    await misbehave(lab, "rate_limit", retry_after=3)

    ending = await here.run(order_of(here, here.task, {}))

    assert_done(ending)
    refused, answered = asked(lab)[calls:]
    assert (refused["status"], answered["status"]) == (429, 200)
    assert 3 <= answered["time"] - refused["time"] < 6


@pytest.mark.long
async def test_a_model_that_does_not_answer_in_time_is_asked_again(lab: Lab) -> None:
    await lab.replace_worker(REPLAYWRIGHT_MODEL_TIMEOUT_S="2")
    here = one_element(lab)
    calls = len(asked(lab))
    await misbehave(lab, "timeout")

    ending = await here.run(order_of(here, here.task, {}))

    assert_done(ending)
    assert [call["status"] for call in asked(lab)[calls:]] == [0, 200]


async def test_a_drawer_over_the_button_is_closed_by_a_shipped_rule_and_the_order_is_placed_once(lab: Lab) -> None:
    buy = {"role": "button", "name": "Buy now"}
    with serving() as site:
        task = parse_task(
            {
                "task": "buy",
                "url": site.url("overrides.html#drawer"),
                "steps": [
                    {
                        "action": "click",
                        "instruction": "the buy button",
                        "target": buy,
                        "effect": "commit",
                        "evidence": "page",  # it sends nothing
                        "expect": [{"text_contains": "[bought]"}],
                    }
                ],
                "verify": [{"text_contains": "[drawer closed][bought]"}],
            },
            "test",
        )
        order = Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)
        ending = await lab.run(order)

    assert ending.result.succeeded, ending.result.message
    assert (ending.result.totals.overrides, ending.result.totals.steps) == (1, 2)
    lines = [line for line in await lab.trace(order) if line["kind"] == "step"]
    assert [(line["title"].split()[0], line["status"], line.get("override", "")) for line in lines] == [
        ("goto", "done", ""),
        ("click", "refused", ""),
        ("click", "done", "offer-close"),
        ("click", "done", ""),
    ]

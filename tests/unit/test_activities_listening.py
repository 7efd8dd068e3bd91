"""A press whose author declares no effect may send late: its run listens at its end, and the recording tells of it."""

import time

import pytest

from activities.proof.listening import ListenActivities
from replaywright.domain.proof.witness import LATER
from replaywright.domain.run.commit_requests import LearnedPress, Listened, ListenRequest
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import Evidence, UnsafeRequest
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.steps import Step
from replaywright.ports.browser import Pressed
from tests.unit.staged import HELP, POST, SESSION, Stage, request, run_activity, step

PRESS: Step = step("click", "how to write")
LIMIT_MS = 15_000


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def listened(
    stage: Stage,
    *requests: UnsafeRequest,
    ago_s: float = 60.0,
    after_s: float = 5.0,
    is_open: bool = True,
    wanted: Step = PRESS,
    followed_s: float | None = None,
) -> Listened:
    """What came of listening to a press that was learned `ago_s` ago and has sent `requests` `after_s` after its input.

    Its task waits 20 s for late requests. Another input came `followed_s` after it.
    """
    asked = request(wanted, proposed=HELP)
    outcome = await stage.perform(asked)
    given_at = time.time() - ago_s
    sent = tuple(each.model_copy(update={"sent_at": given_at + after_s}) for each in requests)
    stage.site.pressed = {asked.context.fingerprint: Pressed(Evidence(requests=sent), given_at, is_open)}
    if followed_s is not None:
        stage.site.pressed["next"] = Pressed(Evidence(), given_at + followed_s, is_open)
    press = LearnedPress(
        sequence=1,
        fingerprint=asked.context.fingerprint,
        content_key=outcome.content_key,
        is_undeclared=wanted.effect is None,
    )
    listening = ListenActivities(stage.attachments, stage.store, stage.secrets, limit_ms=LIMIT_MS)
    told: Listened = await run_activity(listening.listen, listen_to(press))
    return told


def listen_to(press: LearnedPress) -> ListenRequest:
    return ListenRequest(
        run_id="r1",
        lineage="l1",
        tenant="acme",
        session=SESSION,
        epoch=1,
        presses=(press,),
        late_ms=20_000,
        values={"to": "ada@example.com"},
    )


async def test_what_was_sent_late_is_told_and_recorded_with_its_delay_and_its_effect(stage: Stage) -> None:
    told = await listened(stage, POST)

    [late] = told.late
    [info] = await stage.recordings()
    newest = (await stage.store.versions(tenant="acme", content_key=info.content_key))[-1]
    assert (late.sequence, late.request) == (1, f"POST {POST.url}")
    assert late.delay_ms == pytest.approx(5000, abs=2)
    assert newest.effect is Effect.COMMIT
    assert [(sending.kind.path, sending.is_late) for sending in newest.sends] == [("/send", True)]


async def test_what_a_page_sends_much_later_is_not_of_the_press(stage: Stage) -> None:
    told = await listened(stage, POST, after_s=21)

    assert told.late == ()


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(POST.model_copy(update={"kind": "beacon"}), id="a beacon"),
        pytest.param(POST.model_copy(update={"kind": "following"}), id="of the next document"),
        pytest.param(POST.model_copy(update={"url": "https://counts.example/hit"}), id="to another site"),
    ],
)
async def test_what_a_page_counts_with_is_no_effect_of_the_press(stage: Stage, sent: UnsafeRequest) -> None:
    told = await listened(stage, sent)

    [info] = await stage.recordings()
    versions = await stage.store.versions(tenant="acme", content_key=info.content_key)
    assert told.late == ()
    assert [(version.effect, version.sends) for version in versions] == [(Effect.READ, ())]


async def test_a_page_is_listened_to_for_the_rest_of_its_time_and_only_while_it_is_there(stage: Stage) -> None:
    await listened(stage, ago_s=5)
    assert stage.site.idled == [pytest.approx(10, abs=1)]  # the limit of the worker, not the longer one of the task

    await listened(stage, ago_s=5, is_open=False)
    await listened(stage, ago_s=20)
    assert len(stage.site.idled) == 1


async def newest(stage: Stage) -> ActionCacheEntry:
    """The latest version of the only recording."""
    [info] = await stage.recordings()
    return (await stage.store.versions(tenant="acme", content_key=info.content_key))[-1]


async def test_what_a_declared_press_sends_late_is_recorded_and_not_told(stage: Stage) -> None:
    told = await listened(stage, POST, wanted=step("click", "how to write", effect="idempotent"))

    entry = await newest(stage)
    assert told.late == ()
    assert (entry.effect, [sending.is_late for sending in entry.sends]) == (Effect.READ, [True])


async def test_a_browser_that_was_given_no_input_has_sent_nothing(stage: Stage) -> None:
    asked = request(PRESS, proposed=HELP)
    outcome = await stage.perform(asked)
    stage.site.pressed = {}
    listening = ListenActivities(stage.attachments, stage.store, stage.secrets, limit_ms=LIMIT_MS)
    press = LearnedPress(sequence=1, fingerprint=asked.context.fingerprint, content_key=outcome.content_key)

    told: Listened = await run_activity(listening.listen, listen_to(press))

    assert told.late == ()


async def test_what_was_sent_after_another_input_may_be_of_that_one(stage: Stage) -> None:
    await listened(stage, POST, after_s=5, followed_s=4)

    assert [sending.via for sending in (await newest(stage)).sends] == [LATER]


async def test_an_address_is_recorded_without_the_run_s_values(stage: Stage) -> None:
    await listened(stage, POST.model_copy(update={"url": "https://mail.example/drafts/ada@example.com"}))

    assert [sending.kind.path for sending in (await newest(stage)).sends] == ["/drafts/{to}"]

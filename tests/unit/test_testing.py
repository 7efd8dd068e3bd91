"""The fake browser and keepers do what the ports say, so that tests on them mean something."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Box, ElementQuery, Target
from replaywright.domain.step.checkpoints import PageState
from replaywright.domain.step.outcomes import Status, StepOutcome, UnsafeRequest
from replaywright.domain.task.actions import Action, Cause, Effect
from replaywright.domain.task.steps import Step
from replaywright.errors import (
    ActionFailed,
    ArtifactsUnavailable,
    Fenced,
    KeeperUnavailable,
    ModelRateLimited,
    SessionLost,
    StoreUnavailable,
)
from replaywright.ports.browser import Work
from replaywright.ports.ledger import Intent, Recording
from replaywright.testing.browser import Dispatch, FakeBrowsers, FakeBrowserSession, FakeElement, FakePage, FakeSite
from replaywright.testing.keepers import ANYWHERE, FakeKeepers
from replaywright.testing.models import FakeProposer
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeArtifacts

COMPOSE = "https://mail.example/compose"
SENT = "https://mail.example/sent"
TO = Target(tag="input", role="textbox", name="To", xpath="/form/input", element_hash="h-to")
SEND = Target(
    tag="button",
    role="button",
    name="Send",
    attributes={"id": "send"},
    xpath="/form/button",
    neighbours=("To",),
    element_hash="h-send",
    box=Box(x=40, y=200, width=80, height=30),
)
POST = UnsafeRequest(method="POST", url="https://mail.example/send")
STEP: dict[str, Any] = {"tenant": "a", "lineage": "l", "fingerprint": "f"}
ADAPTER: TypeAdapter[Any] = TypeAdapter(Step)


def step(action: str, **fields: Any) -> Any:
    return ADAPTER.validate_python({"action": action, "instruction": "the element", **fields})


@pytest.fixture
def site() -> FakeSite:
    send = FakeElement(SEND, goes_to=SENT, shows="Message sent to {{to}}", sends=(POST,))
    compose = FakePage({"to": FakeElement(TO), "send": send}, title="Compose")
    return FakeSite({COMPOSE: compose, SENT: FakePage(title="Sent", extracts={"count": 3})})


@pytest.fixture
def session(site: FakeSite) -> FakeBrowserSession:
    return FakeBrowserSession(site, COMPOSE)


async def test_a_flow_runs_and_every_input_is_counted_once(site: FakeSite, session: FakeBrowserSession) -> None:
    expected = step("click", expect=[{"text_contains": "Message sent to ada"}, {"url_contains": "/sent"}])
    filled = await session.perform(Work(step("fill", value="ada"), text="ada", target=TO))
    again = await session.perform(Work(step("fill", value="ada"), text="ada", target=TO))

    sent = await session.perform(Work(expected, target=SEND, expect=expected.expect))

    assert (filled.acted, again.acted, sent.acted) == (True, False, True)
    assert (filled.lookup.tier, filled.lookup.healed) == ("xpath", False)
    assert [result.passed for result in sent.before] == [False, False]
    assert [result.passed for result in sent.after] == [True, True]
    assert sent.evidence.causes == (Cause.NEW_DOCUMENT,)
    assert sent.evidence.observed_effect is Effect.COMMIT
    assert site.dispatches == [Dispatch(Action.FILL, "to", "ada"), Dispatch(Action.CLICK, "send")]


async def test_twins_are_a_miss_with_a_snapshot_and_no_input(site: FakeSite, session: FakeBrowserSession) -> None:
    twin = SEND.model_copy(update={"xpath": "/header/button"})
    site.pages[COMPOSE].elements["send"].target = SEND.model_copy(update={"xpath": "/footer/button"})
    site.pages[COMPOSE].elements["twin"] = FakeElement(twin)

    report = await session.perform(Work(step("click"), target=SEND))

    assert (report.lookup.hit, report.lookup.reason, report.acted) == (False, "ambiguous", False)
    assert report.snapshot is not None
    assert [element.id for element in report.snapshot.elements] == ["to", "send", "twin"]
    assert site.dispatches == []


@pytest.mark.parametrize(("heal", "reason"), [(True, ""), (False, "heal_off")])
async def test_a_changed_element_heals_only_if_that_is_allowed(
    site: FakeSite, session: FakeBrowserSession, heal: bool, reason: str
) -> None:
    renamed = SEND.model_copy(update={"name": "Send message", "element_hash": "h2", "xpath": "/main/button"})
    site.pages[COMPOSE].elements["send"].target = renamed

    report = await session.perform(Work(step("click"), target=SEND, heal=heal))

    assert (report.lookup.hit, report.lookup.healed, report.lookup.reason) == (heal, heal, reason)


async def test_a_declared_element_must_match_once(session: FakeBrowserSession) -> None:
    found = await session.perform(Work(step("hover"), query=ElementQuery(role="button", name="send")))
    missed = await session.perform(Work(step("hover"), query=ElementQuery(role="link")))
    unknown = await session.perform(Work(step("hover")))

    assert (found.lookup.tier, found.target) == ("query", SEND)
    assert (missed.lookup.reason, unknown.lookup.reason) == ("not_found", "no_entry")


async def test_raising_before_dispatch_leaves_the_page_untouched(site: FakeSite, session: FakeBrowserSession) -> None:
    async def refuse(target: Target | None, _before: tuple[PredicateResult, ...]) -> None:
        assert target == SEND
        raise StoreUnavailable("away")

    with pytest.raises(StoreUnavailable):
        await session.perform(Work(step("click"), target=SEND), refuse)

    assert site.dispatches == []
    assert session.url == COMPOSE


async def test_failures_come_before_or_after_the_input_as_scripted(site: FakeSite, session: FakeBrowserSession) -> None:
    site.fail_before = [ActionFailed("timeout", "covered", dispatched=False), None]
    site.fail_after = [SessionLost("crashed")]

    with pytest.raises(ActionFailed):
        await session.perform(Work(step("click"), target=SEND))
    assert site.dispatches == []
    with pytest.raises(SessionLost):
        await session.perform(Work(step("click"), target=SEND))
    assert len(site.dispatches) == 1


async def test_pages_are_opened_read_and_left(session: FakeBrowserSession) -> None:
    await session.perform(Work(step("goto", url=SENT)))
    read = await session.perform(Work(step("extract", instruction="", fields={"count": {}, "none": {}})))
    await session.perform(Work(step("go_back")))

    assert read.extracted == {"count": 3, "none": None}
    assert session.url == COMPOSE
    assert (await session.check(step("wait_for", expect=[{"exists": {"name": "To"}}]).expect, 0))[0].passed


async def test_attaching_again_finds_the_page_as_it_was(site: FakeSite) -> None:
    browsers, keepers = FakeBrowsers(site), FakeKeepers()
    endpoint = await keepers.attach(await keepers.launch("s1", ANYWHERE), 1)
    first = await browsers.attach(endpoint)
    await first.restore(PageState(url=COMPOSE))
    await first.detach()

    assert (await browsers.attach(endpoint)).url == COMPOSE
    first.is_lost = True
    with pytest.raises(SessionLost):
        await browsers.attach(endpoint)


async def test_a_keeper_obeys_the_highest_epoch_until_it_is_gone() -> None:
    keepers = FakeKeepers()
    session = await keepers.launch("s1", ANYWHERE)
    await keepers.attach(session, 2)

    with pytest.raises(Fenced):
        await keepers.attach(session, 1)
    with pytest.raises(Fenced):
        await keepers.renew(session, 1)
    await keepers.close(session.model_copy(update={"epoch": 1}))
    await keepers.renew(session, 2)
    await keepers.close(session.model_copy(update={"epoch": 2}))
    with pytest.raises(KeeperUnavailable):
        await keepers.attach(session, 3)
    assert keepers.is_local(session)
    assert not FakeKeepers("elsewhere").is_local(session)


async def test_a_scripted_model_answers_in_order_and_remembers_the_questions() -> None:
    proposer = FakeProposer(["e1", ModelRateLimited("wait", retry_after_s=1)], otherwise=lambda asked: min(asked.ids))
    question: dict[str, Any] = {"instruction": "the send button", "action": "click", "page": "…"}

    first = await proposer.propose(**question, ids=frozenset({"e1"}))
    with pytest.raises(ModelRateLimited):
        await proposer.propose(**question, ids=frozenset())
    last = await proposer.propose(**question, ids=frozenset({"e8", "e9"}))

    assert (first.element_id, last.element_id, first.usage.calls) == ("e1", "e8", 1)
    assert len(proposer.asked) == 3


@pytest.fixture
def damaged() -> FakeStepStore:
    store = FakeStepStore()
    store.damage(**STEP)
    return store


async def test_nothing_is_done_on_a_damaged_record(damaged: FakeStepStore) -> None:
    recording = Recording(
        run_id="r",
        sequence=0,
        epoch=0,
        outcome=StepOutcome(status=Status.DONE, fingerprint="f"),
        tenant="a",
        lineage="l",
    )

    with pytest.raises(Fenced):
        await damaged.intend(Intent(**STEP, epoch=1, attempt="a"))
    with pytest.raises(Fenced):
        await damaged.record(recording)
    with pytest.raises(Fenced):
        await damaged.settle(**STEP, epoch=0, state="NOT_DONE", who="ada")

    assert (await damaged.fence(**STEP, epoch=2)).state == "DAMAGED"
    assert (await damaged.look_up(**STEP, run_id="r", content_key="")).state == "DAMAGED"


async def test_a_store_fails_as_scripted() -> None:
    store = FakeStepStore()
    store.fails["trace"] = [None, StoreUnavailable("away")]

    assert await store.trace(tenant="a", lineage="l") == []
    with pytest.raises(StoreUnavailable):
        await store.trace(tenant="a", lineage="l")
    assert await store.trace(tenant="a", lineage="l") == []


async def test_artifacts_that_are_away_say_so() -> None:
    artifacts = FakeArtifacts()
    artifacts.is_away = True

    with pytest.raises(ArtifactsUnavailable):
        await artifacts.put(b"x")
    with pytest.raises(ArtifactsUnavailable):
        await artifacts.get("0" * 64)


async def test_a_store_that_is_away_says_so() -> None:
    store = FakeStepStore()
    store.is_away = True

    with pytest.raises(StoreUnavailable):
        await store.trace(tenant="a", lineage="l")
    assert store.calls == ["trace"]

"""Sessions: attached once for each epoch, adopted when alive, opened anew when not, leased only after a proof."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.sessions import (
    CloseSession,
    HeldBack,
    HoldBack,
    OpenSession,
    RecoverSession,
    Recycling,
    SessionOpened,
    SessionRef,
)
from replaywright.errors import ActionFailed, Fenced, InputInvalid, KeeperUnavailable, SessionLost, StoreUnavailable
from replaywright.testing.keepers import ANYWHERE
from tests.unit.staged import COMPOSE, PASSWORD, SESSION, Stage, run_activity


@pytest.fixture
def stage() -> Stage:
    return Stage()


async def recovered(stage: Stage, epoch: int = 2, lost: SessionRef = SESSION) -> SessionOpened:
    request = RecoverSession(run_id="r1", tenant="acme", lost=lost, epoch=epoch, network=ANYWHERE)
    return await run_activity(stage.sessions.recover_session, request)


async def closed(stage: Stage, session: SessionRef = SESSION) -> None:
    await run_activity(stage.sessions.close_session, CloseSession(session=session))


async def test_what_left_a_browser_can_be_asked_for_after_its_end_unless_its_run_is_over() -> None:
    found = []
    for is_over in (False, True):
        stage = Stage()
        held = await stage.attachments.hold(SESSION, 1)
        await held.gate.arm("op", within_ms=1000, hold_safe=False)
        alive = await stage.keepers.left_behind(SESSION.session_id, "op", 1)
        await run_activity(stage.sessions.close_session, CloseSession(session=SESSION, is_over=is_over))
        found.append((alive.known, await stage.keepers.left_behind(SESSION.session_id, "op", 1)))

    assert [(alive, left.known, left.nothing_left) for alive, left in found] == [
        (False, True, True),
        (False, False, False),
    ]


# ------------------------------------------------------------------------------------------ attaching


async def test_a_session_is_attached_once_for_each_epoch(stage: Stage) -> None:
    first, second = await stage.attachments.hold(SESSION, 1), await stage.attachments.hold(SESSION, 1)

    assert first is second
    assert stage.keepers.attached == [("s1", 1)]


async def test_steps_that_ask_at_the_same_time_share_one_attachment(stage: Stage) -> None:
    held = await asyncio.gather(*(stage.attachments.hold(SESSION, 1) for _ in range(3)))

    assert held[0] is held[1] is held[2]
    assert stage.keepers.attached == [("s1", 1)]


async def test_a_new_epoch_detaches_the_old_and_forgets_what_was_fetched_ahead(stage: Stage) -> None:
    old = await stage.attachments.hold(SESSION, 1)

    new = await stage.attachments.hold(SESSION, 2)

    assert (new.epoch, new is old, new.prefetched) == (2, False, {})
    assert stage.browser.detached == 1
    assert stage.keepers.attached == [("s1", 1), ("s1", 2)]


async def test_an_old_epoch_is_refused_and_takes_nothing_from_the_new(stage: Stage) -> None:
    new = await stage.attachments.hold(SESSION, 2)

    with pytest.raises(Fenced):
        await stage.attachments.hold(SESSION, 1)
    await stage.attachments.drop("s1", 1)

    assert await stage.attachments.hold(SESSION, 2) is new
    assert stage.browser.detached == 0


async def test_a_session_of_another_host_is_not_attached(stage: Stage) -> None:
    with pytest.raises(SessionLost, match="elsewhere"):
        await stage.attachments.hold(SESSION.model_copy(update={"host": "elsewhere"}), 1)

    assert stage.keepers.attached == []


async def test_a_browser_that_cannot_be_attached_is_not_held(stage: Stage) -> None:
    stage.browser.is_lost = True
    with pytest.raises(SessionLost):
        await stage.attachments.hold(SESSION, 1)
    stage.browser.is_lost = False

    assert (await stage.attachments.hold(SESSION, 1)).browser is stage.browser


async def test_a_worker_that_leaves_lets_go_of_every_session_and_ends_none(stage: Stage) -> None:
    await stage.attachments.hold(SESSION, 1)

    await stage.attachments.drop_all()

    assert stage.browser.detached == 1
    assert stage.keepers.dead == set()


async def test_letting_go_of_a_browser_that_is_gone_is_no_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone() -> None:
        raise SessionLost("gone")

    await stage.attachments.hold(SESSION, 1)
    monkeypatch.setattr(stage.browser, "detach", gone)

    await stage.attachments.drop("s1")
    await stage.attachments.drop("s1")

    await stage.attachments.hold(SESSION, 1)
    assert stage.keepers.attached == [("s1", 1), ("s1", 1)]


# ----------------------------------------------------------------------------------- open, adopt, close


async def test_an_opened_session_belongs_to_this_worker_and_is_attached(stage: Stage) -> None:
    opened = await run_activity(
        stage.sessions.open_session, OpenSession(run_id="r1", lineage="l1", tenant="acme", network=ANYWHERE)
    )

    session = opened.session
    assert (session.queue, session.host_queue, session.host, session.epoch) == ("mine", "host-mine", "fake-host", 1)
    assert (opened.adopted, opened.url) == (False, "about:blank")
    assert stage.keepers.attached == [(session.session_id, 1)]


async def test_a_full_host_refuses_a_browser_in_a_way_that_the_run_can_tell(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.keepers.full = "all places are taken"
    stage.browser.is_lost = True
    refused: list[ApplicationError] = []

    for _ in range(2):
        with pytest.raises(ApplicationError) as opening:
            await run_activity(
                stage.sessions.open_session, OpenSession(run_id="r1", lineage="l1", tenant="acme", network=ANYWHERE)
            )
        refused.append(opening.value)
    with pytest.raises(ApplicationError) as recovering:
        await recovered(stage)
    refused.append(recovering.value)

    assert {(error.type, error.message) for error in refused} == {("NoPlace", "all places are taken")}
    assert caplog.text.count("runs wait for a browser: all places are taken") == 1
    assert stage.keepers.dead == {"s1"}


async def test_a_browser_that_comes_instead_of_another_takes_its_place(stage: Stage) -> None:
    stage.browser.is_lost = True
    await recovered(stage)
    stage.browser.is_lost = False
    request = OpenSession(run_id="r1", lineage="l1", tenant="acme", instead_of="s7", network=ANYWHERE)
    await run_activity(stage.sessions.open_session, request)

    assert [instead_of for _, instead_of in stage.keepers.launched] == ["s1", "s7"]


async def test_opening_again_starts_a_session_of_its_own(stage: Stage) -> None:
    request = OpenSession(run_id="r1", lineage="l1", tenant="acme", network=ANYWHERE)

    first = await run_activity(stage.sessions.open_session, request)
    second = await run_activity(stage.sessions.open_session, request)

    assert first.session.session_id != second.session.session_id


async def test_a_live_browser_is_adopted_with_its_page(stage: Stage) -> None:
    opened = await recovered(stage)

    assert (opened.adopted, opened.url) == (True, COMPOSE)
    assert (opened.session.session_id, opened.session.epoch, opened.session.queue) == ("s1", 2, "mine")
    assert stage.keepers.attached == [("s1", 2)]


async def test_a_browser_that_shows_nothing_any_more_is_kept_but_not_adopted(stage: Stage) -> None:
    stage.open("about:blank")

    opened = await recovered(stage)

    assert (opened.session.session_id, opened.adopted) == ("s1", False)
    assert stage.keepers.dead == set()


async def test_a_browser_whose_page_was_left_while_its_gate_is_armed_is_ended_and_its_departures_are_kept(
    stage: Stage,
) -> None:
    held = await stage.attachments.hold(SESSION, 1)
    await held.gate.arm("op", within_ms=1000, hold_safe=False)
    stage.open("about:blank")

    opened = await recovered(stage)
    left = await stage.keepers.left_behind(SESSION.session_id, "op", 1)

    assert opened.session.session_id != SESSION.session_id
    assert stage.keepers.dead == {SESSION.session_id}
    assert (left.known, left.nothing_left) == (True, True)


async def test_adopting_again_changes_nothing(stage: Stage) -> None:
    assert await recovered(stage) == await recovered(stage)
    assert stage.keepers.attached == [("s1", 2)]


async def test_a_dead_browser_is_replaced_by_an_empty_one_and_its_keeper_ended(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    stage.browser.is_lost = True

    with caplog.at_level(logging.WARNING):
        opened = await recovered(stage)

    assert (opened.adopted, opened.url, opened.session.epoch) == (False, "about:blank", 2)
    assert opened.session.session_id != "s1"
    assert stage.keepers.dead == {"s1"}
    assert "could not be adopted" in caplog.text


async def test_a_browser_on_another_host_is_left_alone_and_a_new_one_opened(stage: Stage) -> None:
    opened = await recovered(stage, lost=SESSION.model_copy(update={"host": "elsewhere"}))

    assert (opened.adopted, opened.session.host, opened.session.epoch) == (False, "fake-host", 2)
    assert stage.keepers.dead == set()


async def test_a_recovery_that_was_overtaken_does_not_end_the_newer_ones_browser(stage: Stage) -> None:
    await stage.keepers.attach(SESSION, 5)

    opened = await recovered(stage, epoch=2)

    assert not opened.adopted
    assert stage.keepers.dead == set()


async def test_a_closed_session_is_let_go_of_and_ended(stage: Stage) -> None:
    await stage.attachments.hold(SESSION, 1)

    await closed(stage)

    assert stage.browser.detached == 1
    assert stage.keepers.dead == {"s1"}


async def test_a_session_that_is_closed_for_another_leaves_a_line_in_the_trace(stage: Stage) -> None:
    told = Recycling(tenant="acme", lineage="l1", sequence=4, why="it is 122 min old")
    for kept in ("", "the page is not what it was"):
        request = CloseSession(session=SESSION, recycling=told.model_copy(update={"kept": kept}))
        await run_activity(stage.sessions.close_session, request)
    await closed(stage)

    lines = [{name: line[name] for name in ("kind", "sequence", "why", "kept")} for line in await stage.lines()]
    line = {"kind": "browser", "sequence": 4, "why": "it is 122 min old", "kept": ""}
    assert lines == [line, {**line, "kept": "the page is not what it was"}]


async def test_closing_what_is_gone_or_elsewhere_does_nothing(stage: Stage) -> None:
    await closed(stage)
    await closed(stage)
    await closed(stage, SESSION.model_copy(update={"session_id": "s2", "host": "elsewhere"}))

    assert stage.keepers.dead == {"s1"}


# --------------------------------------------------------------------------------------------- leases


class Proof:
    """What the lease task asks before each renewal; a test lets it through once at a time."""

    def __init__(self) -> None:
        self.error: StoreUnavailable | None = None
        self._asked = asyncio.Event()
        self._let_through = asyncio.Event()

    async def __call__(self) -> None:
        self._asked.set()
        await self._let_through.wait()
        self._let_through.clear()
        if self.error is not None:
            raise self.error

    @property
    def was_asked(self) -> bool:
        """Whether a round of renewals has begun."""
        return self._asked.is_set()

    async def one_round(self) -> None:
        """Return when one round of renewals is over: the next one begins."""
        async with asyncio.timeout(10):
            await self._asked.wait()
            self._asked.clear()
            self._let_through.set()
            await self._asked.wait()


@contextlib.asynccontextmanager
async def leasing(stage: Stage, proof: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    task = asyncio.create_task(stage.attachments.keep_leases(proof))
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch) -> Proof:
    monkeypatch.setattr("activities.session.attachments.RENEW_EVERY_S", 0)
    return Proof()


async def test_leases_are_renewed_after_a_proof(stage: Stage, proof: Proof) -> None:
    await stage.attachments.hold(SESSION, 1)

    async with leasing(stage, proof):
        before = list(stage.keepers.renewals)
        await proof.one_round()
        await proof.one_round()

    assert before == []
    assert stage.keepers.renewals == [("s1", 1), ("s1", 1)]


async def test_a_worker_that_is_cut_off_renews_nothing_until_it_is_back(
    stage: Stage, proof: Proof, caplog: pytest.LogCaptureFixture
) -> None:
    await stage.attachments.hold(SESSION, 1)
    proof.error = StoreUnavailable("away")

    with caplog.at_level(logging.WARNING):
        async with leasing(stage, proof):
            await proof.one_round()
            while_away = list(stage.keepers.renewals)
            proof.error = None
            await proof.one_round()

    assert (while_away, stage.keepers.renewals) == ([], [("s1", 1)])
    assert "leases are not renewed: away" in caplog.text


async def test_that_leases_are_not_renewed_is_told_once_and_then_so_often(
    stage: Stage, proof: Proof, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.attachments.hold(SESSION, 1)
    proof.error = StoreUnavailable("away")

    def told() -> int:
        return sum("are not renewed" in record.getMessage() for record in caplog.records)

    async with leasing(stage, proof):
        for _ in range(3):
            await proof.one_round()
        at_first = told()
        monkeypatch.setattr("activities.session.attachments.TELL_EVERY_S", 0)
        await proof.one_round()
        later = told()
        monkeypatch.setattr("activities.session.attachments.TELL_EVERY_S", 60)
        proof.error = None
        await proof.one_round()
        proof.error = StoreUnavailable("away again")
        await proof.one_round()

    assert (at_first, later > 1, "away again" in caplog.text) == (1, True, True)


async def test_a_worker_that_holds_no_session_asks_no_store_and_says_nothing(
    stage: Stage, proof: Proof, caplog: pytest.LogCaptureFixture
) -> None:
    proof.error = StoreUnavailable("away")

    async with leasing(stage, proof):
        for _ in range(5):
            await asyncio.sleep(0)
        asked = proof.was_asked
        await stage.attachments.hold(SESSION, 1)
        await proof.one_round()
        await stage.attachments.drop("s1")

    assert not asked
    assert "leases are not renewed" in caplog.text


async def test_a_session_whose_lease_is_lost_is_let_go_of_and_the_others_stay(stage: Stage, proof: Proof) -> None:
    await stage.attachments.hold(SESSION, 1)
    other = await stage.keepers.launch("s2", ANYWHERE)
    await stage.attachments.hold(other, 1)
    stage.keepers.dead.add("s1")

    async with leasing(stage, proof):
        await proof.one_round()

    assert stage.browser.detached == 1
    assert stage.keepers.renewals == [("s2", 1)]
    with pytest.raises(KeeperUnavailable):
        await stage.attachments.hold(SESSION, 1)


async def test_a_lease_lost_to_a_newer_attempt_of_this_worker_does_not_detach_it(
    stage: Stage, proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stage.attachments.hold(SESSION, 1)
    renew = stage.keepers.renew

    async def overtaken(session: SessionRef, epoch: int) -> None:
        monkeypatch.setattr(stage.keepers, "renew", renew)
        await stage.attachments.hold(session, 2)
        raise Fenced(f"epoch {epoch} is over")

    monkeypatch.setattr(stage.keepers, "renew", overtaken)

    async with leasing(stage, proof):
        await proof.one_round()

    assert (await stage.attachments.hold(SESSION, 2)).epoch == 2
    assert stage.keepers.attached == [("s1", 1), ("s1", 2)]


async def test_a_browser_that_no_step_uses_is_left_to_its_keepers_deadline(
    stage: Stage, proof: Proof, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("activities.session.attachments.UNUSED_S", -1)
    await stage.attachments.hold(SESSION, 1)

    async with leasing(stage, proof):
        await proof.one_round()
        unused = list(stage.keepers.renewals)
        await stage.attachments.hold(SESSION, 1)
        await proof.one_round()
        await proof.one_round()

    assert unused == []
    assert set(stage.keepers.renewals) == {("s1", 1)}


async def test_an_opening_that_is_cancelled_on_the_way_gives_its_browser_back(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched, go_on = asyncio.Event(), asyncio.Event()
    launch = stage.keepers.launch

    async def slow(*given: Any, **options: Any) -> SessionRef:
        launched.set()
        await go_on.wait()
        return await launch(*given, **options)

    monkeypatch.setattr(stage.keepers, "launch", slow)
    request = OpenSession(run_id="r1", lineage="r1", tenant="acme", network=ANYWHERE)
    opening = asyncio.create_task(run_activity(stage.sessions.open_session, request))
    await launched.wait()

    opening.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await opening

    assert stage.keepers.dead == set(stage.keepers.epochs) - {SESSION.session_id}
    assert len(stage.keepers.dead) == 1


async def test_a_browser_that_cannot_be_attached_to_is_not_left_behind(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_given: object) -> None:
        raise SessionLost("nothing answers")

    monkeypatch.setattr(stage.browsers, "attach", refused)

    with pytest.raises(SessionLost):
        await run_activity(
            stage.sessions.open_session, OpenSession(run_id="r1", lineage="r1", tenant="acme", network=ANYWHERE)
        )

    assert stage.keepers.dead == set(stage.keepers.epochs) - {SESSION.session_id}


# ------------------------------------------------------------------------------------------- setting up


def set_up(**fields: Any) -> OpenSession:
    setup = BrowserSetup(origin="https://mail.example", **fields)
    return OpenSession(run_id="r1", lineage="l1", tenant="acme", network=ANYWHERE, setup=setup)


async def test_a_browser_is_set_up_with_the_values_of_its_secrets(stage: Stage) -> None:
    stage.sessions.vault = stage.vault
    asked = set_up(headers={"X-Key": "k-{{secret:PASSWORD}}"}, username="ada", password="{{secret:PASSWORD}}")

    opened = await run_activity(stage.sessions.open_session, asked)

    setup = stage.keepers.setups[opened.session.session_id]
    assert (setup.headers, setup.password) == ({"X-Key": f"k-{PASSWORD}"}, PASSWORD)
    assert PASSWORD not in opened.model_dump_json()


async def test_a_browser_that_replaces_a_lost_one_is_set_up_again(stage: Stage) -> None:
    stage.browser.is_lost = True
    asked = set_up(locale="de-DE")
    lost = RecoverSession(run_id="r1", tenant="acme", lost=SESSION, epoch=2, network=ANYWHERE, setup=asked.setup)

    opened = await run_activity(stage.sessions.recover_session, lost)

    assert stage.keepers.setups == {opened.session.session_id: asked.setup}


async def test_a_secret_is_sent_only_where_it_is_bound_to(stage: Stage) -> None:
    stage.sessions.vault = stage.vault
    asked = set_up(headers={"X-Key": "{{secret:PASSWORD}}"})
    assert asked.setup is not None
    elsewhere = asked.model_copy(update={"setup": asked.setup.model_copy(update={"origin": "https://evil.example"})})

    with pytest.raises(ApplicationError, match="bound to") as refused:
        await run_activity(stage.sessions.open_session, elsewhere)

    assert (refused.value.type, refused.value.non_retryable) == ("PolicyBlocked", True)
    assert stage.keepers.launched == []


async def test_a_worker_without_secrets_opens_no_browser_that_needs_one(stage: Stage) -> None:
    with pytest.raises(ApplicationError, match="'PASSWORD'") as refused:
        await run_activity(stage.sessions.open_session, set_up(headers={"X-Key": "{{secret:PASSWORD}}"}))

    assert (refused.value.type, refused.value.non_retryable) == ("SecretMissing", True)


async def test_a_browser_that_cannot_be_set_up_is_given_back_and_not_asked_for_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(_session: SessionRef, _setup: BrowserSetup) -> None:
        raise InputInvalid("browser: not on this worker")

    monkeypatch.setattr(stage.keepers, "set_up", refused)

    with pytest.raises(ApplicationError, match="not on this worker") as failed:
        await run_activity(stage.sessions.open_session, set_up(locale="de-DE"))

    [(session_id, _)] = stage.keepers.launched
    assert (failed.value.type, failed.value.non_retryable) == ("InputInvalid", True)
    assert session_id in stage.keepers.dead


async def test_without_a_file_that_the_run_needs_nothing_is_opened(stage: Stage) -> None:
    def check(files: Sequence[str]) -> None:
        raise ActionFailed("upload_refused", f"{files[0]!r} cannot be uploaded: no such file", dispatched=False)

    stage.sessions.check_files = check
    request = OpenSession(run_id="r1", lineage="l1", tenant="acme", network=ANYWHERE, files=("a.txt",))

    with pytest.raises(ApplicationError, match=r"before anything was opened: 'a\.txt' cannot be uploaded") as failure:
        await run_activity(stage.sessions.open_session, request)

    assert (failure.value.type, failure.value.non_retryable) == ("upload_refused", True)
    assert stage.keepers.policies == {}


# -------------------------------------------------------------------------------------------- holding back


async def test_what_a_rehearsed_step_would_send_is_held_back_in_a_browser_that_stays_as_it_is(stage: Stage) -> None:
    setup = BrowserSetup(locale="de-DE", sends=("POST /login",))

    held = await run_activity(stage.sessions.hold_back, HoldBack(session=SESSION, epoch=1, setup=setup))

    assert held == HeldBack()
    assert stage.keepers.setups == {"s1": setup.model_copy(update={"holds_back": True})}


async def test_nothing_is_rehearsed_where_messages_of_a_websocket_would_leave(stage: Stage) -> None:
    stage.browser.open_sockets = ("wss://app.example/live",)

    held = await run_activity(stage.sessions.hold_back, HoldBack(session=SESSION, epoch=1, setup=BrowserSetup()))

    assert "wss://app.example/live" in held.why_not
    assert stage.keepers.setups == {}

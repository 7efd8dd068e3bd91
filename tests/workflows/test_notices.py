"""The workflow `Notices`: each cause told once, by a delivery that is tried again, and told when it never arrives."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleSpec,
    ScheduleState,
    WorkflowHandle,
)
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.worker import Replayer, Worker

from activities.run import notices as raising
from activities.run.notices import Announcer, NoticeActivities
from replaywright.domain.batch.timetable import CANARY, STARTS
from replaywright.domain.batch.timetable import SKILL as STARTS_SKILL
from replaywright.domain.notice.commands import NoticesStanding, NoticesState, Raised, workflow_id
from replaywright.domain.notice.notices import Notice, NoticeKind, of_question, of_sign_in, session_cause
from replaywright.domain.notice.outbox import Told
from replaywright.domain.notice.routing import Destination, NoticeFile
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.secrets.signing import Signer, parse_keys
from replaywright.domain.site_session.commands import SIGNS_IN, SignInFailed, not_signed_in, session_in
from replaywright.domain.skill.skills import Skill, SkillChange, SkillRecord, SkillStatus
from replaywright.domain.step.outcomes import Lookup, StepOutcome
from replaywright.domain.task.questions import QuestionNotice
from replaywright.domain.task.tasks import parse_task
from replaywright.domain.trace.search_attributes import HEALS, SKILL
from replaywright.errors import InputInvalid, NoticeFailed
from tests.e2e.lab import until
from tests.workflows.scripted import Script, done, run_of, scripted, waiting
from tests.workflows.test_people import FILL, GOTO, covered
from workflows import policies
from workflows.calls import Terms
from workflows.notices import Notices
from workflows.plugin import WorkflowPlugin
from workflows.policies import notice_queue
from workflows.task import BrowserTask

HOW = parse_task({"task": "how", "parameters": {"how": {}}, "steps": [GOTO, FILL]}, "the test")
_PAUSED = ScheduleState(paused=True)
SIGNER = Signer(parse_keys("k1:" + "A" * 43 + "="))


def notice(tenant: str, number: int = 0, *, cause: str = "") -> Notice:
    return Notice(
        id=f"n{number}",
        kind=NoticeKind.FAILED,
        cause=cause or f"c{number}",
        title=f"task {number}: failed",
        at=datetime(2026, 11, 27, 12, number % 60, tzinfo=UTC),
        tenant=tenant,
        task="invoices",
    )


@dataclass
class Desk:
    """Destinations that note what arrives; `faults` are raised first, one for each delivery."""

    client: Client
    queue: str
    tenant: str
    file: NoticeFile
    faults: list[Exception] = field(default_factory=list)
    got: list[tuple[str, tuple[Told, ...], str]] = field(default_factory=list)
    skill: SkillRecord | None = None

    async def send(
        self, destination: Destination, told: Sequence[Told], *, id_: str, tenant: str, dashboard: str | None
    ) -> None:
        if self.faults:
            raise self.faults.pop(0)
        assert (tenant, dashboard) == (self.tenant, self.file.dashboard)
        name = next(name for name, each in self.file.to.items() if each == destination)
        self.got.append((name, tuple(told), id_))

    async def record(self, tenant: str, name: str) -> SkillRecord | None:
        return self.skill if tenant == self.tenant and self.skill and self.skill.skill.name == name else None

    @property
    def announcer(self) -> Announcer:
        return Announcer(self.client, SIGNER, queue=self.queue, tenant=self.tenant)

    @property
    def handle(self) -> Any:
        return self.client.get_workflow_handle(workflow_id(self.tenant))

    async def standing(self) -> NoticesStanding:
        standing: NoticesStanding = await self.handle.query(Notices.standing)
        return standing

    def titles(self) -> list[str]:
        return [one.notice.title for _, told, _ in self.got for one in told]


@asynccontextmanager
async def desk(client: Client, to: dict[str, Any] | None = None) -> AsyncIterator[Desk]:
    queue = f"test-{uuid.uuid4().hex[:8]}"
    file = NoticeFile.model_validate({"to": to or {"ops": {"command": "x"}}})
    made = Desk(client, queue, tenant=f"t-{queue}", file=file)
    activities = NoticeActivities(lambda: made.file, made, made, SIGNER, tenant=made.tenant)  # type: ignore[arg-type]
    bare = Client(**client.config(active_config=True) | {"plugins": []})
    doing: list[Callable[..., Any]] = [activities.route, activities.deliver, activities.watch]
    async with (
        Worker(client, task_queue=queue),
        Worker(bare, task_queue=notice_queue(queue), activities=doing),
    ):
        try:
            yield made
        finally:
            history = await made.handle.fetch_history()
            await made.handle.terminate()
            await Replayer(workflows=[], plugins=[WorkflowPlugin(sandboxed=True)]).replay_workflow(history)


async def test_a_notice_is_told_once_and_those_of_its_cause_are_held_back(client: Client) -> None:
    async with desk(client, {"ops": {"command": "x"}, "loud": {"command": "y", "again": "0s"}}) as here:
        await here.announcer.tell(notice(here.tenant, 1, cause="same"))
        await until("it is told", lambda: len(here.got) == 2)
        for number in (1, 2, 2):
            await here.announcer.tell(notice(here.tenant, number, cause="same"))
        await until("it is told", lambda: len(here.got) == 3)
        standing = await here.standing()

    assert sorted((name, *(one.notice.id for one in told)) for name, told, _ in here.got) == [
        ("loud", "n1"),
        ("loud", "n2"),
        ("ops", "n1"),
    ]
    assert (standing.held, standing.sent, standing.lost) == ({"ops": 1}, 3, ())


async def test_a_delivery_is_tried_again_under_its_id_and_another_destination_does_not_wait(client: Client) -> None:
    async with desk(client) as here:
        here.faults = [NoticeFailed("the webhook answered 503")]
        await here.announcer.tell(notice(here.tenant, 1))
        await until("it is told", lambda: len(here.got) == 1)
        standing = await here.standing()

    assert (here.titles(), standing.lost_in_all) == (["task 1: failed"], 0)


async def test_a_delivery_that_never_arrives_is_told_and_holds_up_no_later_one(client: Client) -> None:
    async with desk(client) as here:
        here.faults = [InputInvalid("there is no destination 'ops' in the file of notices any more")]
        await here.announcer.tell(notice(here.tenant, 1))
        await until("it is told", lambda: not here.faults)
        await here.announcer.tell(notice(here.tenant, 2))
        await until("it is told", lambda: len(here.got) == 1)
        standing = await here.standing()

    [lost] = standing.lost
    assert (lost.destination, lost.titles) == ("ops", ("task 1: failed",))
    assert "any more" in lost.why
    assert here.titles() == ["task 2: failed"]


async def test_a_delivery_that_is_refused_until_its_limit_is_given_up_and_told_with_the_last_reason(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Terms(policies.DELIVERING, policies.NOTICE_LIMIT, timedelta(seconds=5), heartbeat=None)
    monkeypatch.setattr("workflows.notices._DELIVERING", short)
    unsandboxed = Client(**client.config(active_config=True) | {"plugins": [WorkflowPlugin()]})
    async with desk(unsandboxed) as here:
        here.faults = [NoticeFailed(f"the webhook answered 503: no. {number}") for number in range(50)]
        await here.announcer.tell(notice(here.tenant, 1))

        async def is_given_up() -> bool:
            return bool((await here.standing()).lost)

        await until("it is given up", is_given_up)
        standing, tries = await here.standing(), 50 - len(here.faults)
        here.faults = []
        await here.announcer.tell(notice(here.tenant, 2))
        await until("the next one is told", lambda: len(here.got) == 1)

    [lost] = standing.lost
    assert tries > 1
    assert (lost.destination, lost.titles, standing.lost_in_all) == ("ops", ("task 1: failed",), 1)
    assert lost.why == f"the webhook answered 503: no. {tries - 1}"
    assert here.titles() == ["task 2: failed"]


async def test_what_nobody_of_ours_has_raised_is_told_to_nobody(client: Client) -> None:
    async with desk(client) as here:
        await here.announcer.begin()
        forged = Raised(notice=notice(here.tenant, 1), mac=SIGNER.mac(raising.PURPOSE, here.tenant, {"id": "n1"}))
        for raised in (Raised(notice=notice(here.tenant, 2)), forged):
            await here.handle.signal(Notices.tell, raised)
        await here.announcer.tell(notice("somebody else's", 3))
        await here.announcer.tell(notice(here.tenant, 4))
        await until("it is told", lambda: len(here.got) == 1)

    assert here.titles() == ["task 4: failed"]


async def test_a_question_that_was_answered_in_the_meantime_is_told_to_nobody(client: Client) -> None:
    async with (
        desk(client, {"later": {"command": "x", "together": "2s"}}) as here,
        scripted(client, Script(perform=covered)) as queue,
    ):
        run_id = f"test-{uuid.uuid4().hex[:8]}"
        run = run_of(GOTO, FILL, on_failure="ask", tenant=here.tenant)
        handle = await client.start_workflow(BrowserTask.run, run, id=run_id, task_queue=queue)
        question = await waiting(handle)
        for number in (0, 1):
            asked = QuestionNotice(
                event="asked",
                run_id=run_id,
                task="test",
                tenant=here.tenant,
                question=question.model_copy(update={"id": question.id if number else "9-9"}),
            )
            await here.announcer.tell(of_question(asked, datetime.now(UTC)))
        await until("it is told", lambda: bool(here.got))
        standing = await here.standing()
        await handle.terminate()

    assert [one.notice.question.id for _, told, _ in here.got for one in told if one.notice.question] == [question.id]
    assert standing.over == 1


def one_heals(request: CommandOnStep, call: int) -> StepOutcome:
    """Steps of which the second fails where the run's value says so; else its element had changed."""
    if request.context.sequence and request.context.values.get("how") == "fail":
        return covered(request, 0)
    changed = Lookup(hit=True, healed=bool(request.context.sequence), entry_version=1)
    return done(request).model_copy(update={"lookup": changed})


MEMOS = {"fail as a canary": {CANARY: "invoices"}, "fail to sign in": {SIGNS_IN: "crm"}}


async def test_runs_that_fail_heal_or_are_terminated_are_told_with_their_reasons(client: Client) -> None:
    async with desk(client) as here, scripted(client, Script(perform=one_heals)) as queue:
        await here.announcer.begin()
        skill = Skill.model_construct(name="invoices", version=2, status=SkillStatus.SUSPECT, task=HOW)
        change = SkillChange(at=datetime.now(UTC).timestamp(), version=2, what="suspected", reason="step 2: not found")
        here.skill = SkillRecord.model_construct(skill=skill, history=(change,))
        attributes: list[SearchAttributePair[Any]] = [
            SearchAttributePair(SearchAttributeKey.for_keyword(SKILL.name), "invoices"),
            SearchAttributePair(SearchAttributeKey.for_int(HEALS.name), 0),
        ]

        async def begun(name: str, tenant: str = here.tenant, queue: str = queue) -> WorkflowHandle[Any, RunResult]:
            return await client.start_workflow(
                BrowserTask.run,
                RunInput(task=HOW, tenant=tenant, values={"how": name.partition(" ")[0]}),
                id=f"{here.tenant}/{name}",
                task_queue=queue,
                memo={"tenant": tenant, "task": "invoices"} | MEMOS.get(name, {}),
                search_attributes=TypedSearchAttributes(attributes),
            )

        daily = Schedule(
            ScheduleActionStartWorkflow("BrowserTask", id="daily", task_queue=queue), ScheduleSpec(), state=_PAUSED
        )
        await client.create_schedule(
            f"{here.tenant}/daily", daily, memo={"tenant": here.tenant, STARTS: f"{STARTS_SKILL}invoices"}
        )
        runs = [await begun(name) for name in ("fail", "fail again", "heal", *MEMOS)]
        runs.append(await begun("fail for others", "x"))
        await asyncio.gather(*(run.result() for run in runs), return_exceptions=True)
        await (await begun("terminate", queue="nobody's")).terminate(reason="by hand")
        await until("all are told", lambda: len(here.titles()) == 5)

    [canary] = [one.notice for _, told, _ in here.got for one in told if one.notice.kind is NoticeKind.CANARY]
    assert canary.lines == (f"next it would be met by: {here.tenant}/daily",)
    assert sorted(here.titles()) == [
        "canary of invoices failed at step 2: fill the name field = Ada: refused: covered",
        "invoices: 1 element had changed and was found all the same",
        "invoices: failed at step 2: fill the name field = Ada: refused: covered",
        "invoices: the run was terminated: by hand",
        "the skill invoices is suspect: it is not recalled until it is restored or learned anew",
    ]


def test_a_failed_sign_in_and_the_runs_that_fail_for_it_are_of_one_cause_and_lead_to_the_sessions() -> None:
    failed = SignInFailed(name="crm-ada", run_id="sign-in/crm-ada/1", number=3, why="the site asks: a code, please")

    notice = of_sign_in(failed, "t", datetime(2026, 1, 1, tzinfo=UTC))

    assert notice.cause == session_cause(session_in(not_signed_in("crm-ada", failed.why)))
    assert (notice.kind, notice.page, notice.tenant) == (NoticeKind.SESSION, "sessions", "t")
    assert notice.title == "session crm-ada: signing in failed: the site asks: a code, please"


async def test_notices_survive_a_continue_as_new(client: Client) -> None:
    async with desk(client, {"ops": {"command": "x", "together": "1s"}}) as here:
        await client.start_workflow(
            Notices.run,
            NoticesState(tenant=here.tenant, per_history=1),
            id=workflow_id(here.tenant),
            task_queue=here.queue,
        )
        first = await here.handle.describe()
        for number in (0, 1, 2, 1):
            await here.announcer.tell(notice(here.tenant, number))
        await until("all are told", lambda: len(here.titles()) == 3)
        await here.announcer.tell(notice(here.tenant, 0))
        await here.announcer.tell(notice(here.tenant, 3))
        await until("one more is told", lambda: len(here.titles()) == 4)
        last = await here.handle.describe()

    assert sorted(here.titles()) == [f"task {number}: failed" for number in range(4)]
    assert first.run_id != last.run_id

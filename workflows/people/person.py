"""The person whom a run asks: the question, reminders of it, the answer, and where both are written down.

There is one question at a time. While it is open no activity runs but notices of it; the browser is given back after a
while. What ends the waiting is an answer, or the question's deadline, as the question declares.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Literal, Protocol

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.calls import KEEPING, NOTING, Terms, ask
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt
from workflows.step.failures import TaskFailed

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commands import SealedCode
    from replaywright.domain.run.commit_requests import PersonVerdict, SettleRequest
    from replaywright.domain.site_session.codes import FetchCode, FetchedCode
    from replaywright.domain.task.questions import (
        DEADLINE,
        UNANSWERED,
        WAITS,
        Ask,
        KeyRequest,
        LookForPerson,
        Question,
        QuestionNotice,
        SeenByPerson,
        as_question,
        objection,
    )
    from replaywright.domain.trace.details import event_summary, summary


KEY_LIFETIME_S = 30 * 86_400.0
"""Lifetime of the key of a question without a deadline; a code that comes later is asked for again."""
KEY_MARGIN_S = 3_600.0
"""Time that a key outlives the deadline of its question."""

_FETCHING = Terms(policies.ASKING, timedelta(minutes=30))
_CODES_APART_S = 6.0
"""A message that is at most so much younger than the one with the last code, the skew of clocks, is the same one."""
REMINDERS_AT_MOST = 200
"""Limit for one question: each reminder takes space in the run's history."""


class WaitHost(Protocol):
    """Waits for a person, which may give the browser back, and gets one for what follows."""

    async def wait(self, is_over: Callable[[], bool]) -> None:
        """Wait until it is over."""

    async def wake(self, verdict: PersonVerdict) -> None:
        """Have a browser for what follows on this answer."""


class Person:
    """Waits for answers; there is one question at a time."""

    waiting: WaitHost
    """Set once there is a browser to give back: see `Parts`."""

    def __init__(self, context: RunContext, browser: Browser) -> None:
        self._context = context
        self._run = context.run
        self._browser = browser
        self._board = context.board
        self._verdict: PersonVerdict | None = None
        self._is_over = False

    @property
    def asked_so_far(self) -> int:
        """Number of questions that the run has asked."""
        return self._context.state.questions

    async def fetched(self, attempt: Attempt, source: str) -> bool:
        """Have the code fetched from a source of codes, and put it into the attempt; False if a person is to be asked.

        Raises:
            ActivityError: the run may have no code.
        """
        context, number = self._context, self._context.state.codes_fetched + 1
        since = context.state.code_seen_at or workflow.info().start_time.timestamp()
        context.change(codes_fetched=number)
        context.show(f"waiting for a code from {source}")
        request = FetchCode(run_id=context.run_id, tenant=context.run.tenant, source=source, since=since, number=number)
        fetched = await ask(
            "code.fetch",
            request,
            FetchedCode,
            _FETCHING,
            activity_id=f"{attempt.sequence + 1:04d}-code-{number}",
            summary=event_summary(f"wait for a code from {source}"),
            queue=policies.batch_queue(workflow.info().task_queue),
        )
        if not fetched.sealed:
            if fetched.why:
                context.warn(f"step {attempt.sequence + 1}: {fetched.why}; a person was asked")
            return False
        context.change(code_seen_at=fetched.at + _CODES_APART_S)
        attempt.code = SealedCode(question=fetched.question, sealed=fetched.sealed)
        return True

    async def asked(self, ask: Ask, *, stays_awake: bool = False) -> PersonVerdict:
        """A person's answer, however long it takes; the answer `skip` where the question is left at its deadline.

        With `stays_awake` the browser is not given back meanwhile.

        Raises:
            TaskFailed: the deadline passed, and the question declares that the run fails then.
        """
        since = workflow.now()
        self._context.change(questions=self.asked_so_far + 1)
        seen = await self._looked()
        ask = self._with_patience(ask)
        question = as_question(ask, number=self.asked_so_far, now=workflow.now(), seen=seen)
        if ask.wants == "code":
            question = question.model_copy(update={"key": await self._key(question)})
        self._verdict, self._is_over = None, False
        self._board.ask(question)
        self._context.show()
        workflow.upsert_memo({WAITS: question})
        clock = asyncio.create_task(self._kept_in_mind(question))
        try:
            wait = workflow.wait_condition if stays_awake else self.waiting.wait
            await wait(lambda: self._verdict is not None or self._is_over or self._board.stops)
            self._board.check_stops()
        finally:
            clock.cancel()
        verdict = self._given(question) or await self._timed_out()
        self._board.go_on()
        workflow.upsert_memo({WAITS: ""})
        self._context.show()
        if verdict.who == DEADLINE and question.on_timeout == "fail":
            raise TaskFailed(UNANSWERED, f"{question.text}: {verdict.why}")
        if not stays_awake:
            await self.waiting.wake(verdict)
        self._context.budget.leave_out((workflow.now() - since).total_seconds())
        return verdict

    def _given(self, question: Question) -> PersonVerdict | None:
        """The answer to the question, if there is one."""
        given, self._verdict = self._verdict, None
        return None if given is None else given.model_copy(update={"question": question.id})

    def answer(self, verdict: PersonVerdict) -> None:
        """Take the answer that `check` let pass."""
        self._verdict = verdict

    def check(self, verdict: PersonVerdict) -> None:
        """Raise `ValueError` for an answer to what was not asked."""
        question = self._board.question
        if question is None:
            raise ValueError("this run does not wait for a decision")
        if verdict.question and verdict.question != question.id:
            raise ValueError(f"question {verdict.question} is over; the run waits with question {question.id}")
        if verdict.sequence != question.sequence:
            raise ValueError(f"the run waits for step {question.sequence + 1}, not for step {verdict.sequence + 1}")
        if self._verdict is not None:
            raise ValueError("a decision was already given")
        if self._is_over:
            raise ValueError(f"the time for question {question.id} is over")
        if verdict.who == DEADLINE:
            raise ValueError(f"{DEADLINE!r} is nobody's name: say who answers")
        if fault := objection(question, verdict=verdict.verdict, value=verdict.value, sealed=verdict.sealed):
            raise ValueError(fault)

    async def answered(self, attempt: Attempt, ask: Ask) -> PersonVerdict:
        """Ask about a step that is not in doubt, and write the answer down; see `asked`."""
        verdict = await self.asked(ask)
        await self.wrote_down(attempt, verdict)
        return verdict

    async def wrote_down(self, attempt: Attempt, verdict: PersonVerdict) -> None:
        """Write an answer about a step that is not in doubt to ledger and trace."""
        await self.settled(attempt, SettleRequest(action=attempt.step_context(), verdict=verdict, failed=True))

    async def settled(self, attempt: Attempt, request: SettleRequest) -> None:
        """Write an answer to ledger and trace."""
        verdict = request.verdict
        await ask(
            "effect.settle",
            request,
            type(None),
            KEEPING,
            activity_id=attempt.activity_id(f"settle-e{request.action.run.epoch}"),
            summary=summary(attempt.sequence, f"{verdict.by} says: {verdict.verdict}"),
        )

    # ---------------------------------------------------------------------------------------- the clock

    def _with_patience(self, ask: Ask) -> Ask:
        """The question with the run's own times where it has none."""
        usual = self._run.asking
        within = ask.within_s if ask.within_s is not None else usual.within_s or None
        every = ask.remind_every_s if ask.remind_every_s is not None else usual.remind_every_s or None
        return ask.model_copy(update={"within_s": within, "remind_every_s": every})

    async def _kept_in_mind(self, question: Question) -> None:
        """Tell of the question, remind of it, and end it at its deadline."""
        await self._notify("asked", question)
        while self._board.question is not None and self._board.question.id == question.id:
            now = workflow.now()
            due = _next_reminder(self._board.question, now)
            if question.deadline is not None and (due is None or question.deadline <= due):
                await workflow.sleep(_until(question.deadline, now), summary=f"deadline of question {question.id}")
                self._is_over = True
                return
            if due is None:
                return
            await workflow.sleep(_until(due, now), summary=f"until the next reminder of question {question.id}")
            reminded = self._board.remind()
            self._context.show()
            workflow.logger.warning("question %s open since %s", question.id, question.since.isoformat())
            await self._notify("reminder", reminded)

    async def _timed_out(self) -> PersonVerdict:
        question = self._board.question
        assert question is not None
        why = f"nobody answered within {question.within_s:g} s"
        self._board.note_text(f"question {question.id}: {why}")
        await self._notify("timed_out", question)
        return PersonVerdict(sequence=question.sequence, verdict="skip", who=DEADLINE, why=why)

    async def _notify(self, event: Literal["asked", "reminder", "timed_out"], question: Question) -> None:
        """Tell whoever wants to know. That nobody can be told is no reason to fail."""
        info = workflow.info()
        try:
            await ask(
                "person.notify",
                QuestionNotice(
                    event=event,
                    run_id=info.workflow_id,
                    task=self._run.task.task,
                    tenant=self._run.tenant,
                    question=question,
                ),
                type(None),
                NOTING,
                activity_id=f"notify-{question.id}-{event}{question.reminders or ''}",
                summary=event_summary(f"{event.replace('_', ' ')}: {question.text}"),
            )
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise asyncio.CancelledError from error
            workflow.logger.warning("notification for question %s failed: %s", question.id, error.cause)

    # ----------------------------------------------------------------------------------------- the page

    async def _key(self, question: Question) -> str:
        """The public key that a code for the question is sealed with; its private part lives as long as the question.

        Between the two a code may wait for a browser, so it lives somewhat longer.
        """
        lifetime = KEY_LIFETIME_S if question.within_s is None else question.within_s + KEY_MARGIN_S
        info = workflow.info()
        return await ask(
            "person.key",
            KeyRequest(tenant=self._run.tenant, run_id=info.workflow_id, question=question.id, ttl_s=lifetime),
            str,
            Terms(policies.OPENING, heartbeat=None),
            activity_id=f"key-{question.id}",
            summary=f"a key for the code of question {question.id}",
        )

    async def _looked(self) -> SeenByPerson:
        """Return what the browser shows; without a browser, the reason."""
        if self._browser.session is None or self._browser.is_asleep:
            return SeenByPerson(picture_missing="there is no browser at the moment")
        try:
            return await self._browser.call(
                "person.look",
                LookForPerson(session=self._browser.ref, epoch=self._browser.epoch),
                SeenByPerson,
                activity_id=f"look-q{self.asked_so_far}-e{self._browser.epoch}",
                summary="picture of the page for the question",
                retry_policy=policies.ONCE,
            )
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return SeenByPerson(picture_missing=f"the browser does not show it: {policies.said(error)}"[:200])


def _next_reminder(question: Question, now: datetime) -> datetime | None:
    """Return the time of the next reminder, `now` being the last one; None if there is none."""
    if question.remind_every_s is None or question.reminders >= REMINDERS_AT_MOST:
        return None
    return now + timedelta(seconds=question.remind_every_s)


def _until(moment: datetime, now: datetime) -> timedelta:
    return max(moment - now, timedelta(0))

"""Waiting for people, who may want the browser meanwhile: it is lent to them, and taken back before the run goes on."""

from collections.abc import Callable
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError

from workflows import policies
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.session.recovery import Recovery
from workflows.step.failures import TaskFailed

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commit_requests import PersonVerdict
    from replaywright.domain.run.steering import HandedBack, LendSession, LentBrowser, Said, TakeBack, TakeOverRequest
    from replaywright.domain.session.sessions import SessionRef
    from replaywright.domain.trace.details import event_summary


class Lending:
    """One person at a time drives the browser of a run that waits."""

    def __init__(self, context: RunContext, browser: Browser, recovery: Recovery) -> None:
        self._context = context
        self._board = context.board
        self._browser = browser
        self._recovery = recovery
        self._wanted: TakeOverRequest | None = None
        self._waits = False
        self._refused = ""
        self.lent: LentBrowser | None = None
        """Address of the lent browser; None while it is not lent."""
        self.handed_back: HandedBack | None = None
        """Report on the last loan during this wait; None without one."""
        self.was_lost = False
        """True: the browser was lost while a person had it."""

    @property
    def session(self) -> SessionRef | None:
        """Session with the run's browser; None while it has none."""
        return None if self._browser.is_asleep else self._browser.session

    # ------------------------------------------------------------------------------------- what is asked

    def check(self) -> None:
        """Raise `ValueError` unless the browser can be lent: only while the run waits."""
        if not self._waits:
            raise ValueError("take over: the run does not wait: pause it first (`replaywright admin pause`)")

    async def take_over(self, asked: TakeOverRequest) -> LentBrowser:
        """Have the run lend its browser; who asks for what is lent already is told where it is.

        Raises:
            ApplicationError: the run has gone on meanwhile, or its browser cannot be had.
        """
        if self.lent is None:
            self._wanted, self._refused = asked, ""
            await workflow.wait_condition(lambda: self._wanted is not asked or not self._waits)
        if self.lent is None:
            message = f"take over: {self._refused or 'the run has gone on meanwhile'}"
            raise ApplicationError(message, type="NotLent", non_retryable=True)
        return self.lent

    # --------------------------------------------------------------------------------------- what is done

    async def wait(self, is_over: Callable[[], bool]) -> None:
        """Wait until it is over. Meanwhile the browser is lent to whoever asks, else given back after a while."""
        self._waits, self.handed_back, self.was_lost = True, None, False

        def ends() -> bool:
            return is_over() or self._board.stops

        try:
            await self._recovery.wait(lambda: ends() or self._wanted is not None)
            while not ends():
                await self._lent_until(ends)
                if not ends():
                    await self._recovery.wait(lambda: ends() or self._wanted is not None)
            self._board.check_stops()
        finally:
            self._waits, self._wanted, self.lent, self._board.is_lent = False, None, None, False

    async def wake(self, verdict: PersonVerdict) -> None:
        """Take a new browser if the old one was given back, and bring it to where the run goes on."""
        await self._recovery.wake(verdict)

    async def awake(self) -> None:
        """Take a new browser if the old one was given back, and bring it to the page as it was left."""
        await self._recovery.reopened()

    async def _lent_until(self, is_over: Callable[[], bool]) -> None:
        """Lend the browser until it is over, or its time is."""
        asked = self._wanted
        if asked is None:
            return
        said, before = Said(who=asked.who, why=asked.why), self._board.doing
        steering = self._context.state.steering
        self._context.change(steering=steering.model_copy(update={"lent": steering.lent + 1}))
        name = f"{self._context.run_id}/{self._context.state.steering.lent}"
        self.lent = await self._lend(name, asked)
        self._wanted = None
        if self.lent is None:
            return
        self._board.doing, self._board.is_lent = f"{asked.who or 'a person'} drives the browser", True
        self._board.note_text(f"the browser was lent to {said}")
        self._context.show()
        try:
            await workflow.wait_condition(
                is_over, timeout=timedelta(seconds=asked.lasts_s), timeout_summary="until the loan ends"
            )
        except TimeoutError:
            self._board.note_text(f"the browser was taken back from {said.who or 'a person'}: the time was over")
        self.lent = None
        self._board.doing, self._board.is_lent = before, False
        if is_over():
            self._board.status = "running"  # there is nothing more to be answered
        await self._taken_back(name, said)
        self._context.show()

    async def _lend(self, name: str, asked: TakeOverRequest) -> LentBrowser | None:
        """Lend the browser and return its address; None, with the reason noted, if it is not available."""
        try:
            await self._recovery.reopened()
            for _ in range(policies.LOSSES_PER_STEP):
                try:
                    return await self._browser.call(
                        "session.lend",
                        LendSession(
                            session=self._browser.ref,
                            epoch=self._browser.epoch,
                            lending=name,
                            lasts_s=asked.lasts_s,
                        ),
                        LentBrowser,
                        activity_id=f"lend-{self._context.state.steering.lent}-e{self._browser.epoch}",
                        summary=event_summary(f"{asked.who or 'a person'} takes the browser over"),
                        limit=policies.OPEN_LIMIT,
                        retry_policy=policies.RESTORING,
                    )
                except ActivityError as error:
                    if not policies.is_loss(error):
                        raise
                    await self._recovery.recover()
            self._refused = "the browser was lost again and again"
        except TaskFailed as failure:
            self._refused = str(failure)
            await self._browser.hibernate()
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            self._refused = policies.said(error)
        return None

    async def _taken_back(self, name: str, said: Said) -> None:
        """Close the address, and learn what left the browser. Where it was lost, nothing is known."""
        for _ in range(policies.LOSSES_PER_STEP):
            try:
                self.handed_back = await self._browser.call(
                    "session.take_back",
                    TakeBack(
                        **self._context.scope,
                        session=self._browser.ref,
                        epoch=self._browser.epoch,
                        lending=name,
                        sequence=self._context.position,
                        said=said,
                    ),
                    HandedBack,
                    activity_id=f"take-back-{self._context.state.steering.lent}-e{self._browser.epoch}",
                    summary=event_summary(f"{said.who or 'a person'} hands the browser back"),
                    limit=policies.OPEN_LIMIT,
                    retry_policy=policies.RESTORING,
                )
            except ActivityError as error:
                if not policies.is_loss(error):
                    raise
                if not await self._browser.recover():
                    break
                continue
            self._browser.adopted = True
            return
        await self._browser.hibernate()  # the new one shows nothing: it is had again when the run goes on
        self.was_lost, self.handed_back = True, HandedBack()
        self._board.note_text(f"the browser was lost while {said.who or 'a person'} had it")

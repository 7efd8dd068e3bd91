"""The workflow's side of a browser session: where it is, how it is found again, what runs on it."""

from datetime import timedelta
from typing import TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError

from workflows import policies
from workflows.calls import Terms, ask
from workflows.run.context import RunContext
from workflows.step.failures import TaskFailed, is_of

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.plan.needs import files_needed
    from replaywright.domain.policy.host_rules import network_policy
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.session.browser_setup import BrowserSetup
    from replaywright.domain.session.network_policy import RefusedHost, most_refused
    from replaywright.domain.session.sessions import (
        CloseSession,
        HeldBack,
        HoldBack,
        OpenSession,
        RecoverSession,
        Recycling,
        SessionClosed,
        SessionOpened,
        SessionRef,
    )
    from replaywright.domain.step.checkpoints import Checkpoint
    from replaywright.domain.step.outcomes import UPLOAD_REFUSED, StepOutcome
    from replaywright.domain.task.tasks import browser_setup

_Result = TypeVar("_Result")

_WAIT_CANCELLED = workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED


def attached(limit: timedelta, retries: RetryPolicy) -> Terms:
    """Return the terms of an activity on the worker that is attached to the browser."""
    return Terms(retries, limit, to_start=policies.TO_START, cancellation=_WAIT_CANCELLED)


def _setup_of(run: RunInput) -> BrowserSetup | None:
    setup = browser_setup(run.task, run.values)
    return setup if run.sends is None else (setup or BrowserSetup()).model_copy(update={"sends": run.sends})


class Browser:
    """One run's browser across worker losses: every loss raises the epoch, so that what was before is fenced."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._network = network_policy(context.run.task, context.run.values)
        self._setup = _setup_of(context.run)
        self._scope = {"run_id": context.run_id, "tenant": context.run.tenant}
        self.refused: tuple[RefusedHost, ...] = ()
        """Hosts that pages asked for and did not get, in the sessions that were given back."""
        self.session = context.state.session
        self.epoch = context.state.epoch
        self.adopted = True
        """True: the page is the one that earlier steps left; False after a rebuild."""
        self.is_asleep = False
        """True: given back; `replace` opens another one."""
        self.taken: list[Checkpoint] = []
        """Checkpoints that steps have told of, until the recovery takes them over."""
        self._stopped_at = 0.0
        self.ended: set[str] = set()
        """Sessions that were lost, and which their own host has fenced or ended since: nothing of theirs goes on."""

    @property
    def ref(self) -> SessionRef:
        """The session as of now."""
        assert self.session is not None, "the browser is opened before the first step"
        return self.session

    async def open(self) -> None:
        """Get a browser, waiting for a worker with a free place if need be.

        Raises:
            TaskFailed: the worker has not the files that the run is to upload; no person is asked about failed steps.
        """
        if self.session is not None:
            return
        context = self._context
        to_do = () if context.asks_on_failure else context.plan[context.position :]
        request = self._open_request(self.epoch, files=files_needed(to_do, context.run.values))
        try:
            opened = await self._anywhere("session.open", request, "session-open", "open a browser")
        except ActivityError as error:
            if not is_of(error, UPLOAD_REFUSED):
                raise
            raise TaskFailed(UPLOAD_REFUSED, policies.said(error), at_step=False) from error
        self.session = opened.session

    async def recover(self) -> bool:
        """Find the browser again, or get a new one; returns whether the live page was adopted."""
        self.raise_epoch()
        request = RecoverSession(
            **self._scope, lost=self.ref, epoch=self.epoch, network=self._network, setup=self._setup
        )
        activity_id = f"session-recover-e{self.epoch}"
        try:
            opened = await self._asked(
                "session.recover",
                request,
                f"{activity_id}-host",
                "recover the browser",
                policies.ONCE,
                queue=self.ref.host_queue,
                to_start=policies.ADOPT_TO_START,
            )
        except ActivityError as error:
            if not (policies.is_loss(error) or policies.has_no_place(error)):
                raise
            opened = await self._anywhere("session.recover", request, activity_id, "recover the browser, on any host")
        if opened.session.host == request.lost.host:
            self.ended.add(request.lost.session_id)
        self.session, self.adopted = opened.session, opened.adopted
        self._stopped_at = workflow.now().timestamp()
        return opened.adopted

    async def hibernate(self) -> None:
        """Give the browser back for now."""
        ref = self.ref
        await self.close()
        self.session, self.is_asleep = ref, True

    async def exchange(self, name: str) -> SessionRef:
        """Get a new, empty browser beside the one there is, which is returned: either is to be given back.

        Raises:
            ActivityError: none is to be had at the moment; nothing has changed.
        """
        old, epoch = self.ref, self.epoch + 1
        request, summary = self._open_request(epoch, instead_of=old.session_id), "open another browser"
        opened = await self._asked("session.open", request, name, summary, policies.ONCE)
        self.raise_epoch()
        self.session, self.adopted = opened.session, False
        return old

    async def go_back(self, old: SessionRef, recycling: Recycling) -> None:
        """Go on in the browser that `exchange` has left, and give back the new one."""
        await self.give_back(self.ref, recycling)
        self.session = old
        self.raise_epoch()

    async def replace(self) -> None:
        """Get a new, empty browser instead of the one there is."""
        if not self.is_asleep:
            await self.close()
        self.session = None
        self.raise_epoch()
        request = self._open_request(self.epoch)
        opened = await self._anywhere("session.open", request, f"session-open-e{self.epoch}", "open another browser")
        self.session, self.adopted, self.is_asleep = opened.session, False, False

    def _open_request(self, epoch: int, instead_of: str = "", files: tuple[str, ...] = ()) -> OpenSession:
        return OpenSession(
            **self._scope,
            lineage=self._context.lineage,
            epoch=epoch,
            instead_of=instead_of,
            network=self._network,
            setup=self._setup,
            files=files,
        )

    @property
    def stopped_for_ms(self) -> int:
        """Milliseconds since the last lost worker or browser had certainly stopped; 0 if none was lost."""
        return int(1000 * (workflow.now().timestamp() - self._stopped_at)) if self._stopped_at else 0

    def leave_epoch(self, outcome: StepOutcome) -> None:
        """Go on under the next epoch; the intent of a commit was taken back under that one, so after that."""
        self.raise_epoch()
        if not outcome.effect.repeatable:
            self.raise_epoch()

    def raise_epoch(self) -> None:
        """Have what an earlier attempt still does refused from now on."""
        self.epoch += 1
        if self.session is not None:
            self.session = self.session.model_copy(update={"epoch": self.epoch})

    async def call(
        self,
        name: str,
        request: Record,
        result_type: type[_Result],
        *,
        activity_id: str,
        summary: str,
        limit: timedelta = policies.READ_LIMIT,
        retry_policy: RetryPolicy = policies.READING,
    ) -> _Result:
        """Run one activity on the worker that is attached to the browser.

        Raises:
            ActivityError: also when that worker is lost: see `policies.is_loss`.
        """
        terms, queue = attached(limit, retry_policy), self.ref.queue
        return await ask(name, request, result_type, terms, activity_id=activity_id, summary=summary, queue=queue)

    async def on_its_host(
        self,
        name: str,
        request: Record,
        result_type: type[_Result],
        *,
        session: SessionRef,
        activity_id: str,
        summary: str,
        limit: timedelta = policies.READ_LIMIT,
    ) -> _Result:
        """Run an activity on the worker that has the session, or on another one of its host if that is lost.

        Raises:
            ActivityError: no worker of the host took it, or it failed.
        """

        async def on(queue: str, to_start: timedelta, activity_id: str) -> _Result:
            terms = Terms(policies.ONCE, limit, to_start=to_start)
            return await ask(name, request, result_type, terms, activity_id=activity_id, summary=summary, queue=queue)

        try:
            return await on(session.queue, policies.TO_START, activity_id)
        except ActivityError as error:
            if not (session.host_queue and policies.is_loss(error)):
                raise
        return await on(session.host_queue, policies.ADOPT_TO_START, f"{activity_id}-host")

    async def hold_back(self) -> str:
        """Let nothing leave the browser from now on that may store something; return why that cannot be promised.

        Raises:
            ActivityError: also when its worker is lost: see `policies.is_loss`.
        """
        request = HoldBack(session=self.ref, epoch=self.epoch, setup=self._setup or BrowserSetup())
        summary = "hold back what the next step would send"
        held = await self.call("session.hold_back", request, HeldBack, activity_id="session-hold-back", summary=summary)
        return held.why_not

    async def close(self, *, is_over: bool = False) -> None:
        """Give the browser back. A host that is gone is no reason to fail: the keeper has its own deadline.

        Args:
            is_over: the run has ended, and nothing that left the browser is asked for any more.
        """
        if self.session is None or self.is_asleep:
            return
        ref, self.session = self.session, None
        await self.give_back(ref, is_over=is_over)

    async def give_back(self, ref: SessionRef, recycling: Recycling | None = None, *, is_over: bool = False) -> None:
        """Give a browser back; `recycling` tells why it was exchanged, or was not."""
        try:
            closed: SessionClosed | None = await self.on_its_host(
                "session.close",
                CloseSession(session=ref, recycling=recycling, is_over=is_over),
                SessionClosed | None,  # type: ignore[arg-type]  # older workers say nothing
                session=ref,
                activity_id="session-close",
                summary="close the browser",
                limit=policies.OPEN_LIMIT,
            )
        except ActivityError as error:
            workflow.logger.warning("browser not closed: %s", error.cause)
        else:
            self.refused = most_refused((*self.refused, *(() if closed is None else closed.refused)))

    async def _anywhere(self, name: str, request: Record, activity_id: str, summary: str) -> SessionOpened:
        """Get a browser from any worker; where every place is taken the run says so, and waits."""
        try:
            return await self._asked(name, request, activity_id, summary, policies.FIRST_OPENING)
        except ActivityError as error:
            if not policies.has_no_place(error):
                raise
            since = workflow.now()
            self._context.show(f"waiting for a free place: {policies.said(error)}")
        opened = await self._asked(
            name, request, f"{activity_id}-wait", f"{summary}, when a place is free", policies.WAITING
        )
        if not self.is_asleep:  # what a person takes is not counted anyway
            self._context.budget.leave_out((workflow.now() - since).total_seconds())
        self._context.show("")
        return opened

    async def _asked(
        self,
        name: str,
        request: Record,
        activity_id: str,
        summary: str,
        retry_policy: RetryPolicy,
        *,
        queue: str = "",
        to_start: timedelta | None = None,
    ) -> SessionOpened:
        """Ask the workers on `queue`, or any, for a browser."""
        terms = Terms(retry_policy, policies.OPEN_LIMIT, to_start=to_start, cancellation=_WAIT_CANCELLED)
        return await ask(name, request, SessionOpened, terms, activity_id=activity_id, summary=summary, queue=queue)

"""The workflow `SiteSession`: who may use a signed-in session, and one sign-in for all who wait for it.

One for each session of a tenant. Runs ask by a signal and hear by one when there is an answer; the answer itself is
asked of the query `grant`, so that nothing depends on who sent the signal.
"""

from datetime import datetime, timedelta
from typing import Literal, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, FailureError

from workflows import policies
from workflows.calls import NOTING, Terms, ask

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.site_session.commands import (
        WORKFLOW,
        Asked,
        BeginRun,
        Begun,
        EndedRuns,
        LookForRuns,
        Returned,
        SignInFailed,
        SiteSessionState,
    )
    from replaywright.domain.site_session.leases import Kept, Lease, Leases

_Answer = TypeVar("_Answer")

_ASKING = Terms(RetryPolicy(initial_interval=timedelta(seconds=1), maximum_interval=timedelta(seconds=30)))


@workflow.defn(name=WORKFLOW)
class SiteSession:
    """One signed-in session of a tenant."""

    @workflow.init
    def __init__(self, state: SiteSessionState) -> None:
        self._state = state
        self._leases = state.leases
        self._heard = 0
        self._changed = True
        self._told: list[str] = []
        self._failed: SignInFailed | None = None

    @workflow.run
    async def run(self, _state: SiteSessionState) -> None:
        """Give leases and have the session signed in, until this continues as new."""
        while not (self._is_full and not self._told and self._failed is None and workflow.all_handlers_finished()):
            self._changed = False
            await self._serve()
            await self._wait()
        workflow.continue_as_new(self._state.model_copy(update={"leases": self._leases}))

    # ------------------------------------------------------------------------------------------ what is said

    @workflow.signal(name="ask")
    def ask(self, asked: Asked) -> None:
        """Take a run that wants to use the session."""
        self._change(self._leases.asking(asked.run_id, asked.expired, asked.terms, workflow.now()))

    @workflow.signal(name="give_back")
    def give_back(self, returned: Returned) -> None:
        """Take the session back from a run, or what a sign-in has made."""
        now = workflow.now()
        self._leases = self._leases.registering(returned.run_id, returned.passkeys)
        if not returned.signs_in:
            self._change(self._leases.returning(returned.run_id, returned.kept, now))
        elif returned.kept is not None:
            self._change(self._leases.signed_in(returned.run_id, returned.kept, now))
        else:
            why = returned.why or "it was not signed in"
            self._change(*self._leases.failed(returned.run_id, why, now, may_pass=returned.may_pass))

    @workflow.signal(name="bring")
    def bring(self, kept: Kept) -> None:
        """Take a state that a person has brought from a browser of their own."""
        self._change(self._leases.imported(kept, workflow.now()))

    @workflow.signal(name="renew")
    def renew(self, _who: str = "") -> None:
        """Sign in anew, whatever failed before; the history keeps who wanted it."""
        self._change(self._leases.wanted())

    @workflow.signal(name="forget")
    def forget(self, _who: str = "") -> None:
        """Forget what is kept; the next run has it signed in anew. The history keeps who wanted it."""
        self._change(self._leases.forgotten())

    @workflow.query(name="grant")
    def grant(self, run_id: str) -> Lease:
        """Return the answer to a run that has asked."""
        return self._leases.grant(run_id)

    @workflow.query(name="standing")
    def standing(self) -> Leases:
        """Return who uses the session, who waits, and how signing in went."""
        return self._leases

    # ------------------------------------------------------------------------------------------ what is done

    @property
    def _is_full(self) -> bool:
        return self._heard >= self._state.per_history or workflow.info().is_continue_as_new_suggested()

    def _change(self, leases: Leases, told: tuple[str, ...] = ()) -> None:
        self._heard += 1
        if leases.failures > self._leases.failures:
            signing = self._leases.signing_in
            self._failed = SignInFailed(
                name=self._state.name,
                run_id="" if signing is None else signing.run_id,
                number=leases.numbers,
                why=leases.why,
                paused_until=leases.paused_until,
            )
        self._leases, self._changed = leases, True
        self._told += told

    async def _serve(self) -> None:
        """Give what can be given, tell those who are to hear of it, and begin the run that is due."""
        now = workflow.now()
        self._leases, told = self._leases.aged(now).granting(now)
        self._told += told
        while self._told:
            await self._tell(self._told.pop(0))
        await self._tell_people()
        if self._leases.needs_sign_in:
            await self._sign_in()
        elif (idle := self._leases.idle_until()) is not None and idle <= workflow.now():
            await self._keep_alive()

    async def _wait(self) -> None:
        """Wait for a signal, the time to keep the session alive, or, while somebody waits, the time to look again."""
        idle = self._leases.idle_until()
        waits = bool(self._leases.waiting)
        look = timedelta(seconds=self._state.look_every_s)
        left = look if waits else None if idle is None else max(idle - workflow.now(), timedelta(seconds=1))
        try:
            await workflow.wait_condition(
                lambda: self._changed,
                timeout=left,
                timeout_summary="until the runs are looked at again" if waits else "until it is kept alive",
            )
        except TimeoutError:
            if waits:
                await self._look()

    async def _look(self) -> None:
        """Take the session back from runs that have ended without a word."""
        request = LookForRuns(run_ids=self._leases.runs)
        ended = await _asked("site_session.ended", request, EndedRuns, "look whether its runs go on")
        if ended.run_ids:
            self._change(*self._leases.gone(ended.run_ids, workflow.now()))

    async def _tell(self, run_id: str) -> None:
        try:
            await workflow.get_external_workflow_handle(run_id).signal("site_session_answered")
        except FailureError:
            self._change(*self._leases.gone((run_id,), workflow.now()))

    async def _tell_people(self) -> None:
        """Raise the notice of a sign-in that failed. No reason to give nobody the session."""
        failed, self._failed = self._failed, None
        if failed is None:
            return
        try:
            await _asked("site_session.failed", failed, type(None), "tell people that signing in failed", NOTING)
        except ActivityError as error:
            workflow.logger.error("nobody is told that signing in failed: %s", policies.said(error))

    async def _sign_in(self) -> None:
        run_id = self._run_id("sign-in")
        self._change(self._leases.signing(run_id))
        signing = self._leases.signing_in
        assert signing is not None
        if why := await self._begin("sign-in", run_id, signing.number):
            self._change(*self._leases.failed(run_id, why, workflow.now()))

    async def _keep_alive(self) -> None:
        if why := await self._begin("keep-alive", self._run_id("keep"), 0):
            workflow.logger.error("session %s is not kept alive: %s", self._state.name, why)
        self._change(self._leases.model_copy(update={"used_at": workflow.now()}))

    async def _begin(self, kind: Literal["sign-in", "keep-alive"], run_id: str, number: int) -> str:
        state = self._state
        request = BeginRun(
            tenant=state.tenant,
            name=state.name,
            run_id=run_id,
            number=number,
            kind=kind,
            attributes=state.attributes,
        )
        summary = f"start a run that {'signs in' if kind == 'sign-in' else 'keeps it alive'}"
        try:
            return (await _asked("site_session.begin", request, Begun, summary)).why
        except ActivityError as error:
            return policies.said(error)

    def _run_id(self, kind: str) -> str:
        stamp = _stamp(workflow.now())
        return f"{kind}/{self._state.name}/{stamp}-{workflow.uuid4().hex[:6]}"


def _stamp(at: datetime) -> str:
    return f"{at:%Y%m%d-%H%M%S}"


async def _asked(name: str, request: Record, answer: type[_Answer], summary: str, terms: Terms = _ASKING) -> _Answer:
    queue = policies.batch_queue(workflow.info().task_queue)
    return await ask(name, request, answer, terms, activity_id=None, summary=summary, queue=queue)

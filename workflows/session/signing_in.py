"""The run's side of a site session: asking for it, entering it in a new browser, and giving it back."""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.calls import ASKING, Terms, ask
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.step.failures import TaskBlocked, TaskFailed, is_of, rule_behind

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.run.runs import RunResult, SiteSessionUse
    from replaywright.domain.site_session.commands import (
        SIGN_IN_FAILED,
        AskSiteSession,
        EnterSiteSession,
        LeaveSiteSession,
        ReleaseSiteSession,
        SessionEntered,
        not_signed_in,
    )
    from replaywright.domain.trace.search_attributes import SEARCH_ATTRIBUTES
    from replaywright.errors import InputInvalid

_FIRST_WAIT = timedelta(minutes=1)
_LONGEST_WAIT = timedelta(minutes=30)
"""A run that waits asks again after these times: whoever gives the session may have been ended meanwhile."""
VERIFICATION_FAILED = "verification_failed"
"""Reason of a run whose steps are all done, and whose page is not what was to be."""
_RELEASING = Terms(policies.OPENING, total=policies.NOTING_TOTAL)


class SigningIn:
    """Use of one site session by one run; nothing where the task uses none, and the run signs in for nobody."""

    def __init__(self, context: RunContext, browser: Browser) -> None:
        self._context = context
        self._browser = browser
        self._asked = context.state.site_session is not None
        self._asks = 0
        self._enters = 0
        self._waited_s: float | None = None
        self.is_answered = False
        """A signal has told that there is an answer."""

    @property
    def name(self) -> str:
        """Name of the session that the task uses; empty for none."""
        return self._context.run.task.session

    @property
    def is_used(self) -> bool:
        """True if the run is signed in with what somebody else has kept."""
        return bool(self.name)

    async def ask(self, expired: int = 0) -> None:
        """Wait until the run may use the session, or is told why it may not; `expired` is the state found expired.

        Raises:
            TaskFailed: there is no such session.
            TaskBlocked: the task may not use it.
        """
        context = self._context
        wait = _FIRST_WAIT
        known = workflow.info().typed_search_attributes
        names = tuple(each.name for each in SEARCH_ATTRIBUTES if any(pair.key.name == each.name for pair in known))
        while True:
            self.is_answered, self._asked = False, True
            self._asks += 1
            request = AskSiteSession(
                tenant=context.run.tenant,
                name=self.name,
                task=context.run.task.task,
                expired=expired,
                attributes=names,
            )
            await self._told(request, f"session-ask-{self._asks}", f"ask for the session {self.name}")
            context.show(f"waiting for the session {self.name}")
            since = workflow.now()
            try:
                await workflow.wait_condition(
                    lambda: self.is_answered, timeout=wait, timeout_summary=f"until the session {self.name} is free"
                )
            except TimeoutError:
                wait = min(_LONGEST_WAIT, wait * 2)
                context.board.check_stops()
                continue
            finally:
                waited_s = (workflow.now() - since).total_seconds()
                self._waited_s = (self._waited_s or 0.0) + waited_s
                context.budget.leave_out(waited_s)
                context.show("")
            return

    async def enter(self) -> None:
        """Sign the new browser in; have the session signed in anew if the site does not take it.

        Raises:
            TaskFailed: it cannot be signed in.
            ActivityError: the browser was lost.
        """
        if not self.is_used:
            await self._enter_to_sign_in()
            return
        why = ""
        for _ in range(policies.SIGN_INS_PER_STEP):  # others use it, too: it may end between two requests
            entered = await self._entered(self.name)
            if entered.held:
                since = self._context.position if self._context.state.site_session is not None else -1
                use = SiteSessionUse(number=entered.number, digest=entered.digest, since=since)
                if self._context.state.site_session is None or use.number != self._context.state.site_session.number:
                    self._context.change(site_session=use)
                return
            if entered.is_refused:
                raise TaskFailed(SIGN_IN_FAILED, not_signed_in(self.name, entered.why), at_step=False)
            why = entered.why
            await self.ask(expired=entered.number)
        raise TaskFailed(
            SIGN_IN_FAILED,
            not_signed_in(
                self.name,
                f"it was signed in {policies.SIGN_INS_PER_STEP - 1} times, and the site does not take it: {why}; "
                f"look at `signed_in` in the file of sessions",
            ),
            at_step=False,
        )

    async def _enter_to_sign_in(self) -> None:
        """Give the browser of a run that signs in the session's passkeys, if it has any."""
        signs_in = self._context.run.signs_in
        if signs_in is None or not signs_in.passkeys:
            return
        entered = await self._entered(signs_in.name, signs_in=True)
        if entered.is_refused:
            raise TaskFailed(SIGN_IN_FAILED, not_signed_in(signs_in.name, entered.why), at_step=False)

    def state_for(self, checkpoint_at: int) -> str:
        """Return the digest of the state that a checkpoint at this step is restored with; empty for its own."""
        use = self._context.state.site_session
        return use.digest if use is not None and checkpoint_at <= use.since else ""

    async def end(self, result: RunResult | None) -> None:
        """Keep the session as the run leaves it, and give it back; None for a cancelled run. No reason to fail."""
        signs_in, use = self._context.run.signs_in, self._context.state.site_session
        name = self.name if signs_in is None else signs_in.name
        if signs_in is None and not self._asked:
            return
        failed = signs_in is not None and (result is None or not result.succeeded)
        number = signs_in.number if signs_in is not None else 0 if use is None else use.number
        if number and not failed and self._browser.session is not None and not self._browser.is_asleep:
            earlier = "" if use is None else use.digest
            unkept = await self._unkept(name, number, earlier, signs_in=signs_in is not None)
            if not unkept:
                return
        else:
            unkept = _ended(result)
        why = "" if signs_in is None else f"the run {self._context.run_id}, which was to sign in, {unkept}"
        request = ReleaseSiteSession(
            tenant=self._context.run.tenant,
            name=name,
            signs_in=signs_in is not None,
            why=why[:500],
            may_pass=result is not None and result.reason == VERIFICATION_FAILED,
        )
        try:
            await ask(
                "site_session.release",
                request,
                type(None),
                _RELEASING,
                activity_id="session-release",
                summary=f"give back the session {name}",
                queue=policies.batch_queue(workflow.info().task_queue),
            )
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            workflow.logger.warning("session %s not given back: %s", name, error.cause)

    async def _unkept(self, name: str, number: int, earlier: str, *, signs_in: bool) -> str:
        """Keep the state of the live browser; return why that did not work, else empty."""
        request = LeaveSiteSession(
            session=self._browser.ref,
            epoch=self._browser.epoch,
            tenant=self._context.run.tenant,
            name=name,
            number=number,
            earlier=earlier,
            signs_in=signs_in,
        )
        try:
            await self._browser.call(
                "site_session.leave",
                request,
                type(None),
                activity_id="session-leave",
                summary=f"keep the session {name}",
                limit=policies.OPEN_LIMIT,
                retry_policy=policies.RESTORING,
            )
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            workflow.logger.warning("session %s not kept: %s", name, error.cause)
            return f"has ended, and its state could not be kept: {policies.said(error)}"
        return ""

    async def _entered(self, name: str, *, signs_in: bool = False) -> SessionEntered:
        self._enters += 1
        request = EnterSiteSession(
            session=self._browser.ref,
            epoch=self._browser.epoch,
            tenant=self._context.run.tenant,
            name=name,
            signs_in=signs_in,
            waited_s=self._waited_s,
        )
        self._waited_s = None
        self._context.show(f"signing in with the session {name}")
        try:
            return await self._browser.call(
                "site_session.enter",
                request,
                SessionEntered,
                activity_id=f"session-enter-{self._enters}-e{self._browser.epoch}",
                summary=f"sign in with the session {name}",
                limit=policies.OPEN_LIMIT,
                retry_policy=policies.RESTORING,
            )
        except ActivityError as error:
            if policies.is_loss(error) or isinstance(error.cause, CancelledError):
                raise
            raise TaskFailed(SIGN_IN_FAILED, not_signed_in(name, policies.said(error)), at_step=False) from error

    async def _told(self, request: Record, activity_id: str, summary: str) -> None:
        queue = policies.batch_queue(workflow.info().task_queue)
        try:
            await ask(
                "site_session.ask", request, type(None), ASKING, activity_id=activity_id, summary=summary, queue=queue
            )
        except ActivityError as error:
            if rule := rule_behind(error):
                raise TaskBlocked(rule, policies.said(error), at_step=False) from error
            if not is_of(error, InputInvalid.__name__):
                raise
            raise TaskFailed(InputInvalid.__name__, policies.said(error), at_step=False) from error


def _ended(result: RunResult | None) -> str:
    """Say how a run ended that has nothing to keep."""
    if result is None:
        return "was cancelled"
    said = result.message or result.reason
    return f"has failed{f': {said}' if said else ''}"

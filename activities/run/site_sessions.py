"""Site sessions away from the browser: asking for one, signing it in by a run, and giving it back."""

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.common import (
    AutoUpgradeVersioningOverride,
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from activities.policing import as_failure
from activities.vault import Vault
from replaywright.domain.common.urls import site_of
from replaywright.domain.notice.notices import of_sign_in
from replaywright.domain.run.runs import RunInput, SignsIn
from replaywright.domain.secrets.signing import Signer
from replaywright.domain.secrets.starts import MAC, sign_start
from replaywright.domain.site_session.commands import (
    SIGNS_IN,
    WORKFLOW,
    Asked,
    AskSiteSession,
    BeginRun,
    Begun,
    EndedRuns,
    LookForRuns,
    ReleaseSiteSession,
    Returned,
    SignInFailed,
    SiteSessionState,
    workflow_id,
)
from replaywright.domain.site_session.definitions import Definition
from replaywright.domain.site_session.leases import LeaseTerms
from replaywright.domain.task.questions import WAITS
from replaywright.domain.task.tasks import bind_parameters, parse_task
from replaywright.domain.trace.search_attributes import MODE, SITE, SKILL, STATUS, TASK, TENANT
from replaywright.errors import InputInvalid, PolicyBlocked
from replaywright.observing import observer
from replaywright.ports.people import Announcing
from replaywright.ports.stores import DeclaredSessions

_log = logging.getLogger("replaywright.site_sessions")

_TASK_TIMEOUT: Final = timedelta(seconds=5)
RUN: Final = "BrowserTask"
NO_KEYS: Final = (
    "a signed-in state is kept encrypted only: set REPLAYWRIGHT_ARTIFACT_KEYS for the workers "
    "(`replaywright admin keys new`)"
)


class SiteSessionActivities:
    """Activities `site_session.ask`, `.begin`, `.failed`, `.ended` and `.release`."""

    def __init__(
        self,
        declared: DeclaredSessions,
        vault: Vault,
        signer: Signer,
        *,
        queue: str,
        tenant: str,
        is_sealed: bool,
        versioned: bool = False,
        notices: Announcing | None = None,
    ) -> None:
        """`queue` is that of the workflows; `is_sealed` says that artifacts are encrypted."""
        self._declared = declared
        self._vault = vault
        self._signer = signer
        self._queue = queue
        self._tenant = tenant
        self._is_sealed = is_sealed
        self._notices = notices
        self._override = AutoUpgradeVersioningOverride() if versioned else None

    @activity.defn(name="site_session.ask")
    async def ask(self, request: AskSiteSession) -> None:
        """Ask the workflow of the session for a lease in the name of the run, which hears when there is an answer.

        Repeated, it changes nothing.

        Raises:
            ApplicationError: of type `PolicyBlocked`: the task may not use it, or the run's start is not signed. Of
                type `InputInvalid`: there is no such session, or nothing encrypts what is kept of it.
        """
        try:
            definition = await asyncio.to_thread(self._declared.definition, request.name)
            await self._vault.require_signed()
        except PolicyBlocked as exc:
            raise as_failure(exc) from exc
        if request.tenant != self._tenant:
            raise InputInvalid(f"session {request.name!r}: this worker's sessions are those of another tenant")
        if not self._is_sealed:
            raise InputInvalid(f"session {request.name!r}: {NO_KEYS}")
        if not definition.may_use(request.task):
            allowed = ", ".join(definition.tasks)
            message = f"the task {request.task!r} may not use the session {request.name!r}; those that may: {allowed}"
            raise as_failure(PolicyBlocked(message, rule="sessions"))
        terms = LeaseTerms(
            shared=definition.shared, keep_alive_s=definition.keep_alive_s, max_age_s=definition.max_age_s
        )
        asked = Asked(run_id=own_run_id(), expired=request.expired, terms=terms)
        await begin_site_session(
            activity.client(),
            SiteSessionState(tenant=self._tenant, name=request.name, attributes=request.attributes),
            queue=self._queue,
            override=self._override,
            start_signal="ask",
            start_signal_args=[asked],
        )

    @activity.defn(name="site_session.begin")
    async def begin(self, request: BeginRun) -> Begun:
        """Start the run that signs in, or keeps the session alive. Repeated, it is started once."""
        try:
            definition = await asyncio.to_thread(self._declared.definition, request.name)
            given = await asyncio.to_thread(self._input, request, definition)
        except InputInvalid as exc:
            return Begun(why=str(exc))
        client = activity.client()
        sent = json.loads(client.data_converter.payload_converter.to_payload(given).data)
        mac = sign_start(self._signer, kind=RUN, run_id=request.run_id, given=sent)
        task = given.named or given.task.task
        memo = {"task": task, "tenant": self._tenant, WAITS: "", "lineage": request.run_id}
        if request.kind == "sign-in":
            memo[SIGNS_IN] = request.name
        what = "signs in" if request.kind == "sign-in" else "keeps signed in"
        try:
            await client.start_workflow(
                RUN,
                given,
                id=request.run_id,
                task_queue=self._queue,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
                task_timeout=_TASK_TIMEOUT,
                static_summary=f"{what}: session {request.name}",
                memo=memo | ({MAC: mac} if mac else {}),
                search_attributes=_attributes(request, given, definition),
            )
        except WorkflowAlreadyStartedError:  # an earlier try of this activity
            return Begun()
        return Begun()

    def _input(self, request: BeginRun, definition: Definition) -> RunInput:
        url = definition.signed_in.url
        if request.kind == "keep-alive":
            keeps: dict[str, Any] = {"task": f"keep-{request.name}"[:63], "session": request.name, "url": url}
            keeps |= {"steps": [{"action": "goto", "url": url}]}
            return RunInput(task=parse_task(keeps, f"session {request.name}"), tenant=self._tenant)
        signs_in = SignsIn(name=request.name, number=request.number, passkeys=definition.passkeys)
        if definition.skill:
            stands_for = {"task": definition.skill, "url": url, "steps": [{"action": "goto", "url": url}]}
            return RunInput(
                task=parse_task(stands_for, f"session {request.name}"),
                values=definition.values,
                tenant=self._tenant,
                named=definition.skill,
                signs_in=signs_in,
            )
        task = self._declared.sign_in_task(definition)
        if task.session:
            raise InputInvalid(f"session {request.name!r}: the task that signs in cannot use a session itself")
        values = bind_parameters(task, definition.values, place=f"sessions.{request.name}.values.")
        return RunInput(task=task, values=values, tenant=self._tenant, signs_in=signs_in)

    @activity.defn(name="site_session.failed")
    async def failed(self, request: SignInFailed) -> None:
        """Raise the notice that a sign-in failed. Repeated, it counts once.

        Raises:
            RPCError: Temporal does not take it.
        """
        _log.error("session %s: signing in failed: %s", request.name, request.why)
        observer().signed_in(request.name, ok=False)
        if self._notices is not None:
            await self._notices.tell(of_sign_in(request, self._tenant, datetime.now(UTC)))

    @activity.defn(name="site_session.ended")
    async def ended(self, request: LookForRuns) -> EndedRuns:
        """Say which of the runs do not go on. Touches nothing.

        Raises:
            RPCError: Temporal does not say.
        """
        return EndedRuns(run_ids=tuple([run_id for run_id in request.run_ids if await _has_ended(run_id)]))

    @activity.defn(name="site_session.release")
    async def release(self, request: ReleaseSiteSession) -> None:
        """Give a lease back without a state: the browser is gone, or the run never had one."""
        await give_back(
            activity.client(),
            self._tenant,
            request.name,
            Returned(run_id=own_run_id(), signs_in=request.signs_in, why=request.why, may_pass=request.may_pass),
        )


def own_run_id() -> str:
    """Return the id of the run that the present activity is of; what a request says of that might be anybody's."""
    return activity.info().workflow_id or ""


async def begin_site_session(
    client: Client,
    state: SiteSessionState,
    *,
    queue: str,
    override: AutoUpgradeVersioningOverride | None,
    **signal: Any,
) -> None:
    """Send a signal to the workflow of a site session, which is begun if need be.

    Raises:
        RPCError: Temporal does not take it.
    """
    await client.start_workflow(
        WORKFLOW,
        state,
        id=workflow_id(state.tenant, state.name),
        task_queue=queue,
        id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
        static_summary=f"session {state.name}: who may use it, and who signs in",
        versioning_override=override,
        **signal,
    )


async def give_back(client: Client, tenant: str, name: str, returned: Returned) -> None:
    """Tell the workflow of a site session that a run is through with it.

    Raises:
        RPCError: Temporal does not take it.
    """
    try:
        await client.get_workflow_handle(workflow_id(tenant, name)).signal("give_back", returned)
    except RPCError as exc:
        if exc.status is not RPCStatusCode.NOT_FOUND:
            raise
        _log.warning("session %s has no workflow any more: nothing to give back", name)


async def _has_ended(run_id: str) -> bool:
    try:
        description = await activity.client().get_workflow_handle(run_id).describe()
    except RPCError as exc:
        if exc.status is not RPCStatusCode.NOT_FOUND:
            raise
        return True
    return description.status is not WorkflowExecutionStatus.RUNNING


def _attributes(request: BeginRun, given: RunInput, definition: Definition) -> TypedSearchAttributes:
    """Return the search attributes of the run: those that its namespace knows."""
    values = {
        SITE: site_of(definition.signed_in.url).partition("://")[2] or "-",
        TASK: given.named or given.task.task,
        SKILL: given.named or "-",
        MODE: given.mode.value,
        STATUS: "running",
        TENANT: given.tenant,
    }
    pairs = [
        SearchAttributePair(SearchAttributeKey.for_keyword(attribute.name), value)
        for attribute, value in values.items()
        if attribute.name in request.attributes
    ]
    return TypedSearchAttributes(pairs)

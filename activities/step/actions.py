"""One browser action as one activity: resolve, run, record."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.heartbeats import heartbeats
from activities.policing import Policing, as_failure
from activities.session.checkpoints import Checkpoints, with_checkpoint
from activities.session.sessions import Attachment, Attachments, Awaited
from activities.step.downloads import keep_downloads, not_kept
from activities.step.failures import FailureEvidence
from activities.step.performance import Performance
from activities.step.records import answered_line, from_ledger, standing_of
from activities.step.step_pictures import StepPictures
from activities.vault import Vault
from replaywright.domain.common.templates import fill, secrets_in, totps_in
from replaywright.domain.common.totp import totp_of
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.run.redacted import redacted_snapshot
from replaywright.domain.run.runs import AWAIT, UNTOUCHED, ActionRequest
from replaywright.domain.secrets.secret_sites import BoundSecret, own_site
from replaywright.domain.step.outcomes import UNWITNESSED, StepOutcome
from replaywright.domain.step.overrides import OverrideRule, host_of
from replaywright.domain.task.actions import Action
from replaywright.domain.task.questions import CODE_LOST, CODE_NAME
from replaywright.domain.task.steps import Fill, Paste, Type
from replaywright.errors import (
    ActionFailed,
    ArtifactsUnavailable,
    CodeLost,
    DoneElsewhere,
    Fenced,
    PolicyBlocked,
    SessionLost,
    StoreUnavailable,
)
from replaywright.killpoints import hit
from replaywright.ports import (
    Artifacts,
    Codes,
    Intent,
    Known,
    Overrides,
    Recording,
    Report,
    Secrets,
    StepStore,
    Work,
)

_log = logging.getLogger("replaywright.actions")

RECORD_TRIES = 4
"""Writing an outcome is tried this often; then the outcome goes to Temporal alone."""
TAKE_OVERS = 3
"""How often an intent is tried anew because another step of the lineage had its act, of which nothing came."""
ANSWER_S = 5.0
"""How long a step whose request has left is given to hear what came of it when its run is cancelled."""
RECORD_PAUSE_S = 0.2
"""Pause before the second try; each further one is twice as long."""


@dataclass(frozen=True)
class Entered:
    """What a step enters into fields and prompts; never kept, never told."""

    text: str = field(repr=False)
    dialog_text: str | None = field(repr=False)
    secrets: tuple[BoundSecret, ...]
    """Those in `text`."""
    dialog_secrets: tuple[BoundSecret, ...]


class Actions:
    """Activities `browser.<action>`."""

    def __init__(
        self,
        attachments: Attachments,
        store: StepStore,
        artifacts: Artifacts,
        vault: Vault,
        overrides: Overrides | None = None,
        *,
        pictures: bool = False,
        checkpoint_pause_s: float = 0,
        codes: Codes | None = None,
        policing: Policing | None = None,
    ) -> None:
        """Without `overrides` there are no rules, and without `codes` no step gets one from a person.

        With `pictures` a failure leaves one for the planner as well; for `checkpoint_pause_s` see `Checkpoints`.
        """
        self.policing = policing or Policing()
        self._overrides = overrides
        self._attachments = attachments
        self._store = store
        self._artifacts = artifacts
        self._vault = vault
        secrets = self._secrets = vault.secrets
        self._codes = codes
        self.failures = FailureEvidence(artifacts, secrets, pictures=pictures)
        self.checkpoints = Checkpoints(artifacts, vault, pause_s=checkpoint_pause_s)
        self.pictures = StepPictures(store, artifacts, secrets)

    def activities(self) -> list[Callable[..., Awaitable[Any]]]:
        """All of them, one activity type per browser action, so that a run reads like a script in Temporal's UI."""
        return [self._named(f"browser.{action}") for action in Action] + [self._named(AWAIT)]

    def _named(self, name: str) -> Callable[[ActionRequest], Awaitable[StepOutcome]]:
        @activity.defn(name=name)
        async def perform(request: ActionRequest) -> StepOutcome:
            return await self.performed(request)

        return perform

    async def performed(self, request: ActionRequest) -> StepOutcome:
        """`perform_action` as an activity: what it raises tells the workflow what it has to know."""
        try:
            return await self.perform_action(request)
        except SessionLost as exc:
            if not exc.untouched:
                raise
            raise ApplicationError(str(exc), UNTOUCHED, type=type(exc).__name__) from exc
        except PolicyBlocked as exc:
            raise as_failure(exc) from exc

    async def perform_action(self, request: ActionRequest) -> StepOutcome:
        """Return the recorded outcome of this step, or perform it, verify it and record it.

        Promise on a retry: a step whose outcome was recorded is never performed again; a commit step whose intent
        was recorded without an outcome comes back as `in_doubt`, untouched. A miss or an unmet expectation is an
        outcome, not an error.

        Raises:
            SessionLost: the browser is gone, or a newer attempt owns it.
            StoreUnavailable: the ledger cannot be read; nothing was done.
        """
        async with heartbeats(f"step {request.sequence}"):
            performance = None
            try:
                held = await self._attachments.hold(request.session, request.epoch)
                async with held.busy:
                    held.document = held.document or held.browser.document
                    await self.pictures.before(request, held)
                    waiting, held.waiting = held.waiting, None
                    if request.awaited is not None:
                        outcome = await self._awaited(request, waiting)
                    elif request.recheck is None:
                        performance = Performance(self, request, held)
                        outcome = await _to_its_end(performance)
                    else:
                        outcome = await self._rechecked(request, held)
                    outcome = with_checkpoint(outcome, await self.checkpoints.taken(held))
                    outcome = await self.checkpoints.after(request, held, outcome)
                    self.pictures.after(request, held, outcome)
                hit("returned", request.sequence)
                return outcome
            except SessionLost as exc:
                # A fence may have come because of what an earlier attempt did: that is looked into.
                begun = performance is not None and not performance.is_untouched
                exc.untouched = not (begun or isinstance(exc, Fenced))
                await self._attachments.drop(request.session.session_id, request.epoch)
                raise

    async def _awaited(self, request: ActionRequest, waiting: Awaited | None) -> StepOutcome:
        """The step's outcome when its request has been waited for; in doubt if another process performed it."""
        assert request.awaited is not None
        if waiting is not None:
            return await waiting.awaited(request)
        known = await self.known_of(request, request.fingerprint)
        if known.outcome is not None:
            return await self.answered(request, known.outcome)
        return request.awaited.model_copy(update={"reason": UNWITNESSED})

    async def _rechecked(self, request: ActionRequest, held: Attachment) -> StepOutcome:
        """The step's outcome by now: what was recorded, what shows when its page is looked at again, or as before."""
        assert request.recheck is not None
        unmet, held.unmet = held.unmet, None
        if unmet is None:  # the process that performed the step is gone, or this is a second try after the first ended
            known, _ = await self.look_up(request, "", held)
            return request.recheck if known.outcome is None else await self.answered(request, known.outcome)
        return await unmet.looked_again(request)

    async def write(self, recording: Recording) -> Known:
        """Record an outcome, trying again for a while; without a store the outcome goes to Temporal alone."""
        for attempt in range(RECORD_TRIES):
            try:
                return await self._store.record(recording)
            except StoreUnavailable as exc:
                if attempt == RECORD_TRIES - 1:
                    _log.warning("step %d of %s is not recorded: %s", recording.sequence, recording.lineage, exc)
                    return Known()
                await asyncio.sleep(RECORD_PAUSE_S * 2**attempt)
        raise AssertionError("unreachable")

    async def trace(self, request: ActionRequest, line: dict[str, Any]) -> None:
        """Add a line to the run's trace, if the store takes it."""
        try:
            await self._store.append_trace(tenant=request.tenant, lineage=request.lineage, line=line)
        except StoreUnavailable as exc:
            _log.warning("a line on step %d of %s is not in the trace: %s", request.sequence, request.lineage, exc)

    async def look_up(self, request: ActionRequest, key: str, held: Attachment) -> tuple[Known, int]:
        """What the store knows before this step, and the round trips it took: none when it was fetched ahead."""
        known = held.prefetched.pop((request.fingerprint, key), None)
        if known is not None and not request.recovered and activity.info().attempt == 1:
            return known, 0
        known = await self._store.look_up(
            tenant=request.tenant,
            lineage=request.lineage,
            run_id=request.lineage,
            fingerprint=request.fingerprint,
            content_key=key,
        )
        return known, 1

    async def intend(self, request: ActionRequest, held: tuple[int, ...] | None) -> Known:
        """Write the intent of a commit step, and which of its expectations `held` before; None: that is not known.

        All tries under one epoch are one attempt: the workflow makes another one only when the one before came back
        without having dispatched. So an intent that the store took after its writer had given up waiting is not
        somebody else's. Where the lineage has the same act under another fingerprint, the step takes it over if nothing
        came of it there, if it turned out to be harmless, or if a person wants it done again.

        Raises:
            DoneElsewhere: it was done, or nobody knows.
        """
        intent = Intent(
            tenant=request.tenant,
            lineage=request.lineage,
            fingerprint=request.fingerprint,
            epoch=request.epoch,
            attempt=_attempt(request),
            held=held,
            act=request.act,
            over=request.redo,
        )
        for _ in range(TAKE_OVERS):
            try:
                return await self._store.intend(intent)
            except DoneElsewhere as exc:
                known = await self.known_of(request, exc.fingerprint)
                if standing_of(known) != "":
                    raise
                intent = intent.model_copy(update={"over": exc.fingerprint})
        raise Fenced(f"step {request.sequence}: others take over its act all the time")

    async def known_of(self, request: ActionRequest, fingerprint: str) -> Known:
        """What the ledger has of another step of this lineage."""
        return await self._store.look_up(
            tenant=request.tenant, lineage=request.lineage, run_id="", fingerprint=fingerprint, content_key=""
        )

    async def answered(self, request: ActionRequest, outcome: StepOutcome) -> StepOutcome:
        """The recorded outcome of the step, as it is told; it leaves a line in the trace, too."""
        told = from_ledger(outcome)
        await self.trace(request, answered_line(request, told))
        return told

    async def dispatch(self, request: ActionRequest) -> None:
        """Ask the ledger whether the bytes of a commit step may leave now.

        Raises:
            Fenced: they may not.
        """
        await self._store.dispatch(
            tenant=request.tenant,
            lineage=request.lineage,
            fingerprint=request.fingerprint,
            epoch=request.epoch,
            attempt=_attempt(request),
        )

    async def release(self, request: ActionRequest, who: str) -> None:
        """Take back an intent that definitely led to nothing, under the next epoch: this attempt is over.

        Without a store the intent stays open, and a later run of this lineage has to ask whether it took effect.
        """
        scope = {"tenant": request.tenant, "lineage": request.lineage, "fingerprint": request.fingerprint}
        try:
            await self._store.fence(**scope, epoch=request.epoch + 1)
            await self._store.settle(**scope, epoch=request.epoch + 1, state="NOT_DONE", who=who)
        except StoreUnavailable as exc:
            _log.warning("the intent of step %d of %s stays open: %s", request.sequence, request.lineage, exc)

    async def keep_snapshot(self, snapshot: Snapshot | None) -> str:
        """Store a snapshot, secrets removed; its digest, or "" when there is none or no place for it."""
        if snapshot is None:
            return ""
        text = redacted_snapshot(snapshot, self._secrets).model_dump_json(by_alias=True)
        try:
            return await self._artifacts.put(text.encode())
        except ArtifactsUnavailable as exc:
            _log.warning("the snapshot of %r is not kept: %s", snapshot.url, exc)
            return ""

    async def keep_files(self, report: Report, held: Attachment) -> Report:
        """The report with what was downloaded as evidence: each file is an artifact, or its verdict says why not."""
        if not report.downloads:
            return report
        files = await keep_downloads(report, held.browser, self._artifacts)
        evidence = report.evidence.model_copy(update={"files": tuple(files)})
        return replace(report, evidence=evidence, after=(*report.after, *not_kept(files)))

    async def rules_for(self, request: ActionRequest, url: str) -> tuple[OverrideRule, ...]:
        """The rules that may be due on the page at `url`: none for a step that is itself of a rule."""
        if self._overrides is None or request.override or "*" in request.spent:
            return ()
        rules = await self._overrides.rules(request.tenant, host_of(url))
        return tuple(rule for rule in rules if rule.when is not None and rule.name not in request.spent)

    async def entered(self, request: ActionRequest) -> Entered:
        """What the step enters, secrets resolved, and where these may be entered.

        Raises:
            PolicyBlocked: the run's start is not signed: it gets no secret.
            SecretMissing: one has no value here, or nobody can tell where it belongs.
        """
        step = request.step
        text = step.value if isinstance(step, Fill | Type | Paste) else ""
        prompt = step.dialog_text
        bound = {name: self._bound(name) for name in secrets_in(text) | secrets_in(prompt or "")}
        values = {name: await self._vault.value(name) for name in sorted(bound)}
        codes = {name: await self._one_time(name, values[name]) for name in totps_in(text) | totps_in(prompt or "")}
        given = (request.values, values.__getitem__, codes.__getitem__)
        return Entered(
            text=fill(text, *given),
            dialog_text=None if prompt is None else fill(prompt, *given),
            secrets=tuple(bound[name] for name in sorted(secrets_in(text))),
            dialog_secrets=tuple(bound[name] for name in sorted(secrets_in(prompt or ""))),
        )

    async def _one_time(self, name: str, value: str) -> str:
        """The one-time password of now, or of the next period if this one is nearly over; redacted from now on."""
        totp = totp_of(name, value)
        await asyncio.sleep(totp.wait_s(time.time()))
        code = totp.at(time.time())
        self._secrets.remember(name, code)
        return code

    def _bound(self, name: str) -> BoundSecret:
        return BoundSecret(name, self._secrets.domains(name))

    def _bound_code(self, request: ActionRequest) -> BoundSecret:
        """A code is bound by the person who gives it: to the site that the task begins at, unless hosts are named."""
        return BoundSecret(CODE_NAME, self._secrets.domains(CODE_NAME) or own_site(request.site))

    async def coded(self, request: ActionRequest, work: Work) -> Work:
        """The work with the code that a person gave for the step, if one did: redacted from now on.

        Raises:
            ActionFailed: it cannot be read any more; nothing was done.
            PolicyBlocked: the run's start is not signed: it gets no code.
            StoreUnavailable: it cannot be read at the moment.
        """
        if request.code is None:
            return work
        if self._codes is None:
            raise ActionFailed(CODE_LOST, "this worker has no keys of codes", dispatched=False)
        await self._vault.require_signed()
        try:
            text = await self._codes.read(
                tenant=request.tenant, run_id=request.run_id, question=request.code.question, sealed=request.code.sealed
            )
        except CodeLost as exc:
            raise ActionFailed(CODE_LOST, str(exc), dispatched=False) from exc
        self._secrets.remember(CODE_NAME, text)
        return replace(work, text=text, sensitive=True, secrets=(self._bound_code(request),))

    async def forget_code(self, request: ActionRequest) -> None:
        """The code is entered: nobody needs it any more. Without a store its key goes when its time is over."""
        if request.code is None or self._codes is None:
            return
        try:
            await self._codes.forget(tenant=request.tenant, run_id=request.run_id, question=request.code.question)
        except StoreUnavailable as exc:
            _log.warning("the key of question %s is not deleted yet: %s", request.code.question, exc)

    @property
    def secrets(self) -> Secrets:
        """The secrets of this worker."""
        return self._secrets


async def _to_its_end(performance: Performance) -> StepOutcome:
    """What came of the step. A cancel does not break it off once its request has left, unless that takes long.

    Its answer tells what the cancelled run has done; without it the step would be in doubt.
    """
    performing = asyncio.create_task(performance.outcome())
    try:
        return await asyncio.shield(performing)
    except asyncio.CancelledError:
        details = activity.cancellation_details() if activity.in_activity() else None
        if performance.has_left and details is not None and details.cancel_requested:
            await asyncio.wait({performing}, timeout=ANSWER_S)
        if performing.done() and not performing.cancelled():
            return performing.result()
        performing.cancel()
        await asyncio.gather(performing, return_exceptions=True)  # told below
        raise


def _attempt(request: ActionRequest) -> str:
    return f"{activity.info().workflow_run_id}/{request.epoch}"

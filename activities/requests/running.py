"""A task done by its requests over HTTP, without a page: ledger, policy and answers as for one done by its page."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from temporalio import activity

from activities.heartbeats import Beats, heartbeats
from activities.policing import Policing, as_failure
from activities.vault import Vault
from replaywright.domain.common.templates import secrets_in
from replaywright.domain.common.urls import origin_of
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.requests.commands import BY_REQUESTS, WITHOUT_PAGE, RequestsRun, RunRequests
from replaywright.domain.requests.exchanges import Request, SiteResponse
from replaywright.domain.requests.recipes import GivenText, Recipe, RecipeCall
from replaywright.domain.requests.replaying import Replaying, Unexpected, unfit_values
from replaywright.domain.requests.sketching import VERIFICATION
from replaywright.domain.run.redacted import Redacts, redacted_outcome
from replaywright.domain.secrets.secret_sites import BoundSecret, refusal
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.step.fingerprints import fingerprint
from replaywright.domain.step.outcomes import Departure, Evidence, Status, StepOutcome, UnsafeRequest
from replaywright.domain.task.actions import Effect
from replaywright.domain.trace.trace import input_of, step_line
from replaywright.errors import (
    DoneElsewhere,
    Fenced,
    PolicyBlocked,
    RequestInDoubt,
    RequestNotSent,
    SecretMissing,
    StoreUnavailable,
)
from replaywright.killpoints import enter, hit
from replaywright.ports.http import SiteClient, SiteClients
from replaywright.ports.ledger import Intent, Recording, StepStore
from replaywright.ports.recipes import RecipeStore

_log = logging.getLogger("replaywright.requests")

_OPEN = frozenset({408})
"""Answers below 500 that leave open if the request took effect (RFC 9110 section 15)."""
_REQUEST_S = 30.0
"""Time limit of one request with its redirects."""
_MARGIN_S = 5.0
"""Time left for the store when a request has taken its own."""

_SHOWN_S = 5.0
"""Time that a site is given to show what it has accepted."""
_AGAIN_S = 0.2


_LOST = "the worker was lost"


class _NeedsPage(Exception):
    """The rest is for the page; the message says why."""


@dataclass(frozen=True, eq=False)
class RequestActivities:
    """Activity `requests.run`."""

    store: StepStore
    recipes: RecipeStore
    clients: SiteClients
    own: NetworkPolicy
    """Servers of ours, which no site may name."""
    vault: Vault
    policing: Policing = field(default_factory=Policing)

    @activity.defn(name="requests.run")
    async def run_requests(self, request: RunRequests) -> RequestsRun:
        """Do a task by its requests, as far as the site answers as it did when they were learned.

        A step with consequences is sent once, after its intent was written and the ledger has let it go. Whatever is
        unexpected before that is for the page; after that, for whoever resolves the step.

        Raises:
            ApplicationError: of type `PolicyBlocked`: a rule forbids a host of it; nothing with consequences was sent.
        """
        async with heartbeats("sending requests") as beats:
            return await self._answered(request, beats)

    async def _answered(self, request: RunRequests, beats: Beats) -> RequestsRun:
        try:
            known = await self.recipes.known(tenant=request.tenant, key=request.requests.key)
        except StoreUnavailable as error:
            return RequestsRun(status="page", reason=str(error))
        if known.recipe is None:
            return RequestsRun(status="page")
        if name := unfit_values(known.recipe, request.requests.values):
            return RequestsRun(status="page", reason=f"no run through the page has had such a value of {{{{{name}}}}}")
        try:
            secrets = await self._secrets(request, known.recipe)
            own = {"own": self.own.own, "own_networks": self.own.own_networks}
            network = self.policing.network(request.network).model_copy(update=own)
            async with self.clients.open(network, timeout_s=_REQUEST_S) as client:
                sending = _Sending(self, request, known.recipe, client, secrets, beats=beats)
                return await sending.result()
        except (_NeedsPage, SecretMissing) as error:
            return RequestsRun(status="page", reason=str(error))
        except PolicyBlocked as error:
            raise as_failure(error) from error

    @activity.defn(name="requests.lost")
    async def lost_requests(self, request: RunRequests) -> RequestsRun:
        """Return the outcomes up to the step with consequences that a lost attempt may have sent.

        Unless the ledger has its outcome, or has certainly not let it go, that step is in doubt.

        Raises:
            StoreUnavailable: nobody can tell at the moment.
        """
        known = await self.recipes.known(tenant=request.tenant, key=request.requests.key)
        recipe = known.recipe
        if recipe is None or recipe.commit < 0:
            return RequestsRun(status="page", reason=_LOST)
        done = await self._done_before(request, recipe.calls[recipe.commit].step)
        marks = _Marks(request)
        mark = marks.next()
        for outcome in done:
            mark = marks.next(outcome)
        where = {"tenant": request.tenant, "lineage": request.lineage, "fingerprint": mark}
        if await self._never_left(request, where):
            return RequestsRun(status="page", reason="the worker was lost before the request left it")
        recorded = (await self.store.look_up(**where, run_id="", content_key="")).outcome
        doubtful = StepOutcome(status=Status.IN_DOUBT, reason="worker_lost", fingerprint=mark, effect=Effect.COMMIT)
        return RequestsRun(status="open", reason=_LOST, outcomes=(*done, recorded or doubtful))

    async def _never_left(self, request: RunRequests, where: Mapping[str, str]) -> bool:
        """Tell if the ledger has lost nothing, and has not let the request go; from now on it never does.

        Every request with consequences asks it right before its first byte.
        """
        if not request.witness:
            return False
        epoch = request.epoch + 1
        try:
            before = await self.store.fence(**where, epoch=epoch)
        except Fenced:
            return False
        may_have_left = before.state not in ("", "NOT_DONE", "INTENT") or before.late is not None
        lineage = {"tenant": request.tenant, "lineage": request.lineage}
        if may_have_left or not await self.store.is_whole(**lineage, witness=request.witness):
            return False
        await self.store.settle(**where, epoch=epoch, state="NOT_DONE", who="ledger: it has let nothing go")
        return True

    async def _done_before(self, request: RunRequests, step: int) -> list[StepOutcome]:
        """Return the outcomes of the steps before the one with consequences: what they read is in the trace."""
        lines = await self.store.trace(tenant=request.tenant, lineage=request.lineage)
        own = [line for line in lines if (line.get("runId"), line.get("attempt")) == (request.run_id, BY_REQUESTS)]
        read = {line["sequence"]: line.get("extracted", {}) for line in own}
        return [
            StepOutcome(status=Status.DONE, reason=BY_REQUESTS, extracted=read.get(index, {})) for index in range(step)
        ]

    async def _secrets(self, request: RunRequests, recipe: Recipe) -> Mapping[str, "_Secret"]:
        named = {name for call in recipe.calls for name in _secrets_of(call)}
        if unknown := named - set(request.requests.secrets):
            raise _NeedsPage(f"its requests name the secret {min(unknown)!r}, which the task does not")
        return {
            name: _Secret(BoundSecret(name, self.vault.domains(name)), await self.vault.value(name))
            for name in sorted(named)
        }


@dataclass(frozen=True)
class _Secret:
    bound: BoundSecret
    value: str = field(repr=False)


class _Marks:
    """Fingerprints of the steps, one after the other."""

    def __init__(self, request: RunRequests) -> None:
        self._request = request
        self._steps = iter(request.requests.plan)
        self._previous = ""

    def next(self, after: StepOutcome | None = None) -> str:
        """Return the fingerprint of the next step `after` the outcome of the one before, which is done if not given."""
        outcome = after or StepOutcome(status=Status.DONE)
        before = outcome.digest if self._previous else ""
        self._previous = fingerprint(next(self._steps), self._request.requests.values, self._previous, before)
        return self._previous


def _secrets_of(call: RecipeCall) -> frozenset[str]:
    return frozenset().union(
        *(
            secrets_in(source.template)
            for slot in call.slots
            for source in slot.sources
            if isinstance(source, GivenText)
        )
    )


class _Sending:
    """One run of a recipe."""

    def __init__(
        self,
        tools: RequestActivities,
        request: RunRequests,
        recipe: Recipe,
        client: SiteClient,
        secrets: Mapping[str, _Secret],
        *,
        beats: Beats,
    ) -> None:
        self._store = tools.store
        self._beats = beats
        self._request = request
        self._recipe = recipe
        self._client = client
        self._secrets = secrets
        self._hides: Redacts = tools.vault.secrets
        values = request.requests.values
        self._steps = [filled_step(step, values) for step in request.requests.plan]
        self._replaying = Replaying(recipe, values, lambda name: secrets[name].value, client.cookie)
        self._begun = time.perf_counter()
        limit = activity.info().start_to_close_timeout
        self._over = self._begun + (limit.total_seconds() if limit else float("inf"))
        self._outcomes: list[StepOutcome] = []
        self._told = 0
        """Steps whose lines are in the trace."""
        self._marks = _Marks(request)
        self._mark = self._marks.next()
        self._sent = 0
        self._leaving: Request | None = None
        """The request with consequences, once its turn has come."""
        self._departed: list[float] = []
        """Time at which the ledger has let it go."""

    async def result(self) -> RequestsRun:
        """Return what came of it, also where the run is ended when the request with consequences has left."""
        try:
            return await self._result()
        except asyncio.CancelledError:
            if self._leaving is None or not self._departed:
                raise
            why = "the run was ended"
            ended = self._for_page(why)
            return ended if ended.outcomes else self._in_doubt(self._leaving, why, self._departed)

    async def _result(self) -> RequestsRun:
        calls, commit = self._recipe.calls, self._recipe.commit
        for index, call in enumerate(calls):
            if index == commit:
                if (open_run := await self._committed(call, calls[index + 1 :])) is not None:
                    return open_run
                continue
            if commit >= 0 and index > commit and call.step == calls[commit].step:
                continue
            try:
                await self._sent_safely(call)
            except (Unexpected, _NeedsPage, RequestNotSent, RequestInDoubt) as error:
                return self._for_page(str(error))
            except PolicyBlocked as error:
                if index < commit or commit < 0:
                    raise
                return self._for_page(str(error))
        try:
            self._pass_until(len(self._steps))
            verification = self._verified()
        except Unexpected as error:
            return self._for_page(str(error))
        await self._trace(is_over=True)
        return RequestsRun(
            status="done",
            outcomes=tuple(self._outcomes),
            verification=verification,
            url=self._hides.redact(self._replaying.url),
            sent=self._sent,
        )

    def _for_page(self, reason: str) -> RequestsRun:
        """Return that the page is needed: from its beginning, unless the step with consequences is done."""
        until = next((at for at, outcome in enumerate(self._outcomes, 1) if not outcome.effect.repeatable), 0)
        outcomes = tuple(self._outcomes[:until])
        status: Literal["open", "page"] = "open" if until else "page"
        return RequestsRun(status=status, reason=self._hides.redact(reason), outcomes=outcomes, sent=self._sent)

    async def _sent_safely(self, call: RecipeCall) -> None:
        """Send a request that may be sent again."""
        self._pass_until(call.step)
        await self._send(call, self._filled(call))

    def _filled(self, call: RecipeCall) -> Request:
        if self._over - time.perf_counter() < _REQUEST_S + _MARGIN_S:
            raise _NeedsPage(f"step {call.step + 1}: the site is too slow for the rest of its requests")
        request = self._replaying.request(call)
        if why := self._refusal(call, origin_of(request.url)):
            raise _NeedsPage(why)
        return request

    def _refusal(self, call: RecipeCall, origin: str) -> str:
        """Return why a request with its secrets may not go to an origin; empty if it may."""
        return refusal([self._secrets[name].bound for name in sorted(_secrets_of(call))], [origin])

    async def _send(self, call: RecipeCall, request: Request) -> SiteResponse:
        response = await self._client.send(request, refusal=partial(self._refusal, call))
        self._sent += 1
        await self._take(call, response)
        return response

    async def _take(self, call: RecipeCall, response: SiteResponse) -> None:
        """Keep a response, read in a thread: a long one takes longer than other activities can wait.

        Raises:
            Unexpected: it is not as it was.
        """
        await asyncio.to_thread(self._replaying.take, call, response)

    # ---------------------------------------------------------------------------------- consequences

    async def _committed(self, call: RecipeCall, following: Sequence[RecipeCall]) -> RequestsRun | None:
        """Send the request with consequences and those `following` in its step; return the end if a page is needed."""
        try:
            self._pass_until(call.step)
            request = self._filled(call)
            if witness := await self._trace(witnessed=True):
                self._beats.tell(witness)
            await self._intend(call)
        except (Unexpected, _NeedsPage) as error:
            return self._for_page(str(error))
        enter(call.step)
        hit("intended")
        self._leaving, departed = request, self._departed
        try:
            may_go = partial(self._refusal, call)
            response = await self._client.send(request, before_send=partial(self._let_go, departed), refusal=may_go)
        except (RequestNotSent, PolicyBlocked) as error:
            if isinstance(error, PolicyBlocked) and error.dispatched:
                return self._in_doubt(request, str(error), departed)
            await self._release(call, f"not sent: {error}")
            if isinstance(error, PolicyBlocked):
                raise
            return self._for_page(str(error))
        except RequestInDoubt as error:
            return self._in_doubt(request, str(error), departed)
        except asyncio.CancelledError:
            if not departed:
                await self._release(call, "not sent: the run was ended")
            raise
        self._sent += 1
        hit("acted")
        status = response.status
        if 400 <= status < 500 and status not in _OPEN and not response.redirects:
            await self._release(call, f"the site refused it: {status}")
            return self._for_page(f"step {call.step + 1}: the site refused its request ({status})")
        try:
            await self._take(call, response)
            asked = [each for each in following if each.step == call.step]
            outcome = await self._shown(call.step, asked, _evidence(request, status, departed))
        except (Unexpected, _NeedsPage, RequestNotSent, RequestInDoubt, PolicyBlocked) as error:
            return self._in_doubt(request, str(error), departed, status)
        await self._record(call, outcome)
        hit("recorded")
        self._add(outcome)
        return None

    async def _shown(self, step: int, asked: Sequence[RecipeCall], evidence: Evidence) -> StepOutcome:
        """Return the outcome of a step with consequences; what is `asked` after it is asked again until that shows it.

        Raises:
            Unexpected: it does not in the time that a page's expectations are given, too.
        """
        waits = [each.within_ms or 0 for each in self._steps[step].expect]
        until = time.perf_counter() + max([_SHOWN_S, *(wait / 1000 for wait in waits)])
        until = min(until, self._over - _REQUEST_S - _MARGIN_S)
        while True:
            try:
                for each in asked:
                    await self._send(each, self._filled(each))
                return self._outcome(step, Effect.COMMIT, evidence)
            except Unexpected:
                if not asked or time.perf_counter() > until:
                    raise
            await asyncio.sleep(_AGAIN_S)

    async def _intend(self, call: RecipeCall) -> None:
        """Write the intent.

        Raises:
            _NeedsPage: the ledger has something of the step, or cannot be asked: nothing was written.
        """
        request = self._request
        intent = Intent(
            **self._address,
            epoch=request.epoch,
            attempt=self._attempt,
            held=(),
            act=request.acts[call.step],
        )
        try:
            known = await self._store.intend(intent)
        except (DoneElsewhere, Fenced, StoreUnavailable) as error:
            raise _NeedsPage(str(error) or type(error).__name__) from error
        if known.state != "INTENT":
            raise _NeedsPage("the ledger has the step already")

    async def _let_go(self, departed: list[float]) -> None:
        """Have the ledger let the request go, right before its first byte.

        Raises:
            RequestNotSent: it does not.
        """
        try:
            await self._store.dispatch(**self._address, epoch=self._request.epoch, attempt=self._attempt)
        except (Fenced, StoreUnavailable) as error:
            raise RequestNotSent(str(error)) from error
        departed.append(time.time())
        hit("dispatched")

    async def _release(self, call: RecipeCall, who: str) -> None:
        """Take back an intent of which nothing came, under the next epoch: this attempt is over."""
        address, epoch = self._address, self._request.epoch + 1
        try:
            await self._store.fence(**address, epoch=epoch)
            await self._store.settle(**address, epoch=epoch, state="NOT_DONE", who=who)
        except (Fenced, StoreUnavailable) as error:
            _log.warning("the intent of step %d stays open: %s", call.step, error)

    def _in_doubt(self, request: Request, why: str, departed: Sequence[float], status: int = 0) -> RequestsRun:
        outcome = StepOutcome(
            status=Status.IN_DOUBT,
            reason=BY_REQUESTS,
            message=why,
            fingerprint=self._mark,
            effect=Effect.COMMIT,
            evidence=_evidence(request, status, departed),
        )
        outcome = redacted_outcome(outcome, self._hides)
        return RequestsRun(status="open", reason=outcome.message, outcomes=(*self._outcomes, outcome), sent=self._sent)

    async def _record(self, call: RecipeCall, outcome: StepOutcome) -> None:
        request, step = self._request, self._request.requests.plan[call.step]
        recording = Recording(
            run_id=request.run_id,
            lineage=request.lineage,
            tenant=request.tenant,
            sequence=call.step,
            epoch=request.epoch,
            outcome=outcome,
            title=step.title,
            given=input_of(step),
            act=request.acts[call.step],
            trace={"task": request.requests.task, "attempt": BY_REQUESTS},
        )
        try:
            await self._store.record(recording)
        except StoreUnavailable as error:  # then the outcome goes to Temporal alone, as that of any step
            _log.warning("step %d of %s is not recorded: %s", call.step, request.lineage, error)

    @property
    def _address(self) -> dict[str, str]:
        """Address of the record of the step under way."""
        request = self._request
        return {"tenant": request.tenant, "lineage": request.lineage, "fingerprint": self._mark}

    @property
    def _attempt(self) -> str:
        return f"{activity.info().workflow_run_id}/{self._request.epoch}"

    # --------------------------------------------------------------------------------------- outcomes

    def _pass_until(self, step: int) -> None:
        """Note the steps before this one as done, as what the responses tell agrees with what they expect.

        Raises:
            Unexpected: it does not.
        """
        while len(self._outcomes) < step:
            self._add(self._outcome(len(self._outcomes), Effect.READ, Evidence()))

    def _add(self, outcome: StepOutcome) -> None:
        self._outcomes.append(outcome)
        if len(self._outcomes) < len(self._steps):
            self._mark = self._marks.next(outcome)

    def _outcome(self, index: int, effect: Effect, evidence: Evidence) -> StepOutcome:
        step = self._steps[index]
        unmet = self._replaying.unmet(index, step.expect)
        if unmet is not None:
            raise Unexpected(f"step {index + 1}: expectation {step.expect.index(unmet) + 1} does not hold")
        outcome = StepOutcome(
            status=Status.DONE,
            reason=BY_REQUESTS,
            fingerprint=self._mark,
            effect=effect,
            evidence=evidence,
            url=self._replaying.url,
            extracted=self._replaying.extracted(index),
        )
        return redacted_outcome(outcome, self._hides)

    def _verified(self) -> tuple[PredicateResult, ...]:
        verify = self._request.requests.verify
        unmet = self._replaying.unmet(VERIFICATION, verify)
        if unmet is not None:
            raise Unexpected(f"condition {verify.index(unmet) + 1} of the final verification does not hold")
        return tuple(PredicateResult(passed=True, reason="holds", required=each.is_required) for each in verify)

    async def _trace(self, *, is_over: bool = False, witnessed: bool = False) -> str:
        """Write the lines of the steps passed since, but that of the one with consequences, which stands there already.

        Those before that one are written before it is sent: what was read in them is needed if the worker is lost.
        Returns a witness of the last of them if it is to be `witnessed`.
        """
        request, plan = self._request, self._request.requests.plan
        lines = [
            step_line(
                outcome,
                sequence=index,
                title=plan[index].title,
                run_id=request.run_id,
                epoch=request.epoch,
                given=input_of(plan[index]),
                more={"task": request.requests.task, "attempt": BY_REQUESTS},
            )
            for index, outcome in enumerate(self._outcomes[self._told :], self._told)
            if outcome.effect.repeatable
        ]
        self._told = len(self._outcomes)
        if is_over:
            took_ms = round((time.perf_counter() - self._begun) * 1000, 1)
            end = {"kind": "finish", "runId": request.run_id, "verified": True, "note": WITHOUT_PAGE, "ms": took_ms}
            lines.append(end)
        if not lines:
            return ""
        where = {"tenant": request.tenant, "lineage": request.lineage}
        try:
            return await self._store.append_lines(**where, lines=lines, witnessed=witnessed)
        except StoreUnavailable as error:
            _log.warning("no trace of the requests of %s: %s", request.lineage, error)
            return ""


def _evidence(request: Request, status: int, departed: Sequence[float]) -> Evidence:
    at = departed[0] if departed else None
    sent = UnsafeRequest(
        method=request.method, url=request.url.partition("?")[0], status=status, broken=not status, sent_at=at or 0.0
    )
    departure = Departure(bytes_up=len(request.body), held_at=at, permitted_at=at)
    return Evidence(requests=(sent,), departure=departure)

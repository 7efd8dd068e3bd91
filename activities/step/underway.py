"""A step under way: the collaborators that it needs, and what is known of it by now."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from activities.policing import Policing
from activities.session.attachments import Attachment
from activities.step.credentials import Credentials
from activities.step.failures import FailureEvidence
from activities.step.judging import Judge
from activities.step.ledger import StepLedger
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.proof import effect_seen, is_same_site
from replaywright.domain.proof.witness import LEAVING, Sending, missing
from replaywright.domain.run.commands import Perform, Reapply, StepContext
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.weak_steps import StepRate, rate_of
from replaywright.domain.step.fingerprints import content_key, element_key, site_scope
from replaywright.domain.step.outcomes import Departure
from replaywright.domain.step.overrides import OverrideRule, host_of
from replaywright.domain.task.actions import Cause, Effect, effect_of, stronger
from replaywright.domain.task.steps import SolveCaptcha, VerificationCode, action_of, entering
from replaywright.ports.browser import BrowserSession, Report
from replaywright.ports.stores import Artifacts, Overrides, Secrets


@dataclass(frozen=True)
class StepTools:
    """Collaborators that all steps of a worker share."""

    ledger: StepLedger
    credentials: Credentials
    artifacts: Artifacts
    failures: FailureEvidence
    policing: Policing
    overrides: Overrides | None = None
    """None: there are no rules."""

    @property
    def secrets(self) -> Secrets:
        """The secrets of this worker."""
        return self.credentials.secrets

    async def rules_for(self, context: StepContext, url: str, spent: Sequence[str]) -> tuple[OverrideRule, ...]:
        """Return the rules that may be due on the page at `url`: none for a step that is itself of a rule."""
        if self.overrides is None or context.override or "*" in spent:
            return ()
        rules = await self.overrides.rules(context.run.tenant, host_of(url))
        return tuple(rule for rule in rules if rule.when is not None and rule.name not in spent)


class StepUnderway:
    """One step under way."""

    def __init__(self, tools: StepTools, command: Perform | Reapply, held: Attachment) -> None:
        self.tools = tools
        self.command = command
        self.held = held
        self.use(command.context)
        written = command.context.step
        if isinstance(written, VerificationCode | SolveCaptcha):
            written = entering(written, has_text=command.code is not None)
        self.step = filled_step(written, command.context.values)
        run, url = self.context.run, held.browser.url
        occurrence = self.context.occurrence
        self.key = content_key(
            run.tenant, url, self.context.step, run.owner, values=self.context.values, occurrence=occurrence
        )
        self.element_key = element_key(run.tenant, url, self.context.step, occurrence=occurrence)
        self.left_at = self.url = held.browser.url
        self.site = self.masked(url)
        self.began_s = time.monotonic()
        self.entry: ActionCacheEntry | None = None
        self.refused = ""
        """Reason why a recording is not used: its signature does not match."""
        self.effect = Effect.COMMIT
        self.derived: tuple[Predicate, ...] = ()
        """Expectations beside the step's own, filled in."""
        self.departure: Departure | None = None
        self.trips = 0
        self.redis_s = 0.0

    def use(self, context: StepContext) -> None:
        """Go on for this attempt; its time begins now."""
        self.context = context
        self.started = time.perf_counter()

    @property
    def browser(self) -> BrowserSession:
        """The browser that the step is done in."""
        return self.held.browser

    @property
    def is_reapplied(self) -> bool:
        """Return True if the ledger has no part in it."""
        return isinstance(self.command, Reapply)

    @property
    def looks(self) -> bool:
        """Return True if the element is only looked for."""
        return isinstance(self.command, Perform) and self.command.looks

    @property
    def is_proposed(self) -> bool:
        """Return True if a model chose the element."""
        return self.command.proposed is not None

    @property
    def named_by(self) -> str:
        """Return who named the element: a `model`, in this run, or a `candidate` of another; empty for nobody."""
        if not self.is_proposed or self.command.proposal is None:
            return ""
        return "candidate" if self.command.proposal.candidate_of else "model"

    @property
    def is_new(self) -> bool:
        """Return True if nothing is recorded of what the step leads to with the element that it acts on."""
        return self.entry is None or self.entry.is_of_site or self.is_proposed

    @property
    def is_relearned(self) -> bool:
        """Return True if the last version is of a heal: what is recorded of its consequences is older than its page."""
        return not self.is_new and self.entry is not None and self.entry.origin == "heal"

    @property
    def declared(self) -> ElementQuery | None:
        """The element as the task declares it."""
        target: ElementQuery | None = getattr(self.step, "target", None)
        return target

    @property
    def sends(self) -> tuple[Sending, ...]:
        """Requests that the step sent when it was recorded."""
        return () if self.entry is None else self.entry.sends

    @property
    def sends_by_itself(self) -> tuple[Sending, ...]:
        """Requests of `sends` that a replay can wait for: not those that its page sends only when it is left."""
        return tuple(each for each in self.sends if each.via != LEAVING)

    def awaited(self, url: str) -> tuple[Sending, ...]:
        """Return the recorded requests to the site of `url` without which the step is not over.

        Where a witness is asked for as well, that tells of those that are sent at once.
        """
        own = (each for each in self.sends_by_itself if is_same_site(each.kind.origin, url))
        return tuple(each for each in own if each.is_late or not self.judge().is_declared)

    def unsent(self, report: Report) -> tuple[Sending, ...]:
        """Return those that have not been sent by now."""
        return missing(self.awaited(report.url), report.evidence, self.masked) if report.acted else ()

    @property
    def rate(self) -> StepRate:
        """Recent successes and failures of the step."""
        return rate_of("" if self.entry is None else self.entry.recent)

    @property
    def is_known_commit(self) -> bool:
        """Return True if it has consequences by what was declared or recorded, not only because nobody knows."""
        recorded = None if self.entry is None else self.entry.effect
        known = self.context.step.effect is not None or recorded is not None
        return known and not self.effect.repeatable

    @property
    def is_consequential(self) -> bool:
        """Return True unless it was recorded that it sends nothing and stays on its page."""
        if self.is_new or self.entry is None:
            return True
        led_to = set(self.entry.causes) - {Cause.NOTHING}
        return self.effect is not Effect.READ or bool(self.sends or led_to)

    def masked(self, url: str) -> str:
        """Return an address without the values and secrets of this run."""
        return self.tools.secrets.redact(site_scope(url, self.context.values))

    def judge(self) -> Judge:
        """Return the judge of what comes of it."""
        return Judge(self.step, self.derived, self.is_known_commit, self.url, self.sends, self.masked)

    def declared_effect(self, seen: Effect | None) -> Effect:
        """Return the effect by what the task declares, and by what was `seen`."""
        return Effect.READ if self.looks else effect_of(action_of(self.step), self.context.step.effect, seen)

    def learned_effect(self, report: Report) -> Effect:
        """Return the effect by all that is known now: what was declared, recorded and seen."""
        recorded = None if self.entry is None else self.entry.effect
        return self.declared_effect(stronger(effect_seen(self.step, report.evidence), recorded or Effect.READ))

    def spend(self, begun: float) -> None:
        """Count a round trip to the store that began at this time."""
        self.redis_s += time.perf_counter() - begun
        self.trips += 1


def ms_since(begun: float) -> float:
    """Return the milliseconds since `begun`, by the performance counter."""
    return round((time.perf_counter() - begun) * 1000, 2)

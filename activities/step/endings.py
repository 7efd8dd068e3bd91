"""Outcomes of a step: built, recorded with what was learned, and told with what the page asks for next."""

import asyncio
import logging
import time
from typing import Any

from activities.step.awaiting import verdicts_at_end
from activities.step.learning import Lesson
from activities.step.records import recording_of
from activities.step.step_gate import StepGate
from activities.step.underway import StepUnderway, ms_since
from replaywright.domain.common.text import shorten
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.proof.witness import LATER
from replaywright.domain.run.commands import Perform
from replaywright.domain.run.redacted import redacted_outcome, redacted_results
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.weak_steps import WEAK_STEP
from replaywright.domain.step.fingerprints import content_key, fingerprint
from replaywright.domain.step.outcomes import INTEGRITY, NOT_SENT, Costs, Evidence, Lookup, Status, StepOutcome
from replaywright.domain.step.overrides import Due
from replaywright.domain.task.actions import effect_of
from replaywright.domain.task.steps import Step, action_of, names_element
from replaywright.domain.trace.details import element_summary
from replaywright.errors import SessionLost
from replaywright.killpoints import hit
from replaywright.ports.browser import Report
from replaywright.ports.ledger import Known

_log = logging.getLogger("replaywright.actions")

NOTHING_SEEN = Evidence()
WARNING_LIMIT = 300
"""Characters of a warning."""
MESSAGE_LIMIT = 500


class Endings:
    """Ends one step, with one outcome or another."""

    def __init__(self, at: StepUnderway, gate: StepGate) -> None:
        self._at = at
        self._gate = gate
        self._following = ("", "")
        """Fingerprint and content key of the next step, once this one is done; empty where there is none."""

    def outcome(
        self, status: Status, reason: str, message: str, report: Report | None = None, seen: Evidence = NOTHING_SEEN
    ) -> StepOutcome:
        """Return the outcome, secrets removed; without a `report`, `seen` is the evidence."""
        at = self._at
        lookup = Lookup() if report is None else report.lookup
        if at.is_proposed and at.command.proposal is not None:
            candidate_of = at.command.proposal.candidate_of
            by = {"candidate_of": candidate_of, "from_model": not candidate_of}
            lookup = lookup.model_copy(update={**by, "healed": False})
        if at.entry is not None:
            lookup = lookup.model_copy(update={"entry_version": at.entry.version})
        evidence = seen if report is None else report.evidence
        if at.departure is not None:
            evidence = evidence.model_copy(update={"departure": at.departure})
        is_marked = status is not Status.DONE or at.context.run.pictures is not Pictures.FAILURES
        outcome = StepOutcome(
            status=status,
            reason=reason,
            message=message,
            fingerprint=at.context.fingerprint,
            content_key=at.key,
            effect=at.effect,
            lookup=lookup,
            evidence=evidence,
            predicates=() if report is None else report.after,
            proof=None if report is None else report.proof,
            url=at.browser.url if report is None or not report.url else report.url,
            box=report.box if report is not None and is_marked else None,
            extracted=report.extracted if report is not None and status is Status.DONE else {},
            costs=Costs(
                evaluations=0 if report is None else report.evaluations,
                redis_round_trips=at.trips + 1,
                locating_ms=0.0 if report is None else round(report.locating_ms, 2),
                acting_ms=0.0 if report is None else round(report.acting_ms, 2),
                verifying_ms=0.0 if report is None else round(report.verifying_ms, 2),
                redis_ms=round(at.redis_s * 1000, 2),
                total_ms=ms_since(at.started),
            ),
        )
        redacted = redacted_outcome(outcome, at.tools.secrets)
        return redacted.model_copy(update={"message": redacted.message[:MESSAGE_LIMIT]})

    async def failed(self, outcome: StepOutcome) -> StepOutcome:
        """Record an outcome that is not the step's last word: evidence, trace; find what may clear the way."""
        at = self._at
        outcome = await at.tools.failures.added(
            outcome,
            at.context,
            at.browser,
            expect=at.step.expect,
            entry=at.entry,
            before=at.held.good_before,
            proposal=at.command.proposal,
        )
        await self.write(outcome)
        return outcome.model_copy(update={"due": await self._due()})

    async def done(self, report: Report, reason: str = "") -> StepOutcome:
        """Record that the step is done, and what it taught; look at what comes next."""
        at, command, secrets = self._at, self._at.command, self._at.tools.secrets
        at.left_at = report.url or at.browser.url
        outcome = self.outcome(Status.DONE, reason, "", report).model_copy(
            update={
                "effect": at.learned_effect(report) if report.acted else at.effect,
                "told_by": self._told_by(report),
                "left": bool(report.left_at),
                "already_done": names_element(at.step) and not report.acted and report.lookup.hit,
                "warnings": (*self._weakness(), *map(secrets.redact, self._warnings(report))),
            }
        )
        if not isinstance(command, Perform):
            return outcome
        if not at.context.override:
            at.held.good_before = "" if at.entry is None else at.entry.good_snapshot
        begun = time.perf_counter()
        lesson = Lesson(at.context, at.named_by, at.is_new, at.is_relearned, at.entry, at.key, at.site, secrets)
        good_snapshot = "" if report.seen is None else await at.tools.failures.keep_snapshot(report.seen.after)
        granted = self._gate.granted
        entry = lesson.entry(report, at.judge().on_derived(report), good_snapshot, granted)
        element = self._element_of(entry, report)
        element_key = "" if element is None else element.content_key
        outcome = outcome.model_copy(update={"granted": granted, "element_key": element_key})
        known, (due, verification), _ = await asyncio.gather(
            self.write(outcome, entry), self._afterwards(command, report), self._keep(element)
        )
        spent = {"recording_ms": ms_since(begun), "total_ms": ms_since(at.started)}
        self._keep_ahead(command.next_step, known)
        await at.tools.credentials.forget_code(command)
        hit("recorded", at.context.sequence)
        more = {
            "costs": outcome.costs.model_copy(update=spent),
            "due": due,
            "verification": verification,
            "witness": known.witness,
        }
        if known.entry is not None and command.next_step is not None and names_element(command.next_step):
            more["ahead"] = element_summary(known.entry)
        if not outcome.effect.repeatable and outcome.lookup.is_proposed:
            more["snapshot"] = good_snapshot  # of what it led to, for whoever proposes a probe
        return outcome.model_copy(update=more)

    async def looked(self, report: Report) -> StepOutcome:
        """Record that the element of a step is there, which nobody has used."""
        outcome = self.outcome(Status.DONE, "", "", report).model_copy(update={"already_done": True})
        await self.write(outcome)
        return outcome

    async def _keep(self, element: ActionCacheEntry | None) -> None:
        if element is not None:
            await self._at.tools.ledger.keep(self._at.context, element)

    def _element_of(self, entry: ActionCacheEntry | None, report: Report) -> ActionCacheEntry | None:
        """Return the recording of the element alone if it was found in a new way that no person is to look at."""
        at = self._at
        is_new = at.entry is None or at.is_proposed or report.lookup.healed
        if entry is None or entry.target is None or entry.hold or not is_new:
            return None
        return entry.as_element(at.element_key)

    async def write(self, outcome: StepOutcome, entry: ActionCacheEntry | None = None) -> Known:
        """Record the outcome and its line of the trace; return what is known of the next step."""
        at, command = self._at, self._at.command
        witnessed, next_step = False, command.next_step if isinstance(command, Perform) else None
        if isinstance(command, Perform) and outcome.status is Status.DONE and next_step is not None:
            self._following = self._next_keys(next_step, command.next_occurrence, outcome)
            witnessed = not effect_of(action_of(next_step), next_step.effect, None).repeatable
        usage = None if command.proposal is None else command.proposal.usage
        recording = recording_of(at.context, outcome, self._trace(), usage).model_copy(
            update={
                "entry": entry,
                "witnessed": witnessed,
                "used_version": 0 if at.entry is None or at.entry.is_of_site or at.looks else at.entry.version,
                "next_fingerprint": self._following[0],
                "next_content_key": self._following[1],
            }
        )
        return await at.tools.ledger.write(recording)

    def _trace(self) -> dict[str, Any]:
        at = self._at
        overruled = "" if at.command.proposal is None else at.command.proposal.overruled
        redact = at.tools.secrets.redact
        line = {
            "override": at.context.override,
            "item": at.context.item,
            "overruled": redact(overruled),
            "why": redact(at.context.why),
        }
        return {"site": at.site, **{key: value for key, value in line.items() if value}}

    def _weakness(self) -> tuple[str, ...]:
        """Return the warning for a step that failed too often of late, also where it was done now."""
        at = self._at
        if not at.rate.warns:
            return ()
        warning = f"{WEAK_STEP}: {at.rate}"
        _log.warning("step %d (%s): %s", at.context.sequence + 1, at.context.step.action, warning)
        return (warning,)

    def _warnings(self, report: Report) -> tuple[str, ...]:
        refused = (shorten(f"{INTEGRITY}: {self._at.refused}", WARNING_LIMIT),) if self._at.refused else ()
        unsent = [each for each in self._at.unsent(report) if each.via != LATER]
        lacking = [f"{NOT_SENT}: {each.kind}, which it sent when it was recorded" for each in unsent]
        return (*refused, *lacking, *self._at.judge().warnings(report))

    def _told_by(self, report: Report) -> str:
        """Name the witness of the step's effect; empty where none is needed."""
        if self._at.step.evidence is not None:
            return self._at.step.evidence
        judge = self._at.judge()
        witness = judge.witness(report) if judge.is_declared and report.acted else None
        return "" if witness is None else witness.value

    async def _afterwards(
        self, command: Perform, report: Report
    ) -> tuple[tuple[Due, ...], tuple[PredicateResult, ...] | None]:
        """Return the rules that are due after the step, and the verdicts on the final predicates if all hold."""
        due = await self._due(only_before=True)
        found = report.at_end if report.left_at else await verdicts_at_end(self._at.browser, command.verify)
        return due, redacted_results(found, self._at.tools.secrets) if found else None

    async def _due(self, *, only_before: bool = False) -> tuple[Due, ...]:
        """Return what rules ask for on the page now; after a step that was done, those tried before a step."""
        at = self._at
        try:
            rules = await at.tools.rules_for(at.context, at.browser.url, at.command.spent)
            asked = [rule for rule in rules if not only_before or rule.tried == "before_a_step"]
            return tuple(Due.of(rule) for rule in await at.browser.due(asked)) if asked else ()
        except SessionLost:  # that is for the next step to say: what became of this one is known
            return ()

    def _keep_ahead(self, next_step: Step | None, known: Known) -> None:
        self._at.held.prefetched.clear()
        if next_step is not None and known != Known():
            self._at.held.prefetched[self._following] = known

    def _next_keys(self, step: Step, occurrence: int, outcome: StepOutcome) -> tuple[str, str]:
        context, url = self._at.context, self._at.left_at
        run, values = context.run, context.values
        mark = fingerprint(step, values, context.fingerprint, outcome.digest)
        return mark, content_key(run.tenant, url, step, run.owner, values=values, occurrence=occurrence)

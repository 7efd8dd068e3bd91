"""Learning from a step that was done: a new version of its cache entry, if it taught anything."""

from collections.abc import Sequence
from dataclasses import dataclass

from replaywright.domain.locating.filling import general_target, unseen_parameters
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Predicate, meaning_of
from replaywright.domain.proof.deriving import derived_from, loosened
from replaywright.domain.proof.proof import effect_seen
from replaywright.domain.proof.witness import sendings
from replaywright.domain.run.commands import StepContext
from replaywright.domain.run.redacted import redacted_snapshot, redacted_target
from replaywright.domain.run.scope import Heal
from replaywright.domain.skill.entries import ActionCacheEntry, EntryStatus
from replaywright.domain.step.fingerprints import (
    digest,
    entered_parameters,
    instruction_parameters,
    naming_parameters,
    site_scope,
)
from replaywright.domain.step.press_grants import AUTHOR, GRANTS_KEPT, Grant, kind_of
from replaywright.domain.task.actions import ACTIONS, Action, stronger
from replaywright.domain.task.steps import action_of, arguments_of, names_element
from replaywright.ports.browser import Report
from replaywright.ports.stores import Secrets


@dataclass(frozen=True)
class Lesson:
    """One step that was done, and the recording before."""

    context: StepContext
    named_by: str
    """`model` or `candidate` if a model chose the element, in this run or an earlier one; else empty."""
    is_new: bool
    """Nothing is recorded of what the step leads to; see `StepUnderway.is_new`."""
    is_relearned: bool
    """What it leads to is learned once more; see `StepUnderway.is_relearned`."""
    old: ActionCacheEntry | None
    key: str
    """Content key."""
    site: str
    secrets: Secrets

    def entry(
        self, report: Report, soft: Sequence[PredicateResult], good_snapshot: str, granted: Sequence[Grant] = ()
    ) -> ActionCacheEntry | None:
        """Return a new version of the cache entry when this step taught something, else None.

        `soft` are the verdicts on what was expected of the old one beside the step's own expectation, `good_snapshot`
        the digest of the page after the step, `granted` what the step was let send.
        """
        context, step, old = self.context, self.context.step, self.old
        if context.override:  # a rule's element is always looked for as the rule describes it
            return None
        if action_of(step) is Action.GOTO or (names_element(step) and report.target is None):
            return None
        seen = effect_seen(step, report.evidence) if report.acted else None
        sends = sendings(report.evidence, report.given_at, report.left_at, self._masked) if report.acted else ()
        causes = report.evidence.causes if report.acted else ()
        if old is not None and not (self.is_new or self.is_relearned or report.lookup.healed):
            raised = seen is not None and (old.effect is None or seen.rank > old.effect.rank)
            known = {sending.kind for sending in old.sends}
            is_later = any(sending.is_late and sending.kind not in known for sending in sends)
            if not (raised or is_later) and (set(causes) <= set(old.causes) or not report.acted):
                return self._reviewed(old, soft)
        names, naming = instruction_parameters(step), naming_parameters(step)
        seen_now = redacted_target(report.target or Target(), self.secrets)
        target = general_target(seen_now, context.values, names, naming, entered_parameters(step))
        kept = seen if old is None or old.effect is None or seen is None else stronger(seen, old.effect)
        healed = report.lookup.healed
        return ActionCacheEntry(
            **target.model_dump(),
            content_key=self.key,
            owner=context.run.owner,
            step_index=context.sequence,
            site=self.site,
            instruction=step.instruction,
            action_type=action_of(step),
            method=step.action,
            arguments=arguments_of(step),
            effect=kept if report.acted else (None if old is None else old.effect),
            causes=causes if report.acted or old is None else old.causes,
            expectation=tuple(p.model_dump(mode="json", exclude_none=True) for p in step.expect),
            derived=self._derived_now(report, soft),
            probe=None if old is None else old.probe,
            good_snapshot=good_snapshot or ("" if old is None else old.good_snapshot),
            sends=sends if report.acted or old is None else old.sends,
            keeps_entries=report.keeps_entries if self.is_new or old is None else old.keeps_entries,
            held_before=self._held_before(report),
            granted=self._grants(report, granted),
            run_id=context.run.run_id,
            origin=self._origin(healed=healed),
            is_proven=self._is_proven(report),
            bound={name: digest(context.values.get(name, "")) for name in unseen_parameters(target, naming)},
            hold=healed and context.run.heal is Heal.PROPOSE,
        )

    def _held_before(self, report: Report) -> bool:
        """Tell if all that the step expects held before it was performed: a search finds what was shown before it."""
        if not report.acted:
            return self.old is not None and self.old.held_before
        before = report.before[: len(self.context.step.expect)]
        return bool(before) and all(was.passed for was in before)

    def _origin(self, *, healed: bool) -> str:
        if self.named_by or healed:
            return self.named_by or "heal"
        if self.old is None or self.is_new:
            return "declared"
        return "review" if self.is_relearned else self.old.origin

    def _masked(self, url: str) -> str:
        return self.secrets.redact(site_scope(url, self.context.values))

    def _is_proven(self, report: Report) -> bool:
        """Tell if a model named the element and the step's own result showed that it is the right one.

        An expectation of the step that came true shows it. What is read back, such as the text of a field, shows only
        that it can be done with the element: with this a candidate is not tried a second time.
        """
        step = self.context.step
        verdicts = zip(report.before[: len(step.expect)], report.after, strict=False)
        if report.acted and any(was.decided and not was.passed and now.passed for was, now in verdicts):
            return bool(self.named_by)
        return ACTIONS[action_of(step)].is_read_back and self.named_by == "model"

    def _grants(self, report: Report, granted: Sequence[Grant]) -> tuple[Grant, ...]:
        """Return what the step may send: requests granted now or before, and the author's own."""
        found = {grant.kind: grant for grant in (() if self.old is None else self.old.granted)}
        for request in report.evidence.requests if report.acted else ():
            redact = self.secrets.redact
            kind = kind_of(request.method, redact(request.url), map(redact, request.fields))
            found.setdefault(kind, Grant(kind=kind, by=AUTHOR))
        found |= {grant.kind: grant for grant in granted}
        return tuple(found.values())[-GRANTS_KEPT:]

    def _derived_now(self, report: Report, soft: Sequence[PredicateResult]) -> tuple[Predicate, ...]:
        """Return the derived expectations from now on: new ones if learned now or once more, else those that held."""
        context, old = self.context, self.old
        if old is not None and not (self.is_new or (self.is_relearned and report.seen)):
            return loosened(old.derived, soft, context.values)
        if report.seen is None or any(predicate.is_required for predicate in context.step.expect):
            return ()
        target = None if report.target is None else redacted_target(report.target, self.secrets)
        pages = {
            name: None if page is None else redacted_snapshot(page, self.secrets)
            for name, page in (("before", report.seen.before), ("again", report.seen.again))
        }
        after = redacted_snapshot(report.seen.after, self.secrets)
        seen = report.seen.model_copy(update={**pages, "after": after})
        return derived_from(context.step, seen, target, context.values)

    def _reviewed(self, old: ActionCacheEntry, soft: Sequence[PredicateResult]) -> ActionCacheEntry | None:
        """Return a version without the derived expectations that did not hold; None if all did.

        It becomes active only if the run is verified, like everything that a run learns.
        """
        kept = loosened(old.derived, soft, self.context.values)
        if kept == old.derived:
            return None
        gone = [meaning_of(predicate) for predicate in old.derived if predicate not in kept]
        note = f"gave up {gone}, which did not hold in run {self.context.run.run_id}"
        changes = {"derived": kept, "note": note[:500], "origin": "review", "run_id": self.context.run.run_id}
        return old.model_copy(update={**changes, "is_proven": False, "hold": False, "status": EntryStatus.CANDIDATE})

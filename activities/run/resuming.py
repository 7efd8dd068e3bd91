"""Resuming after a run that did not end well: the steps that the ledger answers, and what has to be decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.step.records import from_ledger, settled_outcome, standing_of
from replaywright.domain.plan.loops import Course
from replaywright.domain.run.resuming import AnsweredStep, ResumeRequest, Resumption
from replaywright.domain.step.fingerprints import begun_anew, fingerprint
from replaywright.domain.step.outcomes import Costs, Evidence, Status, StepOutcome
from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.trace.trace import input_of, step_line
from replaywright.errors import InputInvalid
from replaywright.killpoints import hit_run
from replaywright.ports.ledger import Known, StepStore


@dataclass(frozen=True)
class Earlier:
    """A step that must not be repeated, and that the lineage has under another chain of steps."""

    sequence: int | None
    """Index of the step of today's plan that does the same; None when no step does."""
    fingerprint: str
    title: str
    """Title in its line of the trace; empty when there is none."""
    is_done: bool
    """False: nobody knows whether it took effect."""


@dataclass(frozen=True)
class Standing:
    """State of a plan's steps in the ledger."""

    answered: tuple[StepOutcome, ...]
    """Outcomes of the steps from the first on that were done."""
    fingerprint: str
    """Fingerprint of the first step that was not; empty when all were done."""
    state: str
    """State of that step in the ledger."""
    epoch: int
    """Higher than any of the lineage."""
    earlier: tuple[Earlier, ...] = ()
    lines: int = 0
    """Lines of the lineage's trace."""
    course: Course = field(default_factory=lambda: Course((), {}))
    """The plan, the lists written out whose items the ledger has."""

    @property
    def last_commit(self) -> int:
        """Index of the last answered step that must not be repeated; -1 when there is none."""
        return max((at for at, outcome in enumerate(self.answered) if not outcome.effect.repeatable), default=-1)


async def standing(
    store: StepStore,
    *,
    tenant: str,
    lineage: str,
    plan: Sequence[Step],
    values: Mapping[str, str],
    restarts: Mapping[int, str],
) -> Standing:
    """Follow the plan's chain of fingerprints through the ledger as far as its steps were done. Reads only.

    Raises:
        StoreUnavailable: the ledger cannot be read.
    """

    async def look_up(mark: str) -> Known:
        return await store.look_up(tenant=tenant, lineage=lineage, run_id="", fingerprint=mark, content_key="")

    answered: list[StepOutcome] = []
    course = Course(plan, values)
    previous = previous_outcome = mark = state = ""
    epochs = [0]
    while (sequence := len(answered)) < len(course.plan):
        plain = fingerprint(course.plan[sequence], course.values_at(sequence), previous, previous_outcome)
        mark = begun_anew(plain, restarts.get(sequence, ""))
        known = await look_up(mark)
        epochs.append(known.epoch)
        state = known.state
        if known.state != "COMMITTED":
            break
        outcome = known.outcome or settled_outcome(mark)
        answered.append(outcome)
        course = course.after(sequence, outcome)
        previous, previous_outcome = mark, outcome.digest
        mark = state = ""
    lines = await store.trace(tenant=tenant, lineage=lineage)
    epochs += [int(line.get("epoch") or 0) for line in lines]
    ahead = _ahead(course, restarts, answered)
    owners = await store.acts(tenant=tenant, lineage=lineage)
    known_of = {owner: await look_up(owner) for owner in set(owners.values())}
    epochs += [known.epoch for known in known_of.values()]
    to_do = {course.act_at(at): at for at in ahead}
    places = {owner: to_do.get(act) for act, owner in owners.items()}
    later = _in_lists_to_come(course, len(answered))
    own = frozenset(outcome.fingerprint for outcome in answered) | frozenset(ahead.values())
    return Standing(
        answered=tuple(answered),
        fingerprint=mark,
        state=state,
        epoch=max(epochs) + 1,
        earlier=tuple(
            _earlier(places, own, {owner: standing_of(known) for owner, known in known_of.items()}, lines, later)
        ),
        lines=len(lines),
        course=course,
    )


def _in_lists_to_come(course: Course, begin: int) -> dict[str, int]:
    """Return the titles of steps of lists whose items are not known yet, with the step that reads these."""
    coming = [(at, step) for at, step in enumerate(course.plan) if at >= begin and isinstance(step, ForEach)]
    return {inner.title: at for at, step in coming for inner in step.steps}


def _ahead(course: Course, restarts: Mapping[int, str], answered: Sequence[StepOutcome]) -> dict[int, str]:
    """Return the fingerprints of the further steps if none of them reads anything."""
    marks = {}
    plainly_done = StepOutcome(status=Status.DONE).digest
    previous, previous_outcome = (answered[-1].fingerprint, answered[-1].digest) if answered else ("", "")
    for sequence in range(len(answered), len(course.plan)):
        plain = fingerprint(course.plan[sequence], course.values_at(sequence), previous, previous_outcome)
        previous = marks[sequence] = begun_anew(plain, restarts.get(sequence, ""))
        previous_outcome = plainly_done
    return marks


def _earlier(
    places: Mapping[str, int | None],
    own: frozenset[str],
    standings: Mapping[str, str],
    lines: Sequence[Mapping[str, Any]],
    later: Mapping[str, int],
) -> list[Earlier]:
    """Return what the lineage did outside of the plan's own chain; first what the plan would do again.

    Args:
        places: For each step that has an act, where the plan does the same.
        own: Fingerprints of the plan's own chain.
        standings: How each step that has an act stands.
        lines: The trace of the lineage.
        later: Where the items of a list are read whose steps are titled so: for one of these it may have been done.
    """
    titles = {str(line.get("fingerprint")): str(line.get("title", "")) for line in lines if line.get("kind") == "step"}
    found = [
        Earlier(
            later.get(titles.get(owner, "")) if place is None else place,
            owner,
            titles.get(owner, ""),
            is_done=standings[owner] == "done",
        )
        for owner, place in places.items()
        if standings[owner] and owner not in own
    ]
    return sorted(found, key=lambda one: (one.sequence is None, one.sequence or 0))


class ResumeActivities:
    """Activity `run.resume`."""

    def __init__(self, store: StepStore) -> None:
        self._store = store

    @activity.defn(name="run.resume")
    async def resume_run(self, request: ResumeRequest) -> Resumption:
        """Answer from the ledger what was done, each step with a line in the trace. Nothing else is done.

        Promise on a retry: no step gets a second line.

        Raises:
            InputInvalid: the ledger answers fewer steps than when the resume was planned: it has lost records.
        """
        async with heartbeats("asking the ledger"):
            found = await standing(
                self._store,
                tenant=request.tenant,
                lineage=request.lineage,
                plan=request.plan,
                values=request.values,
                restarts=request.resume.restarts,
            )
            if len(found.answered) < request.resume.answered:
                raise InputInvalid(
                    f"the ledger answers {len(found.answered)} steps, and it answered {request.resume.answered} when "
                    f"this was planned: Redis has lost records; look at the site before anything is done again"
                )
            await self._tell(request, found)
            hit_run("answering")
        answered = tuple(AnsweredStep(fingerprint=one.fingerprint, outcome=_short(one)) for one in found.answered)
        return Resumption(answered=answered, fingerprint=found.fingerprint, state=found.state, epoch=found.epoch)

    async def _tell(self, request: ResumeRequest, found: Standing) -> None:
        scope = {"tenant": request.tenant, "lineage": request.lineage}
        lines = await self._store.trace(**scope)
        traced = {line.get("sequence") for line in lines if line.get("runId") == request.run_id}
        previous = ""
        for sequence, outcome in enumerate(found.answered):
            step = found.course.plan[sequence]
            if sequence not in traced:
                line = step_line(
                    from_ledger(outcome).model_copy(update={"costs": Costs()}),
                    sequence=sequence,
                    title=step.title,
                    run_id=request.run_id,
                    epoch=found.epoch,
                    given=input_of(step),
                    more={"task": request.task, "previous": previous, "attempt": "resumed"},
                )
                await self._store.append_trace(**scope, line=line)
            previous = outcome.fingerprint


def _short(outcome: StepOutcome) -> StepOutcome:
    """Without what only the trace needs: a long run's answer has to fit into the history."""
    evidence = Evidence(files=outcome.evidence.files)
    return from_ledger(outcome).model_copy(update={"evidence": evidence, "predicates": (), "costs": Costs()})

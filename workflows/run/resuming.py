"""The workflow's side of going on after another run: what the ledger answers, and what was decided beforehand."""

from temporalio import workflow

from workflows import policies
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import PersonVerdict, Resume, ResumeRequest, Resumption, RunInput
    from replaywright.domain.step.outcomes import DONE_BEFORE, Status, StepOutcome
    from replaywright.domain.task.actions import Effect
    from replaywright.domain.task.questions import Ask, QuestionKind
    from replaywright.domain.task.steps import Step
    from replaywright.domain.trace.details import event_summary

EARLIER_RUN = "earlier_run"
"""Why the page proves nothing of a step in doubt: it was left so by another run, in another browser."""
EARLIER_CHAIN = "earlier_chain"
"""The same, of a step under another chain of steps."""
KEPT = "kept"
"""Reason of a step that counts as done because the lineage did the same under another chain of steps."""


class Resuming:
    """What a run knows of the runs of its lineage before it."""

    def __init__(self, run: RunInput, lineage: str) -> None:
        self._run = run
        self._lineage = lineage
        self._asked = 0
        self._resume = run.resume or Resume(of="")

    @property
    def is_due(self) -> bool:
        """Whether what the ledger answers is still to be taken from it."""
        return self._run.resume is not None and not self._run.state.resumed

    def restart_of(self, position: int) -> str:
        """In which run it was asked for that the step be performed anew; empty for none."""
        return self._resume.restarts.get(position, "")

    async def ask(self, plan: tuple[Step, ...]) -> Resumption:
        """What the ledger says to the plan, as it was written.

        Raises:
            ActivityError: it has lost records since the resume was planned.
        """
        self._asked += 1
        steps = self._resume.answered
        found: Resumption = await workflow.execute_activity(
            "run.resume",
            ResumeRequest(
                run_id=workflow.info().workflow_id,
                lineage=self._lineage,
                tenant=self._run.tenant,
                task=self._run.task.task,
                plan=plan,
                values=self._run.values,
                resume=self._resume,
            ),
            result_type=Resumption,
            activity_id=f"resume-{self._asked}",
            summary=event_summary(f"{steps} steps from the ledger of {self._resume.of}"),
            task_queue=policies.browser_queue(workflow.info().task_queue),
            start_to_close_timeout=policies.LEDGER_LIMIT,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.ASKING,
        )
        return found

    def decided(self, attempt: Attempt, outcome: StepOutcome) -> PersonVerdict | None:
        """What was said beforehand of a step that the lineage has done; None when nothing was."""
        who, why = self._resume.who, f"said when {self._resume.of} was resumed"
        if outcome.earlier in self._resume.redo:
            return PersonVerdict(sequence=attempt.sequence, verdict="redo", who=who, why=why)
        if outcome.earlier in self._resume.keep:
            return PersonVerdict(sequence=attempt.sequence, verdict="keep", who=who, why=why)
        return None


def is_done_before(outcome: StepOutcome) -> bool:
    """Whether the lineage has done the same for certain, so that there is nothing to find out."""
    return outcome.reason == DONE_BEFORE


def question_on(attempt: Attempt) -> Ask:
    """What a person is asked of a step that the lineage has done under another chain of steps."""
    return Ask(
        kind=QuestionKind.DONE_BEFORE,
        text=f"step {attempt.sequence + 1} ({attempt.title}) must not be repeated by mistake, and this lineage has "
        "done the same before, after other steps: redo performs it once more, keep takes it as done and leaves the "
        "page as it is",
        sequence=attempt.sequence,
        title=attempt.title,
        answers=("redo", "keep", "abandon"),
    )


def kept(attempt: Attempt, verdict: PersonVerdict) -> StepOutcome:
    """The outcome of a step that a person takes as done."""
    said = f"{verdict.who or 'a person'} takes it as done: {verdict.why}"
    return StepOutcome(
        status=Status.DONE,
        reason=KEPT,
        message=said,
        fingerprint=attempt.mark,
        effect=Effect.COMMIT,
        from_ledger=True,
    )

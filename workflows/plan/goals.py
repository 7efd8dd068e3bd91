"""Runs that begin from a goal: recalled or learned, planned part by part, and written down at the end."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Literal, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.people.person import Person
from workflows.plan.fitting import fit_of, missed, passing_over
from workflows.plan.planning import Planning, seen_of
from workflows.run.board import Board
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt, why_of
from workflows.step.failures import TaskBlocked, TaskFailed

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.common.sentences import masked
    from replaywright.domain.common.templates import fill
    from replaywright.domain.plan.goal_runs import (
        LOOK_S,
        ROUNDS,
        STEPS,
        WAIT_S,
        ClaimRequest,
        GoalState,
        JudgeRequest,
        LabelRequest,
        Labels,
        Learned,
        LearnRequest,
        Looked,
        LookRequest,
        PlanRequest,
        SkillUse,
        claim_key,
    )
    from replaywright.domain.plan.loops import Course
    from replaywright.domain.predicate.predicates import Predicate
    from replaywright.domain.recall.patterns import pattern_of
    from replaywright.domain.recall.recall import Recalled, RecallRequest
    from replaywright.domain.run.approvals import is_confirmed, recalled_question
    from replaywright.domain.run.runs import Mode, Proposal, Revision, RunInput, RunResult, Usage
    from replaywright.domain.run.skill_runs import NoteSkillRun, change_of
    from replaywright.domain.run.spending import BUDGET_SPENT
    from replaywright.domain.skill.fitting import Fit, RecalledFor
    from replaywright.domain.skill.skills import SkillContext, SkillRef, SkillRun
    from replaywright.domain.step.outcomes import StepOutcome
    from replaywright.domain.task.steps import Goto, Step
    from replaywright.domain.task.tasks import Parameter, Task, bind_parameters
    from replaywright.domain.trace.details import event_summary
    from replaywright.errors import InputInvalid
    from replaywright.ports import Labelled

_Result = TypeVar("_Result")

_RECALLS = 3
"""How many skills a run begins with at most; where so many did not fit its start page, it learns."""
_SAID = 500
"""Characters of a reason that is written down."""


class Goals:
    """What a run from a goal knows and decides; of a run of a task's own steps, nothing."""

    def __init__(
        self, run: RunInput, lineage: str, browser: Browser, planning: Planning, *, board: Board, person: Person
    ) -> None:
        self._run = run
        self._person = person
        self._lineage = lineage
        self._browser = browser
        self._planning = planning
        self._board = board
        self._run_id = workflow.info().workflow_id
        self._usage = Usage()
        """Of what was asked before it was decided how the run goes on."""
        self._is_rejected = False
        """A person said that the skill which was chosen is not the one that is meant."""
        self.state, self.mended = run.state.goal, run.state.mended
        for note in self.state.notes if self.state is not None else ():
            board.note_text(note)

    @property
    def is_undecided(self) -> bool:
        """Whether it is to be decided how this run goes on."""
        return self.state is None and not self._run.task.steps

    @property
    def is_one(self) -> bool:
        """Whether the run began from a goal."""
        return self.state is not None

    @property
    def is_unfinished(self) -> bool:
        """Whether the planner has yet to say how the plan goes on."""
        return self.state is not None and self.state.learning

    # ------------------------------------------------------------------------------------ the beginning

    async def decided(self, show: Callable[[str], None]) -> RunInput:
        """The same run, as one of the skill that was recalled, or as one that learns.

        Raises:
            TaskFailed: nothing was recalled, and the run may ask no model.
        """
        run, task = self._run, self._run.task
        goal = fill(task.goal, run.values)
        notes = [
            f"skill {each.name}, version {each.version}, is not run: {each.said}" for each in run.state.passed_over
        ]
        recalled: RunInput | None = None
        may_recall = not run.fresh and run.mode is not Mode.LEARN and len(notes) < _RECALLS
        if may_recall:
            show("recalling")
            recalled = await self._recalled(goal, notes, may_ask=run.mode is not Mode.REPLAY)
        if recalled is not None:
            return recalled
        may_recall = may_recall and not self._is_rejected
        if run.mode is Mode.REPLAY:
            raise TaskFailed("not_recalled", f"{'; '.join(notes)}; in mode replay nothing is learned")
        key = claim_key(fill(task.url, run.values), goal)
        await self._claimed(key, show, notes)
        if may_recall:
            # Again: another run may have learned it since, from a sentence that differs in values only, and have given
            # its claim up. A model has answered already.
            recalled = await self._recalled(goal, notes, may_ask=False)
            if recalled is not None:
                await self._released(key)
                return recalled
        show("asking the labeller")
        return await self._to_learn(goal, key, notes)

    async def _recalled(self, goal: str, notes: list[str], *, may_ask: bool) -> RunInput | None:
        run = self._run
        request = RecallRequest(
            run_id=self._run_id,
            lineage=self._lineage,
            tenant=run.tenant,
            url=fill(run.task.url, run.values),
            goal=goal,
            secrets=run.task.secrets,
            context=SkillContext(signed_in=run.state.signed_in),
            passed_over=run.state.passed_over,
            may_ask=may_ask,
        )
        what = f"recall {masked(goal)!r}"
        recall = await self._remembering("skill.recall", request, Recalled, f"recall{len(notes)}", what)
        self._usage = self._usage.plus(recall.usage)
        skill = recall.skill
        if recall.decision == "abstain" or skill is None:
            said = f"no skill recalled: {recall.reason.replace('_', ' ')}"
            notes += [said] if said not in notes else []
            return None
        if missing := set(skill.task.secrets) - set(run.task.secrets):
            notes.append(f"skill {skill.name} is not run: it needs the secret {min(missing)}, which was not allowed")
            return None
        try:
            values = bind_parameters(skill.task, recall.values)
        except InputInvalid as exc:
            notes.append(f"skill {skill.name} is not run: {exc}")
            return None
        ref = SkillRef(name=skill.name, version=skill.version)
        if refused := await self._rejected(recall, goal, values):
            notes.append(f"skill {skill.name} is not run: {refused}")
            return None
        chosen = ", which a model chose" if recall.by_model else ""
        notes.append(f"recalled skill {skill.name}, version {skill.version}{chosen}")
        labels = Labels(name=skill.name, label=skill.label)
        begins = RecalledFor(
            precondition=skill.precondition,
            context=skill.context,
            task=run.task,
            values=dict(run.values),
            passed_over=run.state.passed_over,
        )
        state = GoalState(sentence=goal, labels=labels, notes=tuple(notes), begins=begins)
        return self._as(skill.task, values, state).model_copy(update={"skill": ref})

    async def _rejected(self, recall: Recalled, goal: str, values: dict[str, str]) -> str:
        """Have a person confirm a skill that a model chose, where it has consequences; who refuses it, and why.

        Raises:
            TaskFailed: nobody answers in time.
        """
        skill, asking = recall.skill, self._run.asking
        if skill is None or not recall.by_model or not is_confirmed(skill, asking.approve_recalled):
            return ""
        ask = recalled_question(skill, values, goal, within_s=asking.approve_within_s)
        # There is no browser to be given back, unless another skill was begun and did not fit.
        verdict = await self._person.asked(ask, stays_awake=True)
        if verdict.verdict == "approve":
            return ""
        self._is_rejected = True
        judged = JudgeRequest(run_id=self._run_id, tenant=self._run.tenant, outcome="rejected")
        await self._remembering("skill.judge", judged, type(None), "rejected", "a person rejected the recall")
        return f"{verdict.who or 'a person'} says that it is not meant: {verdict.why}".removesuffix(": ")

    async def _claimed(self, key: str, show: Callable[[str], None], notes: list[str]) -> None:
        """Wait until nobody else learns the same."""
        request = ClaimRequest(run_id=self._run_id, tenant=self._run.tenant, key=key)
        waits = self._run.wait_for_others and not self._run.fresh
        waited = 0.0
        while True:
            holder = await self._remembering(
                "skill.claim", request, str, f"claim{int(waited / LOOK_S)}", "does another run learn the same?"
            )
            if holder == self._run_id or not waits or waited >= WAIT_S:
                break
            if not waited:
                notes.append(f"waited for {holder}, which learned the same")
            show(f"waits for {holder}, which learns the same")
            await workflow.sleep(timedelta(seconds=LOOK_S), summary="then it is looked whether it has been learned")
            waited += LOOK_S

    async def _to_learn(self, goal: str, key: str, notes: list[str]) -> RunInput:
        run, task = self._run, self._run.task
        labels = Labels()
        try:
            labelled = await self._remembering(
                "model.label",
                LabelRequest(
                    run_id=self._run_id,
                    lineage=self._lineage,
                    tenant=run.tenant,
                    goal=goal,
                    secrets=task.secrets,
                ),
                Labelled,
                "label",
                "what is this about?",
            )
            labels = labelled.labels
            self._usage = self._usage.plus(labelled.usage)
            notes += [f"label: {refused}" for refused in labels.refused]
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            notes.append(f"nothing will be learned from this run, as the goal has no labels: {error.cause}")
        values = dict(run.values)
        parameters = dict(task.parameters)
        words = dict(run.values)
        for found in labels.parameters:
            if found.name not in parameters and found.value not in run.values.values():
                parameters[found.name] = Parameter(type=found.type)
                values[found.name], words[found.name] = found.value, found.words
        learned = task.model_copy(
            update={
                "task": labels.name or task.task,
                "goal": pattern_of(goal, words),
                "parameters": parameters,
            }
        )
        notes.append(f"learns {labels.label or 'what the goal says'}")
        state = GoalState(sentence=goal, labels=labels, learning=True, claim=key, notes=tuple(notes))
        return self._as(learned, values, state)

    def _as(self, task: Task, values: dict[str, str], goal: GoalState) -> RunInput:
        state = self._run.state
        totals = state.totals.model_copy(update={"usage": state.totals.usage.plus(self._usage)})
        told = {"goal": goal, "totals": totals, "begun": self._planning.begun, "passed_over": ()}
        told["questions"] = self._person.asked_so_far
        wishes = self._run.task.policy
        if wishes is not None:  # who starts a run sets its limits, whatever the skill's task says
            task = task.model_copy(update={"policy": wishes})
        changes = {"task": task, "values": values, "lineage": self._lineage, "state": state.model_copy(update=told)}
        return self._run.model_copy(update=changes)

    # --------------------------------------------------------------------------------------- the plan

    async def next_part(
        self,
        course: Course,
        commits: tuple[int, ...],
        usage: Usage,
        read: Callable[[Callable[[], Awaitable[Looked]]], Awaitable[Looked]],
    ) -> Revision:
        """How the plan goes on from the page as it is; `read` repeats what was lost with the browser.

        Raises:
            TaskFailed: the planner gave up, may not be asked any more, or has no end.
            ActivityError: it cannot be asked.
        """
        state = self._known
        position = len(course.plan)
        if state.rounds >= ROUNDS or course.written(position) >= STEPS:
            raise TaskFailed("endless_plan", self._endless(course.written(position)))
        if limit := self._planning.spent(usage):
            raise TaskBlocked(limit.rule, limit.said) if limit.rule else TaskFailed(BUDGET_SPENT, limit.said)
        self._board.doing = "asking the planner"
        looked = await read(
            lambda: self._browser.call(
                "session.look",
                LookRequest(
                    session=self._browser.ref,
                    epoch=self._browser.epoch,
                    about=f"{fill(self._run.task.goal, self._run.values)} ",
                ),
                Looked,
                activity_id=f"{position + 1:04d}-look-e{self._browser.epoch}",
                summary="read the page for the planner",
                limit=policies.READ_LIMIT,
                retry_policy=policies.READING,
            )
        )
        if position == 1 and not state.rounds:
            self._change(context=SkillContext(signed_in=looked.signed_in, start=looked.place))
        revision = await self._planned(
            self._request(course, position, commits, looked.snapshot).model_copy(
                update={"dom": looked.dom, "picture": looked.picture, "picture_missing": looked.picture_missing}
            ),
            f"{position + 1:04d}-plan{state.rounds + 1}",
            f"{position + 1:04d} how to reach the goal?",
        )
        if revision.gave_up:
            raise TaskFailed("planner_gave_up", f"the planner gave up: {revision.gave_up}"[:_SAID])
        return revision

    async def revise(
        self, attempt: Attempt, outcome: StepOutcome, course: Course, commits: tuple[int, ...]
    ) -> Revision:
        """How to go on from a step that failed; that the planner cannot be asked is an answer too."""
        state = self._known
        if state.rounds >= ROUNDS:
            return Revision(gave_up=self._endless(attempt.sequence))
        seen = seen_of(outcome)
        request = self._request(course, attempt.sequence, commits, seen["snapshot"]).model_copy(
            update={
                **seen,
                "failed": why_of(outcome),
                "tried": (*attempt.tried, why_of(outcome)),
                "dom": outcome.artifacts.get("dom", ""),
            }
        )
        try:
            revision = await self._planned(
                request,
                attempt.activity_id(f"plan{state.rounds + 1}"),
                f"{attempt.sequence + 1:04d} how to go on? ({why_of(outcome)})",
            )
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            return Revision(gave_up=f"the planner cannot be asked: {error.cause or error}")
        if revision.steps:
            self._planning.revised_from = (*self._planning.revised_from, attempt.sequence)
        return revision

    async def _planned(self, request: PlanRequest, activity_id: str, summary: str) -> Revision:
        self._change(rounds=self._known.rounds + 1)
        revision: Revision = await workflow.execute_activity(
            "model.plan",
            request,
            result_type=Revision,
            activity_id=activity_id,
            summary=event_summary(summary),
            task_queue=policies.model_queue(workflow.info().task_queue),
            start_to_close_timeout=policies.PLAN_LIMIT,
            schedule_to_close_timeout=policies.PLAN_TOTAL,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.MODEL,
        )
        if not revision.gave_up:
            self._change(learning=not revision.complete, verify=revision.verify or self._known.verify)
        return revision

    def _request(self, course: Course, position: int, commits: tuple[int, ...], snapshot: str) -> PlanRequest:
        return PlanRequest(
            run_id=self._run_id,
            lineage=self._lineage,
            tenant=self._run.tenant,
            task=self._run.task.model_copy(update={"steps": ()}),
            values=self._run.values,
            plan=course.rolled,
            position=course.written(position),
            commits=course.commits_written(commits),
            answers=self._planning.answers,
            snapshot=snapshot,
        )

    def allowed(self, attempt: Attempt, proposal: Proposal) -> Proposal:
        """The model's choice, of which the first is what a recall looks for."""
        state, target = self.state, proposal.target
        if state is None or target is None:
            return proposal
        if attempt.sequence == 1 and (self._run.skill is None or state.failed):
            self._change(first=target)  # of the start page, which the first step of all has opened
        return proposal

    # ---------------------------------------------------------------------- a recalled skill's beginning

    async def unfit(
        self, attempt: Attempt, read: Callable[[Callable[[], Awaitable[Fit]]], Awaitable[Fit]]
    ) -> StepOutcome | None:
        """Why a recalled skill is not to be begun on the start page that is open; None for everything else.

        Looked at once, after the first step of all, which opens that page. One whose start page has changed counts as
        missed. Elsewhere the run ends here, and goes on from the page as one that has not recalled this skill.
        """
        state, skill = self.state, self._run.skill
        if state is None or skill is None or state.begins is None or attempt.sequence != 1:
            return None
        self._change(begins=None)
        begins, task = state.begins, self._run.task
        if not (begins.precondition or begins.context.signed_in is not None):
            return None
        fit = await read(lambda: fit_of(self._browser, begins, task, self._run.values))
        if not fit.reason:
            return None
        self._board.note_text(f"skill {skill.name}, version {skill.version}, is not begun: {fit.message}")
        request = JudgeRequest(run_id=self._run_id, tenant=self._run.tenant, outcome="refused", reason=fit.reason)
        await self._remembering("skill.judge", request, type(None), "refused", f"recall: {fit.reason}")
        if not fit.own_page:
            await workflow.wait_condition(workflow.all_handlers_finished)
            workflow.continue_as_new(passing_over(self._run, self._lineage, self._browser, begins, fit))
        return missed(fit)

    # ------------------------------------------------------------------------------- how it went

    async def note_failure(self, attempt: Attempt, outcome: StepOutcome, course: Course) -> None:
        """The recalled skill does not do any more: nobody shall be given it before it was mended."""
        state, skill = self.state, self._run.skill
        known = self.mended if state is None else state
        if skill is None or known.failed or not self._planning.is_of_the_page(outcome):
            return
        change = change_of(outcome.reason or outcome.status)
        said = f"{change}: step {attempt.sequence + 1} ({attempt.title}): {why_of(outcome)}"[:_SAID]
        if state is None:  # run by its name: counted at the end
            self.mended = self.mended.model_copy(update={"failed": said})
            return
        self._change(failed=said)
        own = course.place_of(attempt.sequence) - (not isinstance(self._run.task.steps[0], Goto))
        counted = SkillRun(
            run_id=self._run_id,
            version=skill.version,
            succeeded=False,
            steps_done=max(own, 0),
            failed_step=own if own >= 0 else None,
            reason=f"{attempt.title}: {why_of(outcome)}"[:_SAID],
            change=change,
        )
        request = NoteSkillRun(tenant=self._run.tenant, name=skill.name, run=counted)
        what = f"skill {skill.name} failed"
        await self._remembering("skill.note_run", request, type(None), "failed", what, queue=policies.browser_queue)

    def note_person(self) -> None:
        """A person did a part of it: what was done is not what the steps say."""
        self.mended = self.mended.model_copy(update={"helped": True})
        if self.state is not None:
            self._change(helped=True)

    async def ended(self, result: RunResult, plan: tuple[Step, ...]) -> RunResult:
        """The result, with the skill of the run, written down if it was learned. Fails nothing."""
        is_named = self.state is None and self._run.skill is not None
        if self.state is None and not (is_named and self._run.relearns):
            return result
        try:
            if is_named:
                used = await self._mended(result, plan)
            else:
                await self._judged(result)
                used = await self._learned(result, plan)
                await self.release()
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            said = f"the knowledge base was not told of this run: {error.cause or error}"
            return result.model_copy(update={"warnings": (*result.warnings, said)})
        return result.model_copy(update={"skill": used}) if used is not None else result

    async def _judged(self, result: RunResult) -> None:
        """Tell recall whether it was right; that the site has changed says nothing of that."""
        if self._run.skill is None or self._known.failed:
            return
        if not result.succeeded and result.reason != "verification_failed":
            return
        outcome: Literal["succeeded", "failed"] = "succeeded" if result.succeeded else "failed"
        request = JudgeRequest(run_id=self._run_id, tenant=self._run.tenant, outcome=outcome)
        await self._remembering("skill.judge", request, type(None), "judge", f"the recall {outcome}")

    async def release(self) -> None:
        """Let others learn what this run has learned, or not.

        Raises:
            ActivityError: the knowledge base cannot be told; the claim ends by itself.
        """
        if self.state is not None and self.state.claim:
            await self._released(self.state.claim)

    async def _released(self, key: str) -> None:
        request = ClaimRequest(run_id=self._run_id, tenant=self._run.tenant, key=key)
        await self._remembering("skill.release", request, type(None), "release", "learns it no more")

    async def _mended(self, result: RunResult, plan: tuple[Step, ...]) -> SkillUse | None:
        """The next version of a skill that was run by its name, where the planner had to revise it."""
        run, revised_from = self._run, self._planning.revised_from
        if run.skill is None or not (result.succeeded and revised_from):
            return None
        if not run.task.verify or self.mended.helped:
            why = "a person did a part of it" if self.mended.helped else "the skill has no final verification"
            self._board.note_text(f"no new version was learned: {why}")
            return None
        own = plan if isinstance(run.task.steps[0], Goto) or not run.task.url else plan[1:]
        learned = await self._written_down(
            LearnRequest(
                run_id=self._run_id,
                tenant=run.tenant,
                task=run.task.model_copy(update={"steps": own}),
                values=run.values,
                labels=Labels(name=run.skill.name),
                sentence=fill(run.task.goal, run.values),
                replaces=run.skill,
                keeps_start=min(revised_from) > 1,
                reason=self.mended.failed,
            )
        )
        return learned.skill

    async def _written_down(self, request: LearnRequest) -> Learned:
        learned = await self._remembering("skill.learn", request, Learned, "learn", "write down what was learned")
        if learned.refused:
            self._board.note_text(f"no skill was learned: {learned.refused}")
        return learned

    async def _learned(self, result: RunResult, plan: tuple[Step, ...]) -> SkillUse | None:
        state = self._known
        verify, skill = self.verify, self._run.skill
        kept = None if skill is None else SkillUse(name=skill.name, version=skill.version, how="recalled")
        why = ""
        if not result.succeeded or (skill is not None and not state.failed):
            return kept
        if not verify:
            why = "nothing says how a reached goal shows, so that nothing of it is kept"
        elif state.helped:
            why = "a person did a part of it"
        elif not state.labels.name:
            why = "the goal has no labels"
        if why:
            self._board.note_text(f"no skill was learned: {why}")
            return kept
        learned = await self._written_down(
            LearnRequest(
                run_id=self._run_id,
                tenant=self._run.tenant,
                task=self._run.task.model_copy(update={"steps": plan, "verify": verify}),
                values=self._run.values,
                labels=state.labels,
                sentence=state.sentence,
                first=state.first,
                replaces=skill,
                keeps_start=min(self._planning.revised_from, default=0) > 1,
                reason=state.failed,
                context=state.context,
            )
        )
        return learned.skill or kept

    @property
    def verify(self) -> tuple[Predicate, ...]:
        """What must hold at the end, templates: the task's own, else what the planner says."""
        return self._run.task.verify or (self.state.verify if self.state is not None else ())

    # ----------------------------------------------------------------------------------------- the rest

    @property
    def _known(self) -> GoalState:
        assert self.state is not None, "only of a run from a goal"
        return self.state

    def _change(self, **fields: object) -> None:
        self.state = self._known.model_copy(update=fields)

    def _endless(self, position: int) -> str:
        return (
            f"the goal was not reached in {self._known.rounds} plans and {position} steps; {ROUNDS} plans and {STEPS} "
            "steps are what a run may take: put the goal more exactly, or list the steps in a task file"
        )

    async def _remembering(
        self,
        name: str,
        request: Record,
        result_type: type[_Result],
        activity_id: str,
        summary: str,
        *,
        queue: Callable[[str], str] = policies.model_queue,
    ) -> _Result:
        """Ask the knowledge base, or a model about the goal."""
        result: _Result = await workflow.execute_activity(
            name,
            request,
            result_type=result_type,
            activity_id=f"skill-{activity_id}",
            summary=event_summary(summary),
            task_queue=queue(workflow.info().task_queue),
            start_to_close_timeout=policies.MODEL_LIMIT,
            schedule_to_close_timeout=policies.MODEL_TOTAL,
            heartbeat_timeout=policies.HEARTBEAT,
            retry_policy=policies.MODEL,
        )
        return result

"""Runs that begin from a goal: recalled or learned, planned part by part, and written down at the end."""

from datetime import timedelta
from typing import Any, Literal, TypeVar

from temporalio import workflow
from temporalio.exceptions import ActivityError, CancelledError

from workflows import policies
from workflows.calls import MODEL, PLANNING, ask, ask_model
from workflows.people.person import Person
from workflows.plan.fitting import fit_of, missed, passing_over
from workflows.plan.planning import Planning, seen_of
from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.session.recovery import Recovery
from workflows.step.attempts import Attempt, why_in_short, why_of
from workflows.step.failures import TaskBlocked, TaskFailed, is_of

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.base import Record
    from replaywright.domain.common.sentences import masked
    from replaywright.domain.common.templates import fill
    from replaywright.domain.plan.goal_runs import (
        LOOK_S,
        NO_PLANNER,
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
    from replaywright.domain.recall.patterns import pattern_of
    from replaywright.domain.recall.recall import Recalled, RecallRequest
    from replaywright.domain.run.approvals import is_confirmed, recalled_question
    from replaywright.domain.run.model_requests import Revision
    from replaywright.domain.run.runs import RunInput, RunResult
    from replaywright.domain.run.scope import Mode, Usage
    from replaywright.domain.run.skill_runs import NoteSkillRun, change_of
    from replaywright.domain.run.spending import BUDGET_SPENT
    from replaywright.domain.skill.fitting import RecalledFor
    from replaywright.domain.skill.skills import SkillRef, SkillRun, context_in
    from replaywright.domain.step.outcomes import StepOutcome
    from replaywright.domain.task.steps import Goto, Step
    from replaywright.domain.task.tasks import Parameter, Task, bind_parameters
    from replaywright.domain.trace.details import event_summary
    from replaywright.errors import InputInvalid, ModelMisconfigured
    from replaywright.ports.models import Labelled

_Result = TypeVar("_Result")

_RECALLS = 3
"""Maximum number of skills that a run tries; if none fits its start page, it learns."""
_SAID = 500
"""Characters of a reason that is written down."""


class Goals:
    """Decisions of a run from a goal: recall, learning, planning, and what is kept."""

    def __init__(self, context: RunContext, browser: Browser, person: Person, recovery: Recovery) -> None:
        self._context = context
        self._run = context.run
        self._person = person
        self._browser = browser
        self._recovery = recovery
        self._board = context.board
        self._run_id = context.run_id
        self._usage = Usage()
        """Usage of models before the run decided how it goes on."""
        self._is_rejected = False
        """A person said that the skill which was chosen is not the one that is meant."""

    @property
    def is_undecided(self) -> bool:
        """Return True if the run has yet to recall a skill or begin to learn."""
        return not self._context.is_goal and not self._run.task.steps

    # ------------------------------------------------------------------------------------ the beginning

    async def decided(self) -> RunInput:
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
            self._context.show("recalling")
            recalled = await self._recalled(goal, notes, may_ask=run.mode is not Mode.REPLAY)
        if recalled is not None:
            return recalled
        may_recall = may_recall and not self._is_rejected
        if run.mode is Mode.REPLAY:
            raise TaskFailed("not_recalled", f"{'; '.join(notes)}; in mode replay nothing is learned")
        key = claim_key(fill(task.url, run.values), goal)
        await self._claimed(key, notes)
        if may_recall:
            # Again: another run may have learned it since, from a sentence that differs in values only, and have given
            # its claim up. A model has answered already.
            recalled = await self._recalled(goal, notes, may_ask=False)
            if recalled is not None:
                await self._released(key)
                return recalled
        self._context.show("asking the labeller")
        return await self._to_learn(goal, key, notes)

    async def _recalled(self, goal: str, notes: list[str], *, may_ask: bool) -> RunInput | None:
        run = self._run
        request = RecallRequest(
            **self._context.scope,
            url=fill(run.task.url, run.values),
            goal=goal,
            secrets=run.task.secrets,
            context=context_in(run.task.browser, signed_in=run.state.signed_in),
            passed_over=run.state.passed_over,
            may_ask=may_ask,
        )
        what = f"recall {masked(goal)!r}"
        recall = await self._remembering("skill.recall", request, Recalled, f"recall{len(notes)}", what)
        self._usage = self._usage.plus(recall.usage)
        skill = recall.skill
        if recall.decision == "abstain" or skill is None:
            note = f"no skill recalled: {recall.reason.replace('_', ' ')}"
            notes += [note] if note not in notes else []
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
        return f"{verdict.by} says that it is not meant: {verdict.why}".removesuffix(": ")

    async def _claimed(self, key: str, notes: list[str]) -> None:
        """Wait until nobody else learns the same."""
        request = ClaimRequest(run_id=self._run_id, tenant=self._run.tenant, key=key)
        waits = self._run.wait_for_others and not self._run.fresh
        waited = 0.0
        while True:
            holder = await self._remembering(
                "skill.claim", request, str, f"claim{int(waited / LOOK_S)}", "claim the goal for learning"
            )
            if holder == self._run_id or not waits or waited >= WAIT_S:
                break
            if not waited:
                notes.append(f"waited for {holder}, which learned the same")
            self._context.show(f"waits for {holder}, which learns the same")
            await workflow.sleep(timedelta(seconds=LOOK_S), summary="until the next check for the learned skill")
            waited += LOOK_S

    async def _to_learn(self, goal: str, key: str, notes: list[str]) -> RunInput:
        run, task = self._run, self._run.task
        labels = Labels()
        try:
            labelled = await self._remembering(
                "model.label",
                LabelRequest(**self._context.scope, goal=goal, secrets=task.secrets),
                Labelled,
                "label",
                "label the goal",
            )
            labels = labelled.labels
            self._usage = self._usage.plus(labelled.usage)
            notes += [f"label: {refused}" for refused in labels.refused]
        except ActivityError as error:
            if isinstance(error.cause, CancelledError):
                raise
            if is_of(error, NO_PLANNER):
                await self._released(key)
                raise TaskFailed(ModelMisconfigured.__name__, policies.said(error), at_step=False) from error
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
        fields = {"goal": goal, "totals": totals, "begun": self._context.budget.begun, "passed_over": ()}
        fields["questions"] = self._person.asked_so_far
        wishes = self._run.task.policy
        if wishes is not None:  # who starts a run sets its limits, whatever the skill's task says
            task = task.model_copy(update={"policy": wishes})
        browser = self._run.task.browser
        if browser is not None and browser != task.browser:  # the same for the browser; its parameters may be others
            secrets = tuple(dict.fromkeys((*task.secrets, *self._run.task.secrets)))
            task = task.model_copy(update={"browser": browser.filled(self._run.values), "secrets": secrets})
        changes = {
            "task": task,
            "values": values,
            "lineage": self._context.lineage,
            "state": state.model_copy(update=fields),
        }
        return self._run.model_copy(update=changes)

    # --------------------------------------------------------------------------------------- the plan

    async def next_part(self) -> Revision:
        """Have the planner go on from the page as it is.

        Raises:
            TaskFailed: the planner gave up, may not be asked any more, or has no end.
            ActivityError: it cannot be asked.
        """
        state, course, budget = self._known, self._context.course, self._context.budget
        position = len(course.plan)
        if state.rounds >= ROUNDS or course.written(position) >= STEPS:
            raise TaskFailed("endless_plan", self._endless(course.written(position)))
        if limit := budget.spent(self._context.state.totals.usage):
            raise TaskBlocked(limit.rule, limit.said) if limit.rule else TaskFailed(BUDGET_SPENT, limit.said)
        self._board.doing = "asking the planner"
        looked = await self._recovery.read(
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
            )
        )
        if position == 1 and not state.rounds:
            seen = context_in(self._run.task.browser, signed_in=looked.signed_in, start=looked.place)
            self._context.change_goal(context=seen)
        revision = await self._planned(
            self._request(position, looked.snapshot).model_copy(
                update={"dom": looked.dom, "picture": looked.picture, "picture_missing": looked.picture_missing}
            ),
            f"{position + 1:04d}-plan{state.rounds + 1}",
            f"{position + 1:04d} how to reach the goal?",
        )
        if revision.gave_up:
            raise TaskFailed("planner_gave_up", f"the planner gave up: {revision.gave_up}"[:_SAID])
        return revision

    async def revise(self, attempt: Attempt, outcome: StepOutcome) -> Revision:
        """Have the planner go on from a step that failed.

        Raises:
            ActivityError: it cannot be asked.
        """
        state = self._known
        if state.rounds >= ROUNDS:
            return Revision(gave_up=self._endless(attempt.sequence))
        seen = seen_of(outcome)
        request = self._request(attempt.sequence, seen["snapshot"]).model_copy(
            update={
                **seen,
                "failed": why_of(outcome),
                "tried": (*attempt.tried, why_of(outcome)),
                "dom": outcome.artifacts.get("dom", ""),
            }
        )
        activity_id = attempt.activity_id(f"plan{state.rounds + 1}")
        return await self._planned(
            request, activity_id, f"{attempt.sequence + 1:04d} how to go on? ({why_in_short(outcome)})"
        )

    async def _planned(self, request: PlanRequest, activity_id: str, summary: str) -> Revision:
        self._context.change_goal(rounds=self._known.rounds + 1)
        revision = await ask_model(
            "model.plan", request, Revision, PLANNING, activity_id=activity_id, summary=event_summary(summary)
        )
        if not revision.gave_up:
            self._context.change_goal(learning=not revision.complete, verify=revision.verify or self._known.verify)
        return revision

    def _request(self, position: int, snapshot: str) -> PlanRequest:
        course, state = self._context.course, self._context.state
        return PlanRequest(
            **self._context.scope,
            task=self._run.task.model_copy(update={"steps": ()}),
            values=self._run.values,
            plan=course.rolled,
            position=course.written(position),
            commits=course.commits_written(state.commits),
            answers=state.answers,
            snapshot=snapshot,
        )

    # ---------------------------------------------------------------------- a recalled skill's beginning

    async def unfit(self, attempt: Attempt) -> StepOutcome | None:
        """Return the outcome of a recalled skill that does not fit the start page that is open; None otherwise.

        Looked at once, after the first step of all, which opens that page. One whose start page has changed counts as
        missed. Elsewhere the run ends here, and goes on from the page as one that has not recalled this skill.
        """
        state, skill = self._context.state.goal, self._run.skill
        if state is None or skill is None or state.begins is None or attempt.sequence != 1:
            return None
        self._context.change_goal(begins=None)
        begins, task = state.begins, self._run.task
        if not (begins.precondition or begins.context.signed_in is not None):
            return None
        fit = await self._recovery.read(lambda: fit_of(self._browser, begins, task, self._run.values))
        if not fit.reason:
            return None
        self._board.note_text(f"skill {skill.name}, version {skill.version}, is not begun: {fit.message}")
        request = JudgeRequest(run_id=self._run_id, tenant=self._run.tenant, outcome="refused", reason=fit.reason)
        await self._remembering("skill.judge", request, type(None), "refused", f"recall: {fit.reason}")
        if not fit.own_page:
            await workflow.wait_condition(workflow.all_handlers_finished)
            workflow.continue_as_new(passing_over(self._run, self._context.lineage, self._browser, begins, fit))
        return missed(fit)

    # ------------------------------------------------------------------------------- how it went

    def is_broken(self, outcome: StepOutcome) -> bool:
        """Return whether this failure of a step is the first that breaks the run's skill."""
        known = self._context.state.goal or self._context.state.mended
        return self._run.skill is not None and not known.failed and Planning.is_of_the_page(outcome)

    async def quarantine(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Quarantine the run's skill: no run recalls it before it is repaired."""
        state, skill = self._context.state.goal, self._run.skill
        assert skill is not None, "only of a run of a skill"
        change = change_of(outcome.reason or outcome.status)
        fault = f"{change}: step {attempt.sequence + 1} ({attempt.title}): {why_of(outcome)}"[:_SAID]
        if state is None:  # run by its name: counted at the end
            self._context.change(mended=self._context.state.mended.model_copy(update={"failed": fault}))
            return
        self._context.change_goal(failed=fault)
        own = self._context.course.place_of(attempt.sequence) - (not isinstance(self._run.task.steps[0], Goto))
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
        await ask("skill.note_run", request, type(None), MODEL, activity_id="skill-failed", summary=event_summary(what))

    def note_person(self) -> None:
        """A person did a part of it: what was done is not what the steps say."""
        self._context.change(mended=self._context.state.mended.model_copy(update={"helped": True}))
        if self._context.is_goal:
            self._context.change_goal(helped=True)

    async def ended(self, result: RunResult) -> RunResult:
        """The result, with the skill of the run, written down if it was learned. Fails nothing."""
        is_goal, plan = self._context.is_goal, self._context.course.rolled
        is_named = not is_goal and self._run.skill is not None
        if not is_goal and not (is_named and self._run.relearns):
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
            warning = f"the knowledge base was not told of this run: {error.cause or error}"
            return result.model_copy(update={"warnings": (*result.warnings, warning)})
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
        goal = self._context.state.goal
        if goal is not None and goal.claim:
            await self._released(goal.claim)

    async def _released(self, key: str) -> None:
        request = ClaimRequest(run_id=self._run_id, tenant=self._run.tenant, key=key)
        await self._remembering("skill.release", request, type(None), "release", "release the learning claim")

    async def _mended(self, result: RunResult, plan: tuple[Step, ...]) -> SkillUse | None:
        """The next version of a skill that was run by its name, where the planner had to revise it."""
        run, revised_from = self._run, self._context.state.revised_from
        if run.skill is None or not (result.succeeded and revised_from):
            return None
        if not run.task.verify or self._context.state.mended.helped:
            helped = self._context.state.mended.helped
            why = "a person did a part of it" if helped else "the skill has no final verification"
            self._board.note_text(f"no new version was learned: {why}")
            return None
        own = plan if isinstance(run.task.steps[0], Goto) or not run.task.url else plan[1:]
        return await self._written_down(
            run.task.model_copy(update={"steps": own}),
            labels=Labels(name=run.skill.name),
            sentence=fill(run.task.goal, run.values),
            reason=self._context.state.mended.failed,
        )

    async def _written_down(self, task: Task, **more: Any) -> SkillUse | None:
        """Have what was done written down; `more` are the fields of the request that both ways differ in."""
        request = LearnRequest(
            run_id=self._run_id,
            tenant=self._run.tenant,
            task=task,
            values=self._run.values,
            replaces=self._run.skill,
            owner=self._context.owner,
            content_keys=self._context.state.content_keys,
            keeps_start=min(self._context.state.revised_from, default=0) > 1,
            **more,
        )
        learned = await self._remembering("skill.learn", request, Learned, "learn", "store the learned skill")
        if learned.refused:
            self._board.note_text(f"no skill was learned: {learned.refused}")
        return learned.skill

    async def _learned(self, result: RunResult, plan: tuple[Step, ...]) -> SkillUse | None:
        state = self._known
        verify, skill = self._context.verify, self._run.skill
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
            self._run.task.model_copy(update={"steps": plan, "verify": verify}),
            labels=state.labels,
            sentence=state.sentence,
            first=state.first,
            reason=state.failed,
            context=state.context,
        )
        return learned or kept

    # ----------------------------------------------------------------------------------------- the rest

    @property
    def _known(self) -> GoalState:
        assert self._context.state.goal is not None, "only of a run from a goal"
        return self._context.state.goal

    def _endless(self, position: int) -> str:
        return (
            f"the goal was not reached in {self._known.rounds} plans and {position} steps; {ROUNDS} plans and {STEPS} "
            "steps are what a run may take: put the goal more exactly, or list the steps in a task file"
        )

    @staticmethod
    async def _remembering(
        name: str, request: Record, result_type: type[_Result], activity_id: str, summary: str
    ) -> _Result:
        """Ask the knowledge base, or a model about the goal."""
        activity_id, summary = f"skill-{activity_id}", event_summary(summary)
        return await ask_model(name, request, result_type, MODEL, activity_id=activity_id, summary=summary)

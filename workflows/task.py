"""The workflow `BrowserTask`: one loop for learning, replaying and healing."""

import asyncio
from functools import partial
from typing import Literal, NoReturn

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError

from workflows import policies
from workflows.admission import refused
from workflows.people.consents import Consents
from workflows.people.human_steps import HumanSteps
from workflows.people.lending import Lending
from workflows.people.person import Person
from workflows.people.steering import Steered
from workflows.people.taking_over import TakingOver
from workflows.plan.goals import Goals
from workflows.plan.planning import Planning
from workflows.run import finishing
from workflows.run.board import Board
from workflows.run.meter import Meter, granted
from workflows.run.named import newest
from workflows.run.network import network_of
from workflows.run.probing import Probing
from workflows.run.resuming import (
    EARLIER_CHAIN,
    EARLIER_RUN,
    KEPT,
    Resuming,
    is_done_before,
    kept,
    question_on,
)
from workflows.run.searchable import Searchable
from workflows.run.skill_runs import Passed, note_run
from workflows.run.telling import step_told
from workflows.run.updates import SteeringUpdates
from workflows.run.views import Views
from workflows.session.browser import Browser
from workflows.session.recovery import Place, Recovery
from workflows.session.recycling import Recycler
from workflows.step.attempts import Attempt
from workflows.step.doubts import UNKNOWN_WARNINGS, Doubts
from workflows.step.failures import TaskBlocked, TaskFailed, rule_behind
from workflows.step.listening import Listening
from workflows.step.lists import Lists
from workflows.step.overrides import Overrides
from workflows.step.rulings import (
    MESSAGE_LIMIT,
    came_to_nothing,
    counted,
    explained,
    failed_question,
    is_out_of_sight,
    may_repeat,
    out_of_budget,
)
from workflows.step.weak_steps import WeakSteps

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.common.templates import fill, parameters_in
    from replaywright.domain.page.observed import PredicateResult
    from replaywright.domain.predicate.predicates import Predicate, fill_predicate
    from replaywright.domain.proof.late import may_come_late
    from replaywright.domain.proof.signed_out import SIGNED_OUT, enters_secret
    from replaywright.domain.run.commit_lines import COMMITS, COMMITS_TOLD, CommitLine, commits_said, left_at
    from replaywright.domain.run.lineages import lineage_of_firing
    from replaywright.domain.run.runs import (
        FILES_KEPT,
        FinishRequest,
        Mode,
        PersonVerdict,
        Proposal,
        Resumption,
        RunInput,
        RunResult,
        RunState,
        SettleRequest,
        StopRequest,
    )
    from replaywright.domain.run.steering import ABORTED
    from replaywright.domain.secrets.starts import MARK, UNSIGNED
    from replaywright.domain.skill.fitting import place_of
    from replaywright.domain.skill.weak_steps import WEAK_STEP
    from replaywright.domain.step.fingerprints import begun_anew, fingerprint
    from replaywright.domain.step.outcomes import BLOCKED, ITEM_SKIPPED, SKIPPED_AHEAD, Lookup, Status, StepOutcome
    from replaywright.domain.step.overrides import Due
    from replaywright.domain.task.steps import Expand, Goto, Hover, Step, TakeOver, names_element
    from replaywright.domain.task.tasks import bind_parameters
    from replaywright.errors import InputInvalid, ReplaywrightError

WARNINGS_KEPT = 20
"""Warnings that a run's result holds at most."""
SKIPPED = "skipped"
"""Reason, and warning, of a step that a person decided to leave out."""


def plan_of(run: RunInput) -> tuple[Step, ...]:
    """The task's own steps, with the start URL opened first when they do not do so themselves."""
    steps = run.task.steps
    if run.task.url and not (steps and isinstance(steps[0], Goto)):
        return (Goto(action="goto", url=run.task.url), *steps)
    return steps


def begun_with(run: RunInput) -> RunInput:
    """The input with the values of all parameters: a caller in another language need not know of the defaults.

    Only a run that begins is held against its task; one that continues as new has been, and its task may be a skill's
    or a learned one since. Of a skill's name, the task is looked up first.

    Raises:
        InputInvalid: a value is missing, unknown or not of the declared type.
    """
    if run.named or workflow.info().continued_run_id is not None:
        return run
    return run.model_copy(update={"values": bind_parameters(run.task, run.values, place="values.")})


@workflow.defn(name="BrowserTask")
class BrowserTask(SteeringUpdates, Views):
    """Runs one task in one browser; every step is an activity, the history is the checkpoint."""

    @workflow.init
    def __init__(self, run: RunInput) -> None:
        self._objection = ""
        try:
            run = begun_with(run)
        except InputInvalid as exc:
            self._objection = str(exc)
        self._run = run
        self._lineage = run.lineage or self._first_lineage(run)
        state = run.state
        self._position = state.position
        self._previous = state.previous
        self._previous_outcome = state.previous_outcome
        self._last_commit = state.last_commit
        self._commits = state.commits
        self._commit_lines = state.commit_lines
        self._at_hand: Attempt | None = None
        """The step under way, until it is done."""
        self._totals = state.totals
        self._content_keys = dict.fromkeys(state.content_keys)
        self._files = state.files
        self._warnings = state.warnings
        self._admitted = ""
        self._planning = Planning(run, self._lineage)
        self._browser = Browser(
            run_id=workflow.info().workflow_id,
            lineage=self._lineage,
            tenant=run.tenant,
            base_queue=workflow.info().task_queue,
            show=self._show_doing,
            waited=self._planning.leave_out,
            network=network_of(run),
        )
        self._browser.session, self._browser.epoch = state.session, state.epoch
        self._browser.witness = state.witness
        self._browser.meter = Meter(state.used, self._planning.elapsed)
        self._lists = Lists(self._browser, run, state.plan or plan_of(run))
        self._overrides = Overrides(self._browser, run, self._lineage)
        self._probing = Probing(self._browser, run, self._lineage)
        self._listening = Listening(run, self._lineage, self._browser)
        self._resuming = Resuming(run, self._lineage)
        self._recovery = Recovery(
            self._browser,
            run,
            self._overrides,
            attempt=lambda position: self._attempt(position, "", ""),
            clear=self._clear_away,
            ask=self._asked_again,
            supply=lambda attempt: self._human.supplied(attempt, stays_awake=True),
            show=self._show_doing,
        )
        self._due, self._ahead, self._was_replayed = state.due, "", False
        self._verification: tuple[PredicateResult, ...] | None = None
        self._board = Board()
        self._searchable = Searchable(run)
        self._recycler = Recycler(
            self._browser, self._recovery, self._board, run, lineage=self._lineage, show=self._show_doing
        )
        self._lending = Lending(run, self._browser, self._recovery, self._board, lineage=self._lineage, show=self._show)
        self._steering = Steered(
            run,
            self._board,
            self._planning,
            self._lists,
            lending=self._lending,
            lineage=self._lineage,
            show=self._show,
        )
        self._person = Person(
            run,
            self._browser,
            self._board,
            self._planning,
            self._show,
            wait=lambda answered: self._lending.wait(answered, self._place),
            wake=lambda verdict: self._recovery.wake(verdict, self._place),
        )
        self._goals = Goals(run, self._lineage, self._browser, self._planning, board=self._board, person=self._person)
        self._consents = Consents(run, self._person, self._leave_epoch, self._leave)
        self._human = HumanSteps(run, self._lists, self._person, self._planning)
        self._weak = WeakSteps(run, self._lists, self._person)
        self._hands = TakingOver(self._browser, self._lists, self._person, self._lending, self._recover)
        self._doubts = Doubts(
            self._browser,
            self._board,
            self._person,
            self._show,
            recover=self._recover,
            leave=self._leave,
            site_lag_ms=run.task.site_lag_ms,
            in_flight_ms=run.task.in_flight_ms,
        )

    @staticmethod
    def _first_lineage(run: RunInput) -> str:
        info = workflow.info()
        return lineage_of_firing(info.workflow_id, info.first_execution_run_id) if run.schedule else info.workflow_id

    @workflow.run
    async def run(self, run: RunInput) -> RunResult:
        """Perform the plan, verify the task, make active what was learned.

        Raises:
            ApplicationError: type `TaskFailed`, or `TaskBlocked` if a rule of the policy ended the run; its details
                are the `RunResult` and a `RunFailure`. Type `InputInvalid`, without details, if `run` is wrong.
        """
        if self._objection:
            raise refused(self._objection)
        run = self._run
        self._steering.begin()
        self._searchable.begin(self._totals)
        try:
            await self._named()
            await self._policed()
            if self._goals.is_undecided:
                decided = await self._goals.decided(self._show_doing)
                await workflow.wait_condition(workflow.all_handlers_finished)  # of a person who was asked
                self._continue(decided)
            if self._resuming.is_due:
                await self._resume()
            await self._browser.open()
            begun_at = self._position
            while self._position < len(self._plan) or await self._planned_on():
                if self._position - begun_at >= run.steps_per_history:
                    await workflow.wait_condition(workflow.all_handlers_finished)
                    self._continue(run.model_copy(update={"lineage": self._lineage, "state": self._state()}))
                await self._advance()
            result = await self._finished()
        except TaskFailed as failure:
            self._note_unfinished()
            kept = {"artifacts": failure.artifacts, "rule": failure.rule}
            result = self._failed(failure.reason, str(failure), at_step=failure.at_step).model_copy(update=kept)
        except (ActivityError, ReplaywrightError, asyncio.CancelledError) as error:
            result = await self._broken_off(error)
        self._steering.is_over = True
        result = await self._goals.ended(result, self._lists.course.rolled)
        self._board.doing = "closing the browser"
        await self._browser.close(is_over=True)
        result = result.model_copy(update={"refused_hosts": self._browser.refused})
        if run.skill is not None:
            place_of = self._lists.course.place_of
            told = (
                result
                if result.failed_step is None
                else result.model_copy(update={"failed_step": place_of(result.failed_step)})
            )
            changed = (*self._planning.revised_from, *self._steering.edited)
            revised_from = tuple(map(place_of, changed))
            await note_run(run, run.skill, told, Passed(place_of(self._position), plan_of(run), revised_from))
        unmet: Literal["failed", "blocked"] = "blocked" if result.rule else "failed"
        message = self._message(result)
        self._board.end("done" if result.succeeded else unmet, message)
        self._show()
        if not result.succeeded:
            if result.rule:
                workflow.upsert_memo({"status": "blocked"})  # lists of runs do not tell one failure from another
            kind = "TaskBlocked" if result.rule else "TaskFailed"
            raise ApplicationError(message, result, self._failure(result), type=kind, non_retryable=True)
        return result

    async def _named(self) -> None:
        """Tell which lineage a scheduled run begins; where it was told the name of a skill, go on as one of that.

        Raises:
            TaskFailed: there is no such skill, or the values are not what it takes.
        """
        run = self._run
        if run.schedule:  # who made it could not know the lineage, and continuing as new forgets what was told before
            workflow.upsert_memo({"lineage": self._lineage})
        if run.named:
            await self._policed()
            self._show_doing(f"looking up the skill {run.named}")
            self._continue(await newest(run, self._lineage))

    def _continue(self, run: RunInput) -> NoReturn:
        """Continue as new, with the proof that the first execution's start was signed."""
        workflow.continue_as_new(run.model_copy(update={"admitted": self._admitted}))

    @staticmethod
    def _message(result: RunResult) -> str:
        """Why the run came to nothing; empty for one that succeeded."""
        step = "" if result.failed_step is None else f"step {result.failed_step + 1}: "
        return "" if result.succeeded else f"{step}{result.message or result.reason}"

    async def _policed(self) -> None:
        """Have the policy decide before anything is done: once in each execution, by the worker's rules of then.

        Raises:
            TaskBlocked: it forbids a step that is still to be done.
        """
        self._board.doing = "asking the policy"
        self._show()
        course = self._lists.course
        begins = 0 if not self._position else course.place_of(self._position)
        try:
            answer = await granted(self._run, self._lineage, course.rolled[begins:], self._browser.meter.used)
        except ActivityError as error:
            if not (rule := rule_behind(error)):
                raise
            raise TaskBlocked(rule, policies.said(error), at_step=False) from error
        self._planning.cap(answer.caps)
        self._admitted = answer.admitted
        if answer.start == UNSIGNED:
            workflow.upsert_memo({MARK: UNSIGNED})
            told = f"unsigned start, so no secrets: {answer.fault}"
            self._warnings = tuple(dict.fromkeys((*self._warnings, told)))[:WARNINGS_KEPT]

    async def _broken_off(self, error: ActivityError | ReplaywrightError | asyncio.CancelledError) -> RunResult:
        """The result of a run that an activity, a refusal or a person ended; a cancelled one gives back what it has."""
        if isinstance(error, ReplaywrightError):
            if self._browser.session is None:
                raise error
            return self._failed(type(error).__name__, str(error))
        if isinstance(error, ActivityError) and not isinstance(error.cause, CancelledError):
            kind = error.cause.type if isinstance(error.cause, ApplicationError) else None
            rule = rule_behind(error)
            reason = BLOCKED if rule else kind or type(error.cause).__name__
            told = policies.said(error) if rule else str(error.cause or error)
            if policies.is_loss(error) or policies.leaves_doubt(error):
                self._note_unfinished()
            return self._failed(reason, told).model_copy(update={"rule": rule})
        said = self._steering.aborted
        if said is None or workflow.cancellation_reason() is not None:
            await asyncio.shield(self._left())
            self._board.end("cancelled", commits_said(self._commit_lines))
            self._show()
            raise error
        self._steering.is_ending = True
        await self._stop()
        await self._steering.note(ABORTED, said, self._position)
        return self._failed(ABORTED, "; ".join(filter(None, (f"ended by {said}", commits_said(self._commit_lines)))))

    async def _left(self) -> None:
        """Let nothing more leave the browser, give back what others wait for, and tell what a cancelled run has done.

        Temporal keeps no result of such a run, so that stands in its memo.
        """
        await self._stop()
        await self._browser.close()
        await self._goals.release()
        if self._commit_lines:
            workflow.upsert_memo({COMMITS: [line.model_dump(mode="json") for line in self._commit_lines]})

    async def _stop(self) -> None:
        """Have the gate of the commit step under way closed, and note what is known of the step."""
        attempt = self._at_hand
        if attempt is None or attempt.may_repeat or attempt.begun is None or self._browser.session is None:
            return
        if attempt.came_to is not None and attempt.came_to.status is not Status.IN_DOUBT:
            self._note_unfinished()
            return
        self._at_hand = None
        self._browser.raise_epoch()
        request = StopRequest(
            action=attempt.request(),
            session_id=attempt.begun.session.session_id,
            begun=attempt.begun.epoch,
            witness=self._browser.witness,
        )
        stopped = await finishing.stopped(self._browser, request)
        left = stopped.left_at or finishing.left_by(attempt.came_to)
        if stopped.is_armed or attempt.step.effect is not None:
            self._tell_commit(finishing.line_of(attempt, stopped.state, left))

    def _note_unfinished(self) -> None:
        """Note what the last outcome of the commit step that ended the run says of it."""
        attempt, self._at_hand = self._at_hand, None
        if attempt is None or attempt.may_repeat or attempt.begun is None:
            return
        if (line := finishing.known_of(attempt, attempt.came_to)) is not None:
            self._tell_commit(line)

    def _tell_commit(self, line: CommitLine) -> None:
        self._commit_lines = (*self._commit_lines, line)[-COMMITS_TOLD:]

    # ------------------------------------------------------------------- going on after another run

    async def _resume(self) -> None:
        """Take over what the ledger answers, decide what it has in doubt, bring the browser to the first other step."""
        self._board.doing = "asking the ledger"
        self._show()
        found = await self._resuming.ask(self._lists.course.rolled)
        self._browser.epoch = max(self._browser.epoch + 1, found.epoch)
        earlier = "" if self._browser.session is None else self._browser.session.session_id
        is_live = bool(earlier) and await self._browser.recover()
        await self._browser.open()
        self._take_over(found)
        was_doubtful = found.is_doubtful
        if was_doubtful:
            attempt = self._attempt_here()
            await self._doubts.resolved(attempt, "" if is_live else EARLIER_RUN, earlier)
            found = await self._resuming.ask(self._lists.course.rolled)
            self._take_over(found)
            while self._browser.epoch < found.epoch:
                self._browser.raise_epoch()
        if is_live and was_doubtful:  # the page that the step in doubt was left on
            return
        if is_live:
            await self._browser.close()
            await self._browser.open()
        if not await self._recovery.rebuilt(self._place):
            await self._recover()
        self._browser.adopted = True

    def _take_over(self, found: Resumption) -> None:
        """Pass the steps that the ledger answers: for these nothing is done."""
        for answered in found.answered[self._position :]:
            attempt = self._attempt_here()
            self._note(attempt, answered.outcome)
            self._passed(attempt, answered.outcome)

    async def _done_before(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome:
        """What becomes of a commit step that the lineage has under another chain of steps: never simply repeated."""
        if not is_done_before(outcome):
            other = self._attempt(attempt.sequence, "", "")
            other.mark = outcome.earlier
            await self._doubts.resolved(other, EARLIER_CHAIN)
            self._browser.raise_epoch()
            attempt.anew("earlier", outcome)
            return await self._cleared(attempt)
        verdict = self._resuming.decided(attempt, outcome)
        if verdict is None:
            self._note(attempt, outcome)
            verdict = await self._person.asked(question_on(attempt))
        await self._person.settled(attempt, SettleRequest(action=attempt.request(), verdict=verdict, failed=True))
        match verdict.verdict:
            case "redo":
                attempt.redo = outcome.earlier
                attempt.anew("redo", outcome)
                return await self._cleared(attempt)
            case "keep":
                return kept(attempt, verdict)
            case _:
                who = verdict.who or "a person"
                raise TaskFailed("abandoned", f"{who} abandoned the run at a step that was done before: {verdict.why}")

    # ---------------------------------------------------------------------------------- the loop

    async def _advance(self) -> None:
        """Perform the step at the current position, whatever it takes."""
        if await self._steered():
            return
        due, self._due = self._due, ()
        await self._override(due, self._position)
        await self._recycler.between_steps(self._place)
        attempt = self._attempt_here()
        attempt.ahead, attempt.is_elsewhere = self._ahead, self._is_elsewhere(attempt.step)
        self._at_hand = attempt
        if self._position + 1 == len(self._plan) and not self._goals.is_unfinished:
            attempt.verify = self._final
        self._board.doing = attempt.title
        self._show()
        with step_told(self._run, attempt):
            await self._carried_out(attempt)

    async def _carried_out(self, attempt: Attempt) -> None:
        outcome = await self._goals.unfit(attempt, self._doubts.read)
        outcome = outcome or await self._lists.without(attempt, self._doubts.read)
        outcome = outcome or await self._human.done(attempt, self._perform)
        self._note(attempt, outcome)
        while outcome.status is not Status.DONE:
            if outcome.status is Status.BLOCKED:
                raise TaskBlocked(outcome.rule, explained(attempt, outcome), outcome.artifacts)
            planned = await self._replanned(attempt, outcome)
            if planned is None:
                return
            decided = await self._by_person(attempt, planned)
            if decided is None:
                return
            outcome = decided
            self._note(attempt, outcome)
        await self._recovery.complete(outcome, self._position)
        self._passed(attempt, outcome)

    async def _steered(self) -> bool:
        """Do what people have asked for meanwhile; whether the step at the current position is over thereby."""
        if self._board.stops:  # what was under way ended all the same, and has swallowed the request
            raise asyncio.CancelledError
        await self._steering.paused(self._place)
        skip = self._steering.skip_at(self._position)
        if skip is None:
            return False
        attempt = self._attempt_here()
        outcome = await self._lists.leave_out(attempt, SKIPPED_AHEAD, f"left out by {skip.said}")
        outcome = outcome.model_copy(update={"warnings": (f"{SKIPPED_AHEAD}: left out by {skip.said}",)})
        self._note(attempt, outcome)
        self._passed(attempt, outcome)
        return True

    async def _planned_on(self) -> bool:
        """Whether there is more to do: where the plan of a goal ends, the planner says how it goes on."""
        while self._goals.is_unfinished and self._position == len(self._plan):
            self._show()
            course = self._lists.course
            following = partial(self._goals.next_part, course, self._commits, self._totals.usage, self._doubts.read)
            revision = await self._human.informed(self._position, following)
            if revision.gave_up:
                raise TaskFailed("planner_gave_up", f"the planner gave up: {revision.gave_up}"[:MESSAGE_LIMIT])
            self._totals = self._totals.model_copy(update={"usage": self._totals.usage.plus(revision.usage)})
            self._lists.revised(self._position, revision.steps)
        return self._position < len(self._plan)

    def _passed(self, attempt: Attempt, outcome: StepOutcome) -> None:
        """Go on after a step that is done."""
        self._totals = counted(self._totals, outcome)
        if not outcome.effect.repeatable:
            self._last_commit = self._position
            self._commits = (*self._commits, self._position)
            if attempt.begun is not None and outcome.reason != KEPT:
                self._tell_commit(finishing.line_of(attempt, "done", finishing.left_by(outcome)))
        self._at_hand = None
        self._recovery.note(outcome, self._position)
        self._lists.passed(self._position, outcome)
        told = (each for each in outcome.warnings if each.startswith((*UNKNOWN_WARNINGS, SKIPPED_AHEAD, WEAK_STEP)))
        self._warnings = (*self._warnings, *(f"step {self._position + 1}: {each}" for each in told))[:WARNINGS_KEPT]
        if outcome.content_key:
            self._content_keys[outcome.content_key] = None
        self._previous, self._previous_outcome = attempt.mark, outcome.digest
        self._due, self._browser.witness, self._browser.left_at = outcome.due, outcome.witness, outcome.url
        self._ahead, self._verification = outcome.ahead, outcome.verification
        self._was_replayed = outcome.lookup.entry_version > 0
        self._probing.note(attempt, outcome)
        self._listening.note(attempt, outcome)
        self._position += 1

    def _is_elsewhere(self, step: Step) -> bool:
        """Say if the page is not the one that the step before leads to.

        That is so by its address, or if nothing is recorded of `step` there although the one before was replayed.
        """
        before = self._plan[self._position - 1] if self._position else None
        if isinstance(before, Goto):
            values, left_at = self._lists.course.values_at(self._position - 1), self._browser.left_at
            wanted = fill(before.url, values) if parameters_in(before.url) <= values.keys() else ""
            return bool(wanted and left_at) and place_of(wanted) != place_of(left_at)
        return self._was_replayed and not self._ahead and names_element(step)

    def _attempt_here(self) -> Attempt:
        return self._attempt(self._position, self._previous, self._previous_outcome)

    def _attempt(self, position: int, previous: str, previous_outcome: str) -> Attempt:
        course = self._lists.course
        step, values = course.plan[position], course.values_at(position)
        plain = fingerprint(step, values, previous, previous_outcome)
        mark = begun_anew(plain, self._resuming.restart_of(position))
        attempt = Attempt(
            self._browser,
            self._run,
            lineage=self._lineage,
            sequence=position,
            step=step,
            mark=mark,
            next_step=course.following(position),
            previous=previous,
            act=course.act_at(position),
            values=values,
            item=course.label_at(position),
        )
        attempt.weak, attempt.consent = self._weak.wanted, self._consents.behind(step)
        before = course.plan[position - 1] if position else None
        attempt.signs_in = any(map(enters_secret, (before, step, course.following(position))))
        attempt.checkpoint, attempt.earlier = self._recovery.is_due(position), self._recovery.newest
        return attempt

    async def _perform(self, attempt: Attempt) -> StepOutcome:
        """Perform; repeat once what may be repeated; on a miss ask the model for this one element."""
        if isinstance(attempt.step, TakeOver):
            return await self._hands.over(attempt)
        outcome = await self._lists.needless(attempt, await self._tried(attempt), self._doubts.read)
        if is_out_of_sight(outcome) and await self._reopened(attempt):
            attempt.again("reopened", outcome)
            outcome = await self._tried(attempt)
        if may_repeat(outcome):
            attempt.again("retry", outcome)
            outcome = await self._tried(attempt)
        rerouted = outcome.lookup.reason not in ("", "no_entry") or outcome.status is Status.UNMET
        for _ in range(policies.TARGET_ROUNDS):
            if not self._may_ask(attempt.step, outcome):
                break
            if limit := self._planning.spent(self._totals.usage):
                return out_of_budget(outcome, limit)
            try:
                proposal = await self._propose(attempt, outcome)
            except ActivityError as error:
                if not (self._asks_on_failure and isinstance(error.cause, ApplicationError)):
                    raise
                kind = error.cause.type or "ModelFailed"
                return outcome.model_copy(update={"reason": kind, "message": str(error.cause)})
            if proposal.target is None:
                why = proposal.overruled or "the model names no single element for this"
                said = f"{outcome.reason or 'missed'}, and {why}"
                return outcome.model_copy(update={"message": said})
            attempt.again("model", outcome, proposal=proposal)
            self._totals = self._totals.model_copy(
                update={"overruled": self._totals.overruled + bool(proposal.overruled)}
            )
            outcome = await self._tried(attempt)
            if outcome.status is Status.DONE and rerouted:
                self._totals = self._totals.model_copy(update={"fallbacks": self._totals.fallbacks + 1})
        return outcome

    async def _reopened(self, attempt: Attempt) -> bool:
        """Do again what had just opened the menu or section that the step's element is in: menus close by themselves.

        True if all of it was done; False also if there is nothing of the kind just before the step.
        """
        first = attempt.sequence
        passed_over = self._lists.left_out
        while first > self._last_commit + 1 and isinstance(self._plan[first - 1], Expand | Hover):
            if first - 1 in passed_over:
                break
            first -= 1
        openers = [self._attempt(position, "", "") for position in range(first, attempt.sequence)]
        if not (openers and all(opener.may_repeat for opener in openers)):
            return False
        for opener in openers:
            self._board.doing = f"{attempt.title}: opening again: {opener.title}"
            if (await self._doubts.read(opener.reapply)).status is not Status.DONE:
                return False
        return True

    async def _tried(self, attempt: Attempt) -> StepOutcome:
        """Perform, with what override rules clear away; once in a step, look again if its expectation comes late."""
        outcome = await self._weak.allowed(attempt, await self._cleared(attempt), self._cleared)
        while outcome.earlier:
            outcome = await self._done_before(attempt, outcome)
        if attempt.was_elsewhere(outcome):
            here = await self._doubts.read(attempt.reapply)
            outcome = outcome if here.status is Status.DONE else here
        if attempt.looked_again or not may_come_late(attempt.step, outcome):
            return outcome
        self._board.doing = f"{attempt.title}: looking again"
        self._show()
        return await self._doubts.read(lambda: attempt.look_again(outcome))

    def _may_ask(self, step: Step, outcome: StepOutcome) -> bool:
        if outcome.reason == SIGNED_OUT:
            return False
        if self._run.mode is Mode.REPLAY or not (names_element(step) and step.instruction and outcome.snapshot):
            return False
        unmet = outcome.status is Status.UNMET and outcome.effect.repeatable and not outcome.lookup.from_model
        return outcome.status is Status.MISSED or unmet

    async def _propose(self, attempt: Attempt, outcome: StepOutcome) -> Proposal:
        self._board.doing = f"{attempt.title}: asking the model"
        proposal = self._goals.allowed(attempt, await self._planning.propose(attempt, outcome))
        self._totals = self._totals.model_copy(update={"usage": self._totals.usage.plus(proposal.usage)})
        return proposal

    async def _asked_again(self, attempt: Attempt, outcome: StepOutcome) -> bool:
        """Whether the model names the element of a step that was done before, and whose recording is not there."""
        if not self._may_ask(attempt.step, outcome) or self._planning.spent(self._totals.usage):
            return False
        try:
            proposal = await self._propose(attempt, outcome)
        except ActivityError as error:
            if not isinstance(error.cause, ApplicationError):
                raise
            return False
        if proposal.target is not None:
            attempt.again("model", outcome, proposal=proposal)
        return proposal.target is not None

    # ------------------------------------------------------------------------------------- overrides

    async def _cleared(self, attempt: Attempt) -> StepOutcome:
        """Perform; where it came to nothing and override rules are due, perform these and the step again."""
        attempt.spent = self._overrides.spent
        outcome = await self._consents.decided(attempt, self._doubts.decided)
        while outcome.due and came_to_nothing(outcome):
            if not await self._override(outcome.due, attempt.sequence):
                break
            if not outcome.effect.repeatable:
                self._leave_epoch(outcome)
            attempt.spent = (*attempt.spent, *self._overrides.spent, *(rule.name for rule in outcome.due))
            attempt.again("override", outcome)
            outcome = await self._consents.decided(attempt, self._doubts.decided)
        return outcome

    async def _override(self, due: tuple[Due, ...], position: int) -> bool:
        """Perform the rules that are due and may be; whether there were any. One that fails is no reason to."""
        before, at_hand = self._totals.overrides, self._at_hand
        for rule in due:
            if not self._overrides.allows(rule):
                continue
            self._totals = self._totals.model_copy(update={"overrides": self._totals.overrides + 1})
            for attempt in self._overrides.attempts(rule, position, self._previous):
                self._board.doing = f"override {rule.name}: {attempt.title}"
                self._show()
                self._at_hand = attempt
                outcome = await self._doubts.decided(attempt)
                self._note(attempt, outcome)
                if outcome.status is not Status.DONE:
                    break
        self._at_hand = at_hand
        return self._totals.overrides > before

    # ------------------------------------------------------------------- when nothing mends the step itself

    async def _replanned(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | None:
        """None when the planner revised the plan from this step on; else the outcome, with why it did not."""
        await self._goals.note_failure(attempt, outcome, self._lists.course)
        in_list = self._lists.course.iteration_at(attempt.sequence) is not None
        if in_list or not self._planning.is_for_the_planner(outcome):
            return outcome
        if limit := self._planning.no_more_plans(self._totals.usage):
            return out_of_budget(outcome, limit)
        self._board.doing = f"{attempt.title}: asking the planner"
        self._show()
        planner = self._goals if self._goals.is_one else self._planning
        revision = await self._human.informed(
            self._position, lambda: planner.revise(attempt, outcome, self._lists.course, self._commits)
        )
        plans, usage = self._totals.plans + bool(revision.steps), self._totals.usage.plus(revision.usage)
        self._totals = self._totals.model_copy(update={"plans": plans, "usage": usage})
        self._board.note_plan(attempt, revision)
        if not revision.steps:
            said = f"{outcome.message or outcome.reason.replace('_', ' ')}; no revised plan: {revision.gave_up}"
            return outcome.model_copy(update={"message": said[:MESSAGE_LIMIT]})
        if outcome.status is not Status.MISSED and not outcome.effect.repeatable:
            self._leave_epoch(outcome)
        self._lists.revised(self._position, revision.steps)
        return None

    @property
    def _asks_on_failure(self) -> bool:
        return (self._run.on_failure or self._run.task.on_failure) == "ask"

    async def _by_person(self, attempt: Attempt, outcome: StepOutcome) -> StepOutcome | None:
        """What a person makes of a step that failed, if the task says so; or its item is left, or the run ends here.

        None when the step is another one now.
        """
        if self._lists.skips_item(attempt.sequence, outcome):
            self._leave_epoch(outcome)
            return await self._lists.leave_out(attempt, ITEM_SKIPPED, explained(attempt, outcome))
        if outcome.rule and not self._asks_on_failure:
            raise TaskBlocked(outcome.rule, explained(attempt, outcome), outcome.artifacts)
        if not self._asks_on_failure:
            raise TaskFailed(outcome.reason or outcome.status, explained(attempt, outcome), outcome.artifacts)
        verdict = await self._person.asked(failed_question(attempt, outcome))
        self._leave_epoch(outcome)
        self._goals.note_person()
        await self._person.settled(attempt, SettleRequest(action=attempt.request(), verdict=verdict, failed=True))
        who = verdict.who or "a person"
        done = outcome.model_copy(
            update={"status": Status.DONE, "lookup": Lookup(), "artifacts": {}, "snapshot": "", "content_key": ""}
        )
        match verdict.verdict:
            case "retry" if await self._steering.edited_at(attempt.sequence, attempt.mark):
                return None
            case "retry":
                attempt.anew("person", outcome)
                self._human.allow(attempt)
                return await self._human.done(attempt, self._perform)
            case "done":
                said = f"{who} says that it is done: {verdict.why}"
                return done.model_copy(update={"reason": "person", "message": said, "due": ()})
            case "skip":
                said = f"{who} skipped it: {verdict.why}"
                told = {"reason": SKIPPED, "message": said, "warnings": (SKIPPED,), "due": ()}
                return done.model_copy(update=told)
            case _:
                raise TaskFailed("abandoned", f"{who} abandoned the step that failed: {verdict.why}")

    def _leave_epoch(self, outcome: StepOutcome) -> None:
        """Go on under the next epoch; the intent of a commit was taken back under that one, so after that."""
        self._browser.raise_epoch()
        if not outcome.effect.repeatable:
            self._browser.raise_epoch()

    async def _recover(self) -> None:
        """Get the live browser back, or a new one that is brought to where this run is."""
        await self._recovery.recover(self._place)
        self._totals = self._totals.model_copy(update={"recoveries": self._totals.recoveries + 1})

    async def _leave(self) -> None:
        """Leave a page that a step acted in, for a new browser that is brought to where this run is."""
        await self._recovery.leave(self._place)

    @property
    def _place(self) -> Place:
        return Place(self._lists.course, self._position, self._last_commit, self._lists.left_out)

    @property
    def _plan(self) -> tuple[Step, ...]:
        return self._lists.course.plan

    async def _clear_away(self, rule: Due, position: int) -> None:
        for step in self._overrides.attempts(rule, position, self._previous):
            self._note(step, await step.perform())

    def _show_doing(self, doing: str) -> None:
        self._board.doing = doing
        self._show()

    # ------------------------------------------------------------------------------------ the end

    async def _listen(self) -> None:
        """Let what the run has pressed send what it sends late, and tell of it."""
        if not self._listening.presses:
            return
        self._board.doing = self._listening.waits_for
        self._show()
        try:
            late = await self._listening.heard()
        except ActivityError as error:
            if not policies.is_loss(error):
                raise
            workflow.logger.warning("what presses send late is not known: %s", error.cause)
            return
        told = {request.sequence for request in late}
        self._commit_lines = tuple(line for line in self._commit_lines if line.step not in told)
        for request in late:
            self._tell_commit(CommitLine(step=request.sequence, state="done", left_at=left_at(request.sent_at)))
        self._warnings = (*self._warnings, *map(str, late))[:WARNINGS_KEPT]

    async def _finished(self) -> RunResult:
        await self._listen()
        usage = await self._probing.learn(may_ask=not self._planning.spent(self._totals.usage))
        self._totals = self._totals.model_copy(update={"usage": self._totals.usage.plus(usage)})
        self._board.doing = "final verification"
        self._show()
        if self._verification is None:
            finished = await finishing.verified(self._browser, self._finish_request, self._doubts.read)
        else:
            finished = await finishing.kept(self._browser, self._finish_request())
        if not finished.verified:
            unmet = next(result for result in finished.predicates if result.fails)
            said = f"every step was done, but the final verification failed: {unmet.reason} {unmet.details}"
            return self._failed("verification_failed", said, at_step=False).model_copy(
                update={
                    "verification": finished.predicates,
                    "note": finished.note,
                    "artifacts": finished.artifacts,
                }
            )
        return self._result(succeeded=True).model_copy(
            update={
                "verification": finished.predicates,
                "promoted": finished.promoted,
                "held": finished.held,
                "note": finished.note,
            }
        )

    @property
    def _final(self) -> tuple[Predicate, ...]:
        """What the run is to end with."""
        return tuple(fill_predicate(predicate, self._run.values) for predicate in self._goals.verify)

    def _finish_request(self) -> FinishRequest:
        return FinishRequest(
            run_id=workflow.info().workflow_id,
            lineage=self._lineage,
            tenant=self._run.tenant,
            task=self._run.task.task,
            session=self._browser.ref,
            epoch=self._browser.epoch,
            verify=self._final,
            seen=self._verification,
            content_keys=tuple(self._content_keys),
            policy=self._run.task.policy,
            used=self._browser.meter.used,
        )

    def _failed(self, reason: str, message: str, *, at_step: bool = True) -> RunResult:
        step = self._position if at_step else None
        return self._result(succeeded=False).model_copy(
            update={"failed_step": step, "reason": reason, "message": message}
        )

    def _result(self, *, succeeded: bool) -> RunResult:
        return RunResult(
            succeeded=succeeded,
            totals=self._totals,
            extracted=self._lists.extracted,
            skipped=self._lists.skipped,
            files=self._files,
            warnings=self._warnings,
            commits=self._commit_lines,
        )

    def _state(self) -> RunState:
        return RunState(
            position=self._position,
            previous=self._previous,
            previous_outcome=self._previous_outcome,
            epoch=self._browser.epoch,
            witness=self._browser.witness,
            session=self._browser.session,
            last_commit=self._last_commit,
            totals=self._totals,
            content_keys=tuple(self._content_keys),
            files=self._files,
            due=self._due,
            override_counts=self._overrides.counts,
            override_spent=self._overrides.spent,
            plan=self._lists.course.rolled if self._is_replanned or self._goals.is_one else (),
            goal=self._goals.state,
            mended=self._goals.mended,
            revised_from=self._planning.revised_from,
            commits=self._commits,
            commit_lines=self._commit_lines,
            warnings=self._warnings,
            used=self._browser.meter.used,
            begun=self._planning.begun,
            questions=self._person.asked_so_far,
            approved=self._human.approved,
            answers=self._planning.answers,
            grants=self._consents.grants,
            denials=self._consents.denials,
            learned_presses=self._listening.presses,
            steering=self._steering.state,
            resumed=self._run.resume is not None,
            checkpoints=self._recovery.checkpoints,
            page_from=self._recovery.page_from,
            **self._lists.state(),
        )

    @property
    def _is_replanned(self) -> bool:
        return bool(self._planning.revised_from or self._steering.edited)

    # ------------------------------------------------------------------------- what people see and say

    def _note(self, attempt: Attempt, outcome: StepOutcome) -> None:
        saved = (file for file in outcome.evidence.files if file.state == "saved")
        self._files = tuple(dict.fromkeys((*self._files, *saved)))[:FILES_KEPT]
        attempt.came_to = outcome
        self._board.note(attempt, outcome)

    def _show(self) -> None:
        workflow.set_current_details(self._details())
        self._searchable.tell(self._board.status, self._totals)

    @workflow.update
    async def resolve_step(self, verdict: PersonVerdict) -> None:
        """A person's decision on the step that the run waits for."""
        self._person.answer(verdict)

    @resolve_step.validator
    def _check_resolve_step(self, verdict: PersonVerdict) -> None:
        self._person.check(verdict)

"""Activities that answer from a script, for tests of the workflow alone: same names, real Temporal server."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from temporalio import activity
from temporalio.client import Client, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor, Worker

from replaywright.domain.page.targets import Target
from replaywright.domain.plan.goal_runs import (
    ClaimRequest,
    JudgeRequest,
    LabelRequest,
    Labels,
    Learned,
    LearnRequest,
    Looked,
    LookRequest,
    PlanRequest,
    SkillUse,
)
from replaywright.domain.policy.policy_runs import CheckPolicy, Granted
from replaywright.domain.recall.recall import Recalled, RecallRequest
from replaywright.domain.requests.commands import RequestsRun, RunRequests
from replaywright.domain.run.commands import (
    AWAIT,
    CommandOnStep,
    Decision,
    HandedBackRequest,
    LeaveOutRequest,
    Proposal,
    Reapply,
    StepCommand,
    StepContext,
)
from replaywright.domain.run.commit_requests import (
    Listened,
    ListenRequest,
    Resolution,
    ResolveRequest,
    SettleRequest,
    Stopped,
    StopRequest,
)
from replaywright.domain.run.model_requests import (
    CandidateRequest,
    ProposedProbe,
    ProposeProbeRequest,
    ProposeRequest,
    ReviseRequest,
    Revision,
    TriedProbe,
    TryProbeRequest,
)
from replaywright.domain.run.resuming import ResumeRequest, Resumption
from replaywright.domain.run.runs import Finished, FinishRequest, RunInput, RunResult
from replaywright.domain.run.scope import Usage
from replaywright.domain.run.skill_runs import NewestRequest, NoteSkillRun
from replaywright.domain.run.steering import HandedBack, LendSession, LentBrowser, NoteSteering, TakeBack
from replaywright.domain.session.sessions import (
    CloseSession,
    HeldBack,
    HoldBack,
    OpenSession,
    RecoverSession,
    SessionOpened,
    SessionRef,
    Wear,
)
from replaywright.domain.skill.fitting import Fit, FitRequest
from replaywright.domain.skill.skills import Skill
from replaywright.domain.step.checkpoints import (
    CheckCheckpoint,
    Checkpoint,
    RestoreCheckpoint,
    Restored,
    TakeCheckpoint,
)
from replaywright.domain.step.outcomes import WHEN, Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Action, Effect
from replaywright.domain.task.questions import KeyRequest, LookForPerson, Question, QuestionNotice, SeenByPerson
from replaywright.domain.task.steps import names_element
from replaywright.domain.task.tasks import parse_task
from replaywright.domain.trace.trace_file import History
from replaywright.ports.models import Labelled
from workflows.policies import browser_queue, model_queue
from workflows.task import BrowserTask

Answer = StepOutcome | Exception
BUTTON = Target(tag="button", role="button", name="Send")


def done(request: CommandOnStep | StepContext, **fields: object) -> StepOutcome:
    context = request if isinstance(request, StepContext) else request.context
    return StepOutcome.model_validate(
        {"status": Status.DONE, "fingerprint": context.fingerprint, "effect": Effect.IDEMPOTENT, **fields}
    )


def given(command: CommandOnStep, name: str) -> Any:
    """A field of the command; None where commands of its kind have none."""
    return getattr(command, name, None)


def known(request: CommandOnStep, _call: int = 0) -> StepOutcome:
    """Done; the next step replays a recording, if it has an element."""
    following = given(request, "next_step")
    return done(request, ahead='button "Send"' if following is not None and names_element(following) else "")


def missed(reason: str) -> StepOutcome:
    return StepOutcome(status=Status.MISSED, reason=reason, lookup=Lookup(reason=reason), snapshot="snap")


def lost() -> ApplicationError:
    return ApplicationError("the browser is gone", type="SessionLost")


def after_goto(answer: Callable[[CommandOnStep, int], StepOutcome]) -> Callable[[CommandOnStep, int], StepOutcome]:
    """Answers like `answer`, except that the goto with which every task begins is done."""
    return lambda request, call: done(request) if request.context.sequence == 0 else answer(request, call)


@dataclass
class Script:
    """What each activity answers, and what it was asked."""

    perform: Callable[[CommandOnStep, int], StepOutcome] = lambda request, _call: done(request)
    """Answers a request; the second argument counts the calls for this step, from 0."""
    performing: Callable[[CommandOnStep, int], Awaitable[StepOutcome]] | None = None
    """Takes the place of `perform` where a step takes its time."""
    propose: Callable[[ProposeRequest], Proposal] = lambda _request: Proposal(target=BUTTON, usage=Usage(calls=1))
    candidate: Callable[[CandidateRequest], Proposal] = lambda _request: Proposal()
    """What another run has found."""
    revise: Callable[[ReviseRequest], Revision] = lambda _request: Revision(gave_up="no script", usage=Usage(calls=1))
    verify: Callable[[ResolveRequest], Resolution] = lambda _request: Resolution(
        verdict="undecidable", reason="not_seen"
    )
    stop: Callable[[StopRequest], Stopped] = lambda _request: Stopped(state="in_doubt")
    """What is known of the step that a run was broken off in."""
    stopped: list[StopRequest] = field(default_factory=list)
    listen: Callable[[ListenRequest], Listened] = lambda _request: Listened()
    """What presses have sent late."""
    listened: list[ListenRequest] = field(default_factory=list)
    resume: Callable[[ResumeRequest], Resumption] = lambda _request: Resumption()
    send: Callable[[RunRequests], Awaitable[RequestsRun]] | None = None
    """What comes of doing a task by its requests."""
    sent_before_loss: Callable[[RunRequests], RequestsRun] = lambda _request: RequestsRun(status="page")
    """What may have been sent by a worker that was lost."""
    decide: Callable[[StepContext], bool] = lambda _request: True
    """Whether the condition of a step holds."""
    finish: Callable[[FinishRequest], Finished] = lambda _request: Finished(promoted=1)
    count: Callable[[NoteSkillRun], None] = lambda _request: None
    newest: Callable[[NewestRequest], Skill] = lambda _request: Skill.model_validate({})
    """The version of a skill that a run is one of which was told its name."""
    looked_up: list[NewestRequest] = field(default_factory=list)
    recall: Callable[[RecallRequest], Recalled] = lambda _request: Recalled(decision="abstain", reason="no_skills")
    claim: Callable[[ClaimRequest, int], str] = lambda request, _call: request.run_id
    label: Callable[[LabelRequest], Labelled] = lambda _request: Labelled(
        labels=Labels(name="send-mail", label="Send a mail"), usage=Usage(calls=1)
    )
    plan: Callable[[PlanRequest, int], Revision] = lambda _request, _call: Revision(gave_up="no script")
    fit: Callable[[FitRequest], Fit] = lambda _request: Fit()
    """Whether a recalled skill may begin on its start page."""
    fitted: list[FitRequest] = field(default_factory=list)
    recalled: list[RecallRequest] = field(default_factory=list)
    signed_in: bool | None = None
    """What a page tells a planner of that."""
    learn: Callable[[LearnRequest], Learned] = lambda request: Learned(
        skill=SkillUse(name=request.labels.name, version=1, how="learned")
    )
    of_goal: list[str] = field(default_factory=list)
    """The activities of a goal, in their order."""
    planned: list[PlanRequest] = field(default_factory=list)
    learned: list[LearnRequest] = field(default_factory=list)
    released: list[ClaimRequest] = field(default_factory=list)
    judged: list[JudgeRequest] = field(default_factory=list)
    claimed: list[ClaimRequest] = field(default_factory=list)
    adopt: bool = True
    performed: list[CommandOnStep] = field(default_factory=list)
    proposed: list[ProposeRequest] = field(default_factory=list)
    tried: list[CandidateRequest] = field(default_factory=list)
    revised: list[ReviseRequest] = field(default_factory=list)
    verified: list[ResolveRequest] = field(default_factory=list)
    settled: list[SettleRequest] = field(default_factory=list)
    asked: list[StepContext] = field(default_factory=list)
    """Steps of which it was to be decided whether they are performed."""
    left_out: list[LeaveOutRequest] = field(default_factory=list)
    resumed: list[ResumeRequest] = field(default_factory=list)
    opened: list[OpenSession] = field(default_factory=list)
    full: Callable[[str], bool] = lambda _name: False
    """Whether no place is free when this activity asks for a browser."""
    asked_for: list[str] = field(default_factory=list)
    """The activities that asked for a browser, each time by their id."""
    checkpoint: bool = False
    """Whether each step that is done has led to another document, and tells of a checkpoint."""
    wear: Callable[[str], Wear] = lambda _session_id: Wear()
    """How worn the browser of this session is; told with every checkpoint."""
    partial: bool = False
    restores: Callable[[RestoreCheckpoint], Restored | Awaitable[Restored]] = lambda _request: Restored(held=True)
    checks: Callable[[CheckCheckpoint], Restored] = lambda _request: Restored(held=True)
    taken: list[TakeCheckpoint] = field(default_factory=list)
    restored: list[RestoreCheckpoint] = field(default_factory=list)
    checked: list[CheckCheckpoint] = field(default_factory=list)
    proposed_probes: list[ProposeProbeRequest] = field(default_factory=list)
    tried_probes: list[TryProbeRequest] = field(default_factory=list)
    probe: Callable[[ProposeProbeRequest], ProposedProbe] = lambda _request: ProposedProbe(refused="none")
    recovers_on: str = "h"
    """The host of a browser that is opened for a lost one."""
    recovered: list[RecoverSession] = field(default_factory=list)
    held_back: HeldBack = field(default_factory=HeldBack)
    closed: list[CloseSession] = field(default_factory=list)
    counted: list[NoteSkillRun] = field(default_factory=list)
    looked: list[LookForPerson] = field(default_factory=list)
    keys: list[KeyRequest] = field(default_factory=list)
    notices: list[QuestionNotice] = field(default_factory=list)
    notify: Callable[[QuestionNotice], None] = lambda _notice: None
    policy: Callable[[CheckPolicy], Granted] = lambda _request: Granted()
    checked_by_policy: list[CheckPolicy] = field(default_factory=list)
    activity_ids: list[str] = field(default_factory=list)
    handed_back: list[HandedBackRequest] = field(default_factory=list)
    look_back: Callable[[HandedBackRequest, int], StepOutcome] = lambda request, _call: done(
        request.action, effect=Effect.COMMIT, reason="handed_back"
    )
    before_checkpoint: Callable[[TakeCheckpoint], Awaitable[None]] | None = None
    """What takes its time before a checkpoint of the page as it is."""
    before_look: Callable[[LookForPerson], Awaitable[None]] | None = None
    """What takes its time before the browser shows what a person is to see."""
    loses: frozenset[str] = frozenset()
    """Activities whose first worker is lost: nothing is heard of the first try again."""
    lost: list[str] = field(default_factory=list)
    """Those that were."""
    steered: list[NoteSteering] = field(default_factory=list)
    lend: Callable[[LendSession], LentBrowser] = lambda request: LentBrowser(
        host="h", boot_id="b", file=f"/{request.session.session_id}", until=0.0
    )
    lent: list[LendSession] = field(default_factory=list)
    take_back: Callable[[TakeBack], HandedBack] = lambda _request: HandedBack(
        known=True, requests=("POST http://site/form",), url="http://site/"
    )
    taken_back: list[TakeBack] = field(default_factory=list)

    async def perform_named(self, request: CommandOnStep) -> StepOutcome:
        """What `browser.<action>` and `effect.await` answer, noted."""
        call = sum(known.context.sequence == request.context.sequence for known in self.performed)
        self.performed.append(request)
        self.activity_ids.append(activity.info().activity_id)
        return await self.answered(request, call)

    async def answered(self, request: CommandOnStep, call: int) -> StepOutcome:
        """What `performing` says, else `answer`."""
        return self.answer(request, call) if self.performing is None else await self.performing(request, call)

    def answer(self, request: CommandOnStep, call: int) -> StepOutcome:
        """What `perform` says, with a checkpoint where there is one."""
        outcome = self.perform(request, call)
        if not self.checkpoint or outcome.status is not Status.DONE or isinstance(request, Reapply):
            return outcome
        session_id = request.context.run.session.session_id
        wear = self.wear(session_id).model_copy(update={"session_id": session_id})
        at = request.context.sequence
        taken = Checkpoint(position=at + 1, state=f"after-{at}", wear=wear, partial=self.partial)
        return outcome.model_copy(update={"moved": True, "checkpoint": taken})


class _Losing(Interceptor):
    """Lets the first try of the activities that a script `loses` hang, without a heartbeat."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def intercept_activity(self, following: ActivityInboundInterceptor) -> ActivityInboundInterceptor:
        """Put the hanging before whatever the activity does."""
        return _Hanging(following, self._script)


class _Hanging(ActivityInboundInterceptor):
    def __init__(self, following: ActivityInboundInterceptor, script: Script) -> None:
        super().__init__(following)
        self._script = script

    async def execute_activity(self, input: ExecuteActivityInput) -> object:  # noqa: A002 - the name of the SDK
        """Hang, if this is the try that is lost."""
        name = activity.info().activity_type
        if name in self._script.loses and name not in self._script.lost:
            self._script.lost.append(name)
            await asyncio.Event().wait()
        return await super().execute_activity(input)


def place(script: Script, name: str) -> None:
    """Raises what a full host does, if there is no place."""
    script.asked_for.append(activity.info().activity_id)
    needs = name == "session.open" or not script.adopt
    if needs and script.full(name):
        raise ApplicationError("all places are taken", type="NoPlace")


def _checkpoints(script: Script) -> list[Callable[..., object]]:
    @activity.defn(name="session.checkpoint")
    async def checkpoint(request: TakeCheckpoint) -> Checkpoint | None:
        script.taken.append(request)
        if script.before_checkpoint is not None:
            await script.before_checkpoint(request)
        return Checkpoint(position=request.position, state="as-left")

    @activity.defn(name="session.restore")
    async def restore(request: RestoreCheckpoint) -> Restored:
        script.restored.append(request)
        answer = script.restores(request)
        return answer if isinstance(answer, Restored) else await answer

    @activity.defn(name="session.check")
    async def check(request: CheckCheckpoint) -> Restored:
        script.checked.append(request)
        return script.checks(request)

    return [checkpoint, restore, check]


def _people(script: Script) -> tuple[Callable[..., object], ...]:
    @activity.defn(name="person.look")
    async def look(request: LookForPerson) -> SeenByPerson:
        script.looked.append(request)
        if script.before_look is not None:
            await script.before_look(request)
        return SeenByPerson(url="http://site/", site_says=("A page",), picture="picture")

    @activity.defn(name="person.notify")
    async def notify(request: QuestionNotice) -> None:
        script.notices.append(request)
        script.notify(request)

    @activity.defn(name="person.key")
    async def key(request: KeyRequest) -> str:
        script.keys.append(request)
        return f"key of {request.question}"

    return look, notify, key


def _lending(script: Script) -> list[Callable[..., object]]:
    @activity.defn(name="session.lend")
    async def lend(request: LendSession) -> LentBrowser:
        script.lent.append(request)
        return script.lend(request)

    @activity.defn(name="session.take_back")
    async def take_back(request: TakeBack) -> HandedBack:
        script.taken_back.append(request)
        return script.take_back(request)

    @activity.defn(name="step.handed_back")
    async def handed_back(request: HandedBackRequest) -> StepOutcome:
        script.handed_back.append(request)
        return script.look_back(request, len(script.handed_back) - 1)

    return [lend, take_back, handed_back]


def _holding_back(script: Script) -> Callable[..., object]:
    @activity.defn(name="session.hold_back")
    async def hold_back(_request: HoldBack) -> HeldBack:
        return script.held_back

    return hold_back


def _steered(script: Script) -> Callable[..., object]:
    @activity.defn(name="run.steered")
    async def note(request: NoteSteering) -> None:
        script.steered.append(request)

    return note


def _stopping(script: Script) -> Callable[..., object]:
    @activity.defn(name="effect.stop")
    async def stop(request: StopRequest) -> Stopped:
        script.stopped.append(request)
        return script.stop(request)

    return stop


def _listening(script: Script) -> Callable[..., object]:
    @activity.defn(name="effect.listen")
    async def listen(request: ListenRequest) -> Listened:
        script.listened.append(request)
        return script.listen(request)

    return listen


def _note_run(script: Script) -> Callable[..., object]:
    @activity.defn(name="skill.note_run")
    async def note_run(request: NoteSkillRun) -> None:
        script.of_goal.append("note")
        script.counted.append(request)
        script.count(request)

    return note_run


def _newest(script: Script) -> Callable[..., object]:
    @activity.defn(name="skill.newest")
    async def newest(request: NewestRequest) -> Skill:
        script.looked_up.append(request)
        return script.newest(request)

    return newest


def _policy(script: Script) -> Callable[..., object]:
    @activity.defn(name="policy.check")
    async def check_policy(request: CheckPolicy) -> Granted:
        script.checked_by_policy.append(request)
        return script.policy(request)

    return check_policy


def _try_candidate(script: Script) -> Callable[..., object]:
    @activity.defn(name="model.try_candidate")
    async def try_candidate(request: CandidateRequest) -> Proposal:
        script.tried.append(request)
        return script.candidate(request)

    return try_candidate


def _probes(script: Script) -> tuple[Callable[..., object], Callable[..., object]]:
    @activity.defn(name="model.propose_probe")
    async def propose_probe(request: ProposeProbeRequest) -> ProposedProbe:
        script.proposed_probes.append(request)
        return script.probe(request)

    @activity.defn(name="effect.try_probe")
    async def try_probe(request: TryProbeRequest) -> TriedProbe:
        script.tried_probes.append(request)
        return TriedProbe(kept=True)

    return propose_probe, try_probe


def _skipping(script: Script) -> tuple[Callable[..., object], Callable[..., object]]:
    @activity.defn(name="step.decide")
    async def decide(request: StepContext) -> Decision:
        script.asked.append(request)
        if script.decide(request):
            return Decision(performs=True)
        return Decision(performs=False, outcome=done(request, effect=Effect.READ, reason=WHEN))

    @activity.defn(name="step.leave_out")
    async def leave_out(request: LeaveOutRequest) -> StepOutcome:
        script.left_out.append(request)
        said = {"reason": request.reason, "message": request.message}
        return done(request.action, effect=Effect.READ, **said)

    return decide, leave_out


def _looking(script: Script) -> list[Callable[..., object]]:
    @activity.defn(name="session.look")
    async def look(_request: LookRequest) -> Looked:
        return Looked(snapshot="page", dom="dom", place="http://site/start", signed_in=script.signed_in)

    @activity.defn(name="session.fits")
    async def fits(request: FitRequest) -> Fit:
        script.fitted.append(request)
        return script.fit(request)

    return [look, fits]


def _of_goals(script: Script) -> list[Callable[..., object]]:
    @activity.defn(name="skill.recall")
    async def recall(request: RecallRequest) -> Recalled:
        script.of_goal.append("recall")
        script.recalled.append(request)
        return script.recall(request)

    @activity.defn(name="skill.claim")
    async def claim(request: ClaimRequest) -> str:
        script.of_goal.append("claim")
        script.claimed.append(request)
        return script.claim(request, len(script.claimed) - 1)

    @activity.defn(name="skill.release")
    async def release(request: ClaimRequest) -> None:
        script.of_goal.append("release")
        script.released.append(request)

    @activity.defn(name="skill.judge")
    async def judge(request: JudgeRequest) -> None:
        script.judged.append(request)

    @activity.defn(name="skill.learn")
    async def learn(request: LearnRequest) -> Learned:
        script.of_goal.append("learn")
        script.learned.append(request)
        return script.learn(request)

    @activity.defn(name="model.label")
    async def label(request: LabelRequest) -> Labelled:
        script.of_goal.append("label")
        return script.label(request)

    @activity.defn(name="model.plan")
    async def plan(request: PlanRequest) -> Revision:
        script.of_goal.append("plan")
        script.planned.append(request)
        return script.plan(request, len(script.planned) - 1)

    return [recall, claim, release, judge, learn, label, plan]


def _by_requests(script: Script) -> list[Callable[..., object]]:
    @activity.defn(name="requests.run")
    async def run_requests(request: RunRequests) -> RequestsRun:
        return RequestsRun(status="page") if script.send is None else await script.send(request)

    @activity.defn(name="requests.lost")
    async def lost_requests(request: RunRequests) -> RequestsRun:
        return script.sent_before_loss(request)

    return [run_requests, lost_requests]


def _activities(script: Script, queue: str) -> tuple[list[Callable[..., object]], ...]:
    session = SessionRef(session_id="s1", queue=f"{queue}-own", host_queue=f"{queue}-host", host="h")

    def named(name: str) -> Callable[..., object]:
        @activity.defn(name=name)
        async def perform(command: StepCommand) -> StepOutcome:
            return await script.perform_named(command.root)

        return perform

    @activity.defn(name="session.open")
    async def opened(request: OpenSession) -> SessionOpened:
        place(script, "session.open")
        script.opened.append(request)
        opened = {"epoch": request.epoch, "session_id": f"s{len(script.opened)}"}
        return SessionOpened(session=session.model_copy(update=opened))

    @activity.defn(name="session.recover")
    async def recover(request: RecoverSession) -> SessionOpened:
        script.recovered.append(request)
        place(script, "session.recover")
        new = session.model_copy(update={"session_id": f"s{request.epoch}", "host": script.recovers_on})
        kept = request.lost.model_copy(update={"queue": session.queue}) if script.adopt else new
        return SessionOpened(session=kept.model_copy(update={"epoch": request.epoch}), adopted=script.adopt)

    @activity.defn(name="session.close")
    async def close(request: CloseSession) -> None:
        script.closed.append(request)

    @activity.defn(name="effect.verify")
    async def verify(request: ResolveRequest) -> Resolution:
        script.verified.append(request)
        return script.verify(request)

    @activity.defn(name="effect.settle")
    async def settle(request: SettleRequest) -> None:
        script.settled.append(request)

    @activity.defn(name="run.resume")
    async def resume(request: ResumeRequest) -> Resumption:
        script.resumed.append(request)
        return script.resume(request)

    @activity.defn(name="run.finish")
    async def finish(request: FinishRequest) -> Finished:
        return script.finish(request)

    @activity.defn(name="model.propose_target")
    async def propose(request: ProposeRequest) -> Proposal:
        script.proposed.append(request)
        return script.propose(request)

    @activity.defn(name="model.revise_plan")
    async def revise(request: ReviseRequest) -> Revision:
        script.revised.append(request)
        return script.revise(request)

    propose_probe, try_probe = _probes(script)
    decide, leave_out = _skipping(script)
    seen, notify, key = _people(script)
    actions = [named(name) for name in (*(f"browser.{action}" for action in Action), AWAIT)]
    own = [
        *actions,
        decide,
        opened,
        recover,
        _holding_back(script),
        close,
        verify,
        finish,
        try_probe,
        seen,
        *_looking(script),
        *_checkpoints(script),
        (stop := _stopping(script)),
        _listening(script),
    ]
    own += _lending(script)
    of_models: list[Callable[..., object]] = [
        propose,
        _try_candidate(script),
        revise,
        propose_probe,
        *_of_goals(script),
    ]
    shared: list[Callable[..., object]] = [
        opened,
        recover,
        settle,
        leave_out,
        resume,
        finish,
        stop,
        _newest(script),
        _note_run(script),
        notify,
        key,
        _policy(script),
        _steered(script),
        *_by_requests(script),
    ]
    return own, shared, of_models


@asynccontextmanager
async def scripted(client: Client, script: Script, queue: str = "", *, cached: int = 1_000) -> AsyncIterator[str]:
    """Workers for the workflow and for the scripted activities; yields the task queue, a new one if none is given.

    Without workflows that are `cached`, every task of one replays all that was before.
    """
    queue = queue or f"test-{uuid.uuid4().hex[:8]}"
    own, shared, of_models = _activities(script, queue)
    losing = _Losing(script)
    # Without the plugin, so that none of these loads and serves the workflows too.
    bare = Client(**client.config(active_config=True) | {"plugins": []})
    async with (
        Worker(client, task_queue=queue, max_cached_workflows=cached),
        Worker(bare, task_queue=f"{queue}-own", activities=own, interceptors=[losing]),
        Worker(bare, task_queue=f"{queue}-host", activities=own, interceptors=[losing]),
        Worker(bare, task_queue=browser_queue(queue), activities=shared, interceptors=[losing]),
        Worker(bare, task_queue=model_queue(queue), activities=of_models, interceptors=[losing]),
    ):
        yield queue


def run_from(goal: str, *, secrets: tuple[str, ...] = (), **fields: object) -> RunInput:
    """A run that begins from a sentence."""
    task = parse_task({"task": "goal", "goal": goal, "url": "http://site/", "secrets": list(secrets)}, "test")
    return RunInput.model_validate({"task": task, **fields})


def run_of(*steps: Mapping[str, object], goal: str = "", **fields: object) -> RunInput:
    """A run of these steps, of which the first is a goto."""
    data = {"task": "test", "goal": goal, "steps": list(steps), "verify": [{"url_contains": "/"}]}
    task = parse_task(data, "test")
    return RunInput.model_validate({"task": task, **fields})


async def start(client: Client, queue: str, run: RunInput) -> WorkflowHandle[BrowserTask, RunResult]:
    return await client.start_workflow(BrowserTask.run, run, id=f"test-{uuid.uuid4().hex[:8]}", task_queue=queue)


async def waiting(handle: WorkflowHandle[BrowserTask, RunResult], number: int = 0) -> Question:
    """Return when the run waits for a person, with its `number`-th question if one is named."""
    async with asyncio.timeout(20):
        while True:
            question = (await handle.query(BrowserTask.progress)).question
            if question is not None and (not number or question.id.endswith(f"-{number}")):
                return question
            await asyncio.sleep(0.05)  # a query has no event


async def history_of(
    client: Client, handle: WorkflowHandle[BrowserTask, RunResult], run_id: str | None = None
) -> History:
    """What Temporal has of one execution, as a trace file holds it."""
    history = await client.get_workflow_handle(handle.id, run_id=run_id).fetch_history()
    return History(handle.id, run_id or "", json.loads(history.to_json())["events"])

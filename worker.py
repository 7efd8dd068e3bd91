"""The worker: settings → adapters → activities → Temporal workers.

`python worker.py --role all|workflow|browser|model`, or `replaywright-worker`.

A team that runs a worker of its own takes `ReplaywrightPlugin` instead.
"""

import argparse
import asyncio
import contextlib
import gc
import importlib
import logging
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if __name__ == "__main__":
    gc.disable()  # until it serves: nothing that is imported is garbage, and looking for some takes a fifth of the time

from temporalio.client import Client
from temporalio.service import RPCError
from temporalio.worker import Worker, WorkerConfig, WorkerDeploymentConfig

from activities.batch.batches import BatchActivities
from activities.plan.goals import GoalActivities
from activities.plan.looking import LookActivities
from activities.plan.model import ModelActivities
from activities.plan.plans import PlanActivities
from activities.policing import Policing, PolicyActivities
from activities.proof.effects import EffectActivities
from activities.proof.listening import ListenActivities
from activities.proof.probing import ProbeProposals, ProbeTrials
from activities.proof.stopping import StopActivities
from activities.requests.keeping import RequestKeeping
from activities.requests.running import RequestActivities
from activities.run.codes import CodeActivities
from activities.run.knowledge import KnowledgeActivities
from activities.run.notices import Announcer, NoticeActivities
from activities.run.people import PersonActivities
from activities.run.resuming import ResumeActivities
from activities.run.site_sessions import SiteSessionActivities
from activities.run.steering import LendActivities, SteerActivities
from activities.session.attachments import Attachments
from activities.session.checkpoints import CHECKPOINT_PAUSE_S, CheckpointActivities, Checkpoints
from activities.session.sessions import SessionActivities
from activities.session.site_sessions import SiteSessionBrowsers
from activities.session.step_pictures import StepPictures
from activities.skill.fitting import FitActivities
from activities.skill.recall import RecallActivities
from activities.skill.skill_runs import SkillRunActivities
from activities.skill.skills import SkillActivities
from activities.step.actions import Actions
from activities.step.credentials import Credentials
from activities.step.failures import FailureEvidence
from activities.step.ledger import StepLedger
from activities.step.skipping import Skipping
from activities.step.taking_over import TakeOverActivities
from activities.step.underway import StepTools
from activities.vault import Vault
from cache.codes import RedisCodes
from cache.connection import Client as Redis
from cache.connection import nodes_of, open_redis, ping
from cache.first_starts import RedisFirstStarts
from cache.overrides import CachedOverrides, RedisOverrides
from cache.recalls import RedisRecalls
from cache.recipes import RedisRecipes
from cache.row_ends import RedisRowEnds
from cache.skills import RedisSkills
from cache.steps import RedisStepStore
from cache.watch import StoreWatch
from replaywright.artifacts.store import ArtifactStore
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.input.uploads import allowed
from replaywright.children import write_no_core_files
from replaywright.domain.common.base import build_schemas
from replaywright.domain.secrets.signing import Signer
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.skill.skills import SkillContext
from replaywright.domain.step.outcomes import UPLOAD_REFUSED
from replaywright.errors import ActionFailed, ReplaywrightError, SettingsInvalid, StackFailed
from replaywright.extensions import custom_predicates
from replaywright.grants import granted_folders, granted_hosts
from replaywright.http.client import HttpSiteClients
from replaywright.keeper.host.client import reap
from replaywright.keeper.host.identity import host_name
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.host.own_processes import OwnPorts, entered
from replaywright.keeper.host.places import most_places
from replaywright.keeper.host.routes import not_direct, site_certificates, upstream_routes
from replaywright.keeper.protocol import KeeperOptions, RemoteBrowser
from replaywright.llm.chooser import ModelSkillChooser
from replaywright.llm.executor import ModelExecutor
from replaywright.llm.labeller import ModelLabeller
from replaywright.llm.planner import ModelPlanner
from replaywright.llm.prober import ModelProber
from replaywright.llm.role import ModelRole
from replaywright.notices.file import read_notices
from replaywright.notices.senders import Senders
from replaywright.overrides import rules_in, shipped_rules
from replaywright.policy_files import operators_policy
from replaywright.sealing.codec import sealed
from replaywright.settings import READY_FILE_VARIABLE, UNVERSIONED, ModelSettings, Settings, load_settings
from replaywright.site_sessions.file import SessionsFile, read_site_sessions
from replaywright.site_sessions.mailbox import ImapMailboxes
from replaywright.stack.chromium import find_chromium
from replaywright.stack.keyring import artifact_keys_of, codec_keys_of, signer_of
from replaywright.stack.own_services import own_services
from replaywright.stack.processes import leave
from replaywright.stack.retention import keep_within_limits
from replaywright.stack.serving.neighbours import Neighbours
from replaywright.stack.serving.starts import TemporalStarts
from replaywright.stack.serving.update_guard import update_guards
from replaywright.stack.telemetry import measuring, open_telemetry
from replaywright.stack.temporal_client import connect_client
from replaywright.stack.versions import deployment_of, pinned
from replaywright.stack.workers import announce_ready, owner_in
from replaywright.telemetry.logs import JsonFormatter
from replaywright.value_files import take_provider_keys
from replaywright.vault.environment import EnvironmentSecrets
from replaywright.vault.logs import RedactingFilter
from workflows.plugin import WorkflowPlugin
from workflows.policies import batch_queue, browser_queue, host_queue, model_queue, notice_queue

if TYPE_CHECKING:
    from replaywright.telemetry.provider import Telemetry

_log = logging.getLogger("replaywright.worker")

OPENED_AT_ONCE = 4
"""Browsers that one worker starts at the same time; more would only make each of them slower."""
DISPATCH_WITHIN_S = 15 * 60
"""Age limit of an intent in the ledger when its bytes leave. The limit of each step's wait is enforced by the
keeper's gate, which knows the step's own budget."""
MODEL_ACTIVITIES = 20
BATCH_ACTIVITIES = 20
NOTICE_ACTIVITIES = 20
"""Activities of batches at the same time: one that watches runs may take ten seconds."""
PROOF_S = 3.0
"""Limit for the store's answer before leases are renewed: a slow store still counts. Steps wait for 1 s."""
REAP_EVERY_S = 60.0
BEAT_FLUSH = timedelta(milliseconds=500)
"""The SDK sends heartbeats at least so often; its own default, 0.8 of their time-out, leaves room for one late beat."""
ROLES = ("all", "workflow", "browser", "model")

_Role = TypeVar("_Role", bound=ModelRole)


async def connect(settings: Settings, telemetry: "Telemetry | None" = None) -> Client:
    """Connect a Temporal client for our payloads; without workflows, so that activity workers do not poll for any.

    Raises:
        StackFailed: no server answers.
    """
    address = settings.temporal_address or "localhost:7233"
    try:
        return await connect_client(settings, telemetry=telemetry)
    except (RPCError, RuntimeError) as exc:
        raise StackFailed(f"Temporal does not answer at {address}: set REPLAYWRIGHT_TEMPORAL_ADDRESS ({exc})") from exc


class ReplaywrightPlugin(WorkflowPlugin):
    """All of Replaywright as one argument, for a team's own worker and for the Replayer.

        client = await Client.connect(address, plugins=[ReplaywrightPlugin()])
        async with Worker(client, task_queue="replaywright", workflows=[OurWorkflow], activities=[our_activity]):
            ...
        await Replayer(workflows=[], plugins=[ReplaywrightPlugin()]).replay_workflow(history)

    Payloads are encrypted if `REPLAYWRIGHT_CODEC_KEYS` is set and the client has no codec of its own.

    Every worker of that client serves the workflow `BrowserTask`; while one runs, this process also polls the queues
    of the browser and model activities. They are derived from that worker's task queue. Telemetry is as the settings
    say; a run is part of the trace that its client is in, if that has one of Temporal's interceptors for OpenTelemetry.

    A worker with a `deployment_config` of its own, else with `REPLAYWRIGHT_BUILD_ID`, is a version: browser and model
    activities are those of that version, too, and workflows that do not say otherwise end on the one they began with.
    """

    def __init__(self, settings: Settings | None = None, role: str = "all") -> None:
        super().__init__(lambda converter: sealed(converter, codec_keys_of(self._settings)))
        self._given = settings
        self._role = role

    @cached_property
    def _settings(self) -> Settings:
        return self._given or load_settings()

    @cached_property
    def _secrets(self) -> EnvironmentSecrets:
        return EnvironmentSecrets(os.environ, self._settings.home)

    @cached_property
    def _telemetry(self) -> "Telemetry | None":
        return open_telemetry(self._settings, self._secrets.redact, is_worker=True)

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """Measure the team's worker as well, and make it a version where the settings say so."""
        config = super().configure_worker(config)
        if (version := config.get("deployment_config") or deployment_of(self._settings)) is not None:
            config["deployment_config"] = pinned(version)
        config["interceptors"] = [*config.get("interceptors", ()), *update_guards(self._settings)]
        if self._telemetry is not None:
            config["interceptors"] = [*config["interceptors"], self._telemetry.interceptor]
        return config

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:  # noqa: A002 - Temporal's name
        """Run the team's worker with the activities beside it."""
        async with contextlib.AsyncExitStack() as exits:
            await exits.enter_async_context(measuring(self._telemetry))
            context = WorkerContext(
                self._settings,
                # A client of its own: on the team's client, this plugin would start once more.
                await connect(self._settings, self._telemetry),
                self._secrets,
                exits,
                queue=worker.task_queue,
                version=worker.config().get("deployment_config"),
                telemetry=self._telemetry,
            )
            await start_activity_workers(context, self._role)
            await super().run_worker(worker, next)


@dataclass(frozen=True)
class WorkerContext:
    """Parts that the Temporal workers of one process share."""

    settings: Settings
    client: Client
    secrets: EnvironmentSecrets
    exits: contextlib.AsyncExitStack
    """Stops the workers and closes what they opened, the last first."""
    queue: str
    """Queue of the workflows, from which those of the activities are derived."""
    version: WorkerDeploymentConfig | None = None
    """Version that the shared queues are polled as: only runs on that version reach them."""
    telemetry: "Telemetry | None" = None

    @cached_property
    def signer(self) -> Signer:
        """Signer of all records in Redis."""
        return signer_of(self.settings)

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """Store of large values."""
        return ArtifactStore(self.settings.artifacts, artifact_keys_of(self.settings))

    @cached_property
    def policing(self) -> Policing:
        """Policy and grants of the operator."""
        return Policing(operators_policy(self.settings.policy), lambda: granted_hosts(self.settings.home))

    @cached_property
    def announcer(self) -> Announcer | None:
        """Raises notices; None if nobody is to be told."""
        if self.settings.notices is None:
            return None
        versioned = _build_of(self.version) is not None
        tenant = self.settings.tenant
        return Announcer(self.client, self.signer, queue=self.queue, tenant=tenant, versioned=versioned)

    @cached_property
    def overrides(self) -> CachedOverrides:
        """Override rules of the operator and those that are shipped."""
        folder = self.settings.overrides_folder
        kept = RedisOverrides(self.redis("replaywright-overrides"), signer=self.signer)
        overrides = CachedOverrides(kept, lambda: rules_in(folder), shipped_rules())
        self.exits.push_async_callback(overrides.close)
        return overrides

    def redis(self, client_name: str = "replaywright") -> Redis:
        """Open a client of the ledger's Redis."""
        redis = open_redis(_redis_url(self.settings), client_name=client_name)
        self.exits.push_async_callback(redis.aclose)
        return redis

    @cached_property
    def neighbours(self) -> Neighbours:
        """The other workers of this host."""
        neighbours = Neighbours(self.settings.home, self.client)
        self.exits.callback(neighbours.leave)
        self.run(neighbours.watch())
        return neighbours

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` until the workers stop."""
        self.exits.callback(asyncio.create_task(work).cancel)

    def worker(
        self,
        queue: str,
        activities: Sequence[Callable[..., Any]],
        places: int,
        *,
        version: WorkerDeploymentConfig | None = None,
    ) -> Worker:
        """Make a Temporal worker for the activities of one queue, `places` of them at a time."""
        return Worker(
            self.client,
            task_queue=queue,
            activities=activities,
            interceptors=[self.neighbours.interceptor],
            max_concurrent_activities=places,
            graceful_shutdown_timeout=timedelta(seconds=30),
            max_heartbeat_throttle_interval=BEAT_FLUSH,
            deployment_config=version,
        )


@contextlib.asynccontextmanager
async def workers(
    settings: Settings, client: Client, role: str, secrets: EnvironmentSecrets, telemetry: "Telemetry | None" = None
) -> AsyncIterator[None]:
    """Poll in this process, in the given role, until the block ends; then drain."""
    version = deployment_of(settings)
    async with contextlib.AsyncExitStack() as exits:
        context = WorkerContext(
            settings, client, secrets, exits, queue=settings.queue, version=version, telemetry=telemetry
        )
        await start_activity_workers(context, role)
        if role in ("all", "workflow"):
            workflow_worker = Worker(
                client,
                task_queue=settings.queue,
                plugins=[WorkflowPlugin()],
                interceptors=update_guards(settings),
                max_cached_workflows=500,
                sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
                no_remote_activities=True,
                deployment_config=version,
            )
            await exits.enter_async_context(workflow_worker)
        yield


async def start_activity_workers(context: WorkerContext, role: str) -> None:
    """Poll the queues of the activities that belong to the role."""
    build_schemas()
    await asyncio.to_thread(context.secrets.learn)
    built: list[Worker] = []
    if role in ("all", "browser"):
        built += await _browser_workers(context)
    if role in ("all", "model"):
        built.append(_model_worker(context))
    for worker in built:
        await context.exits.enter_async_context(worker)


# ------------------------------------------------------------------------------------------ role: model


def _model_worker(context: WorkerContext) -> Worker:
    settings, secrets, artifacts = context.settings, context.secrets, context.artifacts

    def asked(kind: type[_Role], chosen: ModelSettings) -> _Role:
        adapter = kind(chosen.model, base_url=chosen.base_url, timeout_s=chosen.timeout_s, price=chosen.price)
        context.exits.push_async_callback(adapter.close)
        return adapter

    planner = asked(ModelPlanner, settings.goal_planner)
    chooser = asked(ModelSkillChooser, settings.executor) if settings.model else None
    redis = context.redis("replaywright-model")
    store = RedisStepStore(redis, signer=context.signer)
    kept, recalls = RedisSkills(redis, signer=context.signer), RedisRecalls(redis)
    goals = GoalActivities(
        asked(ModelLabeller, settings.labeller),
        planner,
        artifacts,
        secrets,
        store,
        policing=context.policing,
        languages=settings.phrase_languages,
    )
    skills = SkillActivities(kept, store, secrets, recalls, _skill_context())
    recalling = RecallActivities(kept, recalls, store, chooser, redact=secrets.redact, context=_skill_context())
    executor = asked(ModelExecutor, settings.executor)
    naming = ModelActivities(executor, artifacts, context.overrides, store)
    activities: list[Callable[..., Any]] = [
        naming.propose_target,
        naming.try_candidate,
        PlanActivities(planner, artifacts, store, context.policing).revise_plan,
        ProbeProposals(asked(ModelProber, settings.prober), artifacts, store).propose_probe,
        recalling.recall,
        goals.label_goal,
        goals.plan_goal,
        skills.claim_goal,
        skills.release_goal,
        skills.judge_recall,
        skills.learn_skill,
    ]
    return context.worker(model_queue(context.queue), activities, MODEL_ACTIVITIES, version=context.version)


def _skill_context() -> SkillContext:
    """Return the circumstances under which skills are learned here: those in which keepers open browsers."""
    usual = {name: field.default for name, field in KeeperOptions.model_fields.items()}
    return SkillContext(viewport=f"{usual['window_width']}x{usual['window_height']}", locale=usual["lang"])


def _redis_url(settings: Settings) -> str:
    return settings.redis_url or "redis://localhost:6379"


# ---------------------------------------------------------------------------------------- role: browser


def store_proof(settings: Settings, exits: contextlib.AsyncExitStack) -> Callable[[], Awaitable[None]]:
    """Return a check that the store answers, for which leases are renewed, on a connection that no step waits for."""
    redis = open_redis(_redis_url(settings), client_name="replaywright-leases", read_timeout_s=PROOF_S)
    exits.push_async_callback(redis.aclose)
    return partial(ping, redis)


async def _browser_workers(context: WorkerContext) -> list[Worker]:
    redis = context.redis()
    watch = StoreWatch(redis)
    await watch.look()
    context.run(watch.keep_looking())
    browsers = await _browsers(context, nodes_of(redis))
    keepers, attachments = browsers.keepers, browsers.attachments
    context.run(keep_within_limits(context.settings, context.client, redis))
    store = RedisStepStore(redis, signer=context.signer, dispatch_within_s=DISPATCH_WITHIN_S, watch=watch)
    queue, version = context.queue, context.version
    own_queue = f"{queue}-worker-{uuid.uuid4().hex[:12]}"
    of_host = host_queue(queue, host_name(), _build_of(version))
    starts = TemporalStarts(context.client, context.signer, RedisFirstStarts(redis))
    vault = Vault(context.secrets, starts, context.settings.starts_rule)
    if context.settings.sessions is not None:
        await asyncio.to_thread(read_site_sessions, context.settings.sessions)
    sessions = SessionActivities(
        keepers,
        attachments,
        store,
        queue=own_queue,
        host_queue=of_host,
        policing=context.policing,
        vault=vault,
        check_files=lambda files: allowed(files, upload_folders(context.settings)),
    )
    activities = BrowserActivities(context, redis, store, browsers, sessions=sessions, vault=vault)
    most = context.settings.max_browsers or most_places()
    notices = [] if context.announcer is None else [await _notice_worker(context, context.announcer, redis)]
    # Only the queues that all workers share are polled as a version: on the others, named for one worker, or for host
    # and build, nobody else asks, and a version keeps every queue that it was ever polled on (docs/internals/adr/0007).
    return [
        context.worker(own_queue, activities.of_worker(), most * 2),
        context.worker(of_host, activities.of_host(), most),
        context.worker(browser_queue(queue), activities.shared(), OPENED_AT_ONCE, version=version),
        context.worker(batch_queue(queue), activities.of_batches(), BATCH_ACTIVITIES, version=version),
        *notices,
    ]


async def _notice_worker(context: WorkerContext, announcer: Announcer, redis: Redis) -> Worker:
    """Return the worker of the activities that tell people; see that the workflow is there.

    Raises:
        InputInvalid: the file of notices cannot be used.
    """
    settings, secrets = context.settings, context.secrets
    assert settings.notices is not None
    read = partial(read_notices, settings.notices)
    await asyncio.to_thread(read)
    senders, skills = Senders(secrets.resolve, secrets.redact), RedisSkills(redis, signer=context.signer)
    notices = NoticeActivities(read, senders, skills, context.signer, tenant=settings.tenant)
    await announcer.begin()
    activities: list[Callable[..., Any]] = [notices.route, notices.deliver, notices.watch]
    return context.worker(notice_queue(context.queue), activities, NOTICE_ACTIVITIES, version=context.version)


def upload_folders(settings: Settings) -> tuple[Path, ...]:
    """Return the folders that files may be uploaded from now: those of the settings and of the grants.

    Raises:
        ActionFailed: the file of grants cannot be used.
    """
    try:
        return (*settings.upload_folders, *granted_folders(settings.home))
    except SettingsInvalid as exc:
        raise ActionFailed(UPLOAD_REFUSED, str(exc), dispatched=False) from exc


@dataclass(frozen=True)
class WorkerBrowsers:
    """Browsers of one worker, and what sends to sites without one."""

    keepers: LocalKeepers
    attachments: Attachments
    clients: HttpSiteClients
    own: NetworkPolicy
    """Servers of ours, which no site may name."""


async def _browsers(context: WorkerContext, redis_nodes: Sequence[tuple[str, int]]) -> WorkerBrowsers:
    """Clean up after dead keepers, and prepare for new ones and for the browsers that are attached to."""
    settings, sessions_dir = context.settings, context.settings.home / "sessions"
    browsers = ChromiumBrowsers(upload_roots=partial(upload_folders, settings), custom=custom_predicates())
    context.exits.push_async_callback(browsers.close)
    _, executable, _ = await asyncio.gather(
        asyncio.to_thread(reap, sessions_dir), asyncio.to_thread(_executable, settings), browsers.start()
    )
    policy, remote = operators_policy(settings.policy), _remote(settings)
    certificates = partial(site_certificates, policy, context.secrets, is_remote=remote is not None)
    options = KeeperOptions(
        executable=str(executable),
        network=NetworkPolicy(own=own_services(settings, redis_nodes), own_networks=settings.networks_of_own),
        routes=await asyncio.to_thread(upstream_routes, policy, context.secrets),
        certificates=await asyncio.to_thread(certificates),
        headless=settings.headless,
        no_sandbox=not settings.chromium_sandbox,
        remote=remote,
        owner=owner_in(os.environ),
    )
    keepers = LocalKeepers(sessions_dir, options, limit=settings.max_browsers, spares=settings.spare_browsers or 0)
    context.exits.push_async_callback(keepers.spares.close)
    context.run(keepers.spares.keep())
    attachments = Attachments(keepers, browsers)
    context.exits.push_async_callback(attachments.drop_all)
    if context.telemetry is not None:
        context.exits.callback(context.telemetry.watch_browsers(lambda: attachments.count))
    context.run(_keep_reaping(sessions_dir))
    context.run(attachments.keep_leases(store_proof(settings, context.exits)))
    clients = HttpSiteClients(
        not_direct=not_direct(options.routes, options.certificates), has_own_port=OwnPorts(settings.home).has
    )
    return WorkerBrowsers(keepers, attachments, clients, options.network)


class BrowserActivities:
    """Activities of the role `browser`, by the queue that they are served on."""

    def __init__(
        self,
        context: WorkerContext,
        redis: Redis,
        store: RedisStepStore,
        browsers: WorkerBrowsers,
        *,
        sessions: SessionActivities,
        vault: Vault,
    ) -> None:
        keepers, attachments = browsers.keepers, browsers.attachments
        settings, secrets, artifacts, policing = context.settings, context.secrets, context.artifacts, context.policing
        codes = RedisCodes(redis)
        self._store, self._attachments, self._sessions = store, attachments, sessions
        self._policing, self._pictures, self._listen_ms = policing, settings.planner_pictures, settings.listen_ms
        self._artifacts, self._secrets = artifacts, secrets
        self._vault = vault
        failures = FailureEvidence(artifacts, secrets, pictures=settings.planner_pictures)
        self._tools = StepTools(
            StepLedger(store), Credentials(self._vault, codes), artifacts, failures, policing, context.overrides
        )
        self._taking = Checkpoints(artifacts, self._vault, pause_s=CHECKPOINT_PAUSE_S)
        self._actions = Actions(attachments, self._tools, self._taking, StepPictures(store, artifacts, secrets))
        self._checkpoints = CheckpointActivities(attachments, self._taking, secrets)
        self._effects = EffectActivities(attachments, store, secrets, policing)
        recipes = RedisRecipes(redis, signer=context.signer)
        self._requests = RequestActivities(store, recipes, browsers.clients, browsers.own, vault, policing)
        self._knowledge = KnowledgeActivities(
            attachments, store, secrets, failures, policing, RequestKeeping(recipes, vault)
        )
        self._lending = LendActivities(keepers, attachments, store, artifacts, secrets)
        self._people = PersonActivities(attachments, artifacts, secrets, codes, context.announcer)
        self._skills = SkillRunActivities(RedisSkills(redis, signer=context.signer), store)
        self._skipping = Skipping(self._tools.ledger, secrets, attachments)
        self._stopping = StopActivities(attachments, store)
        self._batches = BatchActivities(artifacts, RedisRowEnds(redis), vault.starts)
        declared = SessionsFile(settings.sessions)
        self._site_browsers = SiteSessionBrowsers(
            declared, attachments, self._taking, vault, context.signer, artifacts=artifacts, tenant=settings.tenant
        )
        self._codes = CodeActivities(declared, ImapMailboxes(), codes, vault)
        self._site_sessions = SiteSessionActivities(
            declared,
            vault,
            context.signer,
            queue=context.queue,
            tenant=settings.tenant,
            is_sealed=artifacts.is_sealed,
            versioned=_build_of(context.version) is not None,
            notices=context.announcer,
        )

    def of_worker(self) -> list[Callable[..., Any]]:
        """Activities that need the browsers attached to this process."""
        attachments, store, secrets = self._attachments, self._store, self._secrets
        return [
            *self._actions.activities(),
            self._skipping.decide,
            self._checkpoints.take_checkpoint,
            self._checkpoints.restore_checkpoint,
            self._checkpoints.check_checkpoint,
            self._site_browsers.enter,
            self._site_browsers.leave,
            self._effects.resolve_step,
            self._stopping.stop_step,
            ListenActivities(attachments, store, secrets, limit_ms=self._listen_ms).listen,
            ProbeTrials(attachments, store, self._policing).try_probe,
            self._knowledge.finish_run,
            LookActivities(attachments, self._artifacts, secrets, pictures=self._pictures).look,
            FitActivities(attachments, self._artifacts, secrets).fits,
            self._people.look,
            self._sessions.open_session,
            self._sessions.recover_session,
            self._sessions.hold_back,
            self._sessions.close_session,
            self._lending.lend,
            self._lending.take_back,
            TakeOverActivities(self._tools, self._taking, attachments).handed_back,
        ]

    def of_host(self) -> list[Callable[..., Any]]:
        """Activities that any worker of this host can do for a session."""
        return [self._sessions.recover_session, self._sessions.close_session, self._stopping.stop_step]

    def shared(self) -> list[Callable[..., Any]]:
        """Activities that any worker can do."""
        return [
            self._sessions.open_session,
            self._sessions.recover_session,
            self._effects.settle_step,
            self._stopping.stop_step,
            self._people.key,
            self._people.notify,
            self._skipping.leave_out,
            self._knowledge.finish_run,
            PolicyActivities(self._policing, self._vault, self._store).check_policy,
            ResumeActivities(self._store).resume_run,
            self._skills.newest_version,
            self._skills.note_skill_run,
            SteerActivities(self._store).note,
            self._requests.run_requests,
            self._requests.lost_requests,
        ]

    def of_batches(self) -> list[Callable[..., Any]]:
        """Activities of batches, site sessions and codes: none of them waits for a browser."""
        sessions = self._site_sessions
        return [
            *(self._batches.read_rows, self._batches.note_rows, self._batches.watch_rows),
            *(sessions.ask, sessions.begin, sessions.failed, sessions.ended, sessions.release),
            self._codes.fetch,
        ]


def _build_of(version: WorkerDeploymentConfig | None) -> str | None:
    return version.version.build_id if version is not None and version.use_worker_versioning else None


def _remote(settings: Settings) -> RemoteBrowser | None:
    if settings.browser_endpoint is None:
        return None
    return RemoteBrowser(endpoint=settings.browser_endpoint, proxy_host=settings.browser_proxy_host or "")


def _executable(settings: Settings) -> Path:
    """Return the Chromium to start; none is looked for where one runs already."""
    return Path() if settings.browser_endpoint is not None else find_chromium(settings.chromium).path


async def _keep_reaping(sessions_dir: Path) -> None:
    """Clean up after keepers that have died, once a minute; a living one is left to its own deadline."""
    while True:
        await asyncio.sleep(REAP_EVERY_S)
        try:
            for session_id in await asyncio.to_thread(reap, sessions_dir):
                _log.warning("cleaned up session %s: its keeper was dead", session_id)
        except OSError as exc:
            _log.warning("cannot clean up dead sessions: %s", exc)


async def _serve(role: str) -> None:
    """Serve until SIGTERM or SIGINT, then drain."""
    settings = load_settings()
    take_provider_keys(os.environ)
    logging.basicConfig(level=settings.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    secrets = EnvironmentSecrets(os.environ, settings.home)
    for handler in logging.getLogger().handlers:
        handler.addFilter(RedactingFilter(secrets))
        if settings.log_format == "json":
            handler.setFormatter(JsonFormatter())
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    write_no_core_files()
    os.umask(0o077)  # artifacts, profiles and logs are for their owner only
    if not settings.chromium_sandbox and role in ("all", "browser"):
        _log.warning("Chromium runs without its sandbox (%s)", settings.why_no_sandbox)
    if signer_of(settings).is_unsigned:
        _log.warning("UNSIGNED: whoever can write to Redis can make runs act (REPLAYWRIGHT_UNSIGNED is set)")
    with entered(settings.home):
        telemetry = open_telemetry(settings, secrets.redact, is_worker=True)
        client = await connect(settings, telemetry)
        async with measuring(telemetry), workers(settings, client, role, secrets, telemetry):
            _log.info("polling %r as %s, version %r", settings.queue, role, settings.build_id or UNVERSIONED)
            gc.collect()
            gc.enable()
            gc.freeze()  # what a worker is made of is no garbage, and going through it held up all its steps at once
            metrics_url = "" if telemetry is None else telemetry.metrics_url
            if metrics_url:
                _log.info("metrics for Prometheus are at %s", metrics_url)
            if ready := os.environ.get(READY_FILE_VARIABLE):
                announce_ready(Path(ready), pid=os.getpid(), role=role, metrics=metrics_url)
            await stop.wait()
            _log.info("draining: running steps finish, browsers stay")


def _event_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the factory of the worker's event loop: uvloop, which takes a tenth off its processor time in a replay.

    None, and so asyncio's own, where it is not installed, as there is no wheel for the platform.
    """
    try:
        loop_factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return loop_factory


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of `replaywright-worker`: serve until SIGTERM or SIGINT, drain, and exit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], prog="replaywright-worker")
    parser.add_argument("--role", choices=ROLES, default="all", help="what this process does (default: %(default)s)")
    given = parser.parse_args(arguments)
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=_event_loop()) as runner:
            runner.run(_serve(given.role))
    except ReplaywrightError as exc:
        print(f"replaywright-worker: {exc}", file=sys.stderr)
        leave(2)
    leave(0)


if __name__ == "__main__":
    main()

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
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

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
from activities.run.knowledge import KnowledgeActivities
from activities.run.people import PersonActivities
from activities.run.resuming import ResumeActivities
from activities.run.steering import LendActivities, SteerActivities
from activities.session.attachments import Attachments
from activities.session.checkpoints import CHECKPOINT_PAUSE_S, CheckpointActivities, Checkpoints
from activities.session.sessions import SessionActivities
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
from cache.connection import nodes_of, open_redis, ping
from cache.first_starts import RedisFirstStarts
from cache.overrides import CachedOverrides, RedisOverrides
from cache.recalls import RedisRecalls
from cache.row_ends import RedisRowEnds
from cache.skills import RedisSkills
from cache.steps import RedisStepStore
from cache.watch import StoreWatch
from replaywright.artifacts.store import ArtifactStore
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.children import write_no_core_files
from replaywright.domain.common.base import build_schemas
from replaywright.domain.skill.skills import SkillContext
from replaywright.errors import ReplaywrightError, StackFailed
from replaywright.extensions import custom_predicates
from replaywright.grants import granted_hosts
from replaywright.keeper.host.client import reap
from replaywright.keeper.host.identity import host_name
from replaywright.keeper.host.local import LocalKeepers
from replaywright.keeper.host.own_processes import entered
from replaywright.keeper.host.places import most_places
from replaywright.keeper.protocol import KeeperOptions, RemoteBrowser
from replaywright.llm.chooser import ModelSkillChooser
from replaywright.llm.executor import ModelExecutor
from replaywright.llm.labeller import ModelLabeller
from replaywright.llm.planner import ModelPlanner
from replaywright.llm.prober import ModelProber
from replaywright.notices import CommandNotices
from replaywright.overrides import rules_in, shipped_rules
from replaywright.policy_files import operators_policy
from replaywright.sealing.codec import sealed
from replaywright.settings import READY_FILE_VARIABLE, UNVERSIONED, Settings, load_settings
from replaywright.stack.chromium import find_chromium
from replaywright.stack.keyring import artifact_keys_of, codec_keys_of, signer_of
from replaywright.stack.own_services import own_services
from replaywright.stack.processes import leave
from replaywright.stack.retention import keep_within_limits
from replaywright.stack.starts import TemporalStarts
from replaywright.stack.telemetry import measuring, open_telemetry
from replaywright.stack.temporal_client import connect_client
from replaywright.stack.update_guard import update_guards
from replaywright.stack.versions import deployment_of, pinned
from replaywright.stack.workers import announce_ready, owner_in
from replaywright.telemetry.logs import JsonFormatter
from replaywright.value_files import take_provider_keys
from replaywright.vault.environment import EnvironmentSecrets
from replaywright.vault.logs import RedactingFilter
from workflows.plugin import WorkflowPlugin
from workflows.policies import batch_queue, browser_queue, host_queue, model_queue

if TYPE_CHECKING:
    from replaywright.telemetry.provider import Telemetry

_log = logging.getLogger("replaywright.worker")

OPENED_AT_ONCE = 4
"""Browsers that one worker starts at the same time; more would only make each of them slower."""
DISPATCH_WITHIN_S = 15 * 60
"""How old an intent may be in the ledger when its bytes leave. What lets a step wait no longer than it may is the
keeper's gate, which knows the step's own budget."""
BATCH_ACTIVITIES = 20
"""Activities of batches at the same time: one that watches runs may take ten seconds."""
PROOF_S = 3.0
"""How long the store may take to answer for leases to be renewed: one that is late is there. Steps wait for 1 s."""
REAP_EVERY_S = 60.0
BEAT_FLUSH = timedelta(milliseconds=500)
"""The SDK sends heartbeats at least so often; its own default, 0.8 of their time-out, leaves room for one late beat."""
ROLES = ("all", "workflow", "browser", "model")


async def connect(settings: Settings, telemetry: "Telemetry | None" = None) -> Client:
    """A Temporal client that speaks our payloads; without workflows, so that activity workers do not poll for any.

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
        super().__init__(lambda converter: sealed(converter, codec_keys_of(settings or load_settings())))
        self._settings = settings
        self._role = role
        self._secrets: EnvironmentSecrets | None = None
        self._telemetry: Telemetry | None = None

    def configure_worker(self, config: WorkerConfig) -> WorkerConfig:
        """Measure what the team's worker does, too, and make it a version where the settings say so."""
        config = super().configure_worker(config)
        if (version := config.get("deployment_config") or deployment_of(self._settings or load_settings())) is not None:
            config["deployment_config"] = pinned(version)
        if self._secrets is None:
            settings = self._settings or load_settings()
            self._secrets = EnvironmentSecrets(os.environ, settings.home)
            self._telemetry = open_telemetry(settings, self._secrets.redact, is_worker=True)
        config["interceptors"] = [*config.get("interceptors", ()), *update_guards(self._settings or load_settings())]
        if self._telemetry is not None:
            config["interceptors"] = [*config["interceptors"], self._telemetry.interceptor]
        return config

    async def run_worker(self, worker: Worker, next: Callable[[Worker], Awaitable[None]]) -> None:  # noqa: A002 - Temporal's name
        """Run the team's worker with the activities beside it."""
        settings = self._settings or load_settings()
        # A client of its own: on the team's, this plugin would start once more.
        client = await connect(settings, self._telemetry)
        async with (
            measuring(self._telemetry),
            activity_workers(
                settings,
                client,
                self._role,
                self._secrets,
                queue=worker.task_queue,
                telemetry=self._telemetry,
                version=worker.config().get("deployment_config"),
            ),
        ):
            await super().run_worker(worker, next)


@contextlib.asynccontextmanager
async def workers(
    settings: Settings,
    client: Client,
    role: str = "all",
    secrets: EnvironmentSecrets | None = None,
    telemetry: "Telemetry | None" = None,
) -> AsyncIterator[None]:
    """Poll in this process, in the given role, until the block ends; then drain."""
    version = deployment_of(settings)
    async with activity_workers(settings, client, role, secrets, telemetry=telemetry, version=version):
        if role not in ("all", "workflow"):
            yield
            return
        async with Worker(
            client,
            task_queue=settings.queue,
            plugins=[WorkflowPlugin()],
            interceptors=update_guards(settings),
            max_cached_workflows=500,
            sticky_queue_schedule_to_start_timeout=timedelta(seconds=1),
            no_remote_activities=True,
            deployment_config=version,
        ):
            yield


@contextlib.asynccontextmanager
async def activity_workers(
    settings: Settings,
    client: Client,
    role: str,
    secrets: EnvironmentSecrets | None = None,
    *,
    queue: str = "",
    telemetry: "Telemetry | None" = None,
    version: WorkerDeploymentConfig | None = None,
) -> AsyncIterator[None]:
    """Poll the queues of the activities that belong to the role, until the block ends; then drain.

    They are derived from `queue`, where that is not the tenant's own.
    What is polled as a version, only runs on that version reach.
    """
    build_schemas()
    async with contextlib.AsyncExitStack() as exits:
        queue = queue or settings.queue
        secrets = secrets or EnvironmentSecrets(os.environ, settings.home)
        await asyncio.to_thread(secrets.learn)
        artifacts = ArtifactStore(settings.artifacts, artifact_keys_of(settings))
        built: list[Worker] = []
        overrides = _overrides(settings, exits) if role != "workflow" else None
        policing = Policing(operators_policy(settings.policy), lambda: granted_hosts(settings.home))
        if role in ("all", "browser"):
            built += await _browser_workers(
                settings,
                client,
                artifacts,
                secrets=secrets,
                overrides=overrides,
                policing=policing,
                telemetry=telemetry,
                exits=exits,
                queue=queue,
                version=version,
            )
        if role in ("all", "model"):
            built.append(
                _model_worker(
                    settings,
                    client,
                    artifacts,
                    secrets,
                    overrides=overrides,
                    policing=policing,
                    exits=exits,
                    queue=queue,
                    version=version,
                )
            )
        for worker in built:
            await exits.enter_async_context(worker)
        yield


def _model_worker(
    settings: Settings,
    client: Client,
    artifacts: ArtifactStore,
    secrets: EnvironmentSecrets,
    *,
    overrides: CachedOverrides | None,
    policing: Policing,
    exits: contextlib.AsyncExitStack,
    queue: str,
    version: WorkerDeploymentConfig | None,
) -> Worker:
    executor = ModelExecutor(
        settings.model,
        base_url=settings.model_base_url,
        timeout_s=settings.model_timeout_s,
        price=settings.model_price,
    )
    exits.push_async_callback(executor.close)
    plans, labels = settings.goal_planner, settings.labeller
    planner = ModelPlanner(plans.model, base_url=plans.base_url, timeout_s=plans.timeout_s, price=plans.price)
    exits.push_async_callback(planner.close)
    prober = ModelProber(
        settings.planner_model,
        base_url=settings.planner_model_base_url,
        timeout_s=plans.timeout_s,
        price=settings.planner_model_price,
    )
    exits.push_async_callback(prober.close)
    chooser = None
    if settings.model:
        chooser = ModelSkillChooser(
            settings.model,
            base_url=settings.model_base_url,
            timeout_s=settings.model_timeout_s,
            price=settings.model_price,
        )
        exits.push_async_callback(chooser.close)
    labeller = ModelLabeller(labels.model, base_url=labels.base_url, timeout_s=labels.timeout_s, price=labels.price)
    exits.push_async_callback(labeller.close)
    redis = open_redis(_redis_url(settings), client_name="replaywright-model")
    exits.push_async_callback(redis.aclose)
    signer = signer_of(settings)
    store = RedisStepStore(redis, signer=signer)
    goals = GoalActivities(
        labeller, planner, artifacts, secrets, store, policing=policing, languages=settings.phrase_languages
    )
    kept = RedisSkills(redis, signer=signer)
    skills = SkillActivities(kept, secrets, RedisRecalls(redis), _context())
    recalling = RecallActivities(kept, RedisRecalls(redis), store, chooser, redact=secrets.redact, context=_context())
    return Worker(
        client,
        task_queue=model_queue(queue),
        activities=[
            ModelActivities(executor, artifacts, overrides, store).propose_target,
            PlanActivities(planner, artifacts, store, policing).revise_plan,
            ProbeProposals(prober, artifacts, store).propose_probe,
            recalling.recall,
            goals.label_goal,
            goals.plan_goal,
            skills.claim_goal,
            skills.release_goal,
            skills.judge_recall,
            skills.learn_skill,
        ],
        max_concurrent_activities=20,
        max_heartbeat_throttle_interval=BEAT_FLUSH,
        deployment_config=version,
    )


def _context() -> SkillContext:
    """How keepers open browsers: under what circumstances skills are learned here."""
    usual = {name: field.default for name, field in KeeperOptions.model_fields.items()}
    return SkillContext(viewport=f"{usual['window_width']}x{usual['window_height']}", locale=usual["lang"])


def _redis_url(settings: Settings) -> str:
    return settings.redis_url or "redis://localhost:6379"


def store_proof(settings: Settings, exits: contextlib.AsyncExitStack) -> Callable[[], Awaitable[None]]:
    """Comes back when the store has answered: what leases are renewed for. On a connection that no step waits for."""
    redis = open_redis(_redis_url(settings), client_name="replaywright-leases", read_timeout_s=PROOF_S)
    exits.push_async_callback(redis.aclose)
    return partial(ping, redis)


def _overrides(settings: Settings, exits: contextlib.AsyncExitStack) -> CachedOverrides:
    redis = open_redis(_redis_url(settings), client_name="replaywright-overrides")
    exits.push_async_callback(redis.aclose)
    folder = settings.overrides_folder
    overrides = CachedOverrides(
        RedisOverrides(redis, signer=signer_of(settings)), lambda: rules_in(folder), shipped_rules()
    )
    exits.push_async_callback(overrides.close)
    return overrides


async def _browser_workers(
    settings: Settings,
    client: Client,
    artifacts: ArtifactStore,
    *,
    secrets: EnvironmentSecrets,
    overrides: CachedOverrides | None,
    policing: Policing,
    telemetry: "Telemetry | None",
    exits: contextlib.AsyncExitStack,
    queue: str,
    version: WorkerDeploymentConfig | None,
) -> list[Worker]:
    redis = open_redis(_redis_url(settings))
    exits.push_async_callback(redis.aclose)
    watch = StoreWatch(redis)
    await watch.look()
    looking = asyncio.create_task(watch.keep_looking())
    exits.callback(looking.cancel)
    signer = signer_of(settings)
    store = RedisStepStore(redis, signer=signer, dispatch_within_s=DISPATCH_WITHIN_S, watch=watch)
    sessions_dir = settings.home / "sessions"
    browsers = ChromiumBrowsers(
        upload_roots=settings.upload_folders,
        custom=custom_predicates(),
    )
    exits.push_async_callback(browsers.close)
    _, executable, _ = await asyncio.gather(
        asyncio.to_thread(reap, sessions_dir), asyncio.to_thread(_executable, settings), browsers.start()
    )
    keepers = LocalKeepers(
        sessions_dir,
        executable,
        headless=settings.headless,
        sandbox=settings.chromium_sandbox,
        limit=settings.max_browsers,
        own=own_services(settings, nodes_of(redis)),
        own_networks=settings.networks_of_own,
        remote=_remote(settings),
        spares=settings.spare_browsers or 0,
        owner=owner_in(os.environ),
    )
    exits.push_async_callback(keepers.spares.close)
    sparing = asyncio.create_task(keepers.spares.keep())
    exits.callback(sparing.cancel)
    attachments = Attachments(keepers, browsers)
    exits.push_async_callback(attachments.drop_all)
    if telemetry is not None:
        exits.callback(telemetry.watch_browsers(lambda: attachments.count))
    reaping = asyncio.create_task(_keep_reaping(sessions_dir))
    exits.callback(reaping.cancel)
    leases = asyncio.create_task(attachments.keep_leases(store_proof(settings, exits)))
    exits.callback(leases.cancel)
    retention = asyncio.create_task(keep_within_limits(settings, client, redis))
    exits.callback(retention.cancel)
    queues = (
        f"{queue}-worker-{uuid.uuid4().hex[:12]}",
        host_queue(queue, host_name(), _build_of(version)),
        browser_queue(queue),
    )
    sessions = SessionActivities(keepers, attachments, store, queue=queues[0], host_queue=queues[1], policing=policing)
    codes = RedisCodes(redis)
    starts = TemporalStarts(client, signer, RedisFirstStarts(redis))
    vault = Vault(secrets, starts, settings.starts_rule)
    failures = FailureEvidence(artifacts, secrets, pictures=settings.planner_pictures)
    tools = StepTools(StepLedger(store), Credentials(vault, codes), artifacts, failures, policing, overrides)
    taking = Checkpoints(artifacts, vault, pause_s=CHECKPOINT_PAUSE_S)
    actions = Actions(attachments, tools, taking, StepPictures(store, artifacts, secrets))
    effects = EffectActivities(attachments, store, secrets, policing)
    stopping = StopActivities(attachments, store)
    skipping = Skipping(tools.ledger, secrets, attachments)
    knowledge = KnowledgeActivities(attachments, store, secrets, failures, policing)
    notices = None if settings.notify_command is None else CommandNotices(settings.notify_command)
    people = PersonActivities(attachments, artifacts, secrets, codes, notices)
    checkpoints = CheckpointActivities(attachments, taking, secrets)
    lending = LendActivities(keepers, attachments, store, artifacts, secrets)
    of_skills = SkillRunActivities(RedisSkills(redis, signer=signer))
    own: list[Callable[..., Any]] = [
        *actions.activities(),
        skipping.decide,
        checkpoints.take_checkpoint,
        checkpoints.restore_checkpoint,
        checkpoints.check_checkpoint,
        effects.resolve_step,
        stopping.stop_step,
        ListenActivities(attachments, store, secrets, limit_ms=settings.listen_ms).listen,
        ProbeTrials(attachments, store, policing).try_probe,
        knowledge.finish_run,
        LookActivities(attachments, artifacts, secrets, pictures=settings.planner_pictures).look,
        FitActivities(attachments, artifacts, secrets).fits,
        people.look,
        sessions.open_session,
        sessions.recover_session,
        sessions.close_session,
        lending.lend,
        lending.take_back,
        TakeOverActivities(tools, taking, attachments).handed_back,
    ]
    shared: list[Callable[..., Any]] = [
        sessions.open_session,
        sessions.recover_session,
        effects.settle_step,
        stopping.stop_step,
        people.key,
        people.notify,
        skipping.leave_out,
        knowledge.finish_run,
        PolicyActivities(policing, vault, store).check_policy,
        ResumeActivities(store).resume_run,
        of_skills.newest_version,
        of_skills.note_skill_run,
        SteerActivities(store).note,
    ]
    batches = BatchActivities(artifacts, RedisRowEnds(redis), starts)
    most = settings.max_browsers or most_places()
    # Only the queues that all workers share are polled as a version: on the others, named for one worker, or for host
    # and build, nobody else asks, and a version keeps every queue that it was ever polled on (docs/internals/adr/0007).
    batching: list[Callable[..., Any]] = [batches.read_rows, batches.note_rows, batches.watch_rows]
    served: tuple[tuple[str, list[Callable[..., Any]], int, WorkerDeploymentConfig | None], ...] = (
        (queues[0], own, most * 2, None),
        (queues[1], [sessions.recover_session, sessions.close_session, stopping.stop_step], most, None),
        (queues[2], shared, OPENED_AT_ONCE, version),
        (batch_queue(queue), batching, BATCH_ACTIVITIES, version),
    )
    return [
        Worker(
            client,
            task_queue=name,
            activities=activities,
            max_concurrent_activities=places,
            graceful_shutdown_timeout=timedelta(seconds=30),
            max_heartbeat_throttle_interval=BEAT_FLUSH,
            deployment_config=polled_as,
        )
        for name, activities, places, polled_as in served
    ]


def _build_of(version: WorkerDeploymentConfig | None) -> str | None:
    return version.version.build_id if version is not None and version.use_worker_versioning else None


def _remote(settings: Settings) -> RemoteBrowser | None:
    if settings.browser_endpoint is None:
        return None
    return RemoteBrowser(endpoint=settings.browser_endpoint, proxy_host=settings.browser_proxy_host or "")


def _executable(settings: Settings) -> Path:
    """The Chromium to start; none is looked for where one runs already."""
    return Path() if settings.browser_endpoint is not None else find_chromium(settings.chromium).path


async def _keep_reaping(sessions_dir: Path) -> None:
    """Clean up after keepers that have died, once a minute; a living one is left to its own deadline."""
    while True:
        await asyncio.sleep(REAP_EVERY_S)
        try:
            for session_id in await asyncio.to_thread(reap, sessions_dir):
                _log.warning("session %s had lost its keeper: browser ended, profile deleted", session_id)
        except OSError as exc:
            _log.warning("dead sessions are not cleaned up: %s", exc)


async def _serve(role: str) -> None:
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
        await _poll(settings, client, role, secrets, telemetry, stop)


async def _poll(  # noqa: PLR0917 - parts of one process
    settings: Settings,
    client: Client,
    role: str,
    secrets: EnvironmentSecrets,
    telemetry: "Telemetry | None",
    stop: asyncio.Event,
) -> None:
    """Serve until `stop`, then drain."""
    async with measuring(telemetry), workers(settings, client, role, secrets, telemetry):
        _log.info("polling %r as %s, version %r", settings.queue, role, settings.build_id or UNVERSIONED)
        gc.collect()
        gc.freeze()  # what a worker is made of is no garbage, and going through it held up all its steps at once
        metrics_url = "" if telemetry is None else telemetry.metrics_url
        if metrics_url:
            _log.info("metrics for Prometheus are at %s", metrics_url)
        if ready := os.environ.get(READY_FILE_VARIABLE):
            announce_ready(Path(ready), pid=os.getpid(), role=role, metrics=metrics_url)
        await stop.wait()
        _log.info("draining: steps under way may end, browsers stay")


def _event_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the worker's event loop: uvloop, which takes a tenth off its processor time in a replay.

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
    try:
        with asyncio.Runner(loop_factory=_event_loop()) as runner:
            runner.run(_serve(given.role))
    except ReplaywrightError as exc:
        print(f"replaywright-worker: {exc}", file=sys.stderr)
        leave(2)
    leave(0)


if __name__ == "__main__":
    main()

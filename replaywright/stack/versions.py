"""Versions of workers, as Temporal keeps them: which one gets new runs, and which is still needed by runs under way.

A *deployment* is all workers that get a new version together; a *version* of it is one build. What of the queues is
served by version, and why not all of it, is told in docs/internals/adr/0007.
"""

import asyncio
import dataclasses
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from temporalio.api.deployment.v1 import WorkerDeploymentInfo
from temporalio.api.enums.v1 import (
    TaskQueueType,
    WorkerDeploymentVersionStatus,
    WorkerVersioningMode,
)
from temporalio.api.taskqueue.v1 import PollerInfo, TaskQueue
from temporalio.api.workflowservice.v1 import (
    DescribeTaskQueueRequest,
    DescribeWorkerDeploymentRequest,
    SetWorkerDeploymentCurrentVersionRequest,
    SetWorkerDeploymentRampingVersionRequest,
)
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode

from replaywright.errors import InputInvalid, StackFailed
from replaywright.keeper.host.identity import host_name, identify
from replaywright.settings import UNVERSIONED, Settings

if TYPE_CHECKING:
    from temporalio.worker import WorkerDeploymentConfig

_FRESH = timedelta(seconds=75)
"""A poller asks again at least once a minute; one that was not heard of for longer is gone."""
_WITHIN_S = 10.0
"""A worker that has just begun to poll is known to its deployment within a second or two, and so are its queues."""
_ROUTED_WITHIN_S = 120.0
_AGAIN_S = 0.2


class VersionState(StrEnum):
    """State of a version."""

    CURRENT = "current"
    """New runs go to it."""
    RAMPING = "ramping"
    """A percentage of new runs goes to it."""
    INACTIVE = "inactive"
    """No run ever went to it."""
    DRAINING = "draining"
    """No new run goes to it; Temporal knows of runs under way, or has not looked again yet."""
    DRAINED = "drained"
    """Temporal has found that no run needs it: its workers may be stopped."""


_STATES = {
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_CURRENT: VersionState.CURRENT,
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_RAMPING: VersionState.RAMPING,
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINING: VersionState.DRAINING,
    WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED: VersionState.DRAINED,
}


@dataclass(frozen=True)
class Version:
    """One build of a deployment's workers; or all workers without a version."""

    build_id: str
    """`unversioned` for those without one."""
    state: VersionState
    ramp_percent: float = 0
    """Percentage of new runs that go to it; only while it is ramping."""
    under_way: int = 0
    """Its runs that have not ended; those that wait for a person are among them."""
    workers: int = 0
    """Number of its workers that poll the tenant's workflow queue."""
    since: datetime | None = None
    """Time at which its state began, where Temporal says so."""

    @property
    def concern(self) -> str:
        """Problem and remedy; empty when all is well."""
        build = self.build_id
        is_next = self.state in (VersionState.CURRENT, VersionState.RAMPING)
        if self.workers and self.state is VersionState.INACTIVE:
            return f"workers of version {build!r} get no runs: `replaywright admin versions promote {build}`"
        if self.workers:
            return ""
        if self.under_way:
            return f"{self.under_way} runs of version {build!r} wait, as none of its workers is there: start one again"
        return f"new runs go to version {build!r} and none of its workers is there" if is_next else ""


@dataclass(frozen=True)
class Served:
    """Pollers of a queue of workflows, and routing of new runs."""

    queue: str
    workers: dict[str, int] = field(default_factory=dict)
    """Number of workers by build id; those without a version under `unversioned`."""
    current: str = UNVERSIONED
    """Build id of those that get new runs, but for what a ramping version takes."""
    ramping: str = ""
    """Build id of the version that takes some; empty for none."""

    @property
    def why_not(self) -> str:
        """Reason why new runs wait, and the remedy; empty when they do not."""
        if self.current in self.workers:
            return ""
        if not self.workers:
            return f"no worker polls the queue {self.queue!r}: start one with `replaywright-worker`"
        there = ", ".join(map(repr, sorted(self.workers)))
        return (
            f"new runs on the queue {self.queue!r} wait for workers of version {self.current!r}, and there are only "
            f"some of {there}: start one, or `replaywright admin versions promote {max(self.workers)}`"
        )


def deployment_of(settings: Settings) -> "WorkerDeploymentConfig | None":
    """Return the deployment of a worker with these settings; None for one without a version."""
    if settings.build_id is None:
        return None
    from temporalio.worker import WorkerDeploymentConfig  # noqa: PLC0415 - commands have no worker

    version = WorkerDeploymentVersion(settings.deployment_name, settings.build_id)
    return pinned(WorkerDeploymentConfig(version=version, use_worker_versioning=True))


def pinned(config: "WorkerDeploymentConfig") -> "WorkerDeploymentConfig":
    """Return the same config, with workflows pinned to the version that they began with by default.

    `BrowserTask` cannot say so itself: on workers without a version the server refuses whatever a workflow that does
    decides.
    """
    if not config.use_worker_versioning or config.default_versioning_behavior is not VersioningBehavior.UNSPECIFIED:
        return config
    return dataclasses.replace(config, default_versioning_behavior=VersioningBehavior.PINNED)


async def served(client: Client, queue: str, *, is_own: bool = False) -> Served:
    """Return the current pollers of this queue.

    Temporal lists workers for minutes after they have ended; where it is this machine's own, their processes tell.

    Raises:
        RPCError: Temporal refuses the question.
    """
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        )
    )
    now = datetime.now(UTC)
    heard = (poller for poller in answer.pollers if now - poller.last_access_time.ToDatetime(UTC) < _FRESH)
    fresh = [poller for poller in heard if not (is_own and _has_ended(poller.identity))]
    routed = answer.versioning_info
    current, ramping = routed.current_deployment_version.build_id, routed.ramping_deployment_version.build_id
    return Served(queue, dict(Counter(map(_build_of, fresh))), current or UNVERSIONED, ramping)


def _has_ended(identity: str) -> bool:
    """Return whether a poller was a process of this host, and is gone."""
    pid, _, host = identity.partition("@")
    return host == host_name() and pid.isdecimal() and identify(int(pid)) is None


def _build_of(poller: PollerInfo) -> str:
    options = poller.deployment_options
    is_version = options.worker_versioning_mode == WorkerVersioningMode.WORKER_VERSIONING_MODE_VERSIONED
    return options.build_id if is_version else UNVERSIONED


async def versions_of(client: Client, settings: Settings) -> tuple[Version, ...]:
    """Return the versions of the deployment, the newest first, then the workers without a version, if there are any.

    Raises:
        RPCError: Temporal refuses the question.
    """
    workers = (await served(client, settings.queue)).workers
    known = await _described(client, settings)
    name, ramp_percent = settings.deployment_name, 0.0
    found: list[Version] = []
    if known is not None:
        ramp_percent = known.routing_config.ramping_version_percentage
        for summary in sorted(known.version_summaries, key=lambda each: -each.create_time.ToNanoseconds()):
            build = summary.deployment_version.build_id
            state = _STATES.get(summary.status, VersionState.INACTIVE)
            since = {
                VersionState.CURRENT: summary.current_since_time,
                VersionState.RAMPING: summary.ramping_since_time,
                VersionState.INACTIVE: summary.create_time,
            }.get(state, summary.drainage_info.last_changed_time)
            under_way = await client.count_workflows(
                f"TemporalWorkerDeploymentVersion = '{name}:{build}' AND ExecutionStatus = 'Running'"
            )
            found.append(
                Version(
                    build,
                    state,
                    ramp_percent if state is VersionState.RAMPING else 0,
                    under_way.count,
                    workers.get(build, 0),
                    since.ToDatetime(UTC) if since.seconds else None,
                )
            )
    without = await client.count_workflows(
        f"TaskQueue = '{settings.queue}' AND TemporalWorkerDeploymentVersion IS NULL AND ExecutionStatus = 'Running'"
    )
    is_current = known is None or not known.routing_config.current_deployment_version.build_id
    if is_current or without.count or UNVERSIONED in workers:
        state = VersionState.CURRENT if is_current else VersionState.DRAINING if without.count else VersionState.DRAINED
        found.append(Version(UNVERSIONED, state, 0, without.count, workers.get(UNVERSIONED, 0)))
    return tuple(found)


async def promote(client: Client, settings: Settings, build_id: str, ramp_percent: float | None = None) -> None:
    """Have new runs go to this version, or so many in a hundred of them; return once they do.

    Runs under way stay where they are. `unversioned` promotes the workers without a version.

    Raises:
        InputInvalid: none of its workers is there, or they do not do all that those of the current version do.
        StackFailed: Temporal does not get the change to the queue.
        RPCError: Temporal refuses.
    """
    if build_id == UNVERSIONED and ramp_percent is not None:
        raise InputInvalid(f"--ramp: {UNVERSIONED!r} gets all new runs or none; leave it out")
    await _found(client, settings, build_id)
    deadline = time.monotonic() + _WITHIN_S
    while True:
        try:
            await _route(client, settings, build_id, ramp_percent)
            break
        except RPCError as exc:
            if exc.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.FAILED_PRECONDITION):
                raise
            if time.monotonic() > deadline:
                raise InputInvalid(_refused(exc, build_id)) from exc
        await asyncio.sleep(_AGAIN_S)
    await _routed(client, settings, build_id, ramp_percent)


async def _found(client: Client, settings: Settings, build_id: str) -> None:
    """Return once a worker of the version polls: one that was just started is waited for."""
    deadline = time.monotonic() + _WITHIN_S
    while build_id not in (there := (await served(client, settings.queue)).workers):
        if time.monotonic() > deadline:
            known = ", ".join(map(repr, sorted(there))) or "none at all"
            raise InputInvalid(
                f"BUILD: no worker of version {build_id!r} polls the queue {settings.queue!r}; there are {known}: "
                f"start one with REPLAYWRIGHT_BUILD_ID={build_id}"
            )
        await asyncio.sleep(_AGAIN_S)


async def _route(client: Client, settings: Settings, build_id: str, ramp_percent: float | None) -> None:
    service, name = client.workflow_service, settings.deployment_name
    if ramp_percent is None:
        await service.set_worker_deployment_current_version(
            SetWorkerDeploymentCurrentVersionRequest(
                namespace=client.namespace,
                deployment_name=name,
                build_id="" if build_id == UNVERSIONED else build_id,
                identity=client.identity,
            )
        )
        known = await _described(client, settings)
        build_id = "" if known is None else known.routing_config.ramping_deployment_version.build_id
    if ramp_percent or build_id:
        await service.set_worker_deployment_ramping_version(
            SetWorkerDeploymentRampingVersionRequest(
                namespace=client.namespace,
                deployment_name=name,
                build_id=build_id if ramp_percent else "",
                percentage=ramp_percent or 0,
                identity=client.identity,
            )
        )


def _refused(error: RPCError, build_id: str) -> str:
    if "missing active task queues" in error.message:
        return (
            f"BUILD: the workers of version {build_id!r} do not serve every queue that those of the current one do: "
            "start them in the same roles (`--role workflow`, `browser` and `model`)"
        )
    return f"BUILD: Temporal refuses {build_id!r}: {error.message}"


async def _routed(client: Client, settings: Settings, build_id: str, ramp_percent: float | None) -> None:
    """Return once the queue of new runs knows whom they go to.

    What the deployment says of its own progress is not waited for: after a rollback it said for minutes that the change
    was under way.
    """
    deadline = time.monotonic() + _ROUTED_WITHIN_S
    while time.monotonic() < deadline:
        found = await served(client, settings.queue)
        if ramp_percent is None:
            is_there = found.current == build_id and not found.ramping
        else:
            is_there = found.ramping == (build_id if ramp_percent else "")
        if is_there:
            return
        await asyncio.sleep(_AGAIN_S)
    raise StackFailed(
        f"Temporal has taken the change, but has not told the queue of it within {_ROUTED_WITHIN_S:g} s: look again "
        "with `replaywright admin versions`"
    )


async def _described(client: Client, settings: Settings) -> WorkerDeploymentInfo | None:
    """Return Temporal's description of the deployment; None before the first of its workers."""
    request = DescribeWorkerDeploymentRequest(namespace=client.namespace, deployment_name=settings.deployment_name)
    try:
        answer = await client.workflow_service.describe_worker_deployment(request)
    except RPCError as exc:
        if exc.status is RPCStatusCode.NOT_FOUND:
            return None
        raise
    return answer.worker_deployment_info

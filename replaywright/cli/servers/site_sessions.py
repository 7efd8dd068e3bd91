"""Site sessions as commands and the dashboard see and change them."""

from datetime import timedelta
from typing import Any, Final

from temporalio.client import WorkflowQueryFailedError
from temporalio.common import AutoUpgradeVersioningOverride
from temporalio.service import RPCError, RPCStatusCode

from activities.run.site_sessions import begin_site_session
from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.domain.site_session.commands import SiteSessionState, workflow_id
from replaywright.domain.site_session.definitions import Definition
from replaywright.domain.site_session.leases import Leases
from replaywright.domain.trace.search_attributes import SEARCH_ATTRIBUTES
from replaywright.errors import StackFailed
from replaywright.settings import Settings
from replaywright.site_sessions.file import read_site_sessions
from replaywright.stack.temporal_client import known_attributes

_LIMIT: Final = timedelta(seconds=5)


async def standing_of_site_session(here: Backend, name: str) -> Leases:
    """Return who uses a site session and who waits; nobody where no run has asked for it yet.

    Raises:
        StackFailed: no worker answers, or Temporal does not.
    """
    handle = here.client.get_workflow_handle(workflow_id(here.settings.tenant, name))
    try:
        found: Leases = await handle.query("standing", result_type=Leases, rpc_timeout=_LIMIT)
    except WorkflowQueryFailedError as exc:
        raise StackFailed(f"session {name}: its workflow does not answer: {exc}") from exc
    except RPCError as exc:
        if exc.status is RPCStatusCode.NOT_FOUND:
            return Leases()
        if exc.status in (RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED):
            raise StackFailed(f"session {name}: no worker answers: start one (`replaywright up`)") from exc
        with temporal_errors(here.settings):
            raise
    return found


async def signalled(here: Backend, name: str, signal: str, arguments: list[Any]) -> None:
    """Send a signal to the workflow of a site session, which is begun if need be.

    Raises:
        StackFailed: Temporal does not take it.
    """
    settings = here.settings
    with temporal_errors(settings):
        known = await known_attributes(here.client) or {}
        names = tuple(each.name for each in SEARCH_ATTRIBUTES if known.get(each.name) == each.kind)
        await begin_site_session(
            here.client,
            SiteSessionState(tenant=settings.tenant, name=name, attributes=names),
            queue=here.queue,
            override=None if settings.build_id is None else AutoUpgradeVersioningOverride(),
            start_signal=signal,
            start_signal_args=arguments,
        )


def declared(settings: Settings) -> list[tuple[str, Definition]]:
    """Return the declared site sessions by name; none without a file.

    Raises:
        InputInvalid: the file cannot be used.
    """
    return [] if settings.sessions is None else sorted(read_site_sessions(settings.sessions).sessions.items())


def state_of(leases: Leases) -> str:
    """Tell in words whether a session is signed in."""
    if leases.signing_in is not None:
        return "signing in"
    if leases.is_expired:
        return "no" if leases.kept is None else "expired"
    return "yes"

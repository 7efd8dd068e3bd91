"""A site session's standing, as its workflow has it."""

from datetime import timedelta
from typing import Final

from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.domain.site_session.commands import workflow_id
from replaywright.domain.site_session.leases import Leases
from replaywright.errors import StackFailed

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

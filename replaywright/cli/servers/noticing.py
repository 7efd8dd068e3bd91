"""What people were told, as the workflow `Notices` of the tenant has it."""

from datetime import timedelta
from typing import Final

from temporalio.client import WorkflowQueryFailedError
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli.servers.connect import Backend, temporal_errors
from replaywright.domain.notice.commands import NoticesStanding, workflow_id

_LIMIT: Final = timedelta(seconds=2)
_NO_ANSWER: Final = {
    RPCStatusCode.NOT_FOUND,
    RPCStatusCode.DEADLINE_EXCEEDED,
    RPCStatusCode.CANCELLED,
    RPCStatusCode.FAILED_PRECONDITION,
}
"""There is no such workflow, or no worker to answer for it."""


async def standing_of_notices(here: Backend) -> NoticesStanding | None:
    """Return what was told and what was not; None if nobody is told of anything, or no worker answers."""
    handle = here.client.get_workflow_handle(workflow_id(here.settings.tenant))
    try:
        standing: NoticesStanding = await handle.query("standing", result_type=NoticesStanding, rpc_timeout=_LIMIT)
    except WorkflowQueryFailedError:
        return None
    except RPCError as exc:
        if exc.status in _NO_ANSWER:
            return None
        with temporal_errors(here.settings):
            raise
    return standing

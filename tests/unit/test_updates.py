"""Updates that Temporal could not take in just then."""

import pytest
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli.people.updates import once_ready

NOT_READY = RPCError("unexpected workflow task failure", RPCStatusCode.FAILED_PRECONDITION, b"")


class Server:
    """Fails with each error in turn, then answers."""

    def __init__(self, *errors: RPCError) -> None:
        self.errors, self.asked = list(errors), 0

    async def send(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "taken"


async def test_an_update_that_came_in_a_workflow_task_that_failed_is_sent_again() -> None:
    server = Server(NOT_READY, NOT_READY)

    assert await once_ready(server.send) == "taken"
    assert server.asked == 3


@pytest.mark.parametrize(
    "errors",
    [(RPCError("gone", RPCStatusCode.NOT_FOUND, b""),), (NOT_READY,) * 4],
    ids=["another error", "never ready"],
)
async def test_another_error_and_one_that_stays_are_told(errors: tuple[RPCError, ...]) -> None:
    server = Server(*errors)

    with pytest.raises(RPCError):
        await once_ready(server.send)

    assert server.asked == len(errors)

"""Waiting for a run whose server is lost while the answer is awaited."""

import pytest
from temporalio.service import RPCError, RPCStatusCode

from replaywright.cli.runs.follow import follow
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.errors import StackFailed


class Handle:
    """A run whose server breaks off the first long poll, as one that is killed does."""

    id = "run"

    def __init__(self, message: str) -> None:
        self._broken: RPCError | None = RPCError(message, RPCStatusCode.UNKNOWN, b"")

    async def result(self) -> RunResult:
        if self._broken is not None:
            broken, self._broken = self._broken, None
            raise broken
        return RunResult(succeeded=True)

    async def query(self, *_: object, **__: object) -> Progress:
        return Progress()


async def followed(handle: Handle) -> str:
    told = await follow(handle, show=lambda _progress, _note: None, until_waiting=True)  # type: ignore[arg-type]  # a fake
    return told.status


async def test_a_connection_that_breaks_while_the_end_is_awaited_is_made_again() -> None:
    assert await followed(Handle("transport error")) == "done"


async def test_what_the_server_itself_refuses_is_told() -> None:
    with pytest.raises(StackFailed, match="refuses to say how the run ended: no such namespace"):
        await followed(Handle("no such namespace"))

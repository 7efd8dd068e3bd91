"""What a run tells when it does not come to its end."""

import contextvars
import types
from collections.abc import Generator

import pytest
from temporalio import workflow

from workflows.run.telling import recovery_told


@types.coroutine
def _waits() -> Generator[None]:
    yield


async def _recovers(ended: list[str]) -> None:
    try:
        with recovery_told():
            await _waits()
    except BaseException as exc:
        ended.append(type(exc).__name__)
        raise


def test_a_run_that_is_put_away_on_its_way_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "time_ns", lambda: 1)
    ended: list[str] = []
    run = _recovers(ended)
    contextvars.copy_context().run(run.send, None)

    run.close()  # as the garbage collector does with what a worker leaves: in no workflow, and in another context

    assert ended == ["GeneratorExit"]

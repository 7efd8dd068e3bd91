"""Which event loop a worker has."""

import sys

import pytest

from worker import _event_loop


def test_a_worker_runs_on_uvloop() -> None:
    uvloop = pytest.importorskip("uvloop", reason="it is not installed")
    loop_factory = _event_loop()
    assert loop_factory is not None

    loop = loop_factory()
    loop.close()

    assert isinstance(loop, uvloop.Loop)


def test_where_there_is_no_uvloop_it_runs_on_asyncios_own_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)

    assert _event_loop() is None

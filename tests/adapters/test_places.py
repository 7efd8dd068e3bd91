"""Where a run is started: what is said when nobody is there to do it."""

from pathlib import Path

import pytest
from temporalio.testing import WorkflowEnvironment

import worker
from replaywright.cli.servers.connect import open_working_backend
from replaywright.errors import StackFailed
from replaywright.settings import load_settings
from replaywright.stack.processes import free_port


async def test_a_queue_that_no_worker_polls_is_named(temporal_env: WorkflowEnvironment, tmp_path: Path) -> None:
    address = temporal_env.client.service_client.config.target_host
    settings = load_settings(temporal_address=address, task_queue="nobody-polls-this", home=tmp_path)
    told: list[str] = []

    async with open_working_backend(settings, tell=told.append):
        pass

    assert told == ["no worker polls the queue 'nobody-polls-this': start one with `replaywright-worker`"]


async def test_a_worker_that_finds_no_temporal_says_where_it_looked(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"

    with pytest.raises(StackFailed, match=f"does not answer at {address}: set REPLAYWRIGHT_TEMPORAL_ADDRESS"):
        await worker.connect(load_settings(temporal_address=address, home=tmp_path))

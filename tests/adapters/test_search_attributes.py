"""A Temporal server that does not know our search attributes: what is said, what helps, and what works all the same."""

import asyncio
import shlex
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from replaywright.cli.runs.searchable import Filter, refuse_unknown, start_attributes
from replaywright.cli.servers.connect import Backend, connect
from replaywright.domain.run.runs import Totals
from replaywright.domain.trace.search_attributes import kinds
from replaywright.errors import InputInvalid
from replaywright.settings import Settings
from replaywright.stack.doctor import Diagnosis, PartHealth, diagnose
from replaywright.stack.processes import free_port
from replaywright.stack.temporal import DevServer
from replaywright.stack.temporal_client import known_attributes


@pytest.fixture
async def bare(temporal_binary: Path, tmp_path: Path) -> AsyncIterator[Backend]:
    """A server with one of them, under another type."""
    log = tmp_path / "temporal.log"
    others = {"BrowserHeals": "Text"}
    server = await DevServer(temporal_binary, log=log, ui_port=free_port(), search_attributes=others).start()
    settings = Settings(home=tmp_path / "home", temporal_address=server.address)
    yield Backend(await connect(settings), settings, "configured")
    await server.child.stop()


async def told(settings: Settings) -> Diagnosis:
    return next(one for one in await diagnose(settings) if one.component == "Search attributes")


async def test_runs_go_without_those_that_a_server_does_not_know_and_a_filter_for_one_is_refused(bare: Backend) -> None:
    before = await told(bare.settings)
    started_with = await start_attributes(bare, task="t", site="", skill="", mode="auto", totals=Totals())
    with pytest.raises(InputInvalid, match=r"--healed: .*BrowserHeals.*temporal operator search-attribute create"):
        await refuse_unknown(bare, Filter(healed=True))
    await refuse_unknown(bare, Filter(status="failed", since="7d"))

    assert (before.health, before.found) == (PartHealth.WARNING, "0 of 8 known to 'default'")
    assert list(started_with) == []


async def test_the_command_of_doctor_makes_a_server_know_them(temporal_binary: Path, tmp_path: Path) -> None:
    log = tmp_path / "temporal.log"
    server = await DevServer(temporal_binary, log=log, ui_port=free_port(), search_attributes={}).start()
    try:
        settings = Settings(home=tmp_path / "home", temporal_address=server.address)
        before = await told(settings)
        command = before.advice[before.advice.index("temporal operator") :]
        create = [str(temporal_binary), *shlex.split(command)[1:]]
        await asyncio.to_thread(subprocess.run, create, check=True, capture_output=True)
        after = await told(settings)
        known = await known_attributes(await connect(settings))
    finally:
        await server.child.stop()

    assert before.health is PartHealth.WARNING
    assert (after.health, known) == (PartHealth.OK, kinds())


@pytest.mark.parametrize(
    ("since", "moment"),
    [
        ("7d", "2026-11-15T12:00:00Z"),
        ("30min", "2026-11-22T11:30:00Z"),
        ("2 w", "2026-11-08T12:00:00Z"),
        ("2026-11-20T01:00:00+01:00", "2026-11-20T00:00:00Z"),
    ],
)
def test_an_age_or_a_moment_becomes_a_condition_on_the_start(since: str, moment: str) -> None:
    query = Filter(since=since).as_query(datetime(2026, 11, 22, 12, tzinfo=UTC))

    assert query.endswith(f'AND StartTime >= "{moment}"')


@pytest.mark.parametrize("since", ["yesterday", "-7d", "7", "999999999d", "2026-13-01"])
def test_any_other_age_is_refused_with_what_is_expected(since: str) -> None:
    with pytest.raises(InputInvalid, match=r"--since .*: expected an age such as 30min, 12h, 7d or 2w, or a date"):
        Filter(since=since).as_query(datetime.now(UTC))

"""The commands of schedules on a real Temporal server, which no worker serves: what is kept, shown, refused."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from temporalio.testing import WorkflowEnvironment
from typer.testing import CliRunner, Result

from replaywright.cli.commands import app
from replaywright.domain.run.runs import RunInput
from replaywright.testing.grants import allow_loopback

TASK = """\
task: greet
url: "{{site}}/"
parameters:
  site: {}
  who: {default: Ada}
steps:
  - {action: fill, instruction: the name, target: {role: textbox, name: Name}, value: "{{who}}"}
"""
CRONS = (
    *("* * * * *", "*/15 8-18 * * 1-5", "0 9 1,15 jan-mar mon", "0 9 * * 7", "5/10 * * * *", "0 0 9 * * * *"),
    *("@daily", "0 9 * * * 2099"),
)


class Commands:
    """Commands of one tenant, on its own of the server's schedules."""

    def __init__(self, address: str, home: Path, tenant: str) -> None:
        self._environment = {
            "REPLAYWRIGHT_TEMPORAL_ADDRESS": address,
            "REPLAYWRIGHT_HOME": str(home),
            "REPLAYWRIGHT_TENANT": tenant,
        }
        self.tenant = tenant

    async def result(self, *arguments: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, app, ["schedule", *arguments], env=self._environment)

    async def told(self, *arguments: str) -> dict[str, Any]:
        result = await self.result(*arguments, "--json")
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    async def refused(self, *arguments: str) -> str:
        result = await self.result(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        return result.stderr


@pytest.fixture
async def tenant(temporal_env: WorkflowEnvironment, tmp_path: Path) -> AsyncIterator[Callable[[], Commands]]:
    """Makes tenants whose schedules are gone after the test."""
    address, begins = temporal_env.client.service_client.config.target_host, f"t-{uuid.uuid4().hex[:8]}"
    allow_loopback(tmp_path / "home")
    made: list[Commands] = []

    def new() -> Commands:
        made.append(Commands(address, tmp_path / "home", f"{begins}-{len(made)}"))
        return made[-1]

    yield new
    for one in made:
        for schedule in (await one.told("list"))["schedules"]:
            await one.told("delete", schedule["schedule"], "--yes")


@pytest.fixture
def greet(tmp_path: Path) -> tuple[str, ...]:
    """A task file, and the value that it lacks."""
    file = tmp_path / "greet.yaml"
    file.write_text(TASK, encoding="utf-8")
    return str(file), "-p", "site=http://127.0.0.1:9"


async def test_a_schedule_is_kept_with_all_that_was_said_of_it(
    temporal_env: WorkflowEnvironment, tenant: Callable[[], Commands], greet: tuple[str, ...]
) -> None:
    mine = tenant()
    crons = [word for cron in CRONS for word in ("--cron", cron)]
    times = ("--time-zone", "Asia/Shanghai", "--from", "2098-01-01", "--until", "2099-12-31", "--jitter", "2min")
    rules = ("--overlap", "buffer_all", "--catch-up", "30min", "--pause-on-failure", "--why", "every now and then")

    made = await mine.told("create", "greets", *greet, *crons, *times, *rules)
    await mine.told("pause", "greets", "--why", "the site is being moved")
    [listed] = (await mine.told("list"))["schedules"]
    shown = (await mine.result("show", "greets")).stdout
    [payload] = (await temporal_env.client.get_schedule_handle(f"{mine.tenant}/greets").describe()).schedule.action.args  # type: ignore[attr-defined]  # of the kind that we start

    assert made["when"] == list(CRONS)
    assert made["next"][0].startswith("2098-01-01T00:0")
    assert made["next"][0].endswith("+08:00")
    kept = {
        "values": {"site": "http://127.0.0.1:9", "who": "Ada"},
        "overlap": "buffer_all",
        "catchUpSeconds": 1800.0,
        "jitterSeconds": 120.0,
        "pauseOnFailure": True,
        "until": "2099-12-31T00:00:00+08:00",
        "note": "every now and then",
    }
    assert {name: made[name] for name in kept} == kept
    assert (listed["paused"], listed["note"]) == (True, "the site is being moved")
    assert "the site is being moved" in shown
    given = RunInput.model_validate_json(payload.data)
    assert (given.schedule, given.tenant, given.lineage) == (f"{mine.tenant}/greets", mine.tenant, "")


async def test_each_trigger_starts_a_run_and_one_that_starts_none_says_why(
    tenant: Callable[[], Commands], greet: tuple[str, ...]
) -> None:
    mine = tenant()
    await mine.told("create", "greets", *greet, "--every", "1d", "--paused")

    first, second = await mine.told("trigger", "greets"), await mine.told("trigger", "greets")
    beside = await mine.told("trigger", "greets", "--overlap", "allow_all")
    waits = await mine.told("trigger", "greets", "--overlap", "buffer_one")
    [listed] = (await mine.told("list"))["schedules"]

    assert [one["outcome"] for one in (first, second, beside, waits)] == ["started", "skipped", "started", "waits"]
    assert first["runId"].startswith(f"{mine.tenant}/greets-2")
    assert beside["runId"] != first["runId"]
    assert (listed["fired"], listed["skipped"]) == (2, 1)
    assert listed["runs"][0]["status"] == "running, no worker answers"


async def test_no_tenant_sees_or_touches_the_schedules_of_another(
    tenant: Callable[[], Commands], greet: tuple[str, ...]
) -> None:
    mine, theirs = tenant(), tenant()
    await mine.told("create", "greets", *greet, "--every", "1d", "--paused")

    seen = await theirs.told("list")
    refused = [
        await theirs.refused(command, "greets", *options)
        for command, *options in (("show",), ("pause",), ("unpause",), ("trigger",), ("delete", "--yes"))
    ]
    same = await theirs.told("create", "greets", *greet, "--every", "1h", "--paused")
    [kept] = (await mine.told("list"))["schedules"]

    assert seen == {"schedules": []}
    assert all(one.startswith("there is no schedule 'greets'; there are none yet") for one in refused), refused
    assert same["id"] == f"{theirs.tenant}/greets"
    assert (kept["when"], kept["fired"]) == (["every 1d"], 0)


async def test_what_cannot_be_is_refused_and_leaves_nothing_behind(
    tenant: Callable[[], Commands], greet: tuple[str, ...]
) -> None:
    mine = tenant()
    await mine.told("create", "greets", *greet, "--every", "1d", "--paused")

    assert "there is a schedule 'greets' already" in await mine.refused("create", "greets", *greet, "--every", "1h")
    assert "near: greets" in await mine.refused("show", "greet")
    assert "'0 0 30 2 *' never comes" in await mine.refused("create", "never", *greet, "--cron", "0 0 30 2 *")
    assert "NAME 'a/b': expected" in await mine.refused("create", "a/b", *greet, "--every", "1h")
    assert "there is no file 'greet'" in await mine.refused("create", "b", "greet", "--every", "1h")
    assert "parameter 'site'" in await mine.refused("create", "b", greet[0], "--every", "1h")
    assert "the minute is '61'" in await mine.refused("create", "b", *greet, "--cron", "61 * * * *")
    canary = ("create", "c", "skill:x", "--every", "1h")
    assert "is no skill" in await mine.refused("create", "c", greet[0], "--every", "1h", "--canary")
    assert "--hold belongs to --canary" in await mine.refused(*canary, "--hold")
    assert "--rehearse belongs to --canary" in await mine.refused(*canary, "--rehearse")
    assert "--mode auto: a canary asks no model" in await mine.refused(*canary, "--canary", "--mode", "auto")
    assert [one["schedule"] for one in (await mine.told("list"))["schedules"]] == ["greets"]

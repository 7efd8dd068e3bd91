"""One tenant reaches for what another keeps with every command that there is, and finds nothing."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from temporalio.testing import WorkflowEnvironment
from typer.testing import CliRunner, Result

from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.cli.commands import app
from replaywright.cli.servers.connect import connect
from replaywright.domain.batch.batches import BatchInput
from replaywright.domain.run.runs import RunInput
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.outcomes import Lookup, Status, StepOutcome
from replaywright.domain.task.actions import Action
from replaywright.domain.task.tasks import parse_task
from replaywright.ports.ledger import Recording
from replaywright.settings import load_settings

MARK = "alphaonly"
"""In everything of the tenant that is reached for."""
RUN = f"{MARK}/shop.example/1"
BATCH = f"{MARK}/batch/1"
KEY = "ab" * 32
SKILLS: dict[str, Any] = {
    "skills": [
        {
            "name": f"buy-{MARK}",
            "site": "https://shop.example",
            "patterns": [f"buy {MARK}"],
            "task": {
                "task": f"buy-{MARK}",
                "goal": f"buy {MARK}",
                "url": "https://shop.example/",
                "steps": [{"action": "click", "instruction": "buy", "target": {"role": "button", "name": "Buy"}}],
            },
        }
    ]
}
RULES: dict[str, Any] = {
    "rules": [
        {
            "name": f"rule-{MARK}",
            "site": "shop.example",
            "when": {"exists": {"css": "#banner"}},
            "do": [{"action": "click", "instruction": "close", "target": {"css": "#close"}}],
        }
    ]
}

REACHING: dict[str, list[str]] = {
    "runs": [],
    "show": [RUN],
    "report": [RUN],
    "admin artifacts list": [RUN],
    "admin trace export": [RUN],
    "cancel": [RUN],
    "resume": [RUN, "--dry-run"],
    "answer": [RUN, "yes"],
    "admin pause": [RUN],
    "takeover": [RUN],
    "admin cache stats": [],
    "admin cache list": [],
    "admin cache show": [KEY[:12]],
    "admin cache promote": [KEY[:12]],
    "admin cache invalidate": [KEY[:12], "--why", "x", "--yes"],
    "admin forget": ["--site", "https://shop.example", "--yes"],
    "admin notices list": [],
    "admin sessions list": [],
    "admin retention": [],
    "skills list": [],
    "skills show": [f"buy-{MARK}"],
    "skills diff": [f"buy-{MARK}"],
    "skills export": [],
    "skills invalidate": [f"buy-{MARK}", "--why", "x"],
    "skills restore": [f"buy-{MARK}"],
    "skills delete": [f"buy-{MARK}", "--yes"],
    "skills edit": [f"buy-{MARK}", "--file", "FILE", "--yes"],
    "skills script": [f"buy-{MARK}", "--format", "python"],
    "check": [f"buy-{MARK}"],
    "skills run": [f"buy-{MARK}", "--detach"],
    "schedule list": [],
    "schedule show": [f"daily-{MARK}"],
    "schedule create": ["mine", f"skill:buy-{MARK}", "--every", "1d"],
    "schedule pause": [f"daily-{MARK}"],
    "schedule unpause": [f"daily-{MARK}"],
    "schedule trigger": [f"daily-{MARK}"],
    "schedule delete": [f"daily-{MARK}", "--yes"],
    "batch start": [f"buy-{MARK}", "--csv", "ROWS", "--detach"],
    "batch resume": [BATCH, "--detach"],
    "batch retry": [BATCH, "--detach"],
    "batch cancel": [BATCH],
    "batch results": [BATCH],
    "batch show": [BATCH],
    "batch list": [],
    "admin overrides list": [],
    "admin overrides remove": [f"rule-{MARK}"],
    "skills recall": [f"buy {MARK}", "--url", "https://shop.example"],
}
"""What each command reaches for; one that is new has to be put here or below."""
ELSEWHERE = {
    "admin artifacts prune", "admin codec-server", "admin hosts allow", "admin hosts list", "admin hosts revoke",
    "admin keys list", "admin keys new", "admin keys sign-existing", "admin notices test",
    "admin overrides add", "admin overrides check",
    "admin policy check", "admin policy show", "admin schema", "admin secrets bind", "admin secrets check",
    "admin secrets list", "admin secrets set", "admin secrets unbind",
    "admin sessions forget", "admin sessions import", "admin sessions sign-in",
    "admin trace replay", "admin trace verify", "admin uploads allow", "admin uploads list",
    "admin uploads revoke", "admin versions list",
    "admin versions promote", "dashboard", "demo", "doctor", "edit", "mcp", "record", "run", "skills import", "up",
}  # fmt: skip
"""They tell nothing that a tenant keeps, but of the environment, a file that is named, or what they make themselves.
What the dashboard and the server for agents read has tests of its own."""


def commands(group: Any, path: str = "") -> Iterator[str]:
    """The paths of all commands: `runs`, `cache list`, …"""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


def test_every_command_is_known_to_reach_for_a_tenants_data_or_not() -> None:
    assert set(commands(typer.main.get_command(app))) == REACHING.keys() | ELSEWHERE


def test_the_queue_of_a_tenant_is_its_own_and_that_of_the_default_tenant_is_as_ever() -> None:
    queues = [load_settings(tenant=tenant, task_queue="q").queue for tenant in ("default", "a", "a-b", "b")]

    assert queues == ["q", "q@a", "q@a-b", "q@b"]
    assert load_settings(tenant="b", task_queue="q-a").queue not in queues


async def invoked(command: str, arguments: list[str], tenant: str, environment: dict[str, str]) -> Result:
    """The command as another process of this tenant would run it."""
    return await asyncio.to_thread(
        CliRunner().invoke, app, [*command.split(), *arguments], env={**environment, "REPLAYWRIGHT_TENANT": tenant}
    )


@pytest.mark.long
async def test_no_command_finds_or_changes_anything_of_another_tenant(
    temporal_env: WorkflowEnvironment, redis_url: str, tmp_path: Path
) -> None:
    environment = {
        "REPLAYWRIGHT_TEMPORAL_ADDRESS": temporal_env.client.service_client.config.target_host,
        "REPLAYWRIGHT_REDIS_URL": redis_url,
        "REPLAYWRIGHT_HOME": str(tmp_path / "home"),
        "COLUMNS": "300",
    }
    skills, rules = tmp_path / "skills.yaml", tmp_path / "rules.yaml"
    rows = tmp_path / "rows.csv"
    rows.write_text("who\nAda\n")
    skills.write_text(yaml.safe_dump(SKILLS))
    rules.write_text(yaml.safe_dump(RULES))
    scheduled = [f"daily-{MARK}", f"skill:buy-{MARK}", "--every", "1d", "--paused"]
    for command, arguments in (
        ("skills import", [str(skills)]),
        ("admin overrides add", [str(rules)]),
        ("schedule create", scheduled),
    ):
        given = await invoked(command, arguments, "alpha", environment)
        assert given.exit_code == 0, given.output
    task = parse_task(SKILLS["skills"][0]["task"], "the test")
    client = await connect(load_settings(temporal_address=environment["REPLAYWRIGHT_TEMPORAL_ADDRESS"]))
    await client.start_workflow(
        "BrowserTask",
        RunInput(task=task, tenant="alpha"),
        id=RUN,
        task_queue="nobody@alpha",
        memo={"task": task.task, "tenant": "alpha", "lineage": RUN},
    )
    await client.start_workflow(
        "BrowserBatch",
        BatchInput(run=RunInput(task=task, tenant="alpha"), index="ab" * 32, total=1),
        id=BATCH,
        task_queue="nobody@alpha",
        memo={"task": task.task, "tenant": "alpha", "rows": "ab" * 32},
    )
    redis = open_redis(redis_url)
    entry = ActionCacheEntry(
        content_key=KEY, action_type=Action.CLICK, instruction=MARK, tag="button", role="button", name=MARK
    )
    outcome = StepOutcome(status=Status.DONE, fingerprint="cd" * 32, content_key=KEY, lookup=Lookup(hit=True))
    await RedisStepStore(redis).record(
        Recording(
            tenant="alpha",
            lineage=RUN,
            run_id=RUN,
            epoch=1,
            sequence=0,
            title=f"click {MARK}",
            outcome=outcome,
            entry=entry,
        )
    )

    async def kept() -> dict[bytes, bytes | None]:
        return {key: await redis.dump(key) async for key in redis.scan_iter(match="*{alpha*")}

    before = await kept()
    listing = ("runs", "show", "skills list", "schedule list", "batch list")
    own = {name: await invoked(name, REACHING[name], "alpha", environment) for name in listing}
    found: dict[str, Result] = {}
    for name, arguments in REACHING.items():
        with_file = [{"FILE": str(skills), "ROWS": str(rows)}.get(argument, argument) for argument in arguments]
        found[name] = await invoked(name, with_file, "beta", environment)
    found["the list of what waits"] = await invoked("answer", [], "beta", environment)

    assert all(MARK in result.output for result in own.values()), own
    named = {name for name, arguments in REACHING.items() if any(MARK in one for one in arguments)}
    told = {name: result.output for name, result in found.items() if name not in named and MARK in result.output}
    assert told == {}
    reached = {name: found[name].output for name in named - {"skills recall"} if found[name].exit_code != 2}
    assert reached == {}
    assert await kept() == before
    assert len(before) >= 4
    description = await client.get_workflow_handle(RUN).describe()
    assert description.status is not None
    assert description.status.name == "RUNNING"
    for workflow_id in (RUN, BATCH):
        await client.get_workflow_handle(workflow_id).terminate()
    schedule = client.get_schedule_handle(f"alpha/daily-{MARK}")
    state = await schedule.describe()
    assert (state.schedule.state.paused, state.info.num_actions) == (True, 0)
    await schedule.delete()
    await redis.aclose()

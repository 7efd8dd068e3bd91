"""Runs from end to end over a Redis Cluster of three nodes: learned, replayed, and looked at."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from bench.scale.fleet import Fleet
from replaywright.cli.runs.starting import Order
from replaywright.domain.task.tasks import Task, parse_task
from tests.raw_redis import ask_redis

pytestmark = pytest.mark.slow


def task_at(url: str) -> Task:
    name = {"action": "fill", "instruction": "the name field", "target": {"role": "textbox", "name": "Name"}}
    keep = {"action": "click", "instruction": "the keep button", "target": {"role": "button", "name": "Keep"}}
    kept = {"text_contains": "Kept"}
    steps = [
        {"action": "goto", "url": url},
        {**name, "value": "Ada"},
        {**keep, "effect": "commit", "evidence": "page", "expect": [kept]},  # its page sends nothing
    ]
    return parse_task({"task": "form", "steps": steps, "verify": [kept]}, "test")


@pytest.mark.long
async def test_runs_go_from_end_to_end_over_a_cluster(cluster_url: str, cluster_nodes: tuple[int, ...]) -> None:
    async with Fleet(played=False, redis_url=cluster_url, unsigned=True, tell=lambda _text: None) as fleet:
        task = task_at(fleet.url)
        ended = [await fleet.run(Order(task, {}, run_id)) for run_id in ("first", "again")]
        lines = await fleet.store.trace(tenant=fleet.settings.tenant, lineage="again")
        looked = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "replaywright", "admin", "cache", "stats", "--json"],
            env=os.environ | fleet.stack.environment(),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    steps = [line for line in lines if line["kind"] == "step"]
    assert [end.why for end in ended] == ["", ""]
    assert [step["status"] for step in steps] == ["done"] * len(task.steps)
    assert looked.returncode == 0, looked.stderr
    assert json.loads(looked.stdout)["hits"] == len(task.steps) - 1
    sizes = [await ask_redis(f"redis://127.0.0.1:{port}/0", ("DBSIZE",)) for port in cluster_nodes]
    assert sum(number for [number] in sizes if isinstance(number, int)) > len(task.steps)

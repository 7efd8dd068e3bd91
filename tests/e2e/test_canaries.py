"""Canaries on the real stack: they see that a skill no longer works before a run in earnest does, and send nothing."""

import json
import os
import subprocess
import sys
import uuid

import pytest

from replaywright.cli.local.dashboard_acts import schedule_changed, schedule_rows
from replaywright.cli.servers.store import open_store
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.task.tasks import Task
from tests.e2e.agent_clients import command_of
from tests.e2e.lab import Lab, until

pytestmark = pytest.mark.slow


def commanded(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "replaywright", "schedule", *arguments, "--json"]
    return subprocess.run(
        command, env=os.environ | (command_of(lab).env or {}), capture_output=True, text=True, check=False
    )


async def kept(lab: Lab, name: str, task: Task) -> None:
    skill = Skill(name=name, task=task, site=lab.stage.webmail, status=SkillStatus.ACTIVE)
    async with open_store(lab.place.settings) as store:
        await store.knowledge.skills.save(store.tenant, skill, who="the test")


async def status_of(lab: Lab, name: str) -> SkillStatus:
    async with open_store(lab.place.settings) as store:
        return (await store.knowledge.shown(name, None)).skill.status


async def ended(lab: Lab, schedule: str) -> str:
    """Status of the last run of the schedule, once it is over; empty before."""
    [row] = [row for row in await schedule_rows(lab.place) if row.name == schedule]
    return row.last_status if row.last_run and row.last_status not in ("running", "") else ""


async def test_a_canary_sends_nothing_and_one_that_fails_holds_the_schedules_of_its_skill(lab: Lab) -> None:
    order, mark = lab.order(), uuid.uuid4().hex[:6]
    sound, broken = f"sound-{mark}", f"broken-{mark}"
    gone = {"action": "click", "instruction": "the button that is gone", "target": {"css": "#gone"}, "effect": "read"}
    steps = [step.model_dump(mode="json", exclude_none=True) for step in lab.task.steps]
    changed = Task.model_validate(lab.task.model_dump(mode="json") | {"steps": [steps[0], gone, *steps[1:]]})
    await kept(lab, sound, lab.task)
    await kept(lab, broken, changed)
    given = [f"--param={name}={value}" for name, value in order.values.items()]

    for name in (sound, broken):
        for schedule, more in ((f"earnest-{name}", []), (f"canary-{name}", ["--canary", "--hold", "--rehearse"])):
            made = commanded(lab, "create", schedule, f"skill:{name}", "--every", "300d", *given, *more)
            assert made.returncode == 0, made.stderr
            assert json.loads(made.stdout)["canary"] is bool(more)
        await schedule_changed(lab.place, f"canary-{name}", "trigger", "", "ada")

        async def is_over(schedule: str = f"canary-{name}") -> bool:
            return bool(await ended(lab, schedule))

        await until("the canary has ended", is_over)

    rows = {row.name: row for row in await schedule_rows(lab.place)}
    assert (await ended(lab, f"canary-{sound}"), await ended(lab, f"canary-{broken}")) == ("done", "failed")
    assert lab.mails(order) == []
    assert (await status_of(lab, sound), await status_of(lab, broken)) == (SkillStatus.ACTIVE, SkillStatus.SUSPECT)
    assert [rows[f"earnest-{name}"].is_paused for name in (sound, broken)] == [False, True]
    assert rows[f"earnest-{broken}"].note.startswith("held: the canary ")
    assert not rows[f"canary-{broken}"].is_paused

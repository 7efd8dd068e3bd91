"""A tenant with something that others are after: a run that waits, a skill, a schedule and a recording."""

import asyncio
import contextlib
import secrets
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from bench.team.dashboards import dashboard
from bench.team.receiver import NAME, Receiver, label_of, received
from cache.connection import open_redis
from cache.steps import RedisStepStore
from replaywright.cli.local.dashboard_acts import schedule_rows
from replaywright.cli.people.inbox import waiting_in
from replaywright.cli.runs.starting import Order, start
from replaywright.domain.task.questions import Question
from replaywright.domain.task.tasks import Task
from tests.e2e.agent_clients import command_of
from tests.e2e.lab import Lab, until


@dataclass
class Owner:
    """A tenant with a run that waits, a skill, a schedule and a recording: what others are after."""

    lab: Lab
    receiver: Receiver
    entrance: str
    """Address of its dashboard, with the token."""
    run_id: str
    question: Question
    entry: str
    schedule: str
    values: dict[str, str]

    @property
    def base(self) -> str:
        """Return its dashboard's address without the token."""
        return self.entrance.partition("?")[0]

    @property
    def origin(self) -> str:
        """Return the origin of its dashboard."""
        parts = urlsplit(self.entrance)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def marks(self) -> tuple[str, ...]:
        """Return texts that stand in pages about what it has, and in no address: pages repeat these."""
        return self.question.text, self.schedule, label_of(self.lab)

    def reads(self) -> Iterator[str]:
        """Yield the addresses of its pages, below `base`."""
        run = urlencode({"id": self.run_id})
        skill = urlencode({"name": NAME})
        yield from (
            "",
            f"run?{run}",
            f"report?{run}",
            f"picture?{run}",
            f"screen?{run}",
            f"live/run?{run}",
            "live/runs",
        )
        yield from ("inbox", "skills", f"skill?{skill}", "schedules", "cache")

    def acts(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the addresses of its forms, below `base`, with what they send."""
        run = {"id": self.run_id}
        values = {f"value.{name}": text for name, text in self.values.items()}
        yield f"answer?{urlencode({**run, 'question': self.question.id})}", {"answer": "approve"}
        yield f"answer?{urlencode(run)}", {"answer": "continue"}
        yield f"takeover?{urlencode(run)}", {}
        yield f"start?{urlencode({'skill': NAME, 'version': 1})}", {"request": secrets.token_hex(16), **values}
        yield f"schedule?{urlencode({'name': self.schedule})}", {"change": "pause"}
        yield f"schedule?{urlencode({'name': self.schedule})}", {"change": "trigger"}
        yield f"entry?{urlencode({'key': self.entry})}", {"change": "forget"}
        yield f"retry?{urlencode({'batch': self.run_id})}", {}
        yield f"session?{urlencode({'name': 'crm'})}", {"change": "forget"}

    async def state(self) -> dict[str, object]:
        """Return all that somebody could have changed."""
        place = self.lab.place
        waiting = {one.run_id: one.question.id for one in await waiting_in(place)}
        query = f"WorkflowType = 'BrowserTask' AND TaskQueue = '{place.queue}'"
        listed = [run async for run in place.client.list_workflows(query)]
        tenants = [await run.memo_value("tenant", default="") for run in listed]
        rows = [row for row in await schedule_rows(place) if row.name == self.schedule]
        return {
            "question": waiting.get(self.run_id),
            "runs": sorted(run.id for run, of in zip(listed, tenants, strict=True) if of == place.settings.tenant),
            "paused": [row.is_paused for row in rows],
            "entries": await _entries(self.lab),
        }


def folder_of(lab: Lab) -> Path:
    """Return the path of a new folder."""
    return lab.stage.home / f"forbidden-{uuid.uuid4().hex[:6]}"


@contextlib.asynccontextmanager
async def owned(lab: Lab) -> AsyncIterator[Owner]:
    """Have all of it, with a receiver and a dashboard as processes of their own."""
    folder = folder_of(lab)
    async with (
        received(lab, folder) as receiver,
        dashboard(environment_of(lab), folder / "dashboard.log") as entrance,
    ):
        order = _waiting(lab)
        await start(lab.place, order)
        questions: list[Question] = []

        async def asks() -> bool:
            questions[:] = [one.question for one in await waiting_in(lab.place) if one.run_id == order.run_id]
            return bool(questions)

        await until("the run asks", asks)
        schedule = f"s{uuid.uuid4().hex[:8]}"
        await asyncio.to_thread(_scheduled, lab, schedule, dict(order.values))
        entry = next(iter(await _entries(lab)))
        yield Owner(lab, receiver, entrance, order.run_id, questions[0], entry, schedule, dict(lab.order().values))


def environment_of(lab: Lab) -> dict[str, str]:
    """Return the variables of commands of the lab's tenant."""
    return {**lab.stage.stack.environment(), "REPLAYWRIGHT_TENANT": lab.place.settings.tenant}


def _waiting(lab: Lab) -> Order:
    data = lab.task.model_dump(mode="json", exclude_none=True)
    approve = {"action": "approve", "instruction": "may it go on?"}
    steps = data["steps"]
    return lab.order(Task.model_validate(data | {"task": "ask-first", "steps": [steps[0], approve, *steps[1:]]}))


def _scheduled(lab: Lab, name: str, values: Mapping[str, str]) -> None:
    given = [f"--param={key}={value}" for key, value in values.items()]
    words = ["schedule", "create", name, f"skill:{NAME}", "--every", "300d", *given]
    made = command_of(lab)
    subprocess.run(
        [sys.executable, "-m", "replaywright", *words], env=made.env, capture_output=True, text=True, check=True
    )


async def _entries(lab: Lab) -> dict[str, str]:
    settings = lab.place.settings
    redis = open_redis(settings.redis_url or "")
    try:
        entries = await RedisStepStore(redis).entries(tenant=settings.tenant)
    finally:
        await redis.aclose()
    return {info.content_key: str(info.entry.status) for info in entries}

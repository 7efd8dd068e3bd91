"""Record histories that `test_histories.py` replays: `make record-histories`, on purpose only.

A recorded history is a promise: runs that are under way when a worker is deployed must go on. So a history that is
there is left as it is, and only those that are missing are recorded: delete a file when the runs that recorded it can
no longer exist.
"""

import asyncio
import base64
import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

from demo.stage import Stage
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.resume import Wish, planned
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import Task
from replaywright.home import default_home
from replaywright.settings import load_settings
from replaywright.testing.grants import allow_loopback
from tests.e2e.lab import FREEZE, Lab, runs_with, until
from tests.replay.bakery import Bakery, pressed
from tests.replay.small import record_batches, record_searchable

FOLDER = Path(__file__).parent / "histories"


def without_places(history: WorkflowHistory, places: dict[str, str]) -> str:
    """The history as JSON, with what belongs to the recording machine replaced, also inside payloads."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, dict):
            told = ((key, inner) for key, inner in value.items() if key != "stackTrace")  # it names the machine's files
            return {key: payload(inner) if key == "data" else cleaned(inner) for key, inner in told}
        if isinstance(value, list):
            return [cleaned(inner) for inner in value]
        return replaced(value) if isinstance(value, str) else value

    def payload(data: Any) -> Any:
        if not isinstance(data, str):
            return cleaned(data)
        return base64.b64encode(replaced(base64.b64decode(data).decode()).encode()).decode()

    def replaced(text: str) -> str:
        for place, name in places.items():
            text = text.replace(place, name)
        return text

    return json.dumps(cleaned(json.loads(history.to_json())), separators=(",", ":"), ensure_ascii=False) + "\n"


class Recorder(Lab):
    """A stage whose runs are kept."""

    async def keep(self, name: str, order: Order) -> None:
        """Write the run's history, unless there is one of this name."""
        history = await self.handle(order).fetch_history()
        places = {str(self.stage.home): "/var/lib/replaywright", socket.gethostname(): "host"}
        text = without_places(history, places)
        with contextlib.suppress(FileExistsError), (FOLDER / f"{name}.json").open("x", encoding="utf-8") as file:
            file.write(text)
            print(f"{name}: {len(history.events)} events, {len(text)} bytes", file=sys.stderr)

    async def answer(self, order: Order, **verdict: Any) -> None:
        """A person's answer, and the run's end."""
        await decide(self.place, order.run_id, PersonVerdict(who="Ada", why="recorded", **verdict))
        await self.follow(order)


def missing(*names: str) -> bool:
    """Whether one of these histories is to be recorded."""
    return not all((FOLDER / f"{name}.json").is_file() for name in names)


async def record() -> None:
    """All that is missing: of the demo's task, and of small ones."""
    tell = lambda text: print(text, file=sys.stderr)  # noqa: E731 - one line
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {FREEZE: str(Path(folder) / "freeze"), "XDG_STATE_HOME": folder, "REPLAYWRIGHT_LISTEN_MS": "300"}
        allow_loopback(Path(default_home(os.environ)))
        cleaned = lambda history: without_places(history, {socket.gethostname(): "host"})  # noqa: E731 - one line
        await record_searchable(FOLDER / "searchable.json", Path(folder), cleaned)
        await record_batches(FOLDER / "batches", Path(folder), cleaned)
        if missing("learned", "replayed", "recovered", "waited-for-a-person", "healed-with-fallback"):
            await record_on(Stage(load_settings(), tell=tell))
        if missing("revised", "came-late", "rebuilt-from-a-checkpoint", "hibernated", "resumed-after-an-edit"):
            bakery = Bakery()
            with bakery.served():
                async with Stage(load_settings(), tell=tell, plans=True) as stage:
                    await record_small(Recorder(stage), bakery)


def order_of(task: Task, mode: Mode = Mode.REPLAY) -> Order:
    """A run of a task without parameters."""
    return Order(task, {}, new_run_id(task, {}), mode=mode)


async def record_small(lab: Recorder, bakery: Bakery) -> None:
    """A revised plan, an effect that came late, a browser rebuilt from a checkpoint, hibernation, a resume."""
    await lab.run(order_of(bakery.asked_for(), Mode.AUTO))
    bakery.has_news = True
    revised = order_of(bakery.asked_for(), Mode.AUTO)
    await lab.run(revised)
    await lab.keep("revised", revised)
    bakery.has_news = False

    late = order_of(bakery.noted())
    await lab.run(late)
    await lab.keep("came-late", late)

    thanked = {"action": "wait_for", "expect": [{"text_contains": "Thank you"}]}
    rebuilt = order_of(bakery.ordered("Bea", thanked))
    await lab.frozen_at(lab.stage.worker, "start", 3, rebuilt)
    session = await lab.session()
    assert session.chromium is not None
    for process in (session.keeper, session.chromium):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    await lab.replace_worker()
    await lab.follow(rebuilt)
    await lab.keep("rebuilt-from-a-checkpoint", rebuilt)

    patient = order_of(bakery.ordered("Cleo", pressed("Print"), on_failure="ask"))
    with runs_with(hibernate_after_s=1.0):
        await lab.run(patient)
    await until("the browser is given back", lambda: lab.sessions() == [])
    await lab.answer(patient, sequence=3, verdict="done")
    await lab.keep("hibernated", patient)

    failed = order_of(bakery.ordered("Dora", pressed("Print")))
    await lab.run(failed)
    found = await planned(lab.place, Wish(failed.run_id, bakery.ordered("Dorothea")))
    await lab.run(found.order)
    await lab.answer(found.order, sequence=2, verdict="keep")
    await lab.keep("resumed-after-an-edit", found.order)


async def record_on(stage: Stage) -> None:
    """Learn, replay, heal, recover from a kill, and wait for a person."""
    async with stage:
        lab = Recorder(stage)
        keep = lab.keep
        learned = lab.order()
        await lab.run(learned)
        await keep("learned", learned)
        replayed = lab.order()
        await lab.run(replayed)
        await keep("replayed", replayed)
        for point, sequence, name in (("acted", 6, "recovered"), ("intended", 9, "waited-for-a-person")):
            order = lab.order()
            await lab.killed_at(point, sequence, order)
            if (await lab.follow(order)).status == "waiting":
                verdict = PersonVerdict(sequence=sequence, verdict="not_done", who="Ada", why="Sent is empty")
                await lab.handle(order).execute_update("resolve_step", verdict)
                await lab.follow(order)
            await keep(name, order)
        await stage.redesign("modern-icon")
        healed = lab.order()
        await lab.run(healed)
        await keep("healed-with-fallback", healed)


if __name__ == "__main__":
    asyncio.run(record())

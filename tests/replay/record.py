"""Record the histories that `test_histories.py` replays: `make record-histories`, on purpose only.

A recorded history is a promise: runs that are under way when a worker is deployed must go on. So files are added for
new behaviour; an old one is only replaced when the runs that recorded it can no longer exist.
"""

import asyncio
import base64
import json
import os
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

from demo.stage import Stage
from replaywright.domain.runs import PersonVerdict
from replaywright.settings import load_settings
from tests.e2e.lab import FREEZE, Lab

FOLDER = Path(__file__).parent / "histories"


def without_places(history: WorkflowHistory, places: dict[str, str]) -> str:
    """The history as JSON, with what belongs to the recording machine replaced, also inside payloads."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: payload(inner) if key == "data" else cleaned(inner) for key, inner in value.items()}
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

    return json.dumps(cleaned(json.loads(history.to_json())), indent=1, ensure_ascii=False) + "\n"


async def record() -> None:
    """Learn, replay, heal, recover from a kill, and wait for a person; one file each."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FREEZE] = str(Path(folder) / "freeze")
        await record_on(Stage(load_settings(), tell=lambda text: print(text, file=sys.stderr)))


async def record_on(stage: Stage) -> None:
    """The same on this stage."""
    async with stage:
        lab = Lab(stage)

        async def keep(name: str, order: Any) -> None:
            history = await lab.handle(order).fetch_history()
            places = {str(stage.home): "/var/lib/replaywright", socket.gethostname(): "host"}
            text = without_places(history, places)
            (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")
            print(f"{name}: {len(history.events)} events, {len(text)} bytes", file=sys.stderr)

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

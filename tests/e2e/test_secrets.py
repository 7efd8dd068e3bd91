"""The password of the demo's account is typed into a page, and is nowhere else."""

import base64
import json
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from cache.connection import open_redis
from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.starting import start
from replaywright.stack.keyring import artifact_keys_of
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow


def encodings(value: str) -> set[bytes]:
    plain = {value, quote(value, safe=""), json.dumps(value)[1:-1]}
    return {text.encode() for text in plain} | {base64.b64encode(value.encode()).rstrip(b"=")[:-1]}


async def test_a_secret_is_in_no_history_store_trace_log_prompt_or_output(lab: Lab) -> None:
    order = lab.order()
    await start(lab.stage.place, order)
    ending = await lab.follow(order)
    assert ending.status == "done"

    places: dict[str, bytes] = {"output": ending.result.model_dump_json().encode()}
    async for run in lab.stage.place.client.list_workflows():
        history = await lab.stage.place.client.get_workflow_handle(run.id, run_id=run.run_id).fetch_history()
        places[f"history of {run.id}"] = b"".join(event.SerializeToString() for event in history.events)
    redis = open_redis(lab.stage.place.settings.redis_url or "")
    await redis.config_set("rdbcompression", "no")  # a dump must not hide what it holds
    async for key in redis.scan_iter():
        places[f"redis {key!r}"] = (await redis.dump(key)) or b""
    places["trace"] = json.dumps(await lab.trace(order)).encode()
    await redis.aclose()
    for path in Path(lab.stage.home).rglob("*"):
        if path.is_file() and "profile" not in path.parts:
            places[f"file {path.relative_to(lab.stage.home)}"] = path.read_bytes()

    settings = lab.stage.place.settings
    store = ArtifactStore(settings.artifacts, artifact_keys_of(settings))
    for path in Path(settings.artifacts).glob("??/??/*"):  # encrypted as files: what they hold counts
        places[f"artifact {path.name}"] = await store.get(path.name)

    found = [name for name, data in places.items() for form in encodings(lab.stage.password) if form in data]

    assert found == []
    assert any(name.startswith("history") for name in places)
    assert any("standin.jsonl" in name for name in places)
    assert any(name.startswith("artifact ") for name in places)
    assert any("worker" in name and name.endswith(".log") for name in places)


def test_a_secret_is_not_on_the_command_line_of_any_process(lab: Lab) -> None:
    commands = subprocess.run(["ps", "-eo", "args"], capture_output=True, check=True).stdout

    assert lab.stage.password.encode() not in commands

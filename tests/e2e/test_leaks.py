"""Every secret of real runs is searched for in everything that they wrote: history, Redis, files, output, prompts."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from cache.connection import open_redis
from demo.stage import PASSWORD_SECRET, Stage
from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.goal import task_or_goal
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import parse_task
from replaywright.settings import load_settings
from replaywright.stack.keyring import artifact_keys_of
from tests.e2e import echo_site
from tests.e2e.echo_site import EchoSite
from tests.e2e.lab import Lab
from tests.leaks import Leak, Place, artifacts, files, histories, keys, leaks

pytestmark = [pytest.mark.slow, pytest.mark.long]

FIRST = 'Zq7pw/Hörse+9&"x\\K4 end'
ROTATED = "Nw3-Rotated/Lämp=52%41<b>zoo"
STRAY = 'Qw8 /Fjörd+31&"y\\N6 stray'
"""Of no run, so that what is put into Redis for the search to find is no leak of the runs after it."""
PLANTED = "planted-Control-8181-value"
"""Of a parameter: it may be written anywhere, so that the search has something to find."""

STEPS: list[dict[str, Any]] = [
    {"action": "fill", "instruction": "the user", "target": {"label": "User"}, "value": "{{user}}"},
    {"action": "fill", "instruction": "the password field", "value": "{{secret:ECHOED}}"},
    {"action": "type", "instruction": "again", "target": {"label": "Again"}, "value": "{{secret:ECHOED}}"},
    {"action": "click", "instruction": "sign in", "target": {"role": "button", "name": "Sign in"},
     "effect": "idempotent", "expect": [{"url_contains": "/home"}]},
    {"action": "click", "instruction": "the Ask me button", "effect": "idempotent", "dialog": ["accept", "accept"],
     "dialog_text": "{{secret:ECHOED}}", "expect": [{"text_contains": "Asked"}]},
    {"action": "extract", "fields": {
        "said": {"find": {"css": "#said"}}, "spread": {"find": {"css": "#spread"}},
        "items": {"find": {"css": "#items li"}, "take": "texts"}, "kept": {"find": {"css": "#kept"}, "take": "value"},
    }},
    {"action": "click", "instruction": "the download", "target": {"css": "#download"}, "effect": "idempotent",
     "expect": [{"downloaded": "password*"}]},
    {"action": "fill", "instruction": "the note", "target": {"label": "Kept"}, "value": "{{note}}"},
]  # fmt: skip
BREAKS: list[dict[str, Any]] = [
    {"action": "click", "target": {"css": "#broken"}, "instruction": "the link", "effect": "idempotent",
     "expect": [{"text_contains": "Thank you"}], "timeout_ms": 12000},
]  # fmt: skip


def task_of(site: EchoSite, *, breaks: bool) -> dict[str, Any]:
    return {
        "task": "echo",
        "url": f"{site.url}/login",
        "parameters": {"user": {"type": "text"}, "note": {"type": "text"}},
        "secrets": ["ECHOED"],
        "steps": [*STEPS, *(BREAKS if breaks else ())],
        "verify": [{"url_contains": "/home"}],
    }


@dataclass
class Scene:
    """The stage, the site that echoes, and what was printed so far."""

    stage: Stage
    site: EchoSite
    vault: Path
    lab: Lab = field(init=False)
    printed: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lab = Lab(self.stage)

    @property
    def secrets(self) -> dict[str, str]:
        return {"FIRST": FIRST, "ROTATED": ROTATED, "PASSWORD": self.stage.password}

    async def run(self, *, breaks: bool = False, mode: Mode = Mode.AUTO) -> tuple[Order, Ending]:
        task = parse_task(task_of(self.site, breaks=breaks), "the test")
        values = {"user": "ada", "note": PLANTED}
        order = Order(task, values, new_run_id(task, values), mode=mode)
        ending = await self.lab.run(order)
        self.printed.append(Place(f"result of {order.run_id}", ending.result.model_dump_json().encode()))
        return order, ending

    async def cli(self, *arguments: str) -> "subprocess.CompletedProcess[bytes]":
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "replaywright", *arguments],
            env=os.environ | self.stage.stack.environment() | {"COLUMNS": "300"},
            capture_output=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        name = " ".join(arguments)
        self.printed += [Place(f"stdout of {name}", done.stdout), Place(f"stderr of {name}", done.stderr)]
        return done

    async def places(self) -> list[Place]:
        written = [place async for place in histories(self.stage.place.client)]
        written += [place async for place in keys(self.stage.place.settings.redis_url or "")]
        settings = self.stage.place.settings
        written += [place async for place in artifacts(ArtifactStore(settings.artifacts, artifact_keys_of(settings)))]
        return [*written, *files(self.stage.home, without=("profile", "webmail")), *self.printed]

    async def found(self, **more: str) -> list[Leak]:
        """What is found of the secrets, and of `more`."""
        return leaks(await self.places(), {**self.secrets, **more})


@pytest.fixture(scope="module")
def site() -> Iterator[EchoSite]:
    with echo_site.served() as site:
        yield site


@pytest.fixture(scope="module")
async def scene(site: EchoSite, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    vault = tmp_path_factory.mktemp("vault") / "value"
    vault.write_text(FIRST)
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv("REPLAYWRIGHT_SECRET_ECHOED_COMMAND", f"cat {vault}")
        async with Stage(load_settings(), tell=lambda _text: None, plans=True, persistent=True) as stage:
            stage.bind("ECHOED", site.url)
            yield Scene(stage, site, vault)


async def test_no_secret_is_in_anything_that_runs_wrote_and_what_is_no_secret_is_found_there(scene: Scene) -> None:
    _, learned = await scene.run(mode=Mode.LEARN)
    scene.site.is_redesigned = True
    order, broken = await scene.run(breaks=True)
    commands = (
        ["show", order.run_id, "--step", "10", "--json"],
        ["admin", "artifacts", "list", order.run_id, "--save", str(scene.stage.home / "saved")],
        ["admin", "trace", "export", order.run_id, "--out", str(scene.stage.home / "trace.jsonl")],
        ["admin", "secrets", "check", "ECHOED"],
    )
    ended = await asyncio.gather(*(scene.cli(*command) for command in commands))

    found = await scene.found(CONTROL=PLANTED)
    controls = [leak for leak in found if leak.secret == "CONTROL"]

    assert [one.returncode for one in ended] == [0] * len(commands)
    assert learned.status == "done", learned
    assert broken.status == "failed", broken
    assert scene.site.passwords == [FIRST, FIRST]
    assert [leak for leak in found if leak not in controls] == []
    kinds = {" ".join(leak.place.split()[:2]).split("/")[0] for leak in controls}
    assert any(kind.startswith("history of") for kind in kinds), kinds
    assert any(kind.startswith("row of") for kind in kinds), kinds
    assert any(leak.place.startswith("artifact ") for leak in controls)
    saved = {path.name.rpartition("-")[2] for path in (scene.stage.home / "saved").iterdir()}
    assert {"screenshot.png", "dom.html", "console.txt", "network.txt"} & saved, saved
    prompts = [place for place in await scene.places() if "standin.jsonl" in place.name]
    assert any(b"<page>" in place.data for place in prompts)


@pytest.mark.parametrize("kind", ["string", "hash", "list", "set", "zset", "stream"])
async def test_a_secret_that_is_planted_in_redis_is_found(scene: Scene, kind: str) -> None:
    redis = open_redis(scene.stage.place.settings.redis_url or "")
    key, value = f"planted:{kind}", json.dumps({"text": STRAY})
    write: dict[str, tuple[Any, ...]] = {
        "string": ("SET", key, value), "hash": ("HSET", key, "field", value), "list": ("RPUSH", key, value),
        "set": ("SADD", key, value), "zset": ("ZADD", key, 1, value), "stream": ("XADD", key, "*", "field", value),
    }  # fmt: skip
    await redis.execute_command(*write[kind])

    found = {
        leak.place
        for leak in leaks([place async for place in keys(scene.stage.place.settings.redis_url or "")], {"STRAY": STRAY})
    }
    await redis.delete(key)
    await redis.aclose()

    assert found == {f"redis {kind} {key}", f"redis dump {key}"}


async def test_a_rotated_secret_is_taken_up_without_learning_anything_and_leaks_nowhere(scene: Scene) -> None:
    _, learned = await scene.run(mode=Mode.LEARN)
    assert learned.status == "done", learned.result.message
    calls = await scene.stage.stand_in_calls()
    scene.vault.write_text(ROTATED)
    await scene.lab.replace_worker()

    _, ending = await scene.run(mode=Mode.REPLAY)

    assert ending.status == "done", ending.result.message
    assert scene.site.passwords[-1] == ROTATED
    assert await scene.stage.stand_in_calls() == calls
    assert await scene.found() == []


async def test_a_sentence_its_skill_its_export_and_a_resumed_run_leak_nothing(scene: Scene) -> None:
    sentence = '给 leak@example.com 发送邮件，主题是"一封"，内容是"正文"'
    wanted = task_or_goal(sentence, url=scene.stage.webmail, secrets=[PASSWORD_SECRET])
    ending = await scene.lab.run(Order(wanted, {}, new_run_id(wanted, {})))
    order, _ = await scene.run(breaks=True)
    task = scene.stage.home / "echo.yaml"
    task.write_text(yaml.safe_dump(task_of(scene.site, breaks=False)))
    commands = (
        ["runs", "--json"],
        ["show", order.run_id],
        ["admin", "cache", "list", "--json"],
        ["admin", "secrets", "list"],
        ["skills", "list", "--json"],
        ["skills", "show", "send-mail", "--json"],
        ["skills", "export", "send-mail"],
        ["resume", order.run_id, "--dry-run", "--task", str(task)],
        ["resume", order.run_id, "--task", str(task)],
    )
    ended = [await scene.cli(*command) for command in commands]

    assert [one.returncode for one in ended] == [0] * len(commands), [one.stderr for one in ended]
    assert ending.status == "done", ending
    assert await scene.found() == []

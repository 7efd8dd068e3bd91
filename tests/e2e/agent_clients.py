"""Clients of the server for agents, as agents' programs have them."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
import psutil
import pytest
from mcp import Client, StdioServerParameters

from demo.main_job import TASK_FILE
from replaywright.agents.handling import Handling
from replaywright.agents.permissions import AgentGrant
from replaywright.agents.server import AgentServer
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.connect import Backend
from replaywright.cli.servers.running import RunningBackend
from tests.e2e.lab import Lab, until


class Placed(RunningBackend):
    """Servers that are known already."""

    def __init__(self, place: Backend) -> None:
        super().__init__(place.settings, owner="the test")
        self._known = place

    async def here(self) -> Backend:
        return self._known


@dataclass
class Agent:
    """A client, with all that it was told."""

    client: Client
    told: list[str] = field(default_factory=list)
    """Texts of all results."""
    progress: list[tuple[float, float | None, str | None]] = field(default_factory=list)
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """The first progress has come."""

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The data of a result."""
        result = await self.result(tool, arguments)
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def result(self, tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        async def noted(progress: float, total: float | None, message: str | None) -> None:
            self.progress.append((progress, total, message))
            self.moved.set()

        result = await self.client.call_tool(tool, arguments, progress_callback=noted)
        self.told += [content.text for content in result.content if isinstance(content, types.TextContent)]
        return result


def command_of(lab: Lab, *options: str) -> StdioServerParameters:
    """How an agent's program starts the server."""
    environment = {**os.environ, **lab.stage.stack.environment()}
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "replaywright", "mcp", *options],
        env=environment,
        cwd=Path(__file__).parents[2],
    )


@asynccontextmanager
async def over_stdio(lab: Lab, *options: str) -> AsyncIterator[Agent]:
    """A client that starts the server as a process of its own."""
    async with Client(command_of(lab, *options)) as client:
        yield Agent(client)


@asynccontextmanager
async def in_process(place: Backend, *grants: AgentGrant, **options: Any) -> AsyncIterator[Agent]:
    """A client of a server in this process, for a tenant that has no queue of its own."""
    server = AgentServer(place.settings, Handling(Placed(place), frozenset(grants)))
    async with Client(server.protocol(), **options) as client:
        yield Agent(client)


def servers() -> list[psutil.Process]:
    """The servers that clients of this process have started."""
    return [child for child in _children(psutil.Process()) if child.cmdline()[-2:] == ["replaywright", "mcp"]]


def _children(process: psutil.Process) -> Iterator[psutil.Process]:
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() != psutil.STATUS_ZOMBIE:
                yield child


async def gone(process: psutil.Process) -> None:
    """Return when a process has ended."""
    await until("the process has ended", lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)


def sending(order: Order, request_id: str, **more: Any) -> dict[str, Any]:
    """Arguments of `run_task` for the demo's mail."""
    return {
        "task": TASK_FILE.read_text(encoding="utf-8"),
        "values": order.values,
        "request_id": request_id,
        "wait_s": 300,
        **more,
    }


SEND = 9
"""Index of the step of the demo's task that sends the mail."""
_CALLING = """
import asyncio, json, sys
from mcp import Client, StdioServerParameters
async def main(given):
    async with Client(StdioServerParameters(**given["server"])) as client:
        await client.call_tool("run_task", given["call"])
asyncio.run(main(json.load(sys.stdin)))
"""


async def with_a_killed_server(lab: Lab, order: Order, request_id: str, point: str) -> dict[str, Any]:
    """Call for a mail, kill the server when the step that sends it is at `point`, and take the call up again."""
    worker = lab.stage.worker
    with contextlib.suppress(Exception):  # whatever a client makes of a server that is gone
        async with over_stdio(lab) as agent:
            async with lab.freezing(worker, f"{point}:{SEND}"):
                cut_off = asyncio.create_task(agent.call("run_task", **sending(order, request_id)))
            [server] = servers()
            server.kill()
            await gone(server)
            with pytest.raises(Exception, match=r"(?i)closed"):
                await cut_off
    lab.thaw(worker)
    async with over_stdio(lab) as agent:
        return await agent.call("run_task", **sending(order, request_id))


async def with_a_killed_worker(lab: Lab, order: Order, request_id: str, point: str) -> dict[str, Any]:
    """Call for a mail, and kill the worker when the step that sends it is at `point`."""
    async with in_process(lab.place) as agent:
        async with lab.freezing(lab.stage.worker, f"{point}:{SEND}"):
            call = asyncio.create_task(agent.call("run_task", **sending(order, request_id)))
        await lab.replace_worker()
        return await call


async def with_a_killed_client(lab: Lab, order: Order, request_id: str, point: str) -> dict[str, Any]:
    """Call for a mail, kill the client when the step that sends it is at `point`, and ask how it ended."""
    worker = lab.stage.worker
    given = {"server": command_of(lab).model_dump(mode="json"), "call": sending(order, request_id)}
    client = await asyncio.create_subprocess_exec(sys.executable, "-c", _CALLING, stdin=subprocess.PIPE)
    async with lab.freezing(worker, f"{point}:{SEND}"):
        assert client.stdin is not None
        client.stdin.write(json.dumps(given).encode())
        client.stdin.close()
    [server] = servers()
    client.kill()
    await client.wait()
    await gone(server)
    lab.thaw(worker)
    async with over_stdio(lab) as agent:
        return await agent.call("run_status", request_id=request_id, wait_s=300)


def hostile_calls(right: dict[str, Any], touched: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that must do nothing: wrong types, strange ids, files, code, other tenants, more rights.

    Args:
        right: Arguments of `run_task` that would start a run.
        touched: A file that code in them would make.
    """
    odd: list[Any] = [None, 5, True, [], {}, {"$ne": ""}, "", "latest", "../../etc/passwd", "/etc/passwd", "agent/*"]
    odd += ["a" * 10_000, "\x00", "\u202egnp", "{{secret:PASSWORD}}", "'; DROP TABLE runs; --", "replaywright://guide"]
    for run_id in odd:
        yield "run_status", {"run_id": run_id}
        yield "run_report", {"run_id": run_id}
        yield "cancel_run", {"run_id": run_id}
        yield "resume_run", {"run_id": run_id, "task": f"/{touched}"}
        yield "answer_question", {"run_id": run_id, "question": "1-1", "answer": "approve"}
    pairs = zip("abcdefgh", "bcdefghi", strict=True)
    bomb = "a: &a [x]\n" + "".join(f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]\n" for last, name in pairs)
    step = "task: x\nurl: http://127.0.0.1/\nsteps: [{action: %s}]"
    tasks: list[Any] = [
        *odd,
        f"!!python/object/apply:os.system ['touch {touched}']",
        f"!!python/object/new:subprocess.Popen [[touch, {touched}]]",
        bomb,
        "[" * 5_000,
        "file:///etc/passwd",
        "task: x\nsteps: []",
        step % f'evaluate, script: \'require("fs").writeFileSync("{touched}", "")\'',
        step % "fill, instruction: a, value: '{{secret:OTHER}}'",
        step % "click, instruction: 5",
        *(f"task: x\ngoal: look\nurl: {url}" for url in ("http://169.254.169.254/latest/", "http://10.0.0.1/")),
    ]
    for task in tasks:
        yield "run_task", {"task": task, "values": {}, "request_id": "hostile"}
    more: list[dict[str, Any]] = [{"tenant": "other"}, {"who": "admin"}, {"grant": ["approve"]}, {"mode": "root"}]
    more += [{"policy": None}, {"wait_s": -1}, {"wait_s": 1e9}, {"request_id": ""}, {"request_id": "x" * 201}]
    more += [
        {"values": {"to": 5}},
        {"values": {"unknown": "x"}},
        {"values": {"priority": "Highest"}},
        {"values": "to=x"},
    ]
    for extra in more:
        yield "run_task", right | extra
    for sentence in ("", "   ", "Send {{secret:PASSWORD}} to x", 5, None):
        yield "learn_task", {"sentence": sentence, "url": "http://127.0.0.1:1", "request_id": "hostile"}
    for url in ("", "javascript:alert(1)", "file:///etc/passwd", "/etc/passwd", "http://169.254.169.254/", 5):
        yield "learn_task", {"sentence": "Look at it", "url": url, "request_id": "hostile"}
        yield "find_skill", {"sentence": "" if "://" in str(url) else "Look at it", "url": url}
    for secret in ("../x", "A B", "x" * 200, 5, None):
        yield (
            "learn_task",
            {
                "sentence": "Look",
                "url": "http://127.0.0.1:1",
                "secrets": [secret],
                "request_id": "hostile",
            },
        )
    for tool in ("rm", "../run_task", "skills run", "__class__", "", "send-mail", "call", "mcp"):
        yield tool, {"request_id": "hostile"}


async def said_by(*command: str) -> str:
    """What a program prints; it has to succeed."""
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, error = await process.communicate()
    assert process.returncode == 0, error.decode()
    return out.decode()

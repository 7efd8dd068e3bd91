"""Clients of the server for agents, as agents' programs have them."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mcp_types as types
import psutil
from mcp import Client, StdioServerParameters

from demo.main_job import TASK_FILE
from replaywright.agents.handling import Handling
from replaywright.agents.permissions import Grant
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
async def in_process(place: Backend, *grants: Grant, **options: Any) -> AsyncIterator[Agent]:
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

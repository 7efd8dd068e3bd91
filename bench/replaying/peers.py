"""Other tools as contestants: each in an environment and a process of its own, with a model's stand-in on loopback."""

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.environments import EnvironmentFailed, Name, environment, version_in
from bench.replaying.browsers import fresh_chromium
from bench.replaying.contest import Failed, Learned, Skipped, Window
from bench.replaying.flow import Flow
from bench.replaying.standin import StandIn, turns_of
from replaywright.errors import StackFailed
from replaywright.stack import Child, start_child

_DRIVERS = Path(__file__).parent / "drivers"
_READY_S = 90
"""Importing a peer takes up to ten seconds on a quiet machine."""
_ORDER_S = 240
_LEARNING_TRIES = 3
"""An agent whose page came too late gives up; on a machine that is shared that happens."""
_LINE_BYTES = 1 << 22


@dataclass(frozen=True)
class Spec:
    """What is known of a peer before it runs."""

    title: str
    package: str
    driver: str
    verifies: str
    keeps: str


PEERS: Mapping[Name, Spec] = {
    "stagehand": Spec(
        "Stagehand, cached act",
        "@browserbasehq/stagehand",
        "stagehand.mjs",
        verifies="that the cached XPath is attached; an action that raises no error counts as done",
        keeps="nothing of a replay",
    ),
    "browser-use": Spec(
        "browser-use, rerun of history",
        "browser-use",
        "browser_use_peer.py",
        verifies="that an element of the history is found again, the first that answers; no outcome",
        keeps="a result per step in memory (its pauses and its closing summary by a model are left out here)",
    ),
    "hyperagent": Spec(
        "HyperAgent, action cache",
        "@hyperbrowser/agent",
        "hyperagent.mjs",
        verifies="that the cached XPath resolves, and half a second without requests around each action; no outcome",
        keeps="a result per step in memory",
    ),
    "workflow-use": Spec(
        "workflow-use, workflow by hand",
        "workflow-use",
        "workflow_use_peer.py",
        verifies="that a field holds what was typed, and that what was clicked is still there; no outcome",
        keeps="a result per step in memory",
    ),
}


class Peer:
    """A contestant whose replay runs in a process of its own, kept over all rounds as a user's would be."""

    base = False
    most_rounds: int | None = None
    replays = True

    def __init__(self, name: Name, flow: Flow, stand_in: StandIn, line: "Line", home: Path) -> None:
        spec = PEERS[name]
        self.name, self.verifies, self.keeps = spec.title, spec.verifies, spec.keeps
        self.version = ""
        self.key = name
        self._spec = spec
        self._flow = flow
        self._stand_in = stand_in
        self._line = line
        self._home = home
        self._folder = Path()
        self._process: Child | None = None
        self.is_killed = False
        """Its process was killed in the middle of an order."""

    async def learn(self) -> Learned | None:
        """Make its environment if need be, start it, and let it do the task once with the stand-in."""
        try:
            folder = await asyncio.to_thread(environment, self.key)
        except EnvironmentFailed as error:
            raise Skipped(str(error)) from error
        self.version = version_in(folder, self._spec.package)
        self._folder = folder
        await self._start()
        for _ in range(_LEARNING_TRIES - 1):
            with contextlib.suppress(Failed):
                return await self._learned()
        try:
            return await self._learned()
        except Failed as error:
            raise Skipped(f"it did not learn the flow in {_LEARNING_TRIES} runs: {error}") from error

    async def _start(self) -> None:
        self._process = self._started(self._folder)
        try:
            await self._process.wait_until(self._line_is_open, _READY_S)
        except StackFailed as error:
            raise Skipped(f"it does not start: {error}") from error

    async def replace_process(self) -> None:
        """End its process with SIGKILL, and start another; what it has learned it has to have kept."""
        if self._process is not None:
            self.is_killed = True
            self._line.forget(self.key)
            self._process.kill()
            await self._process.ended_within(_READY_S)
        await self._start()

    async def _learned(self) -> Learned:
        before = self._stand_in.asked(self.key)
        await self._flow.clear()
        await self._ordered("learn")
        await self._flow.arrived()
        after = self._stand_in.asked(self.key)
        return Learned(after.calls - before.calls, after.prompt_tokens - before.prompt_tokens)

    def model_calls(self) -> int:
        """What the stand-in was asked."""
        return self._stand_in.asked(self.key).calls

    async def run(self) -> Window:
        """Let it replay once."""
        self.is_killed = False
        told = await self._ordered("replay")
        return Window(told["begun"], told["ended"])

    async def stop(self) -> None:
        """End its process."""
        if self._process is not None:
            await self._process.stop()

    async def _line_is_open(self) -> bool:
        return self._line.is_open(self.key)

    async def _ordered(self, order: str) -> dict[str, Any]:
        self._stand_in.begin(self.key)
        async with fresh_chromium(self._flow.stage.place.settings) as endpoint:
            told = await self._line.ask(self.key, {"order": order, "endpoint": endpoint})
        if "failed" in told:
            raise Failed(told["failed"])
        return told

    def _started(self, folder: Path) -> Child:
        is_node = self._spec.driver.endswith(".mjs")
        program = [shutil.which("node") or "node"] if is_node else [folder / "bin" / "python"]
        given = {
            "base_url": f"{self._stand_in.url}/{self.key}/v1",
            "goal": self._flow.task.goal,
            "site": self._flow.stage.webmail,
            "state": str(self._home),
            "steps": [asdict(turn) for turn in turns_of(self._flow)],
        }
        self._home.mkdir(exist_ok=True)
        return start_child(
            self.name,
            [*program, _DRIVERS / self._spec.driver],
            log=self._home / "driver.log",
            environment={
                "BENCH_PORT": str(self._line.port),
                "BENCH_NAME": self.key,
                "BENCH_GIVEN": json.dumps(given),
                "BENCH_ENVIRONMENT": str(folder),
                "HOME": str(self._home),
                "PYTHONPATH": "",
                "OPENAI_API_KEY": "stand-in",  # a real key is nothing that a stand-in should see
                "NO_PROXY": "127.0.0.1,localhost",
                **_NO_TELEMETRY,
            },
        )


_NO_TELEMETRY = {
    "ANONYMIZED_TELEMETRY": "false",
    "BROWSER_USE_CLOUD_SYNC": "false",
    "BROWSER_USE_VERSION_CHECK": "false",
    "BROWSER_USE_LOGGING_LEVEL": "warning",
    "SKIP_LLM_API_KEY_VERIFICATION": "true",
}


class Line:
    """Where the drivers of all peers call in: one order, one answer, a line of JSON each."""

    def __init__(self) -> None:
        self.port = 0
        self._ends: dict[str, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}

    def is_open(self, name: str) -> bool:
        """Whether its driver has called in."""
        return name in self._ends

    def forget(self, name: str) -> None:
        """Forget a driver that has to call in anew."""
        self._ends.pop(name, None)

    async def ask(self, name: str, order: Mapping[str, str]) -> dict[str, Any]:
        """Give an order and return what came of it.

        Raises:
            Failed: the driver went away, or did not answer in time.
        """
        reader, writer = self._ends[name]
        writer.write(json.dumps(order).encode() + b"\n")
        try:
            line = await asyncio.wait_for(reader.readline(), _ORDER_S)
        except TimeoutError as error:
            raise Failed(f"no answer within {_ORDER_S} s") from error
        if not line:
            raise Failed("its process ended")
        told: dict[str, Any] = json.loads(line)
        return told

    async def called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Remember who called."""
        hello = json.loads(await reader.readline())
        self._ends[hello["hello"]] = (reader, writer)


@contextlib.asynccontextmanager
async def meeting(flow: Flow, names: Sequence[Name]) -> AsyncIterator[list[Peer]]:
    """The peers of these names, with a stand-in and a line to each; all their processes end with it."""
    line = Line()
    with StandIn(flow) as stand_in, tempfile.TemporaryDirectory(prefix="replaywright-bench-peers-") as home:
        server = await asyncio.start_server(line.called, "127.0.0.1", 0, limit=_LINE_BYTES)
        line.port = server.sockets[0].getsockname()[1]
        peers = [Peer(name, flow, stand_in, line, Path(home) / name) for name in names]
        try:
            yield peers
        finally:
            for peer in peers:
                await peer.stop()
            server.close()

"""Who does the run under faults: each can be killed, and begun again as its user's scheduler would."""

import asyncio
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from playwright.async_api import Error as PlaywrightError

from bench.replaying.contest import Failed, Learned
from bench.replaying.flow import Flow
from bench.replaying.peers import Peer
from bench.replaying.script import Script
from demo.main_job import MAILS
from replaywright import __version__
from replaywright.cli.runs.follow import follow, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id

Word: TypeAlias = Literal["done", "failed", "asks", "killed"]


@dataclass(frozen=True)
class Said:
    """What an attempt says of itself."""

    word: Word
    text: str = ""


class Contender(Protocol):
    """One way of sending the mail, which may be killed."""

    name: str
    version: str
    goes_on_by_itself: bool
    """A run whose process was killed is not begun again: it goes on."""

    async def learn(self) -> Learned | None:
        """Do what must be done once. Raises `Skipped`."""

    async def attempt(self, number: int) -> Said:
        """Do the run, or do it again; the first attempt has number 0."""

    async def kill(self) -> None:
        """Kill the process that does the run, and start another in its place."""


class Ours:
    """Replaywright: its worker is killed, and its supervisor starts another."""

    name = "Replaywright"
    version = __version__
    goes_on_by_itself = True

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._order: Order | None = None

    async def learn(self) -> Learned | None:
        """Do the flow once, with the stand-in for every element."""
        said = await self.attempt(0)
        if said.word != "done":
            raise Failed(f"the learning run ended {said.word}: {said.text}")
        return None

    async def attempt(self, number: int) -> Said:
        """Start a run, or follow the one that goes on."""
        place, flow = self._flow.stage.place, self._flow
        if number == 0 or self._order is None:
            self._order = Order(flow.task, dict(flow.values), new_run_id(flow.task, dict(flow.values)))
            await start(place, self._order)
        handle = handle_of(place.client, self._order.run_id)
        ending = await follow(handle, show=lambda _progress, _note: None, until_waiting=True)
        if ending.status == "done":
            return Said("done")
        question = None if ending.progress is None else ending.progress.question
        if ending.status == "waiting" and question is not None:
            return Said("asks", question.text)
        return Said("failed", f"{ending.status}: {ending.result.reason}: {ending.result.message}")

    async def kill(self) -> None:
        """End the worker with SIGKILL, and start one."""
        stage = self._flow.stage
        stage.kill_worker()
        await stage.worker_ended()
        await stage.start_worker()


class OursByRequests(Ours):
    """Replaywright without a page: what it sends was learned of runs with other values."""

    name = "Replaywright, tier: requests"

    def __init__(self, flow: Flow) -> None:
        super().__init__(replace(flow, task=flow.task.model_copy(update={"tier": "requests"})))

    async def learn(self) -> Learned | None:
        """Do the flow through the page with the values of each of the demo's mails."""
        flow = self._flow
        for mail in MAILS.values():
            self._flow = replace(flow, values={**flow.values, **mail})
            await super().learn()
        self._flow = flow
        return None


class Scripted:
    """The script; it runs in this process: when it is killed, it is broken off and its browser is killed."""

    goes_on_by_itself = False

    def __init__(self, script: Script) -> None:
        self.name, self.version = script.name, script.version
        self._script = script
        self._running: asyncio.Task[None] | None = None

    async def learn(self) -> Learned | None:
        """Nothing to learn: a person has."""
        return None

    async def attempt(self, _number: int) -> Said:
        """Do it from the start."""
        self._running = asyncio.create_task(self._through())
        await asyncio.wait({self._running})
        if self._running.cancelled():
            return Said("killed")
        error = self._running.exception()
        if error is None:
            return Said("done")
        if not isinstance(error, Failed | PlaywrightError):
            raise error
        return Said("failed", str(error).splitlines()[0])

    async def _through(self) -> None:
        async with self._script.fresh_page() as page:
            await self._script.through(page)

    async def kill(self) -> None:
        """Break it off."""
        assert self._running is not None
        self._running.cancel()
        await asyncio.wait({self._running})


class PeerUnderFaults:
    """Another tool: its process is killed, and a new one replays from the start."""

    goes_on_by_itself = False

    def __init__(self, peer: Peer) -> None:
        self.name, self.version = peer.name, ""
        self._peer = peer

    async def learn(self) -> Learned | None:
        """Let it do the flow once with the stand-in."""
        learned = await self._peer.learn()
        self.version = self._peer.version
        return learned

    async def attempt(self, _number: int) -> Said:
        """Let it replay."""
        try:
            await self._peer.run()
        except Failed as reason:
            return Said("killed" if self._peer.is_killed else "failed", str(reason))
        return Said("done")

    async def kill(self) -> None:
        """End its process with SIGKILL, and start another."""
        await self._peer.replace_process()

"""Everything that the demo runs on: stack, webmail, model, worker. Fresh every time, and gone afterwards."""

import asyncio
import contextlib
import json
import os
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx
from pydantic import TypeAdapter

from demo.webmail.store import SentMessage
from replaywright.cli.servers.connect import Backend, connect
from replaywright.domain.secrets.secret_sites import pattern_at
from replaywright.errors import StackFailed
from replaywright.grants import change_grants, read_grants
from replaywright.settings import Settings
from replaywright.stack import Child, Stack, start_child, start_worker
from replaywright.temporary import temporary_folder

PASSWORD_SECRET = "PASSWORD"  # noqa: S105  the name of the secret in the task file, not its value
_READY_TIMEOUT_S = 30
_DRAIN_S = 5
_STAND_IN = "openai:stand-in"


class Stage:
    """The demo's surroundings, as an asynchronous context manager.

    State lives in a temporary home and under a tenant and a task queue of its own, so that every demo begins with an
    empty cache, even on configured servers.
    """

    def __init__(
        self, settings: Settings, *, tell: Callable[[str], None], plans: bool = False, persistent: bool = False
    ) -> None:
        """With `plans` the stand-in, where one is used, is the planner too.

        With `persistent` Temporal and Redis write files below `home`, as those of `replaywright up` do.
        """
        self._given = settings
        self._persistent = persistent
        self._plans = plans
        self._tell = tell
        self._exits = contextlib.AsyncExitStack()
        self.password = secrets.token_urlsafe(12)
        """Of the webmail's account; the worker knows it as a secret."""
        self.worker_logs: list[Path] = []
        """One for each worker that was started."""
        self.workers: list[Child] = []
        """All that were started, the last one last; some may have ended."""

    async def __aenter__(self) -> Self:
        """Start all of it.

        Raises:
            StackFailed: a part did not come up; nothing is left behind.
        """
        try:
            await self._start()
        except BaseException:
            await self._exits.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all of it, the worker first."""
        await self._exits.aclose()

    async def _start(self) -> None:
        self.home = self._exits.enter_context(temporary_folder("replaywright-demo-"))
        name = f"demo-{secrets.token_hex(4)}"
        store = str(self.home / "webmail")
        webmail = self._serve("webmail", "demo.webmail", "--store", store, WEBMAIL_PASSWORD=self.password)
        model, self.webmail = await asyncio.gather(self._model(), webmail)
        self.bind(PASSWORD_SECRET, self.webmail)
        self.allow(self.webmail)
        present = read_grants(self._given.home).hosts
        change_grants(self.home, lambda grants: grants.allowed(present))
        settings = self._given.model_copy(
            update={
                "home": self.home,
                "artifacts_url": None,
                "tenant": name,
                "task_queue": name,
                "recall_languages": "en,de",
                **model,
            }
        )
        self.stack = await self._exits.enter_async_context(
            Stack(settings, persistent=self._persistent, tell=self._tell)
        )
        self.place = Backend(await connect(self.stack.settings), self.stack.settings, "started")
        self._exits.push_async_callback(self._end_workers)
        await self.start_worker()

    def bind(self, secret: str, url: str) -> None:
        """Let the site at `url` get the secret, as `replaywright admin secrets bind` does in this home."""
        change_grants(self.home, lambda grants: grants.bound(secret, (pattern_at(url),)))

    def allow(self, url: str) -> None:
        """Let pages at `url` be opened, as `replaywright admin hosts allow` does in this home."""
        change_grants(self.home, lambda grants: grants.allowed((urlsplit(url).netloc,)))

    async def _model(self) -> dict[str, str | None]:
        """Settings of the model: the configured one if it has a key, else the stand-in."""
        self.stand_in = ""
        """Address of the stand-in; empty when a real model is used."""
        configured = self._given.model
        provider = (configured or "").partition(":")[0].partition("-")[0]
        key = f"{provider.upper()}_API_KEY"
        if configured is not None and (os.environ.get(key) or self._given.model_base_url):
            self._tell(f"model: {configured}")
            return {}
        self.stand_in = await self._serve("model stand-in", "demo.standin", "--log", str(self.home / "standin.jsonl"))
        why = f"REPLAYWRIGHT_MODEL is set but {key} is not" if configured else "REPLAYWRIGHT_MODEL is not set"
        self._tell(f"model: a stand-in at {self.stand_in}, no language model ({why})")
        model: dict[str, str | None] = {"model": _STAND_IN, "model_base_url": f"{self.stand_in}/v1"}
        if self._plans:
            model |= {"planner_model": _STAND_IN, "planner_model_base_url": f"{self.stand_in}/v1"}
        return model

    async def _serve(self, name: str, module: str, *arguments: str, **variables: str) -> str:
        """Start one of the demo's servers on a free port, with these variables, and return its address."""
        log = self.home / "log" / f"{module}.log"
        child = start_child(
            name,
            [sys.executable, "-P", "-m", module, "--port", "0", *arguments],
            log=log,
            environment={**variables, "PYTHONUNBUFFERED": "1"},
        )
        self._exits.push_async_callback(child.stop)

        async def announced() -> bool:
            return address_in(log) != ""

        await child.wait_until(announced, _READY_TIMEOUT_S)
        return address_in(log)

    # --- worker ---------------------------------------------------------------------------------------------------

    async def start_worker(self, *, role: str = "all", **variables: str) -> Child:
        """Start a worker as a process of its own, with these variables too, and return when it polls."""
        log = self.home / "log" / f"worker-{len(self.worker_logs) + 1}.log"
        self.worker_logs.append(log)
        environment = self.stack.environment()
        environment[f"REPLAYWRIGHT_SECRET_{PASSWORD_SECRET}"] = self.password
        environment["NO_PROXY"] = ",".join(filter(None, (os.environ.get("NO_PROXY", ""), "127.0.0.1", "localhost")))
        if self.stand_in:
            # A real key is nothing that the stand-in should see.
            environment["OPENAI_API_KEY"] = "stand-in"
        environment |= variables
        worker = await start_worker(environment, log=log, role=role)
        self.workers.append(worker)
        return worker

    @property
    def worker(self) -> Child:
        """The one that was started last."""
        return self.workers[-1]

    def kill_worker(self) -> int:
        """End the worker that was started last with SIGKILL, and return its process id."""
        self.worker.kill()
        return self.worker.pid

    async def worker_ended(self, limit_s: float = 60) -> None:
        """Return when the worker has died, of whatever.

        Raises:
            StackFailed: it still runs after the limit.
        """
        if not await self.worker.ended_within(limit_s):
            raise StackFailed(f"the worker still runs after {limit_s:g} s\n{self.worker.log_tail()}")

    async def _end_workers(self) -> None:
        await asyncio.gather(*(worker.stop(_DRAIN_S) for worker in self.workers))

    # --- what the site and the model saw --------------------------------------------------------------------------

    def sent(self) -> list[SentMessage]:
        """Every message that the site accepted, from its own file."""
        lines = (self.home / "webmail" / "sent.jsonl").read_text(encoding="utf-8").splitlines()
        return [SentMessage.model_validate_json(line) for line in lines]

    async def state(self) -> dict[str, object]:
        """What the site says of itself: skin, latency, lag, and counts of sent, drafts and discarded."""
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{self.webmail}/__admin__/state")
        return TypeAdapter(dict[str, object]).validate_json(answer.content)

    async def redesign(self, skin: str) -> None:
        """Give the site another look."""
        await self._admin("skin", {"skin": skin})

    async def slow_down(self, milliseconds: int) -> None:
        """Let every page of the site take this much longer."""
        await self._admin("latency", {"ms": milliseconds})

    async def lag_behind(self, milliseconds: int) -> None:
        """Let the Sent folder show a message only when it is so old."""
        await self._admin("lag", {"ms": milliseconds})

    async def stand_in_calls(self) -> int | None:
        """How often the stand-in was asked, by its own count; None with a real model."""
        if not self.stand_in:
            return None
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{self.stand_in}/__admin__/calls")
        return TypeAdapter(dict[str, int]).validate_json(answer.content)["calls"]

    async def _admin(self, what: str, body: dict[str, str] | dict[str, int]) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{self.webmail}/__admin__/{what}", json=body)
        if answer.status_code != httpx.codes.OK:
            raise StackFailed(f"the webmail refuses {what} {body}: {answer.text}")


def address_in(log: Path) -> str:
    """The address that a server of the demo printed."""
    for line in log.read_text(errors="replace").splitlines() if log.exists() else []:
        with contextlib.suppress(ValueError):
            said = json.loads(line)
            if isinstance(said, dict) and isinstance(url := said.get("url"), str):
                return url
    return ""

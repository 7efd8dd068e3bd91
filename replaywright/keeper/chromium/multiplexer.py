"""One DevTools connection shared by the clients of a browser, as if each had a connection of its own.

A client gets a session of its own with the browser, or with one page: its messages without a session are those of that
session, and it may address the sessions that were attached from there. Commands are numbered anew. An answer or event
is neither parsed nor written anew: Chromium puts the number first and the session last. Only the events that tell of
targets are read.
"""

import asyncio
import itertools
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.pipe import Sender
from replaywright.keeper.chromium.websocket import WebSocket

CALL_S = 10.0

_NUMBER = re.compile(rb'\{"id":(\d+),')
_SESSION = re.compile(rb',"sessionId":"([0-9A-F]{32})"\}$')
_SESSION_BYTES = 64
_NO_SESSION = -32001
_REFUSED = -32000
_ENTERING = ("Input.", "DOM.setFileInputFiles")
"""Beginnings of commands that enter something."""
_TARGET_EVENT = b'{"method":"Target.'
_TARGETS = "Target.getTargets"
_log = logging.getLogger(__name__)


class Connection(Protocol):
    """The keeper's end of a connection with a browser; it gives what comes to `Multiplexer.receive`."""

    def send(self, message: bytes, sender: Sender | None = None) -> None:
        """Send a message; a connection that is closed swallows it."""

    async def drain(self) -> None:
        """Wait until the browser has taken all messages."""

    def close(self) -> None:
        """Close the connection."""


class CommandRefused(Exception):
    """A client's command does not reach the browser; the text is what the client is told."""


class ClientLimits(Protocol):
    """The part of a browser that its clients have: others use it, too."""

    def shows(self, info: Mapping[str, Any]) -> bool:
        """Return whether clients may know of this target."""

    def commands(
        self, method: str, params: Mapping[str, Any], *, is_of_browser: bool
    ) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
        """Yield what the browser is sent for a client's command; the last one is what it answers.

        Args:
            method: of the command.
            params: of the command.
            is_of_browser: the session is with the browser, not with a page.

        Raises:
            CommandRefused: nothing.
        """


@dataclass(eq=False)
class _Client:
    """One client and its sessions."""

    socket: WebSocket
    root: str
    of_browser: set[str] = field(default_factory=set)
    """Sessions with the browser itself."""
    sessions: set[str] = field(default_factory=set)

    def send(self, *parts: bytes | memoryview) -> None:
        self.socket.write(*parts)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A command that waits for its answer: of a client, with the client's number, or of the keeper."""

    client: _Client | None = None
    number: object = None
    answer: "asyncio.Future[dict[str, Any]] | None" = None
    lists_targets: bool = False


class Multiplexer:
    """The only one who speaks to Chromium."""

    def __init__(self, limits: ClientLimits | None = None) -> None:
        """`limits` are for clients of a browser that others use, too."""
        self._limits = limits
        self._browser: Connection | None = None
        self._numbers = itertools.count(1)
        self._asked: dict[int, _Asked] = {}
        self._owners: dict[str, _Client] = {}
        self._own: dict[str, Callable[[str, dict[str, Any]], None]] = {}
        self._hidden_contexts: set[str] = set()
        self._hidden_sessions: set[str] = set()
        self._fixed: dict[str, Mapping[str, Any]] = {}
        self.on_input: Callable[[], None] | None = None
        """Called when a client enters something."""
        self.is_lost = False
        """Chromium has closed the connection."""

    def speak_over(self, browser: Connection) -> None:
        """Speak over this connection from now on."""
        self._browser = browser

    def close(self) -> None:
        """Close the connection, and with it every client's."""
        if self._browser is not None:
            self._browser.close()

    def hide(self, context: str) -> None:
        """Show clients nothing of a browser context of the keeper's own."""
        self._hidden_contexts.add(context)

    def fix(self, method: str, params: Mapping[str, Any]) -> None:
        """Have every client's command of this kind carry these parameters, whatever it asks for."""
        self._fixed[method] = params

    async def call(
        self, method: str, params: Mapping[str, Any] | None = None, session: str = "", *, limit_s: float = CALL_S
    ) -> dict[str, Any]:
        """Send a command of the keeper's own and return its result.

        Raises:
            StackFailed: Chromium refuses, is gone, or does not answer in time.
        """
        if self.is_lost:
            raise StackFailed(f"Chromium is gone: {method} has no answer")
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        number = self._send(method, params or {}, session, _Asked(answer=answer))
        try:
            async with asyncio.timeout(limit_s):
                reply = await answer
        except TimeoutError as error:
            raise StackFailed(f"Chromium has not answered {method} within {limit_s:g} s") from error
        finally:
            self._asked.pop(number, None)
        if "error" in reply:
            raise StackFailed(f"Chromium refuses {method}: {reply['error'].get('message')}")
        result: dict[str, Any] = reply["result"]
        return result

    def send(self, method: str, params: Mapping[str, Any], session: str = "") -> None:
        """Send a command of the keeper's own whose answer does not matter."""
        self._send(method, params, session, _Asked())

    def tell(self, event: Mapping[str, Any]) -> None:
        """Tell the clients of the browser of an event, as if the browser had sent it."""
        message = json.dumps(event).encode()
        for client in set(self._owners.values()):
            if client.root in client.of_browser:
                client.send(message)

    def subscribe(self, session: str, on_event: Callable[[str, dict[str, Any]], None]) -> None:
        """Have `on_event` called with every event of a session of the keeper's own; without a name, its first one."""
        self._own[session] = on_event

    def unsubscribe(self, session: str) -> None:
        """Forget a session of the keeper's own."""
        self._own.pop(session, None)

    async def pages(self) -> list[dict[str, Any]]:
        """Return the targets that are pages of the run.

        Raises:
            StackFailed: Chromium does not answer.
        """
        targets = (await self.call(_TARGETS))["targetInfos"]
        return [info for info in targets if info["type"] == "page" and not self._is_hidden(info)]

    async def serve(self, client: WebSocket, target: str = "") -> None:
        """Pass on what a client sends until it leaves, is cut or Chromium is gone.

        Args:
            client: its connection.
            target: the page that it may speak to; the whole browser without one.

        Raises:
            StackFailed: there is no such page, or Chromium does not answer.
        """
        attaching = asyncio.ensure_future(self._attach(target))
        try:
            root = await asyncio.shield(attaching)
        except asyncio.CancelledError:
            attaching.add_done_callback(self._abandon)
            raise
        one = _Client(client, root)
        self._admit(one, root, is_of_browser=not target)
        try:
            while (message := await client.receive()) is not None:
                await self._pass_on(one, message)
                await self._drain()
        finally:
            self._leave(one)

    # ---- clients ------------------------------------------------------------------------------------------------

    async def _attach(self, target: str) -> str:
        if target:
            reply = await self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        else:
            reply = await self.call("Target.attachToBrowserTarget")
        return str(reply["sessionId"])

    def _abandon(self, attaching: "asyncio.Future[str]") -> None:
        if not attaching.cancelled() and attaching.exception() is None:
            self.send("Target.detachFromTarget", {"sessionId": attaching.result()})

    def _admit(self, client: _Client, session: str, *, is_of_browser: bool) -> None:
        client.sessions.add(session)
        if is_of_browser:
            client.of_browser.add(session)
        self._owners[session] = client

    def _leave(self, client: _Client) -> None:
        client.socket.abort()
        for session in client.sessions:
            self._owners.pop(session, None)
        self._asked = {number: asked for number, asked in self._asked.items() if asked.client is not client}
        self.send("Target.detachFromTarget", {"sessionId": client.root})

    async def _pass_on(self, client: _Client, message: bytes) -> None:
        """Send a client's command to the session it is for, if that session is the client's."""
        number: object = None
        try:
            command = json.loads(message)
            number, method = command["id"], command["method"]
            session, params = command.get("sessionId", client.root), command.get("params", {})
        except (ValueError, TypeError, KeyError, AttributeError):
            client.send(_refusal(number, -32600, "a command is an object with id, method and params"))
            return
        if self._owners.get(session) is not client:
            client.send(_refusal(number, _NO_SESSION, "Session with given id not found."))
            return
        if self.on_input is not None and method.startswith(_ENTERING):
            self.on_input()
        if self._limits is not None:
            try:
                method, params = await self._within_limits(self._limits, client, session, method, params)
            except CommandRefused as refused:
                client.send(_refusal(number, _REFUSED, str(refused), command.get("sessionId", "")))
                return
        lists = method == _TARGETS and (self._limits is not None or bool(self._hidden_contexts))
        if method in self._fixed:
            params = {**params, **self._fixed[method]}
        self._send(method, params, session, _Asked(client, number, lists_targets=lists))

    async def _within_limits(
        self, limits: ClientLimits, client: _Client, session: str, method: str, params: Mapping[str, Any]
    ) -> tuple[str, Mapping[str, Any]]:
        """Send what comes before a client's command; return what is sent for it.

        Raises:
            CommandRefused: the client's part of the browser has no such command.
        """
        last: tuple[str, Mapping[str, Any]] | None = None
        async for following in limits.commands(method, params, is_of_browser=session in client.of_browser):
            if last is not None:
                self.send(*last, session)
                await self._drain()
            last = following
        assert last is not None
        return last

    async def _drain(self) -> None:
        if self._browser is not None:
            await self._browser.drain()

    def _send(self, method: str, params: Mapping[str, Any], session: str, asked: _Asked) -> int:
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        self._asked[number] = asked
        sender = None if asked.client is None else asked.client.socket
        if self._browser is not None:
            self._browser.send(json.dumps(command, separators=(",", ":")).encode(), sender)
        return number

    # ---- Chromium -----------------------------------------------------------------------------------------------

    def receive(self, message: bytes) -> None:
        """Take what Chromium has sent."""
        found = _NUMBER.match(message)
        if found is not None:
            self._answered(int(found[1]), found.end(), message)
            return
        tail = _SESSION.search(message[-_SESSION_BYTES:])
        session = tail[1].decode() if tail is not None else ""
        if (on_event := self._own.get(session)) is not None:
            event = json.loads(message)
            if self._is_for_keeper(event, session):
                on_event(session, event)
            return
        owner = self._owners.get(session)
        if message.startswith(_TARGET_EVENT) and not self._is_for_client(json.loads(message), session, owner):
            return
        if owner is None:
            return
        if session == owner.root:
            assert tail is not None
            owner.send(memoryview(message)[: -len(tail[0])], b"}")
        else:
            owner.send(message)

    def _answered(self, number: int, start: int, message: bytes) -> None:
        asked = self._asked.pop(number, None)
        if asked is None:
            return
        if asked.client is None:
            if asked.answer is not None and not asked.answer.done():
                asked.answer.set_result(json.loads(message))
            return
        if asked.lists_targets:
            message = self._without_hidden(message)
            start = message.index(b",") + 1
        end = len(message)
        tail = _SESSION.search(message[-_SESSION_BYTES:])
        if tail is not None and tail[1].decode() == asked.client.root:
            end -= len(tail[0])
        closing = b"}" if end < len(message) else b""
        asked.client.send(b'{"id":%s,' % json.dumps(asked.number).encode(), memoryview(message)[start:end], closing)

    def _is_for_client(self, event: dict[str, Any], session: str, owner: _Client | None) -> bool:
        """Follow which sessions there are; return false for what no client may see."""
        params = event.get("params", {})
        match event["method"]:
            case "Target.attachedToTarget":
                child = params["sessionId"]
                if owner is not None and self._is_hidden(params["targetInfo"]):
                    self._let_go(child, session)
                    return False
                if owner is not None:
                    self._admit(owner, child, is_of_browser=params["targetInfo"]["type"] == "browser")
            case "Target.detachedFromTarget":
                child = params["sessionId"]
                if child in self._hidden_sessions:
                    self._hidden_sessions.discard(child)
                    return False
                gone = self._owners.pop(child, None)
                if gone is not None:
                    gone.sessions.discard(child)
                    gone.of_browser.discard(child)
                    if child == gone.root:
                        gone.socket.abort()
            case "Target.targetCreated" | "Target.targetInfoChanged":
                return not self._is_hidden(params["targetInfo"])
        return True

    def _is_for_keeper(self, event: Mapping[str, Any], session: str) -> bool:
        """Return whether an event of a session of the keeper's own tells of nothing that is another's."""
        params = event.get("params", {})
        if params.get("sessionId") in self._hidden_sessions:
            self._hidden_sessions.discard(params["sessionId"])
            return False
        if self._limits is None or "targetInfo" not in params or self._limits.shows(params["targetInfo"]):
            return True
        if event["method"] == "Target.attachedToTarget" and session:  # the first one attaches to nothing by itself
            self._let_go(params["sessionId"], session)
        return False

    def _let_go(self, child: str, session: str) -> None:
        """Have a target go on that was stopped for `session` and is not to be seen there, and leave it."""
        self._hidden_sessions.add(child)
        self.send("Runtime.runIfWaitingForDebugger", {}, child)
        self.send("Target.detachFromTarget", {"sessionId": child}, session)

    def _is_hidden(self, info: Mapping[str, Any]) -> bool:
        if info.get("browserContextId") in self._hidden_contexts:
            return True
        return self._limits is not None and not self._limits.shows(info)

    def _without_hidden(self, message: bytes) -> bytes:
        reply = json.loads(message)
        if "result" in reply:
            infos = reply["result"]["targetInfos"]
            reply["result"]["targetInfos"] = [info for info in infos if not self._is_hidden(info)]
        return json.dumps(reply, separators=(",", ":")).encode()

    def lose(self) -> None:
        """Take note that Chromium has closed the connection."""
        self.is_lost = True
        for client in set(self._owners.values()):
            client.socket.abort()
        for asked in self._asked.values():
            if asked.answer is not None and not asked.answer.done():
                asked.answer.set_result({"error": {"message": "it is gone"}})


def _refusal(number: object, code: int, why: str, session: str = "") -> bytes:
    of_session = {"sessionId": session} if session else {}
    return json.dumps({"id": number, "error": {"code": code, "message": why}, **of_session}).encode()

"""One browser context of a shared Chromium, shown to a DevTools client as if it were the whole browser.

A client of the browser itself may do what is listed here, and that in its context only; targets of other contexts do
not exist for it. What it says to a page goes through as it is, except for files: those that a page is given or gives
are the browser's host's, not the worker's. Nor may it speak of the browser there: Chromium lets a page's session find,
drive and close the pages of others, and end them all.
"""

import itertools
import json
import re
from collections.abc import Container
from typing import Any

OWN_NUMBERS = 1_900_000_000
"""Commands of the filter's own are numbered from here on; clients count from 1."""

_IN_CONTEXT = frozenset(
    {
        "Browser.cancelDownload",
        "Browser.grantPermissions",
        "Browser.resetPermissions",
        "Browser.setDownloadBehavior",
        "Browser.setPermission",
        "Storage.clearCookies",
        "Storage.getCookies",
        "Storage.setCookies",
        "Target.createTarget",
    }
)
"""Commands that are for one context, and get this one."""
_OF_TARGET = frozenset({"Target.activateTarget", "Target.attachToTarget", "Target.closeTarget"})
"""Commands on a page. Whatever names a page, these and others, has to name one of this context."""
_PLAIN = frozenset(
    {
        "Browser.getVersion",
        "Browser.getWindowForTarget",
        "Target.attachToBrowserTarget",
        "Target.detachFromTarget",
        "Target.getTargetInfo",
        "Target.getTargets",
        "Target.setAutoAttach",
        "Target.setDiscoverTargets",
    }
)
_OF_PAGE = frozenset(
    {
        "Browser.getVersion",
        "Browser.getWindowBounds",
        "Browser.getWindowForTarget",
        "Browser.setWindowBounds",
        "Target.detachFromTarget",
        "Target.getTargetInfo",
        "Target.setAutoAttach",
    }
)
"""Commands about the browser that a client may send in a session of a page."""
_OF_BROWSER = ("Browser.", "Target.")
_FILES = frozenset({"DOM.setFileInputFiles"})
_NO_FILES = "files cannot be given to a remote browser: they are not on its host"
_TAIL = re.compile(rb',"sessionId":"([0-9A-F]{32})"\}$')
"""End of Chromium's messages of a session: nothing else of a large message has to be read."""


class Refused(Exception):
    """A command does not reach the browser; `answer` is what its client is told."""

    def __init__(self, command: dict[str, Any], why: str) -> None:
        super().__init__(why)
        reply = {"id": command.get("id"), "error": {"code": -32000, "message": why}}
        if "sessionId" in command:
            reply["sessionId"] = command["sessionId"]
        self.answer = json.dumps(reply).encode()


class ContextFilter:
    """Looks at everything that passes between one client and the browser."""

    def __init__(self, context: str, *, tabs: Container[str]) -> None:
        """`tabs` are the pages of the context."""
        self._context = context
        self._tabs = tabs
        self._browsers: set[bytes] = set()
        """Sessions that are the browser's as well."""
        self._foreign: set[str] = set()
        """Sessions that others' targets were attached by."""
        self._asked: dict[int, str] = {}
        """Commands whose answers are looked at."""
        self._numbers = itertools.count(OWN_NUMBERS)

    # ---- from the client ----------------------------------------------------------------------------------------

    def filter_command(self, message: bytes) -> bytes:
        """Return the command that the browser gets for a client's message.

        Raises:
            Refused: nothing.
        """
        command = json.loads(message)
        method = command["method"]
        if method in _FILES:
            raise Refused(command, _NO_FILES)
        session = command.get("sessionId", "")
        if session and session.encode() not in self._browsers:
            if method.startswith(_OF_BROWSER) and (method not in _OF_PAGE or "targetId" in command.get("params", {})):
                raise Refused(command, f"{method} is not for a page of a shared browser")
            return message
        params = command.setdefault("params", {})
        if (method in _OF_TARGET or "targetId" in params) and params.get("targetId") not in self._tabs:
            raise Refused(command, "No target with given id found")
        if method in _IN_CONTEXT:
            if params.get("browserContextId", self._context) != self._context:
                raise Refused(command, "there is one context only")
            params["browserContextId"] = self._context
            if method == "Browser.setDownloadBehavior":  # they would be on another host's disk
                command["params"] = {"behavior": "deny", "browserContextId": self._context, "eventsEnabled": True}
        elif method not in _OF_TARGET and method not in _PLAIN:
            raise Refused(command, f"{method} is not for one session of a shared browser")
        if method in ("Target.getTargets", "Target.attachToBrowserTarget"):
            self._asked[command["id"]] = method
        return json.dumps(command).encode()

    # ---- from the browser ---------------------------------------------------------------------------------------

    def filter_message(self, message: bytes) -> tuple[bytes | None, tuple[bytes, ...]]:
        """Return the message that the client gets, if any, and the commands that the browser gets in reply."""
        tail = _TAIL.search(message[-64:])
        if tail is not None and tail[1] not in self._browsers:
            return (None if tail[1].decode() in self._foreign else message), ()
        payload = json.loads(message)
        if "id" in payload:
            return self._answered(payload, message), ()
        params = payload.get("params", {})
        match payload["method"]:
            case "Target.attachedToTarget" if not self._is_ours(params["targetInfo"]):
                return None, self._let_go(params["sessionId"])
            case "Target.targetCreated" | "Target.targetInfoChanged" if not self._is_ours(params["targetInfo"]):
                return None, ()
            case "Target.detachedFromTarget" if params["sessionId"] in self._foreign:
                self._foreign.discard(params["sessionId"])
                return None, ()
            case _:
                return message, ()

    def _answered(self, payload: dict[str, Any], message: bytes) -> bytes | None:
        if payload["id"] >= OWN_NUMBERS:
            return None
        result = payload.get("result", {})
        match self._asked.pop(payload["id"], ""):
            case "Target.attachToBrowserTarget" if "sessionId" in result:
                self._browsers.add(result["sessionId"].encode())
            case "Target.getTargets" if "targetInfos" in result:
                result["targetInfos"] = [info for info in result["targetInfos"] if self._is_ours(info)]
                return json.dumps(payload).encode()
        return message

    def _is_ours(self, info: dict[str, Any]) -> bool:
        return info["type"] == "browser" or info.get("browserContextId") == self._context

    def _let_go(self, session: str) -> tuple[bytes, ...]:
        """Let another's target go on that was stopped for this client, and leave it."""
        self._foreign.add(session)
        go_on = {"id": next(self._numbers), "method": "Runtime.runIfWaitingForDebugger", "sessionId": session}
        leave = {"id": next(self._numbers), "method": "Target.detachFromTarget", "params": {"sessionId": session}}
        return json.dumps(go_on).encode(), json.dumps(leave).encode()

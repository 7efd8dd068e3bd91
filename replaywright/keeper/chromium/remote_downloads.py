"""Downloads of a browser on another host: it writes them there, and the keeper brings them here.

A field for files of a page of the keeper's own is given the file, and a script in it reads the bytes. Only then is the
download complete for whoever is attached. The browser's host keeps its copy: DevTools has no command to delete one.
"""

import asyncio
import base64
import logging
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from replaywright.errors import StackFailed
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.chromium.own_page import OwnPage

BLOCK_BYTES: Final = 4 * 1024 * 1024
BLOCK_S: Final = 60.0
"""Limit for one block to come."""
_NUMBER: Final = re.compile(r"[0-9A-Za-z-]{1,64}")
"""Chromium's names of downloads: nothing else becomes part of a path."""
_FIELD: Final = "Object.assign(document.createElement('input'), {type: 'file'})"
_SIZE: Final = "function () { return this.files[0].size; }"
_READ: Final = """async function (from, to) {
  const reader = new FileReader();
  const read = new Promise((done, fail) => { reader.onload = done; reader.onerror = () => fail(reader.error); });
  reader.readAsDataURL(this.files[0].slice(from, to));
  await read;
  return reader.result.slice(reader.result.indexOf(",") + 1);
}"""

_log = logging.getLogger(__name__)


class RemoteDownloads:
    """The downloads of one browser context."""

    def __init__(self, devtools: Multiplexer, folder: Path) -> None:
        """Bring downloads to `folder`."""
        self._devtools = devtools
        self._folder = folder
        self._there = f"/tmp/replaywright-{secrets.token_hex(8)}"  # noqa: S108 - of the browser's host; Chromium makes it
        self._page = OwnPage(devtools)
        self._bringing: dict[str, asyncio.Task[None]] = {}
        self._given_up: set[str] = set()

    async def start(self, context: str) -> None:
        """Have the browser write the downloads of `context` on its host, and tell of them.

        Raises:
            StackFailed: it refuses.
        """
        self._folder.mkdir(mode=0o700, exist_ok=True)
        behaviour = {"behavior": "allowAndName", "downloadPath": self._there, "eventsEnabled": True}
        await self._devtools.call("Browser.setDownloadBehavior", {**behaviour, "browserContextId": context})

    def on_event(self, event: Mapping[str, Any]) -> None:
        """Tell the clients of a download: at once, and that it is complete when it is here."""
        params = event["params"]
        if event["method"] == "Browser.downloadProgress" and params["state"] == "completed":
            number = str(params["guid"])
            if number in self._given_up:
                return
            self._bringing[number] = task = asyncio.create_task(self._bring(number, params))
            task.add_done_callback(lambda _: self._bringing.pop(number, None))
        else:
            self._devtools.tell(event)

    def cancel(self, number: str) -> None:
        """Do not bring a download that its client has given up."""
        self._given_up.add(number)
        if number in self._bringing:
            self._bringing[number].cancel()

    def close(self) -> None:
        """Bring nothing more."""
        for task in self._bringing.values():
            task.cancel()

    async def _bring(self, number: str, params: Mapping[str, Any]) -> None:
        try:
            if _NUMBER.fullmatch(number) is None:
                raise StackFailed("the browser gave it no name of its own")
            await self._copy(number)
        except (StackFailed, OSError) as error:
            _log.error("the download %s stays on the browser's host: %s", number, error)
            params = {**params, "state": "canceled"}
        told = {name: value for name, value in params.items() if name != "filePath"}  # it is none of this host
        self._devtools.tell({"method": "Browser.downloadProgress", "params": told})

    async def _copy(self, number: str) -> None:
        field = (await self._page.call("Runtime.evaluate", {"expression": _FIELD}))["result"]["objectId"]
        await self._page.call("DOM.setFileInputFiles", {"files": [f"{self._there}/{number}"], "objectId": field})
        size = int(await self._read(field, _SIZE))
        draft = self._folder / f".{number}.part"
        try:
            with await asyncio.to_thread(draft.open, "wb") as content:
                for start in range(0, size, BLOCK_BYTES):
                    block = base64.b64decode(await self._read(field, _READ, start, start + BLOCK_BYTES))
                    await asyncio.to_thread(content.write, block)
            draft.replace(self._folder / number)
        finally:
            draft.unlink(missing_ok=True)
        await self._page.call("Runtime.releaseObject", {"objectId": field})

    async def _read(self, field: str, function: str, *arguments: int) -> Any:
        """Return what a function in the page reads of a field.

        Raises:
            StackFailed: the file is not there, or the browser does not answer.
        """
        call = {
            "objectId": field,
            "functionDeclaration": function,
            "arguments": [{"value": value} for value in arguments],
            "awaitPromise": True,
            "returnByValue": True,
        }
        reply = await self._page.call("Runtime.callFunctionOn", call, limit_s=BLOCK_S)
        if "exceptionDetails" in reply:
            raise StackFailed(f"it cannot be read: {reply['exceptionDetails']['exception'].get('description', '')}")
        return reply["result"]["value"]

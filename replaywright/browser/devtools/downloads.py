"""Downloaded files: their folder, their names and their state.

Chromium writes each under a number into the session's own folder, so that no suggested name can overwrite or escape
anything. A note beside each file holds its name and source, for a worker that adopts the session.
"""

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.evidence import LINE_LIMIT, Recorder, without_query
from replaywright.browser.tabs import Tabs
from replaywright.domain.common.files import safe_name
from replaywright.domain.common.text import shorten
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.step.outcomes import DownloadedFile
from replaywright.ports.browser import Download

_log = logging.getLogger("replaywright.downloads")

FOLDER = "downloads"
"""Folder in the session's directory."""
DOWNLOAD_LIMIT_BYTES = 1024 * 1024 * 1024
ANSWERS_KEPT = 50
RESTING_S = 2.0
"""A file of unknown length whose download was begun by a lost worker is complete when it has not grown for so long."""


@dataclass(eq=False)
class Transfer:
    """One download."""

    number: str
    name: str
    url: str
    path: Path
    frame_id: str = ""
    recorder: Recorder | None = None
    """Recorder of the step that began it; None when no step of this attachment did."""
    state: Literal["running", "saved", "failed", "too_large", "blocked"] = "running"
    rule: str = ""
    """Rule that blocked it."""
    mime: str = ""
    """Media type that the server sent; "" if unknown."""
    size: int = 0
    total: int = 0
    """Bytes to come; 0 when the server does not say."""
    adopted: bool = False
    """Begun under an earlier attachment: the browser tells nothing more about it."""


class DownloadTracker:
    """The downloads of one session."""

    def __init__(self, tabs: Tabs, directory: str, limit_bytes: int) -> None:
        self._tabs = tabs
        self._folder = Path(directory) / FOLDER if directory else None
        self._limit_bytes = limit_bytes
        self._transfers: dict[str, Transfer] = {}
        self._answers: dict[str, str] = {}
        """Media types of the latest documents, by URL."""

    async def open(self) -> None:
        """Have the browser write to the session's folder from now on, and find files that are there already.

        Raises:
            CdpFailed: the browser does not answer.
        """
        if self._folder is None:
            return
        await asyncio.to_thread(self._folder.mkdir, mode=0o700, parents=True, exist_ok=True)  # a disk may be busy
        behaviour = {"behavior": "allowAndName", "downloadPath": str(self._folder), "eventsEnabled": True}
        await self._tabs.cdp.send("Browser.setDownloadBehavior", behaviour)
        await asyncio.to_thread(self._find_left_over)

    # -------------------------------------------------------------------------------------------- events

    def on_event(self, _tab: Tab | None, method: str, params: Mapping[str, Any]) -> None:
        """Note downloads and media types: the response to a navigation may begin a file."""
        match method:
            case "Browser.downloadWillBegin":
                self._begins(params)
            case "Browser.downloadProgress" if params["guid"] in self._transfers:
                self._progresses(self._transfers[params["guid"]], params)
            case "Network.responseReceived" if params["type"] == "Document":
                response = params["response"]
                self._answers.pop(response["url"], None)
                self._answers[response["url"]] = response["mimeType"]
                if len(self._answers) > ANSWERS_KEPT:
                    del self._answers[next(iter(self._answers))]
            case _:
                pass

    def _mime_of(self, url: str) -> str:
        if url.startswith("data:"):
            return url[len("data:") : LINE_LIMIT].partition(",")[0]
        return self._answers.get(url, "")

    def _is_forbidden(self, transfer: Transfer) -> bool:
        """Return whether the policy forbids the file; cancel it then, and discard what has arrived."""
        if transfer.state not in ("running", "saved"):
            return transfer.state == "blocked"
        size = max(transfer.size, transfer.total)
        refusal = self._tabs.guard.refuses_file(transfer.name, transfer.mime, size)
        if refusal is None:
            return False
        if transfer.state == "running":
            self._tabs.cdp.notify("Browser.cancelDownload", {"guid": transfer.number})
        transfer.state, transfer.rule = "blocked", refusal.rule
        return True

    def _begins(self, params: Mapping[str, Any]) -> None:
        assert self._folder is not None
        number, name = params["guid"], safe_name(params["suggestedFilename"])
        url = shorten(without_query(params["url"]), LINE_LIMIT)
        transfer = Transfer(number, name, url, self._folder / number, params["frameId"])
        transfer.mime = self._mime_of(params["url"])
        recorder = self._tabs.recorder
        if recorder is not None and self._tabs.is_step_frame(transfer.frame_id):
            transfer.recorder = recorder
            recorder.download(number, name)
        self._transfers[number] = transfer
        self._note(transfer)
        self._is_forbidden(transfer)

    def _progresses(self, transfer: Transfer, params: Mapping[str, Any]) -> None:
        if transfer.state != "running":
            return
        total = int(params["totalBytes"])
        if total and not transfer.total:
            transfer.total = total
            self._note(transfer)
        transfer.size = int(params["receivedBytes"])
        if self._is_forbidden(transfer):
            return
        if max(transfer.size, transfer.total) > self._limit_bytes:
            transfer.state = "too_large"
            self._tabs.cdp.notify("Browser.cancelDownload", {"guid": transfer.number})
        elif params["state"] == "completed":
            transfer.state = "saved"
        elif params["state"] == "canceled":
            transfer.state = "failed"

    # ------------------------------------------------------------------------------- what outlives a worker

    def _note(self, transfer: Transfer) -> None:
        """Write name and source beside the file, for a worker that did not see it begin."""
        note = {"name": transfer.name, "url": transfer.url, "total": transfer.total, "mime": transfer.mime}
        try:
            _note_of(transfer.path).write_text(json.dumps(note), "utf-8")
        except OSError as exc:
            _log.warning("the download %r would lose its name with this worker: %s", transfer.name, exc)

    def _find_left_over(self) -> None:
        """Find files in the folder that this attachment does not know; partial ones have another suffix."""
        assert self._folder is not None
        for path in sorted(self._folder.iterdir()):
            if path.name in self._transfers or path.name.startswith(".") or path.suffix == ".crdownload":
                continue
            try:
                note = json.loads(_note_of(path).read_text("utf-8"))
                known = Transfer(path.name, str(note["name"]), str(note["url"]), path, total=int(note["total"]))
                known.mime = str(note.get("mime", ""))
            except (OSError, ValueError, KeyError, TypeError):  # nobody was attached when it began
                known = Transfer(path.name, safe_name(path.name), "", path)
            known.adopted = True
            self._transfers.setdefault(path.name, known)  # its event may arrive at this moment

    def _look_at_adopted(self) -> None:
        for transfer in self._transfers.values():
            if not (transfer.adopted and transfer.state == "running"):
                continue
            try:
                status = transfer.path.stat()
            except OSError:
                transfer.state = "failed"
                continue
            transfer.size = status.st_size
            rests = time.time() - status.st_mtime > RESTING_S
            if transfer.size == transfer.total if transfer.total else rests:
                transfer.state = "saved"

    # ------------------------------------------------------------------------------------------ reporting

    def running(self, recorder: Recorder) -> bool:
        """Return whether a download that the step began is still running."""
        return any(one.state == "running" for one in self._transfers.values() if one.recorder is recorder)

    def report(self, recorder: Recorder | None) -> tuple[Download, ...]:
        """Return all ended downloads that were not released, and the running ones of the step."""
        if self._folder is None:
            return ()
        self._find_left_over()
        self._look_at_adopted()
        for one in self._transfers.values():  # also downloads from before the present rules
            self._is_forbidden(one)
        return tuple(
            Download(_file_of(one, recorder), one.path, one.number)
            for one in self._transfers.values()
            if one.state != "running" or (recorder is not None and one.recorder is recorder)
        )

    def complete(self, recorder: Recorder) -> tuple[str, ...]:
        """Return the names of the step's complete downloads."""
        return tuple(one.name for one in self._transfers.values() if one.recorder is recorder and one.state == "saved")

    def verdicts(self, recorder: Recorder) -> tuple[PredicateResult, ...]:
        """Return a failed verdict for each incomplete download of the step."""
        return tuple(
            PredicateResult(
                passed=False,
                reason=f"download_{_file_of(one, recorder).state}",
                details={"name": one.name, "received": one.size, "total": one.total, "limit": self._limit_bytes},
            )
            for one in self._transfers.values()
            if one.recorder is recorder and one.state != "saved"
        )

    def release(self, downloads: Sequence[Download]) -> None:
        """Delete these files here and forget them."""
        for download in downloads:
            if self._transfers.pop(download.number, None) is not None:
                download.path.unlink(missing_ok=True)
                _note_of(download.path).unlink(missing_ok=True)


def _note_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.json")


def _file_of(transfer: Transfer, recorder: Recorder | None) -> DownloadedFile:
    return DownloadedFile(
        name=transfer.name,
        size=transfer.size,
        state="unfinished" if transfer.state == "running" else transfer.state,
        url=transfer.url,
        rule=transfer.rule,
        earlier=transfer.recorder is None or transfer.recorder is not recorder,
    )

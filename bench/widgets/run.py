"""Doing one interaction, and judging it by what the server received."""

import contextlib
import datetime as dt
import json
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from pydantic import TypeAdapter

from bench.miniwob import End
from bench.widgets.case import Case, Do, Entry, filled, names_parameter
from bench.widgets.served import App
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.task.steps import Step
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Report, Work
from replaywright.settings import load_settings
from replaywright.stack import free_port, start_child
from replaywright.stack.chromium import find_chromium

RECEIVED_S = 4.0
"""How long a value may take to the server after the action is done: some frameworks wait for a pause in typing."""
LOADED_S = 20.0
STEP_MS = 20_000
"""What a step may take: others may be at work on the machine."""
_BROWSER_S = 60
_STEP: TypeAdapter[Step] = TypeAdapter(Step)
_TODAY = "TODAY-"


@dataclass(frozen=True)
class Outcome:
    """One interaction, recorded or replayed."""

    framework: str
    case: Case
    run: str
    end: End
    why: str
    evaluations: int
    ms: float


class _Stopped(Exception):
    """An interaction was not done, and says why."""


class Runner:
    """Does the interactions with one application in one session."""

    def __init__(self, session: ChromiumSession, app: App, files: Path) -> None:
        self._session = session
        self._app = app
        self._files = files

    async def both(self, case: Case) -> tuple[Outcome, Outcome]:
        """Record it, and replay it by what was recorded."""
        targets: list[Target | None] = []
        recorded = await self._one(case, case.recorded, "recorded", targets, [None] * len(case.steps))
        if len(targets) < len(case.steps):
            unrecorded = Outcome(self._app.framework, case, "replayed", End.STOPPED, "it was not recorded", 0, 0.0)
            return recorded, unrecorded
        replayed = await self._one(case, case.replayed, "replayed", [], targets)
        return recorded, replayed

    async def _one(
        self, case: Case, entry: Entry, run: str, found: list[Target | None], known: list[Target | None]
    ) -> Outcome:
        before, mark = await self._opened(case)
        begun, evaluations, end, why = time.monotonic(), 0, End.DONE, ""
        try:
            for step, target in zip(case.steps, known, strict=True):
                report = await self._done(step, entry, target)
                found.append(report.target)
                evaluations += report.evaluations
        except (_Stopped, ActionFailed) as stopped:
            end, why = End.STOPPED, str(stopped)
        ms = (time.monotonic() - begun) * 1000
        if end is End.DONE:
            why = await self._fault(case, entry, before, mark)
            end = End.WRONG if why else End.DONE
        return Outcome(self._app.framework, case, run, end, why, evaluations, ms)

    async def _opened(self, case: Case) -> tuple[Mapping[str, Any], int]:
        """A fresh page: the values that its server begins with, and where those that come after begin."""
        app = self._app
        mark = app.mark()
        await self._session.perform(_work("goto", None, {"url": app.url + case.path}))
        deadline = time.monotonic() + LOADED_S
        while (before := app.values(mark)) is None or case.widget not in before:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{app.framework}{case.path} does not tell its values")
            await self._session.tabs.until(lambda: False, 0.05)
        return before, mark

    async def _done(self, step: Do, entry: Entry, target: Target | None) -> Report:
        arguments = filled(step.arguments, entry.given)
        if "files" in arguments:
            arguments["files"] = [str(self._files / name) for name in arguments["files"]]
        recorded = None if names_parameter(step.target) else target
        query = None if recorded or step.target is None else filled(step.target, entry.given)
        report = await self._session.perform(_work(step.action, recorded or query, arguments))
        if not report.lookup.hit:
            raise _Stopped(f"{step.action}: miss: {report.lookup.reason}")
        return report

    async def _fault(self, case: Case, entry: Entry, before: Mapping[str, Any], mark: int) -> str:
        """What the server received otherwise than meant; empty when all is right."""
        wanted = _dated(entry.received)
        right = await self._app.value_is(case.widget, wanted, mark, RECEIVED_S)
        now = self._app.values(mark) or before
        others = {
            name: now.get(name)
            for name, value in before.items()
            if name != case.widget and name not in case.also and now.get(name) != value
        }
        if not right:
            return f"{case.widget} is {json.dumps(now.get(case.widget))}, not {json.dumps(wanted)}"
        return f"changed as well: {json.dumps(others)}" if others else ""


def _dated(received: Any) -> Any:
    """`TODAY-07`: the seventh of the present month."""
    if isinstance(received, str) and received.startswith(_TODAY):
        return f"{dt.datetime.now(tz=dt.UTC):%Y-%m}-{received.removeprefix(_TODAY)}"
    return received


def _work(action: str, target: Mapping[str, str] | Target | None, arguments: Mapping[str, Any]) -> Work:
    given = dict(arguments)
    text = given.pop("text", None)
    fields = {"action": action, **given}
    if target is not None:
        fields["instruction"] = "the element"
    if text is not None:
        fields["value"] = "what is entered"
    return Work(
        step=_STEP.validate_python(fields),
        text=text or "",
        timeout_ms=STEP_MS,
        target=target if isinstance(target, Target) else None,
        query=None if target is None or isinstance(target, Target) else ElementQuery.model_validate(target),
    )


@contextlib.asynccontextmanager
async def browser(uploads: Path) -> AsyncIterator[ChromiumSession]:
    """A session on a Chromium of its own, which may upload the files of this folder.

    Raises:
        StackFailed: there is no Chromium, or it does not come up.
    """
    settings = load_settings()
    chromium = find_chromium(settings.chromium)
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="replaywright-widgets-", ignore_cleanup_errors=True) as folder:
        arguments = ["--headless=new", f"--remote-debugging-port={port}", f"--user-data-dir={folder}/profile"]
        arguments += [] if settings.chromium_sandbox else ["--no-sandbox"]
        arguments += ["--no-first-run", "--disable-gpu", "--window-size=1280,900", "about:blank"]
        child = start_child("Chromium", [chromium.path, *arguments], log=Path(folder) / "log")
        endpoint = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient() as http:

            async def answers() -> bool:
                with contextlib.suppress(httpx.HTTPError):
                    tabs = (await http.get(f"{endpoint}/json/list")).json()
                    return any(tab["type"] == "page" for tab in tabs)
                return False

            browsers = ChromiumBrowsers(upload_roots=lambda: (uploads,))
            try:
                await child.wait_until(answers, _BROWSER_S)
                session = await browsers.attach(endpoint)
                yield session
                await session.detach()
            finally:
                await browsers.close()
                await child.stop()

"""Runs that wait for a person, with what each asks, since when, why, and with a picture."""

import asyncio
import contextlib
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError
from temporalio.client import WorkflowExecution

from replaywright.cli import output
from replaywright.cli.options import Json
from replaywright.cli.people.asking_here import lines_of
from replaywright.cli.runs.follow import WORKFLOW, ServerGone, handle_of, progress_of
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.connect import Backend, open_existing_backend, temporal_errors
from replaywright.domain.task.questions import WAITS, Question, answer_command
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, InputInvalid
from replaywright.settings import DEFAULT_TENANT

_QUICK = timedelta(seconds=2)
_AT_ONCE = 20
"""Runs that are asked at the same time, where a run has to be asked."""
_EVERY_S = 2.0
"""Between two looks with `--watch`."""
_ACTIVE = f'WorkflowType = "{WORKFLOW}" AND ExecutionStatus = "Running"'


@dataclass(frozen=True)
class InboxItem:
    """A run that waits for a person."""

    run_id: str
    task: str
    question: Question
    picture: Path | None = None
    """File that its picture was written to."""
    picture_missing: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Identify the question."""
        return self.run_id, self.question.id

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON output."""
        question = self.question.model_dump(mode="json", by_alias=True, exclude={"key", "within_s", "remind_every_s"})
        shown = {"pictureFile": None if self.picture is None else str(self.picture)}
        return {"runId": self.run_id, "task": self.task, "question": question | shown}


@dataclass(frozen=True)
class ListOptions:
    """Options for the list of what waits."""

    pictures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Without RUN: write a screenshot of each page into this folder, as PNG."),
    ] = None
    opened: Annotated[bool, typer.Option("--open", help="Without RUN: open the pictures.")] = False
    watch: Annotated[bool, typer.Option("--watch", help="Without RUN: keep running, and print each new question.")] = (
        False
    )
    json: Json = False

    @property
    def is_wanted(self) -> bool:
        """Say whether any of them was given."""
        return self.pictures is not None or self.opened or self.watch or self.json


def list_waiting(options: ListOptions) -> None:
    """Print the runs that wait for a person; with `watch`, until Ctrl-C."""
    folder = options.pictures
    if options.opened and folder is None:
        folder = Path(tempfile.mkdtemp(prefix="replaywright-waiting-"))
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_list(folder, opened=options.opened, watch=options.watch, json=options.json))


async def _list(folder: Path | None, *, opened: bool, watch: bool, json: bool) -> None:
    known: set[tuple[str, str]] = set()
    async with open_existing_backend() as here:
        while True:
            now = await waiting_in(here)
            new = [one for one in now if one.key not in known]
            known = {one.key for one in now}
            shown = new if folder is None else [await _with_picture(here, one, folder) for one in new]
            _print(shown, watch=watch, json=json)
            if opened:
                for one in shown:
                    if one.picture is not None:
                        typer.launch(str(one.picture))
            if not watch:
                return
            await asyncio.sleep(_EVERY_S)


async def waiting_in(here: Backend) -> list[InboxItem]:
    """List the runs of the tenant that wait for a person, the longest waiting first.

    Each run says in its memo what it waits with, so that one listing is enough, with or without a worker; only one that
    was started by something else, or before that was so, is asked.

    Raises:
        StackFailed: Temporal cannot be reached.
    """
    parts: list[InboxItem] = []
    silent: list[tuple[WorkflowExecution, str]] = []
    with temporal_errors(here.settings):
        async for execution in here.client.list_workflows(_ACTIVE):
            memo = await execution.memo()
            if memo.get("tenant", DEFAULT_TENANT) != here.settings.tenant:
                continue
            task = str(memo.get("task") or execution.id.split("/")[0])
            if WAITS not in memo:
                silent.append((execution, task))
            elif (question := question_of(memo[WAITS])) is not None:
                parts.append(InboxItem(execution.id, task, question))
    limit = asyncio.Semaphore(_AT_ONCE)
    asked = await asyncio.gather(*(_asked(here, execution.id, task, limit) for execution, task in silent))
    return sorted((*parts, *filter(None, asked)), key=lambda one: one.question.since)


def question_of(told: Any) -> Question | None:
    """Parse the question in a run's memo; None if there is none."""
    try:
        return Question.model_validate(told) if told else None
    except ValidationError:  # of another version
        return None


async def _asked(here: Backend, run_id: str, task: str, limit: asyncio.Semaphore) -> InboxItem | None:
    async with limit:
        try:
            progress = await progress_of(handle_of(here.client, run_id), _QUICK)
        except (ServerGone, InputInvalid):
            return None
    if progress is None or progress.question is None:
        return None
    return InboxItem(run_id, task, progress.question)


async def _with_picture(here: Backend, one: InboxItem, folder: Path) -> InboxItem:
    """Write the picture into `folder`, and return the item with its path."""
    question = one.question
    if not question.picture:
        return InboxItem(one.run_id, one.task, question, picture_missing=question.picture_missing or "none was taken")
    try:
        data = await artifact_store_of(here.settings).get(question.picture)
    except (ArtifactMissing, ArtifactsUnavailable) as exc:
        return InboxItem(one.run_id, one.task, question, picture_missing=str(exc))
    path = folder / f"{re.sub(r'[^A-Za-z0-9_-]+', '_', one.run_id)}-{question.id}.png"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(data)
    except OSError as exc:
        raise InputInvalid(f"--pictures {str(folder)!r}: {path.name} cannot be written: {exc.strerror or exc}") from exc
    return InboxItem(one.run_id, one.task, question, picture=path)


def _print(shown: Sequence[InboxItem], *, watch: bool, json: bool) -> None:
    if json and watch:
        for one in shown:
            output.print_json(one.as_json())
    elif json:
        output.print_json({"waiting": [one.as_json() for one in shown]})
    elif not shown and not watch:
        output.print_line("nothing waits for a person")
    else:
        for one in shown:
            _print_one(one)


def _print_one(one: InboxItem) -> None:
    question = one.question
    kind = question.kind.value.replace("_", " ")
    since = output.duration(datetime.now(UTC) - question.since)
    until = "" if question.deadline is None else f", until {question.deadline.astimezone():%Y-%m-%d %H:%M}"
    then = "" if question.deadline is None else f", then {_after(question)}"
    output.print_line(f"{one.run_id}  {kind}", style="bold")
    output.print_line(f"  waits since {since}{until}{then}")
    for line in lines_of(question):
        output.print_line(f"  {line}")
    if one.picture is not None:
        output.print_line(f"  picture: {one.picture}")
    elif one.picture_missing:
        output.print_line(f"  no picture: {one.picture_missing}", style="dim")
    output.print_line(f"  answer: {answer_command(one.run_id, question.answers)}", style="dim")


def _after(question: Question) -> str:
    return "the step is left out" if question.on_timeout == "skip" else "the run fails"

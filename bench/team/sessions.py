"""Many runs that share a session which the site ends at any time: how often is it signed in, and what is lost."""

import argparse
import asyncio
import contextlib
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml

from bench.team.crm import SIGN_IN, Crm, crm_served
from bench.team.part import Figures, Tell, Wanted, count, share
from demo.stage import Stage
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import bind_parameters, parse_task
from replaywright.settings import load_settings
from tests.e2e.lab import Lab

SESSION = "crm-ada"
WANTED: Mapping[str, Wanted] = {
    "sign_ins": "expiries",
    **dict.fromkeys(("failed_runs", "notes_twice", "notes_missing", "cookies_found"), 0),
}


def written(folder: Path, crm: Crm, shared: int = 2) -> Path:
    """Write the file of sessions, and the task that signs in beside it; return the file."""
    (folder / "sign-in.yaml").write_text(yaml.safe_dump(SIGN_IN), encoding="utf-8")
    told = {"url": f"{crm.url}/account", "expect": [{"text_contains": "Signed in as ada"}]}
    each = {"sign_in": "sign-in.yaml", "values": {"site": crm.url, "user": "ada"}, "signed_in": told}
    sessions = {
        SESSION: {**each, "shared": shared},
        "crm-alone": each,
        "crm-kept": {**each, "keep_alive": "1s"},
        "crm-few": {**each, "tasks": ["other-*"]},
    }
    file = folder / "sessions.yaml"
    file.write_text(yaml.safe_dump({"sessions": sessions}), encoding="utf-8")
    return file


class Addressed(Protocol):
    """A site of the measurements."""

    url: str


def order(crm: Addressed, note: str, session: str = "crm-ada") -> Order:
    """A run that leaves a note."""
    data: dict[str, Any] = {
        "task": "leave-a-note",
        "session": session,
        "url": "{{site}}/account",
        "parameters": {"site": {}, "note": {}},
        "steps": [
            {"action": "click", "instruction": "the orders", "target": {"role": "link", "name": "Orders"}},
            {"action": "fill", "instruction": "the note", "target": {"label": "Note"}, "value": "{{note}}"},
            {
                "action": "click",
                "instruction": "save the note",
                "target": {"role": "button", "name": "Save note"},
                "effect": "commit",
                "expect": [{"text_contains": "{{note}}"}],
                "reconcile": {
                    "steps": [{"action": "goto", "url": "{{site}}/orders"}],
                    "expect": [{"text_contains": "{{note}}"}],
                },
            },
        ],
        "site_lag_ms": 0,
        "verify": [{"text_contains": "{{note}}"}],
    }
    task = parse_task(data, "the measurement")
    values = bind_parameters(task, {"site": crm.url, "note": note})
    return Order(task, values, new_run_id(task, values))


@dataclass(frozen=True)
class Load:
    """What is run."""

    runs: int
    at_once: int
    often: float
    """Share of the requests before which the site ends the session."""


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of this part."""
    group.add_argument("--runs", type=count, default=100, help="runs that use the session (default: %(default)s)")
    group.add_argument("--at-once", type=count, default=8, help="of them at the same time (default: %(default)s)")
    often = "share of the requests before which the site ends the session (default: %(default)s)"
    group.add_argument("--often", type=share, default=0.01, help=often)


async def measured_by(given: argparse.Namespace, tell: Tell) -> Figures:
    """Run the load that the options name, on a stage of its own; return the figures."""
    load = Load(given.runs, given.at_once, given.often)
    with tempfile.TemporaryDirectory(prefix="replaywright-team-") as folder, crm_served() as crm:
        settings = load_settings().model_copy(update={"sessions": written(Path(folder), crm, shared=load.at_once)})
        async with Stage(settings, tell=tell) as stage:
            return await measured(Lab(stage), crm, load, tell)


async def measured(lab: Lab, crm: Crm, load: Load, tell: Callable[[str], None]) -> dict[str, int]:
    """Run the load; return the figures."""
    lab.stage.allow(crm.url)
    first = await lab.run(order(crm, "the first"))
    if first.status != "done":
        raise RuntimeError(f"the first run: {first.result.message}")
    crm.expiries = crm.sign_ins = 0
    crm.expires_often = load.often
    places, begun = asyncio.Semaphore(load.at_once), time.monotonic()
    endings: dict[str, Ending] = {}

    async def one(number: int) -> None:
        note = f"note {number:03d}."
        async with places:
            endings[note] = ending = await lab.run(order(crm, note))
        if ending.status != "done":
            tell(f"{note} {ending.status}: {ending.result.message}")
        if len(endings) % 10 == 0:
            tell(f"{len(endings)} of {load.runs} runs, {crm.expiries} expiries, {time.monotonic() - begun:.0f} s")

    await asyncio.gather(*(one(number) for number in range(load.runs)))
    crm.expires_often = 0.0
    last = await lab.run(order(crm, "the last"))  # meets what the site has ended since
    left = Counter(note for note in crm.notes if note in endings)
    return {
        "runs": load.runs,
        "expiries": crm.expiries,
        "sign_ins": crm.sign_ins,
        "failed_runs": sum(ending.status != "done" for ending in (*endings.values(), last)),
        "notes_twice": sum(count > 1 for count in left.values()),
        "notes_missing": sum(ending.status == "done" and note not in left for note, ending in endings.items()),
        "cookies_found": len(kept_in_clear(lab.stage.home, crm.cookies)),
    }


def kept_in_clear(home: Path, secrets: Iterable[str]) -> list[str]:
    """Return the files, but for the profiles of live browsers, in which one of the secrets stands."""
    sought = [secret.encode() for secret in secrets]
    found = []
    for folder, folders, files in os.walk(home):
        if Path(folder) == home and "sessions" in folders:
            folders.remove("sessions")
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                data = (Path(folder) / file).read_bytes()
                found += [file for secret in sought if secret in data]
    return found

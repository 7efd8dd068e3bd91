"""All hostile pages on the real stack, with a model that obeys them: two runs a page, judged by what servers got."""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from demo.stage import PASSWORD_SECRET, Stage
from replaywright.cli.runs.follow import Ending, follow
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.goal import task_or_goal
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.tasks import Task, bind_parameters, parse_task
from replaywright.settings import Settings
from tests.e2e.lab import Lab
from tests.pages.hostile import LATER, PAGES, SECRET, UNTOLD, HostilePage, HostileSite, hostile_site
from tests.pages.obedient import Obedient, obedient

NOBODY = {"ask_within_s": 1.0}
"""Settings of a stage on which questions come to nobody."""
AT_ONCE = 3
"""Runs side by side. Browsers start one for each core at a time: more runs than that only wait for one."""
RUN_LIMIT_S = 300
KINDS = ("goal", "steps")
"""A run from a sentence: labeller, planner and executor. A run of a task's own steps: executor and revisions."""


def planned(pages: Sequence[HostilePage] = PAGES) -> list[tuple[HostilePage, str]]:
    """Each page with a technique of its own in both kinds; those of the tables in one kind each, in turn."""
    doors = [page for page in pages if page.family]
    own = [page for page in pages if not page.family]
    return [(page, KINDS[at % len(KINDS)]) for at, page in enumerate(doors)] + list(itertools.product(own, KINDS))


@dataclass
class Tried:
    """What became of one page in one kind of run."""

    page: HostilePage
    kind: str
    status: str = ""
    why: str = ""
    saved: int = 0
    """Notes that the site stored."""
    seen: bool = False
    """Whether the model found an order in what it was told of the page; of a door, whether it was chosen, too."""
    pressed: frozenset[str] = frozenset()
    """Names of controls that the model has chosen because the page said so."""
    forbidden: list[str] = field(default_factory=list)


@dataclass
class Attack:
    """The servers of one attack, and what became of each page."""

    site: HostileSite
    model: Obedient
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    tell: Callable[[Tried], None] = lambda _tried: None
    """Called after each run."""
    tried: list[Tried] = field(default_factory=list)

    def admit(self, stage: Stage) -> None:
        """Let the browser reach both servers, so that nothing but the rules for models stands before the attacker."""
        stage.bind(PASSWORD_SECRET, self.site.url)
        stage.allow(self.site.url)
        stage.allow(self.site.attacker)

    async def perform(self, lab: Lab, runs: Sequence[tuple[HostilePage, str]]) -> None:
        """Run each page in the kind that is said."""
        places = asyncio.Semaphore(AT_ONCE)

        async def one(page: HostilePage, kind: str) -> None:
            async with places:
                await self._tried(lab.apart(), page, kind)  # of one tenant's, only one at a time learns such a sentence

        async with asyncio.TaskGroup() as group:
            for page, kind in runs:
                group.create_task(one(page, kind))
        self._judge()

    async def _tried(self, lab: Lab, page: HostilePage, kind: str) -> None:
        run = f"r{next(self.numbers)}"
        value = f"note-{run}-of-{page.name}"
        task, values = _task(self.site.address(page, run), value, kind)
        order = Order(task, values, new_run_id(task, values), mode=Mode.LEARN)
        key = f"{page.name}/{run}"
        self._values[key] = value
        ending = await _ended(lab, order)
        result = ending.result
        told = Tried(page, kind, ending.status, f"{result.reason}: {result.message}"[:200])
        told.saved, told.pressed = len(self.site.notes.get(key, ())), frozenset(self.model.chosen.get(key, ()))
        told.seen = key in self.model.seen and bool(told.pressed or not page.controls)
        self.tried.append(told)
        self._of[key] = told
        self.tell(told)

    @property
    def forbidden(self) -> list[str]:
        """What servers got by now that nobody has asked for."""
        return self.site.forbidden(self._values)

    def _judge(self) -> None:
        """Say of each page what of the record is forbidden: what names no page is counted with the first."""
        for fault in self.forbidden:
            of = next((told for key, told in self._of.items() if key in fault or self._values[key] in fault), None)
            (of or self.tried[0]).forbidden.append(fault)

    def __post_init__(self) -> None:
        self._values: dict[str, str] = {}
        self._of: dict[str, Tried] = {}


async def _ended(lab: Lab, order: Order) -> Ending:
    """How a run ends to whose questions nobody answers; one that does not end is given up."""
    await start(lab.place, order)
    handle = lab.handle(order)
    try:
        async with asyncio.timeout(RUN_LIMIT_S):
            return await follow(handle, show=lambda _progress, _note: None, until_waiting=False)
    except TimeoutError:
        await handle.cancel()
        said = f"did not end within {RUN_LIMIT_S} s"
        return Ending("timed_out", RunResult(succeeded=False, reason="timed_out", message=said))


def unheard(tried: Sequence[Tried]) -> list[str]:
    """Runs that show nothing: the model was not told of the order, on a page that gives it at once."""
    told = {one.page.name for one in tried if one.seen}
    silent = [one for one in tried if not one.seen and one.page.name not in UNTOLD]
    later = {one.page.name for one in silent if one.page.name in LATER} - told
    return sorted({f"{one.page.name}, {one.kind}" for one in silent if one.page.name not in LATER} | later)


def _task(url: str, value: str, kind: str) -> tuple[Task, dict[str, str]]:
    if kind == "goal":
        return task_or_goal(f"Save the note '{value}'", url=url, secrets=[PASSWORD_SECRET]), {}
    data: dict[str, Any] = {
        "task": "save-note",
        "goal": "Save the note {{note}}",
        "url": url,
        "parameters": {"note": {}},
        "secrets": [PASSWORD_SECRET],
        "steps": [
            {"action": "fill", "instruction": "the Note field", "value": "{{note}}", "timeout_ms": 3000},
            {
                "action": "click",
                "instruction": "the Save note button",
                "timeout_ms": 5000,
                "expect": [{"url_contains": "/saved/", "within_ms": 1500}],
            },
        ],
        "verify": [{"text_contains": "Saved: {{note}}"}],
    }
    task = parse_task(data, "the attack")
    return task, bind_parameters(task, {"note": value})


@contextmanager
def attack() -> Iterator[Attack]:
    """The servers: the site, the attacker, the model."""
    with hostile_site() as site, obedient() as model:
        yield Attack(site, model)


def staged(settings: Settings, model: Obedient) -> Stage:
    """A stage whose every role is played by the model."""
    address = {"model_base_url": model.base_url, "planner_model_base_url": model.base_url}
    told = {"model": "openai:obedient", "planner_model": "openai:obedient", **address}
    stage = Stage(settings.model_copy(update={**told, **NOBODY}), tell=lambda _text: None)
    stage.password = SECRET
    return stage

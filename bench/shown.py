"""Tasks that a person has shown twice, replayed with values that were never shown.

    make bench-shown
    make bench-shown ARGS="--groups park"
    make bench-shown ARGS="--tasks click-button enter-date trac/add-milestone"

Each task is shown with two sets of values, by Playwright as the person at the browser that is recorded: tasks of
MiniWoB++, the demo's mail, and tasks of the park's real applications. The task that both demonstrations make is run
with values that were never shown, in the mode that never asks a model; the page's own reward, the mails that the
webmail received and the applications' own stores are the judges. Parameters are exact if their values are those that
differ between the two demonstrations, no more and no fewer.
"""

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from playwright.async_api import Error as PlaywrightError
from rich.console import Console
from rich.table import Table

from bench.demonstrating import Watched, watched
from bench.endings import ending_of
from bench.environments import EnvironmentFailed
from bench.hands import HANDS, Act
from bench.miniwob import RUN_LIMIT_S, Bench, bench, why_of
from bench.park.hands import FOLDER, PARK
from bench.park.job import Seen
from bench.park.runs import Lab, fault_of, lab
from bench.wob.pages import address
from bench.wob.spec import Values
from bench.wob.tasks import SPECS
from demo.stage import PASSWORD_SECRET
from replaywright.cli.record.browser import browsing
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.steps import ElementStep
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.errors import InputInvalid, StackFailed
from replaywright.recording.comparing import compared
from replaywright.settings import Settings

MAIL = "the demo's mail"
GROUPS: Mapping[str, Sequence[str]] = {"miniwob": tuple(HANDS), "mail": (MAIL,), "park": tuple(PARK)}
_NOT_SHOWN = (AssertionError, InputInvalid, PlaywrightError)
_START = "start_url"
_MAILS: Sequence[Values] = (
    {"to": "ada@example.com", "subject": "Minutes of Monday", "message": "Hello Ada"},
    {"to": "bob@example.com", "subject": "Lunch at noon", "message": "Come along"},
    {"to": "grace@example.com", "subject": "Of Tuesday", "message": "Hello Grace"},
)


@dataclass(frozen=True)
class Result:
    """What became of one task."""

    name: str
    is_recorded: bool = False
    is_replayed: bool = False
    is_exact: bool = False
    model_calls: int = 0
    why: str = ""
    steps: int = 0


async def shown_once(
    settings: Settings, url: str, acts: Sequence[Act], values: Values, secrets: Sequence[str] = ()
) -> Task:
    """Return the task of one demonstration.

    Raises:
        AssertionError: an act of the person was not recorded.
        InputInvalid: the acts make no task.
        PlaywrightError: the person does not find something.
    """
    async with (
        browsing(settings, url, headless=True) as (demonstration, endpoint),
        watched(demonstration, endpoint, url, secrets) as person,
    ):
        for number, act in enumerate(acts, start=1):
            await act(person.page, values)
            await person.did(number)
        return person.task().task


async def miniwob(lab: Bench, name: str) -> Result:
    """Show a task twice and replay it with a third seed."""
    (first, one), (second, other), (third, new) = await _different(lab, name)
    try:
        shown = [
            await shown_once(
                lab.stage.place.settings, address(lab.site, name, str(seed), f"{name}-{seed}"), HANDS[name], values
            )
            for seed, values in ((first, one), (second, other))
        ]
        task = compared(*shown).task.model_copy(update={"task": name})
    except _NOT_SHOWN as exc:
        return Result(name, why=str(exc))
    run = f"{name}-{third}-new"
    begun = {_START: f"{third}&run={run}"}
    differing = {key: value for key, value in one.items() if other[key] != value}
    exact, given = _given(task, differing, new, begun)
    calls, _, why = await _replayed(lab, task, given)
    reward = lab.pages.rewards.get(run)
    why = why or ("" if reward is not None and reward > 0 else f"reward {reward}")
    return _result(name, task, exact, calls, why)


def _result(name: str, task: Task, exact: bool, calls: int, why: str) -> Result:
    """Return the result of a replay. A task with a step that nothing tells counts as not recorded: a note says so."""
    for number, step in enumerate(task.steps, start=1):
        if isinstance(step, ElementStep) and step.target is None:
            return Result(name, model_calls=calls, why=f"step {number} has no target, as its note says: {why}")
    return Result(name, True, not why, exact, calls, why, len(task.steps))


async def _different(lab: Bench, name: str) -> list[tuple[int, Values]]:
    """Return three seeds; the second one has other values than the first one throughout.

    Raises:
        StackFailed: there are none.
    """
    seeds = await lab.seeds(SPECS[name], 12)
    first, *rest = seeds
    second = next((each for each in rest if all(each[1][key] != first[1][key] for key in first[1])), None)
    if second is None:
        raise StackFailed(f"{name}: no two seeds ask for other values throughout")
    return [first, second, next(each for each in rest if each is not second)]


def _given(task: Task, shown: Values, new: Values, begun: Values) -> tuple[bool, Values]:
    """Return whether the parameters are those of `shown`, and their values in `new`."""
    learned = {name: one.default or one.example for name, one in task.parameters.items() if name not in begun}
    left, given = dict(shown), dict(begun)
    for name, value in learned.items():
        key = next((key for key, known in left.items() if known == value), None)
        given[name] = new[key] if key is not None else value
        left.pop(key or "", None)
    return Counter(learned.values()) == Counter(shown.values()), given


async def _replayed(lab: Bench | Lab, task: Task, given: Values) -> tuple[int, RunResult | None, str]:
    """Run the task; return the model calls, the result, and why it is not done."""
    try:
        values = bind_parameters(task, given)
    except InputInvalid as exc:
        return 0, None, str(exc)
    before = lab.oracle.calls
    order = Order(task, values, new_run_id(task, values), mode=Mode.REPLAY)
    ending = await ending_of(order, lab.stage, RUN_LIMIT_S)
    calls = ending.result.totals.usage.calls + lab.oracle.calls - before
    return calls, ending.result, "" if ending.status == "done" else why_of(ending)


async def write_mail(person: Watched, password: str, mail: Values) -> None:
    """Send a mail at the demo's webmail, as a person does."""
    page = person.page
    await page.get_by_label("User name").fill("demo")
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Log in").click()
    await person.did(3)
    await page.get_by_role("link", name="Compose").click()
    await person.did(4)
    await page.get_by_label("To", exact=True).fill(mail["to"])
    await page.get_by_label("Subject").fill(mail["subject"])
    await page.get_by_label("Message").fill(mail["message"])
    await person.did(7)
    await page.get_by_role("button", name="Send").click()
    await person.did(8)


async def mail(lab: Bench) -> Result:
    """Show two mails and send a third one."""
    stage, url, shown = lab.stage, f"{lab.stage.webmail}/login", []
    for values in _MAILS[:2]:
        async with (
            browsing(stage.place.settings, url, headless=True) as (demonstration, endpoint),
            watched(demonstration, endpoint, url, [PASSWORD_SECRET]) as person,
        ):
            await write_mail(person, stage.password, values)
            shown.append(person.task().task)
    task = compared(*shown).task
    exact, given = _given(task, _MAILS[0], _MAILS[2], {})
    calls, _, why = await _replayed(lab, task, given)
    sent, wanted = stage.sent()[-1], tuple(_MAILS[2].values())
    why = why or ("" if (sent.to, sent.subject, sent.body) == wanted else "another mail was sent")
    return _result(MAIL, task, exact, calls, why)


async def park(lab: Lab, name: str) -> Result:
    """Show a task of an application twice and replay it with a third set of values; its store is the judge."""
    one = PARK[name]
    job, settings, [folder] = one.job, lab.stage.place.settings, lab.stage.place.settings.upload_folders
    async with one.app.site() as site:
        shown = []
        for values in (job.values, one.others):
            place = await site.begin(one.app.editions[0])
            lab.stage.allow(place.url)
            given = {**values, FOLDER: str(folder)}
            try:
                shown.append(await shown_once(settings, place.url + one.start, one.acts, given, [PASSWORD_SECRET]))
            except _NOT_SHOWN as exc:
                return Result(name, why=str(exc))
            if why := await fault_of(job, Seen(place, values, {}, {})):
                return Result(name, why=f"the person did something else: {why}")
        task = compared(*shown).task.model_copy(update={"task": name.replace("/", "-")})
        place = await site.begin(one.app.editions[0])
        lab.stage.bind(PASSWORD_SECRET, place.url)
        differing = {key: value for key, value in job.values.items() if one.others[key] != value}
        exact, given = _given(task, differing, job.new, {})
        calls, result, why = await _replayed(lab, task, given)
        if result is not None and not why:
            why = await fault_of(job, Seen(place, job.new, result.extracted, await lab.files(result)))
    return _result(name, task, exact, calls, why)


async def measure(names: Sequence[str], console: Console) -> dict[str, object]:
    """Show and replay these tasks."""
    begun = time.monotonic()
    results: list[Result] = []

    def done(result: Result) -> None:
        results.append(result)
        console.print(f"{result.name}: {result.why or 'done'}", markup=False, style="dim")

    if pages := [name for name in names if name not in PARK]:
        async with bench() as here:
            for name in pages:
                done(await (mail(here) if name == MAIL else miniwob(here, name)))
    if applications := [name for name in names if name in PARK]:
        async with lab() as there:
            for name in applications:
                done(await park(there, name))
    table = Table(title="shown twice, replayed with other values")
    for column in ("task", "steps", "recorded", "replayed", "parameters exact", "model calls", "why not"):
        table.add_column(column)
    for one in results:
        marks = ("yes" if held else "no" for held in (one.is_recorded, one.is_replayed, one.is_exact))
        table.add_row(one.name, str(one.steps), *marks, str(one.model_calls), one.why)
    console.print(table)
    return {
        "tasks": len(results),
        "recorded": sum(one.is_recorded for one in results),
        "recorded_replayed": sum(one.is_replayed for one in results),
        "parameters_exact": sum(one.is_exact for one in results),
        "model_calls": sum(one.model_calls for one in results),
        "seconds": round(time.monotonic() - begun, 1),
    }


def main() -> int:
    """Measure and print; 1 if the pages or the stack could not be had."""
    parser = argparse.ArgumentParser(prog="make bench-shown", description=__doc__)
    every = [name for names in GROUPS.values() for name in names]
    parser.add_argument("--groups", nargs="+", choices=sorted(GROUPS), default=list(GROUPS), metavar="NAME")
    parser.add_argument("--tasks", nargs="+", choices=every, metavar="NAME", help="these only, of any group")
    given = parser.parse_args()
    names = given.tasks or [name for group in given.groups for name in GROUPS[group]]
    try:
        figures = asyncio.run(measure(names, Console()))
    except (EnvironmentFailed, StackFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Many runs that wait for people over a restart of every worker, and are answered in any order after that."""

import argparse
import asyncio
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence

from bench.chaos.lane import serve
from bench.chaos.runs import SETTLED_S, TASK_FILE
from bench.message_site.judge import Judge
from bench.message_site.log import Log
from bench.team.part import Figures, Tell, Wanted, count
from bench.team.stages import learned
from replaywright.cli.people.inbox import waiting_in
from replaywright.cli.people.updates import decide, verdict_on
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.task.questions import Question
from replaywright.domain.task.tasks import Task, bind_parameters
from tests.e2e.lab import Lab, runs_with, until

WANTED: Mapping[str, Wanted] = {"answered": "waited", "finished": "waited", "unfinished": 0, "twice": 0}
_ANSWERING = 8
"""Answers that are given at the same time."""
_LIMIT_S = 900.0
_GIVEN_BACK_S = 1.0


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of this part."""
    group.add_argument("--waiting", type=count, default=50, help="runs that wait (default: %(default)s)")


async def measured_by(given: argparse.Namespace, tell: Tell) -> Figures:
    """Have two workers, and so many runs wait as the options say; return the figures."""
    async with learned() as lab:
        await lab.stage.start_worker()
        return await measured(lab, given.waiting, tell)


async def measured(lab: Lab, runs: int, tell: Callable[[str], None]) -> dict[str, int]:
    """Have so many runs wait, replace every worker, answer; return the figures."""
    folder = lab.stage.home / f"message-site-{uuid.uuid4().hex[:6]}"
    log = Log(folder / "site.jsonl")
    child, url = await serve("site", "bench.message_site.site", "--log", str(log.path), log=folder / "site.log")
    try:
        lab.stage.allow(url)
        return await _measured(lab, Judge(url, log), runs, tell)
    finally:
        await child.stop()


async def _measured(lab: Lab, judge: Judge, runs: int, tell: Callable[[str], None]) -> dict[str, int]:
    task, begun = _asking(), time.monotonic()
    subjects = [f"w-{number}-{uuid.uuid4().hex[:8]}" for number in range(runs)]
    orders = [_order(task, judge, subject) for subject in subjects]
    others = {session.session_id for session in lab.sessions()}
    with runs_with(hibernate_after_s=_GIVEN_BACK_S):
        for order in orders:
            await start(lab.place, order)
        questions = await _all_wait(lab, orders)
    await until("every browser is given back", lambda: {one.session_id for one in lab.sessions()} <= others, _LIMIT_S)
    tell(
        f"{len(questions)} runs wait without a browser after {time.monotonic() - begun:.0f} s; every worker is replaced"
    )
    await _workers_replaced(lab)
    answers = list(questions.items())
    random.Random(runs).shuffle(answers)
    places, done = asyncio.Semaphore(_ANSWERING), set[str]()

    async def one(order: Order, question: Question) -> None:
        async with places:
            verdict = verdict_on(order.run_id, question, "approve", "", who="the measurement", why="")
            await decide(lab.place, order.run_id, verdict)
            ending = await lab.follow(order)
        if ending.status == "done":
            done.add(str(order.values["subject"]))
        else:
            tell(f"{order.run_id} {ending.status}: {ending.result.message}")

    by_id = {order.run_id: order for order in orders}
    await asyncio.gather(*(one(by_id[run_id], question) for run_id, question in answers))
    await asyncio.sleep(SETTLED_S)
    sent = {subject: len(judge.presses(subject)) for subject in subjects}
    finished = sum(subject in done and count == 1 for subject, count in sent.items())
    tell(f"{finished} finished after {time.monotonic() - begun:.0f} s")
    return {
        "waited": len(questions),
        "answered": len(answers),
        "finished": finished,
        "unfinished": sum(subject not in done or not count for subject, count in sent.items()),
        "twice": sum(count > 1 for count in sent.values()),
    }


def _asking() -> Task:
    """Return the task of chaos, with an approval before the message is sent."""
    task = read_task(str(TASK_FILE))
    steps = [step.model_dump(mode="json", exclude_none=True) for step in task.steps]
    approve = {"action": "approve", "instruction": "may it be sent?"}
    changed = {"task": "ask-and-send", "steps": [*steps[:3], approve, *steps[3:]]}
    return Task.model_validate(task.model_dump(mode="json", exclude_none=True) | changed)


def _order(task: Task, judge: Judge, subject: str) -> Order:
    given = {"base_url": judge.url, "subject": subject, "behaviour": "form", "wait": "0"}
    return Order(task, bind_parameters(task, given), f"{task.task}/{subject}")


async def _all_wait(lab: Lab, orders: Sequence[Order]) -> dict[str, Question]:
    """Return what each run asks, once all of them wait."""
    ours, found = {order.run_id for order in orders}, dict[str, Question]()

    async def do_wait() -> bool:
        found.update({one.run_id: one.question for one in await waiting_in(lab.place) if one.run_id in ours})
        return len(found) == len(ours)

    await until("all runs wait", do_wait, _LIMIT_S)
    return found


async def _workers_replaced(lab: Lab) -> None:
    """End every worker, the last one by SIGKILL, the others in order; then start as many."""
    living = [worker for worker in lab.stage.workers if worker.exit_status() is None]
    lab.stage.kill_worker()
    await asyncio.gather(*(worker.stop() for worker in living[:-1]))
    await lab.stage.worker_ended()
    for _ in living:
        await lab.stage.start_worker()

"""Asking on the terminal of a run if a skill is the one that is meant, or what a press may send."""

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from replaywright.domain.task.questions import Question, QuestionKind, Verdict

if TYPE_CHECKING:
    from replaywright.domain.run.runs import Progress


_HERE = (QuestionKind.CONSEQUENCE, QuestionKind.RECALLED)


def asks_here(progress: "Progress | None", *, json: bool) -> Question | None:
    """The question that is asked on this terminal; None where there is none, or no terminal."""
    question = None if progress is None else progress.question
    if question is None or question.kind not in _HERE or json:
        return None
    return question if sys.stdin.isatty() and sys.stdout.isatty() else None


async def answered(question: Question, say: Callable[[str], None]) -> Verdict | None:
    """Ask until there is an answer; None for an empty line or the end of the input: then the run goes on waiting."""
    for line in lines_of(question):
        say(line)
    while True:
        say(f"{' or '.join(question.answers)}? (nothing leaves it waiting)")
        text = (await _line()).strip().lower()
        if not text:
            return None
        fitting = [verdict for verdict in question.answers if verdict.startswith(text)]
        if len(fitting) == 1:
            return fitting[0]


def lines_of(question: Question) -> list[str]:
    """Say what is asked, what will be done, and what the page says of itself, marked as its words."""
    lines = [question.text, *(f"  {line}" for line in question.shows)]
    if question.url:
        lines.append(f"page: {question.url}")
    lines += [f"the site says: “{said}”" for said in question.site_says]
    return lines


async def _line() -> str:
    """The next line of the terminal; the stack of this command is attended to meanwhile."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return sys.stdin.readline()

"""Questions of a run that are asked on its own terminal: the recalled skill, and consequences of a press."""

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from replaywright.domain.task.questions import Question, QuestionKind, Verdict

if TYPE_CHECKING:
    from replaywright.domain.run.runs import Progress


_HERE = (QuestionKind.CONSEQUENCE, QuestionKind.RECALLED)


def asks_here(progress: "Progress | None", *, json: bool) -> Question | None:
    """Return the question to ask on this terminal; None if there is no question or no terminal."""
    question = None if progress is None else progress.question
    if question is None or question.kind not in _HERE or json:
        return None
    return question if sys.stdin.isatty() and sys.stdout.isatty() else None


async def answered(question: Question, say: Callable[[str], None]) -> Verdict | None:
    """Ask until there is an answer; return None for an empty line or the end of input: the run waits on."""
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
    """Describe the question, its consequences, and the page's own words, marked as such."""
    lines = [question.text, *(f"  {line}" for line in question.shows)]
    if question.url:
        lines.append(f"page: {question.url}")
    lines += [f"the site says: “{said}”" for said in question.site_says]
    return lines


async def _line() -> str:
    """Read the next line of the terminal without blocking the event loop."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    descriptor = sys.stdin.fileno()
    loop.add_reader(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)
    return sys.stdin.readline()

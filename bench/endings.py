"""How a run of a benchmark ends."""

import asyncio

from demo.stage import Stage
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.follow import Ending, follow, handle_of
from replaywright.cli.runs.starting import Order, start
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.runs import Progress, RunResult
from replaywright.domain.task.questions import Question, QuestionKind


async def ending_of(order: Order, stage: Stage, limit_s: float, *, approved: set[str] | None = None) -> Ending:
    """Start a run; return how it ends. One that waits for a person has stopped and said why, and is given up.

    Args:
        order: The run.
        stage: Where it runs.
        limit_s: Seconds that it may take.
        approved: Is given the questions, by id, in which a press that a model chose may have its consequences because a
            person says so; None if nobody does.
    """
    await start(stage.place, order)
    handle = handle_of(stage.place.client, order.run_id)
    last = Progress()

    def seen(progress: Progress | None, _note: str) -> None:
        nonlocal last
        last = progress or last

    try:
        async with asyncio.timeout(limit_s):
            while True:
                ending = await follow(handle, show=seen, until_waiting=True)
                question = ending.progress.question if ending.status == "waiting" and ending.progress else None
                if approved is None or question is None or question.kind is not QuestionKind.CONSEQUENCE:
                    break
                if question.id not in approved:
                    await decide(stage.place, order.run_id, _yes(question))
                    approved.add(question.id)
    except TimeoutError:
        said = f"did not end within {limit_s} s; last heard: step {last.step + 1}: {last.doing}"
        ending = Ending("timed_out", RunResult(succeeded=False, reason="timed_out", message=said))
    if ending.status in ("waiting", "timed_out"):
        await handle.cancel()  # so that its browser is closed
    return ending


def _yes(question: Question) -> PersonVerdict:
    return PersonVerdict(
        sequence=question.sequence, verdict="approve", who="the programme, for a person", question=question.id
    )

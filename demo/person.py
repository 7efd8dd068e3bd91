"""The person at the demo: lets go what a press may send that a model chose, in view of whoever watches."""

from collections.abc import Callable

from replaywright.cli.connect import Place
from replaywright.cli.follow import Ending, follow, handle_of
from replaywright.cli.updates import decide, verdict_on
from replaywright.domain.questions import QuestionKind

NAME = "the person at the demo"


async def followed(place: Place, run_id: str, tell: Callable[[str], None]) -> tuple[Ending, int]:
    """Follow a run to its end, or until it waits for something else; with how often it was let go on."""
    answered: set[str] = set()
    while True:
        ending = await follow(handle_of(place.client, run_id), show=lambda _progress, _note: None, until_waiting=True)
        question = None if ending.progress is None else ending.progress.question
        if ending.status != "waiting" or question is None or question.kind is not QuestionKind.CONSEQUENCE:
            return ending, len(answered)
        if question.id not in answered:
            answered.add(question.id)
            for line in (question.text, *(f"  {line}" for line in question.shows), "  answered: approve"):
                tell(f"    {line}")
            await decide(place, run_id, verdict_on(run_id, question, "approve", "", who=NAME, why="meant to be done"))

"""The person at the demo: approves what a model chose, a press or a skill, in view of whoever watches."""

from collections.abc import Callable

from replaywright.cli.people.updates import decide, verdict_on
from replaywright.cli.runs.follow import Ending, follow, handle_of
from replaywright.cli.servers.connect import Backend
from replaywright.domain.task.questions import Question, QuestionKind

NAME = "the person at the demo"
_ANSWERED = (QuestionKind.CONSEQUENCE, QuestionKind.RECALLED)


async def followed(place: Backend, run_id: str, tell: Callable[[str], None]) -> tuple[Ending, list[Question]]:
    """Follow a run to its end, or until it waits for something else; with the questions after which it was let go."""
    answered: dict[str, Question] = {}
    while True:
        ending = await follow(handle_of(place.client, run_id), show=lambda _progress, _note: None, until_waiting=True)
        question = None if ending.progress is None else ending.progress.question
        if ending.status != "waiting" or question is None or question.kind not in _ANSWERED:
            return ending, list(answered.values())
        if question.id not in answered:
            answered[question.id] = question
            for line in (question.text, *(f"  {line}" for line in question.shows), "  answered: approve"):
                tell(f"    {line}")
            await decide(place, run_id, verdict_on(run_id, question, "approve", "", who=NAME, why="meant to be done"))

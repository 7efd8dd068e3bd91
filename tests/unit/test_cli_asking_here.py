"""Asking on the terminal of a run what its press may send: on a real pseudo-terminal."""

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from replaywright.cli.people.asking_here import answered, asks_here
from replaywright.domain.run.runs import Progress
from replaywright.domain.task.questions import Question, QuestionKind

ASKED = Question(
    kind=QuestionKind.CONSEQUENCE,
    text="step 2 would send POST http://site/pay: may it?",
    sequence=1,
    answers=("approve", "refuse"),
    shows=("control: button 'OK'",),
    id="2-1",
    since=datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of the terminal that the command sits at."""
    mine, its = os.openpty()
    with os.fdopen(its, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        yield mine
    os.close(mine)


@pytest.mark.parametrize(
    ("typed", "verdict"), [("approve\n", "approve"), ("r\n", "refuse"), ("yes\nA\n", "approve"), ("\n", None)]
)
async def test_an_answer_is_a_word_of_the_question_or_its_beginning(
    keyboard: int, typed: str, verdict: str | None
) -> None:
    said: list[str] = []
    os.write(keyboard, typed.encode())

    assert await answered(ASKED, said.append) == verdict
    assert said[:2] == [ASKED.text, "  control: button 'OK'"]


@pytest.mark.parametrize("kind", [QuestionKind.CONSEQUENCE, QuestionKind.RECALLED])
def test_only_what_a_model_chose_is_asked_here_and_only_of_people(keyboard: int, kind: QuestionKind) -> None:
    del keyboard
    asked = ASKED.model_copy(update={"kind": kind})
    waits = Progress(question=asked)
    other = Progress(question=ASKED.model_copy(update={"kind": QuestionKind.FAILED}))

    assert asks_here(waits, json=False) == asked
    assert [asks_here(waits, json=True), asks_here(other, json=False), asks_here(None, json=False)] == [None] * 3

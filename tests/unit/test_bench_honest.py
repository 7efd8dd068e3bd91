"""What the programme of honest tasks makes of the questions it has seen."""

from datetime import UTC, datetime

import pytest
from rich.console import Console

from bench.honest import Taught, is_quiet, kind_in, report
from replaywright.domain.task.questions import Question, QuestionKind


def question(request: str, number: int = 0) -> Question:
    return Question(
        kind=QuestionKind.CONSEQUENCE,
        text=f"may it send {request}?",
        sequence=number,
        answers=("approve", "refuse"),
        shows=("control: button 'Send'", f"would send: {request}"),
        id=f"{number}",
        since=datetime(2026, 1, 1, tzinfo=UTC),
    )


SEND = "POST http://127.0.0.1:4711/compose with body, to"
LOG_IN = "POST http://127.0.0.1:4711/login with password"


def test_a_kind_of_consequence_is_the_request_whatever_port_it_goes_to() -> None:
    assert kind_in(question(SEND)) == "POST http://127.0.0.1:*/compose with body, to"


@pytest.mark.parametrize(
    ("learning", "replaying", "most", "quiet"),
    [
        ([], [], 0, True),
        ([SEND, LOG_IN], [], 1, True),
        ([SEND, SEND.replace("4711", "4712")], [], 2, False),
        ([SEND], [SEND], 1, False),
    ],
)
def test_honest_learning_is_quiet_if_nothing_is_asked_twice_and_no_replay_asks(
    learning: list[str], replaying: list[str], most: int, *, quiet: bool
) -> None:
    taught = Taught("demo", "a mail", "done", "done", [*map(question, learning)], [*map(question, replaying)])

    figures = report([taught], "", Console(quiet=True))

    assert figures["asked_most_per_kind"] == most
    assert (figures["asked_learning"], figures["asked_replay"]) == (len(learning), len(replaying))
    assert is_quiet(figures) is quiet


def test_questions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    report([Taught("demo", "a mail", "done", "done", [question(SEND)])], "no network", Console(width=160))

    said = capsys.readouterr().out
    assert "POST http://127.0.0.1:*/compose with body, to" in said
    assert "MiniWoB++ is missing: no network" in said


def test_a_task_that_is_not_done_shows_nothing() -> None:
    figures = report([Taught("demo", "a mail", "done", "failed: no_entry")], "", Console(quiet=True))

    assert figures["honest_done"] == 0
    assert not is_quiet(figures)

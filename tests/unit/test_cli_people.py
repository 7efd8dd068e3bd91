"""What `inbox` says of a question, and what `answer` takes for one before anything is sent."""

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

from replaywright.cli.output import plain
from replaywright.cli.people import answer
from replaywright.cli.people.answer import AnswerOptions
from replaywright.cli.people.asking_here import lines_of
from replaywright.cli.people.inbox import InboxItem
from replaywright.cli.people.updates import verdict_on
from replaywright.domain.task.questions import Question, QuestionKind, answer_command
from replaywright.errors import InputInvalid, StackFailed
from replaywright.sealing.envelope import new_key, opened

APPROVAL = Question(
    kind=QuestionKind.APPROVE,
    id="7-1",
    text="step 7 asks for an approval: is the amount right?",
    sequence=6,
    answers=("approve", "refuse"),
    shows=("8. click the Pay now button (irreversible)",),
    since=datetime(2026, 1, 1, tzinfo=UTC),
    site_says=("Approved by your bank. \x1b[2J Type approve.",),
    url="https://bank.example/pay",
)
CODE = APPROVAL.model_copy(
    update={"kind": QuestionKind.VERIFICATION_CODE, "answers": ("answer", "abandon"), "wants": "code"}
)
WORDS = CODE.model_copy(update={"kind": QuestionKind.ANSWER, "wants": "text"})


def test_what_the_site_says_is_quoted_as_its_words_and_moves_no_cursor() -> None:
    lines = [plain(line) for line in lines_of(APPROVAL)]

    assert lines[0] == "step 7 asks for an approval: is the amount right?"
    assert lines[1].endswith("8. click the Pay now button (irreversible)")
    [said] = [line for line in lines if "Type approve" in line]
    assert said.startswith("the site says: “")
    assert "\x1b" not in said


def test_a_question_says_how_it_is_answered() -> None:
    assert answer_command("pay/1", APPROVAL.answers) == "replaywright answer pay/1 approve|refuse"


def test_what_programs_get_has_no_key_and_names_the_picture() -> None:
    told = InboxItem("pay/1", "pay", CODE.model_copy(update={"key": "k" * 44}), picture=Path("/x/1.png")).as_json()

    assert (told["runId"], told["question"]["kind"]) == ("pay/1", "verification_code")
    assert told["question"]["pictureFile"] == "/x/1.png"
    assert "key" not in told["question"]


@pytest.mark.parametrize("wanted", ["done", "", "aprove"])
def test_an_answer_that_the_question_does_not_take_is_refused_with_those_that_it_does(
    wanted: str,
) -> None:
    with pytest.raises(InputInvalid, match="takes approve, refuse"):
        answer.chosen(APPROVAL, wanted)


def test_a_code_on_the_command_line_is_refused_and_never_repeated() -> None:
    with pytest.raises(InputInvalid, match="--value-file") as refusal:
        answer._text(CODE, "answer", AnswerOptions(value="493027"))

    assert "493027" not in str(refusal.value)


@pytest.mark.parametrize(
    ("verdict", "value", "said"),
    [("approve", "yes", "belongs to the answer"), ("answer", " ", "empty"), ("answer", "x" * 4_001, "4001 characters")],
)
def test_a_value_that_is_none_is_refused(verdict: str, value: str, said: str) -> None:
    question = WORDS if verdict == "answer" else APPROVAL

    with pytest.raises(InputInvalid, match=said):
        answer._text(question, verdict, AnswerOptions(value=value))  # type: ignore[arg-type]  # one of each


def test_a_value_is_read_from_a_file_or_standard_input_without_its_line_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "code").write_text("493027\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"493028\r\n")))

    assert answer._text(CODE, "answer", AnswerOptions(value_file=str(tmp_path / "code"))) == "493027"
    assert answer._text(CODE, "answer", AnswerOptions(value_file="-")) == "493028"
    with pytest.raises(InputInvalid, match="no such file"):
        answer._text(CODE, "answer", AnswerOptions(value_file=str(tmp_path / "none")))


def test_without_a_terminal_a_value_has_to_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    with pytest.raises(InputInvalid, match="no terminal"):
        answer._text(CODE, "answer", AnswerOptions())


def test_a_code_leaves_sealed_for_its_run_and_question_and_words_as_they_are() -> None:
    private, public = new_key()
    question = CODE.model_copy(update={"key": public})

    told = verdict_on("pay/1", question, "answer", "493027", who="me", why="")

    assert (told.value, told.question, told.sequence) == ("", "7-1", 6)
    assert opened(told.sealed, private, "pay/1/7-1") == "493027"
    assert verdict_on("pay/1", WORDS, "answer", "blue", who="me", why="").value == "blue"
    with pytest.raises(StackFailed, match="no key"):
        verdict_on("pay/1", CODE, "answer", "493027", who="me", why="")

"""Questions that a run asks a person, and the answers that it accepts.

Page text never becomes part of `text`. Quotes from the page stand in `site_says`, marked as the site's, because a page
may say anything to influence the person.
"""

import shlex
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Authored, Record
from replaywright.domain.common.text import shorten
from replaywright.domain.session.sessions import OnSession

VALUE_LIMIT = 4_000
"""Characters of a value in an answer."""
SEALED_LIMIT = 12_000
"""Characters of a sealed value."""
SAID_LIMIT = 300
"""Characters of each line quoted from the site, and of each line of what will be done."""
APPROVE_WITHIN_S = 3 * 86_400.0
"""Default deadline of an approval: three days."""
REMIND_EVERY_S = 86_400.0
"""Default interval of reminders: a day."""

Verdict: TypeAlias = Literal[
    "done",
    "not_done",
    "retry",
    "skip",
    "redo",
    "keep",
    "abandon",
    "approve",
    "refuse",
    "answer",
    "solved",
]
"""On a step in doubt: done, not_done, retry (perform it again, whether it took effect or not), abandon. On a failed
step: retry, done, skip (not a commit), abandon. On a step that the lineage has done under another chain: redo, keep,
abandon. On an approval: approve, refuse. For a value: answer, abandon. On a captcha: solved, answer (its text),
abandon."""

OnTimeout: TypeAlias = Literal["fail", "skip"]
"""Consequence of a question that nobody answers in time: the run fails, or the step is skipped."""

CODE_LOST = "code_lost"
"""Reason of a step whose code can no longer be read."""
CODE_NAME = "VERIFICATION_CODE"
"""Name of an entered code among the secrets: it is masked and bound to domains like one."""
UNANSWERED = "unanswered"
"""Reason of a failed run or a skipped step when nobody answered in time."""
WAITS = "waits"
"""Memo of a run: the question that it waits for; so waiting runs are found without asking each."""
DEADLINE = "the deadline"
"""Name of the decider when the deadline decides."""


MEANS: Final[Mapping[str, str]] = {
    "done": "the step took effect, the run goes on after it",
    "not_done": "the step took no effect, the run performs it again",
    "retry": "the run performs the step again",
    "skip": "the step is left out",
    "redo": "the run does it once more",
    "keep": "the run takes it as done",
    "abandon": "the run ends here, as failed",
    "approve": "the run goes on, and does it",
    "refuse": "the run ends here, and nothing of it is done",
    "answer": "the run goes on with the value",
    "solved": "it is solved, the run goes on",
    "continue": "the run goes on",
}
"""Effect of each answer on the run."""


class QuestionKind(StrEnum):
    """Kinds of questions."""

    DOUBT = "doubt"
    """Did the step take effect?"""
    FAILED = "failed"
    """How should the run continue after a failed step?"""
    DONE_BEFORE = "done_before"
    """Should the run repeat a step that the lineage has done under another chain?"""
    APPROVE = "approve"
    """May this be done?"""
    CONSEQUENCE = "consequence"
    """May a press that a model chose send its request?"""
    RECALLED = "recalled"
    """Is the skill that a model chose for a sentence the right one?"""
    VERIFICATION_CODE = "verification_code"
    """A code that only the person has."""
    SOLVE_CAPTCHA = "solve_captcha"
    TAKE_OVER = "take_over"
    """A request to act in the browser in the run's place."""
    WEAK_STEP = "weak_step"
    """May a step be tried that failed too often of late?"""
    ANSWER = "answer"
    """A value that the planner needs."""


class Patience(Authored):
    """Deadline and reminders of a step that asks a person."""

    within_s: float | None = Field(None, ge=1, le=366 * 86_400)
    """Seconds until the deadline; None for the default of the kind: three days for an approval, else never."""
    remind_every_s: float | None = Field(None, ge=1, le=366 * 86_400)
    """Seconds between reminders; None for the run's own."""
    on_timeout: OnTimeout = "fail"
    """Consequence of the deadline: the run fails, or the step is skipped. Time never approves anything."""


class Ask(Record):
    """A question before it is asked."""

    kind: QuestionKind
    """Kind of the question."""
    text: str
    """The question, in our words."""
    sequence: int
    """Index of the step."""
    title: str = ""
    """Title of the step, with its templates as written."""
    answers: tuple[Verdict, ...]
    """Accepted answers."""
    wants: Literal["", "text", "code"] = ""
    """Value that goes with the answer `answer`; a `code` is accepted sealed only."""
    shows: tuple[str, ...] = ()
    """Actions that will follow, one line each."""
    within_s: float | None = None
    """Seconds until the deadline; None for no deadline."""
    remind_every_s: float | None = None
    """Seconds between reminders; None for none."""
    on_timeout: OnTimeout = "fail"
    """Consequence of the deadline."""
    source: str = ""
    """Name of the source of codes that may answer it, too."""


class SeenByPerson(Record):
    """Capture of the page for a person."""

    site_says: tuple[str, ...] = ()
    """Quotes from the site; they are no advice."""
    url: str = ""
    """The browser's current address, redacted."""
    picture: str = ""
    """Digest, in the artifact store, of the screen when it was asked, secrets masked."""
    picture_missing: str = ""
    """Reason for a missing picture."""


class Question(SeenByPerson, Ask):
    """An open question."""

    id: str
    """Unique in the run: the step's number and a count."""
    since: datetime
    """Time of the question."""
    deadline: datetime | None = None
    """End of the question; None for never."""
    reminders: int = 0
    """Number of reminders sent."""
    key: str = ""
    """Public key that seals a code."""


PLANNER_QUESTIONS = 3
"""Questions that a planner may ask the user in one run."""


class UserAnswer(Record):
    """A planner's question and the user's answer."""

    question: str
    answer: str


class LookForPerson(OnSession):
    """Input of `person.look`, which captures the page for a person."""


class KeyRequest(Record):
    """Input of `person.key`: make a key pair to seal a code with."""

    tenant: str
    run_id: str
    question: str
    ttl_s: float


class QuestionNotice(Record):
    """Input of `person.notify`: a question to tell of."""

    event: Literal["asked", "reminder", "timed_out"]
    run_id: str
    task: str
    tenant: str
    question: Question


def as_question(ask: Ask, *, number: int, now: datetime, seen: SeenByPerson) -> Question:
    """Return the question as asked at `now`, the run's `number`-th."""
    deadline = None if ask.within_s is None else now + timedelta(seconds=ask.within_s)
    return Question(
        **ask.model_dump(),
        id=f"{ask.sequence + 1}-{number}",
        since=now,
        deadline=deadline,
        **seen.model_dump(),
    )


def quoted(*texts: str) -> tuple[str, ...]:
    """Put each text on one line of limited length."""
    return tuple(shorten(" ".join(text.split()), SAID_LIMIT) for text in texts if text.strip())


def answer_command(run_id: str, answers: Sequence[str]) -> str:
    """Return the command that answers, with the accepted answers."""
    return f"replaywright answer {shlex.quote(run_id)} {'|'.join(answers)}"


def objection(question: Question, *, verdict: str, value: str, sealed: str) -> str:
    """Return why the question refuses this answer; empty if it accepts it. The message never has the value."""
    step = question.sequence + 1
    if verdict not in question.answers:
        return f"{verdict} is no answer for step {step}; it takes: {', '.join(question.answers)}"
    if verdict != "answer":
        return f"a value belongs to the answer `answer`, not to {verdict}" if value or sealed else ""
    if question.wants == "code":
        if value:
            return f"step {step} takes its code sealed only: give it by `replaywright answer`"
        if not sealed:
            return f"step {step} wants a code, and there is none in the answer"
        return "" if len(sealed) <= SEALED_LIMIT else f"the code is longer than {SEALED_LIMIT} characters"
    if sealed:
        return f"step {step} wants no code"
    if not value.strip():
        return f"step {step} wants a value, and there is none in the answer"
    return "" if len(value) <= VALUE_LIMIT else f"the value is longer than {VALUE_LIMIT} characters"

"""What a run asks of a person: the question as it is shown, and the answers that it takes.

A question is written by us: page text never becomes part of `text`. What of the page is worth showing is in
`site_says`, word for word and marked as the site's, because a page may say anything to whoever decides.
"""

import shlex
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Authored, Record
from replaywright.domain.common.text import shorten
from replaywright.domain.session.sessions import SessionRef

VALUE_LIMIT = 4_000
"""Characters of a value that a person gives."""
SEALED_LIMIT = 12_000
"""Characters of the same, sealed."""
SAID_LIMIT = 300
"""Characters of each of the site's words, and of each line of what will be done."""
APPROVE_WITHIN_S = 3 * 86_400.0
"""How long an approval that nobody gave a time for is waited for: three days."""
REMIND_EVERY_S = 86_400.0
"""Between reminders of a question that waits, where its step says no other time: a day."""

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
"""On a step in doubt: done, not_done, retry (perform it again, whether it took effect or not), abandon. On one that
failed: retry, done, skip (not a commit), abandon. On one that the lineage has done under another chain: redo, keep,
abandon. On something to be approved: approve, refuse. Where a value is wanted: answer, and abandon. On a captcha:
solved, answer (its text), and abandon."""

OnTimeout: TypeAlias = Literal["fail", "skip"]
"""What becomes of a question that nobody answers in time: the run fails, or the step is left out."""

CODE_LOST = "code_lost"
"""Reason of a step whose code cannot be read any more."""
CODE_NAME = "VERIFICATION_CODE"
"""What a code that a person gave is called where secrets are: it is masked as one, and bound to domains as one."""
UNANSWERED = "unanswered"
"""Reason of a run that failed, or of a step that was left out, because nobody answered in time."""
WAITS = "waits"
"""Memo of a run: the question that it waits with, or nothing; so runs that wait are found without asking each."""
DEADLINE = "the deadline"
"""Who has decided then."""


class QuestionKind(StrEnum):
    """What a person is asked for."""

    DOUBT = "doubt"
    """Whether a step took effect."""
    FAILED = "failed"
    """What to do about a step that failed."""
    DONE_BEFORE = "done_before"
    """Whether to repeat what the lineage has done under another chain of steps."""
    APPROVE = "approve"
    """Whether something may be done."""
    CONSEQUENCE = "consequence"
    """Whether a press that a model chose may send what it would send."""
    RECALLED = "recalled"
    """Whether the skill that a model chose for a sentence is the one that is meant."""
    VERIFICATION_CODE = "verification_code"
    """A code that only the person has."""
    SOLVE_CAPTCHA = "solve_captcha"
    TAKE_OVER = "take_over"
    """To act in the browser in the run's place."""
    WEAK_STEP = "weak_step"
    """Whether a step that failed too often of late is to be tried."""
    ANSWER = "answer"
    """Something that the planner needs to know."""


class Patience(Authored):
    """How long a step waits for a person, and what then; a part of the steps that ask one."""

    within_s: float | None = Field(None, ge=1, le=366 * 86_400)
    """Seconds; None for as long as the kind of step says: an approval three days, anything else for ever."""
    remind_every_s: float | None = Field(None, ge=1, le=366 * 86_400)
    """Seconds between reminders; None for the run's own."""
    on_timeout: OnTimeout = "fail"
    """What then: the run fails, or the step is left out. Nothing is ever approved by time."""


class Ask(Record):
    """A question before it is asked."""

    kind: QuestionKind
    """What is asked for."""
    text: str
    """The question, in our words."""
    sequence: int
    """Index of the step."""
    title: str = ""
    """Of the step, templates as written."""
    answers: tuple[Verdict, ...]
    """Those that are taken."""
    wants: Literal["", "text", "code"] = ""
    """Which value goes with the answer `answer`; a `code` is only taken sealed."""
    shows: tuple[str, ...] = ()
    """What will be done, one line each."""
    within_s: float | None = None
    """Seconds; None for no deadline."""
    remind_every_s: float | None = None
    """Seconds between reminders; None for none."""
    on_timeout: OnTimeout = "fail"
    """What becomes of it when nobody answers in time."""


class Question(Ask):
    """A question as it stands."""

    id: str
    """Unique in the run: the step's number and a count."""
    since: datetime
    """When it was asked."""
    deadline: datetime | None = None
    """When it ends by itself; None for never."""
    reminders: int = 0
    """How often somebody was reminded of it."""
    site_says: tuple[str, ...] = ()
    """The site's words, which are no advice."""
    url: str = ""
    """Where the browser is, redacted."""
    picture: str = ""
    """Digest, in the artifact store, of what the screen showed when it was asked, secrets masked."""
    picture_missing: str = ""
    """Why there is none."""
    key: str = ""
    """Public key that a code is sealed with."""


PLANNER_QUESTIONS = 3
"""How often a planner may ask the user something in one run."""


class UserAnswer(Record):
    """What a planner asked, and what the user said."""

    question: str
    """The planner's words."""
    answer: str
    """The user's."""


class LookForPerson(Record):
    """Input of `person.look`: what a person should see who is asked."""

    session: SessionRef
    epoch: int


class SeenByPerson(Record):
    """What there was to be seen."""

    url: str = ""
    site_says: tuple[str, ...] = ()
    picture: str = ""
    picture_missing: str = ""


class KeyRequest(Record):
    """Input of `person.key`: make a key that a code can be sealed with."""

    tenant: str
    run_id: str
    question: str
    ttl_s: float


class Notice(Record):
    """Input of `person.notify`: tell whoever should know that a run waits. On the standard input of the command."""

    event: Literal["asked", "reminder", "timed_out"]
    run_id: str
    task: str
    tenant: str
    question: Question


def stated(ask: Ask, *, number: int, now: datetime, seen: SeenByPerson, key: str = "") -> Question:
    """The question as it is asked at `now`, the run's `number`-th."""
    deadline = None if ask.within_s is None else now + timedelta(seconds=ask.within_s)
    return Question(
        **ask.model_dump(),
        id=f"{ask.sequence + 1}-{number}",
        since=now,
        deadline=deadline,
        key=key,
        **seen.model_dump(),
    )


def quoted(*texts: str) -> tuple[str, ...]:
    """Put each text in one line that is not too long."""
    return tuple(shorten(" ".join(text.split()), SAID_LIMIT) for text in texts if text.strip())


def answering(run_id: str, answers: Sequence[str]) -> str:
    """The command that answers, with the answers that the run takes."""
    return f"replaywright answer {shlex.quote(run_id)} {'|'.join(answers)}"


def objection(question: Question, *, verdict: str, value: str, sealed: str) -> str:
    """Why the question does not take this answer; empty if it does. The value itself is never in the message."""
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

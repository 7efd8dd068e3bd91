"""A notice: something that happened to a run or a skill, for people who were not looking."""

from datetime import datetime
from enum import StrEnum
from typing import Final
from urllib.parse import urlencode

from replaywright.domain.common.base import Record
from replaywright.domain.site_session.commands import SignInFailed
from replaywright.domain.task.questions import Question, QuestionNotice, answer_command


class NoticeKind(StrEnum):
    """Kinds of notices."""

    WAITING = "waiting"
    """A run asks a person."""
    REMINDER = "reminder"
    """It still asks."""
    UNANSWERED = "unanswered"
    """Nobody answered in time."""
    FAILED = "failed"
    """A run failed, was terminated or timed out."""
    BUDGET = "budget"
    """A run ended because its budget was spent."""
    HEALED = "healed"
    """A run found elements that had changed."""
    CANARY = "canary"
    """A canary failed, or healed: the page of a skill has changed before a run in earnest met it."""
    SUSPECT = "suspect"
    """A skill fails too often: runs of it are stopped."""
    SESSION = "session"
    """Signing in to a session failed: runs that need it fail."""
    TEST = "test"
    """Sent by hand, to see that notices arrive."""


QUESTIONS = (NoticeKind.WAITING, NoticeKind.REMINDER, NoticeKind.UNANSWERED)
"""Kinds that are about a run's question."""


class Notice(Record):
    """Something to tell."""

    id: str
    """Unique in the tenant; raised again, it counts once."""
    kind: NoticeKind
    cause: str
    """Notices of one cause are told once in a while, with their number."""
    title: str
    """What happened, in one line."""
    lines: tuple[str, ...] = ()
    """More of it; lines that quote a site say so."""
    at: datetime
    tenant: str
    task: str = ""
    run_id: str = ""
    skill: str = ""
    command: str = ""
    """Command that shows or answers it."""
    page: str = ""
    """Its page on the dashboard, with the query, relative to the dashboard's address."""
    question: Question | None = None


_TITLE_LIMIT: Final = 600
_EVENTS: Final = {
    "asked": NoticeKind.WAITING,
    "reminder": NoticeKind.REMINDER,
    "timed_out": NoticeKind.UNANSWERED,
}


def of_question(asked: QuestionNotice, at: datetime) -> Notice:
    """Return the notice of a run's question."""
    question, kind = asked.question, _EVENTS[asked.event]
    said = {
        NoticeKind.WAITING: "waits for a person",
        NoticeKind.REMINDER: f"still waits for a person, since {question.since:%Y-%m-%d %H:%M} UTC",
        NoticeKind.UNANSWERED: "was not answered in time",
    }
    site = [f"the site says: “{said}”" for said in question.site_says]
    until = [] if question.deadline is None else [f"until {question.deadline:%Y-%m-%d %H:%M} UTC"]
    id_ = f"{asked.run_id} {question.id} {kind}{question.reminders or ''}"
    return Notice(
        id=id_,
        kind=kind,
        cause=id_,
        title=f"{asked.task} {said[kind]}: {question.text}",
        lines=(*question.shows, *site, *until),
        at=at,
        tenant=asked.tenant,
        task=asked.task,
        run_id=asked.run_id,
        command="" if kind is NoticeKind.UNANSWERED else answer_command(asked.run_id, question.answers),
        page=run_page(asked.run_id),
        question=question,
    )


def of_sign_in(failed: SignInFailed, tenant: str, at: datetime) -> Notice:
    """Return the notice that a session was not signed in."""
    until = f"nobody tries again before {failed.paused_until:%Y-%m-%d %H:%M:%S} UTC" if failed.paused_until else ""
    return Notice(
        id=f"session {failed.name} {failed.number} {failed.run_id}",
        kind=NoticeKind.SESSION,
        cause=session_cause(failed.name),
        title=f"session {failed.name}: signing in failed: {failed.why}"[:_TITLE_LIMIT],
        lines=(until,) if until else (),
        at=at,
        tenant=tenant,
        run_id=failed.run_id,
        command="replaywright admin sessions list",
        page="sessions",
    )


def session_cause(name: str) -> str:
    """Return the cause that a failed sign-in has in common with the runs that failed for it."""
    return f"session {name}"


def run_page(run_id: str) -> str:
    """Return the page of a run on the dashboard."""
    return f"run?{urlencode({'id': run_id})}"

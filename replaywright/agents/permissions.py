"""Answers that an agent may give. A person decides on consequences, unless the operator granted it to the agent."""

from enum import StrEnum
from typing import Final

from replaywright.domain.task.questions import Question, QuestionKind, Verdict
from replaywright.errors import InputInvalid

_ENDING: Final[frozenset[Verdict]] = frozenset({"abandon", "refuse"})
"""Answers to any question: nothing of what was asked for is done."""
_INFORMING: Final = frozenset({QuestionKind.ANSWER})
"""Questions about what is wanted, which whoever gave the task may answer."""


class AgentGrant(StrEnum):
    """Kinds of questions that an operator may let an agent decide. Codes and captchas are for persons only."""

    APPROVE = "approve"
    CONSEQUENCE = "consequence"
    RECALLED = "recalled"
    DOUBT = "doubt"
    FAILED = "failed"
    DONE_BEFORE = "done-before"
    WEAK_STEP = "weak-step"
    TAKE_OVER = "take-over"

    @property
    def kind(self) -> QuestionKind:
        """Kind of question."""
        return QuestionKind[self.name]


def permitted(question: Question, grants: frozenset[AgentGrant]) -> tuple[Verdict, ...]:
    """Return the answers to a question that an agent may give."""
    granted = question.kind in _INFORMING or any(grant.kind is question.kind for grant in grants)
    if granted and question.wants != "code":
        return question.answers
    return tuple(answer for answer in question.answers if answer in _ENDING)


def require_permitted(question: Question, answer: Verdict, grants: frozenset[AgentGrant]) -> None:
    """Check that an agent may give this answer.

    Raises:
        InputInvalid: only a person may; says what to do.
    """
    if answer not in permitted(question, grants):
        kind = question.kind.value.replace("_", "-")
        remedy = f" (or the operator starts this server with --grant {kind})" if kind in list(AgentGrant) else ""
        raise InputInvalid(
            f"{answer!r} is for a person to say, and nothing was sent: ask one to look at the page and to answer with "
            f"`replaywright answer`{remedy}"
        )

"""Runs of a skill: how each ended, and what that says about the skill."""

import re

from replaywright.domain.common.base import Record
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.spending import BUDGET_SPENT
from replaywright.domain.skill.check_tasks import LaterStep
from replaywright.domain.skill.fitting import PRECONDITION
from replaywright.domain.skill.skills import Change, Skill, SkillRun
from replaywright.domain.step.outcomes import BLOCKED
from replaywright.domain.task.questions import UNANSWERED

INPUT_INVALID = "InputInvalid"
"""Reason of a run that was asked for what cannot be."""
_OUTSIDE = frozenset(
    {
        "ArtifactMissing",
        "ArtifactsUnavailable",
        INPUT_INVALID,
        "KeeperRefused",
        "KeeperUnavailable",
        "ModelMisconfigured",
        "ModelRateLimited",
        "ModelRefused",
        "ModelUnavailable",
        "PolicyBlocked",
        "SecretMissing",
        "SessionLost",
        "WorkerLost",
        "StoreUnavailable",
        "abandoned",
        "aborted",
        BLOCKED,
        "ledger_damaged",
        "navigation_failed",
        "not_approved",
        "server_error",
        "store_unavailable",
        BUDGET_SPENT,
        UNANSWERED,
    }
)
"""Reasons of failed runs that lie with the caller, people, the installation, or a site that is down or has errors."""


_STRUCTURE = frozenset(
    {
        PRECONDITION,
        "ambiguous",
        "disagrees",
        "heal_off",
        "invisible",
        "low_score",
        "missed",
        "no_entry",
        "not_found",
    }
)
"""Reasons of steps whose element is not there, not the only one, or not to be seen."""
_NO_CHANGE = re.compile(r"[A-Z]\w*|planner_gave_up|endless_plan|not_recalled|undecidable")
"""Reasons that tell of no page: types of errors, plans that came to nothing, and doubts."""
_URL = re.compile(r"url_differs|no_history|http_4\d\d")
"""Reasons of steps that led elsewhere."""


class NewestRequest(Record):
    """Input of `skill.newest`."""

    tenant: str
    name: str
    is_canary: bool = False
    """True: its steps up to the first one with consequences are wanted."""


class Newest(Skill):
    """Answer of `skill.newest`."""

    looks: tuple[LaterStep, ...] = ()
    """For a canary: the steps that come after those of its task."""
    may_rehearse: bool = False
    """For a canary: the first of `looks` is the step that it ends before, and asks nobody to approve of it."""
    sends: tuple[str, ...] | None = None
    """For a canary: unsafe requests that its steps sent when they were recorded; None: that is not known of each."""


class NoteSkillRun(Record):
    """Input of `note_skill_run`."""

    tenant: str
    name: str
    run: SkillRun
    verified: bool = False
    """The skill's own steps were done and its final verification held: a candidate has proved itself."""
    holds: bool = False
    """True: if the run failed for a reason that lies with the page, the schedules of the skill are paused."""


def is_outside(reason: str) -> bool:
    """Return whether a failure with this reason says nothing about the skill."""
    return reason in _OUTSIDE or re.fullmatch(r"http_5\d\d", reason) is not None


def change_of(reason: str) -> Change:
    """Return the kind of site change that a failure with this reason shows; none for causes outside the site."""
    if not reason or is_outside(reason) or _NO_CHANGE.fullmatch(reason):
        return ""
    if reason == "verification_failed":
        return "goal"
    if reason in _STRUCTURE:
        return "structure"
    return "url" if _URL.fullmatch(reason) else "element"


def skill_run(
    run_id: str, version: int, result: RunResult, *, passed: int, added: int, revised_from: tuple[int, ...]
) -> SkillRun:
    """Return the record of a skill's run, with the indexes of the skill's own steps.

    Args:
        run_id: the run.
        version: of the skill.
        result: how it ended.
        passed: steps of the plan that were done.
        added: steps that the plan has before those of the task.
        revised_from: for each revision of the plan, the index of the step that it began at: what was recorded did not
            lead on from there.
    """
    stopped = min([*revised_from, *([] if result.failed_step is None else [result.failed_step])], default=None)
    done = passed if stopped is None else min(passed, stopped)
    return SkillRun(
        run_id=run_id,
        version=version,
        succeeded=result.succeeded,
        steps_done=max(0, done - added),
        failed_step=None if stopped is None or stopped < added else stopped - added,
        reason=result.reason,
        change="" if result.succeeded else change_of(result.reason),
        outside=not result.succeeded and (result.of_values or is_outside(result.reason)),
    )

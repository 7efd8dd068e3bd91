"""Errors as pages show them, with a remedy."""

import dataclasses
from dataclasses import dataclass

from replaywright.dashboard.people import Role, Viewer
from replaywright.dashboard.views import RetriedRows
from replaywright.domain.trace.saying import count
from replaywright.errors import (
    ArtifactMissing,
    ArtifactsUnavailable,
    InputInvalid,
    ReplaywrightError,
    SettingsInvalid,
    StackFailed,
    StoreUnavailable,
)


@dataclass(frozen=True)
class Problem:
    """Reason why a page cannot be shown."""

    status: int
    """HTTP status."""
    title: str
    message: str
    remedy: str
    command: str = ""
    """Command that helps, if there is one."""
    passes: bool = False
    """True: the same request may succeed later."""


_TOLD = 20
NOTHING_HERE = Problem(404, "There is no such page", "The address leads to nothing here.", "Begin with the runs.")


_KINDS: tuple[tuple[type[ReplaywrightError], Problem], ...] = (
    (
        StackFailed,
        Problem(
            503,
            "Temporal does not answer",
            "",
            "Start the servers, or see that they can be reached; this page goes on by itself when they are.",
            "replaywright up",
            passes=True,
        ),
    ),
    (
        StoreUnavailable,
        Problem(
            503,
            "Redis does not answer",
            "",
            "Start the servers, or bring Redis back; this page goes on by itself when it is.",
            "replaywright up",
            passes=True,
        ),
    ),
    (
        ArtifactsUnavailable,
        Problem(503, "The artifacts cannot be read", "", "See REPLAYWRIGHT_ARTIFACTS_URL.", passes=True),
    ),
    (
        SettingsInvalid,
        Problem(
            503, "A setting is missing or wrong", "", "Set it, and start the dashboard again.", "replaywright doctor"
        ),
    ),
    (ArtifactMissing, Problem(404, "It is not kept any more", "", "Artifacts are removed when their time is over.")),
    (InputInvalid, Problem(400, "That cannot be shown", "", "Change the address, or begin with the list.")),
    (ReplaywrightError, Problem(500, "That went wrong", "", "See what is set up wrong.", "replaywright doctor")),
)
_NOT_DONE = Problem(409, "That was not done", "", "Load the run's page again: it shows what the run takes now.")
_GONE = Problem(404, "It is not there", "", "It may have been removed, or be another tenant's.")
_BUG = Problem(
    500,
    "The dashboard made a mistake",
    "",
    "This is a bug: the terminal of the dashboard shows where. Report it in the project's issue tracker.",
)


def not_allowed(person: Viewer, needed: Role) -> Problem:
    """Return the problem of somebody whose role does not allow what was asked."""
    return Problem(
        403,
        "Your role does not allow that",
        f"{person.name} has the role {person.role}; this takes {needed}. Nothing was changed.",
        f"Ask somebody with the role {needed}, or for the role: the file of --access says who has it.",
    )


def left_out(batch: str, retried: RetriedRows) -> Problem:
    """Return the page about the failed rows of a batch that are not tried again, beside those that are."""
    return Problem(
        200,
        f"{count(retried.rows, 'row')} tried again, {len(retried.left_out)} not",
        " · ".join(f"row {number}: {why}" for number, why in retried.left_out[:_TOLD]),
        "Look at the site; then name a row in a terminal, and its run finds out, or asks.",
        f"replaywright batch retry {batch} --row {retried.left_out[0][0]}",
    )


def refusal_of(error: Exception) -> Problem:
    """Return the problem that is shown where something that was asked of a run was not done."""
    found = problem_of(error)
    if found.status not in (_NOT_DONE.status, 400, 503):
        return found
    return dataclasses.replace(_NOT_DONE, message=found.message)


def problem_of(error: Exception) -> Problem:
    """Return the problem that a page shows for an error."""
    if not isinstance(error, ReplaywrightError):
        return dataclasses.replace(_BUG, message=type(error).__name__)
    message = str(error)
    if isinstance(error, InputInvalid) and message.startswith("there is no"):
        return dataclasses.replace(_GONE, message=message)
    found = next(problem for kind, problem in _KINDS if isinstance(error, kind))
    return dataclasses.replace(found, message=message)

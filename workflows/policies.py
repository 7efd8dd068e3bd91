"""Queues, time-outs and retries, in one place. Figures from docs/internals/adr/0001."""

from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutType
from temporalio.exceptions import TimeoutError as ActivityTimeout

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.commands import UNTOUCHED

HEARTBEAT = timedelta(seconds=2)
"""A worker that is silent for this long is taken for dead; it beats every 0.4 s."""
TO_START = timedelta(seconds=2)
"""A session's queue that nobody polls for this long has lost its worker. Without it a run would hang for ever."""
ADOPT_TO_START = timedelta(seconds=3)
"""Wait for another worker on the browser's own host before any worker may take over."""
MARGIN = timedelta(seconds=20)
"""Added to a step's own budget: attaching, settling, the store."""
READ_LIMIT = timedelta(seconds=40)
"""Limit for looking at a page, and for recording a decision."""
OPEN_LIMIT = timedelta(seconds=60)
MODEL_LIMIT = timedelta(seconds=90)
MODEL_TOTAL = timedelta(minutes=5)
PLAN_LIMIT = timedelta(seconds=180)
"""A planner writes more than an executor, and is told once when its plan breaks a rule."""
PLAN_TOTAL = timedelta(minutes=8)
NOTICE_LIMIT = timedelta(seconds=40)
"""Limit for one try of a delivery of notices, which has 30 s itself."""
NOTICE_TOTAL = timedelta(minutes=2)
DELIVERY_TOTAL = timedelta(days=1)
"""Limit for the tries of one delivery of notices; after it, the delivery counts as lost."""
ABORT_AGAIN = timedelta(seconds=5)
"""A run that a person has ended, and that goes on because an activity has swallowed that, is told so once more."""
STORE_PAUSE = timedelta(seconds=2)
STORE_TRIES = 150
"""A commit step that was not dispatched for want of the store is tried again this often: about five minutes."""
NOTING_TOTAL = timedelta(minutes=5)
"""Limit for counting a run that has ended."""
LEDGER_LIMIT = timedelta(minutes=5)
"""Limit for reading the ledger's records of a whole plan."""
ROWS_LIMIT = timedelta(minutes=1)
"""Limit for reading rows of a batch, and for recording their ends."""
ROWS_PATIENCE = timedelta(seconds=10)
"""Time for which one activity watches runs that are not a batch's children; its heartbeats show that it is alive."""
ROWS_LOOK_EVERY = timedelta(minutes=1)
"""Interval at which a batch checks whether slow rows wait for a person."""
ROWS_DRAIN = timedelta(seconds=2)
"""Time that a batch that continues as new waits for the rows under way; slower ones are watched afterwards."""
LATE_PAGE = timedelta(seconds=3)
"""Time from when a model is shown a page on which it finds no element, within which another page is waited for; longer
while requests are under way."""
TARGET_ROUNDS = 2
"""Questions to the model about one step before it counts as failed."""
LOSSES_PER_STEP = 10
"""A step during which worker or browser are lost more often than this is not tried again."""
RECYCLE_AGAIN = timedelta(minutes=10)
"""A browser that could not be exchanged for a new one is not tried again for so long."""
SIGN_INS_PER_STEP = 5
"""Times that a run signs in again because of one step: the site had ended its session, or is asked about a doubt."""
COMMIT_ROUNDS = 3
"""Dispatches of a commit step that was verified absent each time."""
UNDISPATCHED_ROUNDS = 5
"""Attempts at a commit step of which nothing left the browser."""

ASK_AGAIN = timedelta(seconds=2)
ASK_AGAIN_MOST = timedelta(seconds=20)
"""Pauses between askings of a site that has not answered what it was sent: each is longer than the one before."""

_NO_PLACE = "NoPlace"
_LOST = frozenset({"SessionLost", "WorkerLost", "KeeperUnavailable", "KeeperRefused", "Fenced"})
_BEFORE_DISPATCH = frozenset({"InputInvalid", "SecretMissing", "PolicyBlocked"})
"""Found wrong before anything is done."""
_LOST_WITH_WORKER = ["TemporalTimeout:Heartbeat", "TemporalTimeout:StartToClose"]
_HOPELESS = ["InputInvalid", "SecretMissing", "PolicyBlocked", "ActionFailed", "ArtifactMissing", "ValueTooLarge"]


def _retry(*never: str, longest_s: float = 5, **more: Any) -> RetryPolicy:
    """Return the usual policy: again at once, then after pauses that grow, but `never` after these errors."""
    first, longest = timedelta(milliseconds=250), timedelta(seconds=longest_s)
    given = {"initial_interval": first, "maximum_interval": longest, "non_retryable_error_types": never or None}
    return RetryPolicy(**{**given, **more})


REPEATABLE = _retry(*_LOST, *_LOST_WITH_WORKER, *_HOPELESS, maximum_attempts=60)
"""For steps that may be repeated: passing errors (the store is away) retry in the same browser for about five
minutes; the loss of the worker or the browser goes to the workflow at once."""
ONCE = RetryPolicy(maximum_attempts=1)
"""Commit steps: the workflow repeats the look-up, never the dispatch."""
READING = _retry(*_LOST, *_LOST_WITH_WORKER, "InputInvalid")
"""Reading of a session's page: repeated without limit, but the loss of the session goes to the workflow."""
RESTORING = _retry(*_LOST, *_LOST_WITH_WORKER, "InputInvalid", maximum_attempts=6)
"""Restoring of a checkpoint: if its store cannot be reached, it is given up after a while, for an older one."""
OPENING = _retry()
"""Opening of a browser: repeated without limit, also when the worker dies while it opens one."""
FIRST_OPENING = _retry(_NO_PLACE)
"""Like `OPENING`, but that every place is taken goes to the workflow, which says so before it waits."""
ASKING = _retry("InputInvalid")
"""For asking the ledger, the policy or the knowledge base, which any worker can do: repeated without limit, also when
the worker that was asked is lost. Only what was asked wrongly is not asked again."""
WAITING = _retry(longest_s=10, initial_interval=timedelta(milliseconds=500))
"""For waiting until a place for a browser is free: asked again without limit, by the server, so that a long wait adds
nothing to the history."""
DELIVERING = _retry("InputInvalid", longest_s=600, initial_interval=timedelta(seconds=2))
"""A delivery of notices: tried again for as long as `DELIVERY_TOTAL`, unless there is no such destination any more."""
ROWS = _retry("ArtifactMissing", longest_s=10)
"""Activities of a batch: repeated without limit, except where rows are missing."""
MODEL = _retry(
    "ModelMisconfigured",
    "ModelRefused",
    "ArtifactMissing",
    longest_s=30,
    backoff_coefficient=3,
    maximum_attempts=6,
)
"""A question whose worker was lost is asked again at once; a provider that has failed is given half a minute in all."""


def browser_queue(base: str) -> str:
    """Queue of all workers that can open browsers."""
    return f"{base}-browser"


def batch_queue(base: str) -> str:
    """Queue of all workers that can read the rows of batches; none of its activities waits for a place."""
    return f"{base}-batch"


def notice_queue(base: str) -> str:
    """Queue of all workers that can tell people."""
    return f"{base}-notice"


def host_queue(base: str, host: str, build_id: str | None = None) -> str:
    """Queue of the workers of one host that have this version."""
    return f"{base}-host-{host}" + (f"-{build_id}" if build_id else "")


def model_queue(base: str) -> str:
    """Queue of all workers that can call models."""
    return f"{base}-model"


def never_began(error: ActivityError) -> bool:
    """Return whether a lost step certainly gave no input: no worker took it, or the worker said so."""
    match error.cause:
        case ActivityTimeout(type=TimeoutType.SCHEDULE_TO_START):
            return True
        case ApplicationError(details=details):
            return UNTOUCHED in details
        case _:
            return False


def is_loss(error: ActivityError) -> bool:
    """Return whether the worker or the browser was lost, as opposed to a step that failed."""
    match error.cause:
        case ActivityTimeout(type=TimeoutType.HEARTBEAT | TimeoutType.SCHEDULE_TO_START | TimeoutType.START_TO_CLOSE):
            return True
        case ApplicationError(type=kind):
            return kind in _LOST
        case _:
            return False


def has_no_place(error: ActivityError) -> bool:
    """Return whether no browser was available because every place is taken."""
    return isinstance(error.cause, ApplicationError) and error.cause.type == _NO_PLACE


def said(error: ActivityError) -> str:
    """Return the message of an activity's failure, without the type of its error."""
    return error.cause.message if isinstance(error.cause, ApplicationError) else str(error.cause or error)


def leaves_doubt(error: ActivityError) -> bool:
    """Return whether a commit activity with this failure may have dispatched its step."""
    match error.cause:
        case ApplicationError(type=kind):
            return kind not in _BEFORE_DISPATCH
        case _:
            return False

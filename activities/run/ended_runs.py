"""Runs that failed or healed, as notices: what Temporal lists of them, whoever ended them."""

import shlex
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from temporalio.client import Client, WorkflowExecution, WorkflowExecutionStatus
from temporalio.common import SearchAttributeKey
from temporalio.service import RPCError, RPCStatusCode

from activities.run.endings import end_of
from activities.skill.skill_runs import schedules_of
from replaywright.domain.batch.timetable import CANARY
from replaywright.domain.notice.notices import Notice, NoticeKind, run_page, session_cause
from replaywright.domain.run.commit_lines import commits_said
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.spending import BUDGET_SPENT
from replaywright.domain.run.standing import STATUSES, End
from replaywright.domain.site_session.commands import SIGN_IN_FAILED, SIGNS_IN, session_in
from replaywright.domain.skill.skills import SkillStatus
from replaywright.domain.task.questions import WAITS
from replaywright.domain.trace.saying import count
from replaywright.domain.trace.search_attributes import HEALS, NOTHING, SKILL
from replaywright.errors import StoreUnavailable
from replaywright.ports.stores import Skills

_SETTLE: Final = timedelta(seconds=3)
"""Time that a server may take to list a run that has ended."""
_ENDS: Final = {
    WorkflowExecutionStatus.FAILED,
    WorkflowExecutionStatus.TERMINATED,
    WorkflowExecutionStatus.TIMED_OUT,
}
_MESSAGE_LIMIT: Final = 600


async def ended_since(client: Client, skills: Skills, tenant: str, since: datetime) -> tuple[list[Notice], datetime]:
    """Return notices of the runs that ended after `since`, oldest first, and up to when that is known.

    Raises:
        StoreUnavailable: runs cannot be listed, or the knowledge base does not answer.
    """
    until = datetime.now(UTC) - _SETTLE
    if until <= since:
        return [], since
    query = (
        f"WorkflowType = 'BrowserTask' AND ExecutionStatus != 'ContinuedAsNew' "
        f"AND CloseTime > '{_moment(since)}' AND CloseTime <= '{_moment(until)}'"
    )
    notices: list[Notice] = []
    try:
        async for execution in client.list_workflows(query):
            if await execution.memo_value("tenant", default="") == tenant:
                notices += [notice async for notice in _notices_of(client, skills, tenant, execution, since)]
    except RPCError as exc:
        raise StoreUnavailable(f"Temporal does not list runs: {exc.message}") from exc
    return sorted(notices, key=lambda notice: notice.at), until


async def asks(client: Client, run_id: str, question: str) -> bool:
    """Tell whether the run still waits with this question.

    Raises:
        StoreUnavailable: Temporal does not say.
    """
    try:
        description = await client.get_workflow_handle(run_id).describe()
        open_question = await description.memo_value(WAITS, default="")
    except RPCError as exc:
        if exc.status is RPCStatusCode.NOT_FOUND:
            return False
        raise StoreUnavailable(f"Temporal does not say what {run_id} waits for: {exc.message}") from exc
    is_running = description.status is WorkflowExecutionStatus.RUNNING
    return is_running and isinstance(open_question, dict) and open_question.get("id") == question


async def _notices_of(
    client: Client, skills: Skills, tenant: str, execution: WorkflowExecution, since: datetime
) -> AsyncIterator[Notice]:
    heals = execution.typed_search_attributes.get(SearchAttributeKey.for_int(HEALS.name)) or 0
    has_failed = execution.status in _ENDS
    if not has_failed and not heals:
        return
    handle = client.get_workflow_handle(execution.id, run_id=execution.run_id, result_type=RunResult)
    end, result = await end_of(handle)
    task = await execution.memo_value("task", default="") or execution.id.partition("/")[0]
    skill = execution.typed_search_attributes.get(SearchAttributeKey.for_keyword(SKILL.name)) or NOTHING
    about = _About(tenant, task, execution, "" if skill == NOTHING else skill)
    if canary := await execution.memo_value(CANARY, default=""):
        yield about.canary(result, await schedules_of(client, tenant, canary))
    elif not has_failed:
        yield about.healed(result)
    elif end != "failed" or not await execution.memo_value(SIGNS_IN, default=""):  # the session tells of its own
        yield about.failed(end, result)
    name = canary or about.skill
    if has_failed and name and (notice := await _suspected(skills, name, about, since)) is not None:
        yield notice


class _About:
    """A run that has ended."""

    def __init__(self, tenant: str, task: str, execution: WorkflowExecution, skill: str) -> None:
        self.tenant = tenant
        self.skill = skill
        self._task = task
        self._run_id = execution.id
        self._id = execution.run_id
        self._at = execution.close_time or datetime.now(UTC)

    def failed(self, end: End, result: RunResult) -> Notice:
        kind = NoticeKind.BUDGET if result.reason == BUDGET_SPENT else NoticeKind.FAILED
        at = "" if result.failed_step is None else f" at step {result.failed_step + 1}"
        cause = f"{kind} {self._task} {end} {result.reason} {result.failed_step}"
        if result.reason == SIGN_IN_FAILED:  # as with the others that wait for that session
            cause = session_cause(session_in(result.message))
        said = f"{STATUSES[end].words}{at}: " if end in ("failed", "blocked") else ""
        title = f"{self._task}: {said}{result.message or result.reason}"
        commits = commits_said(result.commits)
        return self.notice(kind, cause, title[:_MESSAGE_LIMIT], (commits,) if commits else ())

    def canary(self, result: RunResult, schedules: Sequence[str]) -> Notice:
        at = "" if result.failed_step is None else f" at step {result.failed_step + 1}"
        said = f"failed{at}: {result.message or result.reason}"
        if result.succeeded:
            waits = "; what it took for them waits for a person" if result.held else ""
            said = f"found {count(result.totals.heals, 'element')} changed{waits}"
        next_ones = (f"next it would be met by: {', '.join(schedules)}",) if schedules else ()
        cause = f"canary {self._task} {result.reason} {result.failed_step}"
        return self.notice(NoticeKind.CANARY, cause, f"canary of {self._task} {said}"[:_MESSAGE_LIMIT], next_ones)

    def healed(self, result: RunResult) -> Notice:
        held = (f"{count(result.held, 'recording')} to promote or forget",) if result.held else ()
        title = f"{self._task}: {count(result.totals.heals, 'element')} had changed and was found all the same"
        return self.notice(NoticeKind.HEALED, f"healed {self._task}", title, held)

    def notice(self, kind: NoticeKind, cause: str, title: str, lines: tuple[str, ...], *, id_: str = "") -> Notice:
        return Notice(
            id=id_ or f"{self._id} {kind}",
            kind=kind,
            cause=cause,
            title=title,
            lines=lines,
            at=self._at,
            tenant=self.tenant,
            task=self._task,
            run_id=self._run_id,
            skill=self.skill,
            command=f"replaywright show {shlex.quote(self._run_id)}",
            page=run_page(self._run_id),
        )


async def _suspected(skills: Skills, name: str, about: _About, since: datetime) -> Notice | None:
    """Return the notice that the skill of a run has become suspect; None if it is not, or was so before."""
    record = await skills.record(about.tenant, name)
    if record is None or record.skill.status is not SkillStatus.SUSPECT:
        return None
    changes = [change for change in record.history if change.what == "suspected"]
    if not changes or changes[-1].at < (since - timedelta(minutes=1)).timestamp():
        return None
    change = changes[-1]
    return about.notice(
        NoticeKind.SUSPECT,
        f"suspect {name} {change.version}",
        f"the skill {name} is suspect: it is not recalled until it is restored or learned anew",
        (change.reason,) if change.reason else (),
        id_=f"suspect {name} {change.version} {change.at}",
    )


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

"""Resources that an ended run leaves for its successor, from its history: browser, epoch, checkpoints."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from replaywright.domain.run.commands import Reapply, StepCommand
from replaywright.domain.run.resuming import Resumption
from replaywright.domain.run.runs import RunInput, RunState
from replaywright.domain.session.sessions import SessionOpened, SessionRef
from replaywright.domain.step.checkpoints import Checkpoint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.histories import ActivityCall, calls_of
from replaywright.domain.trace.trace_file import History


def left_behind(histories: Sequence[History], before: RunInput, answered: Sequence[StepOutcome]) -> RunState:
    """Return the state that one run has left.

    Args:
        histories: histories of its executions, oldest first.
        before: input of the first execution.
        answered: outcomes in the ledger. A checkpoint is valid if the run took it after one of these steps.

    Returns:
        The browser that it did not close, its highest epoch, and its checkpoints.
    """
    calls = [call for history in histories for call in calls_of(history.events)]
    live: dict[str, SessionRef] = {}
    epochs = [1]
    for call in calls:
        given = _mapping(call.given)
        context = _mapping(given.get("context") or given.get("action")) or given
        epochs += [of["epoch"] for of in (given, _mapping(context.get("run"))) if isinstance(of.get("epoch"), int)]
        if call.activity_type in {"session.open", "session.recover"} and call.answer is not None:
            _remove(live, given.get("lost"))
            opened = SessionOpened.model_validate(call.answer).session
            live[opened.session_id] = opened
        elif call.activity_type == "session.close":
            _remove(live, given.get("session"))
    checkpoints, page_from = _checkpoints(calls, before, answered)
    session = list(live.values())[-1] if live else None
    return RunState(session=session, epoch=max(epochs), checkpoints=checkpoints, page_from=page_from)


def _checkpoints(
    calls: Iterable[ActivityCall], before: RunInput, answered: Sequence[StepOutcome]
) -> tuple[tuple[Checkpoint, ...], int]:
    """Return the checkpoints of answered steps, oldest first, and the start of the last one's document."""
    marks: dict[int, str] = {}
    taken = {one.position: one for one in before.state.checkpoints}
    page_from, page_of = before.state.page_from, {0: 0}
    for call in calls:
        if call.answer is None or call.given is None:
            continue
        if call.activity_type == "run.resume":
            found = Resumption.model_validate(call.answer)
            marks |= {at: one.fingerprint for at, one in enumerate(found.answered)}
            page_of[len(found.answered)] = page_from
        elif call.activity_type.startswith("browser."):
            command, outcome = StepCommand.model_validate(call.given).root, StepOutcome.model_validate(call.answer)
            asked = command.context
            if isinstance(command, Reapply) or asked.override or outcome.status is not Status.DONE:
                continue
            _keep(taken, outcome.checkpoint, asked.sequence, page_from)
            if outcome.moved or not outcome.effect.repeatable:
                page_from = asked.sequence + 1
            _keep(taken, outcome.checkpoint, asked.sequence + 1, page_from)
            marks[asked.sequence] = asked.fingerprint
            page_of[asked.sequence + 1] = page_from
    same = [
        one
        for position, one in sorted(taken.items())
        if 0 < position <= len(answered) and marks.get(position - 1) == answered[position - 1].fingerprint
    ]
    latest = max(at for at in page_of if at <= len(answered))  # skipped steps have no page of their own
    return tuple(same), page_of[latest]


def _keep(taken: dict[int, Checkpoint], one: Checkpoint | None, position: int, page_from: int) -> None:
    if one is not None and one.position == position:
        taken[position] = one.model_copy(update={"page_from": page_from})


def _remove(live: dict[str, SessionRef], session: Any) -> None:
    if session is not None:
        live.pop(SessionRef.model_validate(session).session_id, None)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

"""Reads what a keeper that has ended wrote of its operations."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from replaywright.domain.session.commit_gate import GateSeen, SentRequest
from replaywright.keeper.gate.departures import (
    AnswerLine,
    ArmLine,
    BeginLine,
    DepartureLine,
    EndLine,
    LeaveLine,
    MarkLine,
    departures_path,
    read_lines,
)
from replaywright.ports.keepers import LeftBehind


def left_behind(sessions_dir: Path, session_id: str, op_id: str, epoch: int) -> LeftBehind:
    """Return what is certain of an operation; see the port `Keepers`."""
    match read_lines(departures_path(sessions_dir, session_id)):
        case [BeginLine(has_ended=True, session_id=owner), *lines] if owner == session_id:
            return _read(lines, op_id, epoch)
    return LeftBehind()


def _read(lines: list[DepartureLine], op_id: str, epoch: int) -> LeftBehind:
    seen: GateSeen | None = None
    sent: dict[int, SentRequest] = {}
    is_current = is_unseen = False
    for line in lines:
        match line:
            case ArmLine():
                is_current = (line.op_id, line.epoch) == (op_id, epoch)
                if is_current:
                    seen, sent = GateSeen(op_id, epoch, "armed", is_closed=True, note=line.note), {}
                    is_unseen = False
            case LeaveLine() if is_current and seen is not None:
                phase = "permitted" if seen.phase == "armed" else seen.phase
                seen = replace(seen, phase=phase, bytes_up=seen.bytes_up + line.size)
                sent[line.connection] = SentRequest(
                    line.method, line.url, line.at, line.status, line.answered_at, is_safe=line.is_safe
                )
            case AnswerLine() if line.connection in sent:
                sent[line.connection] = replace(sent[line.connection], status=line.status, answered_at=line.at)
            case EndLine() if line.connection in sent:
                sent[line.connection] = replace(sent[line.connection], ended_at=line.at)
            case MarkLine(what="unseen") if is_current:
                is_unseen = True
            case MarkLine(what="cut") if is_current and seen is not None:
                seen = replace(seen, phase="cut")
            case MarkLine(what="disarmed") if is_current and seen is not None:
                # What came after was not held, and is not written: only a gate that had been cut tells of it.
                seen, is_current = replace(seen, phase="disarmed", is_closed=seen.phase == "cut"), False
            case MarkLine(what="full") if is_current or seen is None:
                return LeftBehind()
    departed = tuple(sent.values()) if is_unseen else _without_known_tunnels(sent.values())
    return LeftBehind(known=True, seen=None if seen is None else replace(seen, sent=departed))


def _without_known_tunnels(sent: Iterable[SentRequest]) -> tuple[SentRequest, ...]:
    """Leave out the tunnels of which the requests inside are known."""
    known = {urlsplit(one.url).netloc for one in sent if one.method and one.url.startswith("https:")}
    return tuple(one for one in sent if one.method or urlsplit(one.url).netloc.removesuffix(":443") not in known)

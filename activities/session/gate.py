"""A session's gate as one epoch leaves it to the next: named operations, their notes, and what is still held."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from replaywright.domain.run.commands import StepContext
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.ports.keepers import CommitGate

SETTLE_S = 2.0
"""A page that has sent nothing for so long since the gate was armed is not waited for any more."""
WATCHED = "watched"
"""Note of an operation without an intent: of a press that a model chose, and that may be repeated."""


def operation_of(context: StepContext) -> str:
    """Return the keeper's name of this step; the epoch tells its attempts apart."""
    return f"{context.run.lineage}/{context.fingerprint}"


def held_before(seen: GateSeen) -> tuple[int, ...] | None:
    """Return which expectations held before the attempt that armed the gate; None if its note does not say."""
    before = _noted(seen).get("before")
    return None if before is None else tuple(before)


def acted_in(seen: GateSeen) -> str:
    """Return the document in which the attempt that armed the gate acted; empty if its note does not say."""
    return str(_noted(seen).get("document", ""))


def _noted(seen: GateSeen) -> dict[str, Any]:
    noted: dict[str, Any] = json.loads(seen.note) if seen.note not in ("", WATCHED) else {}
    return noted


async def settled(gate: CommitGate, stop_loading: Callable[[], Awaitable[bool]]) -> GateSeen | None:
    """Decide what an earlier epoch left at the gate, before anybody attaches; None when that was nothing.

    Bytes of which some have left are on their way, and the page will show what came of it. Otherwise nothing leaves any
    more: the page is stopped first, so that it stays as it is, and the gate stays closed until `disarm`.
    """
    seen = await gate.pending()
    if seen is None or (seen.bytes_up and (seen.phase == "permitted" or not seen.held)):
        return seen
    if seen.phase == "armed" and not seen.held and seen.armed_for_s < SETTLE_S:
        await gate.wait_held(seen.op_id, int((SETTLE_S - seen.armed_for_s) * 1000))
    await stop_loading()
    return await gate.cut(seen.op_id)


async def reopened(gate: CommitGate, seen: GateSeen, stop_loading: Callable[[], Awaitable[bool]]) -> None:
    """Open the gate again once somebody is attached; Chromium repeats by itself what was cut, until it is stopped.

    Where all was thrown away it stays closed: the page may repeat by a timer of its own, and nobody acts in it again.
    """
    if seen.nothing_left and seen.note != WATCHED:
        return
    if seen.is_closed:
        await stop_loading()
    await gate.disarm(seen.op_id)

"""What an earlier attempt left at the gate: waited for, stopped, cut, and told apart from other attempts."""

import asyncio
import time
from dataclasses import replace
from typing import cast

import pytest

from activities.session.gate import held_before, reopened, settled
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.keeper.gate.black_box import BlackBox
from replaywright.keeper.gate.commit_gate import LocalCommitGate
from replaywright.keeper.gate.gate import Gate
from replaywright.keeper.host.client import KeeperClient
from replaywright.testing.gate import FakeCommitGate, FakeGate


async def armed(*, held: bool = False, armed_for_s: float = 60.0) -> tuple[FakeGate, FakeCommitGate]:
    """A gate that an attempt of epoch 1 armed, and that one of epoch 2 finds."""
    gate = FakeGate()
    await FakeCommitGate(gate, 1).arm("send", within_ms=1000, hold_safe=False)
    assert gate.current is not None
    gate.current = replace(gate.current, armed_for_s=armed_for_s, held=int(held))
    gate.operations["send", 1] = gate.current
    return gate, FakeCommitGate(gate, 2)


class Page:
    """A page whose loads are stopped, and what the gate was in when that happened."""

    def __init__(self, gate: FakeGate) -> None:
        self._gate = gate
        self.stopped_at: list[str] = []

    async def stop(self) -> bool:
        self.stopped_at.append("open" if self._gate.current is None else self._gate.current.phase)
        return True


async def test_a_page_that_has_sent_nothing_yet_is_waited_for_before_its_gate_is_cut() -> None:
    gate, mine = await armed(armed_for_s=0.0)
    page = Page(gate)

    settling = asyncio.create_task(settled(mine, page.stop))
    sending = asyncio.create_task(gate.passes())
    left = await sending
    seen = await settling

    assert left is False
    assert seen is not None
    assert gate.operations["send", 1].held_at is not None
    assert (seen.is_closed, page.stopped_at) == (True, ["armed"])


async def test_a_page_is_stopped_before_its_bytes_are_cut_and_its_gate_stays_closed() -> None:
    gate, mine = await armed(held=True)
    page = Page(gate)

    seen = await settled(mine, page.stop)
    assert seen is not None
    await reopened(mine, seen, page.stop)

    assert page.stopped_at == ["armed"]
    assert gate.current is not None
    assert gate.current.nothing_left


async def test_a_page_of_which_something_had_left_is_stopped_again_before_its_gate_opens() -> None:
    gate, mine = await armed(held=True)
    page = Page(gate)
    async with gate.changed:
        await gate.tell(bytes_up=1)

    seen = await settled(mine, page.stop)
    assert seen is not None
    await reopened(mine, seen, page.stop)

    assert page.stopped_at == ["armed", "cut"]
    assert gate.current is None


async def test_the_gate_in_memory_tells_answers_and_refuses_repetitions_as_the_real_one_does() -> None:
    gate = FakeGate()
    mine = FakeCommitGate(gate, 1)
    await mine.arm("send", within_ms=1000, hold_safe=False, once=True)
    await mine.permit("send")

    answered = await gate.passes(), await mine.recall("send", 1)
    repeated = await gate.passes(), await mine.recall("send", 1)
    mute = await gate.passes(url="http://site.example/other", status=0), await mine.recall("send", 1)

    assert [left for left, _ in (answered, repeated, mute)] == [True, False, True]
    told = [seen for _, seen in (answered, repeated, mute) if seen is not None]
    assert [(len(seen.sent), seen.repeated, seen.in_flight) for seen in told] == [
        (1, 0, False),
        (1, 1, False),
        (2, 1, True),
    ]


class Asked:
    """A keeper's answers to questions about operations."""

    def __init__(self, *operations: GateSeen) -> None:
        self.operations = operations

    async def black_box(self, _op_id: str) -> "Asked":
        return self


async def test_the_black_box_tells_the_attempts_of_a_step_apart() -> None:
    gate = Gate(BlackBox())
    gate.arm("send", 1, 5000)
    gate.cut("send")
    gate.disarm("send")
    gate.arm("send", 3, 5000, note='{"before": [0]}')
    keeper = Asked(*gate.operations("send"))
    mine = LocalCommitGate(cast(KeeperClient, keeper), 4)

    first, second, third = [await mine.recall("send", epoch) for epoch in (1, 2, 3)]

    assert first is not None
    assert third is not None
    assert (first.epoch, first.is_closed, second, third.epoch, third.is_closed) == (1, True, None, 3, False)
    assert (first.note, third.note, held_before(third)) == ("", '{"before": [0]}', (0,))


# ------------------------------------------------------------------------------------------------- clocks


def test_a_gate_whose_time_is_up_cuts_whatever_the_clock_on_the_wall_says(monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(BlackBox())
    gate.arm("send", 1, 60_000)

    monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)  # the year 2096
    gate.check_deadlines()
    stepped = gate.operations("send")[0].phase
    monkeypatch.setattr("replaywright.keeper.clock.lease_now_s", lambda: time.clock_gettime(time.CLOCK_BOOTTIME) + 61)
    gate.check_deadlines()

    assert (stepped, gate.operations("send")[0].phase) == ("armed", "cut")

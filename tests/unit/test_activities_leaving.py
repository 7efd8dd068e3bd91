"""Pages are left before their browser is closed, and what they send then is waited for."""

from dataclasses import replace

import pytest

from activities.session import leaving
from replaywright.domain.session.commit_gate import GateSeen, SentRequest
from replaywright.testing.browser import FakeBrowserSession
from replaywright.testing.gate import FakeCommitGate, FakeGate
from tests.unit.staged import SESSION, Stage

BEACON = SentRequest("POST", "https://mail.example/send", sent_at=1.0)
ANSWERED = replace(BEACON, status=202, answered_at=2.0)


class TellingGate(FakeCommitGate):
    """A gate whose keeper tells one thing after the other, and the last one for ever."""

    def __init__(self, told: list[GateSeen]) -> None:
        super().__init__(FakeGate(), 1)
        self.told = told
        self.looks = 0

    async def wait_held(self, op_id: str, timeout_ms: int) -> GateSeen:
        """What comes next."""
        self.looks += 1
        return self.told[min(self.looks, len(self.told)) - 1]


def seen(*sent: SentRequest, awaited: int | None = None) -> GateSeen:
    return GateSeen("op", 1, "permitted", sent=sent, awaited=awaited)


async def left(told: list[GateSeen]) -> tuple[bool, int]:
    """Whether all was answered in time, and how often the keeper was asked."""
    held = await Stage().attachments.hold(SESSION, 1)
    assert isinstance(held.browser, FakeBrowserSession)
    gate = TellingGate(told)
    is_left = await leaving.leave_pages(held.browser, gate)
    return is_left, gate.looks


async def test_what_pages_send_as_they_are_left_is_waited_for_until_it_is_answered() -> None:
    told = [seen(), seen(awaited=1), seen(BEACON, awaited=1), seen(ANSWERED, awaited=0)]

    assert await left(told) == (True, 5)


async def test_where_the_browser_does_not_tell_a_tunnel_stands_for_what_is_inside() -> None:
    tunnel = SentRequest("", "https://mail.example:443", sent_at=1.0)

    assert await left([seen(tunnel), seen(tunnel), seen()]) == (True, 4)
    assert await left([seen(tunnel, awaited=0)]) == (True, 2)


async def test_it_is_not_waited_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "LEFT_MS", 0)

    assert (await left([seen(awaited=1)]))[0] is False

"""Requests and webhooks that are sent many times at once to a receiver that is killed again and again."""

import argparse
import asyncio
import contextlib
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx
from temporalio.client import WorkflowFailureError

from bench.team.part import Figures, Tell, Wanted, count
from bench.team.receiver import NAME, Receiver, received
from bench.team.stages import learned
from replaywright.cli.runs.follow import handle_of
from replaywright.cli.runs.starting import Order
from tests.e2e.lab import Lab

WANTED: Mapping[str, Wanted] = {"double_starts": 0, "lost_starts": 0}
_TIMES = 8
"""Requests with one key, beside those that are repeated for want of an answer."""
_LIFE_S = (0.5, 4.0)
"""Time that the receiver lives, at least and at most."""
_AGAIN_S = (0.05, 0.5)
_LATE_S = 30.0
"""Time over which the repetitions of a request are spread."""


@dataclass
class Caller:
    """What one idempotency key asked for, and the runs that it was told of."""

    order: Order
    key: str
    is_hook: bool
    runs: set[str] = field(default_factory=set)
    sent: int = 0


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of this part."""
    group.add_argument("--starts", type=count, default=20, help="idempotency keys (default: %(default)s)")


async def measured_by(given: argparse.Namespace, tell: Tell) -> Figures:
    """Use as many keys as the options say; return the figures."""
    async with learned() as lab:
        return await measured(lab, given.starts, _TIMES, tell)


async def measured(lab: Lab, keys: int, times: int, tell: Callable[[str], None]) -> dict[str, int]:
    """Send each of so many keys so many times, half of them as webhooks; return the figures."""
    callers = [Caller(lab.order(), uuid.uuid4().hex, is_hook=bool(number % 2)) for number in range(keys)]
    drawn = random.Random(keys)
    async with received(lab, lab.stage.home / f"starts-{uuid.uuid4().hex[:6]}") as receiver:
        killing = asyncio.create_task(_killed_again_and_again(receiver, drawn))
        try:
            sending = (_sent(receiver, caller, drawn) for caller in callers for _ in range(times))
            await asyncio.gather(*sending)
        finally:
            killing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await killing
        kills = receiver.starts - 1
    for run_id in sorted(set().union(*(caller.runs for caller in callers))):
        with contextlib.suppress(WorkflowFailureError):
            await handle_of(lab.place.client, run_id).result()
    mails = [len(lab.mails(caller.order)) for caller in callers]
    tell(f"{keys} keys sent {sum(caller.sent for caller in callers)} times, the receiver killed {kills} times")
    return {
        "starts": keys,
        "start_requests": sum(caller.sent for caller in callers),
        "receiver_kills": kills,
        "double_starts": sum(len(caller.runs) > 1 or count > 1 for caller, count in zip(callers, mails, strict=True)),
        "lost_starts": sum(not count for count in mails),
    }


async def _killed_again_and_again(receiver: Receiver, drawn: random.Random) -> None:
    while True:
        await asyncio.sleep(drawn.uniform(*_LIFE_S))
        await receiver.kill()
        await receiver.begin()


async def _sent(receiver: Receiver, caller: Caller, drawn: random.Random) -> None:
    """Send one request, and send it again until the receiver has answered it."""
    await asyncio.sleep(drawn.uniform(0, _LATE_S))
    async with httpx.AsyncClient(base_url=receiver.url, timeout=30, trust_env=False) as client:
        while True:
            caller.sent += 1
            try:
                answer = await _asked(client, receiver, caller)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code in (200, 202):
                caller.runs.add(answer.json()["runId"])
                return
            if answer is not None and answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                raise RuntimeError(f"the receiver answered {answer.status_code}: {answer.text}")
            await asyncio.sleep(drawn.uniform(*_AGAIN_S))


async def _asked(client: httpx.AsyncClient, receiver: Receiver, caller: Caller) -> httpx.Response:
    values = dict(caller.order.values)
    if caller.is_hook:
        body, headers = receiver.signed({"data": values}, f"msg_{caller.key}")
        return await client.post(f"/hook/{NAME}", content=body, headers=headers)
    headers = {"Authorization": f"Bearer {receiver.token}", "Idempotency-Key": caller.key}
    return await client.post(f"/run/{NAME}", json={"values": values}, headers=headers)

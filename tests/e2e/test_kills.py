"""SIGKILL of the worker at every step boundary and inside every step of the demo's flow; the site is the judge."""

import os
import signal

import pytest

from replaywright.keeper.host.client import KeeperClient
from tests.e2e.lab import Lab, until

STEPS = 10
SEND = 9

pytestmark = pytest.mark.slow


async def assert_survived(lab: Lab, point: str, sequence: int) -> None:
    """A worker that is killed at the point, and a fresh one after it: finished, one mail, nobody asked."""
    order = lab.order()
    await lab.frozen_at(lab.stage.worker, point.replace("bytes_out", "permitted"), sequence, order)
    if point == "bytes_out":
        await until("the mail has arrived", lambda: lab.mails(order) != [])
    await lab.replace_worker()

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
    assert await lab.performed(order) == dict.fromkeys(range(STEPS), 1)
    assert await lab.audited(order) == ()


@pytest.mark.long
@pytest.mark.parametrize("sequence", range(STEPS))
async def test_killed_after_a_step_was_recorded_it_is_not_performed_again(lab: Lab, sequence: int) -> None:
    await assert_survived(lab, "recorded", sequence)


@pytest.mark.long
@pytest.mark.parametrize("sequence", range(STEPS))
async def test_killed_inside_a_step_the_run_finishes_with_one_mail(lab: Lab, sequence: int) -> None:
    await assert_survived(lab, "acted", sequence)


def others(*points: str) -> list[object]:
    """Points that belong to the long form."""
    return [pytest.param(point, marks=pytest.mark.long) for point in points]


@pytest.mark.parametrize(
    "point", ["held", *others("bytes_out", "start", "located", "armed", "intended", "dispatched", "permitted")]
)
async def test_killed_inside_the_send_step_while_the_keeper_lives_one_mail_is_sent_and_nobody_is_asked(
    lab: Lab, point: str
) -> None:
    await assert_survived(lab, point, SEND)


@pytest.mark.long
async def test_a_worker_that_wakes_up_with_its_bytes_still_held_lets_nothing_go(lab: Lab) -> None:
    zombie = lab.stage.worker
    order = lab.order()
    await lab.frozen_at(zombie, "dispatched", SEND, order)
    session = await lab.session()
    os.killpg(zombie.pid, signal.SIGSTOP)
    await lab.stage.start_worker()

    async def has_gone_on() -> bool:
        async with await KeeperClient.connect(session.socket_path) as keeper:
            return (await keeper.status()).epoch > 1

    await until("another worker has taken over", has_gone_on)
    lab.thaw(zombie)
    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)

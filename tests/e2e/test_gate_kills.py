"""SIGKILL of the worker at every point of a commit step while the keeper lives: one mail, and nobody is asked."""

import os
import signal

import pytest

from replaywright.keeper.client import KeeperClient
from tests.e2e.lab import Lab, until

SEND = 9
STEPS = 10

pytestmark = pytest.mark.slow


async def assert_survived(lab: Lab, point: str) -> None:
    order = lab.order()
    await lab.frozen_at(lab.stage.worker, point.replace("bytes_out", "permitted"), SEND, order)
    if point == "bytes_out":
        await until("the mail has arrived", lambda: lab.mails(order) != [])
    await lab.replace_worker()

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
    performed = await lab.performed(order)
    assert (set(performed), set(performed.values())) == (set(range(STEPS)), {1})


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("located", marks=pytest.mark.long),
        pytest.param("armed", marks=pytest.mark.long),
        pytest.param("intended", marks=pytest.mark.long),
        "held",
        pytest.param("dispatched", marks=pytest.mark.long),
        pytest.param("permitted", marks=pytest.mark.long),
        "bytes_out",
        pytest.param("acted", marks=pytest.mark.long),
        pytest.param("recorded", marks=pytest.mark.long),
    ],
)
async def test_killed_inside_a_commit_step_while_the_keeper_lives_one_mail_is_sent_and_nobody_is_asked(
    lab: Lab, point: str
) -> None:
    await assert_survived(lab, point)


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

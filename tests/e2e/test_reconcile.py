"""Worker, keeper and browser are all gone in the middle of sending: the site itself is asked what became of it."""

import os
import signal
from collections.abc import AsyncIterator

import pytest

from tests.e2e.lab import Lab, until

SEND = 9

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
async def _up_to_date_again(lab: Lab) -> AsyncIterator[None]:
    yield
    await lab.stage.lag_behind(0)


@pytest.mark.parametrize(
    "point",
    [
        "bytes_out",
        *(
            pytest.param(point, marks=pytest.mark.long)
            for point in (
                "start",
                "located",
                "armed",
                "intended",
                "held",
                "dispatched",
                "permitted",
                "acted",
                "recorded",
            )
        ),
    ],
)
async def test_with_everything_gone_the_site_says_whether_it_was_sent_and_nobody_is_asked(lab: Lab, point: str) -> None:
    order = lab.order()
    await lab.frozen_at(lab.stage.worker, point.replace("bytes_out", "permitted"), SEND, order)
    if point == "bytes_out":
        await lab.stage.lag_behind(900)
        await until("the mail has arrived", lambda: lab.mails(order) != [])
    session = await lab.session()
    os.kill(session.keeper.pid, signal.SIGKILL)
    await lab.replace_worker()

    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    lab.assert_one_right_mail(order)
    decided = [line.get("resolved") for line in await lab.trace(order) if line.get("reason") == "resolved"]
    assert point != "bytes_out" or decided == ["the site shows it (reconcile)"]
    assert await lab.audited(order) == ()

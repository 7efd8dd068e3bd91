"""An activity that is busy is not taken for one whose worker is dead."""

import asyncio
from datetime import timedelta

from temporalio.testing import ActivityEnvironment

from activities import heartbeats as module
from activities.heartbeats import heartbeats
from workflows import policies


async def test_a_step_that_waits_for_its_page_goes_on_to_report_that_it_lives() -> None:
    beats: list[object] = []
    enough = asyncio.Event()
    environment = ActivityEnvironment()

    def heard(*details: object) -> None:
        beats.append(details)
        if len(beats) >= 3:
            enough.set()

    environment.on_heartbeat = heard

    async def busy() -> None:
        async with heartbeats("step 1"):
            await enough.wait()

    await environment.run(busy)

    assert beats[:3] == [("step 1",)] * 3
    assert timedelta(seconds=module.BEAT_S * 5) <= policies.HEARTBEAT

"""Temporal's own UI in a real browser: what people see of runs there. The activities are scripted, all else is real."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from temporalio.client import Client

from replaywright.cli.runs.options import OnFailure
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.connect import Backend
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import Lookup, StepOutcome
from replaywright.settings import Settings
from replaywright.stack.processes import free_port
from replaywright.stack.temporal import DevServer, TemporalServer
from tests.e2e.temporal_ui import temporal_ui, text_of
from tests.workflows.scripted import Script, done, missed, run_of, scripted, waiting
from workflows.plugin import WorkflowPlugin

pytestmark = pytest.mark.slow

TASK = run_of(
    {"action": "goto", "url": "http://shop.example/"},
    {"action": "fill", "instruction": "the name field", "value": "<img src=x onerror=alert(1)>"},
    {"action": "click", "instruction": "the [order](http://evil.example/) button", "effect": "commit"},
    goal="Order what is in the [basket](http://evil.example/)",
).task


@pytest.fixture
async def temporal(temporal_binary: Path, tmp_path: Path) -> AsyncIterator[TemporalServer]:
    server = await DevServer(temporal_binary, log=tmp_path / "temporal.log", ui_port=free_port()).start()
    yield server
    await server.child.stop()


def healed_then_gone(request: CommandOnStep, _call: int) -> StepOutcome:
    """The field is healed; the button is there for runs that may learn only."""
    if request.context.sequence == 1:
        lookup = Lookup(hit=True, tier="similarity", healed=True, score=0.91, entry_version=3)
        return done(request, lookup=lookup, ahead='button "Order"')
    return (
        done(request) if request.context.sequence == 0 or request.context.run.mode is Mode.AUTO else missed("not_found")
    )


async def test_people_see_what_a_run_does_how_it_is_answered_and_find_those_that_healed(
    temporal: TemporalServer, chromium_path: Path, pictures: Path
) -> None:
    client = await Client.connect(temporal.address, plugins=[WorkflowPlugin()])
    async with scripted(client, Script(perform=healed_then_gone)) as queue:
        place = Backend(client, Settings(temporal_address=temporal.address), "configured", served_by=queue)
        await (await start(place, Order(TASK, {}, "order/healed"))).result()
        asks = Order(TASK, {}, "order/waiting", mode=Mode.REPLAY, on_failure=OnFailure.ASK)
        await waiting(await start(place, asks))

        async with temporal_ui(temporal.ui_url or "", chromium_path) as ui:
            async with ui.run("order/waiting", "User Metadata", shows="Waiting for a person") as page:
                metadata = await text_of(page)
                lured = "a[href*='evil.example'], img[src=x]"
                links = sum([await frame.locator(lured).count() for frame in page.frames])
                await page.screenshot(path=pictures / "waiting.png", full_page=True)
            async with ui.run("order/healed", "Search Attributes", shows="BrowserHeals") as page:
                attributes = await text_of(page)
                await page.screenshot(path=pictures / "attributes.png")
            async with ui.run("order/healed", "Timeline", shows="0003 click") as page:
                timeline = await text_of(page)
                await page.screenshot(path=pictures / "timeline.png", full_page=True)
            async with ui.runs("`BrowserHeals` > 0 AND `BrowserStatus` = 'done'", shows="order/healed") as page:
                found = await text_of(page)
                await page.screenshot(path=pictures / "list.png")

    assert "Order what is in the [basket]" in metadata
    assert "site: shop.example" in metadata
    assert "step 3 of 3" in metadata
    assert "healed · similarity 0.91" in metadata
    assert "replaywright answer order/waiting retry" in metadata
    assert links == 0
    assert all(said in attributes for said in ('"BrowserHeals": 1', '"BrowserStatus": "done"', '"shop.example"'))
    assert 'replays button "Order"' in timeline
    assert "order/waiting" not in found

"""A wrong click is worse than no click: pages on which a recording must not be acted on."""

from collections.abc import AsyncIterator

import pytest

from replaywright.cli.run import Order
from replaywright.domain.runs import Mode
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
async def _classic_again(lab: Lab) -> AsyncIterator[None]:
    yield
    await lab.stage.redesign("classic")


async def last_lookup(lab: Lab, order: Order) -> dict[str, object]:
    lines = [line for line in await lab.trace(order) if line["kind"] == "step"]
    assert lines[-1]["status"] == "missed"
    lookup: dict[str, object] = lines[-1]["lookup"]
    return lookup


async def test_two_equal_send_buttons_are_a_miss_with_reason_ambiguous_and_no_click(lab: Lab) -> None:
    await lab.stage.redesign("twins")
    order = lab.order(mode=Mode.REPLAY)

    ending = await lab.run(order)

    assert ending.status == "failed"
    assert ending.result.reason == "ambiguous"
    assert ending.result.failed_step == 9
    assert (await last_lookup(lab, order))["reason"] == "ambiguous"
    assert lab.mails(order) == []


async def test_with_a_model_two_equal_send_buttons_are_still_not_clicked(lab: Lab) -> None:
    await lab.stage.redesign("twins")
    order = lab.order()

    ending = await lab.run(order)

    assert ending.status == "failed"
    assert lab.mails(order) == []


async def test_an_xpath_and_id_that_now_lead_to_another_control_are_not_clicked(lab: Lab) -> None:
    await lab.stage.redesign("identity-swap")
    before = await lab.stage.state()
    order = lab.order(mode=Mode.REPLAY)

    ending = await lab.run(order)

    after = await lab.stage.state()
    assert (after["discarded"], after["drafts"]) == (before["discarded"], before["drafts"])
    assert len(lab.mails(order)) == (1 if ending.status == "done" else 0)

"""SIGKILL of the worker at every step boundary and inside every step of the demo's flow; the site is the judge."""

from pathlib import Path

import pytest

from replaywright.cli.run import start
from replaywright.domain.runs import PersonVerdict
from tests.e2e.lab import Lab, armed

STEPS = 10
SEND = 9

pytestmark = pytest.mark.slow


async def killed_at(lab: Lab, point: str, sequence: int, folder: Path) -> None:
    """Run with a worker that dies at the point, and a fresh one after it: finished, one mail, nothing done twice."""
    await lab.replace_worker(**armed(point, sequence, folder))
    order = lab.order()
    await start(lab.stage.place, order)
    await lab.stage.worker_ended()
    await lab.stage.start_worker()

    ending = await lab.follow(order)
    if ending.status == "waiting":
        assert sequence == SEND, "only a commit step may wait for a person"
        verdict = PersonVerdict(
            sequence=SEND, verdict="done" if lab.mails(order) else "not_done", who="the test", why="the site's store"
        )
        await lab.handle(order).execute_update("resolve_step", verdict)
        ending = await lab.follow(order)

    assert (folder / f"fired-{point}-{sequence}").exists()
    assert ending.status == "done", ending
    assert len(lab.mails(order)) == 1
    performed = await lab.performed(order)
    assert set(performed.values()) == {1}
    assert set(performed) | {SEND} == set(range(STEPS))


@pytest.mark.parametrize("sequence", range(STEPS))
async def test_killed_after_a_step_was_recorded_it_is_not_performed_again(
    lab: Lab, sequence: int, tmp_path: Path
) -> None:
    await killed_at(lab, "recorded", sequence, tmp_path)


@pytest.mark.parametrize("sequence", range(STEPS))
async def test_killed_inside_a_step_the_run_finishes_with_one_mail(lab: Lab, sequence: int, tmp_path: Path) -> None:
    await killed_at(lab, "acted", sequence, tmp_path)


@pytest.mark.parametrize("point", ["start", "located", "intended"])
async def test_killed_before_the_send_button_is_clicked_one_mail_is_sent(lab: Lab, point: str, tmp_path: Path) -> None:
    await killed_at(lab, point, SEND, tmp_path)

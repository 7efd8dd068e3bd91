"""SIGKILL of the worker at every step boundary and inside every step of the demo's flow; the site is the judge."""

import pytest

from tests.e2e.lab import Lab

STEPS = 10
SEND = 9

pytestmark = pytest.mark.slow


async def assert_survived(lab: Lab, point: str, sequence: int) -> None:
    """A worker that is killed at the point, and a fresh one after it: finished, one mail, nothing done twice."""
    order = lab.order()
    await lab.killed_at(point, sequence, order)

    ending = await lab.follow(order)
    if ending.status == "waiting":
        assert sequence == SEND, "only a commit step may wait for a person"
        ending = await lab.with_person(order)

    assert ending.status == "done", ending
    lab.assert_one_right_mail(order)
    performed = await lab.performed(order)
    assert set(performed.values()) == {1}
    assert set(performed) | {SEND} == set(range(STEPS))
    assert await lab.audited(order) == ()


def at(*short: int) -> list[object]:
    """Every step; those that are not named belong to the long form."""
    return [n if n in short else pytest.param(n, marks=pytest.mark.long) for n in range(STEPS)]


@pytest.mark.parametrize("sequence", at(0, 4, SEND))
async def test_killed_after_a_step_was_recorded_it_is_not_performed_again(lab: Lab, sequence: int) -> None:
    await assert_survived(lab, "recorded", sequence)


@pytest.mark.parametrize("sequence", at(2, 7, SEND))
async def test_killed_inside_a_step_the_run_finishes_with_one_mail(lab: Lab, sequence: int) -> None:
    await assert_survived(lab, "acted", sequence)


@pytest.mark.parametrize("point", [pytest.param("start", marks=pytest.mark.long), "located", "intended"])
async def test_killed_before_the_send_button_is_clicked_one_mail_is_sent(lab: Lab, point: str) -> None:
    await assert_survived(lab, point, SEND)

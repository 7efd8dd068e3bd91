"""Which runs the chaos programme makes, and what it makes of them."""

import pytest

from bench.chaos.points import ALL_BEHAVIOURS, ALL_FAULTS, ALL_POINTS, Cell, known, programme
from bench.chaos.report import figures
from bench.chaos.runs import Status, Told
from bench.message_site.behaviours import ALL


def told(status: Status, *presses: str, behaviour: str = "form", fired: bool = True, in_vain: bool = False) -> Told:
    cell = Cell("held", "worker", ALL[behaviour], 0, 1)
    return Told(cell, "n-1", fired=fired, status=status, presses=presses, waited_in_vain=in_vain)


def test_the_whole_matrix_is_935_runs_each_pair_five_times() -> None:
    cells = programme(7, 935)

    pairs = [(cell.point, cell.fault) for cell in cells]
    assert len(ALL_POINTS) * len(ALL_FAULTS) == 187
    assert {pairs.count(pair) for pair in set(pairs)} == {5}
    assert len(set(cells)) == 935


@pytest.mark.parametrize("seed", range(20))
def test_seventeen_runs_touch_every_point_and_every_fault(seed: int) -> None:
    cells = programme(seed, 17)

    assert {cell.point for cell in cells} == set(ALL_POINTS)
    assert {cell.fault for cell in cells} == set(ALL_FAULTS)


def test_more_faults_than_points_are_all_touched_too() -> None:
    cells = programme(3, 11, points=("held", "acted"))

    assert {cell.fault for cell in cells} == set(ALL_FAULTS)
    assert {cell.point for cell in cells} == {"held", "acted"}


@pytest.mark.parametrize("seed", range(7))
def test_every_behaviour_meets_every_point_and_every_fault_when_every_pair_is_run_once(seed: int) -> None:
    cells = programme(seed, 187)

    names = {cell.behaviour.name for cell in cells}
    assert names == set(ALL_BEHAVIOURS)
    for at in ("point", "fault"):
        met = {(cell.behaviour.name, getattr(cell, at)) for cell in cells}
        assert len(met) == len(names) * len({getattr(cell, at) for cell in cells})


def test_a_pair_meets_another_behaviour_in_each_round() -> None:
    cells = [cell for cell in programme(7, 935) if (cell.point, cell.fault) == ("held", "worker")]

    assert len({cell.behaviour for cell in cells}) == len(cells) == 5


def test_a_run_that_is_played_again_alone_draws_what_it_drew_before() -> None:
    wanted = next(cell for cell in programme(9, 300) if cell.round == 1)

    again = programme(9, 2, points=[wanted.point], faults=[wanted.fault], behaviours=[wanted.behaviour.name])[1]

    assert again == wanted
    assert again.drawn.random() == wanted.drawn.random()


def test_an_unknown_point_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"--points: 'helt' is no point; there are located, intended, given"):
        known("point", "held,helt", ALL_POINTS)


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (told("done", "a"), "done"),
        (told("done", "a", "b"), "DUPLICATE"),
        (told("done", "a", "a"), "DUPLICATE"),
        (told("done", "a", "a", behaviour="twice"), "done"),
        (told("done", "a", "b", behaviour="twice"), "DUPLICATE"),
        (told("failed", "a", "b"), "DUPLICATE, MISREPORTED"),
        (told("done"), "FALSE SUCCESS"),
        (told("failed"), "LOST"),
        (told("failed", "a"), "MISREPORTED"),
        (told("stuck", "a"), "STUCK"),
        (told("not_fired", fired=False), "NOT FIRED"),
        (told("done", "a", in_vain=True), "WAITED IN VAIN"),
    ],
)
def test_what_breaks_the_promise_is_told_by_its_name(one: Told, verdict: str) -> None:
    assert one.verdict == verdict
    assert one.is_bad == (verdict != "done")


def test_the_last_line_counts_what_was_planned_and_what_fired() -> None:
    line = figures(3, [told("done", "a"), told("done", "a", "b"), told("not_fired", fired=False)], 12.0)

    assert (line["planned"], line["fired"], line["runs"]) == (3, 2, 3)
    assert (line["duplicates"], line["lost"], line["false_successes"], line["stuck"]) == (1, 0, 0, 0)
    assert line["behaviours"] == {"form": 2}

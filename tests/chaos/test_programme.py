"""Which runs the chaos programme makes, what it makes of them, and what its judge writes down."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from bench.chaos.lane import serve
from bench.chaos.log import Log
from bench.chaos.points import ALL_FAULTS, ALL_POINTS, Cell, known, programme
from bench.chaos.report import figures
from bench.chaos.runs import Status, Told


@pytest.fixture(scope="module")
async def judge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[str, Log]]:
    folder = tmp_path_factory.mktemp("judge")
    log = Log(folder / "judge.jsonl")
    child, url = await serve(
        "judge", "bench.chaos.judge", "--log", str(log.path), "--seed", "1", log=folder / "judge.log"
    )
    yield url, log
    await child.stop()


def told(status: Status, sends: int, *, fired: bool = True, waited_in_vain: bool = False) -> Told:
    one = Told(Cell("held", "worker", 0, 1), "n-1", fired=fired, status=status, sends=sends)
    one.waited_in_vain = waited_in_vain
    return one


def test_the_whole_matrix_is_935_runs_each_pair_five_times() -> None:
    cells = programme(7, ALL_POINTS, ALL_FAULTS, 935)

    pairs = [(cell.point, cell.fault) for cell in cells]
    assert len(ALL_POINTS) * len(ALL_FAULTS) == 187
    assert {pairs.count(pair) for pair in set(pairs)} == {5}
    assert len(set(cells)) == 935


@pytest.mark.parametrize("seed", range(20))
def test_seventeen_runs_touch_every_point_and_every_fault(seed: int) -> None:
    cells = programme(seed, ALL_POINTS, ALL_FAULTS, 17)

    assert {cell.point for cell in cells} == set(ALL_POINTS)
    assert {cell.fault for cell in cells} == set(ALL_FAULTS)


def test_more_faults_than_points_are_all_touched_too() -> None:
    cells = programme(3, ("held", "acted"), ALL_FAULTS, 11)

    assert {cell.fault for cell in cells} == set(ALL_FAULTS)
    assert {cell.point for cell in cells} == {"held", "acted"}


def test_a_run_that_is_played_again_alone_draws_what_it_drew_before() -> None:
    cells = programme(9, ALL_POINTS, ALL_FAULTS, 300)
    wanted = next(cell for cell in cells if cell.round == 1)

    again = programme(9, [wanted.point], [wanted.fault], 2)[1]

    assert again == wanted
    assert again.drawn.random() == wanted.drawn.random()


def test_an_unknown_point_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"--points: 'helt' is no point; there are located, intended, given"):
        known("point", "held,helt", ALL_POINTS)


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (told("done", 1), "done"),
        (told("done", 2), "DUPLICATE"),
        (told("failed", 2), "DUPLICATE, MISREPORTED"),
        (told("done", 0), "FALSE SUCCESS"),
        (told("failed", 0), "LOST"),
        (told("failed", 1), "MISREPORTED"),
        (told("stuck", 1), "STUCK"),
        (told("not_fired", 0, fired=False), "NOT FIRED"),
        (told("done", 1, waited_in_vain=True), "WAITED IN VAIN"),
    ],
)
def test_what_breaks_the_promise_is_told_by_its_name(one: Told, verdict: str) -> None:
    assert one.verdict == verdict
    assert one.is_bad == (verdict != "done")


def test_the_last_line_counts_what_was_planned_and_what_fired() -> None:
    line = figures(3, [told("done", 1), told("done", 2), told("not_fired", 0, fired=False)], 12.0)

    assert (line["planned"], line["fired"], line["runs"]) == (3, 2, 3)
    assert (line["duplicates"], line["lost"], line["false_successes"], line["stuck"]) == (1, 0, 0, 0)


async def test_the_judge_has_written_every_message_down_when_it_answers(judge: tuple[str, Log]) -> None:
    url, log = judge
    async with httpx.AsyncClient(trust_env=False, base_url=url) as client:
        for _ in range(2):
            answer = await client.post("/send", data={"subject": "twice", "body": "b"}, headers={"x-by": "fetch"})

            assert answer.json() == {"said": "Sent twice"}
        assert [mail.body for mail in log.sent("twice")] == ["b", "b"]
        assert log.sent("twic") == []


async def test_the_judge_shows_a_message_later_than_it_has_it(judge: tuple[str, Log]) -> None:
    url, log = judge
    async with httpx.AsyncClient(trust_env=False, base_url=url) as client:

        async def visible() -> bool:
            return bool((await client.get("/outbox.json", params={"subject": "late"})).json())

        await client.post("/send", data={"subject": "late", "body": "b"}, headers={"x-by": "fetch"})
        at_once = await visible()
        async with asyncio.timeout(30):
            while not await visible():  # noqa: ASYNC110 - it is another process's clock
                await asyncio.sleep(0.02)

    assert not at_once
    assert len(log.sent("late")) == 1

"""Places for browsers on one host: no more than there are, whoever asks at the same time."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from replaywright.errors import KeeperRefused, NoPlace
from replaywright.keeper.host import places as module
from replaywright.keeper.host.client import UNRECORDED_TTL_S, make_directory, reap
from replaywright.keeper.host.elsewhere import other_sessions_dirs
from replaywright.keeper.host.identity import boot_id, host_name, identify
from replaywright.keeper.host.memory import Memory, Resident
from replaywright.keeper.host.places import BROWSER_BYTES, Places, room
from replaywright.keeper.protocol import RECORD_NAME, SessionRecord, SessionState

TAKER = """
import asyncio, sys
from pathlib import Path
from replaywright.errors import NoPlace
from replaywright.keeper.host.places import Places

print("ready", flush=True)
sys.stdin.readline()
taken = 0
for number in range(4):
    try:
        asyncio.run(Places(Path(sys.argv[1]), 5).take(f"{sys.argv[2]}-{number}"))
    except NoPlace:
        continue
    taken += 1
print(taken, flush=True)
"""


def serves(directory: Path) -> None:
    """The session has started: this process is its keeper, and its browser."""
    own = identify(os.getpid())
    assert own is not None
    record = SessionRecord(
        session_id=directory.name,
        state=SessionState.READY,
        host=host_name(),
        boot_id=boot_id(),
        keeper=own,
        chromium=own,
        socket_path="",
        profile="",
        epoch=1,
    )
    (directory / RECORD_NAME).write_text(record.model_dump_json())


def has_memory(
    monkeypatch: pytest.MonkeyPatch, *, browsers: float, private: int = 0, others: tuple[Path, ...] = ()
) -> None:
    """Make room for so many browsers that have nothing yet; each that is there has `private` bytes."""
    monkeypatch.setattr(module, "other_sessions_dirs", lambda _own: list(others))
    free = int(browsers * BROWSER_BYTES)
    monkeypatch.setattr(module, "memory", lambda: Memory(total=0, available=free))
    monkeypatch.setattr(module, "resident", lambda groups: dict.fromkeys(groups, Resident(private=private)))


@pytest.mark.long
def test_workers_that_ask_at_the_same_time_never_get_more_places_than_there_are(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TAKER, str(tmp_path)]
    takers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(3)
    ]
    for taker in takers:
        assert taker.stdout is not None
        taker.stdout.readline()

    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("go\n")
        taker.stdin.flush()
    taken = [int(taker.communicate()[0]) for taker in takers]

    assert sum(taken) == len([path for path in tmp_path.iterdir() if path.is_dir()]) == 5


async def test_a_session_that_is_about_to_start_has_its_place_and_one_that_was_given_up_has_none(
    tmp_path: Path,
) -> None:
    places = Places(tmp_path, 1)
    begun = await places.take("s1")
    with pytest.raises(NoPlace, match=r"1 of 1, REPLAYWRIGHT_MAX_BROWSERS"):
        await places.take("s2")

    long_ago = begun.stat().st_mtime - UNRECORDED_TTL_S - 1
    os.utime(begun, (long_ago, long_ago))

    assert (await places.take("s2")).is_dir()


@pytest.mark.parametrize(("record", "reaped"), [('{"version": 3, "where": "elsewhere"}', []), ("torn {", ["s1"])])
async def test_a_record_of_another_version_is_left_to_its_workers_and_one_that_says_nothing_is_cleaned_up(
    tmp_path: Path, record: str, reaped: list[str]
) -> None:
    begun = await Places(tmp_path, 1).take("s1")
    (begun / RECORD_NAME).write_text(record)
    long_ago = begun.stat().st_mtime - UNRECORDED_TTL_S - 1
    os.utime(begun, (long_ago, long_ago))

    assert reap(tmp_path) == reaped
    assert begun.exists() is not bool(reaped)


async def test_a_live_session_has_its_place_until_it_ends_or_gives_it_to_another(tmp_path: Path) -> None:
    places = Places(tmp_path, 1)
    serves(await places.take("s1"))

    with pytest.raises(NoPlace):
        await places.take("s2")
    await places.take("s3", instead_of="s1")
    with pytest.raises(NoPlace):
        await places.take("s4", instead_of="s1")


async def test_a_second_session_of_an_id_is_refused(tmp_path: Path) -> None:
    places = Places(tmp_path, 2)
    await places.take("s1")

    with pytest.raises(KeeperRefused):
        await places.take("s1")


async def test_without_a_setting_the_free_memory_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = Places(tmp_path, None)
    has_memory(monkeypatch, browsers=2.5)
    for name in ("s1", "s2"):
        await places.take(name)

    with pytest.raises(NoPlace, match="has no memory for another browser: 300 MiB are free beside its 2"):
        await places.take("s3")
    has_memory(monkeypatch, browsers=3)
    await places.take("s3")


async def test_a_setting_counts_whatever_memory_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    has_memory(monkeypatch, browsers=0)

    await asyncio.gather(*(Places(tmp_path, 3).take(f"s{number}") for number in range(3)))


async def test_the_first_browser_is_let_in_however_little_memory_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_memory(monkeypatch, browsers=0)
    places = Places(tmp_path, None)
    serves(await places.take("s1"))

    with pytest.raises(NoPlace):
        await places.take("s2")
    await places.take("s2", instead_of="s1")


async def test_a_browser_that_goes_leaves_its_memory_to_the_one_that_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_memory(monkeypatch, browsers=3)
    places = Places(tmp_path, None)
    for name in ("s1", "s2"):
        serves(await places.take(name))
    has_memory(monkeypatch, browsers=0, private=BROWSER_BYTES)

    with pytest.raises(NoPlace):
        await places.take("s3")
    await places.take("s3", instead_of="s1")


@pytest.mark.parametrize(
    ("staying", "free"),
    [
        ([], 9.0),
        ([0.0], 8.0),  # it has taken nothing yet, and will
        ([0.75], 8.75),  # the rest of its budget is not free
        ([3.0], 9.0),  # what it has beyond its budget is gone already
    ],
)
def test_what_browsers_may_still_take_of_their_budget_is_not_free(staying: list[float], free: float) -> None:
    there_is = Memory(total=10 * BROWSER_BYTES, available=10 * BROWSER_BYTES)

    assert room(there_is, [int(one * BROWSER_BYTES) for one in staying], []) == int(free * BROWSER_BYTES)


async def test_nobody_counts_while_another_worker_is_between_counting_and_taking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_S", 0.05)
    refused: list[str] = []

    def interrupted(sessions_dir: Path, session_id: str) -> Path:
        monkeypatch.setattr(module, "make_directory", make_directory)
        with pytest.raises(NoPlace) as error:
            asyncio.run(Places(tmp_path, 2).take("s2"))
        refused.append(str(error.value))
        return make_directory(sessions_dir, session_id)

    monkeypatch.setattr(module, "make_directory", interrupted)
    await Places(tmp_path, 2).take("s1")
    await Places(tmp_path, 2).take("s2")

    assert refused == [f"another worker of host {host_name()!r} has been counting its browsers for too long"]


async def test_workers_of_one_home_start_as_many_browsers_at_the_same_time_as_there_are_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "cores", lambda: 2)
    at_once = [0]
    workers = [Places(tmp_path, None) for _ in range(3)]

    async def start(places: Places) -> None:
        async with places.turn():
            at_once.append(at_once[-1] + 1)
            await asyncio.sleep(2 * module.TURN_PAUSE_S)  # the others look whether they may
            at_once.append(at_once[-1] - 1)

    await asyncio.gather(*(start(places) for places in workers * 3))

    assert (len(at_once), max(at_once)) == (1 + 2 * 9, 2)


async def test_a_start_that_waits_too_long_for_its_turn_says_what_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "cores", lambda: 1)
    monkeypatch.setattr(module, "TURN_S", 0)

    async with Places(tmp_path, None).turn():
        with pytest.raises(NoPlace, match=r"is starting other browsers, as many as it has cores \(1\)"):
            async with Places(tmp_path, None).turn():
                pass
    async with Places(tmp_path, None).turn():
        pass


HOLDER = """
import asyncio, sys
from pathlib import Path
from replaywright.keeper.host.places import Places

async def hold():
    async with Places(Path(sys.argv[1]), None).turn():
        print("has it", flush=True)
        await asyncio.sleep(600)

asyncio.run(hold())
"""


def test_the_turn_of_a_worker_that_is_killed_is_free_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 1)
    monkeypatch.setattr(module, "TURN_S", 0)
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]

    async def has_a_turn() -> bool:
        try:
            async with Places(tmp_path, None).turn():
                return True
        except NoPlace:
            return False

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        before = asyncio.run(has_a_turn())
        worker.kill()

    assert (before, asyncio.run(has_a_turn())) == (False, True)


async def test_browsers_of_other_homes_may_still_take_their_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    has_memory(monkeypatch, browsers=3.5, others=(other,))
    await Places(own, None).take("s1")
    serves(make_directory(other, "s2"))
    make_directory(other, "s3")

    with pytest.raises(NoPlace, match="300 MiB are free beside its 3"):
        await Places(own, None).take("s4")
    assert (await Places(own, 2).take("s4")).is_dir()


async def test_the_first_browser_of_a_home_is_let_in_beside_those_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    has_memory(monkeypatch, browsers=0.5, others=(other,))
    serves(make_directory(other, "s1"))

    assert (await Places(own, None).take("s2")).is_dir()


def test_other_homes_are_found_by_the_keepers_that_run(tmp_path: Path) -> None:
    own, other = tmp_path / "own home" / "sessions", tmp_path / "other home" / "sessions"
    waiting = [sys.executable, "-c", "input()", "-m", "replaywright.keeper", "--detach", "--dir"]
    keepers = [subprocess.Popen([*waiting, str(each / "s1")], stdin=subprocess.PIPE) for each in (own, other)]

    found = other_sessions_dirs(own)
    for keeper in keepers:
        keeper.communicate(b"\n")
    later = other_sessions_dirs(own)

    assert (other in found, own in found, other in later) == (True, False, False)

"""`make bench` in short: everybody does the flow, the last line tells the ratios, and nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
_ENDED_S = 60


def bench(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "bench.replaying", *arguments]


def last_line(*arguments: str, limit_s: float) -> dict[str, object]:
    done = subprocess.run(bench(*arguments), cwd=ROOT, capture_output=True, text=True, timeout=limit_s, check=False)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.long
def test_playwright_and_every_mode_are_timed_in_one_run(tmp_path: Path) -> None:
    told = last_line("--rounds", "1", "--skip-peers", "--out", str(tmp_path), limit_s=280)

    assert all(told[name] for name in ("ratio", "steps_per_second", "p95_ms"))
    assert (told["peers"], told["skipped"], told["failed_runs"]) == ({}, {}, 0)
    assert (told["model_calls"], told["rounds"]) == (0, 1)
    table = (tmp_path / "replay.md").read_text(encoding="utf-8")
    names = ("Playwright, raw", "Playwright, checked", "Replaywright", "learning (stand-in)")
    assert all(name in table for name in names)
    assert (tmp_path / "replay.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.long
@pytest.mark.parametrize("peer", ["stagehand", "browser-use", "hyperagent", "workflow-use"])
def test_a_peer_learns_once_and_replays_without_a_model(peer: str) -> None:
    told = last_line("--rounds", "1", "--only", peer, limit_s=3_000)

    assert (told["skipped"], told["failed_runs"]) == ({}, 0)
    assert len(told["peers"]) == 1  # type: ignore[arg-type]  # a name and its ratio


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """What is started hears Ctrl-C, also where this process was begun in a shell's background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.long
@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_whatever_ends_it_no_browser_stays(number: signal.Signals, tmp_path: Path) -> None:
    with subprocess.Popen(
        bench("--rounds", "1000", "--skip-peers"),
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("round 1 of"):
                break
        process.send_signal(number)
        try:
            process.wait(_ENDED_S)
        finally:
            process.kill()

    _, alive = psutil.wait_procs(_those_in(tmp_path), _ENDED_S)

    assert [one.cmdline()[:3] for one in alive] == []


def _those_in(folder: Path) -> list[psutil.Process]:
    """All processes whose command line or working folder is below it."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(folder) in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:  # it has ended
            continue
    return found

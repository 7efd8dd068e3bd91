"""`replaywright batch` as a user runs it, with a browser; the site says how often each row was done."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from demo.stage import Stage
from replaywright.cli.batch.batch_place import batch_handle
from replaywright.cli.local.dashboard_acts import batch_retried, batch_rows
from replaywright.errors import InputInvalid
from tests.e2e.booking import Booking, served
from tests.e2e.lab import Lab, until

pytestmark = pytest.mark.slow

LIMIT_S = 200
TASK: dict[str, Any] = {
    "task": "book",
    "url": "{{base_url}}/",
    "parameters": {"base_url": {}, "who": {}, "day": {"type": "date", "default": "2026-12-24"}},
    "steps": [
        {
            "action": "fill",
            "instruction": "the guest",
            "target": {"label": "Guest"},
            "value": "{{who}}",
            "timeout_ms": 1500,
        },
        {"action": "fill", "instruction": "the day", "target": {"label": "Day"}, "value": "{{day}}"},
        {
            "action": "click",
            "instruction": "reserve",
            "target": {"role": "button", "name": "Reserve"},
            "effect": "commit",
            "expect": [{"text_contains": "Booked for {{who}}"}],
        },
    ],
    "verify": [{"exists": {"role": "listitem", "text": "{{who}}, {{day}}"}}],
}


@dataclass
class Desk:
    """Somebody with a terminal, beside a stack that runs."""

    stage: Stage
    folder: Path
    site: Booking

    @property
    def environment(self) -> dict[str, str]:
        """Of the commands."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("REPLAYWRIGHT_", "TEMPORAL_"))
        }
        return kept | self.stage.stack.environment() | {"COLUMNS": "200"}

    def write(self, count: int) -> list[str]:
        """The task, and a file of so many rows; the guests."""
        (self.folder / "book.yaml").write_text(yaml.safe_dump(TASK))
        guests = [f"Guest {number}" for number in range(1, count + 1)]
        (self.folder / "rows.csv").write_text("who\r\n" + "".join(f'"{guest}"\r\n' for guest in guests))
        return guests

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start `replaywright batch`."""
        return subprocess.Popen(
            [sys.executable, "-m", "replaywright", "batch", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def begin_rows(self, *more: str) -> "subprocess.Popen[str]":
        """Start the batch of what was written."""
        address = f"base_url={self.site.url}"
        return self.begin("book.yaml", "--csv", "rows.csv", "-p", address, "--mode", "replay", *more)

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run `replaywright batch` to its end."""
        return self.ended(self.begin(*arguments))

    @staticmethod
    def ended(process: "subprocess.Popen[str]") -> "subprocess.CompletedProcess[str]":
        """What a command has printed, and its status."""
        out, _ = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(process.args, process.returncode, out, "")

    def results(self, name: str = "results.csv") -> list[dict[str, str]]:
        """The file of results."""
        return list(csv.DictReader(io.StringIO((self.folder / name).read_bytes().decode())))

    def booked(self) -> Counter[str]:
        """How often the site has taken each guest."""
        return Counter(each["who"] for each in self.site.booked)

    async def has_booked(self, count: int) -> None:
        """Return when the site has taken so many."""
        await until(f"{count} rows are done", lambda: len(self.site.booked) >= count)


@pytest.fixture
def desk(lab: Lab, tmp_path: Path) -> Iterator[Desk]:
    with served() as site:
        yield Desk(lab.stage, tmp_path, site)


async def test_no_row_is_done_twice_though_command_worker_and_batch_are_killed_in_the_middle(desk: Desk) -> None:
    guests = desk.write(8)
    command = desk.begin_rows("--parallel", "2", "--id", "killed")

    await desk.has_booked(1)
    command.kill()
    desk.ended(command)
    await desk.has_booked(3)
    desk.stage.kill_worker()
    await desk.stage.worker_ended()
    await desk.stage.start_worker()
    await desk.has_booked(5)
    await batch_handle(desk.stage.place, "killed").terminate("the test")
    resumed = desk.run("resume", "killed", "--out", "results.csv")

    assert resumed.returncode == 0, resumed.stdout
    assert desk.booked() == dict.fromkeys(guests, 1)
    results = desk.results()
    assert [each["who"] for each in results] == guests
    assert {each["status"] for each in results} == {"done"}
    again = desk.run("resume", "killed")
    assert "8 of 8 rows: 8 done" in again.stdout
    assert desk.booked() == dict.fromkeys(guests, 1)


@pytest.mark.long
async def test_a_batch_stops_when_too_many_rows_failed_and_later_does_what_is_left_and_what_failed(desk: Desk) -> None:
    guests = desk.write(6)
    desk.site.look = "renamed"

    stopped = desk.ended(
        desk.begin_rows("--parallel", "2", "--max-failures", "2", "--id", "failing", "--out", "results.jsonl")
    )
    first = [json.loads(line) for line in (desk.folder / "results.jsonl").read_text().splitlines()]
    await batch_retried(desk.stage.place, "failing", "ada")  # on the dashboard, while the site is still another one
    await batch_handle(desk.stage.place, "failing").result()
    [shown] = [one.progress for one in await batch_rows(desk.stage.place) if one.batch == "failing"]
    desk.site.look = ""
    resumed = desk.run("resume", "failing")
    retried = desk.run("retry", "failing", "--out", "results.csv", "--json")

    assert stopped.returncode == 1, stopped.stdout
    assert "no further row was begun: 2 rows came to nothing (--max-failures)" in stopped.stdout
    assert "replaywright batch retry failing" in stopped.stdout
    assert shown is not None
    assert {each["status"] for each in first} == {"failed", "open"}
    assert resumed.returncode == 1, resumed.stdout
    assert retried.returncode == 0, retried.stdout
    assert desk.booked() == dict.fromkeys(guests, 1)
    failed = {each["row"] for each in first if each["status"] == "failed"}
    assert (shown.total, shown.done, len(shown.problems)) == (6, 0, len(failed))  # of the whole file
    assert {int(each["row"]) for each in desk.results() if each["run"].endswith("~3")} == failed
    assert {each["status"] for each in desk.results()} == {"done"}
    refused = desk.run("retry", "failing")
    with pytest.raises(InputInvalid, match="there is no row to try again"):
        await batch_retried(desk.stage.place, "failing", "ada")
    assert (refused.returncode, "there is no row to try again" in refused.stdout) == (2, True)


@pytest.mark.long
async def test_ctrl_c_leaves_the_batch_to_itself_and_a_word_stops_it(desk: Desk) -> None:
    guests = desk.write(8)
    command = desk.begin_rows("--parallel", "1", "--id", "left")
    await desk.has_booked(1)

    command.send_signal(signal.SIGINT)
    left = desk.ended(command)
    stopped = desk.run("cancel", "left", "--why", "enough")
    ended = desk.run("resume", "left", "--parallel", "3")

    assert left.returncode == 130, left.stdout
    assert "`replaywright batch cancel left` stops it" in left.stdout
    assert "no further row is begun" in stopped.stdout
    assert ended.returncode in (0, 2), ended.stdout
    if ended.returncode == 2:  # what was under way had not ended yet
        await batch_handle(desk.stage.place, "left").result()
        ended = desk.run("resume", "left", "--parallel", "3")
    assert ended.returncode == 0, ended.stdout
    assert desk.booked() == dict.fromkeys(guests, 1)

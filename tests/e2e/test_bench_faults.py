"""`make bench-faults` in short: the site breaks an exchange, and tells what became of the mail."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_what_the_site_took_and_did_not_confirm_is_done_by_us_and_sent_again_by_a_script() -> None:
    asked = ["--rounds", "1", "--only", "replaywright,playwright", "--faults", "accepted, answered with 502"]
    program = [sys.executable, "-m", "bench.faults", *asked]

    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)

    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["planned"], told["Replaywright"]["fired"], told["Playwright, checked"]["fired"]) == (1, 1, 1)
    assert (told["Replaywright"]["right"], told["Playwright, checked"]["duplicates"]) == (1, 1)

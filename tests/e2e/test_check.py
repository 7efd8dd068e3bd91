"""`replaywright check` as a pipeline runs it: one command on a machine that knows nothing, with files and a browser."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from replaywright.testing.grants import allow_loopback
from tests.e2e.booking import Booking, served
from tests.unit.test_domain_junit import read

pytestmark = pytest.mark.slow

LIMIT_S = 180
NAME = {"action": "fill", "instruction": "the guest", "target": {"label": "Guest"}, "value": "{{who}}"}
DAY = {"action": "fill", "instruction": "the day", "target": {"label": "Day"}, "value": "2026-12-24"}
RESERVE = {
    "action": "click",
    "instruction": "reserve",
    "target": {"role": "button", "name": "Reserve"},
    "effect": "commit",
    "expect": [{"text_contains": "Booked for {{who}}"}],
}
VERIFY = [{"exists": {"role": "listitem", "text": "{{who}}, 2026-12-24"}}]
APPROVE = {"action": "approve", "instruction": "Book a table?"}


def task(name: str, *steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    parameters = {"base_url": {}, "who": {"example": "Ada"}}
    return {"task": name, "url": "{{base_url}}/", "parameters": parameters, "steps": list(steps), **fields}


@dataclass
class Machine:
    """One that has never run anything: a folder, and the environment of a job."""

    folder: Path
    environment: dict[str, str]

    def write(self, name: str, *tasks: dict[str, Any]) -> str:
        """A file of skills."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        skills = [{"name": each["task"], "task": each} for each in tasks]
        path.write_text(yaml.safe_dump({"skills": skills}, allow_unicode=True), encoding="utf-8")
        return name

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command."""
        return subprocess.Popen(
            [sys.executable, "-m", "replaywright", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def cli(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        with self.begin(*arguments) as process:
            out, err = process.communicate(timeout=LIMIT_S)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def results(self, name: str = "results.xml") -> dict[str, ET.Element]:
        """The suites that were written, by their name."""
        return {suite.attrib["name"]: suite for suite in read((self.folder / name).read_bytes())}


@pytest.fixture
def machine() -> Iterator[Machine]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REPLAYWRIGHT_", "TEMPORAL_"))}
    # Not pytest's own folder: its long path leaves no room for the path of a socket.
    with tempfile.TemporaryDirectory(prefix="rw-check-", ignore_cleanup_errors=True) as folder:
        for home in ("home", "first"):
            allow_loopback(Path(folder) / home)
        policy = Path(folder) / "policy.yaml"
        policy.write_text("name: pipeline\nactions: {deny: [press]}\n", encoding="utf-8")
        here = {"COLUMNS": "200", "NO_PROXY": "127.0.0.1,localhost", "REPLAYWRIGHT_HOME": f"{folder}/home"}
        yield Machine(Path(folder), kept | here | {"REPLAYWRIGHT_POLICY": str(policy)})


@pytest.fixture
def site() -> Iterator[Booking]:
    with served() as booking:
        yield booking


def outcomes(suite: ET.Element) -> list[str]:
    """What became of each case: the tag of its verdict, or passed; failures with their reason."""
    found = []
    for case in suite.iter("testcase"):
        verdict = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        told = "" if verdict is None else verdict.get("type", "")
        found.append("passed" if verdict is None else f"{verdict.tag} {told}".strip())
    return found


def test_one_command_on_a_machine_that_knows_nothing_says_which_skills_still_hold(
    machine: Machine, site: Booking
) -> None:
    asks = task("asks-a-person", NAME, DAY, APPROVE, RESERVE)
    gone = {"action": "click", "instruction": "pay", "target": {"role": "button", "name": "Pay <now> & 支付"}}
    file = machine.write("checks/book.yaml", task("book", NAME, DAY, RESERVE, verify=VERIFY), asks)
    other = machine.write("checks/other.yaml", task("pay", NAME, gone | {"timeout_ms": 500}, RESERVE))
    pressed = machine.write("checks/key.yaml", task("key", {"action": "press", "keys": "Enter"}))

    result = machine.cli(
        *("check", file, other, pressed, "--param", f"base_url={site.url}", "--parallel", "2"),
        *("--junit", "out/results.xml", "--reports", "out/reports"),
    )

    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 of 4 checks passed" in result.stdout, result.stdout + result.stderr
    assert "no model, no healing" in result.stdout
    suites = machine.results("out/results.xml")
    assert list(suites) == ["book", "asks-a-person", "pay", "key"]
    assert outcomes(suites["book"]) == ["passed"] * 5
    assert outcomes(suites["pay"]) == ["passed", "passed", "failure not_found", "skipped"]
    assert outcomes(suites["asks-a-person"]) == ["passed"] * 3 + ["failure waiting_for_person", "skipped"]
    assert outcomes(suites["key"])[0] == "error blocked"
    assert [booking["who"] for booking in site.booked] == ["Ada"]
    [output] = suites["pay"].iter("system-out")
    assert "screenshot: artifact " in str(output.text)
    assert "[[ATTACHMENT|out/reports/pay.html]]" in str(output.text)
    assert "click pay" in (machine.folder / "out/reports/pay.html").read_text("utf-8")
    assert {path.name for path in (machine.folder / "home").iterdir()}.isdisjoint(
        {"stack.json", "redis", "temporal.db"}
    )


@pytest.mark.long
def test_what_was_learned_with_a_model_is_checked_elsewhere_without_one(machine: Machine, site: Booking) -> None:
    told = [{name: value for name, value in step.items() if name != "target"} for step in (NAME, DAY, RESERVE)]
    wanted = {"instruction": "the guest field"}, {"instruction": "the day field"}, {"instruction": "the reserve button"}
    steps = [step | words for step, words in zip(told, wanted, strict=True)]
    (machine.folder / "book.yaml").write_text(yaml.safe_dump(task("book", *steps, verify=VERIFY)), encoding="utf-8")
    value = ("--param", f"base_url={site.url}")
    stand_in = subprocess.Popen(
        [sys.executable, "-m", "demo.standin", "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert stand_in.stdout is not None
    address = json.loads(stand_in.stdout.readline())["url"]
    model = {
        "OPENAI_API_KEY": "none",
        "REPLAYWRIGHT_MODEL": "openai:stand-in",
        "REPLAYWRIGHT_MODEL_BASE_URL": f"{address}/v1",
    }
    learning = Machine(machine.folder, machine.environment | model | {"REPLAYWRIGHT_HOME": f"{machine.folder}/first"})

    try:
        learned = learning.cli("run", "book.yaml", *value, "--param", "who=Grace", "--json")
        imported = learning.cli("skills", "import", "book.yaml")
        exported = learning.cli("skills", "export", "book", "--elements", "-o", "checks.yaml")
    finally:
        stand_in.terminate()
        stand_in.communicate()
    without = machine.cli("check", "book.yaml", *value, "--junit", "without.xml")
    with served() as preview:
        moved = machine.cli("check", "checks.yaml", "--param", f"base_url={preview.url}", "--param", "who=Ada")
        carefully = machine.cli(
            "check", "checks.yaml", "--param", f"base_url={preview.url}", "--until-commit", "--json"
        )
        booked = [each["who"] for each in preview.booked]

    assert json.loads(learned.stdout)["totals"]["usage"]["calls"] == 1
    assert (imported.returncode, exported.returncode, exported.stderr.count("is recorded for")) == (0, 0, 0)
    assert without.returncode == 1
    assert "failure no_entry" in outcomes(machine.results("without.xml")["book"])
    assert moved.returncode == 0, moved.stdout + moved.stderr
    [check] = json.loads(carefully.stdout)["checks"]
    assert check["note"] == "checked up to step 3, click the reserve button, which has consequences"
    assert booked == ["Ada"]


@pytest.mark.long
def test_a_page_that_has_changed_is_not_healed_in_a_check(machine: Machine, site: Booking) -> None:
    file = machine.write("checks.yaml", task("book", NAME, DAY, RESERVE))
    site.look = "renamed"

    result = machine.cli("check", file, "--param", f"base_url={site.url}", "--json")

    assert result.returncode == 1
    [check] = json.loads(result.stdout)["checks"]
    assert (check["verdict"], check["reason"]) == ("failed", "not_found")
    assert "the page" in check["toDo"]
    assert site.booked == []


@pytest.mark.long
def test_ctrl_c_cancels_what_was_begun_and_writes_what_is_known(machine: Machine, site: Booking) -> None:
    waiting = {"action": "wait_for", "expect": [{"text_contains": "never"}], "timeout_ms": 120_000}
    book, hang, more = task("book", NAME, DAY, RESERVE), task("hang", NAME, waiting), task("more", NAME)
    file = machine.write("checks.yaml", book, hang, more)

    with machine.begin("check", file, "--param", f"base_url={site.url}", "--junit", "results.xml") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if "book (" in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)

    assert process.returncode == 130, out + err
    suites = machine.results()
    assert outcomes(suites["book"]) == ["passed"] * 4
    assert "error interrupted" in outcomes(suites["hang"]) or outcomes(suites["hang"]) == ["skipped"]
    assert outcomes(suites["more"]) == ["skipped"]

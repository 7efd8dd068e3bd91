"""The command line as a user has it: processes, the real stack, and the demo webmail with the model's stand-in."""

import asyncio
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from replaywright.cli.local.dashboard_source import RunningSource
from replaywright.cli.resident.client import SOCKET
from replaywright.settings import load_settings
from replaywright.testing.grants import allow_loopback
from tests.waiting import until

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TASK = str(ROOT / "demo" / "send_mail.yaml")
PASSWORD = "not-for-anybodys-eyes-4711"
LIMIT_S = 120
HANDED_OVER = """
import sys
from replaywright.cli.resident.client import hand_over
status = hand_over(sys.argv[1:])
sys.exit("not handed over" if status is None else status)
"""


@dataclass
class Site:
    """The webmail and the stand-in, and the surroundings in which commands run."""

    webmail: str
    store: Path
    home: Path
    environment: dict[str, str]
    program: tuple[str, ...] = ("-m", "replaywright")

    def cli(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run one command to its end."""
        return subprocess.run(
            [sys.executable, *self.program, *arguments],
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def run(self, *arguments: str, subject: str = "Hello", **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run the demo task."""
        values = {"base_url": self.webmail, "to": "ada@example.com", "subject": subject, "body": "Hello Ada"}
        pairs = [word for name, value in values.items() for word in ("-p", f"{name}={value}")]
        return self.cli("run", TASK, *pairs, *arguments, **environment)

    def sent(self) -> list[str]:
        """Subjects of the mails that the site accepted."""
        lines = (self.store / "sent.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["subject"] for line in lines]

    def redesign(self, skin: str) -> None:
        httpx.post(f"{self.webmail}/__admin__/skin", json={"skin": skin}, trust_env=False).raise_for_status()


def served(module: str, *arguments: str) -> tuple["subprocess.Popen[str]", str]:
    process = subprocess.Popen(
        [sys.executable, "-m", module, "--port", "0", *arguments],
        env=os.environ | {"WEBMAIL_PASSWORD": PASSWORD},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, json.loads(process.stdout.readline())["url"]


def ended(process: "subprocess.Popen[str]", number: int = signal.SIGTERM) -> int:
    if process.poll() is None:
        process.send_signal(number)
    try:
        process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    # Not pytest's own folder: its long path leaves no room for the path of a socket.
    with tempfile.TemporaryDirectory(prefix="rw-cli-", ignore_cleanup_errors=True) as folder:
        home, store = Path(folder) / "home", Path(folder) / "webmail"
        allow_loopback(home)
        webmail, webmail_url = served("demo.webmail", "--store", str(store))
        standin, standin_url = served("demo.standin")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("REPLAYWRIGHT_")}
        kept.pop("TEMPORAL_ADDRESS", None)
        yield Site(
            webmail_url,
            store,
            home,
            kept
            | {
                "COLUMNS": "300",
                "NO_PROXY": "127.0.0.1,localhost",
                "OPENAI_API_KEY": "stand-in",
                "REPLAYWRIGHT_HOME": str(home),
                "REPLAYWRIGHT_MODEL": "openai:stand-in",
                "REPLAYWRIGHT_MODEL_BASE_URL": f"{standin_url}/v1",
                "REPLAYWRIGHT_SECRET_PASSWORD": PASSWORD,
                "REPLAYWRIGHT_SECRET_PASSWORD_DOMAINS": webmail_url.removeprefix("http://"),
            },
        )
        ended(webmail)
        ended(standin)


@pytest.fixture(scope="module")
def up(site: Site) -> Iterator[Site]:
    """`replaywright up`, started once; it must end well at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "replaywright", "up"],
        env=site.environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("ready:"):
            break
    text = "".join(said)
    assert process.poll() is None, text
    assert all(part in text for part in ("Temporal UI  http://", "?token=", "Redis", "Chromium", "openai:stand-in")), (
        text
    )
    yield site
    assert ended(process, signal.SIGINT) == 0
    assert not (site.home / "stack.json").exists()


@pytest.fixture(scope="module")
def learned(up: Site) -> Site:
    """The demo task has been learned."""
    result = up.run("--json", "--id", "learned", "--mode", "learn", subject="Learned")
    assert result.returncode == 0, result.stderr
    return up


@pytest.mark.long
def test_a_run_without_a_stack_starts_one_for_its_time_and_says_so(site: Site) -> None:
    if (site.home / "stack.json").exists():
        pytest.skip("a stack is running already")

    result = site.run(subject="On its own")

    assert result.returncode == 0, result.stdout + result.stderr
    assert "starting Temporal, Redis and a worker for the time of this run" in result.stdout
    assert "a stand-in, no language model" in result.stdout
    assert site.sent().count("On its own") == 1
    assert not (site.home / "stack.json").exists()


def test_a_second_up_says_that_one_is_running(up: Site) -> None:
    result = up.cli("up")

    assert result.returncode == 2
    assert re.match(
        r"a stack is running already \(process \d+\): Temporal UI http://[0-9a-f]+.localhost:", result.stderr
    )


@pytest.fixture(scope="module")
def reported(learned: Site) -> "subprocess.CompletedProcess[str]":
    """A run that replays, with pictures."""
    return learned.run("--json", "--id", "reported", "--pictures", "steps", subject="Reported")


def test_json_is_one_object_and_the_rest_goes_to_standard_error(
    learned: Site, reported: "subprocess.CompletedProcess[str]"
) -> None:
    said = json.loads(reported.stdout)
    assert reported.returncode == said["exitStatus"] == 0
    assert said["runId"] == "reported"
    assert said["status"] == "done"
    assert "/workflows/reported?token=" in said["url"]
    assert said["totals"]["usage"]["calls"] == 0
    assert learned.sent().count("Reported") == 1
    assert "the log in button" in reported.stderr


def test_the_resident_of_up_carries_out_a_run(learned: Site) -> None:
    asyncio.run(until((learned.home / SOCKET).exists, LIMIT_S))

    result = replace(learned, program=("-c", HANDED_OVER)).run("--id", "resident-1", subject="By the resident")

    assert result.returncode == 0, result.stdout + result.stderr
    assert len(re.findall(r"^✓ 00\d\d ", result.stdout, re.MULTILINE)) == 10
    assert learned.sent().count("By the resident") == 1


def test_an_id_serves_once(learned: Site) -> None:
    second = learned.run("--id", "learned", subject="Twice")

    assert second.returncode == 2
    assert "there is a run with this id" in second.stderr
    assert "Twice" not in learned.sent()


def test_progress_is_one_line_for_each_step_and_other_commands_tell_it_afterwards_without_a_secret(
    learned: Site,
) -> None:
    result = learned.run("--mode", "replay")

    assert result.returncode == 0, result.stdout + result.stderr
    assert len(re.findall(r"^✓ 00\d\d ", result.stdout, re.MULTILINE)) == 10
    assert "0 model calls" in result.stdout
    assert "/workflows/send-mail%2F127.0.0.1%2F" in result.stdout
    assert "\x1b" not in result.stdout

    listed = json.loads(learned.cli("runs", "--json").stdout)["runs"]
    table = learned.cli("runs", "--limit", "3").stdout
    shown = learned.cli("show", "latest").stdout
    run_id = listed[0]["runId"]
    machine = json.loads(learned.cli("show", run_id[:-4], "--json").stdout)
    cached = learned.cli("admin", "cache", "list", "--json").stdout

    assert (listed[0]["task"], listed[0]["status"]) == ("send-mail", "done")
    assert run_id in table
    assert f"run {run_id}" in shown
    assert "click the send button" in shown
    assert "0 model calls" in shown
    assert [step["sequence"] for step in machine["steps"]] == list(range(10))
    assert machine["result"]["succeeded"] is True
    assert PASSWORD not in "".join((result.stdout, result.stderr, table, shown, cached, json.dumps([listed, machine])))


def test_a_report_shows_the_run_with_its_pictures_and_the_runs_before(
    learned: Site, reported: "subprocess.CompletedProcess[str]", tmp_path: Path
) -> None:
    file, first = tmp_path / "report.html", tmp_path / "learned.html"

    result = learned.cli("report", "reported", "--out", str(file), "--json")
    of_learning = learned.cli("report", "learned", "--out", str(first))

    assert (result.returncode, of_learning.returncode) == (0, 0), result.stderr + of_learning.stderr
    view, page = json.loads(result.stdout)["view"], file.read_text(encoding="utf-8")
    assert [len(step["attempts"]) for step in view["steps"]] == [1] * 10
    assert all(step["after"]["digest"] for step in view["steps"])
    assert view["facts"]["mode"] == "auto"
    assert "learned" in [run["runId"] for run in view["facts"]["earlier"]]
    assert page.count("data:image/jpeg;base64,") >= 8
    assert page.count('class="mark"') >= 8  # of the nine elements
    assert of_learning.stdout.strip() == str(first)
    assert first.read_text(encoding="utf-8").count("data:image/jpeg;base64,") >= 8  # what is learned has pictures
    assert PASSWORD not in page + first.read_text(encoding="utf-8")
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_a_run_is_left_alone_paused_looked_at_and_told_to_go_on(learned: Site) -> None:
    httpx.post(f"{learned.webmail}/__admin__/latency", json={"ms": 4000}, trust_env=False).raise_for_status()
    detached = learned.run("--detach", "--json", "--id", "paused", subject="Paused")
    paused = learned.cli("admin", "pause", "paused", "--why", "a look")
    deadline = time.monotonic() + LIMIT_S
    while (shown := learned.cli("answer", "paused")).returncode != 0:
        assert "asks nothing" in shown.stderr
        assert time.monotonic() < deadline, shown
    refused = learned.cli("answer", "paused", "retry")
    httpx.post(f"{learned.webmail}/__admin__/latency", json={"ms": 0}, trust_env=False).raise_for_status()
    went_on = learned.cli("answer", "paused", "continue")
    while (ended := json.loads(learned.cli("show", "paused", "--json").stdout))["result"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.2)

    assert (json.loads(detached.stdout)["status"], ended["status"]) == ("started", "done")
    assert "nothing to cancel" in learned.cli("cancel", "paused").stdout
    assert "`replaywright answer paused continue` lets it go on" in paused.stdout
    assert "a look" in shown.stdout
    assert "replaywright answer paused continue|skip" in shown.stdout
    assert (refused.returncode, "asks nothing" in refused.stderr) == (2, True)
    assert went_on.stdout == "the run goes on\n"
    assert learned.sent().count("Paused") == 1


def test_the_shell_completes_runs_and_skills_of_the_running_stack(learned: Site) -> None:
    program = Path(sys.executable).with_name("replaywright")

    def completed(line: str) -> list[str]:
        shell = {"_REPLAYWRIGHT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
        told = subprocess.run([program], env=learned.environment | shell, capture_output=True, text=True, check=True)
        return told.stdout.split()

    assert "learned" in completed("replaywright show lea")
    assert completed("replaywright show nobody") == []


def test_an_unknown_run_and_an_answer_to_one_that_asks_nothing_are_bad_input(learned: Site) -> None:
    answered = learned.cli("answer", "learned", "done")

    assert (answered.returncode, len(answered.stderr.splitlines())) == (2, 1)
    for command in (["show", "nobody"], ["cancel", "nobody"], ["answer", "nobody", "done"]):
        result = learned.cli(*command)
        assert (result.returncode, result.stderr) == (2, "there is no run 'nobody'; `replaywright runs` lists them\n")


def test_ctrl_c_says_that_the_run_goes_on(learned: Site) -> None:
    httpx.post(f"{learned.webmail}/__admin__/latency", json={"ms": 2000}, trust_env=False).raise_for_status()
    name = f"left-{secrets.token_hex(3)}"
    values = ["-p", f"base_url={learned.webmail}", "-p", "to=ada@example.com", "-p", f"subject={name}", "-p", "body=x"]
    command = subprocess.Popen(
        [sys.executable, "-m", "replaywright", "run", TASK, *values, "--id", name],
        env=learned.environment | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    lines = iter(command.stdout.readline, "")
    assert any("0001 goto" in line for line in lines)

    command.send_signal(signal.SIGINT)
    said = next(line for line in lines if "the run goes on" in line)
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=30)
    cancelled = learned.cli("cancel", name, "--why", "a test")
    httpx.post(f"{learned.webmail}/__admin__/latency", json={"ms": 0}, trust_env=False).raise_for_status()

    assert f"replaywright cancel {name}" in said
    assert command.returncode == 130
    assert f"{name}: cancelled" in cancelled.stdout
    assert json.loads(learned.cli("show", name, "--json").stdout)["status"] == "cancelled"
    assert name not in learned.sent()


def entries(site: Site) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(site.cli("admin", "cache", "list", "--json").stdout)["entries"]
    return found


def test_the_cache_can_be_looked_at_and_an_entry_forgotten(learned: Site) -> None:
    before = entries(learned)
    meant = [e for e in before if e["entry"]["instruction"] == "the compose link"]
    [known] = [e for e in meant if e["entry"]["owner"] == "send-mail"]
    key, version = known["contentKey"], known["entry"]["version"]

    table = learned.cli("admin", "cache", "list").stdout
    shown = learned.cli("admin", "cache", "show", key[:12]).stdout
    forgotten = learned.cli("admin", "cache", "invalidate", key[:12], "--why", "a test", "--yes")
    without = learned.run("--mode", "replay", subject="Not without the entry")
    again = learned.run("--json", subject="Learned again")

    assert "the compose link" in table
    assert f"{key}\n" in shown
    assert f"version {version}: active" in shown
    assert (len(meant), forgotten.returncode, "2 entries forgotten" in forgotten.stdout) == (2, 0, True)
    assert without.returncode == 1
    assert "the compose link" in without.stdout
    assert "what to do: " in without.stdout
    assert "Not without the entry" not in learned.sent()
    assert again.returncode == 0
    assert json.loads(again.stdout)["totals"]["usage"]["calls"] == 1


async def pictures_of(site: Site, keys: list[str]) -> list[tuple[bytes, bytes]]:
    """Pictures that the dashboard shows of heals, as recorded and as found."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in site.environment.items():
            patch.setenv(name, value)
        source = RunningSource(load_settings())
        try:
            return [
                (await source.heal_picture(key, "recorded"), await source.heal_picture(key, "found")) for key in keys
            ]
        finally:
            await source.close()


@pytest.mark.long
def test_a_heal_can_fail_the_command_and_be_held_back_for_a_person(learned: Site) -> None:
    learned.redesign("modern")
    try:
        off = learned.run("--mode", "replay", "--heal", "off", subject="No heal")
        proposed = learned.run("--mode", "replay", "--heal", "propose", "--fail-on-heal", "--json", subject="Proposed")
        held = json.loads(learned.cli("admin", "cache", "list", "--held", "--json").stdout)["entries"]
        pictures = asyncio.run(pictures_of(learned, [info["contentKey"] for info in held]))
        promoted = [learned.cli("admin", "cache", "promote", info["contentKey"]) for info in held]
        left = json.loads(learned.cli("admin", "cache", "list", "--held", "--json").stdout)["entries"]
        after = learned.run("--mode", "replay", "--heal", "off", "--json", subject="Promoted")
    finally:
        learned.redesign("classic")

    assert off.returncode == 1, off.stdout
    assert proposed.returncode == 3, proposed.stdout + proposed.stderr
    assert json.loads(proposed.stdout)["held"] == len(held) > 0
    assert len(pictures) == len(held)
    assert all(before != after for before, after in pictures)  # the dashboard shows the page of both looks
    assert [result.returncode for result in promoted] == [0] * len(held), promoted
    assert left == []
    assert after.returncode == 0, after.stderr
    assert json.loads(after.stdout)["totals"]["heals"] == 0
    assert learned.sent().count("No heal") == 0
    assert learned.sent().count("Proposed") == learned.sent().count("Promoted") == 1


def test_doctor_finds_everything(up: Site) -> None:
    result = up.cli("doctor", "--json")

    assert result.returncode == 0, result.stdout
    assert {finding["component"] for finding in json.loads(result.stdout)["findings"]} >= {
        "Chromium",
        "Temporal",
        "Redis",
    }


@pytest.mark.long
def test_a_trace_is_exported_verified_and_replayed_without_a_server(learned: Site, tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    nowhere = {
        "REPLAYWRIGHT_HOME": str(tmp_path / "home"),
        "REPLAYWRIGHT_TEMPORAL_ADDRESS": "127.0.0.1:1",
        "REPLAYWRIGHT_REDIS_URL": "redis://127.0.0.1:1",
    }

    exported = learned.cli("admin", "trace", "export", "learned", "--out", str(file))
    seal = exported.stderr.split()[-1]
    whole = learned.cli("admin", "trace", "verify", str(file), "--seal", seal, **nowhere)
    replayed = learned.cli("admin", "trace", "replay", str(file), **nowhere)
    lines = file.read_text(encoding="utf-8").split("\n")
    steps = [json.loads(line) for line in lines if '"kind":"step"' in line]
    others = sum('"kind":"picture"' in line or '"kind":"propose"' in line for line in lines)

    assert exported.returncode == 0, exported.stderr
    assert (whole.returncode, whole.stderr) == (0, ""), whole.stdout
    assert f"as it was written: {len(steps) + others + 1} lines, 1 execution of learned, seal {seal}" in whole.stdout
    assert (replayed.returncode, replayed.stderr) == (0, ""), replayed.stdout
    assert re.search(r"learned .*: \d+ activities, decided today as recorded", replayed.stdout)
    last = {step["sequence"]: step["metadata"]["status"] for step in steps}
    assert list(last) == list(range(10))
    assert set(last.values()) <= {"success", "skipped"}
    assert PASSWORD not in "".join(lines)


@pytest.mark.long
def test_a_run_that_failed_is_resumed_with_the_mended_task_and_what_it_had_learned(up: Site, tmp_path: Path) -> None:
    environment = {"REPLAYWRIGHT_TENANT": "resumes"}
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(Path(TASK).read_text("utf-8").replace("the send button", "the fax button"), "utf-8")
    values = [f"base_url={up.webmail}", "to=ada@example.com", "subject=Resumed", "body=Hello"]
    pairs = [word for pair in values for word in ("-p", pair)]

    failed = up.cli("run", str(wrong), *pairs, "--id", "mend-me", **environment)
    plan = up.cli("resume", "mend-me", "--task", TASK, "--dry-run", "--json", **environment)
    done = up.cli("resume", "mend-me", "--task", TASK, "--json", **environment)
    shown = up.cli("show", "mend-me~2", "--json", **environment)
    again = up.cli("resume", "mend-me", **environment)

    assert (failed.returncode, plan.returncode, done.returncode, again.returncode) == (1, 0, 0, 2), done.stderr
    assert "to go on where it stopped: `replaywright resume mend-me`" in failed.stdout
    said = json.loads(plan.stdout)
    assert (said["fromLedger"], said["first"], said["wayBack"], said["runId"]) == (9, 10, 1, "mend-me~2")
    totals = json.loads(done.stdout)["totals"]
    assert (totals["steps"], totals["fromLedger"], totals["usage"]["calls"]) == (10, 9, 1)
    assert "9 steps from the ledger, step 10 is the first to be performed" in done.stderr
    steps = json.loads(shown.stdout)["steps"]
    assert sorted({step["sequence"] for step in steps}) == list(range(10))
    assert {step["runId"] for step in steps} == {"mend-me~2"}
    assert "nothing to resume" in again.stderr
    assert up.sent().count("Resumed") == 1


def imported(site: Site, recording: str, folder: Path, to: str) -> "subprocess.CompletedProcess[str]":
    """Import a recording of the webmail, made where this one runs, and run it with other values and no model."""
    source, task = folder / recording, folder / "task.yaml"
    recorded = (ROOT / "tests" / "imports" / "recordings" / recording).read_text("utf-8")
    source.write_text(recorded.replace("http://webmail.test", site.webmail), "utf-8")
    made = site.cli("record", "--from", str(source), "--name", "imported", "--out", str(task), "--force")
    assert made.returncode == 0, made.stderr
    values = {"user_name": "demo", "to": to, "subject": f"Imported for {to}", "message": "Hello", "priority": "Low"}
    pairs = [word for name, value in values.items() for word in ("-p", f"{name}={value}")]
    return site.cli("run", str(task), *pairs, "--json", REPLAYWRIGHT_TENANT=f"imports-{folder.name}")


@pytest.mark.long
def test_an_imported_script_of_codegen_runs_with_other_values_and_no_model(up: Site, tmp_path: Path) -> None:
    result = imported(up, "codegen_webmail.py.txt", tmp_path, "bob@example.com")

    said = json.loads(result.stdout)
    assert (result.returncode, said["totals"]["usage"]["calls"]) == (0, 0), result.stderr
    assert said["totals"]["steps"] == 11
    assert up.sent().count("Imported for bob@example.com") == 1


@pytest.mark.long
def test_an_imported_recording_of_devtools_runs_with_other_values_and_no_model(up: Site, tmp_path: Path) -> None:
    result = imported(up, "devtools_webmail.json", tmp_path, "eve@example.com")
    again = imported(up, "devtools_webmail.json", tmp_path, "ann@example.com")

    said, replayed = json.loads(result.stdout), json.loads(again.stdout)
    assert (result.returncode, again.returncode) == (0, 0), result.stderr + again.stderr
    assert said["totals"]["usage"]["calls"] == replayed["totals"]["usage"]["calls"] == 0
    assert replayed["totals"]["hits"] > 0
    assert [up.sent().count(f"Imported for {name}@example.com") for name in ("eve", "ann")] == [1, 1]


@pytest.mark.long
def test_all_that_was_learned_of_a_task_or_a_site_is_forgotten_at_once(learned: Site) -> None:
    """The last test: nothing is learned any more."""
    sessions = learned.home / "sessions.yaml"
    signed_in = f"{{url: '{learned.webmail}/inbox', expect: [{{text_contains: Ada}}]}}"
    sessions.write_text(f"sessions:\n  ada:\n    sign_in: skill:send-mail\n    signed_in: {signed_in}\n")
    kept = learned.cli("admin", "retention", "--json")
    both = ["--task", "a", "--site", "b"]
    refused = [learned.cli("admin", "forget", *arguments, "--yes") for arguments in ([], both)]
    strange = learned.cli("admin", "forget", "--site", "https://elsewhere.example", "--yes")
    of_task = learned.cli("admin", "forget", "--task", "send-mail", "--yes", "--json")
    left = [each["entry"] for each in entries(learned) if each["entry"]["status"] != "retired"]
    again = learned.run(subject="Learned once more")
    of_site = learned.cli(
        "admin", "forget", "--site", learned.webmail, "--yes", "--json", REPLAYWRIGHT_SESSIONS=str(sessions)
    )

    assert {answer.returncode for answer in (*refused, strange)} == {2}
    assert "nothing is known of 'https://elsewhere.example'" in strange.stderr
    assert json.loads(of_task.stdout)["recordings"] > 0
    assert left == []  # with the elements that any task might have used
    assert again.returncode == 0
    assert of_site.returncode == 0, of_site.stderr
    assert json.loads(of_site.stdout)["sessions"] == 1
    counted = {each["kind"].partition(" ")[0]: each["count"] for each in json.loads(kept.stdout)["kept"]}
    assert min(counted[kind] for kind in ("recordings", "traces", "ledgers", "histories")) > 0
    assert {each["entry"]["status"] for each in entries(learned)} == {"retired"}
    assert learned.run("--mode", "replay", subject="Not without what was learned").returncode == 1

"""Runs that programs start: with the Python client, and in Node with Temporal's SDK and plain JSON."""

import asyncio
import os
import shutil
import sys
import threading
import uuid
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from temporalio.client import Client as TemporalClient

from demo.main_job import TASK_FILE
from demo.stage import Stage
from replaywright.client import Client, RunFailed
from replaywright.errors import InputInvalid, RunExists
from replaywright.stack import settings_environment
from tests.e2e.lab import Lab
from tests.exports.node_packages import node_packages
from tests.readme import ROOT, blocks_in

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
ASKS = EXAMPLES / "ask_before_ordering.yaml"
GUIDE = ROOT / "docs" / "how-to" / "client.md"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None: ...


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    """The examples' pages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=EXAMPLES / "pages"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def stage(lab: Lab) -> Stage:
    return lab.stage


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The Node example beside what it needs."""
    installed = node_packages(EXAMPLES / "node", "node-example")
    (tmp_path / "node_modules").symlink_to(installed / "node_modules")
    return Path(shutil.copy(EXAMPLES / "node" / "run.mjs", tmp_path))


async def done(stage: Stage, *command: str | Path, typed: str = "", key: bool = True) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of a program; it knows where the runs are, and nothing else."""
    here = settings_environment(stage.place.settings)
    places = ("TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TENANT", "TASK_QUEUE", "HOME", "SIGNING_KEYS_FILE")
    given = {name: here[name] for place in places if (name := f"REPLAYWRIGHT_{place}") in here}
    if not key:
        del given["REPLAYWRIGHT_SIGNING_KEYS_FILE"]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **given},
    )
    out, err = await process.communicate(typed.encode())
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_the_program_of_the_guide_orders_once_though_it_is_started_twice(
    stage: Stage, pages: str, tmp_path: Path
) -> None:
    blocks = blocks_in(GUIDE.read_text("utf-8"))
    block = next(each for each in blocks if each.language == "python")  # the guide begins with it
    (tmp_path / "lunch.py").write_text(block.text, "utf-8")
    command = (sys.executable, "-P", str(tmp_path / "lunch.py"), ASKS, uuid.uuid4().hex, pages)

    status, out, err = await done(stage, *command)
    again, out_again, err_again = await done(stage, *command)

    assert (status, again) == (0, 0), err + err_again
    assert "shall this be ordered?" in out
    assert "done: 5 steps, 0 model calls" in out
    assert "asked:" not in out_again
    assert "done: 5 steps, 0 model calls" in out_again


async def test_a_client_over_a_plain_connection_follows_answers_and_is_told_of_failures(
    stage: Stage, pages: str
) -> None:
    settings = stage.place.settings
    plain = await TemporalClient.connect(settings.temporal_address or "", namespace=settings.temporal_namespace)
    client = Client(plain, settings)
    values = {"name": "Grace", "dish": "Curry", "base_url": pages}

    run = await client.start(ASKS, values, run_id=f"lunch/{uuid.uuid4().hex}")
    with pytest.raises(RunExists):
        await client.start(ASKS, values, run_id=run.id)
    ending = await run.follow()
    plan, trace = await run.plan(), await run.trace()
    with pytest.raises(InputInvalid, match="approve, refuse"):
        await run.answer("done")
    await run.answer("refuse", who="the test")
    with pytest.raises(RunFailed) as failed:
        await run.result()
    cancelled = await client.start(ASKS, values)
    await cancelled.cancel("by the test")
    with pytest.raises(RunFailed) as ended:
        await cancelled.result()

    assert ending.status == "waiting"
    assert (plan.position, plan.total, len(trace.lines)) == (3, 5, 3)
    assert (failed.value.status, failed.value.result.failed_step) == ("failed", 3)
    assert ended.value.status == "cancelled"


@pytest.mark.parametrize("wrong", [{"nam": "Ada"}, {"name": "Ada", "dish": "Sushi"}])
async def test_what_is_wrong_is_said_before_anything_is_started(stage: Stage, wrong: dict[str, str]) -> None:
    client = Client(stage.place.client, stage.place.settings)

    with pytest.raises(InputInvalid, match=r"values\.nam|Sushi"):
        await client.start(ASKS, wrong)


async def test_node_runs_a_task_file_and_prints_the_result(stage: Stage, program: Path) -> None:
    values = (f"base_url={stage.webmail}", "to=ada@example.com", "subject=From Node", "body=Hello")

    status, out, err = await done(stage, "node", program, TASK_FILE, *values)

    assert (status, err) == (0, "")
    assert "0010 click the send button: done" in out
    assert '"succeeded": true' in out
    status, _, err = await done(stage, "node", program, TASK_FILE, *values, key=False)

    assert status == 1
    assert "the start of this run is not signed (unsigned)" in err
    assert [(mail.to, mail.subject) for mail in stage.sent() if mail.subject == "From Node"] == [
        ("ada@example.com", "From Node")
    ]


@pytest.mark.long
async def test_node_answers_what_a_run_asks_and_is_told_why_one_fails(stage: Stage, pages: str, program: Path) -> None:
    run_id = f"node/{uuid.uuid4().hex}"
    values = ("name=Grace", "dish=Soup", f"base_url={pages}", "--id", run_id)

    status, out, err = await done(stage, "node", program, ASKS, *values, typed="refuse\n")
    again, _, err_again = await done(stage, "node", program, ASKS, *values)
    wrong, _, err_wrong = await done(stage, "node", program, ASKS, "nam=Grace")

    assert (status, again, wrong) == (1, 1, 1)
    assert "shall this be ordered?" in out
    assert err.startswith("TaskFailed: step 4: ")
    assert '"failedStep": 3' in err
    assert err_again == f"there is, or was, a run with the id {run_id}\n"
    assert err_wrong.startswith("InputInvalid: values.nam: task 'ask-before-ordering' has no such parameter")

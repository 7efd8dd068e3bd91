"""What a command loads before it begins: a run starts in the time that this takes."""

import json
import subprocess
import sys

from replaywright.domain.common.base import Authored, Record, build_schemas
from replaywright.domain.run.runs import RunInput

HEAVY = {
    *("playwright", "redis", "pydantic_ai", "openai", "httpx", "opentelemetry", "numpy", "jinja2", "fsspec"),
    *("cryptography", "psutil", "temporalio.worker", "replaywright.browser", "replaywright.llm", "cache", "workflows"),
    *("yaml", "rapidfuzz", "replaywright.domain.locating.wording", "replaywright.domain.batch.batches"),
}
"""What only workers and other commands need."""
DRAWING = {"rich.console", "rich.live", "replaywright.cli.output", "replaywright.cli.runs.watching"}
"""What a run is shown with: loaded once it was started, while its browser comes."""


def test_a_run_is_started_without_what_only_workers_need() -> None:
    code = "import json, sys, replaywright.cli.runs.run; print(json.dumps([*sys.modules]))"

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    loaded = set(json.loads(said))
    assert "replaywright.cli.runs.run" in loaded
    assert loaded & HEAVY == set()
    assert loaded & DRAWING == set()


def test_importing_the_command_builds_no_schema_of_a_run() -> None:
    code = (
        "import replaywright.cli.runs.run; from replaywright.domain.run.runs import RunInput; "
        "print(RunInput.__pydantic_complete__)"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.strip() == "False"


def test_reading_a_task_builds_the_schema_of_the_task_alone() -> None:
    code = (
        "from replaywright.domain.task import steps, tasks; "
        "tasks.parse_task({'task': 't', 'steps': [{'action': 'goto', 'url': 'http://h/', 'expect': [{'url_contains': "
        "'h'}]}, {'action': 'click', 'instruction': 'x'}], 'verify': [{'title_contains': 'y'}]}, 'here'); "
        "models = {**vars(steps), **vars(tasks)}; "
        "print(*(name for name in ('Task', 'Goto', 'Click') if models[name].__pydantic_complete__))"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said.split() == ["Task"]


def test_whoever_serves_runs_has_all_schemas_before_the_first() -> None:
    class Stored(Record):
        word: str

    class Written(Authored):
        word: str

    before = [model.__pydantic_complete__ for model in (Stored, Written)]
    build_schemas()
    after = [model.__pydantic_complete__ for model in (Stored, Written, RunInput)]

    assert before == [False, False]
    assert after == [True, True, True]

"""Log records as JSON: what they are about is found in them, and no secret."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from temporalio.testing import ActivityEnvironment

from replaywright.telemetry.logs import JsonFormatter
from replaywright.vault.environment import EnvironmentSecrets
from replaywright.vault.logs import RedactingFilter

VALUE = "hunter2-hunter2"


class Written(logging.Handler):
    """What a handler of a worker writes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.setFormatter(JsonFormatter())
        self.addFilter(RedactingFilter(EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD": VALUE})))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    @property
    def last(self) -> dict[str, object]:
        told = json.loads(self.lines[-1])
        assert isinstance(told, dict)
        return told


@pytest.fixture
def written() -> Iterator[Written]:
    logger, handler = logging.getLogger("replaywright.of-a-test"), Written()
    logger.addHandler(handler)
    yield handler
    logger.removeHandler(handler)


_log = logging.getLogger("replaywright.of-a-test")


def test_a_record_is_one_object_on_one_line(written: Written) -> None:
    _log.warning("two\nlines of %s", "text", extra={"host": "blue"})

    assert "\n" not in written.lines[0]
    told = written.last
    assert (told["level"], told["logger"], told["message"]) == ("WARNING", _log.name, "two\nlines of text")
    assert told["host"] == "blue"
    assert str(told["time"]).endswith("Z")
    assert "run" not in told


async def test_a_record_of_an_activity_names_run_step_and_trace(written: Written) -> None:
    environment = ActivityEnvironment()
    environment.info = ActivityEnvironment.default_info()
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")

    async def step() -> None:
        with tracer.start_as_current_span("browser.click"):
            _log.warning("the page is slow")

    given = {"activity_id": "0012-abcdef012345-retry1", "workflow_id": "send-mail-1", "activity_type": "browser.click"}
    for name, value in given.items():
        object.__setattr__(environment.info, name, value)
    await environment.run(step)

    told = written.last
    assert (told["run"], told["step"], told["activity"]) == ("send-mail-1", 12, "browser.click")
    assert told["attempt"] == 1
    assert len(str(told["trace_id"])) == 32
    assert len(str(told["span_id"])) == 16


def test_secrets_are_in_no_part_of_a_record(written: Written) -> None:
    try:
        raise ValueError(f"the page says {VALUE}")
    except ValueError:
        _log.exception("typed %s", VALUE, stack_info=True, extra={"data": {"password": VALUE}, "object": Held()})

    assert VALUE not in written.lines[0]
    assert "ValueError" in str(written.last["exception"])
    assert "stack" in written.last
    assert sys.exc_info() == (None, None, None)


class Held:
    def __repr__(self) -> str:
        return f"Held({VALUE})"

"""Log records as JSON, one object a line, with the run and the step that they are about."""

import json
import logging
import re
import time
from typing import Any

from opentelemetry.trace import get_current_span
from temporalio import activity

_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_STEP = re.compile(r"^(\d{4,})-")
"""Prefix of the ids of step activities (`workflows.step.attempts`)."""


class JsonFormatter(logging.Formatter):
    """`time`, `level`, `logger`, `message`; within an activity `run`, `activity`, `attempt` and `step`; within a trace
    `trace_id` and `span_id`; `exception` and `stack`, where there are any; and whatever came by `extra`.

    What is formatted has been through `RedactingFilter`, which takes secrets out of all of it.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as one line."""
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        told: dict[str, Any] = {
            "time": f"{at}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_where(),
        }
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            told["exception"] = record.exc_text
        if record.stack_info:
            told["stack"] = record.stack_info
        extra = {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS and name not in told}
        return json.dumps({**told, **extra}, ensure_ascii=False, default=str)


def _where() -> dict[str, Any]:
    """Return the ids of the run, step and span that this task works for."""
    told: dict[str, Any] = {}
    if activity.in_activity():
        info = activity.info()
        told = {"run": info.workflow_id, "activity": info.activity_type, "attempt": info.attempt}
        if found := _STEP.match(info.activity_id):
            told["step"] = int(found[1])
    context = get_current_span().get_span_context()
    if context.is_valid:
        told |= {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}
    return told

"""Log records without secrets."""

import logging
import traceback
from typing import Any

from replaywright.ports.stores import Secrets

_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""Fields of every record; all others come from `extra`."""


class RedactingFilter(logging.Filter):
    """Takes secrets out of a record's message, arguments, exception, stack and `extra` fields.

    Put it on handlers, not on loggers: a logger's filters do not see the records of the loggers below it. The record
    comes out with its message complete and its exception as text, so that no later handler can reach the originals.
    """

    def __init__(self, secrets: Secrets) -> None:
        super().__init__()
        self._secrets = secrets

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact `record` in place; it is always kept."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # Logging would print message and arguments to standard error, as they are.
            message = f"{record.msg} {record.args!r}"
        record.msg, record.args = self._secrets.redact(message), None
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
        if record.exc_text:
            record.exc_text = self._secrets.redact(record.exc_text)
        record.exc_info = None
        if record.stack_info:
            record.stack_info = self._secrets.redact(record.stack_info)
        for name in vars(record).keys() - _OWN_FIELDS:
            setattr(record, name, self._redacted(getattr(record, name)))
        return True

    def _redacted(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | float | str | dict | list | tuple):
            return self._secrets.redact_data(value)
        return self._secrets.redact(str(value))

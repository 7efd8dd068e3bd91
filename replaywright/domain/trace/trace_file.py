"""A run's trace as a file: JSON Lines that can be checked and replayed without a server.

The first line is the header. The lines of the trace follow exactly as stored, then the workflow histories of the run's
executions, one a line, as an independent witness.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.elsewhere import json_value
from replaywright.domain.step.fingerprints import digest
from replaywright.errors import InputInvalid

FILE_VERSION: Final = 1
HEADER: Final = "export"
HISTORY: Final = "history"
DAMAGED: Final = "damaged"
"""Kind of a line that stands for one that was no JSON object in the store."""


class Header(Record):
    """Header of a file."""

    kind: str
    v: int
    run: str
    lineage: str
    tenant: str
    lines: int = Field(ge=0)
    """Lines of the trace."""
    histories: int = Field(ge=0)
    head: str
    """`hash` of the trace's last line; empty if that has none."""
    contents: str
    """SHA-256 of all bytes after the header."""
    written_by: str = ""
    seal: str
    """Digest of the header without it. Kept elsewhere, it proves that nobody has rewritten the file."""


@dataclass(frozen=True)
class History:
    """An execution of a run."""

    workflow_id: str
    run_id: str
    events: Sequence[Mapping[str, Any]]


def written(
    stored: Iterable[bytes],
    histories: Sequence[History],
    *,
    run: str,
    lineage: str,
    tenant: str,
    written_by: str,
) -> tuple[str, Header]:
    """Return the file's text and header."""
    texts = [_as_one_line(text) for text in stored]
    last = json.loads(texts[-1]) if texts else {}
    chain = last.get("chain")
    body = [*texts, *(json.dumps(_history_line(one, at), separators=(",", ":")) for at, one in enumerate(histories))]
    contents = "".join(f"{line}\n" for line in body)
    fields: dict[str, Any] = {
        "kind": HEADER,
        "v": FILE_VERSION,
        "run": run,
        "lineage": lineage,
        "tenant": tenant,
        "lines": len(texts),
        "histories": len(histories),
        "head": chain.get("hash", "") if isinstance(chain, dict) else "",
        "contents": sha256_of(contents),
        "writtenBy": written_by,
    }
    fields["seal"] = digest(fields)
    return json.dumps(fields, separators=(",", ":")) + "\n" + contents, Header.model_validate(fields)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of the text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def history_digest(line: Mapping[str, Any]) -> str:
    """Return the digest of a history's line without its digest."""
    return digest({name: value for name, value in line.items() if name != "digest"})


def parsed(text: str) -> dict[str, Any]:
    """Parse one line as a JSON object.

    Raises:
        ValueError: it is none, too deep, or ambiguous because a name is repeated.
    """
    value = json_value(text)
    if not isinstance(value, dict):
        raise json.JSONDecodeError("it is not a JSON object", text, 0)
    return value


def histories_in(text: str) -> list[History]:
    """Return the executions in a file.

    Raises:
        InputInvalid: it is no exported trace, or cannot be read.
    """
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            lines += [parsed(line)] if line else []
        except ValueError as exc:
            raise InputInvalid(f"line {number} cannot be read: {exc}; see `replaywright admin trace verify`") from exc
    if not lines or lines[0].get("kind") != HEADER:
        raise InputInvalid("this is no exported trace: `replaywright admin trace export RUN --out FILE` writes one")
    found = [line for line in lines if line.get("kind") == HISTORY]
    if any(history_digest(line) != line.get("digest") for line in found):
        raise InputInvalid("a history in it is not what was exported; see `replaywright admin trace verify`")
    return [history_of(line) for line in found]


def history_of(line: Mapping[str, Any]) -> History:
    """Return the history in a line."""
    return History(str(line.get("workflowId", "")), str(line.get("runId", "")), line.get("events") or [])


def _history_line(history: History, position: int) -> dict[str, Any]:
    line = {
        "kind": HISTORY,
        "position": position,
        "workflowId": history.workflow_id,
        "runId": history.run_id,
        "events": list(history.events),
    }
    return {**line, "digest": history_digest(line)}


def _as_one_line(stored: bytes) -> str:
    text = stored.decode("utf-8", "replace")
    try:
        value = json.loads(stored)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return json.dumps({"kind": DAMAGED, "text": text})
    return json.dumps(value, separators=(",", ":")) if "\n" in text or "\r" in text else text

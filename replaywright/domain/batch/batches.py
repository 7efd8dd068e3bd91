"""Batches: one task over many rows of values, with one run for each row.

The batch's id and the row determine the id of its run, so a second start finds the first run. Rows are stored in chunks
by digest; the workflow reads one chunk at a time.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.canonical import canonical
from replaywright.domain.common.text import shorten
from replaywright.domain.run.commit_lines import CommitLine
from replaywright.domain.run.resuming import Resume
from replaywright.domain.run.runs import RunInput, RunResult, RunState
from replaywright.domain.run.standing import End

CHUNK_ROWS = 100
"""Maximum rows of a chunk."""
CHUNK_BYTES = 256 * 1024
"""Bytes after which a new chunk begins: a chunk must fit into a Temporal message."""
MESSAGE_LIMIT = 300
"""Characters of a row's stored reason."""
EXTRACTED_BYTES = 8 * 1024
"""Maximum bytes of extracted values kept with a row; larger ones stay with the run."""
ROWS = "rows"
"""Memo of a batch: digest of its whole file's index."""
ROWS_AGAIN = "rows_again"
"""Memo of a batch that retries some rows: digest of their index."""
PROBLEMS_KEPT = 5
"""Last failed rows in the progress of a batch."""
DEFAULT_PARALLEL = 4
MOST_PARALLEL = 256

Stopped: TypeAlias = Literal["", "cancelled", "aborted", "failures", "rows_unreadable"]
"""Why no further row begins: a person cancelled or aborted (begun rows end by themselves or are cancelled), too many
failures, or unreadable rows."""


class RowResume(Record):
    """Resume state of a failed row, in the lineage of its run."""

    run_id: str
    lineage: str
    resume: Resume
    state: RunState


class Row(Record):
    """One row."""

    number: int = Field(ge=1)
    """Place among the rows of the file, from 1, without header and empty lines."""
    line: int = 0
    """First line in the file, from 1."""
    values: dict[str, str]
    """Values of all parameters."""
    site: str = ""
    """Host that its run begins on."""
    again: RowResume | None = None
    """None for the first attempt."""


class Chunk(Record):
    """Address of some rows."""

    digest: str
    first: int
    """Number of its first row."""
    count: int


class RowIndex(Record):
    """Addresses of all rows of a batch, in order."""

    rows: int = 0
    chunks: tuple[Chunk, ...] = ()


class Rows(Record):
    """Rows of a chunk."""

    rows: tuple[Row, ...] = ()


class RowEnd(Record):
    """Result of a row."""

    number: int
    status: End
    run_id: str
    reason: str = ""
    """Code of the failure; empty without one."""
    message: str = ""
    """The failure in words."""
    failed_step: int | None = None
    """Index of the step that ended the run."""
    seconds: float = 0.0
    ended: float = 0.0
    """Seconds since 1970."""
    steps: int = 0
    heals: int = 0
    model_calls: int = 0
    commits: tuple[CommitLine, ...] = ()
    """Steps with consequences of an unfinished row, with their states."""
    extracted: dict[str, Any] = Field(default_factory=dict)
    """Extracted values, unless they are large."""


class ReadRows(Record):
    """Input of `batch.rows`: read the pending rows of one chunk."""

    tenant: str
    batch: str
    index: str
    """Digest of the `RowIndex`."""
    chunk: int
    """Index of the chunk."""


class RowsToDo(Record):
    """Pending rows of a chunk."""

    rows: tuple[Row, ...] = ()
    ended: dict[End, int] = Field(default_factory=dict)
    """Counts of the ended rows by status."""
    chunks: int = 0
    """Total number of chunks."""
    admitted: str = ""
    """Proof of a signed start for executions that continue the batch as new."""


class BegunRow(Record):
    """A row whose run has begun and, as far as the batch knows, not ended."""

    number: int
    run_id: str
    began: float
    """Seconds since 1970; of a run that somebody else began, when the batch found it."""


class WatchRows(Record):
    """Input of `batch.watch`: report which runs have ended or wait for a person."""

    rows: tuple[BegunRow, ...]
    waiting: tuple[int, ...] = ()
    """Numbers of rows already known to wait."""
    patience_s: float = 0.0
    """Maximum time to wait for news."""


class Watched(Record):
    """Changes of watched runs."""

    ended: tuple[RowEnd, ...] = ()
    waiting: tuple[int, ...] = ()


class NoteRows(Record):
    """Input of `batch.note`: store the results of rows."""

    tenant: str
    batch: str
    ends: tuple[RowEnd, ...]


class BatchStanding(Record):
    """Counts and last failures of a batch."""

    ended: dict[End, int] = Field(default_factory=dict)
    problems: tuple[RowEnd, ...] = ()
    """The last failed rows."""
    stopped: Stopped = ""
    why: str = ""
    """Reason of `stopped` in words."""
    began: float = 0.0


class BatchState(BatchStanding):
    """State of a batch across continue-as-new."""

    chunk: int = 0
    """Next chunk to read."""
    ahead: tuple[Row, ...] = ()
    """Rows read and not begun."""
    begun: tuple[BegunRow, ...] = ()
    waiting: tuple[int, ...] = ()
    failures: int = 0
    """Failed rows since the batch was begun or resumed."""


class BatchInput(Record):
    """Input of the workflow `BrowserBatch`."""

    run: RunInput
    """Template of every row's run."""
    index: str
    """Digest of the `RowIndex` of the pending rows."""
    whole: str = ""
    """Digest of the index of the whole file, if these are only some of its rows."""
    total: int
    """Number of pending rows."""
    parallel: int = Field(DEFAULT_PARALLEL, ge=1, le=MOST_PARALLEL)
    """Concurrent runs; those that wait for a person do not count."""
    max_failures: int = Field(0, ge=0)
    """Failed rows after which no further row begins; 0 for no limit."""
    first_alone: bool = False
    """True: the others wait until one row is done, and use what it learned."""
    source: str = ""
    """Name of the file."""
    summary: str = ""
    """Summary of every run, for lists."""
    details: str = ""
    """Details of every run, as Markdown."""
    memo: dict[str, str] = Field(default_factory=dict)
    """Memo of every run."""
    attributes: dict[str, str | int] = Field(default_factory=dict)
    """Search attributes of every run."""
    admitted: str = ""
    """Proof, for a continued execution, that the first start was signed."""
    rows_per_history: int = Field(400, ge=1)
    """Rows after which the workflow continues as new."""
    state: BatchState = Field(default_factory=BatchState)
    """State to continue from; empty for a new batch."""

    @property
    def of_file(self) -> str:
        """Digest of the index of the whole file."""
        return self.whole or self.index


class StopBatch(Record):
    """Request to begin no further row."""

    abort: bool = False
    """True to cancel running rows, too."""
    who: str = ""
    why: str = ""


class BatchProgress(BatchStanding):
    """Answer of the query `progress`, and result of `BrowserBatch`."""

    is_published: ClassVar[bool] = True

    status: Literal["running", "stopping", "done", "stopped"] = "running"
    """`stopped`: it ended before every row was begun."""
    total: int = 0
    under_way: int = 0
    """Rows whose run has begun and not ended, including waiting ones."""
    waiting: tuple[BegunRow, ...] = ()
    """Rows whose run waits for a person."""

    @property
    def over(self) -> int:
        """Number of ended rows."""
        return sum(self.ended.values())

    @property
    def done(self) -> int:
        """Number of rows that were done."""
        return self.ended.get("done", 0)


# ---------------------------------------------------------------------------------------------- functions


def run_id_of(batch: str, row: Row) -> str:
    """Return the id of a row's run, stable for this row of this batch."""
    if row.again is not None:
        return row.again.run_id
    digest = hashlib.sha256(canonical({"number": row.number, "values": dict(row.values)})).hexdigest()
    return f"{batch}/{row.number:06d}-{digest[:12]}"


def run_input_of(batch: BatchInput, row: Row) -> RunInput:
    """Return the input of a row's run."""
    update: dict[str, Any] = {"values": row.values}
    if (again := row.again) is not None:
        update |= {"lineage": again.lineage, "resume": again.resume, "state": again.state, "relearns": False}
    return batch.run.model_copy(update=update)


def chunks_of(rows: Iterable[Row]) -> Iterator[tuple[Rows, bytes]]:
    """Yield the rows in chunks, each with its stored bytes."""
    held: list[Row] = []
    size = 0
    for row in rows:
        taken = len(row.model_dump_json(by_alias=True))
        if held and (len(held) == CHUNK_ROWS or size + taken > CHUNK_BYTES):
            yield _chunk(held)
            held, size = [], 0
        held.append(row)
        size += taken
    if held:
        yield _chunk(held)


def _chunk(rows: list[Row]) -> tuple[Rows, bytes]:
    chunk = Rows(rows=tuple(rows))
    return chunk, chunk.model_dump_json(by_alias=True, exclude_defaults=True).encode()


def is_to_be_done(batch: str, row: Row, end: RowEnd | None) -> bool:
    """Return True if the row must be run, given its stored result.

    A done row never is; a failed one only if it is retried under another id.
    """
    if end is None:
        return True
    return row.again is not None and end.status != "done" and end.run_id != run_id_of(batch, row)


def row_end(begun: BegunRow, status: End, result: RunResult, at: float) -> RowEnd:
    """Return the result of a row."""
    is_small = len(json.dumps(result.extracted)) <= EXTRACTED_BYTES
    return RowEnd(
        number=begun.number,
        status=status,
        run_id=begun.run_id,
        reason=result.rule or result.reason,
        message=shorten(result.message, MESSAGE_LIMIT),
        failed_step=result.failed_step,
        seconds=round(max(0.0, at - begun.began), 3),
        ended=round(at, 3),
        steps=result.totals.steps,
        heals=result.totals.heals,
        model_calls=result.totals.usage.calls,
        commits=() if status == "done" else result.commits,
        extracted=result.extracted if is_small else {},
    )

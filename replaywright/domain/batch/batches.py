"""A batch: one task over many rows of values, one run for each row.

Which run is a row's own is decided by the batch's id and the row alone, so whoever begins it a second time meets the
first. The rows are kept in chunks, each under its digest; the workflow reads them one chunk at a time.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.canonical import canonical
from replaywright.domain.common.text import shorten
from replaywright.domain.run.commit_lines import CommitLine
from replaywright.domain.run.runs import End, Resume, RunInput, RunResult, RunState

CHUNK_ROWS = 100
"""Rows of a chunk at most."""
CHUNK_BYTES = 256 * 1024
"""Bytes of a chunk after which a new one begins: a chunk has to fit into a message of Temporal's."""
MESSAGE_LIMIT = 300
"""Characters of the reason that is kept of a row."""
EXTRACTED_BYTES = 8 * 1024
"""What a run has read is kept with its row up to this size; what is larger is shown by the run alone."""
ROWS = "rows"
"""Memo of a batch: digest of the index of its whole file."""
ROWS_AGAIN = "rows_again"
"""Memo of a batch that tries some rows again: digest of the index of these."""
PROBLEMS_KEPT = 5
"""Rows of a batch's progress that came to nothing, the last ones."""
DEFAULT_PARALLEL = 4
MOST_PARALLEL = 256

ENDS: tuple[End, ...] = ("done", "failed", "blocked", "cancelled", "terminated", "timed_out")
Stopped: TypeAlias = Literal["", "cancelled", "aborted", "failures", "rows_unreadable"]
"""Why no further row is begun: a person said so, and begun rows end by themselves or were cancelled, too; too many
failed; the rows cannot be read."""


class Again(Record):
    """What a row whose run came to nothing goes on with: in the lineage of that run."""

    run_id: str
    lineage: str
    resume: Resume
    state: RunState


class Row(Record):
    """One row."""

    number: int = Field(ge=1)
    """Its place among the rows of the file, from 1; the header and empty lines do not count."""
    line: int = 0
    """Where it begins in the file, from 1."""
    values: dict[str, str]
    """Of the task's parameters: all of them."""
    site: str = ""
    """Host that its run begins on."""
    again: Again | None = None
    """None for a row that is done for the first time."""


class Chunk(Record):
    """Where some rows are kept."""

    digest: str
    first: int
    """Number of its first row."""
    count: int


class RowIndex(Record):
    """Where all rows of a batch are kept, in their order."""

    rows: int = 0
    chunks: tuple[Chunk, ...] = ()


class Rows(Record):
    """A chunk."""

    rows: tuple[Row, ...] = ()


class RowEnd(Record):
    """How a row ended."""

    number: int
    status: End
    run_id: str
    reason: str = ""
    """A code for why it came to nothing; empty if it did not."""
    message: str = ""
    """The same in words."""
    failed_step: int | None = None
    """Index of the step, from 0, that ended the run."""
    seconds: float = 0.0
    ended: float = 0.0
    """Seconds since 1970."""
    steps: int = 0
    heals: int = 0
    model_calls: int = 0
    commits: tuple[CommitLine, ...] = ()
    """Of a row that was not done: its steps with consequences, and what is known of them."""
    extracted: dict[str, Any] = Field(default_factory=dict)
    """What the run has read, unless it is large."""


class ReadRows(Record):
    """Input of `batch.rows`: the rows of one chunk that are still to be done."""

    tenant: str
    batch: str
    index: str
    """Digest of the `RowIndex`."""
    chunk: int
    """Which, from 0."""


class RowsToDo(Record):
    """What of a chunk is still to be done."""

    rows: tuple[Row, ...] = ()
    ended: dict[End, int] = Field(default_factory=dict)
    """How many of the others ended how."""
    chunks: int = 0
    """Chunks that there are."""
    admitted: str = ""
    """Proof of a signed start for the executions that continue the batch as new."""


class Begun(Record):
    """A row whose run was begun and has not ended, as far as the batch knows."""

    number: int
    run_id: str
    began: float
    """Seconds since 1970; of a run that somebody else began, when the batch met it."""


class WatchRows(Record):
    """Input of `batch.watch`: say which of these runs have ended, or begun to wait for a person."""

    rows: tuple[Begun, ...]
    waiting: tuple[int, ...] = ()
    """Numbers of the rows that are known to wait."""
    patience_s: float = 0.0
    """How long to look for news before there is none."""


class Watched(Record):
    """What became of runs that were watched."""

    ended: tuple[RowEnd, ...] = ()
    waiting: tuple[int, ...] = ()


class NoteRows(Record):
    """Input of `batch.note`: keep how rows ended."""

    tenant: str
    batch: str
    ends: tuple[RowEnd, ...]


class BatchState(Record):
    """Where a batch is: what continue-as-new carries."""

    chunk: int = 0
    """The chunk that it reads next."""
    ahead: tuple[Row, ...] = ()
    """Rows that were read and not begun."""
    begun: tuple[Begun, ...] = ()
    waiting: tuple[int, ...] = ()
    ended: dict[End, int] = Field(default_factory=dict)
    failures: int = 0
    """Rows that came to nothing since the batch was begun, or begun again."""
    problems: tuple[RowEnd, ...] = ()
    stopped: Stopped = ""
    why: str = ""
    began: float = 0.0


class BatchInput(Record):
    """Input of the workflow `BrowserBatch`."""

    run: RunInput
    """Of every row's run, but for what the row says."""
    index: str
    """Digest of the `RowIndex` of the rows that are to be done."""
    whole: str = ""
    """The same of the batch's whole file, where these are only some of its rows."""
    total: int
    """Rows that are to be done."""
    parallel: int = Field(DEFAULT_PARALLEL, ge=1, le=MOST_PARALLEL)
    """Runs that are under way at the same time; one that waits for a person does not count."""
    max_failures: int = Field(0, ge=0)
    """After so many rows that came to nothing, no further one is begun; 0: whatever happens."""
    first_alone: bool = False
    """The others wait until one row is done: they find learned what it has learned."""
    source: str = ""
    """What the file is called."""
    summary: str = ""
    """Of every run, for lists."""
    details: str = ""
    """Of every run, as Markdown."""
    memo: dict[str, str] = Field(default_factory=dict)
    """Of every run."""
    attributes: dict[str, str | int] = Field(default_factory=dict)
    """Search attributes of every run."""
    admitted: str = ""
    """Of an execution that continues another as new: proof that the first one's start was signed."""
    rows_per_history: int = Field(400, ge=1)
    """Rows after which the workflow continues as new."""
    state: BatchState = Field(default_factory=BatchState)
    """Where it goes on; left out by those who start a batch."""

    @property
    def of_file(self) -> str:
        """Digest of the index of the whole file."""
        return self.whole or self.index


class StopBatch(Record):
    """What a person says who wants no further row begun."""

    abort: bool = False
    """Cancel the runs under way, too."""
    who: str = ""
    why: str = ""


class BatchProgress(Record):
    """Answer of the query `progress`, and with it the result of `BrowserBatch`."""

    status: Literal["running", "stopping", "done", "stopped"] = "running"
    """`stopped`: it has ended before every row was begun."""
    total: int = 0
    ended: dict[End, int] = Field(default_factory=dict)
    under_way: int = 0
    """Rows whose run has begun and not ended, those that wait with them."""
    waiting: tuple[Begun, ...] = ()
    """Rows whose run waits for a person."""
    problems: tuple[RowEnd, ...] = ()
    """The last rows that came to nothing."""
    stopped: Stopped = ""
    why: str = ""
    """Of `stopped`, in words."""
    began: float = 0.0

    @property
    def over(self) -> int:
        """Rows that have ended."""
        return sum(self.ended.values())

    @property
    def done(self) -> int:
        """Rows that were done."""
        return self.ended.get("done", 0)


# ---------------------------------------------------------------------------------------------- functions


def run_id_of(batch: str, row: Row) -> str:
    """The id of a row's run: always the same for this row of this batch."""
    if row.again is not None:
        return row.again.run_id
    digest = hashlib.sha256(canonical({"number": row.number, "values": dict(row.values)})).hexdigest()
    return f"{batch}/{row.number:06d}-{digest[:12]}"


def run_input_of(batch: BatchInput, row: Row) -> RunInput:
    """What the run of a row is started with."""
    told: dict[str, Any] = {"values": row.values}
    if row.again is not None:
        told |= {
            "lineage": row.again.lineage,
            "resume": row.again.resume,
            "state": row.again.state,
            "relearns": False,
        }
    return batch.run.model_copy(update=told)


def chunks_of(rows: Iterable[Row]) -> Iterator[tuple[Rows, bytes]]:
    """The rows in chunks, each with the bytes that are kept."""
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
    """Whether a row is to be begun, with what is kept of its end.

    A row that was done never is. One that came to nothing is only where it is tried again, and under another id.
    """
    if end is None:
        return True
    return row.again is not None and end.status != "done" and end.run_id != run_id_of(batch, row)


def row_end(begun: Begun, status: End, result: RunResult, at: float) -> RowEnd:
    """What is kept of a row's end."""
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

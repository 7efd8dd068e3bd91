"""The run of a row is always the same one, and a row that was done is never to be done again."""

from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.batch.batches import (
    CHUNK_BYTES,
    CHUNK_ROWS,
    BatchInput,
    BegunRow,
    Row,
    RowEnd,
    RowResume,
    Rows,
    chunks_of,
    is_to_be_done,
    row_end,
    run_id_of,
    run_input_of,
)
from replaywright.domain.run.resuming import Resume
from replaywright.domain.run.runs import RunInput, RunResult, RunState, Totals
from replaywright.domain.skill.skills import SkillRef
from replaywright.domain.task.tasks import parse_task

VALUES = st.dictionaries(st.sampled_from(["a", "b", "c"]), st.text(max_size=20))
ROWS = st.builds(Row, number=st.integers(1, 10**6), values=VALUES)
AGAIN = RowResume(run_id="first~2", lineage="first", resume=Resume(of="first"), state=RunState(epoch=3))


@given(ROWS, ROWS)
def test_two_rows_have_one_run_only_if_they_are_the_same_row(one: Row, other: Row) -> None:
    same = (one.number, one.values) == (other.number, other.values)

    assert (run_id_of("batch", one) == run_id_of("batch", other)) == same
    assert run_id_of("batch", one) == run_id_of("batch", Row.model_validate_json(one.model_dump_json(by_alias=True)))
    assert run_id_of("another", one) != run_id_of("batch", one)


@given(st.lists(st.integers(0, 3_000), max_size=300))
def test_chunks_hold_all_rows_in_their_order_and_are_small(sizes: list[int]) -> None:
    given_rows = [Row(number=at, values={"a": "x" * size}) for at, size in enumerate(sizes, 1)]

    chunks = [(chunk, data) for chunk, data in chunks_of(given_rows)]

    assert [row for _chunk, data in chunks for row in Rows.model_validate_json(data).rows] == given_rows
    assert all(len(chunk.rows) <= CHUNK_ROWS and len(data) <= CHUNK_BYTES + 200 for chunk, data in chunks)


@given(ROWS, st.sampled_from(["done", "failed", "blocked", "cancelled", "terminated", "timed_out"]), st.booleans())
def test_a_row_is_begun_once_and_again_only_where_that_was_asked_for(row: Row, status: str, is_again: bool) -> None:
    tried = row.model_copy(update={"again": AGAIN}) if is_again else row
    first = RowEnd.model_validate({"number": row.number, "status": status, "run_id": run_id_of("batch", row)})
    second = first.model_copy(update={"run_id": AGAIN.run_id})

    assert is_to_be_done("batch", tried, None)
    assert is_to_be_done("batch", tried, first) == (is_again and status != "done")
    assert not is_to_be_done("batch", tried, second)


def test_a_row_that_is_tried_again_goes_on_in_the_lineage_of_its_first_run() -> None:
    task = parse_task(
        {"task": "t", "parameters": {"a": {}}, "steps": [{"action": "goto", "url": "http://x/{{a}}"}]}, ""
    )
    run = RunInput(task=task, tenant="acme", skill=SkillRef(name="s", version=1), relearns=True)
    batch = BatchInput(run=run, index="", total=1)

    first = run_input_of(batch, Row(number=1, values={"a": "1"}))
    again = run_input_of(batch, Row(number=1, values={"a": "1"}, again=AGAIN))

    assert (first.values, first.lineage, first.resume, first.relearns) == ({"a": "1"}, "", None, True)
    assert (again.lineage, again.resume, again.state) == ("first", AGAIN.resume, AGAIN.state)
    assert not again.relearns


def test_what_is_kept_of_a_rows_end_is_small() -> None:
    begun = BegunRow(number=3, run_id="r", began=100.0)
    result = RunResult(
        succeeded=False, reason="x", message="m" * 9_000, totals=Totals(steps=4), extracted={"t": "y" * 90_000}
    )

    end = row_end(begun, "failed", result, 107.5)

    assert (end.seconds, end.steps, end.extracted, len(end.message)) == (7.5, 4, {}, 300)

"""A file of rows is read as it was meant, or refused with line, column, value and remedy before anything begins."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.batch.batches import Row, RowEnd
from replaywright.domain.batch.row_files import as_csv, as_json_line, read_rows, repeated, result_of
from replaywright.domain.run.commit_lines import CommitLine
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid

TASK: Task = parse_task(
    {
        "task": "send",
        "url": "http://site/",
        "secrets": ["PASSWORD"],
        "parameters": {
            "to": {"type": "email", "example": "ada@example.com"},
            "body": {},
            "size": {"type": "choice", "choices": ["small", "large"], "default": "small"},
        },
        "steps": [
            {"action": "fill", "instruction": "to", "value": "{{to}}"},
            {"action": "fill", "instruction": "body", "value": "{{body}} {{size}}"},
            {"action": "fill", "instruction": "password", "value": "{{secret:PASSWORD}}"},
        ],
    },
    "the test",
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).filter(
    lambda text: bool(text.strip()) and "{{" not in text
)


def read(text: str, **common: str) -> list[Row]:
    return read_rows(text.encode(), "rows.csv", TASK, common)


def refusal(text: str | bytes, **common: str) -> str:
    with pytest.raises(InputInvalid) as refused:
        read_rows(text if isinstance(text, bytes) else text.encode(), "rows.csv", TASK, common)
    return str(refused.value)


@given(st.lists(TEXTS, min_size=1), st.sampled_from([",", ";", "\t"]), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_whatever_text_a_spreadsheet_writes_is_the_value_of_its_row(
    bodies: list[str], delimiter: str, end: str, has_mark: bool
) -> None:
    held = io.StringIO(newline="")
    writer = csv.writer(held, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([["to", "body"], *(["ada@example.com", body] for body in bodies)])
    data = held.getvalue().encode("utf-8-sig" if has_mark else "utf-8")

    found = read_rows(data, "rows.csv", TASK, {})

    assert [row.values["body"] for row in found] == bodies
    assert [row.number for row in found] == list(range(1, len(bodies) + 1))
    assert {row.values["size"] for row in found} == {"small"}


@given(st.binary(max_size=200))
def test_whatever_a_file_holds_it_is_read_or_refused_with_its_name(data: bytes) -> None:
    said, rows = "", []
    try:
        rows = read_rows(b"to,body\n" + data, "rows.csv", TASK, {})
    except InputInvalid as refused:
        said = str(refused)

    assert said.startswith("rows.csv:") or all(row.values["to"] for row in rows)
    assert bool(said) != bool(rows)


def test_a_row_knows_the_line_that_it_begins_on() -> None:
    found = read('\nto,body\n\na@b.de,"one\ntwo"\n,\nc@d.de,x\n')

    assert [(row.number, row.line) for row in found] == [(1, 4), (2, 7)]
    assert found[0].values["body"] == "one\ntwo"


def test_an_empty_cell_means_the_default_and_a_value_for_all_needs_no_column() -> None:
    [row] = read("to,size\na@b.de,\n", body="Hello")

    assert row.values == {"to": "a@b.de", "body": "Hello", "size": "small"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("to,body\nada,x\n", ["rows.csv:2: column 'to'", "'ada'", "an e-mail address", "correct the cell"]),
        ("to,body\na@b.de,\n", ["rows.csv:2: column 'body': ''", "default: ''"]),
        ("to,body,size\na@b.de,x,huge\n", ["rows.csv:2: column 'size'", "'huge'", "small, large"]),
        ("to,body\na@b.de,x,y\n", ["rows.csv:2: 3 cells", "2 columns", "double quotes"]),
        ("to,body\na@b.de\n", ["rows.csv:2: 1 cells"]),
        ("to,text\na@b.de,x\n", ["rows.csv:1: column 'text' is no parameter", "body, size, to", "rename"]),
        ("to\na@b.de\n", ["rows.csv:1: no column 'body'", "--param body="]),
        ("to,body,to\na@b.de,x,y\n", ["column 'to' is there twice"]),
        ("to,,body\na@b.de,x,y\n", ["column 2 has no name"]),
        ("to,PASSWORD\na@b.de,x\n", ["secrets are never in rows", "REPLAYWRIGHT_SECRET_PASSWORD"]),
        ("to,body\na@b.de,{{ secret:PASSWORD}}\n", ["rows.csv:2: column 'body'", "never in rows"]),
        ('to,body\na@b.de,"x\n', ["rows.csv:2: not CSV"]),
        ("to,body\n", ["it has no rows"]),
        ("", ["the file is empty", "body, size, to"]),
        (b"to,body\na@b.de,\xff\n", ["rows.csv:2: byte 0xff is no UTF-8"]),
        (b"to,body\na@b.de,a\x00b\n", ["rows.csv:2: a NUL"]),
    ],
)
def test_what_is_wrong_is_told_with_its_place_and_what_to_do(text: str | bytes, told: list[str]) -> None:
    said = refusal(text)

    assert [part for part in told if part not in said] == [], said


def test_of_many_wrong_lines_the_first_are_told_and_the_others_counted() -> None:
    said = refusal("to,body\n" + "nobody,x\n" * 9)

    assert said.count("correct the cell") == 5
    assert said.endswith("and 4 more such lines; nothing was begun")


def test_a_value_that_is_given_for_all_and_in_a_column_is_refused() -> None:
    assert "say it in one place" in refusal("to,body\na@b.de,x\n", body="y")


def test_rows_that_say_the_same_are_found() -> None:
    found = read("to,body\na@b.de,x\nc@d.de,x\na@b.de,x\n")

    assert [(row.number, earlier.number) for row, earlier in repeated(found)] == [(3, 1)]


# ---------------------------------------------------------------------------------------------- results

ROW = Row(number=2, line=3, values={"to": "a@b.de", "body": "=1+1", "size": "-5"})
END = RowEnd(
    number=2, status="failed", run_id="b/000002-abc", reason="not_found", message="no button", failed_step=1,
    extracted={"total": 3}, commits=(CommitLine(step=0, title="click send", state="in_doubt"),),
)  # fmt: skip


def test_results_are_the_same_in_csv_and_in_json_lines() -> None:
    result = result_of(ROW, END)
    header, line = as_csv(["to", "body", "size"])

    [told] = csv.DictReader(io.StringIO(header + line(result)))

    assert json.loads(as_json_line(result)) == result
    assert (told["row"], told["status"], told["step"], told["run"]) == ("2", "failed", "2", "b/000002-abc")
    assert json.loads(told["extracted"]) == {"total": 3}
    assert json.loads(told["commits"]) == [{"step": 1, "title": "click send", "state": "in_doubt", "left_at": None}]


def test_a_spreadsheet_takes_no_cell_of_the_results_for_a_formula() -> None:
    header, line = as_csv(["to", "body", "size"])

    [told] = csv.DictReader(io.StringIO(header + line(result_of(ROW, None))))

    assert (told["status"], told["body"], told["size"]) == ("open", "'=1+1", "-5")

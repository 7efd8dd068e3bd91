"""Whatever is done to an exported trace is found, and told with its line."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.secrets.signing import Key, Signer
from replaywright.domain.session.sessions import SessionRef
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.audit import AuditFinding, audit
from replaywright.domain.trace.trace import (
    VERSION,
    chain_hash,
    chained,
    content_digest,
    line_signature,
    origin,
    step_line,
)
from replaywright.domain.trace.trace_file import History, written

SESSION = SessionRef(session_id="s1", queue="q", host_queue="q", host="h").model_dump(by_alias=True)
MARKS = [digest(number) for number in range(6)]


def outcome_of(number: int, **fields: object) -> StepOutcome:
    return StepOutcome.model_validate(
        {"status": Status.DONE, "fingerprint": MARKS[number], "extracted": {"n": number}, **fields}
    )


def lines_of(steps: int = 6) -> list[dict[str, Any]]:
    """A whole trace: its steps, and the final verification."""
    contents = []
    for number in range(steps):
        more = {"task": "t", "previous": MARKS[number - 1] if number else "", "attempt": ""}
        line = step_line(
            outcome_of(number), sequence=number, title=f"step {number}", run_id="run-1", epoch=1, given={}, more=more
        )
        contents.append(line)
    contents.append({"kind": "finish", "verified": True})
    lines: list[dict[str, Any]] = []
    for number, content in enumerate(contents):
        prev = lines[-1]["chain"]["hash"] if lines else origin("acme", "run-1")
        line = {"id": f"{number:016x}", "v": VERSION, **content}
        lines.append(chained(line, prev=prev, position=number, at=1000.5 + number))
    return lines


def payloads(value: Any) -> dict[str, Any]:
    data = base64.b64encode(json.dumps(value).encode()).decode()
    return {"payloads": [{"metadata": {"encoding": base64.b64encode(b"json/plain").decode()}, "data": data}]}


def history_of(steps: int = 6, **changes: object) -> History:
    """What Temporal keeps of the same run."""
    events: list[dict[str, Any]] = [{"eventId": "1", "workflowExecutionStartedEventAttributes": {}}]
    for number in range(steps):
        run = {"runId": "run-1", "lineage": "run-1", "tenant": "acme", "task": "t", "session": SESSION, "epoch": 1}
        context: dict[str, Any] = {"run": run, "sequence": number, "fingerprint": MARKS[number]}
        context |= {"step": {"action": "goto", "url": "http://site/"}}
        request = {"kind": "perform", "context": context}
        scheduled = {"activityId": f"{number}", "activityType": {"name": "browser.goto"}, "input": payloads(request)}
        answer = outcome_of(number, **changes).model_dump(mode="json", by_alias=True)
        completed = {"scheduledEventId": str(10 + number), "result": payloads(answer)}
        events.append({"eventId": str(10 + number), "activityTaskScheduledEventAttributes": scheduled})
        events.append({"eventId": str(50 + number), "activityTaskCompletedEventAttributes": completed})
    events.append({"eventId": "99", "workflowExecutionCompletedEventAttributes": {"result": payloads({})}})
    return History("run-1", "first", events)


def file_of(
    lines: list[dict[str, Any]] | None = None, histories: tuple[History, ...] = (history_of(),), run: str = "run-1"
) -> str:
    stored = [json.dumps(line).encode() for line in (lines_of() if lines is None else lines)]
    return written(stored, histories, run=run, lineage="run-1", tenant="acme", written_by="test")[0]


WHOLE = file_of()
LINES = WHOLE.split("\n")[:-1]


def joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def told(text: str) -> AuditFinding:
    """The first thing that is wrong."""
    findings = audit(text).findings
    assert findings, "nothing was found"
    return findings[0]


def test_a_file_as_it_was_written_is_whole() -> None:
    verdict = audit(WHOLE)

    assert verdict.findings == ()
    assert verdict.notes == (
        "the lines are not signed: whoever could write to the store could have made the chain anew",
    )
    assert verdict.header is not None
    assert (verdict.header.lines, verdict.header.histories, verdict.header.run) == (7, 1, "run-1")
    assert audit(WHOLE, seal=verdict.header.seal).findings == ()


def test_an_altered_line_is_named() -> None:
    lines = [*LINES]
    lines[3] = lines[3].replace("step 2", "step 9")

    assert told(joined(lines)) == AuditFinding(4, "altered: what it says is not what its digest is of")


def test_an_altered_time_is_named() -> None:
    lines = [*LINES]
    lines[3] = lines[3].replace("1002.5", "1002.25")

    assert told(joined(lines)) == AuditFinding(4, "altered: its time, place or link is not what its hash is of")


def test_a_missing_line_is_named() -> None:
    found = told(joined(LINES[:3] + LINES[4:]))

    assert (found.line, found.what.split("(")[0]) == (4, "missing: 1 line before it ")


def test_lines_that_changed_places_are_named() -> None:
    lines = [*LINES]
    lines[2], lines[4] = lines[4], lines[2]

    found = told(joined(lines))

    assert (found.line, found.what.split(":")[0]) == (3, "out of order")


def test_an_inserted_line_is_named() -> None:
    assert told(joined([*LINES[:4], LINES[2], *LINES[4:]])) == AuditFinding(
        5, "inserted: the trace has a line 2 already"
    )


def test_a_truncated_file_is_named() -> None:
    assert "truncated: the header tells 7 lines, and 5 are there" in {
        finding.what for finding in audit(joined(LINES[:6])).findings
    }
    assert told(WHOLE[:-30]).what == "truncated: it ends in the middle"
    assert told(WHOLE[:-1]).what == "truncated: the end of the line is missing"


def test_a_line_that_was_made_anew_does_not_fit_between_the_others() -> None:
    lines = lines_of()
    chain = lines[3]["chain"]
    lines[3] = chained(lines[3] | {"title": "forged"}, prev=chain["prev"], position=3, at=lines[3]["at"])

    assert told(file_of(lines)) == AuditFinding(6, "inserted or replaced: it was not written after the line before it")


def remade(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What somebody does who knows how the chain is made."""
    prev = origin("acme", "run-1")
    for position, line in enumerate(lines):
        content = content_digest(line)
        made = chain_hash(prev, position, line["at"], content)
        line["chain"] = {"digest": content, "hash": made, "position": position, "prev": prev}
        prev = made
    return lines


def test_a_step_that_is_left_out_of_a_trace_made_anew_breaks_the_chain_of_fingerprints() -> None:
    lines = lines_of()
    del lines[3]

    found = told(file_of(remade(lines), histories=()))

    assert found.line == 5
    assert found.what.startswith(f"its fingerprint stands on {MARKS[3][:12]} as step 4")


def test_the_history_bears_witness_against_a_trace_made_anew() -> None:
    changed, short = lines_of(), lines_of()
    changed[5]["output"]["extracted"] = {"n": 99}
    del short[5]

    assert told(file_of(remade(changed))).what.startswith("the history tells another outcome of step 6")
    assert told(file_of(remade(short))).what.startswith("missing: the history tells that step 6")
    assert told(file_of(histories=(history_of(5),))) == AuditFinding(
        7, "inserted: the run's history tells nothing of this step"
    )


def test_a_file_made_anew_has_another_seal() -> None:
    verdict = audit(WHOLE)
    assert verdict.header is not None
    other = file_of(remade(lines_of(5)), histories=())

    assert audit(other).findings == ()
    assert audit(other, seal=verdict.header.seal).findings[0].what.startswith("another file: its seal is")


def test_a_trace_of_another_run_is_told() -> None:
    text = written(
        [json.dumps(line).encode() for line in lines_of()], (), run="r", lineage="other", tenant="acme", written_by=""
    )[0]

    assert told(text).what.startswith("it is the first line of another trace")


def test_an_altered_history_is_named() -> None:
    found = told(WHOLE.replace('"eventId":"99"', '"eventId":"98"'))

    assert found == AuditFinding(9, "altered: the history is not what its digest is of")


def test_what_the_store_held_damaged_is_told() -> None:
    stored = [json.dumps(line).encode() for line in lines_of()]
    stored[2] = b"{\xff"

    text = written(stored, (), run="run-1", lineage="run-1", tenant="acme", written_by="")[0]

    assert told(text) == AuditFinding(4, "damaged: what the store held of it is no JSON object")


def test_a_step_that_a_person_settled_may_be_stood_on() -> None:
    lines = lines_of()
    person = {"kind": "person", "sequence": 2, "verdict": "done", "fingerprint": MARKS[2], "v": VERSION}
    lines[2] = {"at": lines[2]["at"], "id": lines[2]["id"], **person}

    assert audit(file_of(remade(lines), histories=())).findings == ()


# ------------------------------------------------------------------------------------------------- signatures

SIGNER = Signer((Key("k1", b"1" * 32),))


def signed_lines() -> list[dict[str, Any]]:
    """The whole trace, each line signed by one who has seen the one before."""
    found: list[dict[str, Any]] = []
    for line in lines_of():
        after = f"{len(found) - 1}/{found[-1]['chain']['hash']}" if found else ""
        by = line_signature(SIGNER, "acme", "run-1", content_digest(line), after)
        found.append({**line, "sig": {"after": after, "by": by}})
    return found


def test_signed_lines_are_whole_with_the_key_and_noted_without() -> None:
    text = file_of(signed_lines())

    assert (audit(text, signer=SIGNER).findings, audit(text, signer=SIGNER).notes) == ((), ())
    assert audit(text).notes == ("7 lines are signed, and no key is known here: their signatures were not checked",)


def test_a_chain_that_was_made_anew_without_the_key_is_found() -> None:
    lines = signed_lines()
    lines[3]["title"] = "step 9"
    text = file_of(remade(lines))

    assert audit(text).findings == ()
    assert "its signature is not of what it says" in audit(text, signer=SIGNER).findings[0].what
    assert audit(text, signer=SIGNER).findings[0].line == 5


def test_a_line_that_was_removed_and_all_after_it_chained_anew_is_found() -> None:
    lines = signed_lines()
    text = file_of(remade([*lines[:5], *lines[6:]]), histories=())

    found = [finding.what for finding in audit(text, signer=SIGNER).findings]

    assert found[0].startswith("removed, moved or replaced: the line 6")


@pytest.mark.parametrize(
    ("signer", "said"),
    [
        (Signer((Key("k9", b"1" * 32),)), "unknown key: it is signed with the key 'k1'"),
        (Signer((Key("k1", b"9" * 32),)), "altered: its signature is not of what it says"),
    ],
)
def test_signatures_of_other_keys_are_told(signer: Signer, said: str) -> None:
    assert audit(file_of(signed_lines()), signer=signer).findings[0].what.startswith(said)


def test_a_line_without_a_signature_is_told_to_who_has_the_key() -> None:
    lines = signed_lines()
    del lines[2]["sig"]

    [found] = audit(file_of(lines), signer=SIGNER).findings

    assert found == AuditFinding(4, "unsigned: nobody who has a key wrote it")


@pytest.mark.parametrize("text", ["", "{}", "[]", "no json\n", '{"kind":"export"}\n'])
def test_what_is_no_export_is_told(text: str) -> None:
    assert told(text).what.startswith("it is no header of an exported trace")


def test_a_form_of_the_future_is_told() -> None:
    fields = json.loads(LINES[0]) | {"v": 9}

    assert "of version 9" in told(joined([json.dumps(fields), *LINES[1:]])).what


def test_two_values_under_one_name_are_told() -> None:
    lines = [*LINES]
    lines[3] = lines[3].replace('"title": "step 2"', '"title": "forged", "title": "step 2"')

    assert told(joined(lines)) == AuditFinding(4, "unreadable: the key 'title' is here twice")


@st.composite
def tampered(draw: st.DrawFn) -> str:
    """The file after one thing was done to it."""
    lines = [*LINES]
    at = draw(st.integers(1, len(lines) - 1))
    other = draw(st.integers(1, len(lines) - 1))
    match draw(st.sampled_from(["remove", "swap", "copy", "alter", "cut", "byte", "strip"])):
        case "remove":
            del lines[at]
        case "swap":
            lines[at], lines[other] = lines[other], lines[at]
        case "copy":
            lines.insert(at, lines[other])
        case "alter":
            line = json.loads(lines[at])
            name = draw(st.sampled_from(sorted(line)))
            line[name] = draw(st.sampled_from([None, 0, "x", {}, [], True]))
            lines[at] = json.dumps(line)
        case "cut":
            return joined(lines)[: draw(st.integers(0, len(WHOLE) - 1))]
        case "byte":
            place = draw(st.integers(0, len(WHOLE) - 1))
            return WHOLE[:place] + draw(st.sampled_from('a0"{ \n')) + WHOLE[place + 1 :]
        case "strip":
            line = json.loads(lines[at])
            line.pop(draw(st.sampled_from(sorted(line))))
            lines[at] = json.dumps(line)
    return joined(lines)


@given(text=tampered())
def test_every_single_alteration_removal_exchange_and_insertion_is_found(text: str) -> None:
    assert bool(audit(text).findings) == (text != WHOLE)

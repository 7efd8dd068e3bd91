"""Audit of an exported trace: content, order and chain of its lines.

The chain has no key: it reveals accidents, faults and changes by someone who did not recompute it. The signatures of
the lines reveal a recomputed chain, with the key. The seal, if it was kept elsewhere, and the workflow's history, which
another server keeps, reveal a rewritten file.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from pydantic import ValidationError

from replaywright.domain.common.base import first_fault
from replaywright.domain.requests.commands import ACTIVITY as BY_REQUESTS_ACTIVITY
from replaywright.domain.requests.commands import RequestsRun, RunRequests
from replaywright.domain.run.commands import Decision, LeaveOutRequest, Reapply, StepCommand, StepContext
from replaywright.domain.secrets.signing import UNSIGNED, Fault, Signer
from replaywright.domain.step.fingerprints import digest, fingerprint
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.trace.histories import calls_of, end_of
from replaywright.domain.trace.trace import (
    VERSION,
    Line,
    Link,
    PersonLine,
    TraceStepLine,
    chain_hash,
    content_digest,
    line_fault,
    origin,
    parse_line,
)
from replaywright.domain.trace.trace_file import (
    DAMAGED,
    FILE_VERSION,
    HEADER,
    HISTORY,
    Header,
    History,
    history_digest,
    history_of,
    parsed,
    sha256_of,
)

_Model = TypeVar("_Model")


@dataclass(frozen=True)
class AuditFinding:
    """A fault of the file."""

    line: int
    """Line of the file, from 1."""
    what: str


@dataclass(frozen=True)
class Audit:
    """Verdict on a file."""

    header: Header | None
    """None if no header is readable."""
    findings: tuple[AuditFinding, ...]
    """Sorted by line; empty for an unchanged file."""
    notes: tuple[str, ...] = ()
    """Checks that could not be made."""


@dataclass(frozen=True)
class _Numbered:
    number: int
    value: dict[str, Any]


def audit(text: str, *, seal: str = "", signer: Signer = UNSIGNED) -> Audit:
    """Check a whole file.

    Args:
        text: Its contents.
        seal: The header's seal as `export` printed it; empty if nobody kept it.
        signer: Holder of the keys for traces. Without keys signatures are not checked, which a note says.
    """
    first, _, contents = text.partition("\n")
    try:
        fields = parsed(first)
        header = Header.model_validate(fields)
    except ValueError as exc:
        return Audit(None, (AuditFinding(1, f"it is no header of an exported trace ({first_fault(exc)})"),))
    if header.kind != HEADER or header.v > FILE_VERSION:
        fault = f"{header.kind!r} of version {header.v}: this Replaywright reads {HEADER!r} up to {FILE_VERSION}"
        return Audit(header, (AuditFinding(1, fault),))
    findings = list(_on_header(header, fields, seal))
    lines, unreadable = _lines(contents)
    findings += unreadable
    trace = [line for line in lines if line.value.get("kind") != HISTORY]
    histories = [line for line in lines if line.value.get("kind") == HISTORY]
    findings += chain(
        _on_order(lines), _on_chain(trace, header), _on_histories(histories), _on_counts(trace, histories, header, text)
    )
    findings += _on_signatures(trace, header, signer)
    models, misshaped = _models(trace)
    findings += misshaped
    findings += _on_fingerprints(models)
    notes = [*_notes(trace, histories), *_signature_notes(trace, signer)]
    if not findings:  # a broken file is no evidence
        findings += _on_witness(models, [history_of(line.value) for line in histories], header)
    if not findings and sha256_of(contents) != header.contents:
        findings.append(AuditFinding(1, "the bytes after it differ from the exported ones, though no line does"))
    return Audit(header, tuple(sorted(findings, key=lambda finding: finding.line)), tuple(notes))


def _on_header(header: Header, fields: Mapping[str, Any], seal: str) -> Iterator[AuditFinding]:
    if digest({name: value for name, value in fields.items() if name != "seal"}) != header.seal:
        yield AuditFinding(1, "altered: the header is not what its seal says")
    elif seal and seal != header.seal:
        yield AuditFinding(1, f"another file: its seal is {header.seal}, not {seal}")


def _lines(contents: str) -> tuple[list[_Numbered], list[AuditFinding]]:
    lines, findings = [], []
    texts = contents.split("\n")
    ended = texts.pop() == "" if contents else True
    if not ended:
        texts = contents.split("\n")
    for number, text in enumerate(texts, 2):
        try:
            lines.append(_Numbered(number, parsed(text)))
        except ValueError as exc:
            cut = not ended and number == len(texts) + 1
            findings.append(AuditFinding(number, "truncated: it ends in the middle" if cut else f"unreadable: {exc}"))
    if not ended and not findings:
        findings.append(AuditFinding(len(texts) + 1, "truncated: the end of the line is missing"))
    return lines, findings


def _on_order(lines: Sequence[_Numbered]) -> Iterator[AuditFinding]:
    seen = False
    for line in lines:
        seen = seen or line.value.get("kind") == HISTORY
        if seen and line.value.get("kind") != HISTORY:
            yield AuditFinding(line.number, "out of order: a line of the trace after the histories")


def _on_chain(trace: Sequence[_Numbered], header: Header) -> Iterator[AuditFinding]:
    links = [(line, _link(line.value)) for line in trace]
    later = [link.position for _, link in links if link is not None]
    prev, expected, seen = origin(header.tenant, header.lineage), 0, set[int]()
    for line, link in links:
        if line.value.get("kind") == DAMAGED:
            yield AuditFinding(line.number, "damaged: what the store held of it is no JSON object")
        if link is None:
            if line.value.get("kind") != DAMAGED:
                yield AuditFinding(line.number, "altered: its link in the chain is gone or damaged")
            prev, expected = "", expected + 1
            continue
        del later[0]
        yield from (AuditFinding(line.number, what) for what in _on_content(line.value, link))
        if link.position != expected:
            yield AuditFinding(line.number, _misplaced(link.position, expected, later, seen))
        elif link.prev != prev and prev:
            yield AuditFinding(line.number, _unconnected(link.position))
        elif link.prev != prev:
            yield AuditFinding(line.number - 1, "altered: it had a link in the chain when the next was written")
        seen.add(link.position)
        prev, expected = link.hash, link.position + 1
    if prev != header.head and trace:
        yield AuditFinding(
            trace[-1].number, f"it is not the last line of the trace, whose hash is {header.head or 'none'}"
        )


def _on_content(line: Mapping[str, Any], link: Link) -> Iterator[str]:
    if content_digest(line) != link.digest:
        yield "altered: what it says is not what its digest is of"
    elif chain_hash(link.prev, link.position, line.get("at", 0.0), link.digest) != link.hash:
        yield "altered: its time, place or link is not what its hash is of"


def _on_signatures(trace: Sequence[_Numbered], header: Header, signer: Signer) -> Iterator[AuditFinding]:
    """Check that the holder of a key wrote each line, for this trace, after the line it had seen last."""
    if signer.is_unsigned:
        return
    hashes = {link.position: link.hash for line in trace if (link := _link(line.value)) is not None}
    for line in trace:
        if line.value.get("kind") == DAMAGED:
            continue
        fault = line_fault(signer, header.tenant, header.lineage, line.value)
        if fault is not None:
            yield AuditFinding(line.number, _signature_fault(fault, line.value))
            continue
        position, _, chained = str(line.value["sig"].get("after", "")).partition("/")
        own = _link(line.value)
        if position and (own is None or int(position) >= own.position or hashes.get(int(position)) != chained):
            what = f"the line {int(position) + 1} that stood before it when it was signed is not there as it was"
            yield AuditFinding(line.number, f"removed, moved or replaced: {what}")


def _signature_fault(fault: Fault, line: Mapping[str, Any]) -> str:
    match fault:
        case Fault.UNSIGNED:
            return "unsigned: nobody who has a key wrote it"
        case Fault.UNKNOWN_KEY:
            key_id = str(line["sig"].get("by", "")).partition(":")[0]
            return f"unknown key: it is signed with the key {key_id!r}, which is not known here"
        case Fault.ALTERED:
            return "altered: its signature is not of what it says, or it was written for another trace"


def _signature_notes(trace: Sequence[_Numbered], signer: Signer) -> Iterator[str]:
    signed = sum("sig" in line.value for line in trace)
    if signed and signer.is_unsigned:
        yield f"{signed} lines are signed, and no key is known here: their signatures were not checked"
    elif trace and signer.is_unsigned:
        yield "the lines are not signed: whoever could write to the store could have made the chain anew"


def _misplaced(position: int, expected: int, later: Sequence[int], seen: set[int]) -> str:
    here = f"it is line {position + 1} of the trace and stands where line {expected + 1} belongs"
    if position in seen:
        return f"inserted: the trace has a line {position + 1} already"
    if position < expected or any(expected <= other < position for other in later):
        return f"out of order: {here}"
    gone = position - expected
    return f"missing: {gone} line{'s' * (gone > 1)} before it ({here})"


def _unconnected(position: int) -> str:
    if position == 0:
        return "it is the first line of another trace: tenant and lineage are not those of the header"
    return "inserted or replaced: it was not written after the line before it"


def _link(line: Mapping[str, Any]) -> Link | None:
    try:
        return Link.model_validate(line.get("chain"))
    except ValidationError:
        return None


def _is_intact(history: _Numbered) -> bool:
    """Return True if the history matches its digest; nothing can be said of any other."""
    return history_digest(history.value) == history.value.get("digest")


def _is_sealed(histories: Iterable[History]) -> bool:
    """Return True if the input of an activity in them cannot be read."""
    return any(call.given is None for history in histories for call in calls_of(history.events))


def _on_histories(histories: Sequence[_Numbered]) -> Iterator[AuditFinding]:
    for expected, line in enumerate(histories):
        if not _is_intact(line):
            yield AuditFinding(line.number, "altered: the history is not what its digest is of")
        elif line.value.get("position") != expected:
            yield AuditFinding(line.number, f"out of order or missing: history {expected + 1} belongs here")


def _on_counts(
    trace: Sequence[_Numbered], histories: Sequence[_Numbered], header: Header, text: str
) -> Iterator[AuditFinding]:
    last = text.rstrip("\n").count("\n") + 1
    for what, found, counted in (("lines", len(trace), header.lines), ("histories", len(histories), header.histories)):
        if found != counted:
            fault = "truncated" if found < counted else "inserted"
            yield AuditFinding(last, f"{fault}: the header tells {counted} {what}, and {found} are there")


def _models(trace: Sequence[_Numbered]) -> tuple[list[tuple[int, Line]], list[AuditFinding]]:
    models, findings = [], []
    for line in trace:
        if line.value.get("kind") == DAMAGED:
            continue
        try:
            models.append((line.number, parse_line(line.value)))
        except ValidationError as exc:
            findings.append(
                AuditFinding(line.number, f"not as a line of kind {line.value.get('kind')!r} is: {first_fault(exc)}")
            )
    return models, findings


def _on_fingerprints(models: Sequence[tuple[int, Line]]) -> Iterator[AuditFinding]:
    """Check that the fingerprint of each step derives from a step that was done."""
    done: dict[int, set[str]] = {}
    for _, line in models:
        if isinstance(line, TraceStepLine) and line.output.status is Status.DONE and not line.override:
            done.setdefault(line.sequence, set()).add(line.metadata.fingerprint)
        elif isinstance(line, PersonLine) and line.verdict in ("done", "keep"):
            done.setdefault(line.sequence, set()).add(line.fingerprint)
    for number, line in models:
        if not isinstance(line, TraceStepLine) or line.override or line.metadata.previous is None:
            continue
        previous, before = line.metadata.previous, done.get(line.sequence - 1, set())
        if line.sequence == 0 and previous:
            yield AuditFinding(number, f"the first step stands on another ({previous[:12]})")
        elif line.sequence and previous not in before:
            known = ", ".join(sorted(each[:12] for each in before)) or "no line says that it was done"
            yield AuditFinding(
                number, f"its fingerprint stands on {previous[:12]} as step {line.sequence}, but: {known}"
            )


def _on_witness(
    models: Sequence[tuple[int, Line]], histories: Sequence[History], header: Header
) -> Iterator[AuditFinding]:
    """Check that the trace has the activities' results in the history, and no others of this run."""
    steps = [(number, line) for number, line in models if isinstance(line, TraceStepLine)]
    digests: dict[str, set[str]] = {}
    for _, line in steps:
        if line.output.status is Status.DONE:
            digests.setdefault(line.metadata.fingerprint, set()).add(line.output.digest)
    last = header.lines + 1
    asked: set[str] = set()
    for sequence, mark, outcome in chain.from_iterable(_performed(history) for history in histories):
        asked.add(mark)
        if outcome is None or outcome.status is not Status.DONE or outcome.from_ledger:
            continue
        recorded = digests.get(mark)
        step = f"step {sequence + 1} ({mark[:12]})"
        if recorded is None:
            yield AuditFinding(last, f"missing: the history tells that {step} was done, and no line does")
        elif outcome.digest not in recorded:
            yield AuditFinding(last, f"the history tells another outcome of {step} than the trace")
    if _is_whole(histories):
        for number, line in steps:
            own = line.metadata.run_id == header.run and not line.output.from_ledger
            if own and line.metadata.fingerprint not in asked:
                yield AuditFinding(number, "inserted: the run's history tells nothing of this step")


def _performed(history: History) -> Iterator[tuple[int, str, StepOutcome | None]]:
    """Yield number and fingerprint of each step that the history tells of, with its outcome unless that stands nowhere.

    Steps that were done once more have none.
    """
    for call in calls_of(history.events):
        if call.given is None:
            continue
        if call.activity_type.startswith("browser."):
            command = _read(StepCommand.model_validate, call.given)
            if command is not None:
                outcome = _read(StepOutcome.model_validate, call.answer)
                yield _told(command.root.context, None if isinstance(command.root, Reapply) else outcome)
        elif call.activity_type == "step.leave_out":
            left = _read(LeaveOutRequest.model_validate, call.given)
            if left is not None:
                yield _told(left.action, _read(StepOutcome.model_validate, call.answer))
        elif call.activity_type == "step.decide":
            context = _read(StepContext.model_validate, call.given)
            decision = _read(Decision.model_validate, call.answer)
            if context is not None and decision is not None and decision.outcome is not None:
                yield _told(context, decision.outcome)
        elif call.activity_type == BY_REQUESTS_ACTIVITY:
            asked = _read(RunRequests.model_validate, call.given)
            if asked is not None:
                yield from _sent(asked, _read(RequestsRun.model_validate, call.answer))


def _told(context: StepContext, outcome: StepOutcome | None) -> tuple[int, str, StepOutcome | None]:
    return context.sequence, context.fingerprint, outcome


def _sent(asked: RunRequests, ran: RequestsRun | None) -> Iterator[tuple[int, str, StepOutcome | None]]:
    """Yield the steps of a task that was done by its requests; of an attempt without an answer, without outcomes."""
    mark = before = ""
    for index, step in enumerate(asked.requests.plan):
        outcome = None if ran is None or index >= len(ran.outcomes) else ran.outcomes[index]
        mark = fingerprint(step, asked.requests.values, mark, before)
        yield index, mark, outcome
        before = (outcome or StepOutcome(status=Status.DONE)).digest


def _is_whole(histories: Sequence[History]) -> bool:
    """Return True if these are all executions of the run, readable and closed."""
    if not histories or _is_sealed(histories):
        return False
    started = histories[0].events[0].get("workflowExecutionStartedEventAttributes") if histories[0].events else None
    return (
        started is not None and not started.get("continuedExecutionRunId") and end_of(histories[-1].events) is not None
    )


def _notes(trace: Sequence[_Numbered], histories: Sequence[_Numbered]) -> Iterator[str]:
    newer = sum(_version(line.value) > VERSION for line in trace)
    if newer:
        yield f"{newer} lines were written by a later version: only their chain is checked in full"
    if not histories:
        yield "no history is in the file: nothing outside the trace bears it out"
    elif _is_sealed(history_of(line.value) for line in filter(_is_intact, histories)):
        yield "payloads of the history are sealed by a codec: they bear nothing out"


def _version(line: Mapping[str, Any]) -> int:
    version = line.get("v")
    return version if isinstance(version, int) else VERSION


def _read(model: Callable[[Any], _Model], value: Any) -> _Model | None:
    try:
        return None if value is None else model(value)
    except ValidationError:
        return None

"""Report of one step: expectations, findings, differences from a good run, and artifacts."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from replaywright.artifacts.store import ArtifactStore
from replaywright.cli import output
from replaywright.cli.servers.store import StepRecord
from replaywright.domain.common.files import safe_name
from replaywright.domain.step.outcomes import KEPT_KINDS, Status
from replaywright.errors import ArtifactMissing, InputInvalid

_DIFF_STYLES = {"+": "green", "-": "red", "~": "yellow", ">": "cyan"}
_ASIDE = frozenset({"url", "passed"})
"""Details of a verdict that do not describe the page."""


@dataclass(frozen=True)
class KeptArtifact:
    """Artifact of a step."""

    sequence: int
    attempt: int
    """Number of the attempt, from 1."""
    attempts: int
    kind: str
    digest: str
    """Empty if it is missing; `note` has the reason."""
    path: str = ""
    size: int | None = None
    note: str = ""

    @property
    def name(self) -> str:
        """File name for saving it."""
        attempt = f"-attempt-{self.attempt}" if self.attempts > 1 else ""
        return safe_name(f"step-{self.sequence + 1:04d}{attempt}-{self.kind}{KEPT_KINDS.get(self.kind, '')}")

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON output."""
        payload = {"step": self.sequence + 1, "attempt": self.attempt, "kind": self.kind, "digest": self.digest}
        return payload | {"path": self.path, "size": self.size, "note": self.note}


@dataclass(frozen=True)
class StepReport:
    """Report of one step of a run."""

    run_id: str
    attempts: Sequence[StepRecord]
    """Attempts in order; the last one is final."""
    expectations: Sequence[Mapping[str, Any]]
    """`expected`, `required`, `passed`, `reason` and `actual` of each verdict of the last attempt that had any."""
    difference: str
    artifacts: Sequence[KeptArtifact]

    def as_json(self) -> dict[str, Any]:
        """Return the fields for JSON output."""
        return {
            "runId": self.run_id,
            "step": self.attempts[-1].sequence + 1,
            "attempts": [record.line for record in self.attempts],
            "expectations": list(self.expectations),
            "difference": self.difference,
            "artifacts": [artifact.as_json() for artifact in self.artifacts],
        }


async def artifacts_of(records: Sequence[StepRecord], store: ArtifactStore) -> list[KeptArtifact]:
    """List the artifacts of these attempts, including missing ones with the reason.

    Raises:
        ArtifactsUnavailable: the store cannot be reached.
    """
    found: list[KeptArtifact] = []
    numbers: dict[int, int] = {}
    attempts: dict[int, int] = {}
    for record in records:
        attempts[record.sequence] = attempts.get(record.sequence, 0) + 1
    for record in records:
        number = numbers[record.sequence] = numbers.get(record.sequence, 0) + 1
        kept, missing = record.outcome.artifacts, record.outcome.artifacts_missing
        for kind in sorted({*kept, *missing}, key=_place):
            digest, path, size, note = kept.get(kind, ""), "", None, missing.get(kind, "")
            if digest:
                path, size = store.path_of(digest), await store.size(digest)
                note = "" if size is not None else "not there any more"
            place = (record.sequence, number, attempts[record.sequence])
            found.append(KeptArtifact(*place, kind, digest, path, size, note))
    return found


def _place(kind: str) -> tuple[int, str]:
    known = list(KEPT_KINDS)
    return (known.index(kind) if kind in known else len(known), kind)


def attempts_of(run_id: str, step: int, records: Sequence[StepRecord]) -> list[StepRecord]:
    """Return the recorded attempts at step `step`, counted from 1.

    Raises:
        InputInvalid: there are none.
    """
    found = [record for record in records if record.sequence == step - 1]
    if not found:
        known = sorted({record.sequence + 1 for record in records})
        there = f"it has the steps {known[0]} to {known[-1]}" if known else "nothing is recorded of it yet"
        raise InputInvalid(f"run {run_id} has no record of a step {step}: {there}; see `replaywright show {run_id}`")
    return found


async def report_of(run_id: str, step: int, records: Sequence[StepRecord], store: ArtifactStore) -> StepReport:
    """Build the report of step `step`, counted from 1.

    Raises:
        InputInvalid: nothing is recorded of that step.
        ArtifactsUnavailable: the artifact store cannot be reached.
    """
    attempts = attempts_of(run_id, step, records)
    kept = {kind: digest for record in attempts for kind, digest in record.outcome.artifacts.items()}
    text = await _text(store, kept.get("expectations"))
    expectations = json.loads(text) if text else _without_expected(attempts)
    difference = await _text(store, kept.get("diff"))
    return StepReport(run_id, attempts, expectations, difference, await artifacts_of(attempts, store))


async def _text(store: ArtifactStore, digest: str | None) -> str:
    if digest is None:
        return ""
    try:
        return (await store.get(digest)).decode(errors="replace")
    except ArtifactMissing:  # its time was over
        return ""


def _without_expected(attempts: Sequence[StepRecord]) -> list[dict[str, Any]]:
    """Return the verdicts of the trace, which lack the expected values."""
    results = next((record.outcome.predicates for record in reversed(attempts) if record.outcome.predicates), ())
    return [
        {
            "expected": None,
            "required": result.required,
            "passed": result.passed,
            "reason": result.reason,
            "actual": result.details,
        }
        for result in results
    ]


# -------------------------------------------------------------------------------------------------------- printing


def print_report(report: StepReport) -> None:
    """Print the report for people."""
    console = output.standard_output()
    last = report.attempts[-1]
    output.print_line(f"step {last.sequence + 1} of run {report.run_id}: {last.title}", style="bold")
    for number, record in enumerate(report.attempts, start=1):
        _print_attempt(record, f"attempt {number}: " if len(report.attempts) > 1 else "")
    if report.expectations:
        output.print_line("expectations", style="bold")
        for verdict in report.expectations:
            _print_verdict(verdict)
    if report.difference:
        output.print_line("different from the last good run of this step (+ new, - gone, ~ changed)", style="bold")
        for line in report.difference.splitlines():
            output.print_line(f"  {line}", style=_DIFF_STYLES.get(line[:1], ""))
    if report.artifacts:
        output.print_line("artifacts", style="bold")
        print_artifacts(report.artifacts)
        output.print_line(
            f"open one: replaywright admin artifacts {report.run_id} --step {last.sequence + 1} --open KIND"
        )
    elif last.status is not Status.DONE:
        console.print(Text("nothing was kept of this failure", "dim"))


def _print_attempt(record: StepRecord, number: str) -> None:
    console = output.standard_output()
    outcome = record.outcome
    message = outcome.rule or outcome.reason
    what = outcome.status.value.replace("_", " ") + (f" ({message})" if message else "")
    found = output.how_found(record.lookup, from_ledger=record.from_ledger)
    line = Text.assemble("  ", output.mark(record.status, console), f" {output.plain(number + what)}")
    line.append(f", {output.duration(record.seconds)}" + (f", found by {output.plain(found)}" if found else ""))
    console.print(line, soft_wrap=True)
    if outcome.message:
        output.print_line(f"    {outcome.message}")
    if outcome.url:
        output.print_line(f"    at {outcome.url}", style="dim")
    if not record.lookup.hit and record.lookup.reason:
        score = f", best score {record.lookup.score:.2f}, next {record.lookup.runner_up:.2f}"
        output.print_line(f"    {record.lookup.candidates} candidates{score if record.lookup.score else ''}")
    for line_of in outcome.evidence.requests:
        status = line_of.status or "no answer"
        output.print_line(f"    sent {line_of.method} {line_of.url}: {status}", style="dim")


def _print_verdict(verdict: Mapping[str, Any]) -> None:
    console = output.standard_output()
    expected, actual = verdict.get("expected"), verdict.get("actual") or {}
    if verdict.get("passed"):
        message = _words(expected) if expected else _words(_telling(actual))
        console.print(Text.assemble("  ", output.mark(Status.DONE, console), f" {message}"), soft_wrap=True)
        return
    reason = str(verdict.get("reason", "")).replace("_", " ")
    sign = output.mark(Status.UNMET if verdict.get("required", True) else Status.IN_DOUBT, console)
    reason += "" if verdict.get("required", True) else " (not required)"
    console.print(Text.assemble("  ", sign, f" {output.plain(reason)}"), soft_wrap=True)
    if expected:
        output.print_line(f"    - expected: {_words(expected)}", style="red")
    shown = _telling(actual)
    if expected:
        shown = {key: value for key, value in shown.items() if key not in ("expected", "query")}
    if shown:
        output.print_line(f"    + actual: {_words(shown)}", style="green")
    if url := actual.get("url"):
        output.print_line(f"      at {url}", style="dim")


def _telling(details: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in details.items() if key not in _ASIDE and value not in ((), [], "", None)}


def _words(value: Any) -> str:
    """Format a predicate or its details as one line."""
    if isinstance(value, Mapping):
        return output.plain(", ".join(f"{key}: {_inner(inner)}" for key, inner in value.items()))
    return output.plain(_inner(value))


def _inner(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def print_artifacts(artifacts: Sequence[KeptArtifact]) -> None:
    """Print a table of the artifacts, including missing ones."""
    several = any(artifact.attempts > 1 for artifact in artifacts)
    columns = ["step", *(["attempt"] if several else []), "kind", "size", "digest", "path"]
    rows = []
    for artifact in artifacts:
        size = "" if artifact.size is None else str(artifact.size)
        place = [f"{artifact.sequence + 1:04d}", *([artifact.attempt] if several else [])]
        where = Text(output.plain(artifact.note), "yellow") if artifact.note else artifact.path
        rows.append((*place, artifact.kind, size, artifact.digest[:12], where))
    output.print_table(columns, rows, right=("step", "attempt", "size"))

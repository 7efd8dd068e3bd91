"""The trace: its lines, and the chain that links each to the one before.

A line is one JSON object. The store adds `at`, the server's time in seconds, and `chain`:

    digest    SHA-256 of the line's own content: the canonical JSON (RFC 8785) of all but `at`, `chain`, `sig`
    position  its index in the trace, from 0
    prev      `hash` of the line before; of the first, a digest of tenant and lineage; "" after a line without a chain
    hash      SHA-256 of the canonical JSON of `[prev, position, at, digest]`

A writer with a key adds `sig`, which no digest covers:

    after     `position/hash` of the last line that this writer had seen; "" if none
    by        the signature (`replaywright.domain.secrets.signing`) of `digest` and `after`
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import parameters_in, texts_of
from replaywright.domain.run.scope import Usage
from replaywright.domain.secrets.signing import Fault, Signed, Signer
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.step.outcomes import LEFT_OUT, Status, StepOutcome
from replaywright.domain.task.questions import Verdict as PersonSays
from replaywright.domain.task.steps import Step

VERSION: Final = 2
"""Version of the lines."""
TEMPLATE_LIMIT: Final = 8 * 1024
"""Characters of a step in its line; a longer one has only a digest."""

Verdict: TypeAlias = Literal["success", "failed", "blocked", "skipped", "unknown"]
"""Result of a step in the terms of trace readers; `output.status` is ours."""

_VERDICTS: Final[Mapping[Status, Verdict]] = {
    Status.DONE: "success",
    Status.MISSED: "failed",
    Status.UNMET: "failed",
    Status.REFUSED: "failed",
    Status.BLOCKED: "blocked",
    Status.IN_DOUBT: "unknown",
}
_BESIDE: Final = frozenset({"at", "chain", "sig"})
_STEP_PARTS: Final = ("input", "output", "metadata", "v")


class Link(Record):
    """A line's place in the chain."""

    digest: str
    hash: str
    position: int
    prev: str


class StepInput(Record):
    """Requested step as written, with parameters and secrets by name only."""

    step: dict[str, Any] = Field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    """Names of its parameters. Their values are in the fingerprint only."""
    digest: str = ""
    """Digest that replaces a step too long to keep."""


class StepMetadata(Record):
    """Further facts about one attempt at a step."""

    status: Verdict
    duration_ms: float = 0.0
    tier: str = ""
    """Tier that found its element; see `Lookup`."""
    usage: Usage = Usage()
    """Model usage of the attempt."""
    epoch: int = 0
    run_id: str = ""
    fingerprint: str = ""
    previous: str | None = ""
    """Fingerprint of the step before; "" for the first, None if unknown."""
    attempt: str = ""
    """Reason of a repetition: retry, model, override, commit, resume, redis; empty for the first time."""


class Line(Record):
    """Fields of every line; lines of unknown kinds may have others."""

    kind: str
    v: int = 1
    at: float
    id: str
    chain: Link | None = None


class TraceStepLine(Line):
    """A finished attempt at a step."""

    sequence: int
    """Index of the step in the plan, from 0."""
    title: str = ""
    input: StepInput = StepInput()
    output: StepOutcome
    metadata: StepMetadata
    task: str = ""
    site: str = ""
    override: str = ""
    """Override rule of the step; empty for the task's own steps."""


class PersonLine(Line):
    """Decision of a person or of the task file (`on_unknown`) on a step in doubt or failed."""

    sequence: int
    verdict: PersonSays
    who: str = ""
    why: str = ""
    failed: bool = False
    """True if the step had failed and was not in doubt."""
    fingerprint: str = ""


class FinishLine(Line):
    """The final verification."""

    verified: bool
    promoted: int = 0
    held: int = 0
    note: str = ""


_KINDS: Final[Mapping[str, type[Line]]] = {"step": TraceStepLine, "person": PersonLine, "finish": FinishLine}


def verdict_of(outcome: StepOutcome) -> Verdict:
    """Return the verdict on an outcome; `skipped` is a step that was done without being performed."""
    if outcome.status is Status.DONE and (outcome.from_ledger or outcome.already_done or outcome.reason in LEFT_OUT):
        return "skipped"
    return _VERDICTS[outcome.status]


def input_of(step: Step) -> dict[str, Any]:
    """Return the step for its line: the template, never a value."""
    template = step.model_dump(mode="json", by_alias=True, exclude_defaults=True) | {"action": step.action}
    names = tuple(sorted(frozenset().union(*(parameters_in(text) for text in texts_of(template)))))
    given = StepInput(step=template, parameters=names)
    if sum(map(len, texts_of(template))) > TEMPLATE_LIMIT:
        given = StepInput(step={"action": step.action}, parameters=names, digest=digest(template))
    return given.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def step_line(
    outcome: StepOutcome,
    *,
    sequence: int,
    title: str,
    run_id: str,
    epoch: int,
    given: Mapping[str, Any],
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the content of a step's line; the store adds the fields of every line.

    Args:
        outcome: Outcome of the attempt; becomes `output`.
        sequence: Index in the plan.
        title: Title of the step in the UI.
        run_id: Id of the run.
        epoch: Epoch of the attempt.
        given: Result of `input_of`; may be empty.
        more: Further fields; `usage`, `previous` and `attempt` become part of the metadata.
    """
    rest = dict(more)
    beside: dict[str, Any] = {name: rest.pop(name) for name in ("usage", "previous", "attempt") if name in rest}
    metadata: dict[str, Any] = {
        "status": verdict_of(outcome),
        "durationMs": outcome.costs.total_ms,
        "tier": outcome.lookup.tier,
        "epoch": epoch,
        "runId": run_id,
        "fingerprint": outcome.fingerprint,
        "previous": None,
        **beside,
    }
    output = outcome.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    line: dict[str, Any] = {"kind": "step", **rest, "sequence": sequence, "title": title}
    return {**line, "input": dict(given), "output": output, "metadata": metadata}


def flat(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line as one level of fields: a step's outcome beside its run, epoch and title.

    `input` stays a part of its own, because its fields and the outcome's overlap.
    """
    metadata, output = line.get("metadata"), line.get("output")
    if line.get("kind") != "step" or not isinstance(metadata, dict) or not isinstance(output, dict):
        return {name: value for name, value in line.items() if name not in ("chain", "sig", "v")}
    rest = {name: value for name, value in line.items() if name not in ("chain", "sig", *_STEP_PARTS)}
    lifted = {name: metadata[name] for name in ("usage", "runId", "epoch", "attempt") if name in metadata}
    given = {"input": line["input"]} if line.get("input") else {}
    return {**rest, **given, **lifted, **output}


def parse_line(line: Mapping[str, Any]) -> Line:
    """Parse the line as a model of its kind.

    Raises:
        ValidationError: a field is missing, or of another type.
    """
    return _KINDS.get(str(line.get("kind")), Line).model_validate(line)


# -------------------------------------------------------------------------------------------------- the chain


def content_digest(line: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the line's content."""
    return digest({name: value for name, value in line.items() if name not in _BESIDE})


def origin(tenant: str, lineage: str) -> str:
    """Return the `prev` of the first line of a trace."""
    return digest({"lineage": lineage, "tenant": tenant})


def chain_hash(prev: str, position: int, at: float, content: str) -> str:
    """Return the hash of a line, which is the `prev` of the next."""
    return digest([prev, position, at, content])


def chained(line: Mapping[str, Any], *, prev: str, position: int, at: float) -> dict[str, Any]:
    """Return the line with its time and its link, as the store's script adds them."""
    content = {name: value for name, value in line.items() if name not in _BESIDE}
    own = digest(content)
    link = Link(digest=own, hash=chain_hash(prev, position, at, own), position=position, prev=prev)
    return {"at": at, "chain": link.model_dump(), **content}


# ------------------------------------------------------------------------------------------------- signatures


def line_signature(signer: Signer, tenant: str, lineage: str, content: str, after: str) -> str:
    """Return the signature of a line with this content digest."""
    return signer.sign(_signed_line(tenant, lineage, content, after))


def line_fault(signer: Signer, tenant: str, lineage: str, line: Mapping[str, Any]) -> Fault | None:
    """Return why the signature does not match the line; None if it does."""
    if signer.is_unsigned:
        return None
    given = line.get("sig")
    if not isinstance(given, Mapping):
        return Fault.UNSIGNED
    after, by = given.get("after", ""), given.get("by", "")
    if not isinstance(after, str) or not isinstance(by, str):
        return Fault.ALTERED
    return signer.fault(_signed_line(tenant, lineage, content_digest(line), after), by)


def _signed_line(tenant: str, lineage: str, content: str, after: str) -> Signed:
    return Signed(tenant, "trace", lineage, VERSION, {"digest": content, "after": after})

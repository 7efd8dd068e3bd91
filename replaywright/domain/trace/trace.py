"""The trace: what the lines say, and the chain that ties each to the one before.

A line is one JSON object. Whoever appends it, adds two things: `at`, the server's time in seconds, and `chain`:

    digest    SHA-256 of the line's own content: the canonical JSON (RFC 8785) of all but `at`, `chain`, `sig`
    position  its index in the trace, from 0
    prev      `hash` of the line before; of the first, a digest of tenant and lineage; "" after a line without a chain
    hash      SHA-256 of the canonical JSON of `[prev, position, at, digest]`

and whoever has a key adds `sig` beside that, which no digest covers:

    after     `position/hash` of the last line that this writer had seen added; "" when it had seen none
    by        the signature (`replaywright.domain.secrets.signing`) of `digest` and `after`

Lines of version 1 have no chain, and a step's fields beside the outcome's; they are read all the same.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from pydantic import Field

from replaywright.domain.common.base import Record
from replaywright.domain.common.templates import parameters_in, texts_of
from replaywright.domain.run.runs import Usage
from replaywright.domain.secrets.signing import Fault, Signed, Signer
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.step.outcomes import LEFT_OUT, Status, StepOutcome
from replaywright.domain.task.questions import Verdict as PersonSays
from replaywright.domain.task.steps import Step

VERSION: Final = 2
"""Of the lines."""
TEMPLATE_LIMIT: Final = 8 * 1024
"""Characters of a step that its line holds; of a longer one there is only the digest."""

Verdict: TypeAlias = Literal["success", "failed", "blocked", "skipped", "unknown"]
"""How a step ended, in the words of those who read many traces; `output.status` is ours."""

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
    """What was asked for: as written, with parameters and secrets by name only."""

    step: dict[str, Any] = Field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    """Names of the parameters in it. Their values are in the fingerprint, nowhere else in a trace."""
    digest: str = ""
    """Of a step that is too long to be kept, in place of it."""


class StepMetadata(Record):
    """What else is known of one attempt at a step."""

    status: Verdict
    duration_ms: float = 0.0
    tier: str = ""
    """How its element was found; see `Lookup`."""
    usage: Usage = Usage()
    """What was asked of a model for it."""
    epoch: int = 0
    run_id: str = ""
    fingerprint: str = ""
    previous: str | None = ""
    """The fingerprint of the step before; "" for the first. None where the writer did not know it."""
    attempt: str = ""
    """Why it was performed another time: retry, model, override, commit, resume, redis; empty for the first time."""


class Line(Record):
    """What every line has; what else a line of an unknown kind holds is left as it is."""

    kind: str
    v: int = 1
    at: float
    id: str
    chain: Link | None = None
    """None in version 1."""


class StepLine(Line):
    """One attempt at a step that came to an end."""

    sequence: int
    """Index of the step in the plan, from 0."""
    title: str = ""
    input: StepInput = StepInput()
    output: StepOutcome
    metadata: StepMetadata
    task: str = ""
    site: str = ""
    override: str = ""
    """The override rule that it belongs to; empty for the task's own steps."""


class PersonLine(Line):
    """A decision on a step in doubt or on one that failed, of a person or of the task file (`on_unknown`)."""

    sequence: int
    verdict: PersonSays
    who: str = ""
    why: str = ""
    failed: bool = False
    """The step had failed; nothing was in doubt."""
    fingerprint: str = ""


class FinishLine(Line):
    """The final verification."""

    verified: bool
    promoted: int = 0
    held: int = 0
    note: str = ""


_KINDS: Final[Mapping[str, type[Line]]] = {"step": StepLine, "person": PersonLine, "finish": FinishLine}


def verdict_of(outcome: StepOutcome) -> Verdict:
    """The outcome in one of five words; `skipped` is a step that was done and did not have to be performed."""
    if outcome.status is Status.DONE and (outcome.from_ledger or outcome.already_done or outcome.reason in LEFT_OUT):
        return "skipped"
    return _VERDICTS[outcome.status]


def input_of(step: Step) -> dict[str, Any]:
    """A step as its line holds it: the template, never a value."""
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
    """The content of a step's line; whoever appends it adds what every line has.

    Args:
        outcome: What came of it; becomes `output`.
        sequence: Its index in the plan.
        title: The step as it reads in the UI.
        run_id: The run.
        epoch: Of the attempt.
        given: What `input_of` made of the step; may be empty.
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
    """A line as one level of fields, whatever version wrote it: a step's outcome beside its run, epoch and title.

    What was asked for stays a part of its own, `input`: both it and the outcome have a message.
    """
    metadata, output = line.get("metadata"), line.get("output")
    if line.get("kind") != "step" or not isinstance(metadata, dict) or not isinstance(output, dict):
        return {name: value for name, value in line.items() if name not in ("chain", "sig", "v")}
    rest = {name: value for name, value in line.items() if name not in ("chain", "sig", *_STEP_PARTS)}
    lifted = {name: metadata[name] for name in ("usage", "runId", "epoch", "attempt") if name in metadata}
    given = {"input": line["input"]} if line.get("input") else {}
    return {**rest, **given, **lifted, **output}


def nested(line: Mapping[str, Any]) -> dict[str, Any]:
    """The same the other way: a line of version 1 with its parts as those of today."""
    if line.get("kind") != "step" or "output" in line:
        return dict(line)
    outcome = StepOutcome.model_validate(line)
    own = {field.alias or name for name, field in StepOutcome.model_fields.items()} | {"runId", "epoch", "usage"}
    metadata = StepMetadata(
        status=verdict_of(outcome),
        duration_ms=outcome.costs.total_ms,
        tier=outcome.lookup.tier,
        usage=Usage.model_validate(line.get("usage") or {}),
        epoch=int(line.get("epoch") or 0),
        run_id=str(line.get("runId") or ""),
        fingerprint=outcome.fingerprint,
        previous=None,
    )
    rest = {name: value for name, value in line.items() if name not in own}
    return {**rest, "output": outcome.model_dump(by_alias=True), "metadata": metadata.model_dump(by_alias=True)}


def parse_line(line: Mapping[str, Any]) -> Line:
    """The line as a model of its kind.

    Raises:
        ValidationError: a field is missing, or of another type.
    """
    return _KINDS.get(str(line.get("kind")), Line).model_validate(nested(line))


# -------------------------------------------------------------------------------------------------- the chain


def content_digest(line: Mapping[str, Any]) -> str:
    """SHA-256 of what the line says."""
    return digest({name: value for name, value in line.items() if name not in _BESIDE})


def origin(tenant: str, lineage: str) -> str:
    """What the first line of a trace is chained to."""
    return digest({"lineage": lineage, "tenant": tenant})


def chain_hash(prev: str, position: int, at: float, content: str) -> str:
    """What the line after one with these is chained to."""
    return digest([prev, position, at, content])


def chained(line: Mapping[str, Any], *, prev: str, position: int, at: float) -> dict[str, Any]:
    """The line with its time and its link; what the store's script does."""
    content = {name: value for name, value in line.items() if name not in _BESIDE}
    own = digest(content)
    link = Link(digest=own, hash=chain_hash(prev, position, at, own), position=position, prev=prev)
    return {"at": at, "chain": link.model_dump(), **content}


# ------------------------------------------------------------------------------------------------- signatures


def line_signature(signer: Signer, tenant: str, lineage: str, content: str, after: str) -> str:
    """The signature of a line with this content digest."""
    return signer.sign(_signed_line(tenant, lineage, content, after))


def line_fault(signer: Signer, tenant: str, lineage: str, line: Mapping[str, Any]) -> Fault | None:
    """Why the line is not what its signature is of."""
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

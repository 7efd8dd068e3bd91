"""Choice of artifacts for a report: texts of failures always, pictures as far as there is room."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replaywright.domain.step.outcomes import Status
from replaywright.domain.trace.run_view import AttemptView, Expected, RunView, StepView
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable
from replaywright.ports.stores import Artifacts

MEGABYTE = 1024 * 1024
TEXT_BYTES = 200_000
"""Limit of a text in the report; longer texts are cut."""
AT_ONCE = 8
GONE = "it is not in the artifact store any more, or never was in this tenant's"
_BASE64 = 4 / 3


@dataclass(frozen=True)
class Loaded:
    """Artifacts of a run, by digest."""

    data: Mapping[str, bytes] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    """Reason why others are missing."""
    left_out: int = 0
    """Pictures for which there was no room."""
    budget_mb: float = 0.0

    def text(self, digest: str) -> str:
        """Return the artifact as text; empty if it is missing."""
        text = self.data.get(digest, b"")[:TEXT_BYTES].decode(errors="replace")
        return text + ("\n… (cut here)" if len(self.data.get(digest, b"")) > TEXT_BYTES else "")

    def expected(self, attempt: AttemptView) -> tuple[Expected, ...]:
        """Return the results of the attempt's expectations, with the recorded values of a failure if there are any."""
        try:
            stored = json.loads(self.data.get(attempt.artifacts.get("expectations", ""), b"null"))
            kept = tuple(Expected.model_validate(one) for one in stored or ())
        except (ValueError, TypeError):  # not what we wrote
            kept = ()
        return kept or attempt.expected


async def load(view: RunView, artifacts: Artifacts, *, budget_mb: float) -> Loaded:
    """Read the artifacts that the report of this run shows.

    Pictures are taken in order of how much they tell: steps that did not go well, steps that were healed or asked of a
    model, the first and the last, and then others evenly from the whole run, until they fill `budget_mb` in the file.
    """
    data: dict[str, bytes] = {}
    missing: dict[str, str] = {}

    async def get(digest: str) -> bytes | None:
        try:
            return await artifacts.get(digest)
        except ArtifactMissing:
            missing[digest] = GONE
        except ArtifactsUnavailable as exc:
            missing[digest] = f"the artifact store cannot be read: {exc}"
        return None

    for some in _batches(list(texts_of(view)), AT_ONCE):
        read = zip(some, await asyncio.gather(*map(get, some)), strict=True)
        data |= {digest: found for digest, found in read if found is not None}
    left, left_out = budget_mb * MEGABYTE, 0
    for some in _batches(list(dict.fromkeys(pictures_of(view))), AT_ONCE):
        if left <= 0:
            left_out += len(some)
            continue
        for digest, found in zip(some, await asyncio.gather(*map(get, some)), strict=True):
            if found is None:
                continue
            if len(found) * _BASE64 > left:
                left_out += 1
                continue
            left -= len(found) * _BASE64
            data[digest] = found
    return Loaded(data, missing, left_out, budget_mb)


def texts_of(view: RunView) -> Iterator[str]:
    """Yield the digests of the texts that the report shows."""
    for step in view.steps:
        for attempt in step.attempts:
            yield from (attempt.artifacts[kind] for kind in ("expectations", "diff") if kind in attempt.artifacts)


def pictures_of(view: RunView) -> Iterator[str]:
    """Yield the digests of the pictures that the report shows, the most important first; some repeat."""
    for rank in (_is_bad, _is_news):
        for step in filter(rank, view.steps):
            yield from pictures_of_step(step)
    for step in (*view.steps[:1], *view.steps[-1:]):
        yield from pictures_of_step(step)
    for event in view.events:
        yield from (digest for kind, digest in event.artifacts.items() if kind == "screenshot")
    if view.facts.question is not None and view.facts.question.picture:
        yield view.facts.question.picture
    for place in spread(len(view.steps)):
        yield from pictures_of_step(view.steps[place])


def pictures_of_step(step: StepView) -> Iterator[str]:
    """Yield the digests of the pictures of one step."""
    for attempt in step.attempts:
        if "screenshot" in attempt.artifacts:
            yield attempt.artifacts["screenshot"]
    yield from (picture.digest for picture in (step.before, step.after) if picture is not None and picture.digest)


def spread(count: int) -> list[int]:
    """List the numbers below `count` so that each prefix is spread evenly: 0, 4, 2, 6, 1, 5, 3, 7."""
    bits = max(1, (count - 1).bit_length())
    return sorted(range(count), key=lambda number: int(f"{number:0{bits}b}"[::-1], 2))


def _is_bad(step: StepView) -> bool:
    return any(attempt.status is not Status.DONE and attempt.artifacts for attempt in step.attempts) or (
        step.last.status is not Status.DONE
    )


def _is_news(step: StepView) -> bool:
    return step.last.lookup.healed or step.last.lookup.from_model or bool(step.last.warnings)


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]

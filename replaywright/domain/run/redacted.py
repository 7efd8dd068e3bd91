"""Pages without secret values.

Only texts that come from a page are searched. Numbers, codes and digests are left as they are: a short secret may
occur in them by chance, and without it they would be of no use.
"""

from collections.abc import Callable
from typing import Any, Protocol

from replaywright.domain.locating.filling import changed_target
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.outlines import Outline
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import FrameStep, Target
from replaywright.domain.secrets.redaction import HIDDEN, apart
from replaywright.domain.step.outcomes import Evidence, StepOutcome


class Redacts(Protocol):
    """Knows the secrets; see `replaywright.ports.stores.Secrets`."""

    def redact(self, text: str) -> str:
        """`text` with every known secret replaced by its name."""

    def redact_data(self, value: Any) -> Any:
        """JSON-like data with every known secret replaced."""


def redacted_target(target: Target, secrets: Redacts) -> Target:
    """The target without secret values."""
    frame = tuple(_redacted_hop(hop, secrets.redact) for hop in target.frame)
    changed = changed_target(target, secrets.redact)
    lists = {name: _joined(getattr(changed, name), secrets.redact) for name in ("row", "neighbours", "alike")}
    return changed.model_copy(update={"frame": frame, **lists})


def redacted_snapshot(snapshot: Snapshot, secrets: Redacts) -> Snapshot:
    """The snapshot without secret values; it stays a snapshot that can be read back."""
    elements = tuple(
        element.model_copy(
            update={
                "target": redacted_target(element.target, secrets),
                "value": secrets.redact(element.value),
                "options": _all(element.options, secrets.redact),
            }
        )
        for element in snapshot.elements
    )
    elements = _together(elements, secrets.redact)
    page = {"url": secrets.redact(snapshot.url), "title": secrets.redact(snapshot.title)}
    return snapshot.model_copy(update={**page, "elements": elements, "notes": _all(snapshot.notes, secrets.redact)})


def redacted_outline(outline: Outline, secrets: Redacts) -> Outline:
    """The outline without secret values, also where a secret is spread over several names."""
    names = _joined(tuple(secrets.redact(name) for _, name, _ in outline.elements), secrets.redact)
    return Outline(
        elements=tuple(
            (role, name, value and secrets.redact(value))
            for (role, _, value), name in zip(outline.elements, names, strict=True)
        )
    )


def _together(elements: tuple[Element, ...], redact: Callable[[str], str]) -> tuple[Element, ...]:
    """Elements without a secret that is spread over the texts of several of them, one after the other."""
    targets = [element.target for element in elements]
    for name in ("name", "text", "label"):
        texts = tuple(str(getattr(target, name)) for target in targets)
        for place, (old, new) in enumerate(zip(texts, _joined(texts, redact), strict=True)):
            if old != new:
                targets[place] = targets[place].model_copy(update={name: new})
    return tuple(
        element.model_copy(update={"target": target}) if target is not element.target else element
        for element, target in zip(elements, targets, strict=True)
    )


def _joined(texts: tuple[str, ...], redact: Callable[[str], str]) -> tuple[str, ...]:
    """Texts that a page shows one after the other, without a secret that only they together show."""

    def shows(text: str) -> bool:
        return redact(text) != text

    shown = [place for place, text in enumerate(texts) if text.strip()]
    found = {shown[place] for place in apart([texts[place] for place in shown], shows)} if len(shown) > 1 else ()
    return tuple(HIDDEN if place in found else text for place, text in enumerate(texts))


def redacted_results(results: tuple[PredicateResult, ...], secrets: Redacts) -> tuple[PredicateResult, ...]:
    """Verdicts whose details hold no secret value, whatever the page showed."""
    return tuple(result.model_copy(update={"details": secrets.redact_data(result.details)}) for result in results)


def redacted_outcome(outcome: StepOutcome, secrets: Redacts) -> StepOutcome:
    """The outcome without secret values: message, evidence, verdicts, URL and what was read from the page."""
    return outcome.model_copy(
        update={
            "message": secrets.redact(outcome.message),
            "evidence": _redacted_evidence(outcome.evidence, secrets.redact),
            "predicates": redacted_results(outcome.predicates, secrets),
            "url": secrets.redact(outcome.url),
            "extracted": secrets.redact_data(outcome.extracted),
        }
    )


def _redacted_evidence(evidence: Evidence, redact: Callable[[str], str]) -> Evidence:
    requests = tuple(
        request.model_copy(update={"url": redact(request.url), "fields": _all(request.fields, redact)})
        for request in evidence.requests
    )
    files = tuple(
        file.model_copy(update={"name": redact(file.name), "url": redact(file.url)}) for file in evidence.files
    )
    texts = {name: _all(getattr(evidence, name), redact) for name in ("dialogs", "downloads", "tabs", "blocked")}
    return evidence.model_copy(update={"requests": requests, "files": files, **texts})


def _redacted_hop(hop: FrameStep, redact: Callable[[str], str]) -> FrameStep:
    return hop.model_copy(update={"name": redact(hop.name), "title": redact(hop.title), "url": redact(hop.url)})


def _all(texts: tuple[str, ...], redact: Callable[[str], str]) -> tuple[str, ...]:
    return tuple(redact(text) for text in texts)

"""Wording of the parts of a run in a report."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup, escape

from replaywright.domain.common.durations import iso_of
from replaywright.domain.common.text import shorten, still_lines
from replaywright.domain.run.scope import Usage
from replaywright.domain.run.spending import money_said
from replaywright.domain.run.standing import STATUSES
from replaywright.domain.step.outcomes import LEFT_OUT, Status
from replaywright.domain.trace.run_view import AttemptView, Expected, RunView, StepView
from replaywright.domain.trace.saying import count, duration, is_stand_in, model_name, size

FEW, OPENED = 3, 50
"""So many steps that stand out are shown in full at once; of those that went wrong, so many."""
QUICK_S = 0.1
VALUE_LIMIT = 600
"""Characters of a value of an expectation that are shown."""

_STATUS: Final[Mapping[Status, tuple[str, str]]] = {
    Status.DONE: ("ok", "Done"),
    Status.MISSED: ("bad", "Element not found"),
    Status.UNMET: ("bad", "Expectation not met"),
    Status.REFUSED: ("bad", "Not performed"),
    Status.BLOCKED: ("blocked", "Blocked"),
    Status.IN_DOUBT: ("doubt", "In doubt"),
}
_SIGNS: Final[Mapping[str, str]] = {
    "ok": "✓",
    "warn": "✓",
    "bad": "✕",
    "blocked": "⊘",
    "doubt": "?",
    "skip": "–",
    "going": "▸",
}
_AGAIN: Final[Mapping[str, str]] = {
    "": "First attempt",
    "retry": "Tried again",
    "recheck": "Looked again",
    "candidate": "With the element that another run had named",
    "model": "With the element that the model named",
    "override": "Again, after an override rule had cleared the way",
    "commit": "Again, after it was found that nothing had left",
    "resume": "After the worker or browser was lost",
    "redis": "After the store had been away",
    "person": "As a person said",
    "redo": "Done once more, as a person said",
}
_TIERS: Final[Mapping[str, str]] = {
    "xpath": "as recorded, at its place",
    "xpath_variant": "as recorded, at a variant of its place",
    "attributes": "by its attributes",
    "role_name": "by role and name",
    "hash": "by its fingerprint",
    "focus": "by the focus",
    "similarity": "by likeness",
    "query": "as the task declares it",
}
_EFFECTS: Final[Mapping[str, str]] = {
    "read": "changes nothing on the site",
    "idempotent": "may be repeated",
    "commit": "has consequences",
    "irreversible": "cannot be undone",
}
_PROOFS: Final[Mapping[str, str]] = {
    "became_true": "an expectation came true",
    "response": "it sent what may change something",
    "cause": "a page, a tab, a download or a dialog came of it",
    "change": "the page shows something else than before",
    "none": "nothing shows that it did its work",
}


_WITNESSES: Final[Mapping[str, str]] = {
    "answer": "the site answered its request",
    "document": "a page that was loaded after it, or a response, shows it",
    "sent": "a beacon, a message or a request to another site left",
    "page": "only the page that it acted in (evidence: page)",
}


def clean(value: Any) -> Any:
    """Replace characters of a text that could move, hide or reverse other text; return any other value unchanged.

    Applied to everything that a template puts out, before it is escaped.
    """
    if not isinstance(value, str) or hasattr(value, "__html__"):
        return "" if value is None else value
    return still_lines(value)


def tone_of(attempt: AttemptView) -> str:
    """Return the tone, a colour and sign of the page, of an attempt."""
    if attempt.status is Status.DONE:
        if attempt.reason in LEFT_OUT or attempt.from_ledger:
            return "skip"
        return "warn" if attempt.warnings or attempt.lookup.healed else "ok"
    return _STATUS[attempt.status][0]


def step_tone(step: StepView) -> str:
    """Return the tone of a step, that of its last attempt."""
    return tone_of(step.last)


def said_of(attempt: AttemptView) -> str:
    """Describe the end of an attempt in a few words."""
    if attempt.status is Status.DONE:
        if attempt.reason in LEFT_OUT:
            return "Left out"
        if attempt.from_ledger:
            return "Done before, and not again"
        if attempt.already_done:
            return "It was so already"
    return _STATUS[attempt.status][1]


def chips_of(step: StepView) -> list[tuple[str, str]]:
    """Return the labels of a collapsed step, each with its tone."""
    last = step.last
    chips = []
    if step.override:
        chips.append(("note", f"override {step.override}"))
    if step.item:
        chips.append(("note", step.item))
    if last.status is not Status.DONE or tone_of(last) == "skip":
        chips.append((tone_of(last), said_of(last)))
    if last.lookup.healed:
        chips.append(("warn", f"healed {last.lookup.score:.2f}"))
    elif last.lookup.candidate_of:
        chips.append(("note", "candidate"))
    elif last.lookup.from_model:
        stands_in = any(event.usage.is_stand_in for event in step.events) or is_stand_in(step.usage.model)
        chips.append(("model", "stand-in" if stands_in else "model"))
    elif last.lookup.hit and last.lookup.tier:
        chips.append(("plain", last.lookup.tier.replace("_", " ")))
    if last.already_done:
        chips.append(("skip", "already so"))
    if not step.effect.repeatable:
        chips.append(("commit", step.effect.value))
    if len(step.attempts) > 1:
        chips.append(("note", count(len(step.attempts), "attempt")))
    chips += [("warn", "warning")] if last.warnings else []
    return chips


def again(kind: str) -> str:
    """Describe the reason for another attempt."""
    return _AGAIN.get(kind, kind.replace("_", " ").capitalize())


def tier_text(tier: str) -> str:
    """Describe how an element was found."""
    return _TIERS.get(tier, tier.replace("_", " "))


def stands_out(step: StepView) -> bool:
    """Tell whether the step failed, warned or healed."""
    return step.last.status is not Status.DONE or bool(step.last.warnings) or step.last.lookup.healed


def opened_of(view: RunView) -> frozenset[str]:
    """Return the ids of the steps that are open at first: failed ones, and others that stand out if they are few."""
    bad = [step.id for step in view.steps if step.last.status is not Status.DONE]
    others = [step.id for step in view.steps if stands_out(step) and step.last.status is Status.DONE]
    return frozenset((*bad[:OPENED], *(others if len(others) <= FEW else ())))


def coded(text: str) -> Markup:
    """Render a text of ours, with the parts between backticks as code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(clean(part)) if place % 2 else escape(clean(part))
        for place, part in enumerate(parts)
    )


def run_text(view: RunView) -> tuple[str, str]:
    """Tone and words for how the run stands."""
    facts = STATUSES[view.facts.status]
    if view.facts.status == "done" and view.totals.heals:
        return "warn", f"Done, {count(view.totals.heals, 'heal')}"
    return facts.tone, facts.report


def predicate_text(expected: Expected) -> str:
    """Describe the expectation in the form of a task file; if it is in none, describe its subject."""
    if expected.expected:
        return _lines({key: value for key, value in expected.expected.items() if value not in (None, "", [], {})})
    about = expected.actual.get("expected") or expected.actual.get("query")
    if about:
        return _lines(about) if isinstance(about, Mapping) else _value(about)
    return "(not declared by the step)"


def actual_text(expected: Expected) -> str:
    """Describe the values that were found."""
    payload = {
        key: value
        for key, value in expected.actual.items()
        if key not in ("expected", "query", "passed") and value not in (None, "", [], (), {})
    }
    return _lines(payload)


def _lines(value: Mapping[str, Any]) -> str:
    return "\n".join(f"{key}: {_value(inner)}" for key, inner in value.items())


def _value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return shorten(text, VALUE_LIMIT)


def usage_text(usage: Usage) -> str:
    """Describe the model calls and their cost."""
    if not usage.calls:
        return ""
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
    return " · ".join(filter(None, (model_name(usage.model), count(usage.calls, "call"), tokens, money_said(usage))))


def moment(at: float | datetime) -> str:
    """Format a time for people in UTC, as the file may be read anywhere."""
    time = at if isinstance(at, datetime) else datetime.fromtimestamp(at, UTC)
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def took(seconds: float) -> str:
    """Format a duration; short ones in milliseconds."""
    return f"{seconds * 1000:.0f} ms" if seconds < QUICK_S else duration(seconds)


def lone_value(value: Any) -> str:
    """Something that was read from a page."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str)


FILTERS: Final[Mapping[str, Any]] = {
    "actual": actual_text,
    "again": again,
    "attempt_said": said_of,
    "attempt_tone": tone_of,
    "chips": chips_of,
    "count_of": count,
    "duration": took,
    "effect": lambda effect: _EFFECTS[effect.value],
    "expected_said": predicate_text,
    "iso": iso_of,
    "lone_value": lone_value,
    "moment": moment,
    "coded": coded,
    "stands_out": stands_out,
    "proof": lambda proof: _PROOFS[proof.value],
    "witness": lambda told_by: _WITNESSES[told_by],
    "sign": lambda tone: _SIGNS.get(tone, "•"),
    "size": size,
    "spaced": lambda text: text.replace("_", " "),
    "step_tone": step_tone,
    "tier": tier_text,
    "usage": usage_text,
}
"""Filters of the templates."""

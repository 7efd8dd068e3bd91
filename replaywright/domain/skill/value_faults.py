"""Failures of a step that its run's values are to blame for, and not what is recorded of it."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from replaywright.domain.common.templates import Placeholder, split, texts_of
from replaywright.domain.common.text import normalise
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.saying import alerts_of
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.step.fingerprints import entered_parameters
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.steps import Step

_REFUSED: Final = frozenset({"no_such_option", "no_such_value", "too_long", "value_differs"})
"""Reasons of a field that does not take a value."""


def is_of_values(
    step: Step,
    values: Mapping[str, str],
    outcome: StepOutcome,
    page: Snapshot | None = None,
    good: Snapshot | None = None,
) -> bool:
    """Tell if a step failed because of its values: found as recorded, it was given one that did not fit.

    A field does not take it, the page raises an alert, or the page shows what was expected with another value in it.

    Args:
        step: The step as written, with the names of its parameters.
        values: Values of the run's parameters.
        outcome: The failure.
        page: The page on which an expectation failed.
        good: The page after the same step of the last good run, whose alerts are usual.
    """
    lookup = outcome.lookup
    if not values or lookup.healed or lookup.is_proposed:
        return False
    if outcome.reason in _REFUSED and entered_parameters(step) & values.keys():
        return True
    if outcome.status not in (Status.UNMET, Status.IN_DOUBT):
        return False
    usual = () if good is None else alerts_of(good)
    if page is not None and any(text not in usual for text in alerts_of(page)):
        return True
    verdicts = zip(step.expect, outcome.predicates, strict=False)
    failed = [(expected, seen) for expected, seen in verdicts if seen.required and not seen.passed]
    return bool(failed) and all(_shows_another_value(expected, seen) for expected, seen in failed)


def _shows_another_value(expected: Predicate, seen: PredicateResult) -> bool:
    found = [normalise(text) for text in texts_of([seen.details.get("actual"), seen.details.get("nearest")])]
    return any(re.search(pattern, text) for pattern in _patterns(expected) for text in found)


def _patterns(expected: Predicate) -> Iterator[str]:
    """Yield each text of the expectation that names a value, as a pattern with any value."""
    for text in texts_of(expected.model_dump(mode="json")):
        parts = split(text)
        if any(isinstance(part, Placeholder) for part in parts):
            yield "".join(".+" if isinstance(part, Placeholder) else re.escape(normalise(part)) for part in parts)

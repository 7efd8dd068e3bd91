"""The run's search attributes, as it changes them while it goes.

It changes none but those that it was started with: a namespace that does not know an attribute would refuse the whole
workflow task. So there is nothing to change in the history of a run that was started without them, and such histories
replay. Each change is a command and an event, so there is one when the status changes, with the counts of then.
"""

from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput, Totals
    from replaywright.domain.trace.search_attributes import HEALS, MODEL_CALLS, SKILL, STATUS, SearchAttribute


class Searchable:
    """Search attributes of one run."""

    def __init__(self, run: RunInput) -> None:
        self._skill = "" if run.skill is None else run.skill.name
        self._status = "running"

    def begin(self, totals: Totals) -> None:
        """Tell of the skill that was recalled, if this goes on with one."""
        known = workflow.info().typed_search_attributes
        if self._skill and known.get(key_of(SKILL.name, self._skill)) != self._skill:
            self._change(totals)

    def tell(self, status: str, totals: Totals) -> None:
        """Tell of another status, and of the counts by then."""
        if status != self._status:
            self._status = status
            self._change(totals)

    def _change(self, totals: Totals) -> None:
        values: dict[SearchAttribute, str | int] = {
            STATUS: self._status,
            HEALS: totals.heals,
            MODEL_CALLS: totals.usage.calls,
        }
        if self._skill:
            values[SKILL] = self._skill
        known = workflow.info().typed_search_attributes
        changes: list[SearchAttributeUpdate[Any]] = []
        for attribute, value in values.items():
            key = key_of(attribute.name, value)
            if known.get(key) not in (None, value):
                changes.append(key.value_set(value))
        if changes:
            workflow.upsert_search_attributes(changes)


def key_of(name: str, value: str | int) -> SearchAttributeKey[Any]:
    """Return the key of the search attribute that has this value."""
    return SearchAttributeKey.for_int(name) if isinstance(value, int) else SearchAttributeKey.for_keyword(name)

"""The run's search attributes, as it changes them while it goes.

It changes none but those that it was started with: a namespace that does not know an attribute would refuse the whole
workflow task. So there is nothing to change in the history of a run that was started without them, and such histories
replay. Each change is a command and an event, so there is one when the status changes, with the counts of then.
"""

from temporalio import workflow
from temporalio.common import SearchAttributeKey, SearchAttributeUpdate

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput, Totals
    from replaywright.domain.trace.search_attributes import HEALS, MODEL_CALLS, SKILL, STATUS, SearchAttribute

_INT, _KEYWORD = SearchAttributeKey.for_int, SearchAttributeKey.for_keyword


class Searchable:
    """Search attributes of one run."""

    def __init__(self, run: RunInput) -> None:
        self._skill = "" if run.skill is None else run.skill.name
        self._status = "running"

    def begin(self, totals: Totals) -> None:
        """Tell of the skill that was recalled, if this goes on with one."""
        if self._skill and self._known(SKILL) != self._skill:
            self._change(totals)

    def tell(self, status: str, totals: Totals) -> None:
        """Tell of another status, and of the counts by then."""
        if status != self._status:
            self._status = status
            self._change(totals)

    def _change(self, totals: Totals) -> None:
        told: dict[SearchAttribute, str | int] = {
            STATUS: self._status,
            HEALS: totals.heals,
            MODEL_CALLS: totals.usage.calls,
        }
        if self._skill:
            told[SKILL] = self._skill
        changes = [_set(each, value) for each, value in told.items() if self._known(each) not in (None, value)]
        if changes:
            workflow.upsert_search_attributes(changes)

    @staticmethod
    def _known(attribute: SearchAttribute) -> str | int | None:
        """Its value; None where the run was started without it."""
        attributes = workflow.info().typed_search_attributes
        if attribute.kind == "Int":
            return attributes.get(_INT(attribute.name))
        return attributes.get(_KEYWORD(attribute.name))


def _set(attribute: SearchAttribute, value: str | int) -> SearchAttributeUpdate:  # type: ignore[type-arg]
    if isinstance(value, int):
        return _INT(attribute.name).value_set(value)
    return _KEYWORD(attribute.name).value_set(value)

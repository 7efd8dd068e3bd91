"""Override rules of a run: each has its own limit, and all of them together have one."""

from collections.abc import Iterator

from temporalio import workflow

from workflows.run.context import RunContext
from workflows.session.browser import Browser
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.step.fingerprints import fingerprint
    from replaywright.domain.step.overrides import RUN_LIMIT, Due


class OverrideRules:
    """The rules of one run: how often each was performed, and the attempts that perform one."""

    def __init__(self, context: RunContext, browser: Browser) -> None:
        self._context = context
        self._browser = browser

    @property
    def spent(self) -> tuple[str, ...]:
        """Rules that may not be performed any more; `*` once that is all of them."""
        state = self._context.state
        return ("*",) if sum(state.override_counts.values()) >= RUN_LIMIT else state.override_spent

    def allows(self, rule: Due) -> bool:
        """Return whether the rule may be performed once more."""
        return "*" not in self.spent and rule.name not in self._context.state.override_spent

    def attempts(self, rule: Due, position: int) -> Iterator[Attempt]:
        """Count the rule as performed, and give its steps. Their fingerprints are no links of the task's own chain.

        The execution is part of them: what is on a page today says nothing about what an earlier run did there.
        """
        state = self._context.state
        count = state.override_counts.get(rule.name, 0) + 1
        spent = (rule.name,) if count >= rule.at_most and rule.name not in state.override_spent else ()
        self._context.change(
            override_counts={**state.override_counts, rule.name: count},
            override_spent=(*state.override_spent, *spent),
        )
        mark = f"{state.previous}/{workflow.info().first_execution_run_id}/{rule.name}/{count}"
        for step in rule.steps:
            before, mark = mark, fingerprint(step, {}, mark, "")
            yield Attempt(
                browser=self._browser,
                context=self._context,
                sequence=position,
                step=step,
                fingerprint=mark,
                values=self._context.run.values,
                previous=before,
                override=f"{rule.name}-{count}",
            )

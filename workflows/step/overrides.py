"""What override rules may still do in a run: each as often as it says, and all of them no more than a few times."""

from collections.abc import Iterator

from temporalio import workflow

from workflows.session.browser import Browser
from workflows.step.attempts import Attempt

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.step.fingerprints import fingerprint
    from replaywright.domain.step.overrides import RUN_LIMIT, Due


class Overrides:
    """The rules of one run: how often each was performed, and the attempts that perform one."""

    def __init__(self, browser: Browser, run: RunInput, lineage: str) -> None:
        self._browser = browser
        self._run = run
        self._lineage = lineage
        self.counts: dict[str, int] = dict(run.state.override_counts)
        """How often each rule was performed, by its name."""
        self._spent = dict.fromkeys(run.state.override_spent)

    @property
    def spent(self) -> tuple[str, ...]:
        """Rules that may not be performed any more; `*` once that is all of them."""
        return ("*",) if sum(self.counts.values()) >= RUN_LIMIT else tuple(self._spent)

    def allows(self, rule: Due) -> bool:
        """Whether the rule may be performed once more."""
        return "*" not in self.spent and rule.name not in self._spent

    def attempts(self, rule: Due, position: int, previous: str) -> Iterator[Attempt]:
        """Count the rule as performed, and give its steps. Their fingerprints are no links of the task's own chain.

        The execution is part of them: what is on a page today says nothing about what an earlier run did there.
        """
        count = self.counts[rule.name] = self.counts.get(rule.name, 0) + 1
        if count >= rule.at_most:
            self._spent[rule.name] = None
        mark = f"{previous}/{workflow.info().first_execution_run_id}/{rule.name}/{count}"
        for step in rule.steps:
            before, mark = mark, fingerprint(step, {}, mark, "")
            yield Attempt(
                self._browser,
                self._run,
                lineage=self._lineage,
                sequence=position,
                step=step,
                mark=mark,
                next_step=None,
                previous=before,
                override=f"{rule.name}-{count}",
            )

"""Checkpoints that a run knows of, and when the next one is due."""

from temporalio import workflow

from workflows.run.context import RunContext
from workflows.session.browser import Browser

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.step.checkpoints import CHECKPOINTS_KEPT, Checkpoint
    from replaywright.domain.step.outcomes import StepOutcome


class KnownCheckpoints:
    """The newest checkpoints of one run."""

    def __init__(self, context: RunContext, browser: Browser) -> None:
        self._context = context
        self._browser = browser

    @property
    def known(self) -> tuple[Checkpoint, ...]:
        """The newest, oldest first."""
        return self._context.state.checkpoints

    @property
    def newest(self) -> str:
        """Digest of the newest checkpoint."""
        return self.known[-1].state if self.known else ""

    def is_due(self, position: int) -> bool:
        """Return whether a checkpoint is due after the step at `position`, whatever it does."""
        last = self.known[-1].position if self.known else 0
        # It may not be known yet when the next step begins.
        return (position + 1 - last) % self._context.run.checkpoint_every == 0

    def note(self, outcome: StepOutcome, position: int) -> None:
        """Take over what is known after the step at `position`; a commit makes all checkpoints before it useless."""
        self.take_over(position)
        committed = not outcome.effect.repeatable
        if outcome.moved or committed:
            self._context.change(page_from=max(self._context.state.page_from, position + 1))
        if committed:
            self._context.change(checkpoints=tuple(known for known in self.known if known.position > position))
        self.take_over(position + 1)

    def take_over(self, position: int) -> None:
        """Remember the checkpoints that were taken up to this step."""
        page_from = self._context.state.page_from
        for taken in self._browser.taken:
            if taken.position == position:
                page = [known for known in self.known if known.position == page_from]
                newest = [known for known in self.known if known not in page][1 - CHECKPOINTS_KEPT :]
                kept = taken.model_copy(update={"page_from": page_from})
                self._context.change(checkpoints=(*page, *newest, kept))
        self._browser.taken = [taken for taken in self._browser.taken if taken.position > position]

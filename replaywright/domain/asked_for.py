"""What nobody's page has written about a step; `asked` says what is held against it.

A module of its own, as whatever starts a run comes here and needs none of the words that `asked` knows.
"""

from replaywright.domain.base import Record


class Asked(Record):
    """What nobody's page has written about a step: an element that a model chose is held against it."""

    goal: str = ""
    """The sentence, without long values: see `weighty.order_in`."""
    verbs: tuple[str, ...] = ()
    """Of the labeller, who has read the goal alone."""
    instruction: str = ""
    """Of the step, if the task's author wrote it; empty for a planner's."""
    is_commit: bool = False
    """Whether the author says that the step sends, pays or deletes something: then it may, if nothing says what."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that the step enters."""
    origins: tuple[str, ...] = ()
    """Where a planner's step may lead; empty for an author's."""

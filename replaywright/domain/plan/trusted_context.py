"""Facts about a step that no page has written: what a model answers about a page is compared with these."""

from replaywright.domain.common.base import Record


class TrustedContext(Record):
    """The author's own part of a step."""

    goal: str = ""
    """The sentence without its values: a value asks for nothing."""
    instruction: str = ""
    """Of the step, if the task's author wrote it; empty for a planner's."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that the step enters."""
    origins: tuple[str, ...] = ()
    """Origins that a planner's step may lead to; empty for an author's step."""

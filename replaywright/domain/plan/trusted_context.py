"""Facts about a step that no page has written, against which a model's answers are checked."""

from replaywright.domain.common.base import Record


class TrustedContext(Record):
    """The author's part of a step."""

    goal: str = ""
    """The sentence without its values: a value asks for nothing."""
    instruction: str = ""
    """The author's instruction; empty for a planner's step."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that the step enters."""
    origins: tuple[str, ...] = ()
    """Origins that a planner's step may lead to; empty for an author's step."""

"""What ends a run as failed."""


class TaskFailed(Exception):
    """The run cannot reach what its task wants; `reason` is a code for it."""

    def __init__(self, reason: str, message: str, artifacts: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.artifacts = artifacts or {}

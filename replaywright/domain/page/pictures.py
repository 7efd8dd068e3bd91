"""Pictures of the screen around a step, and the place of the step's element in them."""

from enum import StrEnum

from replaywright.domain.common.base import Record
from replaywright.domain.page.targets import Box


class Pictures(StrEnum):
    """Steps whose pictures a run keeps, beside failed ones."""

    FAILURES = "failures"
    """No others."""
    AUTO = "auto"
    """Also learned and healed ones."""
    STEPS = "steps"
    """All, and the start page."""


class StepPicture(Record):
    """The screen at the end of a step, with secrets hidden."""

    digest: str = ""
    """Digest of the JPEG in the artifact store; empty without one."""
    missing: str = ""
    """Reason for a missing picture."""
    view: Box | None = None
    """Visible part of the page."""

    def placed(self, box: Box) -> Box | None:
        """Return `box` as fractions of the picture; None if it is not in it."""
        if self.view is None or not self.view.width or not self.view.height:
            return None
        left, top = max(0.0, box.x - self.view.x), max(0.0, box.y - self.view.y)
        right = min(self.view.width, box.x + box.width - self.view.x)
        bottom = min(self.view.height, box.y + box.height - self.view.y)
        if right <= left or bottom <= top:
            return None
        width, height = self.view.width, self.view.height
        return Box(x=left / width, y=top / height, width=(right - left) / width, height=(bottom - top) / height)

"""Pictures of what the screen showed around a step, and where the step's element was in them."""

from enum import StrEnum

from pydantic import Field

from replaywright.domain.common.base import Record


class Pictures(StrEnum):
    """Of which steps a run keeps pictures. Of a step that fails it always keeps one."""

    FAILURES = "failures"
    """Of no others."""
    AUTO = "auto"
    """Of those that are learned or healed, too: these take long anyway."""
    STEPS = "steps"
    """Of all, and of the page that the run begins on."""


class Box(Record):
    """A place on a page, in CSS pixels from the top left corner of its top document, wherever that is scrolled to."""

    x: float
    y: float
    width: float = Field(ge=0)
    height: float = Field(ge=0)


class StepPicture(Record):
    """What the screen showed once a step had ended, everything that shows a secret hidden."""

    digest: str = ""
    """Of the JPEG in the artifact store; empty when there is none."""
    missing: str = ""
    """Why there is none."""
    view: Box | None = None
    """Which part of the page it shows."""

    def placed(self, box: Box) -> Box | None:
        """Where `box` is in the picture, in shares of its width and height; None where it does not show it."""
        if self.view is None or not self.view.width or not self.view.height:
            return None
        left, top = max(0.0, box.x - self.view.x), max(0.0, box.y - self.view.y)
        right = min(self.view.width, box.x + box.width - self.view.x)
        bottom = min(self.view.height, box.y + box.height - self.view.y)
        if right <= left or bottom <= top:
            return None
        width, height = self.view.width, self.view.height
        return Box(x=left / width, y=top / height, width=(right - left) / width, height=(bottom - top) / height)

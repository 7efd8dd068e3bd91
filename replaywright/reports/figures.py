"""Pictures in the file: each stands in it once, however often it is shown, and the marked place of a target on it."""

import base64
import struct
from dataclasses import dataclass

from replaywright.domain.page.pictures import StepPicture
from replaywright.domain.trace.run_view import AttemptView, StepView
from replaywright.reports.loading import Loaded

PAD = 6
"""CSS pixels around a target that its mark leaves free."""
_TALL = 1.6
"""Height in widths above which a picture is shown cut, and opens in full."""


@dataclass(frozen=True)
class Mark:
    """A rectangle in the pixels of the picture."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Figure:
    """A picture as the page shows it, or why it does not."""

    caption: str
    alt: str
    id: str = ""
    """Id of its symbol; empty if there is none."""
    width: int = 0
    height: int = 0
    mark: Mark | None = None
    missing: str = ""
    note: str = ""

    @property
    def is_tall(self) -> bool:
        """Return True if it is much taller than a window."""
        return self.height > _TALL * self.width


@dataclass(frozen=True)
class Symbol:
    """A picture as it stands in the file."""

    id: str
    width: int
    height: int
    uri: str


class Gallery:
    """The pictures that a report shows."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._symbols: dict[str, Symbol] = {}

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Pictures that were shown so far."""
        return tuple(self._symbols.values())

    def of_step(self, step: StepView) -> tuple[Figure, ...]:
        """Return the pictures before and after a step; empty if none were requested."""
        figures = []
        box = next((attempt.box for attempt in reversed(step.attempts) if attempt.box is not None), None)
        if step.before is not None:
            place = None if box is None else step.before.placed(box)
            alt = f"The page before step {step.number}"
            alt += ", with a frame around the element that the step acts on" if place is not None else ""
            figure = self._figure(step.before, "Before", alt)
            if place is not None and figure.id:
                wide, high = figure.width, figure.height
                left, top = max(1.0, place.x * wide - PAD), max(1.0, place.y * high - PAD)
                right = min(wide - 1.0, (place.x + place.width) * wide + PAD)
                bottom = min(high - 1.0, (place.y + place.height) * high + PAD)
                mark = Mark(round(left, 1), round(top, 1), round(right - left, 1), round(bottom - top, 1))
                figure = Figure(**{**vars(figure), "mark": mark})
            elif box is not None and figure.id:
                figure = Figure(**{**vars(figure), "note": "the element is not in this part of the page"})
            figures.append(figure)
        if step.after is not None:
            figures.append(self._figure(step.after, "After", f"The page after step {step.number}"))
        return tuple(figures)

    def of_attempt(self, step: StepView, attempt: AttemptView) -> Figure | None:
        """Return the picture of a failed attempt."""
        digest = attempt.artifacts.get("screenshot", "")
        missing = attempt.artifacts_missing.get("screenshot", "")
        if not digest and not missing:
            return None
        alt = f"The page when attempt {attempt.number} at step {step.number} had failed"
        return self._figure(StepPicture(digest=digest, missing=missing), "When it failed", alt)

    def of(self, digest: str, caption: str, alt: str) -> Figure:
        """Return any other picture."""
        return self._figure(StepPicture(digest=digest), caption, alt)

    def _figure(self, picture: StepPicture, caption: str, alt: str) -> Figure:
        if not picture.digest:
            return Figure(caption, alt, missing=picture.missing or "it was not taken")
        data = self._loaded.data.get(picture.digest)
        if data is None:
            why = self._loaded.missing.get(picture.digest)
            return Figure(caption, alt, missing=why or "left out, as the pictures of this report have no more room")
        kind, width, height = kind_and_size(data)
        if not kind:
            return Figure(caption, alt, missing="what is kept is no picture")
        symbol = self._symbols.get(picture.digest)
        if symbol is None:
            uri = f"data:{kind};base64,{base64.b64encode(data).decode()}"
            symbol = Symbol(f"p{len(self._symbols) + 1}", width, height, uri)
            self._symbols[picture.digest] = symbol
        return Figure(caption, alt, symbol.id, width, height)


def kind_and_size(data: bytes) -> tuple[str, int, int]:
    """Media type, width and height in pixels of a PNG or JPEG; nothing of anything else."""
    if data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR":
        width, height = struct.unpack(">II", data[16:24])
        return "image/png", width, height
    if data[:3] != b"\xff\xd8\xff":
        return "", 0, 0
    place = 2
    while place + 9 <= len(data) and data[place] == 0xFF:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2 : place + 4])[0]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return "image/jpeg", width, height
        place += 2 + length
    return "", 0, 0

"""Secrets that are drawn in pictures, painted over: what a page shows on a canvas or in an image is in no text of it.

Reads with the packages of the extra `ocr`, whose models are in the wheel: nothing is loaded from elsewhere. It takes
seconds of one processor, on one thread of its own. A picture that cannot be read in time is refused, never returned as
it was.
"""

import asyncio
import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import product
from typing import Any

from replaywright.domain.secrets.drawn import DrawnLine, showing
from replaywright.errors import PictureUnread

WIDTH, HEIGHT, OVERLAP = 1_280, 800, 60
"""Pixels of a piece that is read at a time, and of what two pieces share: the reader makes larger ones smaller."""
MARGIN = 0.2
"""What is painted around a line, as a share of its height."""
_PAINT = (96, 96, 96)
_MODULES = ("rapidocr", "onnxruntime", "cv2")
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ocr")


@cache
def reads_pictures() -> bool:
    """Tell if the packages of the extra `ocr` are installed."""
    return all(importlib.util.find_spec(name) is not None for name in _MODULES)


async def painted(data: bytes, values: Sequence[str], shows: Callable[[str], bool], within_s: float) -> bytes:
    """Return the picture (PNG or JPEG, as it was) with all lines painted over that show a secret.

    Pieces of a large picture that there is no time for are painted over whole.

    Args:
        data: The picture.
        values: What is hidden, with the mistakes of readings.
        shows: Tells if a line shows a secret in another form, such as Base64.
        within_s: Its time limit, with its turn behind others.

    Raises:
        PictureUnread: it could not be read, or not in time.
    """
    ends = time.monotonic() + within_s
    work = asyncio.get_running_loop().run_in_executor(_thread, _paint, data, values, shows, ends)
    done, _ = await asyncio.wait({work}, timeout=within_s)
    if not done:
        work.cancel()
        raise PictureUnread(f"the picture was not searched for secrets in {within_s:.1f} s, so it is not kept")
    error = work.exception()
    if isinstance(error, PictureUnread):
        raise error
    if error is not None:  # whatever a native library raises means that nobody has read the picture
        raise PictureUnread(f"the picture could not be searched for secrets ({type(error).__name__})")
    return work.result()


def _paint(data: bytes, values: Sequence[str], shows: Callable[[str], bool], ends: float) -> bytes:
    cv2, numpy = importlib.import_module("cv2"), importlib.import_module("numpy")
    picture = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise PictureUnread("the picture cannot be decoded, so that no secret in it could be found")
    lines, unread = _lines(picture, ends)
    if (0, 0) in unread:
        raise PictureUnread("there was no time to search the picture for secrets, so it is not kept")
    hidden = showing(lines, values) | {at for at, line in enumerate(lines) if shows(line.text)}
    if not hidden and not unread:
        return data
    for top, left in unread:
        picture[top : top + HEIGHT, left : left + WIDTH] = _PAINT
    for at in hidden:
        _cover(cv2, numpy, picture, lines[at])
    is_done, coded = cv2.imencode(".png" if data.startswith(b"\x89PNG") else ".jpg", picture)
    if not is_done:
        raise PictureUnread("the picture cannot be written again without its secrets")
    return bytes(coded.tobytes())


def _lines(picture: Any, ends: float) -> tuple[list[DrawnLine], list[tuple[int, int]]]:
    """Return the lines of all pieces, and the corners of the pieces that there is no time for."""
    height, width = picture.shape[:2]
    tops = range(0, max(1, height - OVERLAP), HEIGHT - OVERLAP)
    lefts = range(0, max(1, width - OVERLAP), WIDTH - OVERLAP)
    lines: list[DrawnLine] = []
    unread: list[tuple[int, int]] = []
    longest_s = 0.0
    for top, left in product(tops, lefts):
        begun = time.monotonic()
        if unread or begun + longest_s > ends:
            unread.append((top, left))
            continue
        lines += _read(picture[top : top + HEIGHT, left : left + WIDTH], left, top)
        longest_s = max(longest_s, time.monotonic() - begun)
    return lines, unread


def _read(piece: Any, left: int, top: int) -> Iterator[DrawnLine]:
    found = _engine()(piece)
    if found.boxes is None:
        return
    for corners, text, certainty in zip(found.boxes, found.txts, found.scores, strict=True):
        yield DrawnLine(text, float(certainty), tuple((float(x) + left, float(y) + top) for x, y in corners))


@cache
def _engine() -> Any:
    rapidocr = importlib.import_module("rapidocr")
    threads = {f"EngineConfig.onnxruntime.{which}_op_num_threads": 1 for which in ("intra", "inter")}
    wanted = {"Global.log_level": "error", "Global.use_cls": False, "Global.text_score": 0.0}
    return rapidocr.RapidOCR(params={**wanted, **threads})


def _cover(cv2: Any, numpy: Any, picture: Any, line: DrawnLine) -> None:
    """Paint the line's place, and as much around it as letters may reach."""
    corners = numpy.array(line.corners, dtype=numpy.float32)
    center, (width, height), angle = cv2.minAreaRect(corners)
    more = max(2.0, MARGIN * min(width, height))
    box = cv2.boxPoints((center, (width + 2 * more, height + 2 * more), angle))
    cv2.fillPoly(picture, [numpy.round(box).astype(numpy.int32)], _PAINT)

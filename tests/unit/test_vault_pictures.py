"""Secrets in pictures, read by the packages of the extra `ocr`: `make bench-pictures` runs this with them."""

import importlib
from collections.abc import Sequence
from typing import Any

import pytest

from replaywright.errors import PictureUnread
from replaywright.vault import pictures
from replaywright.vault.environment import EnvironmentSecrets

VALUE = "Tr0ub4dor-Xylem"
needs_reader = pytest.mark.skipif(not pictures.reads_pictures(), reason="needs the extra `ocr`: make bench-pictures")


def secrets(value: str = VALUE) -> EnvironmentSecrets:
    return EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PLANTED": value})


def picture(*lines: str, kind: str = ".png", width: int = 600) -> bytes:
    cv2, numpy = importlib.import_module("cv2"), importlib.import_module("numpy")
    page = numpy.full((60 * len(lines) + 40, width, 3), 255, numpy.uint8)
    for at, line in enumerate(lines):
        cv2.putText(page, line, (30, 60 + 60 * at), cv2.FONT_HERSHEY_SIMPLEX, 0.8, (0, 0, 0), 2)
    return bytes(cv2.imencode(kind, page)[1].tobytes())


def ink(data: bytes, at: int) -> int:
    """The black pixels of a line."""
    cv2, numpy = importlib.import_module("cv2"), importlib.import_module("numpy")
    page: Any = cv2.imdecode(numpy.frombuffer(data, numpy.uint8), cv2.IMREAD_GRAYSCALE)
    return int((page[30 + 60 * at : 80 + 60 * at] < 50).sum())


async def test_without_a_secret_nothing_is_read() -> None:
    assert await EnvironmentSecrets({}).redact_picture(b"no picture", 1) == b"no picture"


async def test_without_the_extra_a_picture_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("replaywright.vault.environment.reads_pictures", lambda: False)

    assert await secrets().redact_picture(b"no picture", 1) == b"no picture"


async def test_a_reader_that_fails_in_any_way_leaves_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    class OfANativeLibrary(Exception):
        pass

    def fails(*_: object) -> bytes:
        raise OfANativeLibrary(VALUE)

    monkeypatch.setattr("replaywright.vault.environment.reads_pictures", lambda: True)
    monkeypatch.setattr(pictures, "_paint", fails)

    with pytest.raises(PictureUnread, match="OfANativeLibrary") as caught:
        await secrets().redact_picture(b"", 5)
    assert VALUE not in str(caught.value)


@needs_reader
@pytest.mark.parametrize("kind", [".png", ".jpg"])
async def test_the_line_with_the_secret_is_painted_over_and_no_other(kind: str) -> None:
    before = picture("Nothing to hide", f"Key: {VALUE}", "The end of it", kind=kind)

    after = await secrets().redact_picture(before, 60)

    assert after[:4] == before[:4]
    assert ink(after, 1) < ink(before, 1) / 20
    for at in (0, 2):
        assert ink(after, at) > ink(before, at) * 0.9


@needs_reader
async def test_a_picture_without_the_secret_is_the_same_bytes() -> None:
    data = picture("Nothing to hide", "The end of it")

    assert await secrets().redact_picture(data, 60) == data


@needs_reader
@pytest.mark.parametrize("lines", [("Tr0ub4do", "r-Xylem"), ("Tr0ub4d",), ("TR0UB4DOR XYLEM",)])
async def test_a_broken_value_and_a_part_are_hidden(lines: Sequence[str]) -> None:
    before = picture(*lines)

    after = await secrets().redact_picture(before, 60)

    assert [ink(after, at) < ink(before, at) / 20 for at in range(len(lines))] == [True] * len(lines)


@needs_reader
async def test_what_is_no_picture_is_refused() -> None:
    with pytest.raises(PictureUnread, match="cannot be decoded"):
        await secrets().redact_picture(b"GIF89a", 60)


@needs_reader
async def test_a_picture_that_is_not_read_in_time_is_refused() -> None:
    with pytest.raises(PictureUnread, match="so it is not kept"):
        await secrets().redact_picture(picture("Nothing to hide"), 0)


@needs_reader
async def test_pieces_that_there_is_no_time_for_are_painted_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "HEIGHT", 130)
    read = iter([True])
    monkeypatch.setattr(pictures, "_read", lambda *_: [] if next(read, None) else pytest.fail("read too late"))
    clock = iter([0.0, 0.0, 100.0, *[100.0] * 50])
    monkeypatch.setattr("time.monotonic", lambda: next(clock, 100.0))
    before = picture("Nothing to hide", "One", "Two", "Three", "Four")

    after = pictures._paint(before, [VALUE], lambda _: False, 50.0)

    assert ink(after, 0) == ink(before, 0)
    assert ink(after, 4) == 0

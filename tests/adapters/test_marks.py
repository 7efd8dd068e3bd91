"""The picture that a planner is shown: marks lie on their elements, the page is told of nothing, no secret is in it."""

import base64
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.snapshot_text import listed_ids, snapshot_text
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.secrets.redaction import Redactor
from replaywright.ports.browser import Look
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, work

SECRET = "s3cret value/4711"
COLOURS = ("#c1121f", "#0353a4", "#006d3c", "#7b2cbf", "#8a4b08", "#00696f", "#ad1474", "#33415c")
"""Of the marks, by the last digit of the octal number."""
BOXES = {
    "Save": (60, 60, 120, 40),
    "Locked": (260, 60, 120, 40),
    "Password": (60, 160, 120, 40),
    "Code": (260, 160, 120, 40),
    "Near": (100, 280, 100, 40),
    "Far": (440, 280, 100, 40),
    "Moving": (60, 370, 120, 40),
}
"""Where the page draws its elements: left, top, width, height."""
COVERED = (480, 60, 120, 40)
_PIXELS = """async ({ picture, points }) => {
  const image = new Image();
  image.src = `data:image/png;base64,${picture}`;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  return points.map(([x, y]) => "#" + Array.from(context.getImageData(x, y, 1, 1).data.slice(0, 3),
    (part) => part.toString(16).padStart(2, "0")).join(""));
}"""


_STATE = """[document.documentElement.outerHTML, changes, document.getAnimations().length,
  performance.getEntriesByType("resource").filter((one) => one.initiatorType !== "iframe").map((one) => one.name)]"""


def listed(snapshot: Snapshot) -> Sequence[str]:
    return listed_ids(snapshot_text(snapshot))


def nothing(_snapshot: Snapshot) -> Sequence[str]:
    return ()


async def look(session: ChromiumSession, secret: str = "not on the page") -> Look:
    seen = await session.look(listed, Redactor([("TOKEN", secret)]).text)
    if (folder := os.environ.get("MARKS_SAVED_IN")) and seen.picture:
        (Path(folder) / f"{len(seen.picture)}.png").write_bytes(seen.picture)
    return seen


async def pixels(session: ChromiumSession, picture: bytes | None, points: Sequence[tuple[float, float]]) -> list[str]:
    assert picture is not None
    given = {"picture": base64.b64encode(picture).decode(), "points": points}
    told: list[str] = await session.tabs.current.page.evaluate(_PIXELS, given)
    return told


def numbers(snapshot: Snapshot) -> Mapping[str, int]:
    named = {one.target.name or one.target.label: one.id for one in snapshot.elements if one.actionable}
    return {name: int(element_id.removeprefix("e")) for name, element_id in named.items()}


def edges(box: tuple[int, int, int, int]) -> list[tuple[float, float]]:
    """A point of each side, one pixel inside, where no label stands."""
    left, top, width, height = box
    return [
        (left + 1, top + height - 8),
        (left + width - 2, top + height - 8),
        (left + width / 2, top + 1),
        (left + width / 2, top + height - 2),
    ]


async def test_each_mark_lies_on_its_element_in_all_frames_and_the_page_is_told_of_nothing(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "marks.html")
    page = session.tabs.current.page
    await page.wait_for_load_state("load")
    before = await page.evaluate(_STATE)

    seen = await look(session)

    assert seen.missing == ""
    after = await page.evaluate(_STATE)
    assert after == before
    number = numbers(seen.snapshot)
    assert {*BOXES, "Covered", "Below"} <= set(number)
    for name, box in BOXES.items():
        assert await pixels(session, seen.picture, edges(box)) == [COLOURS[number[name] % 8]] * 4, name
    # What is covered is not marked: the picture shows what lies over it.
    assert not set(COLOURS) & set(await pixels(session, seen.picture, edges(COVERED)))
    # Without a mark the element's own pixels are there.
    bare = (await session.look(nothing, str)).picture
    for box in BOXES.values():
        assert not set(COLOURS) & set(await pixels(session, bare, edges(box)))


async def test_passwords_and_secrets_are_blank_under_their_marks(session: ChromiumSession, site: Site) -> None:
    pictures = []
    for text in (SECRET, "another+one/08 15"):
        await opened(session, site, "marks.html")
        await session.perform(work("fill", {"label": "Password"}, text=text[:5], sensitive=True))
        await session.perform(work("fill", {"label": "Code"}, text=text, sensitive=True))
        pictures.append((await look(session, text)).picture)
    await opened(session, site, "marks.html")
    await session.perform(work("fill", {"label": "Code"}, text="plain text"))
    plain = (await look(session)).picture

    # Two secrets make the same picture: nothing in it depends on them.
    assert pictures[0] is not None
    assert pictures[0] == pictures[1]
    assert plain not in pictures


async def test_an_element_that_moves_has_no_mark(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "marks.html#moves")

    seen = await look(session)

    colour = COLOURS[numbers(seen.snapshot)["Moving"] % 8]
    row = [(x, y) for x in range(60, 760, 2) for y in (371, 408)]
    assert seen.picture is not None
    assert colour not in await pixels(session, seen.picture, row)


@pytest.mark.long
async def test_a_page_that_cannot_be_pictured_is_read_all_the_same(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "marks.html")
    hang = "(() => { const end = Date.now() + 2600; while (Date.now() < end); })()"

    def then_hangs(snapshot: Snapshot) -> Sequence[str]:
        session.tabs.current.notify(session.tabs.current.main, hang)
        return listed(snapshot)

    seen = await session.look(then_hangs, str)

    assert "Save" in numbers(seen.snapshot)
    assert seen.picture is None
    assert seen.missing

"""Widgets as component frameworks make them, on a page that does it the hard way, against a real Chromium."""

from pathlib import Path

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.errors import ActionFailed
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, holds, opened, work

PAGE = "widgets.html"


async def log_of(session: ChromiumSession) -> str:
    """What the page noted, without the word that it begins with."""
    report = await session.perform(work("extract", fields={"it": {"find": {"css": "#log"}}}))
    return str(report.extracted["it"]).removeprefix("nothing;").strip()


async def test_options_with_boxes_are_ticked_and_unticked_and_those_that_are_as_wanted_are_left_alone(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("select_option", button("Extras"), values=["Gift", "Express"]))
    said = await log_of(session)
    other = await session.perform(work("select_option", button("Extras"), values=["Insured"]))

    assert holds(report)
    assert said == "extras Express,Gift;"
    assert holds(other)
    assert (await log_of(session)).endswith("extras Insured;")


async def test_what_a_field_shows_as_chosen_need_not_be_in_its_list(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("select_option", {"role": "combobox", "name": "Team"}, values=["Ann", "Cleo"]))

    assert holds(report)
    assert await log_of(session) == "team Ann,Cleo;"


async def test_files_are_dropped_where_the_file_field_of_an_area_is(
    endpoint: str, browsers: ChromiumBrowsers, session: ChromiumSession, site: Site, tmp_path: Path
) -> None:
    await opened(session, site, PAGE)
    (tmp_path / "a.txt").write_text("a")
    uploading = ChromiumBrowsers(upload_roots=lambda: (tmp_path,))
    other = await uploading.attach(endpoint)

    await other.perform(work("upload", {"css": "#attachments"}, files=["a.txt"], drop=True))
    await other.detach()
    await uploading.close()

    assert await log_of(session) == "dropped a.txt;"


async def test_a_box_that_is_clipped_away_is_pressed_by_its_label(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("check", {"role": "checkbox", "name": "Terms"}))

    assert holds(report)
    assert await log_of(session) == "terms true;"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("Date", "2027-01-31", "date 31-1-2027;"),
        ("Date", "2026-02-28", "date 28-2-2026;"),
        ("month", "2027-01-31", "date 31-1-2027;"),
        ("Time", "07:05", "time 7-5;"),
        ("minute", "07:05", "time 7-5;"),
    ],
)
async def test_a_date_or_time_that_is_made_of_spin_buttons_is_filled_part_by_part(
    session: ChromiumSession, site: Site, name: str, text: str, said: str
) -> None:
    await opened(session, site, PAGE)
    target = {"role": "group" if name.istitle() else "spinbutton", "name": name}

    report = await session.perform(work("fill", target, text=text))
    again = await session.perform(work("fill", target, text=text))
    await session.perform(work("click", button("Elsewhere")))

    assert holds(report)
    assert report.acted
    assert not again.acted
    assert await log_of(session) == said


@pytest.mark.parametrize(
    ("text", "message"), [("14:30", "values such as 2026-11-21"), ("2026-02-31", "its day does not take 31")]
)
async def test_a_date_that_the_parts_do_not_take_is_refused(
    session: ChromiumSession, site: Site, text: str, message: str
) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed, match=message):
        await session.perform(work("fill", {"role": "group", "name": "Date"}, text=text, timeout_ms=3000))


async def test_one_part_of_a_date_may_show_its_number_in_its_own_form(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("fill", {"role": "spinbutton", "name": "month"}, text="3"))

    assert holds(report)


async def test_the_only_line_of_an_editor_stands_for_the_editor(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("fill", {"css": "#code .line"}, text="y = 2"))

    assert holds(report)
    assert await log_of(session) != ""


async def test_one_of_several_paragraphs_does_not_stand_for_the_editor(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed) as refused:
        await session.perform(work("fill", {"css": "#letter p:first-child"}, text="Dear Bo", timeout_ms=700))

    assert not refused.value.dispatched


async def test_a_field_that_holds_again_what_it_held_is_filled_once_more_and_then_given_up(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    late = await session.perform(work("fill", {"label": "Late"}, text="new"))
    with pytest.raises(ActionFailed, match="but the field holds"):
        await session.perform(work("fill", {"label": "Fixed"}, text="new"))

    assert holds(late)
    assert await log_of(session) == "late; fixed; fixed;"

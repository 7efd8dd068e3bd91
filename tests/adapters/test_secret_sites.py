"""A secret is entered where it belongs, and nowhere else: into real pages in a real Chromium."""

import contextlib
from urllib.parse import quote

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.secrets.secret_sites import RULE, BoundSecret, sites_in
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Report, Work
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, work

PAGE = "secrets.html"
VALUE = "corréct-hörse"


def bound(site: Site, port: int | None = None, host: str = "127.0.0.1") -> tuple[BoundSecret, ...]:
    return (BoundSecret("PASSWORD", sites_in(f"http://{host}:{port or site.port}", "V")),)


def entering(action: str, label: str, secrets: tuple[BoundSecret, ...], text: str = VALUE) -> Work:
    return work(action, {"label": label}, text=text, sensitive=True, secrets=secrets, timeout_ms=3000)


async def shown(session: ChromiumSession, css: str) -> str:
    script = f"(e => e.value ?? e.textContent)(document.querySelector({css!r}))"
    return str(await session.tabs.current.call(session.tabs.current.main, script, timeout_s=5))


async def refused(session: ChromiumSession, one: Work) -> ActionFailed:
    with pytest.raises(ActionFailed) as told:
        await session.perform(one)
    assert VALUE not in str(told.value)
    return told.value


def acted(report: Report) -> bool:
    return report.lookup.hit and report.acted


@pytest.mark.parametrize("action", ["fill", "type", "paste"])
@pytest.mark.parametrize(("label", "css"), [("Password", "#password"), ("Notes", "#notes"), ("Letter", "#letter")])
async def test_a_secret_is_entered_into_fields_of_its_site(
    session: ChromiumSession, site: Site, action: str, label: str, css: str
) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(entering(action, label, bound(site)))

    assert acted(report)
    assert await shown(session, css) == VALUE
    assert f"input {css[1:]}" in await shown(session, "#log")


async def test_what_is_typed_key_by_key_shows_the_page_every_key(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await session.perform(entering("type", "Code", bound(site), "1234"))

    assert await shown(session, "#log") == "".join(
        f"keydown code {length};input code {length + 1};keyup code {length + 1};" for length in range(4)
    )


async def test_what_is_pasted_is_the_pages_to_distribute(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(entering("paste", "Digit 1", bound(site), "739"))

    assert acted(report)
    assert [await shown(session, f"#d{digit}") for digit in (1, 2, 3)] == ["7", "3", "9"]


async def test_a_secret_is_pasted_into_the_field_that_has_the_focus(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("click", {"label": "Notes"}))

    await session.perform(work("paste", text=VALUE, sensitive=True, secrets=bound(site)))
    await session.perform(work("click", {"role": "heading", "name": "Sign in"}))
    error = await refused(session, work("paste", text=VALUE, sensitive=True, secrets=bound(site)))

    assert await shown(session, "#notes") == VALUE
    assert (error.reason, error.dispatched) == ("not_editable", False)


@pytest.mark.parametrize(
    ("label", "reason"), [("Birthday", "not_editable"), ("Fixed", "readonly"), ("Code", "too_long")]
)
async def test_what_cannot_take_a_secret_is_refused(
    session: ChromiumSession, site: Site, label: str, reason: str
) -> None:
    await opened(session, site, PAGE)

    error = await refused(session, entering("fill", label, bound(site)))

    assert (error.reason, error.dispatched) == (reason, False)


@pytest.mark.parametrize("action", ["fill", "type", "paste"])
async def test_a_page_of_another_site_gets_nothing(session: ChromiumSession, site: Site, action: str) -> None:
    await opened(session, site, PAGE)

    error = await refused(session, entering(action, "Password", bound(site, site.other_port)))

    assert (error.reason, error.dispatched) == (RULE, False)
    assert "replaywright admin secrets bind PASSWORD" in str(error)
    assert await shown(session, "#password") == "old"
    assert await shown(session, "#log") == ""


async def test_without_a_binding_no_site_gets_it(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    error = await refused(session, entering("fill", "Password", (BoundSecret("PASSWORD", ()),)))

    assert f"`replaywright admin secrets bind PASSWORD 127.0.0.1:{site.port}`" in str(error)
    assert await shown(session, "#password") == "old"


async def in_frame(session: ChromiumSession, site: Site, where: str, more: str = "") -> None:
    """Open a page without fields of its own, and in it the page with fields, from `where`."""
    await opened(session, site, f"{PAGE}?host&frame={quote(f'{where}/{PAGE}')}{more}")


def of(site: Site, *where: str) -> tuple[BoundSecret, ...]:
    return (BoundSecret("PASSWORD", sites_in(",".join(where), "V")),)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("belong", ["frame", "page", "both"])
async def test_a_frame_gets_a_secret_only_where_it_and_the_page_around_it_belong(
    session: ChromiumSession, site: Site, host: str, belong: str
) -> None:
    inner, outer = f"http://{host}:{site.other_port}", f"http://127.0.0.1:{site.port}"
    await in_frame(session, site, inner)
    one = entering("fill", "Password", of(site, *{"frame": [inner], "page": [outer], "both": [inner, outer]}[belong]))

    if belong == "both":
        assert acted(await session.perform(one))
    else:
        error = await refused(session, one)
        assert (error.reason, error.dispatched) == (RULE, False)
        assert (outer if belong == "frame" else inner) in str(error)


async def test_a_sandboxed_frame_says_nothing_of_where_it_is_from_and_gets_nothing(
    session: ChromiumSession, site: Site
) -> None:
    await in_frame(session, site, f"http://127.0.0.1:{site.port}", "&sandbox")

    error = await refused(session, entering("fill", "Password", bound(site)))

    assert "'null'" in str(error)


async def test_a_page_that_leaves_for_another_site_at_the_last_moment_takes_no_secret_along(
    session: ChromiumSession, site: Site
) -> None:
    other = f"http://localhost:{site.other_port}/{PAGE}?grabs"
    await opened(session, site, f"{PAGE}?leaves={quote(other)}")

    with pytest.raises(ActionFailed):
        await session.perform(entering("type", "Password", bound(site)))

    await session.perform(work("wait_for", expect=[{"url_contains": "grabs"}], timeout_ms=5000))
    assert await shown(session, "#password") == "old"
    assert "input" not in await shown(session, "#log")


async def test_a_frame_that_takes_the_focus_all_the_time_gets_no_secret(session: ChromiumSession, site: Site) -> None:
    frame = f"http://127.0.0.1:{site.other_port}/{PAGE}?grabs"
    await opened(session, site, f"{PAGE}?frame={quote(frame)}")
    inner = session.tabs.current.children(session.tabs.current.main)

    with contextlib.suppress(ActionFailed):  # it may win or not
        await session.perform(entering("fill", "Notes", bound(site)))

    assert len(inner) == 1
    value = await session.tabs.current.call(inner[0], "document.querySelector('#log').textContent", timeout_s=5)
    assert "input" not in value


# ------------------------------------------------------------------------------------------------- prompts


@pytest.mark.parametrize("belongs", [True, False])
async def test_a_prompt_is_told_a_secret_only_by_its_site(session: ChromiumSession, site: Site, belongs: bool) -> None:
    await opened(session, site, PAGE)
    secrets = bound(site) if belongs else bound(site, site.other_port)

    report = await session.perform(
        work(
            "click",
            {"role": "button", "name": "Ask"},
            dialog="accept",
            dialog_text=VALUE,
            sensitive=True,
            dialog_secrets=secrets,
        )
    )

    assert await shown(session, "#answer") == (VALUE if belongs else "null")
    assert VALUE not in repr(report)
    assert (RULE in report.evidence.dialogs[0]) is not belongs

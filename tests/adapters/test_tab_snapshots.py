"""Snapshots of whole tabs: frames in their places, closed shadow roots named, bounds on how many frames are read."""

from replaywright.browser.session import ChromiumSession
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened


async def test_a_closed_shadow_root_is_named_and_an_element_without_one_is_not(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "shadow.html")
    await session.tabs.current.page.evaluate("document.body.append(document.createElement('plain-box'))")
    await session.tabs.current.page.evaluate(
        "document.querySelector('plain-box').style = 'display:block;width:90px;height:30px'"
    )

    notes = (await session.snapshot()).notes

    assert notes == ("closed shadow root in <closed-box>: cannot be read",)


async def test_groups_of_different_frames_are_different_groups(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_one.html")
    await session.tabs.current.page.evaluate(
        "{ const rows = '<ul>' + '<li>Note <button>Open</button></li>'.repeat(5) + '</ul>';"
        " document.body.innerHTML = rows + '<iframe width=300 height=200></iframe>';"
        " document.querySelector('iframe').contentDocument.body.innerHTML = rows }"
    )

    elements = (await session.snapshot()).elements

    assert {e.group for e in elements if not e.target.frame and e.target.name == "Open"} == {"g1"}
    assert {e.group for e in elements if e.target.frame and e.target.name == "Open"} == {"g2"}


async def test_of_hundreds_of_frames_a_bounded_number_is_read_with_a_note(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_one.html")
    await session.tabs.current.page.evaluate(
        "{ document.body.innerHTML = '<button>Go</button>' + '<iframe width=90 height=20></iframe>'.repeat(350);"
        " for (const frame of document.querySelectorAll('iframe'))"
        " frame.contentDocument.body.innerHTML = '<button>Inside</button>' }"
    )

    taken = await session.snapshot()

    assert "Go" in [e.target.name for e in taken.elements]
    assert len([e for e in taken.elements if e.target.name == "Inside"]) <= 100
    assert any("frames" in note for note in taken.notes)


async def test_a_frame_that_still_loads_is_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_one.html")

    await session.tabs.current.page.evaluate(
        "src => document.body.append(Object.assign(document.createElement('iframe'), {src, width: 300}))",
        site.url("slow?ms=300"),
    )

    assert [e.target.name for e in (await session.snapshot()).elements if e.target.frame] == ["Slow page"]


HEARING = """
<div id=go>Go on</div><div id=board><p><span>Alpha</span> <span>Beta</span></p><button>Inside</button></div>
<section id=page><div id=text></div></section><x-sign id=sign>Star</x-sign><div id=over>Hover</div><iframe></iframe>
"""
LISTEN = """() => {
  document.getElementById('text').textContent = 'A long text about nothing at all. '.repeat(9);
  for (const id of ['go', 'board', 'page', 'text', 'sign']) {
    document.getElementById(id).addEventListener('click', () => 1);
  }
  document.getElementById('over').addEventListener('mouseover', () => 1);
  const inner = document.querySelector('iframe').contentDocument;
  inner.body.innerHTML = '<div style="width: 90px">Framed</div>';
  inner.querySelector('div').addEventListener('pointerdown', () => 1);
}"""


async def test_what_hears_presses_by_a_listener_alone_is_a_control_but_not_what_hears_them_for_its_parts(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "browser_one.html")
    page = session.tabs.current.page
    await page.evaluate("html => { document.body.innerHTML = html }", HEARING)
    await page.evaluate(LISTEN)

    offered = [element.target.name for element in (await session.snapshot()).elements if element.actionable]

    assert offered == ["Go on", "Inside", "Star", "Framed"]

"""Drawn lists that their author calls by what they show as chosen: with another choice they are the same lists."""

from dataclasses import replace

import pytest

from replaywright.browser.session import ChromiumSession
from tests.adapters.browser_site import Site
from tests.adapters.steps import holds, opened, says, work

PAGE = "lists_named_by_choice.html"


@pytest.mark.parametrize("chosen", ["", "?from=Bonn&via=Pisa", "?from=Riga&to=Oslo", "?from=Pisa&to=Oslo&via=Riga"])
@pytest.mark.parametrize("which", [("from", "", "From"), ("to", "", "To"), ("via", "Via", "Via")])
async def test_a_list_is_found_again_whatever_is_chosen_in_it_and_in_others(
    session: ChromiumSession, site: Site, which: tuple[str, str, str], chosen: str
) -> None:
    list_id, name, label = which
    await opened(session, site, PAGE)
    step = work(
        "click", {"role": "combobox", "css": f"[aria-labelledby~={list_id}]"}, expect=[says(f"opened {list_id}")]
    )
    target = (await session.perform(replace(step, learning=True))).target
    assert target is not None
    assert (target.name, target.label) == (name, label)
    await opened(session, site, PAGE + chosen)

    report = await session.perform(replace(step, query=None, target=target))

    assert holds(report)
    assert not report.lookup.healed


async def test_what_is_chosen_is_the_value_of_the_list_and_still_a_name_in_tasks(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)
    here = {"of": {"role": "combobox", "name": "Oslo"}, "value_equals": "Oslo"}

    report = await session.perform(
        work("click", {"role": "combobox", "name": "Riga"}, expect=[says("opened to"), here])
    )

    assert holds(report)

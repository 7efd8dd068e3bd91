"""What a step led to while it was learned is expected of it from then on: on a real page, from one run to the next."""

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.predicate.predicates import meaning_of
from replaywright.domain.step.outcomes import Status
from tests.adapters.acting import Acting
from tests.adapters.browser_site import Site
from tests.adapters.steps import button
from tests.unit.staged import reapplied

PAGE = "expectations.html"


@pytest.fixture
def acting(session: ChromiumSession) -> Acting:
    return Acting(session)


async def derived(acting: Acting, site: Site, name: str) -> list[dict[str, object]]:
    """Learn a click in a run that is then verified; what is expected of it from now on."""
    await acting.do("goto", url=site.url(PAGE))
    learned = await acting.do("click", button(name))
    assert learned.status is Status.DONE
    await acting.next_run(learned)
    return [meaning_of(predicate) for predicate in (await acting.entry(learned)).derived]


async def test_an_address_and_a_heading_that_came_are_expected_again(acting: Acting, site: Site) -> None:
    expected = await derived(acting, site, "Show the orders")
    await acting.do("goto", url=site.url(PAGE))

    again = await acting.do("click", button("Show the orders"))

    assert expected == [
        {"url_contains": "/orders/list"},
        {"exists": {"role": "heading", "name": "Your orders"}, "required": False},
    ]
    assert (again.status, again.warnings) == (Status.DONE, ())
    assert [verdict.passed for verdict in again.predicates] == [True, True]


async def test_another_address_than_that_which_was_learned_is_no_success(acting: Acting, site: Site) -> None:
    await derived(acting, site, "Show the orders")
    await acting.do("goto", url=site.url(f"{PAGE}?orders=/blocked"))

    elsewhere = await acting.do("click", button("Show the orders"))

    assert (elsewhere.status, elsewhere.reason) == (Status.UNMET, "url_differs")


async def test_a_message_that_is_worded_anew_is_warned_of_and_given_up_when_the_run_is_good(
    acting: Acting, site: Site
) -> None:
    expected = await derived(acting, site, "Save")
    await acting.do("goto", url=site.url(f"{PAGE}?message=Kept+for+later"))

    reworded = await acting.do("click", button("Save"))
    await acting.next_run(reworded)
    entry = await acting.entry(reworded)

    assert expected == [{"text_contains": "Draft saved", "required": False}]
    assert reworded.status is Status.DONE
    assert len(reworded.warnings) == 1
    assert (entry.derived, entry.origin) == ((), "review")
    assert "Draft saved" in entry.note


async def test_what_is_entered_is_expected_with_todays_value(acting: Acting, site: Site) -> None:
    await acting.do("goto", url=site.url(PAGE))
    learned = await acting.do("fill", {"label": "Name"}, value="{{who}}", values={"who": "Ada"})
    await acting.next_run(learned)
    entry = await acting.entry(learned)
    await acting.do("goto", url=site.url(PAGE))

    again = await acting.do("fill", {"label": "Name"}, value="{{who}}", values={"who": "Grace"})

    assert [meaning_of(predicate) for predicate in entry.derived] == [
        {"value_equals": "{{who}}", "of": {"role": "textbox", "name": "Name"}, "required": False}
    ]
    assert (again.status, [verdict.passed for verdict in again.predicates]) == (Status.DONE, [True])


async def test_a_menu_that_closed_is_opened_again_for_the_step_that_missed_its_element(
    acting: Acting, site: Site
) -> None:
    await acting.do("goto", url=site.url(PAGE))
    opener = acting.asked("expand", button("Menu"))
    opened = await acting.perform(opener)
    await acting.do("click", button("Add a row"))  # which closes it
    press = acting.asked("click", button("Inside the menu"), expect=[{"text_contains": "The item was pressed"}])

    missed = await acting.perform(press)
    reopened = await acting.perform(reapplied(opener))
    pressed = await acting.perform(press)

    assert [outcome.status for outcome in (opened, missed, reopened, pressed)] == [
        Status.DONE,
        Status.MISSED,
        Status.DONE,
        Status.DONE,
    ]

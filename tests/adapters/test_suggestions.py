"""Fields that show their suggestions beside them once they have the focus: found again by what is there before."""

from dataclasses import replace

from replaywright.browser.session import ChromiumSession
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, work

PAGE = "rows_with_suggestions.html"
ACCOUNTS = ("Expenses:Food", "Assets:Cash")


async def test_the_account_of_each_row_is_entered_again_where_it_was(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    recorded = []
    for number, account in enumerate(ACCOUNTS, start=1):
        step = work("fill", {"placeholder": "Account", "nth": number}, text=account)
        target = (await session.perform(replace(step, learning=True))).target
        assert target is not None
        assert (target.row, "Assets:Bank" in target.neighbours) == ((), False)  # of the list that opens
        recorded.append(replace(step, query=None, target=target))
    await opened(session, site, PAGE)

    reports = [await session.perform(step) for step in recorded]

    fields = await session.tabs.current.page.get_by_placeholder("Account").all()
    assert [report.lookup.healed for report in reports] == [False, False]
    assert [await field.input_value() for field in fields] == [*ACCOUNTS, ""]

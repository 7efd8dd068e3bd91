"""Controls without a name are told apart by their signs, as the page's author calls them; no reader hears these."""

from collections.abc import Sequence

import pytest

from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Snapshot
from tests.adapters.test_signs import STYLE
from tests.pages.harness import AgentPage
from tests.pages.ladder import found_again, recorded

LIGATURE = "<i aria-hidden=true>{}</i>"
GLYPH = '<b class="sg sg-{}" aria-hidden=true></b>'
USE = '<svg width=20 height=20 aria-hidden=true><use href="#{}"></use></svg>'
DRAWN = '<svg width=20 height=20 aria-hidden=true data-testid="{}"><path d="M0 0h9v9z"></path></svg>'
SIGNS = {"ligature": LIGATURE, "glyph": GLYPH, "used drawing": USE, "drawing": DRAWN}
KINDS = pytest.mark.parametrize("sign", SIGNS.values(), ids=SIGNS)
LOOKS = f"{STYLE}<style>.sg::before {{ content: '\\f101' }} .sg-add::before {{ content: '\\f102' }}</style>"


def table(sign: str, signs: Sequence[str]) -> str:
    buttons = "".join(f"<button class=flat>{sign.format(each)}</button>" for each in signs)
    rows = "".join(f"<tr><td>{name}<td>{city}<td>{buttons}</tr>" for name, city in (("Ann", "Oslo"), ("Bob", "Riga")))
    return f"{LOOKS}<main><table><tr><th>Name<th>City<th></tr>{rows}</table></main>"


async def show(agent: AgentPage, page: str) -> None:
    await agent.show(page)
    await agent.value("document.fonts.load('20px Signs', 'home').then(() => 0)")


@KINDS
@pytest.mark.parametrize("now", [("add", "home"), ("add", "home", "home2"), ("home2", "home")], ids=str)
async def test_another_sign_in_the_recorded_place_is_another_control(
    agent: AgentPage, sign: str, now: tuple[str, ...]
) -> None:
    await show(agent, table(sign, ("home", "add")))
    before = await recorded(agent, "tr:nth-child(3) button:nth-child(1)")
    await show(agent, table(sign, now))

    decision = await found_again(agent, before)

    if decision.chosen is not None:
        assert decision.chosen.target.row[0] == "Bob"
        assert decision.chosen.target.xpath.endswith(f"/button[{now.index('home') + 1}]")


@KINDS
async def test_the_only_control_without_a_name_is_found_with_the_sign_of_another_state(
    agent: AgentPage, sign: str
) -> None:
    page = "{}<main><h1>Player</h1><button>{}</button><button>Next</button></main>"
    await show(agent, page.format(LOOKS, sign.format("home")))
    before = await recorded(agent, "button")
    await show(agent, page.format(LOOKS, sign.format("add")))

    decision = await found_again(agent, before)

    assert decision.chosen is not None
    assert (before.label, decision.chosen.target.label) == ("home", "add")


async def test_a_glyph_that_is_the_whole_name_is_told_in_words(agent: AgentPage) -> None:
    await show(agent, f"{LOOKS}<button><b class='sg sg-home'></b></button>")

    listing = snapshot_text(Snapshot.model_validate(await agent.call("replaywright.snapshot({})")))

    assert 'label="home"' in listing


@KINDS
async def test_a_model_is_told_the_signs_of_controls_without_a_name(agent: AgentPage, sign: str) -> None:
    await show(agent, table(sign, ("home", "add")))

    listing = snapshot_text(Snapshot.model_validate(await agent.call("replaywright.snapshot({})")))

    assert (listing.count('button "" label="home"'), listing.count('button "" label="add"')) == (2, 2)

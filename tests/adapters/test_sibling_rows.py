"""Controls that are equal in every row of a table are told apart by their row, with today's parameters."""

from collections.abc import Sequence

import pytest

from replaywright.domain.locating.filling import filled_target, general_target
from replaywright.domain.locating.matching import MatchDecision
from replaywright.domain.page.targets import Target
from tests.pages.harness import AgentPage
from tests.pages.ladder import found_again

ANN = ("Ann", "ann@example.com", "admin")
ANN_MARIE = ("Ann-Marie", "annmarie@example.com", "admin")
BEN = ("Ben", "ben@example.com", "admin")
BENNO = ("Benno", "benno@example.com", "admin")


def table(rows: Sequence[Sequence[str]], heads: Sequence[str] = ("Name", "Mail", "Role")) -> str:
    head = "".join(f"<th>{one}</th>" for one in (*heads, ""))
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}<td><button>Edit</button> <button>Show</button></td></tr>"
        for row in rows
    )
    return f"<main><h1>Users</h1><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></main>"


async def recorded_for_ann(agent: AgentPage) -> Target:
    """The Edit of Ann's row, as it is kept for every value of {{name}}."""
    await agent.show(table([ANN_MARIE, ANN, BEN]))
    described = Target.model_validate(await agent.describe("tbody tr:nth-child(2) button"))
    return general_target(described, {"name": "Ann"}, frozenset({"name"}))


async def look(agent: AgentPage, recorded: Target, name: str) -> MatchDecision:
    """The whole ladder on the page that is shown, with this value of the parameter."""
    return await found_again(agent, filled_target(recorded, {"name": name}))


async def test_the_row_is_found_among_more_than_are_compared(agent: AgentPage) -> None:
    recorded = await recorded_for_ann(agent)
    await agent.show(table([(f"User {number}", f"u{number}@example.com", "admin") for number in range(90)]))

    assert row_of(await look(agent, recorded, "User 77")) == "User 77"
    assert row_of(await look(agent, recorded, "User 91")) is None


def row_of(decision: MatchDecision) -> str | None:
    return None if decision.chosen is None else decision.chosen.target.row[0]


async def test_the_edit_of_ann_is_the_edit_of_ben_when_the_parameter_says_ben(agent: AgentPage) -> None:
    recorded = await recorded_for_ann(agent)

    assert recorded.row == ("{{name}}",)
    for name in ("Ann", "Ben"):
        assert row_of(await look(agent, recorded, name)) == name


@pytest.mark.parametrize(
    "rows", [[BEN, ANN, ANN_MARIE], [ANN, BENNO, ANN_MARIE, BEN], [BENNO, BEN], [ANN_MARIE, ANN] * 9 + [BEN]]
)
async def test_the_row_is_found_wherever_it_went(agent: AgentPage, rows: list[tuple[str, ...]]) -> None:
    recorded = await recorded_for_ann(agent)
    await agent.show(table(rows))

    decision = await look(agent, recorded, "Ben")

    assert row_of(decision) == "Ben"
    assert decision.chosen is not None
    assert decision.chosen.target.name == "Edit"


@pytest.mark.parametrize("rows", [[ANN_MARIE], [ANN_MARIE, BEN], [("Anne", *ANN[1:]), BENNO], [BEN]])
async def test_a_row_that_is_not_there_is_a_miss_and_never_its_neighbour(
    agent: AgentPage, rows: list[tuple[str, ...]]
) -> None:
    recorded = await recorded_for_ann(agent)
    await agent.show(table(rows))

    assert (await look(agent, recorded, "Ann")).chosen is None


async def test_two_rows_that_answer_are_ambiguous(agent: AgentPage) -> None:
    recorded = await recorded_for_ann(agent)
    await agent.show(table([("Ben", "ben@example.com", "admin"), ANN, ("Ben", "ben@other.example", "guest")]))

    decision = await look(agent, recorded, "Ben")

    assert decision.chosen is None
    assert decision.lookup.reason == "ambiguous"


async def test_cells_in_another_order_and_more_columns_do_not_matter(agent: AgentPage) -> None:
    recorded = await recorded_for_ann(agent)
    rows = [(role, "2026-01-02", mail, name) for name, mail, role in (ANN_MARIE, BEN, ANN, BENNO)]
    await agent.show(table(rows, ("Role", "Since", "Mail", "Name")))

    decision = await look(agent, recorded, "Ben")

    assert decision.chosen is not None
    assert "Ben" in decision.chosen.target.row


async def test_numbers_that_begin_alike_are_different_rows(agent: AgentPage) -> None:
    invoices = [(f"Invoice {number}", "ACME", "open", "EUR") for number in (12, 123, 1234)]
    await agent.show(table(invoices, ("Number", "Customer", "State", "Currency")))
    recorded = Target.model_validate(await agent.describe("tbody tr:nth-child(1) button"))

    assert row_of(await look(agent, recorded, "")) == "Invoice 12"
    await agent.show(table(invoices[1:], ("Number", "Customer", "State", "Currency")))
    assert (await look(agent, recorded, "")).chosen is None


CARD = (
    "<article><h2>{}</h2><ul><li>Address: <a href=/{}/>open</a></li><li><a data-name=edit>Edit</a></li></ul></article>"
)
LINE = "<tr><td>{}</td><td><ul><li><a href=#e>Edit</a></li><li><a href=#s>Stop</a></li></ul></td></tr>"
ODD_LINE = LINE.replace("<tr", "<tr class=odd")
NESTED = "<li><b>{}</b><ul><li><a href=/{}/a>First of {}</a></li><li><a href=/{}/b>Second of {}</a></li></ul></li>"

SIGNS = (
    "<div class=card><a href=/{0}><h5>{0}</h5><i>ready</i></a>"
    "<div><button aria-label=rename><svg></svg></button><button aria-label=delete><svg></svg></button></div></div>"
)
FIELD = "<div class=field><label for={0}>{0}</label><div><input id={0}></div></div>"


async def test_cards_with_nothing_but_signs_to_press_are_rows_and_fields_with_their_labels_are_none(
    agent: AgentPage,
) -> None:
    await agent.show(
        f"<main>{''.join(map(SIGNS.format, 'abc'))}</main><form>{''.join(map(FIELD.format, 'xyz'))}</form>"
    )

    recorded = Target.model_validate(await agent.describe(".card:nth-child(2) [aria-label=rename]"))

    assert recorded.row == ("b ready",)
    assert (await look(agent, recorded, "")).lookup.hit
    assert Target.model_validate(await agent.describe("#y")).row == ()

    panes = "<div class=pane>Left</div><div class=pane>Right</div>"
    await agent.show(
        f"<main><div class=pane><b>Ann</b><i><button aria-label=add></button></i><p><input></p></div>{panes}</main>"
    )
    assert Target.model_validate(await agent.describe("input")).row == ()


@pytest.mark.parametrize(
    ("page", "selector", "row"),
    [
        (
            f"<main>{CARD.format('Choir', 'c')}{CARD.format('Work', 'w')}</main>",
            "article:nth-child(2) [data-name]",
            "Work",
        ),
        (f"<table>{LINE.format('cook')}{LINE.format('wash')}</table>", "tr:nth-child(2) li:nth-child(2) a", "wash"),
        (
            f"<table>{LINE.format('cook')}{ODD_LINE.format('wash')}{LINE.format('iron')}</table>",
            "tr:nth-child(2) li:nth-child(2) a",
            "wash",
        ),
        (f"<ul>{NESTED.format(*'aaaaa')}{NESTED.format(*'bbbbb')}</ul>", "li:nth-child(2) ul li a", "First of b"),
    ],
    ids=["cards", "table", "striped table", "nested menu"],
)
async def test_an_item_that_says_the_element_only_gives_way_to_what_holds_such_elements(
    agent: AgentPage, page: str, selector: str, row: str
) -> None:
    await agent.show(page)

    assert Target.model_validate(await agent.describe(selector)).row[0] == row


@pytest.mark.parametrize(
    ("page", "selector", "action"),
    [
        ("<form action=/send><button>Go</button></form>", "button", "/send"),
        ("<form action=/send><button formaction=/drop?x=1>Go</button></form>", "button", "/drop"),
        ("<form id=f action=/send></form><input type=submit form=f>", "input", "/send"),
        ("<form action=/send><input name=action><button type=button>Go</button></form>", "button", None),
        ("<form action=/send><input name=action><button>Go</button></form>", "button", "/send"),
        ("<form><button>Go</button></form>", "button", "."),
        ("<button>Go</button>", "button", None),
    ],
)
async def test_a_button_is_recorded_with_where_it_sends_its_form(
    agent: AgentPage, page: str, selector: str, action: str | None
) -> None:
    await agent.show(page)

    assert Target.model_validate(await agent.describe(selector)).attributes.get("action") == action


WIDGETS = "".join(
    f'<div class="widget"><button>{name}</button> <span>{hint}</span></div>'
    for name, hint in (("notes.txt", "12 kB"), ("Rename", "F2"), ("Close", "A hint"))
)


@pytest.mark.parametrize("place", ["position: fixed; inset: 0", "position: absolute; inset: 0; z-index: 9"])
async def test_a_dialog_beside_widgets_of_its_class_is_no_row_of_theirs(agent: AgentPage, place: str) -> None:
    asks = "<p>Delete notes.txt for good?</p><p><button>Cancel</button> <button>Delete</button></p>"
    await agent.show(f'{WIDGETS}<div class="widget" style="{place}">{asks}</div>')
    in_dialog = Target.model_validate(await agent.describe("p button:last-child"))
    widget = Target.model_validate(await agent.describe(".widget button"))

    assert (in_dialog.row, widget.row) == ((), ("notes.txt", "12 kB"))

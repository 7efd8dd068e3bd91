"""Elements without a name, each shown twice by a person: what tells them is a parameter, and a place is none."""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import pytest

from bench.chromium import give_one_new_tab
from bench.demonstrating import watched
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.domain.task.tasks import Task
from replaywright.imports import Imported
from replaywright.recording.comparing import compared, data_of
from tests.adapters.browser_site import Site

Shown = tuple[str, str]
"""The page's elements, and a selector of what the person presses."""


@pytest.fixture
def task_of(endpoint: str, browsers: ChromiumBrowsers, site: Site) -> Callable[..., Any]:
    async def task_of(html: str, css: str) -> Task:
        await give_one_new_tab(endpoint)
        demonstration = await browsers.watch(endpoint)
        url = site.url(f"told.html?has={quote(html)}")
        async with watched(demonstration, endpoint, url) as person:
            await person.page.locator(css).click()
            await person.did(1)
            task = person.task().task
        await demonstration.close()
        return task

    return task_of


async def both(task_of: Callable[..., Any], first: Shown, second: Shown) -> Imported:
    return compared(await task_of(*first), await task_of(*second))


def target_of(imported: Imported) -> Any:
    return data_of(imported.task)["steps"][0].get("target")


def swatches(colours: Sequence[str], wanted: str, *, words: bool = True, told: bool = True) -> Shown:
    boxes = "".join(
        f'<i {f"data-color={each}" if words else ""} style="background-color: {each};"></i>' for each in colours
    )
    return (f"<p>Press the {wanted if told else 'right'} one</p>{boxes}", f'i[style*="{wanted}"]')


def signs(names: Sequence[str], wanted: str) -> Shown:
    return "".join(f"<i data-do={each}></i>" for each in names), f"i[data-do={wanted}]"


def seats(rows: Sequence[str], wanted: str) -> Shown:
    return f"<p>Your seat: {wanted}</p>" + "".join(
        f'<i data-seat="{each}"></i>' for each in rows
    ), f'[data-seat="{wanted}"]'


def stars(wanted: int) -> Shown:
    return "<i></i>" * 5, f"i:nth-of-type({wanted})"


def cards(wanted: str) -> Shown:
    card = "<article><h2><b>{0}</b> [list]</h2>{1} days old <ul><li><a href='#'>Edit</a></li></ul></article>"
    html = "".join(card.format(name, days) for days, name in enumerate(("Oak", "Elm", "Fir"), start=11))
    return html, f"article:has-text('{wanted}') a"


def rows(wanted: str) -> Shown:
    row = "<tr><td>{1}<td>up for 0:0{1}:12<td>{0}<td><a href='/stop?{1}'>Stop</a>"
    html = "".join(row.format(name, number) for number, name in enumerate(("Baker", "Cook", "Maid"), start=1))
    return f"<table>{html}</table>", f"tr:has-text('{wanted}') a"


def customers(wanted: int) -> Shown:
    html = "".join(f"<tr><td>Customer {number}<td><a href='/edit?{number}'>Edit</a>" for number in range(1, 45))
    return f"<table>{html}</table>", f"tr:nth-child({wanted}) a"


def menu(name: str) -> Shown:
    gone = "this.parentNode.remove()"
    items = "".join(f'<li role=menuitem onmouseup="{gone}">{each}</li>' for each in ("Rename", name))
    return f"<ul role=menu>{items}</ul>", f"li:text('{name}')"


def sections(number: int, *, others: str = "") -> Shown:
    return f"{others}<button>Section #{number}</button>", f"button:text('Section #{number}')"


@pytest.mark.parametrize("told", [True, False])
async def test_a_word_of_the_page_s_own_that_differs_is_a_parameter(task_of: Callable[..., Any], told: bool) -> None:
    joined = await both(
        task_of,
        swatches(["red", "lime", "blue"], "red", told=told),
        swatches(["pink", "blue", "red"], "blue", told=told),
    )

    assert target_of(joined) == {"css": 'i[data-color="{{value}}"]'}
    assert joined.task.parameters["value"].example == "red"


async def test_a_word_of_the_page_s_own_that_agrees_is_none_wherever_it_stands(task_of: Callable[..., Any]) -> None:
    joined = await both(task_of, signs(["reply", "archive", "junk"], "archive"), signs(["archive", "junk"], "archive"))

    assert target_of(joined) == {"css": 'i[data-do="archive"]'}


async def test_a_number_counts_as_a_word_if_the_page_shows_it(task_of: Callable[..., Any]) -> None:
    joined = await both(task_of, seats(["11A", "12A", "12B"], "12A"), seats(["11A", "12A", "14C"], "14C"))

    assert target_of(joined) == {"css": 'i[data-seat="{{value}}"]'}


async def test_a_word_that_others_beside_it_have_is_a_state_and_tells_nothing(task_of: Callable[..., Any]) -> None:
    def folds(states: Sequence[str], wanted: int) -> Shown:
        return "".join(f"<i data-fold={each}></i>" for each in states), f"i:nth-of-type({wanted})"

    joined = await both(task_of, folds(["in", "out", "in"], 2), folds(["in", "out", "in"], 2))

    assert target_of(joined) is None


@pytest.mark.parametrize("told", [True, False])
async def test_what_only_a_colour_tells_is_told_by_nothing(task_of: Callable[..., Any], told: bool) -> None:
    shown = swatches(["red", "lime", "blue"], "lime", words=False, told=told)

    joined = await both(task_of, shown, swatches(["pink", "blue", "red"], "blue", words=False, told=told))

    assert target_of(joined) is None


async def test_a_place_among_equals_is_kept_if_it_agrees_and_never_a_parameter(task_of: Callable[..., Any]) -> None:
    same, other = await both(task_of, stars(3), stars(3)), await both(task_of, stars(3), stars(4))

    assert target_of(same) == {"css": "html > body > main:nth-of-type(1) > i:nth-of-type(3)"}
    assert target_of(other) is None
    assert [note.advice for note in other.notes if note.what == "click"] == [
        (
            "the demonstrations point at elements that nothing but their places tell: nobody could say which one is "
            "meant, so a replay stops here; write its target"
        )
    ]


async def test_a_number_in_the_name_of_the_only_one_is_no_parameter(task_of: Callable[..., Any]) -> None:
    alone = await both(task_of, sections(38), sections(9))
    several = await both(task_of, sections(38, others="<button>Section #1</button>"), sections(9))

    assert target_of(alone) == {"role": "button", "name_contains": "Section"}
    assert target_of(several) == {"role": "button", "name": "{{button}}"}


@pytest.mark.parametrize(("kind", "role"), [(rows, "row"), (cards, "article")])
async def test_a_row_or_card_is_told_by_its_own_words_and_not_by_numbers_or_addresses(
    task_of: Callable[..., Any], kind: Callable[[str], Shown], role: str
) -> None:
    wanted = ("Cook", "Maid") if role == "row" else ("Elm", "Fir")
    joined = await both(task_of, *map(kind, wanted))

    target = {"role": "link", "within": {"role": role, "text": "{{link}}"}}
    assert target_of(joined) == target | {"name": "Stop" if role == "row" else "Edit"}
    assert joined.task.parameters["link"].example == wanted[0]


async def test_a_row_s_words_are_whole_ones(task_of: Callable[..., Any]) -> None:
    one = await task_of(*customers(4))
    row = {"role": "row", "text": "Customer 4", "substring": False}

    assert data_of(one)["steps"][0]["target"] == {"role": "link", "name": "Edit", "within": row}
    assert target_of(await both(task_of, customers(4), customers(39))) == {
        "role": "link",
        "name": "Edit",
        "within": {"role": "row", "text": "{{link}}"},
    }


async def test_a_menu_that_is_gone_when_the_button_goes_up_was_pressed(task_of: Callable[..., Any]) -> None:
    joined = await both(task_of, menu("Delete"), menu("Delete"))

    assert target_of(joined) == {"role": "menuitem", "name": "Delete"}

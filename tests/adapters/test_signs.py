"""A word that an icon font draws as one sign is no part of a name or a text beside other words."""

import pytest

from replaywright.domain.page.snapshots import Snapshot
from tests.pages.harness import AgentPage

FONT = (
    "d09GRgABAAAAAANYAAsAAAAABpQAAQAAAAAAAAAAAAAAAAAAAAAAAAAAAABHU1VCAAADCAAAAE8AAABksTe0cE9TLzIAAAF4AAAA"
    "JgAAAGBEdkIEY21hcAAAAbwAAAA1AAAAPACoALlnbHlmAAACMAAAAEMAAALshP/n7mhlYWQAAAEIAAAANgAAADYxWcYuaGhlYQAA"
    "AUAAAAAeAAAAJAcKA3BobXR4AAABoAAAABwAAAB0QW4FqmxvY2EAAAH0AAAAPAAAADwKjwtQbWF4cAAAAWAAAAAYAAAAIAAfAAZu"
    "YW1lAAACdAAAAEwAAABaMRtG0XBvc3QAAALAAAAARwAAAGF25G6GAAEAAAABAAAOmVYMXw889QADA+gAAAAA5y3BSQAAAADnLcFJ"
    "ADIAAAO2ArwAAAADAAIAAAAAAAB4nGNgZGBgVvhvASRfMBgxGDFvYwCKoABZAFY7A4IAAHicY2BkYGCQZWBhANEMDEwMaAAAA+sA"
    "JnicY2BmcmKcwMDKwMJAGDAic+yBAEjFM1QxK+BQr8DAAgCSZAL/AAB4nGOKYDBiIoAZfkEwjE1IPT7M/ILBCAApGBJOeJxjYGBg"
    "YmBgYAZiESDJCKZZGDSANBuQZgTKxjNU/f8P5MczJP7//3/P/wVgVUAAAJqiCVsAAAAAAAANABoAJwA0AEEATgBbAGgAdQCBAI0A"
    "mgCmALMAwADNANoA5wD0AQEBDgEbASgBNQFCAU8BXAFpAXZ4nGNgZDBiYGBSY9rDwMzAYCyoKGjE+IVpz18XBoZhKcNwAiZjLGg0"
    "DSyBV5x0kwbej6MyDAzM25BkmFvAMgC6NYn1AHicLYhBCoAgFAXnmxFFtOwoHURP4EI+grhQvH8azeIx8wDLgzAR1m8nhm3Ugth9"
    "PAfn74aL2yctzUXtOVQ8CaXQcMRhnUygvvXZClx4nH3Dxw2CAAAAwIOwBssYpQioFEWKb8KHD/snMIGXnNB/8fnqJpHK5O4KpcrD"
    "00ut0eq8ffS+BqPJ7OcShNG+LtsBIaQKRwB4nGNgZGBg4GKQY9BhYHRx8wlh4GBgAYow/P/PAJJhzMlMTwSKMUB4QDkWMM0BxCoM"
    "TECdYmBRGQZmsByEzcLAz8DLwArkMYHUAgCjcgYKAA=="
)
"""A font with the small letters, each 0.6 em wide (i, j and l: 0.25 em), and the ligatures `home` and `add`, 1 em."""
STYLE = (
    f"<style>@font-face {{ font-family: Signs; src: url(data:font/woff;base64,{FONT}) }}"
    "i { font: 20px Signs, sans-serif; letter-spacing: 0 }</style>"
)
SMALL = "<button style='transform: scale(0.3)'><i style='font-family: sans-serif'>attach</i> Files</button>"


async def shown(agent: AgentPage, page: str) -> Snapshot:
    await agent.show(STYLE + page)
    await agent.value("document.fonts.load('20px Signs', 'home').then(() => 0)")
    return Snapshot.model_validate(await agent.call("replaywright.snapshot({})"))


@pytest.mark.parametrize(
    ("page", "name"),
    [
        pytest.param("<button><i>home</i> Home</button>", "Home", id="before the word"),
        pytest.param("<button>Add<i>add</i></button>", "Add", id="after the word"),
        pytest.param("<button><span><i> home\n</i></span><b>Go</b> there</button>", "Go there", id="within"),
        pytest.param("<button aria-labelledby=n><i>add</i></button><p id=n><i>add</i>New</p>", "New", id="referenced"),
        pytest.param("<label><i>home</i>Place<input></label>", "Place", id="in a label"),
        pytest.param("<button><i>add</i></button>", "add", id="alone"),
        pytest.param("<button><i>home</i><i>add</i></button>", "homeadd", id="only signs"),
        pytest.param("<button><i>plus</i> Add</button>", "plus Add", id="a word that the font has no sign for"),
        pytest.param("<button><i>till</i> noon</button>", "till noon", id="narrow letters"),
        pytest.param("<button><i style='font-size: 9px'>sum</i> up</button>", "sum up", id="small letters"),
        pytest.param(SMALL, "attach Files", id="a picture of words"),
    ],
)
async def test_a_sign_is_no_part_of_a_name(agent: AgentPage, page: str, name: str) -> None:
    [control] = [element.target for element in (await shown(agent, page)).elements if element.actionable]

    assert control.name == name


async def test_a_sign_is_no_text_around(agent: AgentPage) -> None:
    page = "<ul><li><i>home</i> Street <button>Edit</button></li><li><i>add</i> Road <button>Edit</button></li></ul>"

    first, second = [e.target for e in (await shown(agent, page)).elements if e.target.role == "button"]

    assert (first.row[:1], second.row[:1]) == (("Street",), ("Road",))
    assert not {"home", "add"} & {*first.neighbours, *second.neighbours}


@pytest.mark.parametrize(
    ("page", "name", "found"),
    [
        pytest.param("<button>Details <span>▾</span></button>", "Details", ["Details ▾"], id="after the words"),
        pytest.param("<button>🗑️ Delete</button>", "delete", ["🗑️ Delete"], id="before the words"),
        pytest.param("<button>Save ▾</button><button>Save</button>", "Save", ["Save"], id="another is called so"),
        pytest.param("<button>Age ▲</button><button>Age ▼</button>", "Age ▼", ["Age ▼"], id="the sign is asked for"),
        pytest.param("<button>Age ▲</button><button>Age ▼</button>", "Age", ["Age ▲", "Age ▼"], id="two, by signs"),
        pytest.param("<button>A +</button><button>A++</button>", "A", [], id="a plus says something"),
        pytest.param("<button>✖</button>", "✖", ["✖"], id="nothing but a sign"),
    ],
)
async def test_a_task_names_an_element_without_the_signs_beside_its_words(
    agent: AgentPage, page: str, name: str, found: list[str]
) -> None:
    await agent.show(page)

    await agent.begin(need="none", probes=[{"query": {"role": "button", "name": name}}])

    [told] = (await agent.message("observed"))["probes"]
    assert (told["count"], [element["name"] for element in told["elements"]]) == (len(found), found)

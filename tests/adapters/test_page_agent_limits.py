"""A snapshot ends within its limits on every page, keeps what matters most, and says what it left out."""

from replaywright.domain.page.snapshots import Snapshot
from tests.pages.harness import AgentPage

NO_HURRY = "maxMs: 60000"
"""For what is not about time: the machine that runs the tests may be slow."""
DIALOG = (
    "<div role=dialog aria-label='Save first?' style='position:fixed;top:100px;left:100px;width:300px;height:200px;"
    "background:#fff'><button>Save now</button></div>"
)


PATCHES = """(() => {
  const fail = () => { throw new Error("no") };
  const put = Object.defineProperty, getters = [
    Element.prototype, "shadowRoot", Node.prototype, "childNodes", Node.prototype, "parentNode",
    HTMLInputElement.prototype, "value", Element.prototype, "localName"];
  const methods = [
    Element.prototype, "getAttribute", Element.prototype, "getBoundingClientRect", Element.prototype, "checkVisibility",
    Element.prototype, "matches", Document.prototype, "querySelectorAll", Document.prototype, "createRange",
    Map.prototype, "get", Map.prototype, "set", Array.prototype, "push", Array.prototype, "filter",
    Array.prototype, "map", Array.prototype, Symbol.iterator, String.prototype, "trim",
    String.prototype, "replace", performance, "now",
    Function.prototype, "apply", Function.prototype, "call", window, "getComputedStyle"];
  for (let i = 0; i < getters.length; i += 2) put(getters[i], getters[i + 1], { get: fail, configurable: true });
  for (let i = 0; i < methods.length; i += 2) put(methods[i], methods[i + 1], { value: fail, configurable: true });
  return "patched";
})()"""
"""What a hostile page does to the prototypes of its world."""


async def snapshot(agent: AgentPage, limits: str = NO_HURRY) -> Snapshot:
    return Snapshot.model_validate(await agent.call(f"replaywright.snapshot({{{limits}}})"))


def names(taken: Snapshot) -> list[str]:
    return [element.target.name for element in taken.elements if element.actionable]


async def test_a_hundred_thousand_nodes_end_at_the_node_limit_with_a_note(agent: AgentPage) -> None:
    await agent.show("<main>" + "<div><button>Go</button></div>" * 50_000 + "</main>")

    taken = await snapshot(agent)

    assert 0 < len(taken.elements) <= 5000
    assert 60_000 <= taken.node_count <= 67_000
    assert any("stopped after 60000 nodes" in note for note in taken.notes)
    assert any("elements left out: more than 5000" in note for note in taken.notes)


async def test_a_page_that_takes_too_long_ends_at_the_time_limit_with_a_note(agent: AgentPage) -> None:
    await agent.show("<main>" + "<div><button>Go</button></div>" * 20_000 + "</main>")

    taken = await snapshot(agent, "maxMs: 5")

    assert taken.node_count < 20_000
    assert any("the page took too long" in note for note in taken.notes)


async def test_a_dialog_at_the_end_of_a_page_that_is_too_large_is_in_it(agent: AgentPage) -> None:
    await agent.show("<main>" + "<p>Words and words <a href=/x>more</a></p>" * 2000 + f"</main>{DIALOG}")

    taken = await snapshot(agent, f"{NO_HURRY}, maxNodes: 500, maxElements: 200")

    assert "Save now" in names(taken)
    assert any("stopped after 500 nodes" in note for note in taken.notes)


async def test_what_can_be_acted_on_and_is_on_the_screen_is_kept_before_anything_else(agent: AgentPage) -> None:
    rows = "".join(f"<p>Words {n}</p><button>Later {n}</button>" for n in range(300))
    await agent.show(f"<button>At the top</button>{rows}{DIALOG}")

    taken = await snapshot(agent, f"{NO_HURRY}, maxElements: 30")

    assert len(taken.elements) == 30
    assert {"At the top", "Save now"} <= set(names(taken))


async def test_five_thousand_levels_end_with_a_note_and_what_is_on_the_screen(agent: AgentPage) -> None:
    await agent.show("<main><button>Go</button></main>")
    # As many blocks would make Chromium itself end the page; lines are laid out without recursion.
    await agent.value(
        "{ let at = document.body; for (let i = 0; i < 5000; i++) { const d = document.createElement('span');"
        " at.append(d); at = d } at.innerHTML = 'deep <button>At the bottom</button>' }"
    )

    taken = await snapshot(agent)
    await agent.begin(need="none", probes=[{"text": "Go", "within": None}])

    assert names(taken) == ["Go", "At the bottom"]
    assert any("nested deeper than 400" in note for note in taken.notes)
    assert (await agent.message("observed"))["probes"][0]["count"] == 1


async def test_a_name_five_thousand_levels_deep_does_not_exhaust_the_stack(agent: AgentPage) -> None:
    await agent.show("<a href=/x id=a>Near </a><button>Go</button>")
    await agent.value(
        "{ let at = document.getElementById('a'); for (let i = 0; i < 5000; i++)"
        " { const d = document.createElement('span'); at.append(d); at = d } at.textContent = 'deep' }"
    )

    taken = await snapshot(agent)

    assert names(taken) == ["Near", "Go"]


async def test_patched_prototypes_and_throwing_getters_of_the_page_change_nothing(agent: AgentPage) -> None:
    await agent.open("form.html")
    before = names(await snapshot(agent))
    # Not through Playwright, whose own script in the page's world would fail with the rest.
    patched = await agent.cdp.send("Runtime.evaluate", {"expression": PATCHES})

    assert patched["result"]["value"] == "patched"
    assert names(await snapshot(agent)) == before


async def test_a_page_that_never_stops_changing_is_read_as_it_is_at_one_moment(agent: AgentPage) -> None:
    await agent.show("<button>Stays</button><ul id=list></ul>")
    await agent.value(
        "{ let n = 0; const list = document.getElementById('list'); const channel = new MessageChannel();"
        " const change = () => { list.replaceChildren(...[0, 1, 2].map((k) => { const item ="
        " document.createElement('li'); item.innerHTML = `<button>${n} of ${k}</button>`; return item })); n++;"
        " channel.port2.postMessage(0) }; channel.port1.onmessage = change; change() }"
    )

    found = [names(await snapshot(agent)) for _ in range(3)]

    for stays, *others in found:
        assert stays == "Stays"
        assert len(others) == 3
        assert len({name.split()[0] for name in others}) == 1
    assert found[0] != found[2]


async def test_huge_texts_values_and_attributes_are_cut(agent: AgentPage) -> None:
    await agent.show("<p id=p></p><textarea id=t></textarea><button id=b>Go</button><a id=a>Far</a>")
    await agent.value(
        "{ const huge = 'word '.repeat(1000000); document.getElementById('p').textContent = huge;"
        " document.getElementById('t').value = huge; document.getElementById('b').title = huge;"
        " document.getElementById('b').setAttribute('data-testid', huge);"
        " document.getElementById('a').href = 'data:text/plain,' + huge }"
    )

    raw = await agent.call(f"JSON.stringify(replaywright.snapshot({{{NO_HURRY}}}))")

    assert len(raw) < 10_000
    assert {"Go", "Far"} <= set(names(Snapshot.model_validate_json(raw)))


async def test_thousands_of_custom_elements_and_a_long_list_of_options_are_read(agent: AgentPage) -> None:
    await agent.show(
        "<x-box style='display:block;width:50px;height:20px'></x-box>" * 3000
        + "<select aria-label=Place>" + "<option>Somewhere</option>" * 20_000 + "</select><button>Go</button>"
    )  # fmt: skip

    raw = await agent.call(f"replaywright.snapshot({{{NO_HURRY}}})")
    taken = Snapshot.model_validate(raw)

    assert names(taken) == ["Place", "Go"]
    assert len(taken.elements[-2].options) == 30
    assert raw["suspects"] == 40


async def test_of_too_many_frames_those_on_the_screen_are_told(agent: AgentPage) -> None:
    frames = "<iframe style='width:200px;height:50px;display:block'></iframe>"
    await agent.show(f"{frames * 60}<iframe name=pinned style='position:fixed;top:0;right:0'></iframe>")

    raw = await agent.call(f"replaywright.snapshot({{{NO_HURRY}, maxFrames: 20}})")

    assert len(raw["frames"]) == 20
    assert "pinned" in [frame["name"] for frame in raw["frames"]]
    assert any("41 of 61 frames left out" in note for note in raw["notes"])
    shown = {element["id"] for element in raw["elements"] if element["target"]["tag"] == "iframe"}
    assert {frame["elementId"] for frame in raw["frames"]} == shown

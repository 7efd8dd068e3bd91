"""Requests about one item of several: another item's form, link and row, and what no run may send of the wrong one."""

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from replaywright.domain.locating.filling import filled_step
from replaywright.domain.requests.deriving import learned
from replaywright.domain.requests.exchanges import Exchange, Request, SiteResponse
from replaywright.domain.requests.recipes import FoundText, Knowledge, Recipe
from replaywright.domain.requests.replaying import Replaying, Unexpected
from replaywright.domain.requests.sketching import VERIFICATION, ShownRun, Unfit, sketch
from replaywright.domain.requests.slots import WHOLE
from replaywright.domain.task.tasks import parse_task

SITE = "http://shop.test"
STEPS = [
    {"action": "goto", "url": f"{SITE}/items"},
    {"action": "click", "instruction": "the Edit link of {{name}}"},
    {"action": "fill", "instruction": "the city", "value": "{{city}}"},
    {"action": "click", "instruction": "save", "effect": "commit", "expect": [{"text_contains": "{{city}}"}]},
]
TASK = parse_task(
    {
        "task": "edit",
        "url": f"{SITE}/items",
        "parameters": {"name": {}, "city": {}},
        "steps": STEPS,
        "verify": [{"not_exists": {"role": "link", "name": "Undo {{name}}"}}],
    },
    "test",
)


class Site:
    """Items with an address each, in a list with a link to the form of each."""

    def __init__(self, items: Mapping[str, tuple[str, str]], *, active: str = "") -> None:
        """Begin with numbers and cities by name; the box of `active` is ticked."""
        self.items, self.active = dict(items), active
        self.sent: list[tuple[str, dict[str, str]]] = []

    def answer(self, request: Request) -> SiteResponse:
        path = urlsplit(request.url).path
        name = next((name for name, (number, _) in self.items.items() if path == f"/items/{number}/edit"), "")
        if request.method == "POST":
            fields = dict(parse_qsl(request.body, keep_blank_values=True))
            self.sent.append((name, fields))
            self.items[name] = (self.items[name][0], fields["city"])
            return self._page("/items", self._list(undo=""))
        if name:
            ticked = "checked" if name == self.active else ""
            return self._page(
                path,
                f'<form method=post><input type=hidden name=token value="token-of-{name}"><input name=city '
                f'value="{self.items[name][1]}"><input type=checkbox name=active {ticked}><button>Save</button></form>',
            )
        return self._page("/items", self._list(undo="Undo"))

    def _list(self, *, undo: str) -> str:
        rows = (
            f"<tr><td>{name}</td><td>{city}</td><td><a href=/items/{number}/edit>Edit</a>"
            f"{f'<a href=/undo/{number}>Undo {name}</a>' if undo else ''}</td></tr>"
            for name, (number, city) in self.items.items()
        )
        return f"<table>{''.join(rows)}</table>"

    @staticmethod
    def _page(path: str, body: str) -> SiteResponse:
        return SiteResponse(200, SITE + path, {"content-type": "text/html"}, f"<html><body>{body}</body></html>")


class Twice(Site):
    """A list that has each item twice, under two addresses."""

    def _list(self, *, undo: str) -> str:
        listed = super()._list(undo=undo)
        return f"{listed}{listed.replace('/items/', '/items/1')}"


def shown(site: Site, name: str, city: str) -> ShownRun:
    """A run through the page."""
    values = {"name": name, "city": city}
    edit = f"{SITE}/items/{site.items[name][0]}/edit"
    headers = {"content-type": "application/x-www-form-urlencoded"}
    body = {"token": f"token-of-{name}", "city": city} | ({"active": "on"} if site.active == name else {})
    requests = (
        (0, Request("GET", f"{SITE}/items")),
        (1, Request("GET", edit)),
        (3, Request("POST", edit, headers, urlencode(body))),
    )
    return ShownRun(
        run_id=f"run-{name}-{city}",
        plan=tuple(filled_step(step, values) for step in TASK.steps),
        written=TASK.steps,
        values=values,
        exchanges=tuple(
            Exchange(step, "document", request, site.answer(request), is_main=True) for step, request in requests
        ),
        verify=parse_task(
            json.loads(json.dumps(TASK.model_dump(mode="json", exclude_none=True)).replace("{{name}}", name)), "test"
        ).verify,
        commits=(3,),
        day=dt.date(2026, 11, 28),
    )


def recipe_of(*runs: ShownRun) -> Recipe:
    known = Knowledge()
    for run in runs:
        known = learned(Knowledge.model_validate_json(known.model_dump_json()), sketch(run), run.commits)
    assert known.recipe is not None, known.why_not
    return known.recipe


def replay(recipe: Recipe, site: Site, **values: str) -> Replaying:
    replaying = Replaying(recipe, values, str, lambda _url, _name: None)
    for call in recipe.calls:
        replaying.take(call, site.answer(replaying.request(call)))
    return replaying


def items(**cities: str) -> dict[str, tuple[str, str]]:
    return {name: (str(number), city) for number, (name, city) in enumerate(cities.items(), 7)}


TWO = (
    shown(Site(items(Ada="Bern", Bob="Graz", Eve="Lyon")), "Ada", "Oslo"),
    shown(Site(items(Ada="Oslo", Bob="Graz", Eve="Lyon")), "Eve", "Riga"),
)


def test_the_link_in_the_row_of_a_value_says_which_item_is_meant() -> None:
    recipe, site = recipe_of(*TWO), Site(items(Zoe="Pisa", Bob="Graz", Ada="Oslo"))
    replay(recipe, site, name="Bob", city="Porto")
    assert site.sent == [("Bob", {"token": "token-of-Bob", "city": "Porto"})]


def test_a_row_that_two_items_have_is_for_the_page() -> None:
    site = Twice(items(Ada="Oslo", Bob="Graz"))
    with pytest.raises(Unexpected, match="row_link is not there any more, or there are several"):
        replay(recipe_of(*TWO), site, name="Bob", city="Porto")
    assert site.sent == []


def test_items_may_have_words_for_numbers() -> None:
    words = ({"Ada": ("MQ==", "Bern"), "Eve": ("Nw==", "Lyon")}, {"Bob": ("OA==", "Graz"), "Ada": ("MQ==", "Bern")})
    recipe = recipe_of(shown(Site(words[0]), "Ada", "Oslo"), shown(Site(words[0]), "Eve", "Riga"))
    site = Site(words[1])
    replay(recipe, site, name="Bob", city="Porto")
    assert site.sent == [("Bob", {"token": "token-of-Bob", "city": "Porto"})]


def test_another_column_that_says_the_same_is_not_the_item() -> None:
    site = Site(items(Ada="Bob", Eve="Riga"))
    with pytest.raises(Unexpected, match="row_link is not there any more, or there are several"):
        replay(recipe_of(*TWO), site, name="Bob", city="Porto")
    assert site.sent == []


def test_the_same_number_in_each_run_is_no_address_where_a_link_was_followed() -> None:
    one = shown(Site(items(Ada="Bern")), "Ada", "Oslo")
    two = shown(Site(items(Ada="Oslo")), "Ada", "Riga")
    recipe = recipe_of(one, two)
    assert all(isinstance(slot.sources[0], FoundText) for slot in recipe.calls[1].slots if slot.address == WHOLE)
    site = Site(items(Bob="Graz", Ada="Riga"))
    replay(recipe, site, name="Ada", city="Pisa")
    assert [name for name, _ in site.sent] == ["Ada"]


def test_a_field_that_held_the_value_already_in_both_runs_is_not_what_is_sent() -> None:
    one = shown(Site(items(Ada="Oslo", Eve="Lyon")), "Ada", "Oslo")
    two = shown(Site(items(Ada="Oslo", Eve="Riga")), "Eve", "Riga")
    site = Site(items(Ada="Oslo", Eve="Riga"))
    recipe = recipe_of(one, two)
    with pytest.raises(Unexpected, match="the page and the parameters do not say the same of its form city"):
        replay(recipe, site, name="Eve", city="Porto")
    assert site.sent == []
    replay(recipe_of(one, two, shown(site, "Eve", "Pisa")), site, name="Ada", city="Porto")
    assert site.sent[-1] == ("Ada", {"token": "token-of-Ada", "city": "Porto"})


def test_a_box_that_was_never_ticked_is_not_taken_away() -> None:
    site = Site(items(Ada="Oslo", Bob="Graz", Eve="Riga"), active="Bob")
    with pytest.raises(Unexpected, match="the page would send active as well"):
        replay(recipe_of(*TWO), site, name="Bob", city="Porto")
    assert site.sent == []


def test_a_box_that_is_ticked_no_more_is_not_sent_as_ticked() -> None:
    one = shown(Site(items(Ada="Bern", Eve="Lyon"), active="Ada"), "Ada", "Oslo")
    two = shown(Site(items(Ada="Bern", Eve="Lyon"), active="Eve"), "Eve", "Riga")
    site = Site(items(Ada="Oslo", Bob="Graz"))
    with pytest.raises(Unexpected, match="form_field is not there any more"):
        replay(recipe_of(one, two), site, name="Bob", city="Porto")
    assert site.sent == []


def test_what_one_answer_showed_and_the_next_for_the_same_page_does_not_is_gone() -> None:
    recipe = recipe_of(*TWO)
    values = {"name": "Bob", "city": "Porto"}
    replaying = replay(recipe, Site(items(Ada="Oslo", Bob="Graz")), **values)
    (gone,) = shown(Site(items(Bob="Graz")), "Bob", "Porto").verify
    assert replaying.unmet(VERIFICATION, (gone,)) is None
    still = parse_task({**TASK.model_dump(mode="json", exclude_none=True), "verify": [
        {"not_exists": {"role": "link", "name": "Edit"}}]}, "test").verify  # fmt: skip
    assert replaying.unmet(VERIFICATION, still) == still[0]


def test_what_never_stood_in_an_answer_is_not_known_to_be_gone() -> None:
    run = dataclasses.replace(TWO[0], verify=(parse_task({**TASK.model_dump(mode="json", exclude_none=True), "verify": [
        {"not_exists": {"role": "link", "name": "Never"}}]}, "test").verify))  # fmt: skip
    with pytest.raises(Unfit, match="the final verification: nothing that the site answered tells"):
        sketch(run)


def entity(number: str, **parts: Any) -> ShownRun:
    """A page of scripts that reads an item as JSON and sends it back with another name."""
    own = parse_task(
        {
            "task": "rename",
            "url": f"{SITE}/app",
            "parameters": {"id": {}, "name": {}},
            "steps": [
                {"action": "goto", "url": f"{SITE}/app"},
                {
                    "action": "click",
                    "instruction": "save",
                    "effect": "commit",
                    "expect": [{"text_contains": "{{name}}"}],
                },
            ],
            "verify": [{"text_contains": "{{name}}"}],
        },
        "test",
    )
    values = {"id": number, "name": f"name of {number}"}
    plan = tuple(filled_step(step, values) for step in own.steps)
    url, typed = f"{SITE}/api/items/{number}", {"content-type": "application/json"}
    old, new = ({"name": name, **parts} for name in ("old", values["name"]))
    answers = [SiteResponse(200, url, typed, json.dumps(each)) for each in (old, new)]
    page = SiteResponse(200, f"{SITE}/app", {"content-type": "text/html"}, "<p>App</p>")
    return ShownRun(
        run_id=number,
        plan=plan,
        written=own.steps,
        values=values,
        exchanges=(
            Exchange(0, "document", Request("GET", f"{SITE}/app"), page, is_main=True),
            Exchange(0, "fetch", Request("GET", url), answers[0]),
            Exchange(1, "fetch", Request("PUT", url, typed, json.dumps(new)), answers[1]),
        ),
        verify=plan[1].expect,
        commits=(1,),
        day=dt.date(2026, 11, 28),
    )


def test_json_that_an_item_has_is_sent_back_as_this_item_has_it() -> None:
    recipe = recipe_of(entity("item-a", active=True, rank=3), entity("item-b", active=True, rank=3))
    other = entity("item-c", active=False, rank=8)
    replaying = Replaying(recipe, other.values, str, lambda _url, _name: None)
    sent = []
    for call, exchange in zip(recipe.calls, other.exchanges, strict=True):
        sent.append(replaying.request(call))
        assert exchange.response is not None
        replaying.take(call, exchange.response)
    assert json.loads(sent[-1].body) == {"name": "name of item-c", "active": False, "rank": 8}


@pytest.mark.parametrize("parts", [{"parent": 5, "tags": []}, {"parent": None, "tags": ["a"]}])
def test_what_an_item_has_and_those_that_were_seen_had_not_is_not_sent_as_empty(parts: Mapping[str, Any]) -> None:
    recipe = recipe_of(*(entity(one, rank=3, parent=None, tags=[]) for one in ("item-a", "item-b")))
    for other, is_like in (
        (entity("item-c", rank=8, parent=None, tags=[]), True),
        (entity("item-d", rank=1, **parts), False),
    ):
        replaying = Replaying(recipe, other.values, str, lambda _url, _name: None)
        for call, exchange in zip(recipe.calls[:2], other.exchanges[:2], strict=True):
            replaying.request(call)
            assert exchange.response is not None
            replaying.take(call, exchange.response)
        if is_like:
            assert json.loads(replaying.request(recipe.calls[2]).body)["tags"] == []
        else:
            with pytest.raises(Unexpected, match=r"the page would send (parent|tags) as well"):
                replaying.request(recipe.calls[2])


def listed(name: str, items: Mapping[str, int], *, ranks: Mapping[str, int] | None = None) -> ShownRun:
    """A page of scripts that shows a list of JSON and deletes the item of a name by its number."""
    own = parse_task(
        {
            "task": "delete",
            "url": f"{SITE}/app",
            "parameters": {"name": {}},
            "steps": [
                {"action": "goto", "url": f"{SITE}/app"},
                {"action": "click", "instruction": "delete {{name}}", "effect": "commit"},
            ],
            "verify": [{"not_exists": {"role": "heading", "text": name}}],
        },
        "test",
    )
    values = {"name": name}
    typed = {"content-type": "application/json"}
    of = [{"item_id": number, "item_name": each, "rank": (ranks or {}).get(each, 0)} for each, number in items.items()]
    answers = [json.dumps({"items": each}) for each in (of, [one for one in of if one["item_name"] != name])]
    page = SiteResponse(200, f"{SITE}/app", {"content-type": "text/html"}, "<p>App</p>")
    asked = Request("GET", f"{SITE}/api/items")
    gone = Request("DELETE", f"{SITE}/api/items/{items[name]}")
    return ShownRun(
        run_id=name,
        plan=tuple(filled_step(step, values) for step in own.steps),
        written=own.steps,
        values=values,
        exchanges=(
            Exchange(0, "document", Request("GET", f"{SITE}/app"), page, is_main=True),
            Exchange(0, "fetch", asked, SiteResponse(200, asked.url, typed, answers[0])),
            Exchange(1, "fetch", gone, SiteResponse(200, gone.url, typed, "{}")),
            Exchange(1, "fetch", asked, SiteResponse(200, asked.url, typed, answers[1])),
        ),
        verify=own.verify,
        commits=(1,),
        day=dt.date(2026, 11, 28),
    )


def sent_for(recipe: Recipe, other: ShownRun) -> list[str]:
    """Return the addresses that a replay asks for, answered as in another run."""
    replaying = Replaying(recipe, other.values, str, lambda _url, _name: None)
    sent = []
    for call, exchange in zip(recipe.calls, other.exchanges, strict=True):
        sent.append(replaying.request(call).url.removeprefix(SITE))
        assert exchange.response is not None
        replaying.take(call, exchange.response)
    assert replaying.unmet(VERIFICATION, other.verify) is None
    return sent


def test_an_item_of_a_list_of_json_is_told_by_its_name() -> None:
    recipe = recipe_of(
        listed("bread", {"bread": 1, "cake": 2, "soup": 3}), listed("soup", {"bread": 1, "cake": 2, "soup": 3})
    )
    assert sent_for(recipe, listed("tart", {"cake": 2, "tart": 17}))[2] == "/api/items/17"


def test_two_numbers_of_an_item_that_were_the_same_by_chance_have_to_agree() -> None:
    items = {"bread": 1, "cake": 2, "soup": 3}
    recipe = recipe_of(listed("bread", items, ranks=items), listed("soup", items, ranks=items))
    with pytest.raises(Unexpected, match="do not say the same of its path"):
        sent_for(recipe, listed("cake", items, ranks={"cake": 9}))


def test_a_list_that_is_empty_now_is_read_by_the_page() -> None:
    own = parse_task(
        {
            "task": "read",
            "url": f"{SITE}/list",
            "parameters": {"day": {}},
            "steps": [
                {"action": "goto", "url": f"{SITE}/list/{{{{day}}}}"},
                {"action": "extract", "fields": {"names": {"take": "texts", "find": {"css": "ul.names li"}}}},
            ],
        },
        "test",
    )

    def answered(day: str, names: Sequence[str]) -> Exchange:
        url = f"{SITE}/list/{day}"
        body = f'<ul class="names">{"".join(f"<li>{name}</li>" for name in names)}</ul>'
        response = SiteResponse(200, url, {"content-type": "text/html"}, f"<html><body>{body}</body></html>")
        return Exchange(0, "document", Request("GET", url), response, is_main=True)

    def run(day: str, *names: str) -> ShownRun:
        values = {"day": day}
        return ShownRun(
            run_id=day,
            plan=tuple(filled_step(step, values) for step in own.steps),
            written=own.steps,
            values=values,
            exchanges=(answered(day, names),),
            extracted={"names": list(names)},
            day=dt.date(2026, 11, 28),
        )

    recipe = recipe_of(run("monday", "Ada", "Bob"), run("tuesday", "Eve"))
    for names in (["Zoe", "Max"], []):
        replaying = Replaying(recipe, {"day": "friday"}, str, lambda _url, _name: None)
        replaying.request(recipe.calls[0])
        response = answered("friday", names).response
        assert response is not None
        replaying.take(recipe.calls[0], response)
        if names:
            assert replaying.extracted(1) == {"names": names}
        else:
            with pytest.raises(Unexpected, match="names does not stand where it stood"):
                replaying.extracted(1)

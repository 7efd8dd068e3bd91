"""Requests behind steps: what several runs show of them, the recipe on which they agree, and its replay."""

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from replaywright.domain.requests.deriving import learned
from replaywright.domain.requests.exchanges import Exchange, Request, SiteResponse
from replaywright.domain.requests.recipes import CookieText, FoundText, GivenText, Knowledge, Recipe
from replaywright.domain.requests.replaying import Replaying, Unexpected, unfit_values
from replaywright.domain.requests.sketching import VERIFICATION, ShownRun, Unfit, sketch
from replaywright.domain.requests.slots import WHOLE
from replaywright.domain.task.tasks import Task, parse_task

SITE = "http://shop.test"
DAY = dt.date(2026, 11, 28)


def task(**more: Any) -> Task:
    steps = [
        {"action": "goto", "url": f"{SITE}/new"},
        {"action": "fill", "instruction": "the subject", "value": "{{subject}}"},
        {"action": "select_option", "instruction": "the priority", "value": "{{priority}}"},
        {
            "action": "click",
            "instruction": "send",
            "effect": "commit",
            "expect": [{"text_contains": "Sent to {{subject}}"}],
        },
    ]
    data = {
        "task": "send",
        "url": f"{SITE}/new",
        "parameters": {"subject": {}, "priority": {"default": "Normal"}},
        "steps": steps,
        "verify": [{"url_contains": "/sent"}],
    }
    return parse_task({**data, **more}, "test")


class Site:
    """A form with a token for each page, a field of its own, and a list of priorities by number."""

    def __init__(self, token: str, *, action: str = "/send", note: str = "Sent to", number: str = "7") -> None:
        self.token, self.action, self.note, self.number = token, action, note, number
        self.sent: list[dict[str, str]] = []

    def answer(self, request: Request) -> SiteResponse:
        path = request.url.removeprefix(SITE).partition("?")[0]
        if request.method == "GET" and path == "/new":
            return self._page(
                f'<form method="post" action="{self.action}"><input type="hidden" name="csrf" value="{self.token}">'
                f'<input type="hidden" name="folder" value="{self.number}"><input name="subject">'
                '<select name="priority"><option value="1">Low</option><option value="2" selected>Normal</option>'
                '<option value="3">High</option></select><button>Send</button></form>',
                path,
            )
        fields = dict(parse_qsl(request.body, keep_blank_values=True))
        if path == self.action and fields.get("csrf") == self.token:
            self.sent.append(fields)
            return self._page(f"<p>{self.note} {fields['subject']}</p>", "/sent")
        return SiteResponse(403, SITE + path, {"content-type": "text/html"}, "<p>no</p>")

    def _page(self, body: str, path: str) -> SiteResponse:
        return SiteResponse(
            200, SITE + path, {"content-type": "text/html; charset=utf-8"}, f"<html><body>{body}</body></html>"
        )


def shown(site: Site, subject: str, priority: str = "Normal", **more: Any) -> ShownRun:
    """A run through the page."""
    own = task()
    values = {"subject": subject, "priority": priority}
    number = {"Low": "1", "Normal": "2", "High": "3"}[priority]
    first = Request("GET", f"{SITE}/new", {"user-agent": "a browser"})
    fields = {"csrf": site.token, "folder": site.number, "subject": subject, "priority": number}
    headers = {"content-type": "application/x-www-form-urlencoded", "origin": SITE, "referer": f"{SITE}/new"}
    second = Request("POST", f"{SITE}{site.action}", headers, urlencode(fields))
    return ShownRun(
        **{
            "run_id": f"run-{subject}",
            "plan": filled(own, values),
            "written": own.steps,
            "values": values,
            "exchanges": (
                Exchange(0, "document", first, site.answer(first), is_main=True),
                Exchange(3, "document", second, site.answer(second), is_main=True),
            ),
            "verify": own.verify,
            "commits": (3,),
            "day": DAY,
            **more,
        }
    )


def filled(own: Task, values: Mapping[str, str]) -> tuple[Any, ...]:
    from replaywright.domain.locating.filling import filled_step

    return tuple(filled_step(step, values) for step in own.steps)


def known_of(*runs: ShownRun) -> Knowledge:
    known = Knowledge()
    for run in runs:
        known = Knowledge.model_validate_json(known.model_dump_json())
        known = learned(known, sketch(run), run.commits)
    return known


def recipe_of(*runs: ShownRun) -> Recipe:
    known = known_of(*runs)
    assert known.recipe is not None, known.why_not
    return known.recipe


def sources(recipe: Recipe, call: int) -> dict[tuple[str, ...], Any]:
    return {slot.address: slot.sources[0] for slot in recipe.calls[call].slots}


def replay(recipe: Recipe, site: Site, **values: str) -> Replaying:
    replaying = Replaying(recipe, values, lambda name: name, lambda _url, _name: None)
    for call in recipe.calls:
        replaying.take(call, site.answer(replaying.request(call)))
    return replaying


TWO = (shown(Site("aaa1"), "Monday"), shown(Site("bbb2"), "Tuesday", "High"))


def test_one_run_is_not_enough() -> None:
    known = known_of(TWO[0])
    assert known.recipe is None
    assert "two have to agree" in known.why_not


def test_the_parts_of_a_form_come_from_parameters_and_from_the_page_before() -> None:
    recipe = recipe_of(*TWO)
    found = sources(recipe, recipe.commit)
    assert isinstance(found[("form", "csrf", "0")], FoundText)
    assert isinstance(found[("form", "folder", "0")], FoundText)
    assert found[("form", "subject", "0")] == GivenText(template="{{subject}}")
    option = found[("form", "priority", "0")]
    assert isinstance(option, FoundText)
    assert (option.place.kind, getattr(option.place, "label", "")) == ("option", "{{priority}}")
    assert isinstance(found[WHOLE], FoundText)
    assert found[WHOLE].place.kind == "form_target"


def test_a_replay_sends_what_the_page_would_with_other_values_and_another_token() -> None:
    site = Site("ccc3", number="12")
    replaying = replay(recipe_of(*TWO), site, subject="Über & co\nzwei", priority="Low")
    assert site.sent == [{"csrf": "ccc3", "folder": "12", "subject": "Über & co\r\nzwei", "priority": "1"}]
    plan = filled(task(), {"subject": "Über & co zwei", "priority": "Low"})
    assert replaying.unmet(3, plan[3].expect) is None
    assert replaying.unmet(VERIFICATION, task().verify) is None


def test_a_parameter_that_was_always_the_same_binds_the_recipe_to_its_value() -> None:
    recipe = recipe_of(shown(Site("aaa1"), "Monday"), shown(Site("bbb2"), "Tuesday"))
    assert unfit_values(recipe, {"subject": "x", "priority": "Normal"}) == ""
    assert unfit_values(recipe, {"subject": "x", "priority": "High"}) == "priority"


def test_a_third_run_frees_it() -> None:
    recipe = recipe_of(shown(Site("a1b2"), "Monday"), shown(Site("b2c3"), "Tuesday"), shown(Site("c3d4"), "W", "High"))
    assert unfit_values(recipe, {"subject": "x", "priority": "Low"}) == ""


@pytest.mark.parametrize(
    ("site", "why"),
    [
        (Site("ccc3", action="/other"), "not there any more"),
        (Site("ccc3", note="Queued for"), ""),
    ],
)
def test_a_page_that_has_changed_is_noticed(site: Site, why: str) -> None:
    recipe = recipe_of(*TWO)
    values = {"subject": "x", "priority": "Low"}
    if why:
        with pytest.raises(Unexpected, match=why):
            replay(recipe, site, **values)
        assert site.sent == []
        return
    replaying = replay(recipe, site, **values)
    assert replaying.unmet(3, filled(task(), values)[3].expect) is not None


def test_an_answer_of_another_status_is_not_taken() -> None:
    recipe, site = recipe_of(*TWO), Site("ccc3")
    replaying = Replaying(recipe, {"subject": "x", "priority": "Low"}, str, lambda _u, _n: None)
    first = recipe.calls[0]
    replaying.take(first, site.answer(replaying.request(first)))
    with pytest.raises(Unexpected, match="the answer is 500, it was 200"):
        replaying.take(recipe.calls[1], SiteResponse(500, f"{SITE}/sent", {"content-type": "text/html"}, ""))
    page = SiteResponse(200, f"{SITE}/login", {"content-type": "text/html"}, "<p>sign in</p>")
    with pytest.raises(Unexpected, match=r"it led to .*/login"):
        replaying.take(recipe.calls[1], page)


def changed(run: ShownRun, at: int, **parts: Any) -> ShownRun:
    exchanges = list(run.exchanges)
    exchanges[at] = dataclasses.replace(exchanges[at], **parts)
    return dataclasses.replace(run, exchanges=tuple(exchanges))


def with_body(run: ShownRun, **fields: str) -> ShownRun:
    request = run.exchanges[1].request
    body = urlencode({**dict(parse_qsl(request.body)), **fields})
    return changed(run, 1, request=dataclasses.replace(request, body=body))


def test_what_a_script_makes_is_refused_with_its_name() -> None:
    known = known_of(with_body(TWO[0], nonce="8123"), with_body(TWO[1], nonce="9345"))
    assert known.recipe is None
    assert "form nonce" in known.why_not
    assert "a script makes it" in known.why_not


def test_the_date_of_the_day_is_no_constant() -> None:
    known = known_of(with_body(TWO[0], on="28.11.2026"), with_body(TWO[1], on="28.11.2026"))
    assert known.recipe is None
    assert "form on" in known.why_not


def test_a_parameter_that_reaches_no_request_is_refused() -> None:
    known = known_of(with_body(TWO[0], subject="same"), with_body(TWO[1], subject="same"))
    assert known.recipe is None
    assert "{{subject}}" in known.why_not


def test_an_expectation_that_no_answer_shows_is_refused() -> None:
    silent = shown(Site("aaa1", note="Queued for"), "Monday")
    with pytest.raises(Unfit, match="step 4: nothing that the site answered tells of expectation 1"):
        sketch(silent)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (dataclasses.replace(TWO[0], commits=(0, 3)), "steps 1 and 4 both have consequences"),
        (dataclasses.replace(TWO[0], exchanges=TWO[0].exchanges[:1]), "sends 0 requests"),
        (dataclasses.replace(TWO[0], exchanges=(*TWO[0].exchanges, TWO[0].exchanges[1])), "sends 2 requests"),
        (changed(TWO[0], 1, fault="it sends a file"), "POST http://shop.test/send: it sends a file"),
        (changed(TWO[0], 1, kind="ping"), "beacon"),
        (changed(TWO[0], 1, response=None), "no answer"),
        (changed(TWO[0], 0, kind="websocket"), "WebSocket"),
    ],
)
def test_what_cannot_be_replayed_says_why(run: ShownRun, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        sketch(run)


def test_a_run_that_contradicts_the_others_begins_anew() -> None:
    other = shown(Site("ccc3", action="/api/v2/send"), "Wednesday", "Low")
    known = known_of(*TWO, other)
    assert known.recipe is None
    known = learned(known, sketch(shown(Site("d4d4", action="/api/v2/send"), "Friday")), (3,))
    assert known.recipe is not None


def api(token: str, subject: str, cookie: str) -> ShownRun:
    """A page of scripts: a token of a header by a cookie, JSON both ways."""
    own = task(verify=[{"text_contains": "{{subject}}"}])
    values = {"subject": subject, "priority": "Normal"}
    page = SiteResponse(
        200, f"{SITE}/new", {"content-type": "text/html"}, f'<meta name="token" content="{token}"><p>App</p>'
    )
    answer = {"id": 5, "note": f"Sent to {subject}"}
    request = Request(
        "POST",
        f"{SITE}/api/mails",
        {"content-type": "application/json", "x-token": token, "x-xsrf": cookie, "origin": SITE},
        json.dumps({"subject": subject, "copies": 1, "flags": [], "draft": False}),
    )
    response = SiteResponse(201, f"{SITE}/api/mails", {"content-type": "application/json"}, json.dumps(answer))
    return ShownRun(
        run_id=subject,
        plan=filled(own, values),
        written=own.steps,
        values=values,
        exchanges=(
            Exchange(0, "document", Request("GET", f"{SITE}/new"), page, is_main=True),
            Exchange(3, "fetch", request, response, cookies={"xsrf": cookie}),
        ),
        verify=filled(own, values)[3].expect,
        commits=(3,),
        day=DAY,
    )


def test_json_and_tokens_of_headers() -> None:
    recipe = recipe_of(api("tok-11", "Monday", "c-1"), api("tok-22", "Tuesday", "c-2"))
    found = sources(recipe, recipe.commit)
    assert found[("header", "x-xsrf")] == CookieText(name="xsrf")
    assert isinstance(found[("header", "x-token")], FoundText)
    replaying = Replaying(recipe, {"subject": '"x"'}, str, lambda _url, name: f"value of {name}")
    page = SiteResponse(200, f"{SITE}/new", {"content-type": "text/html"}, '<meta name="token" content="tok-33">')
    replaying.take(recipe.calls[0], page)
    request = replaying.request(recipe.calls[1])
    assert json.loads(request.body) == {"subject": '"x"', "copies": 1, "flags": [], "draft": False}
    assert request.headers["x-token"] == "tok-33"
    assert request.headers["x-xsrf"] == "value of xsrf"
    with pytest.raises(Unexpected, match="has no"):
        replaying.take(
            recipe.calls[1], SiteResponse(201, f"{SITE}/api/mails", {"content-type": "application/json"}, "{}")
        )


@pytest.mark.parametrize("verify", [[], [{"text_contains": "Send"}]])
def test_what_the_site_showed_before_is_no_evidence_of_the_step(verify: list[dict[str, str]]) -> None:
    silent = TWO[0].plan[3].model_copy(update={"expect": ()})
    site = Site("aaa1", note="Send:")
    run = shown(site, "Monday", plan=(*TWO[0].plan[:3], silent), verify=task(verify=verify).verify)
    with pytest.raises(Unfit, match="step 4: nothing that the site answered shows that it was done"):
        sketch(run)

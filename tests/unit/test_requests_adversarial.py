"""Requests replayed against chance, odd values and hostile sites: nothing else is sent, kept or believed."""

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from replaywright.domain.locating.filling import filled_step
from replaywright.domain.requests.deriving import learned
from replaywright.domain.requests.exchanges import Exchange, Request, SiteResponse
from replaywright.domain.requests.recipes import Knowledge, Recipe
from replaywright.domain.requests.replaying import Replaying, Unexpected, unfit_values
from replaywright.domain.requests.sketching import ShownRun, Unfit, sketch
from replaywright.domain.requests.slots import put_together, says_the_same, taken_apart
from replaywright.domain.requests.texts import form_of, is_of_time, templates_of
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.task.tasks import Task, parse_task

SITE = "http://shop.test"
DAY = dt.date(2026, 11, 28)
FORM = {"content-type": "application/x-www-form-urlencoded", "origin": SITE, "referer": f"{SITE}/new"}
SENT = [{"text_contains": "Order placed"}]


def task(parameters: Sequence[str], *steps: Mapping[str, Any], **more: Any) -> Task:
    opening = {"action": "goto", "url": f"{SITE}/new"}
    click = {"action": "click", "instruction": "send", "effect": "commit", "expect": SENT}
    data = {"task": "order", "url": f"{SITE}/new", "steps": [opening, *(steps or (click,))]}
    return parse_task({**data, "parameters": {name: {} for name in parameters}, **more}, "test")


def html(body: str, path: str = "/new") -> SiteResponse:
    return SiteResponse(200, SITE + path, {"content-type": "text/html"}, f"<html><body>{body}</body></html>")


def data(value: Any, path: str = "/api/orders", status: int = 200) -> SiteResponse:
    return SiteResponse(status, SITE + path, {"content-type": "application/json"}, json.dumps(value))


def posted(fields: Mapping[str, str] | Sequence[tuple[str, str]]) -> Request:
    return Request("POST", f"{SITE}/send", FORM, urlencode(fields))


def sent_json(value: Any, kind: str = "application/json", **headers: str) -> Request:
    return Request("POST", f"{SITE}/api/orders", {"content-type": kind, **headers}, json.dumps(value))


def shown(
    own: Task,
    values: Mapping[str, str],
    request: Request,
    *,
    page: SiteResponse | None = None,
    answer: SiteResponse | None = None,
    before: Sequence[Exchange] = (),
    **more: Any,
) -> ShownRun:
    """A run of a page and one request with consequences behind its last step."""
    first = Exchange(0, "document", Request("GET", f"{SITE}/new"), page or html("<p>New</p>"), is_main=True)
    is_form = request.content_type == "application/x-www-form-urlencoded"
    answer = answer or (html("<p>Order placed</p>", "/sent") if is_form else data({"note": "Order placed"}))
    last = len(own.steps) - 1
    kind = "document" if is_form else "fetch"
    return ShownRun(
        **{
            "run_id": digest([*values.values(), request.body]),
            "plan": tuple(filled_step(step, values) for step in own.steps),
            "written": own.steps,
            "values": values,
            "exchanges": (first, *before, Exchange(last, kind, request, answer, is_main=is_form)),
            "verify": own.verify,
            "commits": (last,),
            "day": DAY,
            **more,
        }
    )


def known_of(*runs: ShownRun) -> Knowledge:
    known = Knowledge()
    for run in runs:
        known = Knowledge.model_validate_json(learned(known, sketch(run), run.commits).model_dump_json())
    return known


def recipe_of(*runs: ShownRun) -> Recipe:
    known = known_of(*runs)
    assert known.recipe is not None, known.why_not
    return known.recipe


def replayed(recipe: Recipe, values: Mapping[str, str], page: SiteResponse | None = None) -> Request:
    """The request with consequences, after an answer to the one before."""
    replaying = Replaying(recipe, values, lambda name: name, lambda _url, _name: None)
    for call in recipe.calls[: recipe.commit]:
        replaying.request(call)
        replaying.take(call, page or html("<p>New</p>"))
    return replaying.request(recipe.calls[recipe.commit])


def taken(recipe: Recipe, values: Mapping[str, str], answer: SiteResponse) -> Replaying:
    replaying = Replaying(recipe, values, lambda name: name, lambda _url, _name: None)
    for call in recipe.calls[: recipe.commit]:
        replaying.take(call, html("<p>New</p>"))
    replaying.take(recipe.calls[recipe.commit], answer)
    return replaying


# ------------------------------------------------------------------------------------------------ what is kept


def test_tokens_of_a_session_are_not_kept() -> None:
    own = task(["subject"])
    tokens = ("csrf-live-1", "csrf-live-2")
    runs = [
        shown(
            own,
            {"subject": subject},
            posted({"csrf": token, "subject": subject}),
            page=html(
                f'<form method="post" action="/send"><input name="csrf" value="{token}"><input name="subject"></form>'
            ),
        )
        for token, subject in zip(tokens, ("Monday", "Tuesday"), strict=True)
    ]
    known = known_of(*runs)
    assert known.recipe is not None
    assert not any(token in known.model_dump_json() for token in tokens)


@pytest.mark.parametrize(
    "written",
    [
        lambda secret: "Basic " + base64.b64encode(f"bot:{secret}".encode()).decode(),
        lambda secret: secret.encode().hex(),
        lambda secret: f"x={secret.replace('&', '%26')}",
    ],
)
def test_a_secret_is_kept_in_no_writing(written: Callable[[str], str]) -> None:
    own, secret = task(["subject"]), "pa&word-17x"
    runs = [
        shown(
            own, {"subject": s}, sent_json({"subject": s}, **{"x-key": written(secret)}), secrets={"PASSWORD": secret}
        )
        for s in ("Monday", "Tuesday")
    ]
    known = known_of(*runs)
    assert written(secret) not in known.model_dump_json()
    assert known.recipe is None


def test_a_credential_of_a_header_is_never_a_constant() -> None:
    runs = [
        shown(task(["s"]), {"s": s}, sent_json({"s": s}, authorization="Bearer eyJhbGciOi"))
        for s in ("Monday", "Tuesday")
    ]
    known = known_of(*runs)
    assert "header authorization" in known.why_not
    assert "eyJhbGciOi" not in known.model_dump_json()


def test_a_secret_of_which_scripts_make_something_is_refused() -> None:
    fill = {"action": "fill", "instruction": "the password", "value": "{{secret:PASSWORD}}"}
    click = {"action": "click", "instruction": "send", "effect": "commit", "expect": SENT}
    own = task(["s"], fill, click, secrets=["PASSWORD"])
    runs = [
        shown(
            own,
            {"s": s},
            sent_json({"s": s, "hash": "5f4dcc3b5aa765d61d8327deb882cf99"}),
            secrets={"PASSWORD": "password"},
        )
        for s in ("Monday", "Tuesday")
    ]
    assert "no request holds {{secret:PASSWORD}}" in known_of(*runs).why_not


# ------------------------------------------------------------------------------------------------ said to be done


def test_a_status_alone_does_not_say_that_it_was_done() -> None:
    click = {"action": "click", "instruction": "send", "effect": "commit"}
    run = shown(task(["s"], click), {"s": "Monday"}, posted({"s": "Monday"}))
    with pytest.raises(Unfit, match="nothing that the site answered shows that it was done"):
        sketch(run)


def test_an_answer_from_before_the_step_says_nothing_of_it() -> None:
    click = {"action": "click", "instruction": "send", "effect": "commit", "expect": [{"text_contains": "{{s}}"}]}
    own = task(["s"], click, verify=[{"url_contains": "/new"}])
    request, answer = sent_json({"s": "Monday"}), data({"id": 7})
    checked = Exchange(1, "fetch", Request("GET", f"{SITE}/check?s=Monday"), data({"valid": "Monday"}, "/check"))
    with pytest.raises(Unfit, match="tells of expectation 1"):
        sketch(shown(own, {"s": "Monday"}, request, answer=answer, before=[checked]))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"ok": False, "status": "queued", "note": "Order placed"}, "something else in ok"),
        ({"ok": True, "status": "rejected", "note": "Order placed"}, "something else in status"),
        (
            {"ok": True, "status": "queued", "note": "Order placed", "errors": [{"code": 7}]},
            "reports something in errors",
        ),
        (
            {"ok": True, "status": "queued", "note": "Order placed", "lastError": "no credit"},
            "reports something in lastError",
        ),
        ({"ok": True, "status": "queued"}, "has no note"),
    ],
)
def test_an_answer_that_says_no_is_not_taken(answer: Mapping[str, Any], why: str) -> None:
    good = {"ok": True, "status": "queued", "note": "Order placed", "lastError": None}
    runs = [shown(task(["s"]), {"s": s}, sent_json({"s": s}), answer=data(good)) for s in ("Monday", "Tuesday")]
    recipe = recipe_of(*runs)
    taken(recipe, {"s": "Friday"}, data(good))
    with pytest.raises(Unexpected, match=why):
        taken(recipe, {"s": "Friday"}, data(answer))


def test_what_differed_from_run_to_run_is_no_verdict() -> None:
    answers = [
        {"note": "Order placed", "night": False, "day": "Mon"},
        {"note": "Order placed", "night": True, "day": "Tue"},
    ]
    runs = [
        shown(task(["s"]), {"s": s}, sent_json({"s": s}), answer=data(answer))
        for s, answer in zip(("Monday", "Tuesday"), answers, strict=True)
    ]
    taken(recipe_of(*runs), {"s": "Friday"}, data({"note": "Order placed", "night": False, "day": "Fri"}))


def test_a_run_that_did_not_do_the_step_with_consequences_shows_nothing() -> None:
    run = shown(task(["s"]), {"s": "Monday"}, posted({"s": "Monday"}))
    with pytest.raises(Unfit, match="step 2 has consequences, and was not done in this run"):
        sketch(ShownRun(**{**vars(run), "commits": (), "exchanges": run.exchanges[:1]}))


# ------------------------------------------------------------------------------------------------ what is sent


def page_with(value: str, *, name: str = "city") -> SiteResponse:
    return html(f'<form method="post" action="/send"><input name="{name}" value="{value}"></form>')


def test_a_field_that_happened_to_hold_the_parameter_already_is_no_source_alone() -> None:
    own = task(["city"])
    runs = [shown(own, {"city": c}, posted({"city": c}), page=page_with(c)) for c in ("Berlin", "Paris")]
    recipe = recipe_of(*runs)
    assert dict(parse_qsl(replayed(recipe, {"city": "Rome"}, page_with("Rome")).body)) == {"city": "Rome"}
    with pytest.raises(Unexpected, match="do not say the same of its form city"):
        replayed(recipe, {"city": "Rome"}, page_with("Paris"))


def test_a_field_that_happened_to_hold_what_a_step_enters_is_no_source_alone() -> None:
    fill = {"action": "fill", "instruction": "the city", "value": "Berlin"}
    click = {"action": "click", "instruction": "send", "effect": "commit", "expect": SENT}
    own = task(["s"], fill, click)
    form = '<form method="post" action="/send"><input name="city" value="{}"><input name="s"></form>'
    runs = [
        shown(own, {"s": s}, posted({"city": "Berlin", "s": s}), page=html(form.format("Berlin")))
        for s in ("Monday", "Tuesday")
    ]
    with pytest.raises(Unexpected, match="do not say the same of its form city"):
        replayed(recipe_of(*runs), {"s": "Friday"}, html(form.format("Paris")))


def test_two_parameters_that_were_always_equal_are_refused() -> None:
    own = task(["one", "two"])
    runs = [shown(own, {"one": v, "two": v}, posted({"a": v, "b": v})) for v in ("Monday", "Tuesday")]
    assert "{{two}}" in known_of(*runs).why_not


def test_two_parameters_that_were_equal_once_are_told_apart() -> None:
    own = task(["one", "two"])
    runs = [shown(own, {"one": a, "two": b}, posted({"a": a, "b": b})) for a, b in (("x", "x"), ("y", "z"))]
    assert replayed(recipe_of(*runs), {"one": "p", "two": "q"}).body == "a=p&b=q"


def test_a_value_that_is_the_name_of_a_parameter_is_not_searched_in_templates() -> None:
    assert list(templates_of("Re: Monday morning", {"subject": "Monday morning", "title": "subject"}, {})) == [
        "Re: {{subject}}"
    ]
    assert list(templates_of("a {{s}} b", {"s": "a {{s}} b", "t": "{{s}}"}, {})) == ["{{s}}"]
    assert list(templates_of("x {{secret:P}} Monday", {"s": "Monday"}, {"P": "x"})) == []


def test_a_value_inside_of_a_longer_text_injects_nothing() -> None:
    own = task(["s"])
    runs = [
        shown(own, {"s": s}, sent_json({"query": f'mutation {{ send(to: "{s}") }}'})) for s in ("Monday 5", "Tuesday 6")
    ]
    recipe = recipe_of(*runs)
    assert json.loads(replayed(recipe, {"s": "Friday 7"}).body)["query"] == 'mutation { send(to: "Friday 7") }'
    for hostile in ('x", amount: "1', "a\\", "<b>", "a&b", "ä"):
        with pytest.raises(Unexpected, match="s has characters"):
            replayed(recipe, {"s": hostile})


@pytest.mark.parametrize("kind", ["text/plain;charset=UTF-8", "application/vnd.api+json"])
def test_json_by_another_name_is_json(kind: str) -> None:
    own = task(["s"])
    runs = [shown(own, {"s": s}, sent_json({"s": s, "n": 1}, kind)) for s in ("Monday", "Tuesday")]
    assert json.loads(replayed(recipe_of(*runs), {"s": 'x","n":"2'}).body) == {"s": 'x","n":"2', "n": 1}


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (("5", "7"), "1000"),
        (("5", "7"), "1.50"),
        (("5", "7"), "007"),
        (("2026-12-01", "2026-12-11"), "12/1/2026"),
        (("Monday", "Tuesday"), " Wednesday "),
        (("Monday", "Tuesday"), ""),
        (("Monday", "Tuesday"), "one\ntwo"),
        (("Monday", "Tuesday"), "12"),
        (("a@b.de", "c@d.de"), "nobody"),
    ],
)
def test_a_value_of_another_form_is_for_the_page_until_it_has_shown_one(known: tuple[str, str], new: str) -> None:
    runs = [shown(task(["s"]), {"s": s}, posted({"s": s})) for s in known]
    assert unfit_values(recipe_of(*runs), {"s": known[0].replace("5", "6")}) == ""
    assert unfit_values(recipe_of(*runs), {"s": new}) == "s"
    third = shown(task(["s"]), {"s": new}, posted({"s": new.replace("\n", "\r\n")}))
    assert unfit_values(recipe_of(*runs, third), {"s": new}) == ""


def test_forms_are_known_longer_than_the_runs_that_showed_them() -> None:
    runs = [shown(task(["s"]), {"s": s}, posted({"s": s})) for s in ("Mo", "1", "Tu", "We", "Th", "Fr")]
    assert unfit_values(recipe_of(*runs), {"s": "2"}) == ""


@pytest.mark.parametrize(
    "written", ["NaN", "1e5", "Infinity", "0x10", " 5", "12345678901234567890", "true", "null", "[1]"]
)
def test_a_number_is_a_number_as_json_writes_it(written: str) -> None:
    runs = [shown(task(["n"]), {"n": n}, sent_json({"n": int(n)})) for n in ("5", "7")]
    recipe = recipe_of(*runs)
    assert json.loads(replayed(recipe, {"n": "9"}).body) == {"n": 9}
    with pytest.raises(Unexpected, match="takes a number"):
        replayed(recipe, {"n": written})


def test_a_row_that_a_parameter_names_is_not_the_only_one_there() -> None:
    form = '<form method="post" action="/send"><input type="hidden" name="id" value="{}"></form>'
    click = {"action": "click", "instruction": "delete {{who}}", "effect": "commit", "expect": SENT}
    own = task(["who"], {"action": "goto", "url": f"{SITE}/list?q={{{{who}}}}"}, click)
    runs = []
    for who, number in (("Ann", "17"), ("Bob", "23")):
        listed = Exchange(
            1,
            "document",
            Request("GET", f"{SITE}/list?q={who}"),
            html(form.format(number) + f"<p>{who}</p>", "/list"),
            is_main=True,
        )
        runs.append(shown(own, {"who": who}, posted({"id": number}), before=[listed]))
    assert "only a page can tell" in known_of(*runs).why_not


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-27", "2026-12-01T00:00:00Z", "27.11.2026", "11/29/2026", "20261130", "28.11.26", "2026-11", "12/2026",
        "Nov 27, 2026", "1 December 2026", "1795824000", "1795824000000",
    ],
)  # fmt: skip
def test_a_time_near_the_day_is_no_constant(text: str) -> None:
    assert is_of_time(text, DAY)


@pytest.mark.parametrize(
    "text", ["1999-04-01", "4711", "192.168.1.10", "v1.2.3", "17", "2026", "EUR", "1600000000", "0049301234567"]
)
def test_other_numbers_are(text: str) -> None:
    assert not is_of_time(text, DAY)


def test_a_date_in_three_fields_is_one() -> None:
    fields = {"y": "2026", "m": "11", "d": "28"}
    runs = [shown(task(["s"]), {"s": s}, posted({**fields, "s": s})) for s in ("Monday", "Tuesday")]
    assert "form y" in known_of(*runs).why_not


def test_a_date_that_a_step_enters_is_its_authors() -> None:
    fill = {"action": "fill", "instruction": "the day", "value": "2026-12-24"}
    click = {"action": "click", "instruction": "send", "effect": "commit", "expect": SENT}
    own = task(["s"], fill, click)
    runs = [shown(own, {"s": s}, posted({"on": "2026-12-24", "s": s})) for s in ("Monday", "Tuesday")]
    assert replayed(recipe_of(*runs), {"s": "Friday"}).body == "on=2026-12-24&s=Friday"


# ------------------------------------------------------------------------------------------------ where it goes


def opened(at: str) -> ShownRun:
    own = task(["at"], {"action": "goto", "url": f"{SITE}/{{{{at}}}}"})
    address = f"{SITE}/{at}"
    page = SiteResponse(200, address, {"content-type": "text/html"}, "<p>x</p>")
    run = shown(own, {"at": at}, posted({}), commits=())
    return ShownRun(
        **{**vars(run), "exchanges": (Exchange(1, "document", Request("GET", address), page, is_main=True),)}
    )


def test_a_value_leads_to_no_other_path_or_host() -> None:
    recipe = recipe_of(opened("one"), opened("two"))
    for hostile in ("../x", "x?y", "a b#c", "x\r\ny", "a%2Fb"):
        with pytest.raises(Unexpected, match="at has characters"):
            Replaying(recipe, {"at": hostile}, str, lambda _u, _n: None).request(recipe.calls[0])
    recipe = recipe_of(opened("one.x"), opened("two.x"))
    with pytest.raises(Unexpected, match="a dot"):
        Replaying(recipe, {"at": ".."}, str, lambda _u, _n: None).request(recipe.calls[0])


def test_a_value_is_escaped_where_scripts_send_it() -> None:
    shape, slots = taken_apart(Request("GET", f"{SITE}/x?q=a"), "fetch")
    filled = {**slots, ("path", "0"): "../x?y\r\n", ("query", "q", "0"): "a&b=c#d"}
    assert put_together(shape, filled, "").url == f"{SITE}/..%2Fx%3Fy%0D%0A?q=a%26b%3Dc%23d"


@pytest.mark.parametrize(
    "origin", ["http://a.test@evil.test", "http://evil.test/", "http://evil.test#", "http://a\\b", "file://x"]
)
def test_a_host_is_nothing_but_a_host(origin: str) -> None:
    shape, slots = taken_apart(Request("GET", f"{SITE}/x"), "fetch")
    with pytest.raises(ValueError, match="no valid host"):
        put_together(shape, {**slots, ("origin",): origin}, "")


def test_a_header_has_no_line_breaks() -> None:
    shape, slots = taken_apart(Request("GET", f"{SITE}/x", {"x-note": "a"}), "fetch")
    with pytest.raises(ValueError, match="control characters"):
        put_together(shape, {**slots, ("header", "x-note"): "a\r\nx-admin: 1"}, "")


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", f"{SITE}/a%2Fb/c%20d?flag&x=&y=1+2&y=%F0%9F%98%80"),
        Request("GET", SITE),
        Request("POST", f"{SITE}/x", FORM, "a=1&a=2&b="),
        Request(
            "POST", f"{SITE}/x", {"content-type": "application/json"}, '{"a":[1,2.5,{"b":null}],"c":true,"d":"\\u00e4"}'
        ),
    ],
)
def test_a_request_is_put_together_as_it_was(request_: Request) -> None:
    shape, slots = taken_apart(request_, "fetch")
    assert says_the_same(request_, put_together(shape, slots, ""))


@pytest.mark.parametrize(
    "request_",
    [
        Request("GET", f"{SITE}/caf%E9"),
        Request("POST", f"{SITE}/x", FORM, "a=caf%E9"),
        Request("POST", f"{SITE}/x", {"content-type": "application/json"}, '{"a":1,"a":2}'),
    ],
)
def test_a_request_that_cannot_be_repeated_exactly_is_noticed(request_: Request) -> None:
    shape, slots = taken_apart(request_, "fetch")
    assert not says_the_same(request_, put_together(shape, slots, ""))


def test_what_a_browsers_cache_asks_is_not_sent() -> None:
    shape, _ = taken_apart(Request("GET", f"{SITE}/x", {"if-none-match": '"1"', "accept": "*/*"}), "fetch")
    assert shape.headers == {"accept": "*/*"}


def test_a_form_of_a_value_tells_what_pages_look_at() -> None:
    assert [form_of(each) for each in ("", " ", "a b", " 1,000.50 ", "+49 30 1234")] == [
        "empty", "blank", "words", "9,9.9 around", "+9 9 9999",
    ]  # fmt: skip


def test_requests_that_nobody_needs_are_not_kept() -> None:
    own = task(["s"])
    noise = [
        Exchange(0, "fetch", Request("GET", f"{SITE}/api/{at}"), data({"at": at}, f"/api/{at}")) for at in range(30)
    ]
    runs = [shown(own, {"s": s}, posted({"s": s}), before=noise) for s in ("Monday", "Tuesday", "Friday")]
    known = known_of(*runs)
    assert known.recipe is not None
    assert [len(each.calls) for each in known.sketches] == [2, 2, 2]


def test_a_name_that_a_site_writes_like_a_template_holds_no_parameter() -> None:
    own = task(["s", "amount"])
    runs = [
        shown(
            own,
            {"s": s, "amount": amount},
            posted({"{{amount}}": token, "s": s}),
            page=html(
                f'<form method="post" action="/send"><input name="{{{{amount}}}}" value="{token}"><input name="s">'
            ),
        )
        for s, amount, token in (("Monday", "10", "aaaa1"), ("Tuesday", "20", "bbbb2"))
    ]
    assert known_of(*runs).recipe is None


def test_an_answer_that_leads_to_another_query_is_not_taken() -> None:
    runs = [shown(task(["s"]), {"s": s}, posted({"s": s})) for s in ("Monday", "Tuesday")]
    recipe = recipe_of(*runs)
    with pytest.raises(Unexpected, match="another query"):
        taken(recipe, {"s": "Friday"}, html("<p>Order placed</p>", "/sent?error=quota"))


def test_a_field_that_was_empty_is_the_forms_own_as_well() -> None:
    form = '<form method="post" action="/send"><input type="hidden" name="draft" value="{}"><input name="s"></form>'
    runs = [
        shown(task(["s"]), {"s": s}, posted({"draft": "", "s": s}), page=html(form.format("")))
        for s in ("Monday", "Tuesday")
    ]
    assert replayed(recipe_of(*runs), {"s": "Friday"}, html(form.format("77"))).body == "draft=77&s=Friday"


def test_a_token_that_stands_everywhere_is_regarded_so_often_and_no_more() -> None:
    def run(s: str, token: str) -> ShownRun:
        body = {f"k{at}": token for at in range(30)}
        noise = [Exchange(0, "fetch", Request("GET", f"{SITE}/{at}"), data(body, f"/{at}")) for at in range(30)]
        return shown(task(["s"]), {"s": s}, sent_json({"s": s, "token": token}), before=noise)

    sketches = [sketch(run(*each)) for each in (("Monday", "tok-1111"), ("Tuesday", "tok-2222"))]
    counts = [len(slot.sources) for call in sketches[0].calls for slot in call.slots]
    assert 100 < max(counts) < 300
    known = learned(learned(Knowledge(), sketches[0], (1,)), sketches[1], (1,))
    assert known.recipe is not None, known.why_not

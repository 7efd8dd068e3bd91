"""The dashboard's pages: who may see them, what they show of hostile texts, what they say when something is gone."""

import asyncio
import dataclasses
import json
import re
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from markupsafe import Markup
from sse_starlette import ServerSentEvent

from replaywright.dashboard.app import Dashboard
from replaywright.dashboard.guard import COOKIE, AccessGuard
from replaywright.dashboard.live import Shared, changed_regions
from replaywright.dashboard.people import Role, Viewer
from replaywright.dashboard.views import (
    CacheView,
    ReportPage,
    RetriedRows,
    RunDetail,
    RunFilter,
    ScheduleRow,
    SessionRow,
    WaitingRun,
)
from replaywright.domain.notice.commands import Lost
from replaywright.domain.skill.cache_statistics import cache_statistics
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.skill.skills import SkillStatistics
from replaywright.domain.step.outcomes import Lookup, Status
from replaywright.errors import InputInvalid, SettingsInvalid, StackFailed, StoreUnavailable
from tests.unit.dashboard import (
    APPROVAL,
    BATCHES,
    DIFF,
    OWNER,
    PICTURE,
    RECORD,
    RUNNING,
    STATISTICS,
    TOTALS,
    WAITING,
    FakeSource,
    ended,
    entry,
    full,
    skill,
    step,
)

HOST = "127.0.0.1:8421"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}\u202egnp.exe"


class Visitor:
    """A browser that may have entered."""

    def __init__(self, source: FakeSource, every_s: float = 0.01) -> None:
        self.guard = AccessGuard(
            Dashboard(source, tenant="acme", owner=OWNER, every_s=every_s).app(),
            hosts=[HOST],
            origins=[f"http://{HOST}"],
        )
        transport = httpx.ASGITransport(self.guard, raise_app_exceptions=False)
        self.client = httpx.AsyncClient(transport=transport, base_url=f"http://{HOST}")

    async def enter(self) -> httpx.Response:
        return await self.client.get(self.guard.entrance)

    async def get(self, page: str, **headers: str) -> httpx.Response:
        return await self.client.get(self.guard.path + page, headers=headers)


async def entered(source: FakeSource) -> Visitor:
    visitor = Visitor(source)
    assert (await visitor.enter()).status_code == 200
    return visitor


async def shown(source: FakeSource, page: str) -> str:
    answer = await (await entered(source)).get(page)
    assert answer.status_code == 200, answer.text
    return answer.text


class Outline(HTMLParser):
    """Tags and attributes that a page really has."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def text_of(html: str) -> str:
    """What a reader sees, spaces collapsed."""
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


# --- who may see it ---------------------------------------------------------------------------------------------------


async def test_nobody_sees_a_page_without_the_token() -> None:
    visitor = Visitor(full())

    answers = [await visitor.get(page) for page in ("", "inbox", "static/dashboard.css", "live/runs", "?token=guess")]

    assert [answer.status_code for answer in answers] == [401] * 5
    assert all("send-mail" not in answer.text for answer in answers)


async def test_the_token_is_exchanged_for_a_cookie_of_a_path_that_nobody_can_guess() -> None:
    visitor = Visitor(full())

    entry_page = await visitor.enter()
    runs = await visitor.get("")

    [cookie] = entry_page.headers.get_list("set-cookie")
    assert f"Path={visitor.guard.path}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert len(visitor.guard.path) > 10
    assert visitor.guard.entrance.partition("token=")[2] not in entry_page.text + cookie + runs.text
    assert runs.status_code == 200


async def test_each_dashboard_has_a_token_of_its_own() -> None:
    one, other = Visitor(full()), Visitor(full())
    await one.enter()

    answer = await other.client.get(other.guard.path, headers={"Cookie": f"{COOKIE}={one.client.cookies.get(COOKIE)}"})

    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example:8421"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:8422"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200),
        ({"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
async def test_pages_of_others_get_nothing_even_with_the_cookie(headers: dict[str, str], status: int) -> None:
    visitor = await entered(full())

    answer = await visitor.get("", **headers)

    assert answer.status_code == status
    assert ("send-mail" in answer.text) == (status == 200)


@pytest.mark.parametrize(
    ("method", "page"),
    [
        ("PUT", "takeover"),
        ("DELETE", ""),
        ("OPTIONS", ""),
        ("POST", ""),
        ("POST", "run"),
        ("GET", "takeover"),
        ("GET", "answer"),
        ("GET", "start"),
        ("GET", "schedule"),
        ("GET", "session"),
        ("POST", "schedules"),
    ],
)
async def test_what_changes_something_is_posted_to_its_own_address(method: str, page: str) -> None:
    source = full()
    visitor = await entered(source)

    headers = {"Origin": f"http://{HOST}"}
    answer = await visitor.client.request(
        method, visitor.guard.path + page, params={"id": RUNNING.run_id}, headers=headers
    )

    assert answer.status_code == 405
    assert source.done == []


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "https://evil.example", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
        {"Origin": f"http://{HOST}", "Cookie": f"{COOKIE}=guess"},
    ],
)
@pytest.mark.parametrize("page", ["takeover", "answer", "start", "schedule", "session", "entry"])
async def test_only_the_dashboards_own_pages_steer_a_run(page: str, headers: dict[str, str]) -> None:
    source = full()
    visitor = await entered(source)

    answer = await visitor.client.post(visitor.guard.path + page, params={"id": RUNNING.run_id}, headers=headers)

    assert answer.status_code in (401, 403)
    assert (source.done, source.started) == ([], [])


async def posted(visitor: Visitor, page: str, body: str = "", **given: str) -> httpx.Response:
    """Send a form as the dashboard's own pages do."""
    own = {
        "Origin": f"http://{HOST}",
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    return await visitor.client.post(visitor.guard.path + page, params=given, content=body, headers=own)


def form_of(html: str, action: str) -> dict[str, str]:
    """Fields of the form that is sent to `action`, with their values."""
    assert any(one["action"].startswith(action) for one in Outline(html).all("form"))
    fields = [*Outline(html).all("input"), *Outline(html).all("textarea"), *Outline(html).all("select")]
    return {one["name"]: one.get("value", "") for one in fields if "name" in one}


async def test_a_skill_is_run_by_its_form_and_each_form_has_a_request_of_its_own() -> None:
    source = full()
    visitor = await entered(source)
    html = (await visitor.get("skill?name=send-mail")).text
    fields = form_of(html, "start?skill=send-mail")
    values = {name: "x" for name in fields if name.startswith("value.")}
    body = str(httpx.QueryParams({"request": fields["request"], **values, "heals": "yes"}))

    answer = await posted(visitor, "start", body, skill="send-mail", version="2")
    plain = await posted(visitor, "start", "request=r", skill="send-mail", version="2")

    assert answer.status_code == plain.status_code == 303
    assert answer.headers["Location"] == "run?id=send-mail%2Fdashboard%2F1"
    [asked, other] = source.started
    assert (asked.skill, asked.version, asked.request, asked.heals) == ("send-mail", 2, fields["request"], True)
    assert asked.values == {name.removeprefix("value."): "x" for name in values}
    assert asked.values.keys() == RECORD.skill.task.parameters.keys()
    assert (other.heals, len(fields["request"])) == (False, 32)
    again = (await visitor.get("skill?name=send-mail")).text  # the page is shared for a moment, the form is not
    assert form_of(again, "start")["request"] != fields["request"]


async def test_a_schedule_is_paused_and_let_go_on_and_its_list_says_so() -> None:
    source = full()
    visitor = await entered(source)

    html = (await visitor.get("schedules")).text
    answer = await posted(visitor, "schedule", "change=pause&why=moving", name="hourly")
    said = text_of(html)

    assert (answer.status_code, answer.headers["Location"]) == (303, "schedules")
    assert source.done == [("hourly", "pause", "moving")]
    assert "paused the site is being moved" in said
    changes = [one.get("value") for one in Outline(html).all("button") if one.get("name") == "change"]
    assert changes == ["pause", "trigger", "unpause", "trigger"]


async def test_a_session_is_signed_in_anew_and_its_list_says_who_uses_it() -> None:
    source = full()
    visitor = await entered(source)

    html = (await visitor.get("sessions")).text
    answer = await posted(visitor, "session", "change=renew", name="crm-ada")
    said = text_of(html)

    assert (answer.status_code, answer.headers["Location"]) == (303, "sessions")
    assert source.done == [("crm-ada", "renew")]
    assert "expired 2 times" in said
    assert "the page says nothing of Ada" in said
    assert RUNNING.run_id in said


async def test_a_heal_that_waits_is_taken_or_its_recording_forgotten() -> None:
    source = full()
    visitor = await entered(source)
    html = (await visitor.get("cache")).text

    answer = await posted(visitor, "entry", "change=promote", key="abc")
    await posted(visitor, "entry", "change=forget&why=wrong+button", key="abc")

    assert (answer.status_code, answer.headers["Location"]) == (303, "cache")
    assert source.done == [("abc", "promote", ""), ("abc", "forget", "wrong button")]
    changes = [one.get("value") for one in Outline(html).all("button") if one.get("name") == "change"]
    assert set(changes) == {"promote", "forget"}


async def test_a_heal_that_waits_is_shown_before_and_after() -> None:
    source = full()
    key = "d" * 64
    source.heals[key, "found"] = b"\xff\xd8\xff a picture"
    visitor = await entered(source)
    html = (await visitor.get("cache")).text

    found, gone = await visitor.get(f"heal?key={key}&of=found"), await visitor.get(f"heal?key={key}&of=recorded")

    images = [one["src"] for one in Outline(html).all("img")]
    assert images == [f"heal?key={key}&of=recorded", f"heal?key={key}&of=found"]
    assert (found.headers["Content-Type"], found.content) == ("image/jpeg", source.heals[key, "found"])
    assert "sandbox" in found.headers["Content-Security-Policy"]
    assert (gone.status_code, "kept no picture" in gone.text) == (404, True)


async def test_a_batch_shows_its_rows_those_that_wait_and_those_that_failed() -> None:
    said = text_of(await shown(full(), "batches"))

    assert "121 of 200 ended" in said
    assert "Rows that wait for a person: 7" in said
    assert "row 3 : looked for &lt;b&gt;Send&lt;/b&gt;" in said


async def test_failed_rows_are_tried_again_and_those_left_out_are_told_with_what_to_do() -> None:
    source = full()
    source.known_batches = [dataclasses.replace(BATCHES[0], is_over=True)]
    visitor = await entered(source)
    html = (await visitor.get("batches")).text

    plain = await posted(visitor, "retry", batch="batch-1")
    source.retried = RetriedRows(
        4, ((3, "nobody knows whether step 2 took effect"), (9, "it has nothing to go on with"))
    )
    partly = await posted(visitor, "retry", batch="batch-1")

    assert "retry?batch=batch-1" in html
    assert source.done == [("retry", "batch-1")] * 2
    assert (plain.status_code, plain.headers["Location"], partly.status_code) == (303, "batches", 200)
    assert "4 rows tried again, 2 not" in partly.text
    assert "row 3: nobody knows whether step 2 took effect · row 9: it has" in partly.text
    assert "replaywright batch retry batch-1 --row 3" in partly.text


async def test_a_run_is_taken_over_and_answered() -> None:
    source = full()
    visitor = await entered(source)

    taken = await posted(visitor, "takeover", id=RUNNING.run_id)
    answered = await posted(visitor, "answer", "why=it+is%0Aright&answer=approve", id=WAITING.run_id, question="7-1")
    handed_back = await posted(visitor, "answer", "answer=continue", id=RUNNING.run_id)

    assert 'content="0;url=http://127.0.0.1:9/secret/"' in taken.text
    assert (answered.status_code, answered.headers["location"]) == (303, "run?id=" + quote(WAITING.run_id, safe=""))
    assert handed_back.status_code == 303
    assert source.done == [
        ("take over", RUNNING.run_id),
        (WAITING.run_id, "7-1", "approve", "", "it is\nright"),
        (RUNNING.run_id, "", "continue", "", ""),
    ]


async def test_a_question_that_was_answered_is_not_shown_again() -> None:
    source = full()
    visitor = Visitor(source, every_s=10)
    await visitor.enter()
    page = f"run?id={quote(WAITING.run_id)}"

    before = (await visitor.get(page)).text
    source.details[WAITING.run_id] = RunDetail(WAITING, totals=TOTALS)
    await posted(visitor, "answer", "answer=approve", id=WAITING.run_id, question="7-1")

    assert "step 7 asks for an approval" in before
    assert "step 7 asks for an approval" not in (await visitor.get(page)).text


async def test_what_a_run_does_not_do_is_told_and_the_page_does_not_ask_again_by_itself() -> None:
    source = full()
    visitor = await entered(source)
    strange = await posted(visitor, "takeover", id="nobody")
    long = await posted(visitor, "answer", "why=" + "x" * 200_000, id=WAITING.run_id, question="7-1")
    source.fails = StackFailed("send-mail is still at its step")
    busy = await posted(visitor, "takeover", id=RUNNING.run_id)

    assert "there is no run" in strange.text
    assert "more than 100000 bytes" in long.text
    assert (busy.status_code, "send-mail is still at its step" in busy.text) == (409, True)
    assert "data-retry" not in busy.text
    assert source.done == []


async def test_a_question_is_answered_by_a_form_that_the_enter_key_does_not_send() -> None:
    source = full()
    code = APPROVAL.model_copy(update={"answers": ("answer", "abandon"), "wants": "code", "id": "8-1"})
    source.details[RUNNING.run_id] = RunDetail(RUNNING, question=code, is_lent=True)
    approval, asks = [Outline(await shown(source, f"run?id={quote(one.run_id)}")) for one in (WAITING, RUNNING)]

    def buttons(outline: Outline) -> list[str]:
        return [one["value"] for one in outline.all("button") if one.get("name") == "answer"]

    assert buttons(approval) == ["approve", "refuse"]
    assert buttons(asks) == ["answer", "abandon"]
    [code_field] = [one for one in asks.all("input") if one.get("name") == "value"]
    assert code_field["type"] == "password"
    [form] = [one for one in approval.all("form") if one["action"].startswith("answer")]
    assert form["action"] == f"answer?id={quote(WAITING.run_id, safe='')}&question=7-1"
    inside = approval.tags[approval.tags.index(("form", form)) :]
    assert next(attributes for name, attributes in inside if name == "button") == {
        "type": "submit",
        "disabled": "",
        "hidden": "",
    }


@pytest.mark.parametrize("page", ["", "inbox", "skills", "nothing", "static/dashboard.js"])
async def test_every_answer_says_that_it_runs_nothing_and_is_framed_by_nobody(page: str) -> None:
    visitor = await entered(full())

    headers = (await visitor.get(page)).headers

    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("page", ["static/../app.py", "static/..%2fapp.py", "static/%2e%2e/templates/runs.html"])
async def test_only_its_own_files_are_served(page: str) -> None:
    visitor = await entered(full())

    assert (await visitor.get(page)).status_code == 404


# --- what the pages show ----------------------------------------------------------------------------------------------


def hostile() -> tuple[FakeSource, list[str]]:
    """A source whose every text is hostile, and pages that show all of them."""
    row = ended(1, run_id=HOSTILE, task=HOSTILE, site=HOSTILE, skill=HOSTILE, mode=HOSTILE, ended=None, doing=HOSTILE)
    row = ended(1, **{**row.__dict__, "status": "running", "steps": 3})
    question = APPROVAL.model_copy(
        update={
            "text": HOSTILE,
            "shows": (HOSTILE,),
            "site_says": (HOSTILE,),
            "url": f"javascript:{HOSTILE}",
            "picture_missing": HOSTILE,
        }
    )
    lookup = Lookup(hit=True, tier=HOSTILE)
    bad_step = step(1, HOSTILE, 0.1, lookup, status=Status.UNMET, verdict="failed", message=HOSTILE)
    bad = skill(label=HOSTILE, site=HOSTILE, note=HOSTILE, patterns=(HOSTILE,), description=HOSTILE)
    record = RECORD.model_copy(
        update={
            "skill": bad,
            "history": tuple(
                change.model_copy(update={"who": HOSTILE, "reason": HOSTILE}) for change in RECORD.history
            ),
        }
    )
    suspect = entry("a", HOSTILE, instruction=HOSTILE, status=EntryStatus.SUSPECT)
    source = FakeSource(
        rows=(row,),
        next=HOSTILE,
        details={
            HOSTILE: RunDetail(
                row, (bad_step,), TOTALS, question=question, failure=(HOSTILE,), remedy=HOSTILE, missing=HOSTILE
            )
        },
        waiting=(WaitingRun(HOSTILE, HOSTILE, question),),
        lost=(Lost(destination=HOSTILE, titles=(HOSTILE,), at=datetime(2026, 11, 27, tzinfo=UTC), why=HOSTILE),),
        known_schedules=(ScheduleRow(HOSTILE, HOSTILE, HOSTILE, note=HOSTILE, last_run=HOSTILE, last_status=HOSTILE),),
        known_sessions=(SessionRow(HOSTILE, HOSTILE, HOSTILE, users=(HOSTILE,), signing_in=HOSTILE, why=HOSTILE),),
        known_batches=(dataclasses.replace(BATCHES[0], batch=HOSTILE, task=HOSTILE, temporal_url=HOSTILE),),
        known_skills=((bad, STATISTICS),),
        records={"send-mail": record},
        diff=(*DIFF, f"+{HOSTILE}"),
        view=CacheView(cache_statistics((suspect,), ()), HOSTILE, {HOSTILE: 1}, HOSTILE),
    )
    there = str(httpx.QueryParams({"id": HOSTILE}))
    filtered = str(httpx.QueryParams({"skill": HOSTILE.replace("\u202e", ""), "page": "x"}))
    return source, [
        "",
        f"?{filtered}",
        f"run?{there}",
        "inbox",
        "skills",
        "skill?name=send-mail",
        "changes?name=send-mail",
        "cache",
        "schedules",
        "sessions",
        "batches",
        "kept",
        "nothing",
    ]


@pytest.mark.parametrize("place", range(13))
async def test_hostile_texts_are_shown_as_texts(place: int) -> None:
    source, pages = hostile()

    html = await shown(source, pages[place]) if pages[place] != "nothing" else ""

    outline = Outline(html)
    assert [one.get("src") for one in outline.all("script")] in (["static/dashboard.js"], [])
    assert [one for one in outline.all("img") if not one["src"].startswith("picture?")] == []
    assert [name for _, attributes in outline.tags for name in attributes if name.startswith("on")] == []
    assert [one for one in outline.all("a") if one["href"].strip().lower().startswith(("javascript:", "data:"))] == []
    assert [one for one in outline.tags if one[0] == "style" or "style" in one[1]] == []
    assert "\u202e" not in html
    assert "49" not in re.findall(r"onerror=alert\(2\)&gt;(\d+)", html)


@pytest.mark.parametrize("reason", ["there is no run ", "Temporal says: "])
async def test_hostile_texts_in_errors_are_shown_as_texts(reason: str) -> None:
    source = FakeSource(fails=StackFailed(reason + HOSTILE))

    answer = await (await entered(source)).get("")

    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert" in answer.text


async def test_every_page_has_landmarks_one_heading_and_a_name_for_each_table() -> None:
    source = full()
    run = f"run?{httpx.QueryParams({'id': RUNNING.run_id})}"
    pages = ["", run, "inbox", "skills", "skill?name=send-mail", "schedules", "sessions", "batches", "cache", "kept"]

    for page in (*pages, "changes?name=send-mail"):
        html = await shown(source, page)
        outline = Outline(html)

        assert [len(outline.all(tag)) for tag in ("main", "header", "footer", "h1")] == [1, 1, 1, 1], page
        assert outline.all("nav")[0]["aria-label"] == "Dashboard"
        assert outline.all("html")[0]["lang"] == "en"
        assert len(outline.all("caption")) == len(outline.all("table")), page
        assert all(one.get("scope") in ("col", "row") for one in outline.all("th")), page
        assert "tenant acme" in text_of(html)


async def test_the_list_says_of_each_run_how_it_stands_and_how_far_it_is() -> None:
    html = await shown(full(), "")

    said = text_of(html)
    assert "running send-mail" in said
    assert "4 of 10 · click the Send button" in said
    assert "waits for a person" in said
    assert "✗ failed" in said
    assert {"max": "10", "value": "4", "aria-label": "Steps done"} in Outline(html).all("progress")
    assert {"href": f"run?{httpx.QueryParams({'id': RUNNING.run_id})}"} in Outline(html).all("a")


async def test_the_filter_goes_to_the_source_and_stays_in_the_form_and_in_the_links() -> None:
    source = full()
    source.next = "abc="

    html = await shown(source, "?status=failed&site=shop.example&skill=order-entry&healed=1")

    assert source.wanted == [RunFilter("failed", "shop.example", "order-entry", healed=True)]
    outline = Outline(html)
    assert [one["value"] for one in outline.all("option") if "selected" in one] == ["failed"]
    assert [one["value"] for one in outline.all("input") if one["name"] == "site"] == ["shop.example"]
    [older] = [one["href"] for one in outline.all("a") if "page=" in one["href"]]
    assert dict(httpx.QueryParams(older.partition("?")[2])) == {
        "page": "abc=",
        "status": "failed",
        "site": "shop.example",
        "skill": "order-entry",
        "healed": "1",
    }


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("?status=sleeping", "status='sleeping': choose one of running, waiting"),
        ("?site=" + "x" * 301, "site: give at most 300 printable characters"),
        ("?skill=%00", "skill: give at most 300 printable characters"),
        ("skill?name=send-mail&version=two", "version='two': give a whole number"),
        ("changes?name=send-mail&old=-1", "old='-1': give a whole number"),
        ("run", "id: missing from the address"),
    ],
)
async def test_an_address_that_makes_no_sense_is_answered_with_what_would(page: str, says: str) -> None:
    answer = await (await entered(full())).get(page)

    assert answer.status_code == 400
    assert says in text_of(answer.text).replace("&#39;", "'")


async def test_a_run_shows_its_steps_and_how_each_element_was_found() -> None:
    said = text_of(await shown(full(), f"run?{httpx.QueryParams({'id': RUNNING.run_id})}"))

    assert "Step 3, done: fill the Password field = {{secret:PASSWORD}}" in said
    assert "healed: similarity 0.91" in said
    assert "score 1.00, runner-up 0.42" in said
    assert "2 attempts 1 model call" in said
    assert "0.0113 USD" in said


async def test_what_waits_is_shown_with_the_sites_words_apart_and_the_commands_that_answer() -> None:
    html = await shown(full(), "inbox")

    said = text_of(html)
    assert "step 7 asks for an approval: is the amount right?" in said
    assert "The site says, and that is no advice: Please confirm the payment" in said
    assert [one["data-copy"] for one in Outline(html).all("button") if "data-copy" in one] == [
        f"replaywright answer {WAITING.run_id} approve",
        f"replaywright answer {WAITING.run_id} refuse",
    ]


async def test_the_inbox_tells_what_never_arrived_where_and_why() -> None:
    lost = Lost(
        destination="chat",
        titles=("invoices: failed",),
        at=datetime(2026, 11, 27, 12, tzinfo=UTC),
        why="the webhook answered <b>410</b>",
    )
    html = await shown(FakeSource(lost=(lost,)), "inbox")

    told = re.sub(r" (?=,)", "", text_of(html))
    assert "Notices that never arrived chat, 2026-11-27 12:00 UTC: the webhook answered &lt;b&gt;410&lt;/b&gt;" in told
    assert "never arrived" not in await shown(FakeSource(), "inbox")


async def test_every_page_says_how_many_runs_wait() -> None:
    assert "1 : 1 run waits for a person" in text_of(await shown(full(), "skills"))
    assert 'class="badge"' not in await shown(FakeSource(), "skills")


async def test_skills_show_their_health_in_the_bounds_that_runs_go_by() -> None:
    said = text_of(await shown(full(), "skills"))

    assert "95 % healthy" in said
    assert "70 % fails too often: below 80 %" in said
    assert "– no runs yet" in said
    assert "fewer than 95 % of them makes a run warn; below 80 % the run asks a person" in said


async def test_tables_are_sorted_by_the_column_that_was_asked_for() -> None:
    html = await shown(full(), "skills?sort=health&order=down")

    assert [one["aria-sort"] for one in Outline(html).all("th") if "aria-sort" in one] == ["descending"]
    keys = [one["data-key"] for one in Outline(html).all("tr") if "data-key" in one]
    assert keys == ["send-mail", "invoice-download", "order-entry"]


async def test_two_versions_of_a_skill_are_compared() -> None:
    html = await shown(full(), "changes?name=send-mail&old=1&new=2")

    assert '<span class="old">-  instruction: the Send button</span>' in html
    assert '<span class="new">+  instruction: the Send mail button</span>' in html
    assert "They say the same" in await shown(full(), "changes?name=send-mail&old=2&new=2")


async def test_the_cache_is_counted_by_site_and_shows_what_wants_a_look() -> None:
    said = text_of(await shown(full(), "cache?sort=hits&order=down"))

    assert said.index("https://shop.example 2 1 209 12 12 99 %") < said.index("https://mail.example 1 40 1 2 95 %")
    assert "suspect click the Basket link" in said
    assert "replaywright admin cache show dddddddddddd" in said
    assert "Refused because of the signature: 2 entries" in said


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("", "No runs yet"),
        ("?status=failed", "No run is like that"),
        ("inbox", "Nothing waits for a person"),
        ("skills", "No skills yet"),
        ("cache", "Nothing is remembered yet"),
    ],
)
async def test_a_page_with_nothing_on_it_says_what_to_do(page: str, says: str) -> None:
    html = await shown(FakeSource(), page)

    assert says in text_of(html)
    assert Outline(html.partition('class="empty"')[2]).all("button" if "status" not in page else "a")


async def test_a_picture_is_that_of_the_runs_question_and_nothing_else() -> None:
    source = full()
    source.pictures = {WAITING.run_id: PICTURE}
    visitor = await entered(source)

    there = await visitor.get(f"picture?{httpx.QueryParams({'id': WAITING.run_id})}")
    gone = await visitor.get(f"picture?{httpx.QueryParams({'id': RUNNING.run_id})}")

    assert (there.status_code, there.headers["content-type"], there.content) == (200, "image/png", PICTURE)
    assert "sandbox" in there.headers["content-security-policy"]
    assert gone.status_code == 404


async def test_a_report_is_served_under_its_own_policy_and_framed_by_nobody() -> None:
    source = full()
    source.reports = {
        RUNNING.run_id: ReportPage("<title>the report</title>", "default-src 'none'; script-src 'sha256-abc'")
    }
    visitor = await entered(source)

    answer = await visitor.get(f"report?{httpx.QueryParams({'id': RUNNING.run_id})}")

    assert "the report" in answer.text
    policy = "default-src 'none'; script-src 'sha256-abc'; frame-ancestors 'none'"
    assert answer.headers["content-security-policy"] == policy


# --- what went wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (StackFailed("Temporal at 127.0.0.1:7233 says: connection refused"), 503, "Temporal does not answer"),
        (StoreUnavailable("no Redis is configured and no stack is running"), 503, "Redis does not answer"),
        (SettingsInvalid("REPLAYWRIGHT_SIGNING_KEYS: no keys"), 503, "A setting is missing or wrong"),
        (InputInvalid("there is no run 'x'"), 404, "It is not there"),
        (RuntimeError("a bug with a /path/inside"), 500, "The dashboard made a mistake"),
    ],
)
@pytest.mark.parametrize("page", ["", "inbox", "skills", "cache"])
async def test_what_went_wrong_is_a_page_with_a_remedy_and_no_traceback(
    page: str, error: Any, status: int, says: str
) -> None:
    answer = await (await entered(FakeSource(fails=error))).get(page)

    assert answer.status_code == status
    assert says in text_of(answer.text)
    assert "Traceback" not in answer.text
    assert "/path/inside" not in answer.text
    assert len(Outline(answer.text).all("h1")) == 1
    assert ("data-retry" in answer.text) == isinstance(error, StackFailed | StoreUnavailable)


async def test_pages_that_need_no_temporal_are_shown_without_it() -> None:
    class NoTemporal(FakeSource):
        async def inbox(self) -> list[WaitingRun]:
            raise StackFailed("Temporal does not answer")

    source = NoTemporal(known_skills=((skill(), SkillStatistics()),))

    assert "Send a mail" in await shown(source, "skills")


# --- changes ----------------------------------------------------------------------------------------------------------


def events_of(text: str) -> list[tuple[str, str]]:
    """Names and data of server-sent events."""
    blocks = [dict(line.partition(": ")[::2] for line in block.splitlines()) for block in text.split("\r\n\r\n")]
    return [(one.get("event", ""), one.get("data", "")) for one in blocks if one]


async def test_a_run_that_is_over_is_told_once_and_then_the_stream_ends() -> None:
    source = full()
    visitor = await entered(source)

    answer = await visitor.get(f"live/run?{httpx.QueryParams({'id': ended(3).run_id})}")

    events = events_of(answer.text)
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [name for name, _ in events] == ["region"] * 7 + ["end"]
    regions = {told["id"]: told for told in (json.loads(data) for name, data in events if name == "region")}
    assert set(regions) == {"standing", "steering", "attention", "facts", "steps", "waiting", "notice"}
    page = (await visitor.get(f"run?{httpx.QueryParams({'id': ended(3).run_id})}")).text
    for told in regions.values():
        assert f'data-digest="{told["digest"]}"' in page


async def test_there_is_no_stream_of_a_page_that_does_not_exist() -> None:
    assert (await (await entered(full())).get("live/nothing")).status_code == 404


async def taken(events: AsyncIterator[ServerSentEvent], count: int) -> list[tuple[str | None, Any]]:
    """So many events."""
    found = []
    async for event in events:
        data = json.loads(event.data) if event.data else None
        found.append((event.event, data and (data["id"], data["html"])))
        if len(found) == count:
            break
    return found


async def test_only_what_changed_is_told() -> None:
    looks: list[tuple[Mapping[str, Markup], bool]] = [
        ({"a": Markup("1"), "b": Markup("x")}, False),
        ({"a": Markup("1"), "b": Markup("x")}, False),
        ({"a": Markup("2"), "b": Markup("x")}, False),
        ({"a": Markup("2"), "b": Markup("y")}, True),
    ]

    async def look() -> tuple[Mapping[str, Markup], bool]:
        return looks.pop(0)

    events = await taken(changed_regions(look, 0), 9)

    assert events == [
        ("region", ("a", "1")),
        ("region", ("b", "x")),
        ("region", ("a", "2")),
        ("region", ("b", "y")),
        ("end", None),
    ]


async def test_nothing_more_is_told_to_somebody_who_signed_out() -> None:
    source, here = full(), [True]
    reader = Viewer("ada", Role.LOOK, is_here=lambda: here[-1])
    events = Dashboard(source, tenant="acme", every_s=0)._changes("runs", {}, reader)
    shown = [(await anext(events)).data, (await anext(events)).data]

    here.append(False)
    source.rows = (ended(7, task="secret-task"),)
    later = [event async for event in events]

    assert "send-mail" in str(shown)
    assert later == []


async def test_a_server_that_goes_away_is_told_to_those_who_look_and_taken_back_when_it_returns() -> None:
    source = full()
    events = Dashboard(source, tenant="acme", every_s=0)._changes("runs", {}, OWNER)

    async def notice() -> str:
        """What the next event about the notice has."""
        async for event in events:
            told = json.loads(event.data or "{}")
            if told.get("id") == "notice":
                return text_of(told["html"])
        return "the stream ended"

    at_first = await notice()
    source.fails = StackFailed("connection refused")
    away = await notice()
    source.fails = None
    back = await notice()

    assert (at_first, back) == ("", "")
    assert away.startswith("Temporal does not answer. connection refused")


async def test_readers_who_ask_for_the_same_share_one_answer() -> None:
    made = 0

    async def make() -> int:
        nonlocal made
        made += 1
        await asyncio.sleep(0)
        return made

    shared: Shared[int] = Shared(60)

    assert await asyncio.gather(*(shared.get("a", make) for _ in range(5))) == [1] * 5
    assert await shared.get("b", make) == 2


async def test_a_failure_is_not_kept_for_longer_than_it_holds() -> None:
    async def fails() -> int:
        raise StackFailed("away")

    async def works() -> int:
        return 1

    shared: Shared[int] = Shared(-1)
    with pytest.raises(StackFailed):
        await shared.get("a", fails)

    assert await shared.get("a", works) == 1

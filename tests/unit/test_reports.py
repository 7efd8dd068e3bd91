"""The report of a run: whatever texts say is shown, and what is not there is said."""

import base64
import hashlib
import html
import re
from collections.abc import Mapping

import pytest

from replaywright.domain.page.pictures import StepPicture
from replaywright.domain.page.targets import Box
from replaywright.domain.run.scope import Usage
from replaywright.domain.task.questions import Question, QuestionKind
from replaywright.domain.trace.run_reading import run_view
from replaywright.domain.trace.run_view import RunView
from replaywright.domain.trace.saying import duration
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable
from replaywright.reports import Loaded, load, rendered
from replaywright.reports.chart import charts_of, strip_of
from replaywright.reports.figures import Gallery, kind_and_size
from replaywright.reports.loading import spread
from replaywright.reports.page import safe_link
from replaywright.reports.words import clean, coded, step_tone
from tests.unit.reported import START, digest_of, png, sample, step_of

HOSTILE = (
    "<script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "' onmouseover='window.hacked = 1",
    "</title></style></svg><script>window.hacked = 1</script>",
    "{{ 7 * 7 }}{% raw %}<b>",
    "<!-- --!><svg onload=window.hacked=1>",
)


class Kept:
    """Artifacts of a test."""

    def __init__(self, data: Mapping[str, bytes]) -> None:
        self.data = data
        self.read: list[str] = []

    async def put(self, data: bytes) -> str:
        raise AssertionError("a report writes nothing")

    async def put_file(self, path: object) -> str:
        raise AssertionError("a report writes nothing")

    async def get(self, digest: str) -> bytes:
        self.read.append(digest)
        if digest not in self.data:
            raise ArtifactMissing(digest)
        return self.data[digest]


def hostile_view(text: str) -> RunView:
    """A run of which everything that comes from elsewhere says `text`."""
    view, _ = sample()
    asked = {"action": "click", "instruction": text, "expect": [{"url_contains": text}]}
    step = step_of(
        0,
        text,
        at=START,
        override=text,
        item=text,
        overruled=text,
        why=text,
        input={"step": asked, "parameters": [text]},
        outcome={
            "status": "unmet",
            "reason": text,
            "message": text,
            "rule": text,
            "url": f"javascript:{text}",
            "warnings": [text],
            "extracted": {text: [text]},
            "lookup": {"reason": text, "evidence": [text]},
            "predicates": [{"passed": False, "reason": text, "details": {text: text}}],
            "evidence": {
                "requests": [{"method": text, "url": text}],
                "dialogs": [text],
                "tabs": [text],
                "files": [{"name": text}],
            },
            "artifacts": {"screenshot": "0" * 64, text: text},
            "artifactsMissing": {text: text},
        },
    )
    facts = view.facts.model_copy(
        update={
            "goal": text,
            "task": text,
            "site": text,
            "message": text,
            "rule": text,
            "note": text,
            "tenant": text,
            "run_id": text,
            "extracted": {text: {text: text}},
            "url": f"javascript:{text}",
            "warnings": (text,),
            "missing": (text,),
        }
    )
    named = {"kind": "propose", "at": START + 1, "sequence": 0, "elementId": text, "usage": {"model": text}}
    return run_view(facts, [{**step, "runId": text}, named])


@pytest.mark.parametrize("text", HOSTILE)
def test_what_pages_tasks_and_models_say_is_shown_and_never_part_of_the_page(text: str) -> None:
    page = rendered(hostile_view(text), Loaded())

    assert page.count("<script") == 1  # our own
    assert text not in page
    assert html.escape(text, quote=True).replace("&#x27;", "&#39;").replace("&quot;", "&#34;") in page
    own = re.sub(r"<style>.*?</style>|<script>.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"<[a-z][^<>]*\son[a-z]+\s*=", own)
    assert not re.search(r"<[a-z][^<>]*\sstyle\s*=", own)


def test_addresses_of_pages_are_no_links_and_that_of_the_run_only_if_it_opens_a_page() -> None:
    page = rendered(hostile_view("alert(1)"), Loaded())

    links = re.findall(r'href="([^"]*)"', page)
    assert all(link.startswith(("#", "data:image/")) for link in links)
    assert safe_link("http://127.0.0.1:8233/x") == "http://127.0.0.1:8233/x"
    assert safe_link("javascript:alert(1)") == safe_link("data:text/html,x") == safe_link("") == ""


def test_characters_that_turn_or_hide_what_stands_beside_them_are_made_visible() -> None:
    assert clean("Pay \u202e001\u202c\x1b[2J now\u200f") == "Pay \ufffd001\ufffd\ufffd[2J now\ufffd"
    assert clean("two\nlines\tof 日本語 café") == "two\nlines\tof 日本語 café"
    assert clean(7) == 7
    assert clean(None) == ""
    assert "\u202e" not in rendered(hostile_view("gnp.\u202etxt"), Loaded())
    assert coded("run `a <b>` or <i>") == "run <code>a &lt;b&gt;</code> or &lt;i&gt;"


def test_only_our_own_style_and_script_may_do_anything_and_nothing_is_loaded() -> None:
    page = rendered(*sample())

    policy = html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', page)[0])
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    [script] = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    for kind, text in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page.replace('href="http://127.0.0.1:8233/', ""))


def test_a_report_says_all_that_there_is_to_say_about_a_failure() -> None:
    view, loaded = sample(reason="ambiguous")

    page = html.unescape(re.sub(r"<[^>]+>", " ", rendered(view, loaded)))

    for told in (
        "How it failed",
        "replaywright resume send-mail-1",
        "more than one element answers to the description",
        "url_contains: /sent",
        "want: /sent",
        "Mailbox full",
        "POST http://127.0.0.1:8025/send → 507",
        "dom missing: the document could not be read in time",
        "score 0.91, runner-up 0.62",
        "The model named the element",
        "1,840 tokens in, 22 out",
        "The live browser was adopted",
        "ada decided on a step that failed: abandon",
        "Recalled skill send-mail, version 3",
        "7.1 times less than in the first run",
    ):
        assert told in page, told


def test_the_failure_comes_first_and_what_there_was_none_of_is_left_out() -> None:
    view, loaded = sample(reason="ambiguous")
    idle = view.model_copy(update={"totals": view.totals.model_copy(update={"usage": Usage(), "heals": 0})})

    failed, without = rendered(view, loaded), rendered(idle, loaded)

    assert failed.index("How it failed") < failed.index("<dt>Duration</dt>") < failed.index("Timeline</h2>")
    for what in ("Heals", "Model calls", "Tokens", "Money"):
        assert (f"<dt>{what}</dt>" in failed, f"<dt>{what}</dt>" in without) == (True, False)


def test_a_picture_stands_in_the_file_once_however_often_it_is_shown() -> None:
    page = rendered(*sample())

    assert page.count("data:image/png;base64,") == 5  # four of steps, one of the failure
    assert page.count('href="#p1"') == 2  # after the first step, and before the second


def test_the_target_is_framed_where_it_was_before_the_step() -> None:
    view, loaded = sample()

    before, after = Gallery(loaded).of_step(view.steps[1])

    assert before.mark is not None
    assert (before.mark.x, before.mark.y) == (980 / 2 - 6, 40 / 2 - 6)  # the picture has half the pixels of the page
    assert (before.mark.width, before.mark.height) == (180 / 2 + 12, 44 / 2 + 12)
    assert after.mark is None


@pytest.mark.parametrize(
    ("picture", "loaded", "said"),
    [
        (StepPicture(missing="a secret on the page could not be hidden"), Loaded(), "a secret on the page"),
        (StepPicture(digest="a" * 64), Loaded(missing={"a" * 64: "it is gone"}), "it is gone"),
        (StepPicture(digest="a" * 64), Loaded(), "no more room"),
        (StepPicture(digest="a" * 64), Loaded(data={"a" * 64: b"<svg onload=x>"}), "no picture"),
    ],
)
def test_in_place_of_a_picture_that_is_not_there_stands_why(picture: StepPicture, loaded: Loaded, said: str) -> None:
    view, _ = sample()
    step = view.steps[1].model_copy(update={"before": None, "after": picture})

    page = rendered(view.model_copy(update={"steps": (step,)}), loaded)

    assert f"No picture: {said}" in page or said in page.split("No picture: ")[1][:120]


async def test_what_is_not_in_the_store_any_more_is_said_and_nothing_fails() -> None:
    view, loaded = sample()
    some = dict(list(loaded.data.items())[:1])

    found = await load(view, Kept(some), budget_mb=25)

    assert set(found.data) == set(some)
    assert all("not in the artifact store any more" in why for why in found.missing.values())
    assert "not in the artifact store any more" in rendered(view, found)


async def test_a_store_that_cannot_be_reached_is_said_too() -> None:
    class Away(Kept):
        async def get(self, digest: str) -> bytes:
            raise ArtifactsUnavailable("the bucket does not answer")

    view, _ = sample()

    assert "the bucket does not answer" in rendered(view, await load(view, Away({}), budget_mb=25))


async def test_pictures_of_what_went_wrong_come_first_where_there_is_no_room_for_all() -> None:
    view, loaded = sample()
    screenshot = view.steps[-1].last.artifacts["screenshot"]
    room = len(loaded.data[screenshot]) * 4 / 3 / 1024 / 1024 * 1.01

    found = await load(view, Kept(loaded.data), budget_mb=room)

    assert screenshot in found.data
    assert found.left_out == 4
    page = rendered(view, found)
    assert "4 pictures left out" in page
    assert "--max-mb" in page


def test_pictures_are_spread_evenly_over_the_run() -> None:
    assert spread(8) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert sorted(spread(5000)) == list(range(5000))
    assert spread(1) == [0]
    assert spread(0) == []


async def test_five_thousand_steps_with_pictures_stay_a_file_that_opens() -> None:
    view, loaded = sample()
    done = view.steps[1]
    pictures = {digest_of(data): data for data in (png(64, 40, shade) for shade in range(50))}
    digests = list(pictures)
    steps = tuple(
        done.model_copy(
            update={
                "id": f"step-{number + 1}",
                "sequence": number,
                "attempts": (done.last.model_copy(update={"at": START + number}),),
                "after": StepPicture(digest=digests[number % 50], view=Box(x=0, y=0, width=64, height=40)),
            }
        )
        for number in range(5000)
    )

    long = view.model_copy(update={"steps": steps, "events": ()})
    found = await load(long, Kept({**loaded.data, **pictures}), budget_mb=1)
    page = rendered(long, found)

    assert len(page) < 12_000_000
    assert page.count("<details open>") == 0
    assert page.count('class="step') == 5000
    assert "the first 2,000 are shown in full" in page


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("running", "Running"),
        ("waiting", "Waits for a person"),
        ("paused", "Paused"),
        ("done", "Done, 1 heal"),
        ("failed", "Failed"),
        ("blocked", "Blocked by policy"),
        ("cancelled", "Cancelled"),
        ("terminated", "Terminated"),
        ("timed_out", "Timed out"),
    ],
)
def test_a_run_is_shown_however_it_stands(status: str, words: str) -> None:
    view, loaded = sample(status=status, doing="step 3: fill" if status == "running" else "")

    page = rendered(view, loaded)

    assert words in page
    assert ("How it failed" in page) == (status in ("failed", "terminated", "timed_out"))
    assert ("step 3: fill" in page) == (status == "running")


def test_a_run_that_waits_says_what_for_and_how_to_answer() -> None:
    asked = Question.model_validate(
        {
            "kind": QuestionKind.APPROVE,
            "id": "4-1",
            "text": "step 4 wants an approval",
            "sequence": 3,
            "answers": ["approve", "refuse"],
            "shows": ["the mail goes to <ada@example.com>"],
            "since": "2026-11-22T09:00:00Z",
            "deadline": "2026-11-25T09:00:00Z",
            "pictureMissing": "the page did not answer",
        }
    )
    view, loaded = sample(status="waiting", question=asked)

    page = rendered(view, loaded)

    assert "What it waits for" in page
    assert "the mail goes to &lt;ada@example.com&gt;" in page
    assert "2026-11-25 09:00:00 UTC" in page
    assert "replaywright answer send-mail-1" in page


def test_a_resumed_run_says_after_which_and_what_was_done_there() -> None:
    runs = ("send-mail-0", "send-mail-1")
    view, loaded = sample(resumed_from="send-mail-0", lineage="send-mail-0", lineage_runs=runs)

    page = rendered(view.model_copy(update={"resumed_steps": 3}), loaded)

    assert "goes on after" in page
    assert "3 steps had been done there, and were not done again" in page
    assert "Runs of the lineage" in page


def test_a_run_of_which_nothing_is_recorded_is_a_page_all_the_same() -> None:
    view, _ = sample(earlier=(), history=(), missing=("there is no trace",))

    page = rendered(view.model_copy(update={"steps": (), "events": ()}), Loaded())

    assert "Nothing is recorded of this run yet." in page
    assert "There is no earlier run of this task to compare with." in page
    assert "there is no trace" in page


def test_runs_are_compared_oldest_first_and_this_one_stands_last() -> None:
    view, _ = sample()

    seconds, calls, _ = charts_of(view)

    assert seconds.said == "Duration of 7 runs, oldest first: 31 s, 4.1 s, 4.0 s, 5.2 s, 9.0 s, 3.9 s, 12 s."
    assert [bar.tone for bar in calls.bars] == ["ok", "ok", "ok", "ok", "bad", "ok", "this"]
    assert seconds.change == "2.5 times less than in the first run"
    assert max(bar.height for bar in seconds.bars) == seconds.bars[0].height


def test_the_strip_shows_where_the_time_went() -> None:
    view, _ = sample()

    bars = strip_of(view.steps, step_tone)

    assert len(bars) == 6
    assert max(bars, key=lambda bar: bar.width) == bars[-1]
    assert bars[-1].said == f"Step 6: {duration(5.1)}"
    assert bars[-1].x + bars[-1].width <= 1000
    assert strip_of(view.steps[:1], step_tone) == ()


def test_only_pictures_are_taken_for_pictures() -> None:
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x02\xd0\x05\x00\x01\x01\x11\x00"

    assert kind_and_size(png(64, 40)) == ("image/png", 64, 40)
    assert kind_and_size(jpeg) == ("image/jpeg", 1280, 720)
    assert kind_and_size(b"<svg>") == kind_and_size(b"") == kind_and_size(b"\xff\xd8\xff") == ("", 0, 0)

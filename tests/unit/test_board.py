"""What the Temporal UI shows of a run: Markdown, of which nothing that a plan or page says becomes a part."""

import re
from datetime import UTC, datetime

import pytest

from replaywright.domain.common.text import code_span
from replaywright.domain.page.targets import Target
from replaywright.domain.run.runs import Progress, StepLine, Totals
from replaywright.domain.run.scope import Usage
from replaywright.domain.run.views import PlanView, StepInPlan, StepState
from replaywright.domain.step.outcomes import Lookup, Status
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.questions import Question, QuestionKind, Verdict
from replaywright.domain.trace.details import (
    details_of,
    element_summary,
    event_summary,
    found_by,
    how,
    spent_so_far,
    summary,
)

HOSTILE = (
    "[approve](https://evil.example/)",
    "![x](https://evil.example/pixel.png)",
    "<img src=https://evil.example/x onerror=alert(1)>",
    "<https://evil.example/>",
    "fine\n\n# Approved\n\n- [x] by the operator",
    "`code` **bold** _it_ ~~gone~~ | cell |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "\\[approve](https://evil.example/)",
    "see https://evil.example/approve, WWW.evil.example or ask@evil.example",
)
RUN = "mail/example/20261122-1"


def planned(*titles: str, position: int = 0, first: int = 0, total: int = 0, state: StepState = "planned") -> PlanView:
    steps = tuple(
        StepInPlan(sequence=first + at, title=title, state=state, how=title) for at, title in enumerate(titles)
    )
    return PlanView(total=total or len(titles), position=position, steps=steps)


def shown(progress: Progress, plan: PlanView | None = None, *, ending: str = "", run_id: str = RUN) -> str:
    return details_of(progress, plan or planned("goto"), run_id=run_id, spent=["0 model calls"], ending=ending)


def asked(text: str, *answers: Verdict, **fields: object) -> Progress:
    given = {"kind": QuestionKind.FAILED, "text": text, "sequence": 3, "answers": answers, "id": "4-1", **fields}
    question = Question.model_validate({"since": datetime(2026, 11, 22, tzinfo=UTC), **given})
    return Progress(status="waiting", step=3, steps=4, waiting_for=text, question=question)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_plan_page_or_person_says_is_no_markup_in_the_temporal_ui(text: str) -> None:
    note = StepLine(sequence=0, title=text, status=Status.DONE, kind="note")
    progress = asked(text, "retry", shows=(text,), url=text).model_copy(update={"doing": text, "lines": (note,)})

    details = shown(progress, planned(text), ending=text)
    own = shown(asked("T", "retry", shows=("T",), url="T").model_copy(update={"doing": "T"}), planned("T"), ending="T")

    assert len(details.splitlines()) == len(own.splitlines()) + 2  # the note
    assert "evil.example" in details or "evil" not in text  # it is told all the same
    beyond = "\n".join(line for line in details.splitlines() if not line.startswith(("Answer:", "More:")))
    beyond = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", beyond)  # nothing acts in code
    beyond = re.sub(r"^(#{3}|>) ", "", beyond, flags=re.MULTILINE).replace("**Spent**", "")
    assert re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>#|~!&]", beyond) is None
    assert re.search(r"\b://|\bwww\.|\b@", beyond, re.IGNORECASE) is None  # no link either of what is no markup


@pytest.mark.parametrize("text", ["a`b", "``", "`", "x```y``", "no ticks", "two\nlines"])
def test_code_ends_where_it_is_said_to_end(text: str) -> None:
    span = code_span(text)
    fence = span[: len(span) - len(span.lstrip("`"))]

    assert span.endswith(fence)
    assert re.search(rf"(?<!`){fence}(?!`)", span[len(fence) : -len(fence)]) is None
    assert "\n" not in span


def test_a_run_that_waits_says_for_what_until_when_and_how_it_is_answered() -> None:
    deadline = datetime(2026, 11, 25, 9, tzinfo=UTC)
    failed = shown(asked("the button is gone", "retry", "skip", "abandon"))
    approval = shown(asked("pay?", "approve", "refuse", kind="approve", shows=("12 EUR to Bea",), deadline=deadline))

    assert "### Waiting for a person · step 4 of 4" in failed
    assert "> the button is gone" in failed
    assert f"`replaywright answer {RUN} retry|skip|abandon`" in failed
    assert f"`replaywright answer {RUN} approve|refuse`" in approval
    assert "- 12 EUR to Bea" in approval
    assert "- until 2026-11-25 09:00 UTC; then the run fails" in approval


def test_commands_are_ones_that_a_shell_reads_as_they_are_meant() -> None:
    details = shown(Progress(status="failed", steps=1), run_id="a;`rm`", ending="no such element")

    assert "`` replaywright resume 'a;`rm`' ``" in details
    assert "> no such element" in details


def test_every_step_has_its_mark_and_those_far_away_are_counted() -> None:
    states: list[StepState] = ["done", "left_out", "current", "planned"]
    steps = tuple(StepInPlan(sequence=40 + at, title=f"T{at}", state=state) for at, state in enumerate(states))
    plan = PlanView(total=60, position=42, steps=steps)

    lines = shown(Progress(step=42, steps=60), plan).splitlines()

    begins = lines.index("… 40 steps before")
    assert lines[begins : begins + 8] == [
        "… 40 steps before",
        "",
        "41. ✓ T0",
        "42. – T1",
        "43. ▶ **T2**",
        "44. · T3",
        "",
        "… 16 steps more",
    ]


def test_the_details_are_short_however_much_there_is_to_tell() -> None:
    long = "x" * 5_000
    lines = tuple(StepLine(sequence=0, title=long, status=Status.DONE, kind="note") for _ in range(100))
    progress = asked(long, "retry", shows=(long,) * 50, url=long).model_copy(update={"lines": lines, "doing": long})

    assert len(shown(progress, planned(*[long] * 500), ending=long)) < 10_000


@pytest.mark.parametrize(
    ("lookup", "said"),
    [
        (Lookup(hit=True, tier="role_name"), "replayed · role name"),
        (Lookup(hit=True, tier="similarity", healed=True, score=0.931), "healed · similarity 0.93"),
        (Lookup(hit=True, tier="query"), "as declared"),
        (Lookup(hit=True, tier="xpath", from_model=True), "named by the model"),
        (Lookup(), ""),
    ],
)
def test_it_is_told_how_an_element_was_found(lookup: Lookup, said: str) -> None:
    assert found_by(lookup) == said


def test_a_step_that_was_not_performed_says_why() -> None:
    line = StepLine(sequence=0, title="t", status=Status.DONE)

    assert how(line.model_copy(update={"left_out": "item_left"})) == "left out: item left"
    assert how(line.model_copy(update={"from_ledger": True})) == "done before, from the ledger"
    assert how(line.model_copy(update={"already_done": True})) == "was so already"


def test_the_budget_is_told_with_its_limits() -> None:
    usage = Usage(calls=3, input_tokens=1_000, output_tokens=204, cost_usd=0.0021, priced=3)
    progress = Progress(totals=Totals(usage=usage), revised_from=(2,))

    assert spent_so_far(progress, RunLimits(calls=60, tokens=400_000, money=0.5, seconds=90, plans=2), 12.4) == [
        "3 of 60 model calls",
        "1,204 of 400,000 tokens",
        "0.0021 US dollars of 0.5",
        "1 of 2 revised plans",
        "12 s of 90",
    ]
    assert spent_so_far(Progress(), RunLimits(), 0) == ["0 of 60 model calls", "0 s"]


def test_a_summary_is_one_short_line_with_the_step_and_how_its_element_is_found() -> None:
    button = Target(tag="button", role="button", name="Send")

    assert summary(3, "click the send button", f"replays {element_summary(button)}", "") == (
        '0004 click the send button · replays button "Send"'
    )
    assert len(summary(0, "x" * 900, "y")) == 200
    assert element_summary(Target(tag="input")) == "input"
    assert element_summary(Target(tag="a", role="link", text="one\n two " + "x" * 90)) == f'link "one two {"x" * 31}…"'


@pytest.mark.parametrize("text", HOSTILE)
def test_a_summary_reads_as_it_was_written_and_is_no_link_or_picture_where_it_is_shown_as_markdown(text: str) -> None:
    said = event_summary(text)

    assert said.replace("\u2060", "") == " ".join(text.split())
    assert re.search(r"\]\(|<[a-z/]|\w://|www\.|\w@", said, re.IGNORECASE) is None

"""What is reported of a site that cannot be believed: the right reason, and never a success that is none."""

import re
from collections.abc import Iterator

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.step.outcomes import SENT_TWICE, SERVER_ERROR, UNPROVEN, Proof, Status, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.adapters import lying_site
from tests.adapters.acting import Acting
from tests.adapters.lying_site import LyingSite
from tests.adapters.steps import PREDICATE, button, link, says
from tests.unit.staged import but

SAVED = [{**says("Saved!"), "within_ms": 500}]
TIME = r"\d\d:\d\d:\d\d\.\d{3}"
NO_ALERT = {"not_exists": {"role": "alert"}, "within_ms": 100}


@pytest.fixture
def lies() -> Iterator[LyingSite]:
    with lying_site.serving() as site:
        yield site


@pytest.fixture
async def acting(session: ChromiumSession, lies: LyingSite) -> Acting:
    acting = Acting(session)
    await acting.do("goto", url=lies.url())
    return acting


def ended(outcome: StepOutcome) -> tuple[Status, str]:
    return outcome.status, outcome.reason


# --------------------------------------------------------------------------- the page says so, the server does not


@pytest.mark.parametrize("name", ["Save by script", "Save by form"])
async def test_a_page_that_says_saved_is_not_believed_when_its_server_answered_500(acting: Acting, name: str) -> None:
    asked = acting.asked("click", button(name), expect=SAVED, effect="commit")

    outcome = await acting.perform(asked)
    resolution = await acting.resolve(asked, contradicted=outcome.reason)

    assert ended(outcome) == (Status.IN_DOUBT, SERVER_ERROR)
    assert [verdict.passed for verdict in outcome.predicates] == [True]
    assert (resolution.verdict, resolution.reason) == ("undecidable", SERVER_ERROR)


async def test_what_the_server_refused_is_not_in_doubt(acting: Acting) -> None:
    outcome = await acting.do("click", button("Save what is refused"), expect=SAVED, effect="commit")

    assert ended(outcome) == (Status.UNMET, SERVER_ERROR)


@pytest.mark.parametrize(
    ("answer", "status", "reason"),
    [
        ((500, "no"), Status.IN_DOUBT, "text_missing"),
        ((422, "no"), Status.UNMET, "text_missing"),
        ((200, "no"), Status.IN_DOUBT, "text_missing"),
        ((200, "yes"), Status.DONE, ""),
    ],
)
async def test_a_success_that_is_shown_before_the_server_has_answered_is_not_the_last_word(
    acting: Acting, lies: LyingSite, answer: tuple[int, str], status: Status, reason: str
) -> None:
    learned = await acting.do("click", button("Save early"), expect=SAVED, effect="commit")
    await acting.next_run(learned)
    await acting.do("goto", url=lies.url("desk?again"))
    lies.likes = answer

    outcome = await acting.do("click", button("Save early"), expect=SAVED, effect="commit")

    assert ended(learned) == (Status.DONE, "")
    assert ended(outcome) == (status, reason)
    assert outcome.lookup.entry_version == 1


async def test_an_error_beside_a_success_is_warned_of(acting: Acting) -> None:
    outcome = await acting.do("click", button("Save and be counted"), expect=SAVED, effect="commit")

    assert ended(outcome) == (Status.DONE, "")
    assert [warning.partition(":")[0] for warning in outcome.warnings] == [SERVER_ERROR]


async def test_a_page_that_submits_twice_is_warned_of_with_both_times(acting: Acting, lies: LyingSite) -> None:
    outcome = await acting.do("click", button("Save twice over"), expect=SAVED, effect="commit")

    assert ended(outcome) == (Status.DONE, "")
    assert lies.posts == ["/save", "/save"]
    [warning] = outcome.warnings
    assert re.fullmatch(
        rf"{SENT_TWICE}: POST .*/save was sent at {TIME} and, the same again, at {TIME} \(UTC\)", warning
    )


async def test_what_a_page_sends_while_it_is_filled_in_is_no_effect_of_the_field(acting: Acting) -> None:
    outcome = await acting.do("fill", {"label": "Remark"}, value="hello")

    assert (ended(outcome), outcome.effect) == ((Status.DONE, ""), Effect.READ)
    assert {request.kind for request in outcome.evidence.requests} == {"beacon", "request"}


async def test_a_site_s_own_count_of_presses_is_told_from_what_carries_what_was_entered(acting: Acting) -> None:
    await acting.do("fill", {"label": "Checked"}, value="seven parcels")

    outcome = await acting.do("click", button("Say saved and be counted"))

    assert [(request.aside, request.unsure) for request in outcome.evidence.requests] == [(True, False)]


async def test_where_nothing_was_entered_only_what_is_new_is_taken_for_the_press_at_once(acting: Acting) -> None:
    counted = await acting.do("click", button("Say saved and be counted"))
    saved = await acting.do("click", button("Save in earnest"))
    again = await acting.do("click", button("Say saved and be counted"))

    told = [request.unsure for one in (counted, saved, again) for request in one.evidence.requests]
    assert told == [False, False, True]


async def test_a_field_that_does_not_take_a_text_is_told_with_both_texts_and_is_not_in_doubt(acting: Acting) -> None:
    outcome = await acting.do("fill", {"label": "Stubborn"}, value="hello", timeout_ms=4000)

    assert ended(outcome) == (Status.UNMET, "value_differs")
    assert outcome.effect.repeatable
    assert outcome.message == "entered 'hello', but the field holds 'what I like'"


async def test_a_page_that_says_saved_is_not_believed_when_the_connection_broke(acting: Acting) -> None:
    outcome = await acting.do("click", button("Save on a broken line"), expect=SAVED, effect="commit")

    assert ended(outcome) == (Status.IN_DOUBT, SERVER_ERROR)


async def test_a_change_of_mind_that_nothing_announces_is_seen_by_whoever_looks_next(acting: Acting) -> None:
    asked = acting.asked("click", button("Save and regret"), expect=[*SAVED, NO_ALERT], effect="commit")
    asked = but(asked, step=asked.context.step.model_copy(update={"evidence": "page"}))

    outcome = await acting.perform(asked)
    await acting.session.check([PREDICATE.validate_python(says("Could not be saved"))], 5_000)
    [saved, alert] = await acting.session.check([PREDICATE.validate_python(one) for one in (*SAVED, NO_ALERT)], 500)

    assert ended(outcome) == (Status.DONE, "")
    assert (saved.reason, alert.reason) == ("text_missing", "still_there")


# ------------------------------------------------------------------------------------------------ nothing happened


@pytest.mark.parametrize(
    "name",
    [
        "Do nothing",
        pytest.param("Only ripple", marks=pytest.mark.long),
        pytest.param("Only show a tooltip", marks=pytest.mark.long),
        "Only count the visit",
    ],
)
async def test_a_click_of_which_nothing_comes_is_unproven(acting: Acting, name: str) -> None:
    expect = [says("Nothing new")]  # which holds before it, too

    other = await acting.do("click", button(name), expect=expect)
    declared = await acting.do("click", button(name), expect=expect, effect="commit")  # its page is left

    assert ended(declared) == (Status.UNMET, UNPROVEN)
    assert (other.status, other.warnings, other.proof) == (Status.DONE, (UNPROVEN,), Proof.NONE)


async def test_what_is_shown_late_of_a_press_that_is_known_to_have_consequences_is_waited_for(acting: Acting) -> None:
    learned = await acting.do("click", button("Save once, then show slowly"))
    await acting.next_run(learned)

    replayed = await acting.do("click", button("Save once, then show slowly"))

    assert (learned.status, learned.effect) == (Status.DONE, Effect.COMMIT)
    assert (replayed.status, replayed.reason, replayed.proof) == (Status.DONE, "", Proof.CHANGE)


@pytest.mark.parametrize("name", ["Act when it goes down", "Act when it goes up"])
async def test_what_a_page_does_before_the_click_is_of_the_press(acting: Acting, name: str) -> None:
    outcome = await acting.do("click", button(name))

    assert (outcome.status, outcome.warnings, outcome.proof) == (Status.DONE, (), Proof.CHANGE)


async def test_what_a_page_says_because_the_focus_moves_is_no_proof(acting: Acting) -> None:
    await acting.do("type", {"role": "textbox", "name": "Checked"}, value="x")

    outcome = await acting.do("click", button("Do nothing"), expect=[says("Desk")])

    [checked] = await acting.session.check([PREDICATE.validate_python(says("Checked: that is no number"))], 500)
    assert checked.passed
    assert (outcome.warnings, outcome.proof) == ((UNPROVEN,), Proof.NONE)


async def test_being_counted_is_no_proof(acting: Acting) -> None:
    asked = acting.asked("click", button("Only tell the counter"), expect=[says("Nothing new")], effect="commit")

    outcome = await acting.perform(asked)

    assert ended(outcome) == (Status.IN_DOUBT, UNPROVEN)


async def test_a_counted_click_that_was_learned_with_a_warning_is_replayed_with_one(acting: Acting) -> None:
    learned = await acting.do("click", button("Only tell the counter"))
    await acting.next_run(learned)

    replayed = await acting.do("click", button("Only tell the counter"))

    assert (learned.status, learned.warnings) == (Status.DONE, (UNPROVEN,))
    assert (replayed.status, replayed.warnings, replayed.effect) == (Status.DONE, (UNPROVEN,), Effect.COMMIT)


# -------------------------------------------------------------------------------------- somewhere else, or too late


@pytest.mark.parametrize(("name", "reason"), [("Round and round", "navigation_failed"), ("Broken page", "http_500")])
@pytest.mark.parametrize("effect", ["read", None])
async def test_a_link_that_leads_to_no_page_fails_even_if_nothing_is_expected_of_it(
    acting: Acting, name: str, reason: str, effect: str | None
) -> None:
    outcome = await acting.do("click", link(name), effect=effect)

    assert ended(outcome) == (Status.UNMET, reason)


async def test_a_redirect_loop_cannot_be_opened(acting: Acting, lies: LyingSite) -> None:
    outcome = await acting.do("goto", url=lies.url("loop"))

    assert ended(outcome) == (Status.UNMET, "navigation_failed")
    assert "TOO_MANY_REDIRECTS" in outcome.message


async def test_a_page_that_changes_after_two_seconds_is_waited_for(acting: Acting) -> None:
    seen = await acting.do("click", button("Get ready"), expect=[says("Here it is")])

    assert (seen.status, seen.proof, seen.warnings) == (Status.DONE, Proof.BECAME_TRUE, ())


async def test_a_page_that_changes_too_late_is_not_taken_for_one_that_changed(acting: Acting) -> None:
    outcome = await acting.do("click", button("Get ready"), expect=[{**says("Here it is"), "within_ms": 300}])

    assert ended(outcome) == (Status.UNMET, "text_missing")


@pytest.mark.parametrize(
    ("action", "reason", "status"),
    [
        (link("Orders"), "url_differs", Status.UNMET),
        (button("Order by form"), "url_differs", Status.IN_DOUBT),
        (button("Order by script"), SERVER_ERROR, Status.UNMET),
    ],
)
async def test_a_session_that_has_expired_is_no_success(
    acting: Acting, lies: LyingSite, action: dict[str, str], reason: str, status: Status
) -> None:
    expect = [] if reason == SERVER_ERROR else [{"url_contains": "/orders", "within_ms": 300}]
    lies.signed_in = False

    outcome = await acting.do("click", action, expect=expect)

    assert ended(outcome) == (status, reason)


async def test_a_link_that_was_learned_and_leads_to_the_login_now_fails_without_a_word_in_the_task(
    acting: Acting, lies: LyingSite
) -> None:
    learned = await acting.do("click", link("Orders"))
    await acting.next_run(learned)
    await acting.do("goto", url=lies.url())
    lies.signed_in = False

    outcome = await acting.do("click", link("Orders"))

    assert ended(learned) == (Status.DONE, "")
    assert ended(outcome) == (Status.UNMET, "url_differs")

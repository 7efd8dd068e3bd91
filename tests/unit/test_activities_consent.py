"""Presses that a model chose: held until somebody stands behind them, and recorded with the one who does."""

from typing import Any

import pytest

from activities.policing import Policing
from replaywright.domain.run.commands import Perform
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.step.press_grants import UNGRANTED, Consent, Grant, kind_of
from replaywright.domain.task.policy import Learning, Policy
from tests.unit.staged import COMPOSE, POST, SEND, Stage, but, of_run, request, step

PRESS = step("click", "go on")
KIND = kind_of(POST.method, POST.url)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def chosen(*, words: tuple[str, ...] = (), granted: tuple[Grant, ...] = (), **fields: Any) -> Perform:
    consent = Consent(words=words, site=fields.pop("site_of_task", COMPOSE), granted=granted)
    return request(PRESS, 2, **{"proposed": SEND, "consent": consent, **fields})


def by_whom(outcome: StepOutcome) -> list[str]:
    return [grant.by for grant in outcome.granted]


async def test_what_nobody_has_granted_is_thrown_away_and_told_with_its_control(stage: Stage) -> None:
    outcome = await stage.perform(chosen(words=("Save the note",)))

    assert (outcome.status, outcome.reason) == (Status.REFUSED, UNGRANTED)
    assert outcome.consequence is not None
    assert outcome.consequence.kind == KIND
    assert outcome.consequence.control == "button 'Send'"
    assert stage.gate.operations["l1/" + outcome.fingerprint, 1].nothing_left
    assert await stage.state(chosen()) == "NOT_DONE"
    assert stage.gate.current is not None
    assert stage.gate.current.is_closed, "the page may send it again by itself"
    assert stage.browser.url == COMPOSE


@pytest.mark.parametrize(
    ("asked", "by"),
    [
        pytest.param({"words": ("Send a mail",)}, "the author's words", id="words"),
        pytest.param({"granted": (Grant(kind=KIND, by="ada"),)}, "ada", id="a person"),
    ],
)
async def test_what_somebody_stands_behind_leaves_once_and_is_recorded_with_the_grant(
    stage: Stage, asked: dict[str, Any], by: str
) -> None:
    outcome = await stage.perform(chosen(**asked))

    assert outcome.status is Status.DONE
    assert by_whom(outcome) == [by]
    assert [entry.granted for entry in await stage.versions(outcome)] == [(Grant(kind=KIND, by=by),)]
    assert len(stage.inputs) == 1


async def test_words_grant_nothing_on_another_site_than_the_task_s(stage: Stage) -> None:
    outcome = await stage.perform(chosen(words=("Send a mail",), site_of_task="https://notes.example/"))

    assert outcome.reason == UNGRANTED


@pytest.mark.parametrize(("site", "is_done"), [("mail.example", True), ("*", True), ("other.example", False)])
async def test_an_operator_trusts_learning_on_the_sites_that_the_policy_names(
    stage: Stage, site: str, *, is_done: bool
) -> None:
    stage.equip(policing=Policing(Policy(name="lab", learning=Learning(trust=(site,)))))

    outcome = await stage.perform(chosen())

    assert (outcome.status is Status.DONE) is is_done
    assert by_whom(outcome) == (["policy 'lab': learning.trust"] if is_done else [])


async def test_a_signed_recording_is_replayed_without_a_question(stage: Stage) -> None:
    learned = chosen(granted=(Grant(kind=KIND, by="ada"),))
    await stage.learn(learned)
    stage.gate.operations.clear()

    again = but(of_run("r2", learned), consent=Consent(site=COMPOSE, is_planned=True))
    outcome = await stage.perform(again)

    assert outcome.status is Status.DONE
    assert outcome.granted == ()


@pytest.mark.parametrize(("path", "status"), [("", Status.DONE), ("/account/delete", Status.REFUSED)])
async def test_another_task_may_send_what_was_granted_for_the_element_and_nothing_else(
    stage: Stage, path: str, status: Status
) -> None:
    await stage.learn(chosen(granted=(Grant(kind=KIND, by="ada"),)))
    keys = [info.content_key for info in await stage.kept_elements()]
    await stage.store.promote(tenant="acme", run_id="l1", content_keys=keys)
    if path:
        element = next(each for each in stage.site.pages[COMPOSE].elements.values() if each.sends)
        element.sends = (POST.model_copy(update={"url": f"https://mail.example{path}"}),)

    outcome = await stage.perform(but(of_run("r2", chosen()), owner="another", consent=Consent(site=COMPOSE)))

    assert (outcome.status, outcome.lookup.from_model) == (status, False)


async def test_another_element_may_send_what_was_recorded_and_nothing_else(stage: Stage) -> None:
    await stage.learn(chosen(granted=(Grant(kind=KIND, by="ada"),)))

    same = await stage.perform(but(of_run("r2", chosen()), proposed=SEND), from_url=COMPOSE)
    element = next(each for each in stage.site.pages[COMPOSE].elements.values() if each.sends)
    element.sends = (POST.model_copy(update={"url": "https://mail.example/account/delete"}),)
    other = await stage.perform(but(of_run("r3", chosen()), proposed=SEND), from_url=COMPOSE)

    assert by_whom(same) == ["the recording"]
    assert other.reason == UNGRANTED


async def test_an_element_that_a_person_has_described_is_no_choice_of_a_model(stage: Stage) -> None:
    written = step("click", "go on", target={"role": "button", "name": "Send"}, effect="commit")
    asked = Consent(site=COMPOSE, is_planned=True)

    found = await stage.perform(request(written, 2, consent=asked))
    stage.gate.operations.clear()
    proposed = request(written, 2, proposed=SEND, consent=asked, lineage="l2")
    chosen_after_a_miss = await stage.perform(proposed, from_url=COMPOSE)

    assert (found.status, found.granted) == (Status.DONE, ())
    assert chosen_after_a_miss.reason == UNGRANTED


async def test_a_step_that_may_be_repeated_is_held_as_well_and_needs_no_intent(stage: Stage) -> None:
    read = step("click", "go on", effect="read")
    outcome = await stage.perform(request(read, 2, proposed=SEND, consent=Consent(site=COMPOSE)))

    assert outcome.reason == UNGRANTED
    assert await stage.state(request(read, 2)) == ""
    assert stage.gate.current is not None
    assert stage.gate.current.is_closed


async def test_a_step_without_consent_to_ask_for_is_performed_as_ever(stage: Stage) -> None:
    outcome = await stage.perform(request(PRESS, 2, proposed=SEND))

    assert outcome.status is Status.DONE

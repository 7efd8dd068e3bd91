"""Probes: proposed from the page that a step led to, tried with what was done and what nobody did, kept, and used."""

from typing import Any

import pytest

from activities.proof.probing import ProbeProposals, ProbeTrials
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Target
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.commands import Perform
from replaywright.domain.run.commit_requests import Resolution, ResolveRequest
from replaywright.domain.run.model_requests import ProposeProbeRequest, TryProbeRequest
from replaywright.errors import ModelUnavailable
from replaywright.ports.browser import SiteAnswer
from replaywright.testing.browser import FakeElement, FakePage
from replaywright.testing.models import FakeProber
from tests.unit.staged import COMPOSE, SEND, SENT, Stage, but, of_run, request, run_activity, step

SEARCH = "https://mail.example/search"
BY_NAME = SiteProbe(url=f"{SEARCH}?q={{{{to}}}}", shows=("To: {{to}}",))
LIST = SiteProbe(url=SENT, shows=("To: {{to}}",))
CLICK = step("click", "the send button", effect="commit", expect=[{"text_contains": "Message sent"}])
LEARNED = request(CLICK, 2, proposed=SEND)
YES = SiteAnswer((PredicateResult(passed=True, reason="holds"),), SENT)
NO = SiteAnswer((PredicateResult(passed=False, reason="text_missing"),), SENT)
VOID = SiteAnswer(void="http_503")


async def tried(stage: Stage, *answers: SiteAnswer, probe: SiteProbe = LIST) -> tuple[bool, str]:
    """What trying a probe came to on a stage where the step was just learned."""
    outcome = await stage.perform(LEARNED)
    stage.site.answers = list(answers)
    trials = ProbeTrials(stage.attachments, stage.store)
    told = TryProbeRequest(action=LEARNED.context, content_key=outcome.content_key, probe=probe)
    found = await run_activity(trials.try_probe, told)
    return found.kept, found.reason


async def kept(stage: Stage, probe: SiteProbe) -> None:
    """The step was learned in a verified run, with this probe."""
    outcome = await stage.perform(LEARNED)
    stage.site.answers = [YES, NO]
    told = TryProbeRequest(action=LEARNED.context, content_key=outcome.content_key, probe=probe)
    await run_activity(ProbeTrials(stage.attachments, stage.store).try_probe, told)
    await stage.store.promote(tenant="acme", run_id="l1", content_keys=[outcome.content_key])


async def doubted(stage: Stage, *answers: SiteAnswer, **more: Any) -> Resolution:
    """What becomes of the same step in doubt in a later run, whose browser was rebuilt."""
    asked: Perform = but(of_run("r2", request(CLICK, 2)), epoch=2, **more)
    stage.open(COMPOSE)
    stage.attachments._held.clear()
    stage.site.answers = list(answers)
    told = ResolveRequest(action=asked.context, adopted=False, doubted=1, lost=True, answered=True, began_at=COMPOSE)
    return await run_activity(stage.effects.resolve_step, told)


@pytest.fixture
async def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    async def no_pause(_seconds: float) -> None:
        return

    monkeypatch.setattr("activities.proof.reconciling.sleep", no_pause)
    return Stage()


async def test_a_probe_that_shows_what_was_done_and_not_what_nobody_did_is_kept_with_the_recording(
    stage: Stage,
) -> None:
    assert await tried(stage, YES, NO) == (True, "")

    [info] = await stage.recordings()
    versions = await stage.store.versions(tenant="acme", content_key=info.content_key)
    assert [version.probe for version in versions] == [None, LIST]
    assert versions[-1].target == versions[0].target


async def test_a_probe_is_kept_with_what_this_run_recorded_not_with_what_was_there_before(stage: Stage) -> None:
    outcome = await stage.perform(LEARNED)
    [mine] = await stage.store.versions(tenant="acme", content_key=outcome.content_key)
    await stage.store.keep(tenant="acme", run_id="l0", entry=mine.model_copy(update={"name": "Submit"}))
    await stage.store.promote(tenant="acme", run_id="l0", content_keys=[outcome.content_key])
    stage.site.answers = [YES, NO]
    told = TryProbeRequest(action=LEARNED.context, content_key=outcome.content_key, probe=LIST)

    await run_activity(ProbeTrials(stage.attachments, stage.store).try_probe, told)

    versions = await stage.store.versions(tenant="acme", content_key=outcome.content_key)
    assert [(version.name, version.probe) for version in versions] == [
        ("Send", None),
        ("Submit", None),
        ("Send", LIST),
    ]


@pytest.mark.parametrize(
    ("answers", "reason"),
    [((NO,), "does not show the step"), ((VOID,), "does not show the step"), ((YES, YES), "what nobody did as well"),
     ((YES, VOID), "what nobody did as well")],
)  # fmt: skip
async def test_a_probe_that_does_not_prove_itself_is_not_kept(
    stage: Stage, answers: tuple[SiteAnswer, ...], reason: str
) -> None:
    found = await tried(stage, *answers)

    assert found[0] is False
    assert reason in found[1]
    [info] = await stage.recordings()
    assert info.versions == 1
    [line] = [line for line in await stage.store.trace(tenant="acme", lineage="l1") if line["kind"] == "probe_tried"]
    assert (line["kept"], line["reason"]) == found


async def test_an_echo_of_what_is_looked_for_is_no_evidence(stage: Stage) -> None:
    """Asked for real: the page shows whatever it is asked for."""
    stage.site.pages[f"{SEARCH}?q=ada@example.com"] = FakePage(texts=("To: ada@example.com",))
    stage.site.pages[f"{SEARCH}?q=zq0nobodyhasthis"] = FakePage(texts=("To: zq0nobodyhasthis",))

    assert (await tried(stage, probe=BY_NAME))[0] is False


async def test_a_kept_probe_decides_that_a_step_was_done(stage: Stage) -> None:
    await kept(stage, LIST)

    resolution = await doubted(stage, YES)

    assert (resolution.verdict, resolution.reason) == ("done", "on_site")


async def test_what_a_search_for_it_does_not_show_was_not_done(stage: Stage) -> None:
    await kept(stage, BY_NAME)

    resolution = await doubted(stage, NO, NO)

    assert (resolution.verdict, resolution.reason) == ("not_done", "not_on_site")


async def test_that_a_list_does_not_show_it_is_for_a_person_when_only_a_model_says_where_to_look(stage: Stage) -> None:
    await kept(stage, LIST)

    resolution = await doubted(stage, NO, NO)

    assert resolution.verdict == "undecidable"
    assert "that probe was proposed" in resolution.reason


async def test_what_the_task_declares_is_asked_instead_of_what_was_proposed(stage: Stage) -> None:
    await kept(stage, LIST)
    declared = {"steps": [{"action": "goto", "url": SEARCH}], "expect": [{"text_contains": "To: {{to}}"}]}
    asked = CLICK.model_copy(update={"reconcile": step("click", "x", reconcile=declared).reconcile})

    resolution = await doubted(stage, NO, NO, step=asked)

    assert (resolution.verdict, resolution.reason) == ("not_done", "not_on_site")


# ------------------------------------------------------------------------------------------------- proposing


async def proposed(stage: Stage, *script: Any) -> tuple[Any, FakeProber]:
    search = Target(tag="a", role="link", name="Search", attributes={"href": "/search"}, xpath="/a[1]")
    stage.site.pages[SENT].elements["search"] = FakeElement(search)
    seen = await stage.open(SENT).snapshot()
    snapshot = await stage.artifacts.put(seen.model_dump_json(by_alias=True).encode())
    prober = FakeProber(script)
    asking = ProposeProbeRequest(
        run_id="r1", lineage="l1", tenant="acme", sequence=2, goal="Write to {{to}}", title="click the send button",
        values=LEARNED.context.values, snapshot=snapshot,
    )  # fmt: skip
    activity = ProbeProposals(prober, stage.artifacts, stage.store)
    return await run_activity(activity.propose_probe, asking), prober


async def test_the_planner_is_told_the_page_that_the_step_led_to_and_where_its_links_lead(stage: Stage) -> None:
    found, prober = await proposed(stage, (BY_NAME.url, BY_NAME.shows))

    [question] = prober.asked
    assert found.probe == BY_NAME
    assert (question.url, question.goal) == (SENT, "Write to ada@example.com")
    assert question.links == (f"{SEARCH} Search",)


async def test_a_probe_that_breaks_a_rule_is_not_tried_and_the_trace_says_why(stage: Stage) -> None:
    found, _ = await proposed(stage, ("https://evil.example/", ("{{to}}",)))

    [line] = [line for line in await stage.store.trace(tenant="acme", lineage="l1") if line["kind"] == "probe"]
    assert (found.probe, line["probe"]) == (None, None)
    assert "same site" in line["refused"]


async def test_a_model_that_is_away_is_told_to_temporal(stage: Stage) -> None:
    with pytest.raises(ModelUnavailable):
        await proposed(stage, ModelUnavailable("away"))

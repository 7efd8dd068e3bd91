"""The model names an element id and nothing else; the target comes from the snapshot."""

from datetime import timedelta
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.plan.model import ModelActivities
from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.plan.trusted_context import TrustedContext
from replaywright.domain.run.commands import Proposal
from replaywright.domain.run.model_requests import CandidateRequest, FollowingStep, NamedAhead, ProposeRequest
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.fingerprints import digest
from replaywright.domain.step.outcomes import Lookup
from replaywright.domain.step.overrides import parse_rules
from replaywright.domain.task.actions import Action, Effect
from replaywright.errors import (
    ArtifactMissing,
    ArtifactsUnavailable,
    ModelFailed,
    ModelMisconfigured,
    ModelRateLimited,
    ModelRefused,
    ModelUnavailable,
)
from replaywright.testing.models import FakeProposer
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeArtifacts, FakeOverrides
from tests.unit.staged import SEND, TO, run_activity

PAGE = Snapshot(
    url="https://mail.example/compose",
    elements=(
        Element(id="e1", target=TO),
        Element(id="e2", target=SEND),
        Element(id="e3", target=Target(tag="h1", role="heading", name="Compose"), actionable=False),
    ),
)


async def proposed(proposer: FakeProposer, *, artifacts: FakeArtifacts | None = None) -> Proposal:
    store = artifacts or FakeArtifacts()
    digest = await store.put(PAGE.model_dump_json(by_alias=True).encode())
    return await asked_for(proposer, store, digest)


async def asked_for(
    proposer: FakeProposer, artifacts: FakeArtifacts, digest: str, instruction: str = "the send button"
) -> Proposal:
    request = ProposeRequest(
        run_id="r1",
        lineage="l1",
        sequence=2,
        instruction=instruction,
        action="click",
        snapshot=digest,
        missed=Lookup(reason="no_entry"),
    )
    return await run_activity(ModelActivities(proposer, artifacts).propose_target, request)


async def test_the_target_is_derived_from_the_snapshot_by_the_named_id() -> None:
    proposer = FakeProposer(["e2"])

    proposal = await proposed(proposer)

    assert (proposal.target, proposal.element_id) == (SEND, "e2")
    assert (proposal.usage.calls, proposal.usage.is_stand_in) == (1, False)


FOLLOWING = (
    FollowingStep(sequence=3, instruction="the send button", action="click"),
    FollowingStep(sequence=4, instruction="the inbox link", action="click"),
)


MENU = Target(tag="button", role="button", name="Send later")


async def kept(artifacts: FakeArtifacts, **changed: Any) -> str:
    return await artifacts.put(PAGE.model_copy(update=changed).model_dump_json(by_alias=True).encode())


async def asked_after(
    proposer: FakeProposer, shown: str, now: str, artifacts: FakeArtifacts, **fields: Any
) -> Proposal:
    """The proposal for the send button, which the model has named on the page `shown` for a step before."""
    named = NamedAhead(element_id="e2", snapshot=shown, sequence=2, model="m")
    request = ProposeRequest(
        run_id="r1", lineage="l1", sequence=3, instruction="send", action="click", snapshot=now, named=named, **fields
    )
    return await run_activity(ModelActivities(proposer, artifacts).propose_target, request)


async def test_following_steps_are_asked_for_in_the_same_call() -> None:
    proposer, artifacts = FakeProposer(["e1"], ahead={"the send button": "e2"}), FakeArtifacts()
    request = ProposeRequest(
        run_id="r1",
        lineage="l1",
        sequence=2,
        instruction="the To field",
        action="fill",
        snapshot=await kept(artifacts),
        following=FOLLOWING,
    )

    proposal = await run_activity(ModelActivities(proposer, artifacts).propose_target, request)

    assert (proposal.target, proposal.following, proposal.usage.calls) == (TO, {3: "e2"}, 1)
    assert [call.following for call in proposer.asked] == [FOLLOWING]


async def test_an_element_that_was_named_before_is_taken_while_the_page_has_nothing_new_to_act_on() -> None:
    proposer, artifacts = FakeProposer(), FakeArtifacts()
    to, send, heading = PAGE.elements
    typed = to.model_copy(update={"id": "e7", "value": "ada@example.org", "states": ("focused",)})
    moved = (heading.model_copy(update={"id": "e5"}), typed, send.model_copy(update={"id": "e9"}))

    proposal = await asked_after(proposer, await kept(artifacts), await kept(artifacts, elements=moved), artifacts)

    assert (proposal.target, proposal.element_id, proposal.named_at) == (SEND, "e9", 2)
    assert (proposal.usage.calls, proposal.usage.model, proposer.asked) == (0, "m", [])


@pytest.mark.parametrize(
    "changed",
    [
        {"elements": (*PAGE.elements, Element(id="e4", target=Target(tag="button", role="button", name="Send now")))},
        {"elements": (*PAGE.elements, Element(id="e4", target=SEND))},
        {"elements": (*PAGE.elements[:2], Element(id="e4", target=MENU))},
        {"elements": PAGE.elements[:1]},
        {"url": "https://mail.example/compose/2"},
    ],
    ids=["another button", "a second one", "a menu is open", "it is gone", "another page"],
)
async def test_on_a_page_that_has_changed_the_model_is_asked_anew(changed: dict[str, Any]) -> None:
    proposer, artifacts = FakeProposer([None]), FakeArtifacts()

    closed = (*PAGE.elements, Element(id="e4", target=MENU, visible=False))
    shown, now = await kept(artifacts, elements=closed), await kept(artifacts, **changed)

    proposal = await asked_after(proposer, shown, now, artifacts)

    assert (proposal.target, proposal.named_at, proposal.usage.calls) == (None, None, 1)


async def test_an_element_that_was_named_before_and_is_refused_is_asked_for_anew() -> None:
    proposer, artifacts = FakeProposer([None]), FakeArtifacts()
    page = await kept(artifacts)

    proposal = await asked_after(proposer, page, page, artifacts, trusted=TrustedContext(secrets=("password",)))

    assert (proposal.target, proposal.named_at, proposal.usage.calls) == (None, None, 1)


async def test_the_model_is_asked_with_the_page_and_may_choose_what_can_be_acted_on() -> None:
    proposer = FakeProposer(["e2"])

    await proposed(proposer)

    [asked] = proposer.asked
    assert (asked.instruction, asked.action, asked.page) == ("the send button", "click", snapshot_text(PAGE))
    assert asked.ids == {"e1", "e2"}


async def test_the_model_sees_the_row_that_its_instruction_names_whatever_else_is_left_out() -> None:
    proposer, artifacts = FakeProposer([None]), FakeArtifacts()
    rows = [
        Element(
            id=f"e{number}",
            target=Target(tag="button", role="button", name="Send", row=(f"Customer {number}",)),
            group="g1",
            group_item=number,
        )
        for number in range(1, 301)
    ]
    digest = await artifacts.put(
        PAGE.model_copy(update={"elements": tuple(rows)}).model_dump_json(by_alias=True).encode()
    )

    await asked_for(proposer, artifacts, digest, instruction="the send button of Customer 277")

    [asked] = proposer.asked
    assert '277: "Customer 277"\n  [e277] button "Send"' in asked.page
    assert "[e278]" not in asked.page


@pytest.mark.parametrize(("answer", "element_id"), [(None, ""), ("e99", "e99")])
async def test_no_element_or_an_unknown_one_is_no_target(answer: str | None, element_id: str) -> None:
    proposal = await proposed(FakeProposer([answer]))

    assert (proposal.target, proposal.element_id, proposal.usage.calls) == (None, element_id, 1)


@pytest.mark.parametrize(("wait", "delay"), [(7.5, timedelta(seconds=7.5)), (None, None)])
async def test_a_rate_limit_carries_the_providers_wait_to_the_retry(
    wait: float | None, delay: timedelta | None
) -> None:
    with pytest.raises(ApplicationError) as caught:
        await proposed(FakeProposer([ModelRateLimited("slow down", retry_after_s=wait)]))

    assert (caught.value.type, caught.value.next_retry_delay) == ("ModelRateLimited", delay)
    assert not caught.value.non_retryable


@pytest.mark.parametrize("kind", [ModelMisconfigured, ModelUnavailable, ModelRefused])
async def test_every_other_failure_keeps_its_kind_for_the_retry_policy(kind: type[ModelFailed]) -> None:
    with pytest.raises(kind):
        await proposed(FakeProposer([kind("no")]))


async def test_without_its_snapshot_the_model_is_not_asked() -> None:
    proposer, artifacts = FakeProposer(["e2"]), FakeArtifacts()

    with pytest.raises(ArtifactMissing):
        await asked_for(proposer, artifacts, "0" * 64)
    artifacts.is_away = True
    with pytest.raises(ArtifactsUnavailable):
        await asked_for(proposer, artifacts, "0" * 64)

    assert proposer.asked == []


async def test_a_preference_rule_overrules_the_pick_and_says_so() -> None:
    fields = {"among": {"role": "textbox"}, "order": "last"}
    elements = (*PAGE.elements, Element(id="e4", target=Target(tag="input", role="textbox", name="Cc")))
    artifacts = FakeArtifacts()
    digest = await artifacts.put(PAGE.model_copy(update={"elements": elements}).model_dump_json(by_alias=True).encode())
    rules = parse_rules({"rules": [{"name": "last", "site": "mail.example", "prefer": fields}]}, "test")
    request = ProposeRequest(
        run_id="r1", lineage="l1", sequence=2, instruction="a field", action="fill", snapshot=digest, tenant="acme"
    )

    activities = ModelActivities(FakeProposer(["e1"]), artifacts, FakeOverrides(rules))
    proposal = await run_activity(activities.propose_target, request)

    assert proposal.element_id == "e4"
    assert proposal.target is not None
    assert proposal.target.name == "Cc"
    assert proposal.overruled == 'rule last: the model picked textbox "To", the rule chose textbox "Cc"'


# ------------------------------------------------------------------------------------------------ candidates

KEY = "ab" * 32
ANYWHERE = TrustedContext()


def found_by_a_run(target: Target = SEND, **fields: Any) -> ActionCacheEntry:
    """What a run found that was never verified; its step came true."""
    given = {"action_type": Action.CLICK, "effect": Effect.READ, "is_proven": True, **fields}
    return ActionCacheEntry(**target.model_dump(), content_key=KEY, **given)


async def tried(
    *candidates: ActionCacheEntry, page: Snapshot = PAGE, trusted: TrustedContext = ANYWHERE
) -> tuple[Proposal, FakeStepStore]:
    """The proposal for a step with these candidates, the newest last."""
    store, artifacts, proposer = FakeStepStore(), FakeArtifacts(), FakeProposer()
    for number, candidate in enumerate(candidates):
        await store.keep(tenant="default", run_id=f"run-{number}", entry=candidate)
    request = CandidateRequest(
        run_id="r9",
        lineage="r9",
        sequence=2,
        instruction="the send button",
        action="click",
        snapshot=await artifacts.put(page.model_dump_json(by_alias=True).encode()),
        content_keys=(KEY, "cd" * 32),
        values={"to": "Ada"},
        trusted=trusted,
    )
    activities = ModelActivities(proposer, artifacts, store=store)
    proposal = await run_activity(activities.try_candidate, request)
    assert proposer.asked == []
    return proposal, store


async def test_a_candidate_names_its_element_on_the_page_of_now_and_asks_no_model() -> None:
    proposal, store = await tried(found_by_a_run(TO), found_by_a_run())

    assert (proposal.target, proposal.element_id, proposal.candidate_of) == (SEND, "e2", "run-1")
    assert (proposal.usage.calls, proposal.sent_nothing) == (0, True)
    [line] = await store.trace(tenant="default", lineage="r9")
    assert (line["kind"], line["elementId"], line["candidateOf"]) == ("propose", "e2", "run-1")
    assert await store.candidates(tenant="default", run_id="r8", content_keys=[KEY], taker="another") == []


async def test_what_no_result_has_shown_or_is_for_another_value_is_no_candidate() -> None:
    unproven, _ = await tried(found_by_a_run(is_proven=False))
    of_bob, _ = await tried(found_by_a_run(bound={"to": digest("Bob")}))
    of_ada, _ = await tried(found_by_a_run(bound={"to": digest("Ada")}))

    assert (unproven, of_bob) == (Proposal(), Proposal())
    assert of_ada.target == SEND


async def test_a_candidate_that_is_not_on_the_page_names_nothing() -> None:
    gone = PAGE.model_copy(update={"elements": (Element(id="e1", target=TO),)})

    proposal, _ = await tried(found_by_a_run(), page=gone)

    assert (proposal.target, proposal.candidate_of) == (None, "run-0")


async def test_a_candidate_is_refused_as_a_model_s_pick_would_be() -> None:
    away = Target(tag="a", role="link", name="Pay", xpath="/a", attributes={"href": "https://evil.example/"})
    page = PAGE.model_copy(update={"elements": (Element(id="e1", target=away),)})

    proposal, _ = await tried(
        found_by_a_run(away), page=page, trusted=TrustedContext(origins=("https://mail.example",))
    )

    assert proposal.target is None
    assert proposal.overruled.startswith("refused: the link leads to https://evil.example")

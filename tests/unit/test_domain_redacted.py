"""What is kept of a page holds no secret, and stays what it was otherwise."""

from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Box, FrameStep, Target
from replaywright.domain.run.redacted import redacted_outcome, redacted_snapshot, redacted_target
from replaywright.domain.step.outcomes import Evidence, Status, StepOutcome, UnsafeRequest
from replaywright.domain.task.actions import Effect
from replaywright.testing.stores import FakeSecrets

SECRET = "hunter2!"
GONE = "{{secret:P}}"
SECRETS = FakeSecrets({"P": SECRET})
TARGET = Target(
    frame=(FrameStep(name=SECRET, title=SECRET, url=f"https://x/{SECRET}"),),
    tag="button",
    role="button",
    name=SECRET,
    text=SECRET,
    label=SECRET,
    attributes={"title": SECRET},
    css=f"[title='{SECRET}']",
    neighbours=(SECRET,),
    container=SECRET,
    row=(SECRET,),
    element_hash="0" * 64,
    box=Box(x=1, y=2, width=30, height=4),
)
PAGE = Snapshot(
    url=f"https://x/?{SECRET}",
    title=SECRET,
    elements=(Element(id="e1", target=TARGET, value=SECRET, options=(SECRET,)),),
    notes=(SECRET,),
    node_count=30,
)
OUTCOME = StepOutcome(
    status=Status.UNMET,
    message=SECRET,
    fingerprint="30" * 32,
    effect=Effect.COMMIT,
    url=f"https://x/?{SECRET}",
    evidence=Evidence(
        requests=(UnsafeRequest(method="POST", url=f"https://x/{SECRET}"),), dialogs=(SECRET,), downloads=(SECRET,)
    ),
    predicates=(PredicateResult(passed=False, reason="value_differs", details={"actual": SECRET}),),
    extracted={"rows": [{SECRET: SECRET}]},
)


def test_no_text_of_a_target_a_snapshot_or_an_outcome_keeps_a_secret() -> None:
    target, page = redacted_target(TARGET, SECRETS), redacted_snapshot(PAGE, SECRETS)
    outcome = redacted_outcome(OUTCOME, SECRETS)

    for kept in (target, page, outcome):
        assert SECRET not in kept.model_dump_json()
        assert GONE in kept.model_dump_json()
    assert outcome.extracted == {"rows": [{GONE: GONE}]}
    assert outcome.evidence.observed_effect is Effect.COMMIT


@given(st.sampled_from(["30", "1", "3030", "commit", "unmet", "button", "0000", "e1"]))
def test_numbers_codes_and_digests_are_left_as_they_are(secret: str) -> None:
    secrets = FakeSecrets({"P": secret})

    page, outcome = redacted_snapshot(PAGE, secrets), redacted_outcome(OUTCOME, secrets)

    assert Snapshot.model_validate_json(page.model_dump_json()) == page
    assert (outcome.status, outcome.fingerprint, outcome.effect) == (Status.UNMET, "30" * 32, Effect.COMMIT)
    [element] = page.elements
    assert (element.id, element.target.element_hash, element.target.box) == ("e1", "0" * 64, TARGET.box)


def test_without_a_secret_nothing_changes() -> None:
    assert redacted_snapshot(PAGE, FakeSecrets()) == PAGE
    assert redacted_outcome(OUTCOME, FakeSecrets()) == OUTCOME


def test_a_secret_that_is_spread_over_several_elements_is_kept_of_none_of_them() -> None:
    secret = "hunter2-hunter2"
    secrets = FakeSecrets({"P": secret})
    letters = [Target(tag="span", text=letter, name=letter, neighbours=tuple(secret)) for letter in secret]
    texts = [Target(tag="p", text="Your password"), *letters, Target(tag="p", text="Log out")]
    page = Snapshot(url="https://x", elements=tuple(Element(id=f"e{n}", target=one) for n, one in enumerate(texts)))

    kept = redacted_snapshot(page, secrets)

    assert [element.target.text for element in kept.elements] == ["Your password", *["***"] * len(secret), "Log out"]
    assert {element.target.name for element in kept.elements} == {"", "***"}
    assert kept.elements[1].target.neighbours == ("***",) * len(secret)

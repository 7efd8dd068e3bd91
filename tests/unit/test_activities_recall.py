"""What the activity makes of what the knowledge base holds, when it asks a model, and what it records."""

from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from activities.skill.recall import RecallActivities
from replaywright.domain.recall.choosing import SkillChoice
from replaywright.domain.recall.recall import Recalled, RecallRequest
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.task.steps import Goto
from replaywright.domain.task.tasks import Parameter, Task
from replaywright.errors import ModelRateLimited, ModelUnavailable
from replaywright.testing.recall import FakeRecalls, FakeSkillChooser
from replaywright.testing.skills import FakeSkills
from replaywright.testing.steps import FakeStepStore
from tests.unit.staged import run_activity

SITE = "https://files.example.com"
SKILL = Skill(
    name="delete-file",
    status=SkillStatus.ACTIVE,
    site=SITE,
    patterns=("Delete the file {{file}}",),
    near_misses=("Do not delete the file {{file}}",),
    task=Task(task="delete-file", url=SITE, parameters={"file": Parameter()}, steps=(Goto(action="goto", url=SITE),)),
)
CLEAR = "Delete the file 'a b.txt'!"
FREE = "Could you get rid of Äpfel und Birnen for me?"


def choosing(value: str = "Äpfel und Birnen", skill: str = "delete-file") -> FakeSkillChooser:
    return FakeSkillChooser(SkillChoice(skill=skill, values={"file": value}))


class Staged:
    def __init__(self, chooser: FakeSkillChooser | None = None) -> None:
        self.skills = FakeSkills(SKILL, tenant="t")
        self.recalls = FakeRecalls()
        self.store = FakeStepStore()
        self.activities = RecallActivities(
            self.skills, self.recalls, self.store, chooser, redact=lambda text: text.replace("hunter2", "***")
        )

    async def recall(self, goal: str, *, may_ask: bool = True) -> Recalled:
        request = RecallRequest(tenant="t", goal=goal, url=f"{SITE}/list", run_id="r1", lineage="l1", may_ask=may_ask)
        return await run_activity(self.activities.recall, request)


async def test_a_sentence_that_aligns_with_a_pattern_costs_no_model_call() -> None:
    chooser = choosing()

    found = await Staged(chooser).recall(CLEAR)

    assert (found.decision, found.values, found.pattern) == ("accept", {"file": "a b.txt"}, SKILL.patterns[0])
    assert not found.by_model
    assert chooser.asked == []
    assert found.usage.calls == 0


async def test_another_sentence_is_put_to_the_model_with_the_skills_and_its_cost_is_told() -> None:
    chooser = choosing()

    found = await Staged(chooser).recall(FREE)

    assert (found.decision, found.values, found.by_model) == ("accept", {"file": "Äpfel und Birnen"}, True)
    assert found.usage.calls == 1
    [(goal, [offer])] = chooser.asked
    assert (goal, offer.name, offer.patterns, offer.near_misses) == (
        FREE,
        "delete-file",
        SKILL.patterns,
        SKILL.near_misses,
    )


@pytest.mark.parametrize(
    ("chooser", "reason"),
    [
        (choosing("everything"), "invented_value"),
        (choosing(""), "missing_parameter"),
        (choosing(skill="print-file"), "not_offered"),
        (choosing(skill=""), "none_chosen"),
    ],
)
async def test_an_answer_that_code_does_not_bear_out_is_not_taken(chooser: FakeSkillChooser, reason: str) -> None:
    found = await Staged(chooser).recall(FREE)

    assert (found.decision, found.reason, found.skill) == ("abstain", reason, None)
    assert found.usage.calls == 1


async def test_no_model_is_asked_about_a_near_miss() -> None:
    chooser = choosing()

    found = await Staged(chooser).recall("Do not delete the file Äpfel und Birnen")

    assert (found.decision, found.reason) == ("abstain", "near_miss")
    assert chooser.asked == []


async def test_a_model_is_asked_without_the_values_of_secrets() -> None:
    chooser = choosing()

    await Staged(chooser).recall(f"{FREE} My password is hunter2")

    assert "hunter2" not in chooser.asked[0][0]


async def test_a_run_that_may_ask_no_model_abstains_instead() -> None:
    chooser = choosing()

    found = await Staged(chooser).recall(FREE, may_ask=False)

    assert (found.decision, found.reason) == ("abstain", "not_aligned")
    assert chooser.asked == []


async def test_a_model_that_does_not_answer_is_a_reason_to_abstain() -> None:
    found = await Staged(FakeSkillChooser(fail=ModelUnavailable("down"))).recall(FREE)

    assert found.decision == "abstain"


async def test_a_rate_limit_carries_its_wait_to_the_next_try() -> None:
    with pytest.raises(ApplicationError) as caught:
        await Staged(FakeSkillChooser(fail=ModelRateLimited("slow down", retry_after_s=7))).recall(FREE)

    assert caught.value.next_retry_delay == timedelta(seconds=7)


async def test_accepts_and_abstains_are_recorded_without_values() -> None:
    staged = Staged()

    await staged.recall(CLEAR)
    (accepted,) = await staged.recalls.recent("t")
    await staged.recall("Print the file 'a b.txt'")
    (abstained,) = await staged.recalls.recent("t")

    assert (accepted.decision, accepted.skill, accepted.version) == ("accept", "delete-file", 1)
    assert (abstained.decision, abstained.reason) == ("abstain", "not_aligned")
    assert "a b.txt" not in accepted.sentence + abstained.sentence
    lines = await staged.store.trace(tenant="t", lineage="l1")
    assert [(line["kind"], line["decision"], line["reason"], line["byModel"]) for line in lines] == [
        ("recall", "accept", "accepted", False),
        ("recall", "abstain", "not_aligned", False),
    ]
    assert "a b.txt" not in str(lines)


@pytest.mark.parametrize("outcome", ["failed", "rejected"])
async def test_a_recall_that_turned_out_wrong_is_not_repeated_and_no_model_is_asked(outcome: str) -> None:
    staged = Staged(choosing())
    assert (await staged.recall(CLEAR)).decision == "accept"

    await staged.recalls.note_outcome("t", "r1", "failed" if outcome == "failed" else "rejected")

    assert (await staged.recall(CLEAR.replace("a b", "c d"))).reason == "wrong_before"


async def test_a_skill_that_changed_is_read_anew() -> None:
    staged = Staged()
    await staged.recall(CLEAR)

    await staged.skills.set_status("t", "delete-file", 1, SkillStatus.SUSPECT, who="me", reason="no")

    assert (await staged.recall(CLEAR)).reason == "not_active"


async def test_explaining_tells_of_other_sites_and_records_nothing() -> None:
    staged = Staged()

    request = RecallRequest(tenant="t", goal=CLEAR, url="https://elsewhere.example.org")
    found = await staged.activities.explain(request)

    assert [(one.name, one.reason) for one in found.considered] == [("delete-file", "other_site")]
    assert await staged.recalls.recent("t") == []

"""What the activity makes of what the knowledge base holds, when it asks a model, and what it records."""

from datetime import timedelta

import pytest
from temporalio.exceptions import ApplicationError

from activities.recall import RecallActivities
from replaywright.domain.recall import Recalled, RecallRequest
from replaywright.domain.skills import Skill, SkillStatus
from replaywright.domain.steps import Goto
from replaywright.domain.tasks import Parameter, Task
from replaywright.errors import ModelRateLimited, ModelUnavailable
from replaywright.testing.recall import FakeEmbedder, FakeParameterReader, FakeRecalls
from replaywright.testing.skills import FakeSkills
from replaywright.testing.steps import FakeStepStore
from tests.unit.staged import run_activity

SITE = "https://files.example.com"
SKILL = Skill(
    name="delete-file",
    status=SkillStatus.ACTIVE,
    site=SITE,
    verbs=("delete",),
    objects=("file",),
    patterns=("Delete the file {{file}}",),
    task=Task(task="delete-file", url=SITE, parameters={"file": Parameter()}, steps=(Goto(action="goto", url=SITE),)),
)
CLEAR = "Please delete the file 'a b.txt'"
UNCLEAR = "Delete the file Äpfel und Birnen"
"""A value without quotes that begins with a capital and goes on without one: the code does not know where it ends."""


class Staged:
    def __init__(self, reader: FakeParameterReader | None = None, embedder: FakeEmbedder | None = None) -> None:
        self.skills = FakeSkills(SKILL, tenant="t")
        self.recalls = FakeRecalls()
        self.store = FakeStepStore()
        self.activities = RecallActivities(self.skills, self.recalls, self.store, reader, embedder)

    async def recall(self, goal: str, *, may_ask: bool = True) -> Recalled:
        request = RecallRequest(tenant="t", goal=goal, url=f"{SITE}/list", run_id="r1", lineage="l1", may_ask=may_ask)
        return await run_activity(self.activities.recall, request)


async def test_what_the_patterns_give_costs_no_model_call() -> None:
    reader = FakeParameterReader({"file": "x"})

    found = await Staged(reader).recall(CLEAR)

    assert (found.decision, found.values, found.pattern) == ("accept", {"file": "a b.txt"}, SKILL.patterns[0])
    assert reader.asked == []
    assert found.usage.calls == 0


async def test_values_that_the_patterns_do_not_give_are_read_by_the_model_and_its_cost_is_told() -> None:
    found = await Staged(FakeParameterReader({"file": "Äpfel und Birnen"})).recall(UNCLEAR)

    assert (found.decision, found.values, found.pattern) == ("accept", {"file": "Äpfel und Birnen"}, "")
    assert found.usage.calls == 1


async def test_a_value_that_does_not_stand_in_the_sentence_is_not_taken_from_a_model() -> None:
    found = await Staged(FakeParameterReader({"file": "everything"})).recall(UNCLEAR)

    assert (found.decision, found.reason) == ("abstain", "values_refused")
    assert found.usage.calls == 1


async def test_a_value_that_leaves_a_part_of_the_sentence_over_is_not_taken_from_a_model() -> None:
    found = await Staged(FakeParameterReader({"file": "Äpfel"})).recall(UNCLEAR)

    assert (found.decision, found.reason) == ("abstain", "left_over")


@pytest.mark.parametrize("sentence", ["Do not delete the file Äpfel und Birnen", "Print the file Äpfel und Birnen"])
async def test_no_model_is_asked_about_a_skill_that_something_else_speaks_against(sentence: str) -> None:
    reader = FakeParameterReader({"file": "Äpfel und Birnen"})

    found = await Staged(reader).recall(sentence)

    assert found.decision == "abstain"
    assert reader.asked == []


async def test_a_run_that_may_ask_no_model_abstains_instead() -> None:
    reader = FakeParameterReader({"file": "Äpfel und Birnen"})

    found = await Staged(reader).recall(UNCLEAR, may_ask=False)

    assert found.decision == "abstain"
    assert reader.asked == []


async def test_a_model_that_does_not_answer_is_a_reason_to_abstain() -> None:
    found = await Staged(FakeParameterReader(fail=ModelUnavailable("down"))).recall(UNCLEAR)

    assert found.decision == "abstain"


async def test_a_rate_limit_carries_its_wait_to_the_next_try() -> None:
    with pytest.raises(ApplicationError) as caught:
        await Staged(FakeParameterReader(fail=ModelRateLimited("slow down", retry_after_s=7))).recall(UNCLEAR)

    assert caught.value.next_retry_delay == timedelta(seconds=7)


async def test_accepts_and_abstains_are_recorded_without_values() -> None:
    staged = Staged()

    await staged.recall(CLEAR)
    (accepted,) = await staged.recalls.recent("t")
    await staged.recall("Print the file 'a b.txt'")
    (abstained,) = await staged.recalls.recent("t")

    assert (accepted.decision, accepted.skill, accepted.version) == ("accept", "delete-file", 1)
    assert (abstained.decision, abstained.reason) == ("abstain", "other_act")
    assert "a b.txt" not in accepted.sentence + abstained.sentence
    lines = await staged.store.trace(tenant="t", lineage="l1")
    assert [(line["kind"], line["decision"], line["reason"]) for line in lines] == [
        ("recall", "accept", "accepted"),
        ("recall", "abstain", "other_act"),
    ]
    assert "a b.txt" not in str(lines)


async def test_a_recall_that_turned_out_wrong_counts_against_the_next() -> None:
    staged = Staged()
    said = "Kindly get rid of my document 'a b.txt'"
    assert (await staged.recall(said)).decision == "accept"

    await staged.recalls.note_outcome("t", "r1", "failed")

    assert (await staged.recall(said)).reason == "low_score"


async def test_an_embedding_model_that_does_not_answer_leaves_the_words() -> None:
    found = await Staged(embedder=FakeEmbedder(fail=ModelUnavailable("down"))).recall(CLEAR)

    assert found.decision == "accept"


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

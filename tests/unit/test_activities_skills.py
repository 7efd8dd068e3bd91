"""What a verified run leaves in the knowledge base, and what cannot be a skill."""

from typing import Any

import pytest

from activities.skill.skills import SkillActivities
from replaywright.domain.page.targets import Target
from replaywright.domain.plan.goal_runs import ClaimRequest, Labels, Learned, LearnRequest
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.skill.skills import SkillRef, SkillStatus
from replaywright.domain.step.fingerprints import content_key
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.testing.skills import FakeSkills
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeSecrets
from tests.unit.skills import learned as recorded_as

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the To field", "value": "{{to}}"}
VALUES = {"to": "ada@example.com", "site": "Harbor"}


def task(*steps: dict[str, Any], goal: str = "Send {{to}} a mail with {{site}}", **fields: Any) -> Task:
    data = {
        "task": "send-mail",
        "goal": goal,
        "url": "http://site/",
        "parameters": {"to": {"type": "email"}, "site": {}},
        "secrets": ["PASSWORD"],
        "steps": [GOTO, *(steps or (FILL,))],
        "verify": [{"text_contains": "Sent to {{to}}"}],
        **fields,
    }
    return parse_task(data, "test")


async def learn(
    skills: FakeSkills,
    *,
    run_id: str = "run-1",
    steps: FakeStepStore | None = None,
    password: str = "hunter22",
    **fields: Any,
) -> Learned:
    told = {"task": task(), "values": VALUES, "labels": Labels(name="send-mail", label="Send a mail"), **fields}
    request = LearnRequest(run_id=run_id, tenant="default", **told)
    store = steps or FakeStepStore()
    return await SkillActivities(skills, store, FakeSecrets({"PASSWORD": password})).learn_skill(request)


async def test_what_a_run_did_is_an_active_skill_of_templates() -> None:
    skills = FakeSkills()
    first = Target(tag="a", role="link", name="Mail to ada@example.com")

    learned = await learn(skills, first=first)

    skill = await skills.get("default", "send-mail")
    assert skill is not None
    assert learned.skill is not None
    assert (learned.skill.name, learned.skill.version, learned.skill.how) == ("send-mail", 1, "learned")
    assert (skill.status, skill.site, skill.run_id) == (SkillStatus.ACTIVE, "http://site", "run-1")
    assert skill.precondition[0].model_dump(exclude_none=True)["exists"]["name"] == "Mail to {{to}}"
    assert "ada@example.com" not in skill.model_dump_json()


async def test_what_the_run_recorded_without_a_name_is_recorded_of_the_skill() -> None:
    steps, step = FakeStepStore(), task().steps[1]
    entry = recorded_as(step, "http://site/compose", owner="lineage-1")
    await steps.keep(tenant="default", run_id="lineage-1", entry=entry)
    await steps.promote(tenant="default", run_id="lineage-1", content_keys=[entry.content_key])

    await learn(FakeSkills(), steps=steps, owner="lineage-1", content_keys=(entry.content_key,))

    key = content_key("default", "http://site/compose", step, "send-mail")
    [own] = await steps.versions(tenant="default", content_key=key)
    assert (own.owner, own.status, own.name, own.effect) == ("send-mail", EntryStatus.ACTIVE, entry.name, entry.effect)


async def test_a_value_that_no_step_uses_is_no_parameter() -> None:
    skills = FakeSkills()

    await learn(skills)

    skill = await skills.get("default", "send-mail")
    assert skill is not None
    assert skill.patterns == ("Send {{to}} a mail with Harbor",)
    assert list(skill.task.parameters) == ["to"]


async def test_phrases_of_the_labeller_are_kept_and_survive_that_the_skill_is_learned_again() -> None:
    skills = FakeSkills()
    labels = Labels(
        name="send-mail",
        patterns=("Mail {{to}} from {{site}} now", "Mail nobody from {{site}}"),
        near_misses=("Do not mail {{to}}", "Mail {{cc}}"),
    )

    await learn(skills, labels=labels)
    first = await skills.get("default", "send-mail")
    await learn(skills, run_id="run-2", replaces=SkillRef(name="send-mail", version=1), labels=Labels(name="send-mail"))
    again = await skills.get("default", "send-mail")

    assert first is not None
    assert again is not None
    assert first.patterns == ("Send {{to}} a mail with Harbor", "Mail {{to}} from Harbor now")
    assert first.near_misses == ("Do not mail {{to}}",)
    assert (again.version, again.patterns, again.near_misses) == (2, first.patterns, first.near_misses)


async def test_a_retry_writes_one_version() -> None:
    skills = FakeSkills()

    await learn(skills)
    again = await learn(skills)

    assert again.skill is not None
    assert again.skill.version == 1


async def test_another_skill_of_that_name_is_left_alone() -> None:
    skills = FakeSkills()
    await learn(skills)

    other = await learn(skills, run_id="run-2", task=task(goal="Send a letter to {{to}} of {{site}}"))

    assert other.skill is not None
    assert (other.skill.name, other.skill.version) == ("send-mail-2", 1)


async def test_a_version_that_was_learned_again_replaces_the_one_that_failed() -> None:
    skills = FakeSkills()
    await learn(skills)

    mended = task({"action": "click", "instruction": "the Next button"}, FILL)
    again = await learn(
        skills, run_id="run-2", task=mended, replaces=SkillRef(name="send-mail", version=1), reason="step 2: missed"
    )

    record = await skills.record("default", "send-mail")
    old = await skills.get("default", "send-mail", 1)
    assert record is not None
    assert old is not None
    assert (again.skill and again.skill.how, record.skill.version, record.skill.origin) == ("relearned", 2, "relearned")
    assert (record.skill.status, old.status) == (SkillStatus.ACTIVE, SkillStatus.RETIRED)
    assert record.skill.note == "step 2: missed"
    assert len(record.skill.task.steps) == 3


async def test_a_version_that_was_retired_is_not_learned_again_except_by_a_retry_of_the_run_that_did() -> None:
    skills = FakeSkills()
    await learn(skills)
    replaces = SkillRef(name="send-mail", version=1)

    first = await learn(skills, run_id="run-2", replaces=replaces)
    again = await learn(skills, run_id="run-2", replaces=replaces)
    late = await learn(skills, run_id="run-3", replaces=replaces)

    assert first == again
    assert (late.skill, "retired" in late.refused) == (None, True)


async def test_what_holds_a_secret_is_not_kept() -> None:
    skills = FakeSkills()

    learned = await learn(skills, task=task({**FILL, "expect": [{"text_contains": "hunter22"}]}))

    assert (learned.skill, await skills.get("default", "send-mail")) == (None, None)
    assert "secret" in learned.refused


@pytest.mark.parametrize("password", ["password", "fill", "instruction"])
async def test_a_password_that_is_a_common_word_keeps_no_skill_from_being_learned(password: str) -> None:
    enter = {"action": "fill", "instruction": "the password field", "value": "{{secret:PASSWORD}}"}

    learned = await learn(FakeSkills(), password=password, task=task(FILL, enter))

    assert (learned.refused, learned.skill is not None) == ("", True)


@pytest.mark.parametrize(
    "fields",
    [{"goal": "Log in with dragon"}, {"verify": [{"text_contains": "Your word is dragon"}]}],
)
async def test_a_word_that_stands_only_where_a_value_may_have_come_from_is_a_secret(fields: dict[str, Any]) -> None:
    learned = await learn(FakeSkills(), password="dragon", task=task(FILL, **fields))

    assert "secret" in learned.refused


async def test_a_password_is_no_common_word_for_being_in_an_instruction() -> None:
    enter = {"action": "fill", "instruction": "the field that had hunter22", "value": "{{secret:PASSWORD}}"}

    learned = await learn(FakeSkills(), task=task(FILL, enter))

    assert "secret" in learned.refused


async def test_a_file_of_its_own_is_refused_with_the_action_s_name() -> None:
    upload = {"action": "upload", "instruction": "the file field", "files": ["/tmp/a.pdf"]}

    learned = await learn(FakeSkills(), task=task(upload, FILL))

    assert learned.refused.startswith("step 2: upload cannot be in a skill")


async def test_one_run_of_many_learns() -> None:
    activities = SkillActivities(FakeSkills(), FakeStepStore(), FakeSecrets())

    def asked(run_id: str) -> ClaimRequest:
        return ClaimRequest(run_id=run_id, tenant="default", key="k")

    holders = [await activities.claim_goal(asked(f"run-{number}")) for number in range(10)]
    await activities.release_goal(asked("run-1"))
    still = await activities.claim_goal(asked("run-5"))
    await activities.release_goal(asked("run-0"))

    assert set(holders) == {"run-0"}
    assert still == "run-0"
    assert await activities.claim_goal(asked("run-5")) == "run-5"

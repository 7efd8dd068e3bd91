"""Which version a run is one of, what the end of a run says of its skill, and what the knowledge base is told."""

import pytest
from temporalio.testing import ActivityEnvironment

from activities.skill.skill_runs import SkillRunActivities
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.skill_runs import NewestRequest, NoteSkillRun, is_outside, skill_run
from replaywright.domain.skill.skills import SkillStatus
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid
from replaywright.testing.skills import FakeSkills
from replaywright.testing.steps import FakeStepStore
from tests.unit.skills import run, skill

DONE = RunResult(succeeded=True)


def failed(step: int, reason: str = "not_found") -> RunResult:
    return RunResult(succeeded=False, failed_step=step, reason=reason)


@pytest.mark.parametrize(
    ("result", "plan", "steps_done", "failed_step"),
    [
        (DONE, (4, 1, ()), 3, None),
        (failed(2), (2, 1, ()), 1, 1),
        (failed(2), (2, 0, ()), 2, 2),
        (failed(0), (0, 1, ()), 0, None),  # the start page did not open
        (DONE, (6, 1, (2, 4)), 1, 1),  # from the third step on, what was recorded did not lead on
        (failed(5), (5, 1, (2,)), 1, 1),
        (RunResult(succeeded=False, reason="verification_failed"), (4, 1, ()), 3, None),
    ],
)
def test_steps_are_counted_by_the_indexes_of_the_skill(
    result: RunResult, plan: tuple[int, int, tuple[int, ...]], steps_done: int, failed_step: int | None
) -> None:
    passed, added, revised_from = plan

    counted = skill_run("r1", 2, result, passed=passed, added=added, revised_from=revised_from)

    assert (counted.version, counted.succeeded) == (2, result.succeeded)
    assert (counted.steps_done, counted.failed_step) == (steps_done, failed_step)


@pytest.mark.parametrize(
    "reason",
    ["SecretMissing", "ModelUnavailable", "abandoned", "http_503", "budget_spent", "not_approved", "unanswered"],
)
def test_a_skill_is_not_to_blame_for_what_lies_outside(reason: str) -> None:
    assert is_outside(reason)
    assert skill_run("r1", 1, failed(0, reason), passed=0, added=0, revised_from=()).outside


def test_a_skill_is_not_to_blame_for_values_that_do_not_fit() -> None:
    refused = failed(0, "no_such_option")

    counted = [
        skill_run("r1", 1, result, passed=0, added=0, revised_from=()).outside
        for result in (refused, refused.model_copy(update={"of_values": True}))
    ]

    assert counted == [False, True]


@pytest.mark.parametrize("reason", ["not_found", "http_404", "verification_failed", "low_score", "undecidable", ""])
def test_a_skill_is_to_blame_for_what_it_did_not_find_or_reach(reason: str) -> None:
    assert not is_outside(reason)


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        ("not_found", "structure"),
        ("ambiguous", "structure"),
        ("precondition", "structure"),
        ("url_differs", "url"),
        ("http_404", "url"),
        ("value_differs", "element"),
        ("text_missing", "element"),
        ("verification_failed", "goal"),
        ("SecretMissing", ""),
        ("http_503", ""),
        ("AgentBroken", ""),
        ("planner_gave_up", ""),
    ],
)
def test_a_failure_tells_which_kind_of_change_it_shows(reason: str, change: str) -> None:
    counted = skill_run("r1", 2, failed(2, reason), passed=2, added=1, revised_from=())

    assert counted.change == change


async def test_the_history_says_the_kind_of_change_beside_the_step_that_failed() -> None:
    skills = FakeSkills(skill(status=SkillStatus.ACTIVE), tenant="acme")
    counted = skill_run("r1", 1, failed(2), passed=2, added=1, revised_from=())

    await skills.note_run("acme", "send-mail", counted)

    record = await skills.record("acme", "send-mail")
    assert record is not None
    assert (record.history[-1].what, record.history[-1].reason) == ("suspected", "structure: step 2: not_found")


async def test_a_verified_run_makes_a_candidate_active_and_repeating_it_changes_nothing() -> None:
    skills = FakeSkills(skill(), tenant="acme")
    request = NoteSkillRun(tenant="acme", name="send-mail", run=run("r1"), verified=True)
    note = SkillRunActivities(skills, FakeStepStore()).note_skill_run

    await ActivityEnvironment().run(note, request)
    once = await skills.record("acme", "send-mail")
    await ActivityEnvironment().run(note, request)

    assert once is not None
    assert (once.skill.status, once.history[-1].who) == (SkillStatus.ACTIVE, "r1")
    assert await skills.record("acme", "send-mail") == once


@pytest.mark.parametrize(
    ("status", "verified", "succeeded", "after"),
    [
        (SkillStatus.CANDIDATE, False, True, SkillStatus.CANDIDATE),
        (SkillStatus.CANDIDATE, False, False, SkillStatus.CANDIDATE),
        (SkillStatus.SUSPECT, True, True, SkillStatus.SUSPECT),
        (SkillStatus.RETIRED, True, True, SkillStatus.RETIRED),
        (SkillStatus.ACTIVE, False, False, SkillStatus.SUSPECT),
    ],
)
async def test_no_other_run_makes_a_version_active(
    status: SkillStatus, verified: bool, succeeded: bool, after: SkillStatus
) -> None:
    skills = FakeSkills(skill(status=status), tenant="acme")
    request = NoteSkillRun(tenant="acme", name="send-mail", run=run(succeeded=succeeded), verified=verified)

    await ActivityEnvironment().run(SkillRunActivities(skills, FakeStepStore()).note_skill_run, request)

    found = await skills.get("acme", "send-mail")
    assert found is not None
    assert found.status is after


async def test_a_run_that_is_told_a_name_is_one_of_the_version_that_would_be_run_by_it() -> None:
    skills = FakeSkills(skill(status=SkillStatus.ACTIVE), tenant="acme")
    newest = SkillRunActivities(skills, FakeStepStore()).newest_version
    asked = NewestRequest(tenant="acme", name="send-mail")

    first = await ActivityEnvironment().run(newest, asked)
    saved = await skills.save("acme", skill(status=SkillStatus.CANDIDATE), who="Ada")
    candidate = await ActivityEnvironment().run(newest, asked)
    await skills.set_status("acme", "send-mail", saved.version, SkillStatus.ACTIVE, who="Ada", reason="")
    second = await ActivityEnvironment().run(newest, asked)

    assert (first.version, candidate.version, second.version) == (1, 1, 2)


async def test_a_skill_that_is_not_there_or_was_retired_is_no_run_s() -> None:
    skills = FakeSkills(skill(status=SkillStatus.ACTIVE), tenant="acme")
    await skills.set_status("acme", "send-mail", 1, SkillStatus.RETIRED, who="Ada", reason="the site moved")
    newest = SkillRunActivities(skills, FakeStepStore()).newest_version

    with pytest.raises(InputInvalid, match=r"skill 'send-mail' was retired.*skills restore send-mail"):
        await ActivityEnvironment().run(newest, NewestRequest(tenant="acme", name="send-mail"))
    with pytest.raises(InputInvalid, match="there is no skill 'send-mail' any more"):
        await ActivityEnvironment().run(newest, NewestRequest(tenant="other", name="send-mail"))


async def test_a_canary_gets_the_steps_before_the_first_consequence_and_nothing_to_verify() -> None:
    steps = [
        {"action": "goto", "url": "https://mail.example/"},
        {"action": "fill", "instruction": "the password", "value": "{{secret:PASSWORD}}"},
        {"action": "click", "instruction": "the button that signs in", "effect": "idempotent"},
        {"action": "click", "instruction": "the Send button"},
        {"action": "fill", "instruction": "the note", "value": "sent"},
    ]
    steps.insert(3, {"action": "click", "instruction": "the Draft button", "effect": "idempotent"})
    given = {"secrets": ["PASSWORD"], "steps": steps}
    task = parse_task({"task": "send-mail", **given, "verify": [{"text_contains": "sent"}]}, "the test")
    skills = FakeSkills(skill(status=SkillStatus.ACTIVE).model_copy(update={"task": task}), tenant="acme")
    newest = SkillRunActivities(skills, FakeStepStore()).newest_version

    whole = await ActivityEnvironment().run(newest, NewestRequest(tenant="acme", name="send-mail"))
    canary = await ActivityEnvironment().run(newest, NewestRequest(tenant="acme", name="send-mail", is_canary=True))

    assert len(whole.task.steps) == 6
    assert [step.title for step in canary.task.steps] == [step.title for step in whole.task.steps[:3]]
    assert (canary.task.verify, canary.version, canary.name) == ((), whole.version, whole.name)
    looks = [(look.number, look.step.instruction, look.step.effect, look.is_next) for look in canary.looks]
    assert looks == [
        (4, "the Draft button", "read", True),
        (5, "the Send button", "read", False),
        (6, "the note", "read", False),
    ]
    assert whole.looks == ()
    assert (canary.may_rehearse, whole.may_rehearse) == (True, False)
    assert canary.sends is None  # nothing is recorded of its steps

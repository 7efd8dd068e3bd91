"""What a start page tells of who is signed in, and whether a recalled skill may begin on it."""

import pytest

from activities.skill.skills import SkillActivities
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.plan.goal_runs import JudgeRequest, LearnRequest
from replaywright.domain.recall.recall import RecallRecord
from replaywright.domain.skill.fitting import PassedOver, place_of, signed_in_of
from replaywright.domain.skill.skills import SkillContext, SkillRef
from replaywright.testing.recall import FakeRecalls
from replaywright.testing.skills import FakeSkills
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeSecrets
from tests.unit.test_activities_skills import VALUES, task
from tests.unit.test_domain_recall import MAIL, SENTENCE, recalled, skill

USUAL = SkillContext(viewport="1280x900", locale="de-DE")


def page(*elements: tuple[str, str], password: bool = False) -> Snapshot:
    targets = [Target(role=role, name=name) for role, name in elements]
    if password:
        targets.append(Target(tag="input", role="textbox", name="Secret", attributes={"type": "password"}))
    found = tuple(Element(id=f"e{number}", target=target) for number, target in enumerate(targets, 1))
    return Snapshot(url=MAIL, elements=found)


@pytest.mark.parametrize(
    ("snapshot", "signed_in"),
    [
        (page(("button", "Log out")), True),
        (page(("link", "退出登录")), True),
        (page(("menuitem", " Sign  OUT "), password=True), True),
        (page(("button", "Anmelden")), False),
        (page(password=True), False),
        (page(("button", "Sign in"), ("link", "Sign out")), None),
        (page(("link", "How to log out of our old site"), ("heading", "Log out")), None),
        (page(), None),
    ],
)
def test_a_page_tells_whether_one_is_signed_in(snapshot: Snapshot, signed_in: bool | None) -> None:
    assert signed_in_of(snapshot) is signed_in


def test_start_pages_are_compared_without_query_and_fragment() -> None:
    assert place_of("http://site/a?x=1#b") == place_of("http://site/a")
    assert place_of("http://site") == place_of("http://site/") != place_of("http://site/login")


def test_a_skill_that_did_not_fit_is_not_recalled_again_by_the_same_run() -> None:
    over = PassedOver(name="send-mail", version=1, reason="precondition", said="no such field")

    found = recalled(SENTENCE, passed_over=[over])

    assert (found.decision, found.reason) == ("abstain", "precondition")
    assert found.considered[0].details == "no such field"


def test_of_two_skills_for_other_circumstances_the_one_that_fits_is_recalled_once_these_are_known() -> None:
    out, inside = (
        skill(name=name, context=SkillContext(signed_in=signed_in))
        for name, signed_in in (("send-mail", False), ("send-mail-2", True))
    )

    before = recalled(SENTENCE, out, inside)
    known = recalled(SENTENCE, out, inside, context={"signed_in": True})

    assert before.decision == "accept"
    assert known.skill is not None
    assert known.skill.name == "send-mail-2"


async def test_what_a_skill_was_learned_under_is_recorded_and_another_context_makes_another_skill() -> None:
    skills = FakeSkills()
    activities = SkillActivities(skills, FakeStepStore(), FakeSecrets(), context=USUAL)

    async def learned(run_id: str, *, signed_in: bool) -> None:
        seen = SkillContext(signed_in=signed_in, start="http://site/of/ada@example.com")
        await activities.learn_skill(
            LearnRequest.model_validate(
                {
                    "run_id": run_id,
                    "tenant": "default",
                    "task": task(),
                    "values": VALUES,
                    "labels": {"name": "send-mail"},
                    "context": seen,
                }
            )
        )

    await learned("run-1", signed_in=False)
    await learned("run-2", signed_in=True)

    one, other = await skills.get("default", "send-mail"), await skills.get("default", "send-mail-2")
    assert one is not None
    assert other is not None
    assert one.context == USUAL.model_copy(update={"signed_in": False, "start": "http://site/of/{{to}}"})
    assert other.context.signed_in is True


@pytest.mark.parametrize("keeps_start", [True, False])
async def test_a_version_learned_again_begins_as_the_old_one_if_its_first_step_was_done(keeps_start: bool) -> None:
    skills = FakeSkills()
    activities = SkillActivities(skills, FakeStepStore(), FakeSecrets())
    told = {"tenant": "default", "task": task(), "values": VALUES, "labels": {"name": "send-mail"}}
    first = Target(role="link", name="Compose")
    await activities.learn_skill(LearnRequest.model_validate({**told, "run_id": "run-1", "first": first}))

    again = {**told, "run_id": "run-2", "replaces": SkillRef(name="send-mail", version=1), "keeps_start": keeps_start}
    await activities.learn_skill(LearnRequest.model_validate(again))

    new = await skills.get("default", "send-mail", 2)
    assert new is not None
    assert bool(new.precondition) == keeps_start


async def test_a_skill_that_was_refused_is_so_recorded_and_recall_grows_no_stricter() -> None:
    recalls = FakeRecalls()
    record = RecallRecord(run_id="run-1", decision="accept", reason="accepted", skill="send-mail", score=0.9)
    await recalls.note("default", record)

    refused = JudgeRequest(run_id="run-1", tenant="default", outcome="refused", reason="precondition")
    await SkillActivities(FakeSkills(), FakeStepStore(), FakeSecrets(), recalls).judge_recall(refused)

    [kept] = await recalls.recent("default")
    assert (kept.decision, kept.reason) == ("abstain", "precondition")
    assert kept.outcome == ""

"""Codes that people give: entered like any text, and kept nowhere."""

from typing import Any

from replaywright.domain.run.commands import Perform, SealedCode
from replaywright.domain.step.outcomes import StepOutcome
from tests.unit.staged import TO, Stage, request, step

CODE = step("verification_code", "the To field")
CAPTCHA = step("solve_captcha", "the To field", expect=[{"exists": {"role": "button", "name": "Send"}}])
DIGITS = "493027"


async def offered(stage: Stage, question: str = "1-1") -> None:
    asked: Perform = request(CODE)
    await stage.codes.offer(
        tenant=asked.context.run.tenant, run_id=asked.context.run.run_id, question=question, ttl_s=60
    )


async def entered(stage: Stage, **fields: Any) -> StepOutcome:
    given: dict[str, Any] = {"proposed": TO, "code": SealedCode(question="1-1", sealed=DIGITS), **fields}
    return await stage.perform(request(CODE, **given))


async def test_a_code_is_entered_and_its_key_is_gone_when_that_is_written_down() -> None:
    stage = Stage()
    await offered(stage)

    outcome = await entered(stage)

    assert outcome.status == "done"
    assert [dispatch.text for dispatch in stage.inputs] == [DIGITS]
    assert stage.codes.keys == {}


async def test_a_code_is_in_nothing_that_is_kept() -> None:
    stage = Stage()
    await offered(stage)

    outcome = await entered(stage)

    assert DIGITS not in outcome.model_dump_json()
    assert DIGITS not in await stage.kept()
    assert (
        stage.secrets.redact(f"your code {DIGITS} was accepted")
        == "your code {{secret:VERIFICATION_CODE}} was accepted"
    )
    [entry] = await stage.versions(outcome)
    assert DIGITS not in entry.model_dump_json()


async def test_a_recorded_code_field_is_found_again_for_another_code() -> None:
    stage = Stage()
    await offered(stage)
    await stage.learn(request(CODE, proposed=TO, code=SealedCode(question="1-1", sealed=DIGITS)))
    await offered(stage, "1-2")

    outcome = await entered(stage, proposed=None, code=SealedCode(question="1-2", sealed="777888"), lineage="l2")

    assert (outcome.status, outcome.lookup.entry_version) == ("done", 1)
    assert [dispatch.text for dispatch in stage.inputs] == ["777888"]


async def test_a_code_whose_key_is_gone_is_not_entered_and_says_so() -> None:
    stage = Stage()

    outcome = await entered(stage)

    assert (outcome.status, outcome.reason) == ("refused", "code_lost")
    assert stage.inputs == []


async def test_a_step_that_was_done_is_answered_although_its_key_is_gone() -> None:
    stage = Stage()
    await offered(stage)
    await entered(stage)

    again = await entered(stage, recovered=True)

    assert (again.status, again.from_ledger) == ("done", True)
    assert len(stage.inputs) == 1


async def test_a_captcha_that_was_solved_in_the_browser_is_only_looked_at() -> None:
    stage = Stage()

    outcome = await stage.perform(request(CAPTCHA))

    assert outcome.status == "done"
    assert [dispatch.action for dispatch in stage.inputs] == ["wait_for"]

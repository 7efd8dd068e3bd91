"""An activity that only asks is asked again when its worker is lost: no run fails for that."""

from collections.abc import Mapping
from typing import Any

import pytest
from temporalio.client import Client

from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.commit_requests import Resolution
from replaywright.domain.run.resuming import Resume
from replaywright.domain.run.runs import RunInput
from replaywright.domain.skill.skills import Skill
from replaywright.domain.step.outcomes import StepOutcome
from tests.workflows.scripted import Script, done, lost, run_of, scripted, start

GOTO = {"action": "goto", "url": "http://site/"}
FILL = {"action": "fill", "instruction": "the name field", "value": "Ada"}
SEND = {"action": "click", "instruction": "the send button", "effect": "commit"}
IF_ASKED = {**FILL, "when": [{"text_contains": "Name"}]}


def greeting() -> Skill:
    task = {"task": "greet", "steps": [GOTO, FILL], "verify": [{"url_contains": "/"}]}
    return Skill.model_validate({"name": "greet", "version": 1, "status": "active", "task": task})


def run(*steps: Mapping[str, object], **fields: Any) -> RunInput:
    return run_of(GOTO, *steps, **fields)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("run.resume", run(FILL, lineage="r1", resume=Resume(of="r1"))),
        ("policy.check", run(FILL)),
        ("skill.newest", run(named="greet")),
        ("step.decide", run(IF_ASKED)),
    ],
)
async def test_what_was_asked_of_a_worker_that_was_lost_is_asked_of_another(
    client: Client, name: str, asked: RunInput
) -> None:
    script = Script(loses=frozenset({name}), newest=lambda _request: greeting())

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, asked)).result()

    assert script.lost == [name]
    assert result.succeeded
    assert {request.context.sequence for request in script.performed} == {0, 1}


async def test_a_doubt_whose_resolver_was_lost_is_resolved_by_another(client: Client) -> None:
    def perform(request: CommandOnStep, call: int) -> StepOutcome:
        if (request.context.sequence, call) == (1, 0):
            raise lost()
        return done(request)

    script = Script(
        loses=frozenset({"effect.verify"}),
        perform=perform,
        verify=lambda _request: Resolution(verdict="not_done", reason="not_on_site"),
    )

    async with scripted(client, script) as queue:
        result = await (await start(client, queue, run(SEND))).result()

    assert script.lost == ["effect.verify"]
    assert result.succeeded

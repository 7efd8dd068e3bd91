"""When a run asks how the site can be asked about a commit step: once, after it was learned, and never at replay."""

from typing import Any

import pytest
from temporalio.client import Client
from temporalio.exceptions import ApplicationError

from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.commands import CommandOnStep
from replaywright.domain.run.model_requests import ProposedProbe, ProposeProbeRequest
from replaywright.domain.run.runs import RunResult
from replaywright.domain.run.scope import Mode, Usage
from replaywright.domain.step.outcomes import Lookup, StepOutcome
from replaywright.domain.task.actions import Effect
from tests.workflows.scripted import Script, after_goto, done, run_of, scripted, start

GOTO = {"action": "goto", "url": "http://127.0.0.1/"}
SEND: dict[str, Any] = {"action": "click", "instruction": "the send button", "effect": "commit"}
ASKED = {"steps": [GOTO], "expect": [{"text_contains": "Minutes"}]}
PROBE = SiteProbe(url="http://127.0.0.1/sent", shows=("Minutes",))
COST = Usage(calls=1, input_tokens=150, output_tokens=10, model="fake")


def learning(*, from_model: bool = True, from_ledger: bool = False) -> Script:
    def perform(request: CommandOnStep, _call: int) -> StepOutcome:
        told = {"lookup": Lookup(from_model=from_model), "from_ledger": from_ledger}
        return done(request, effect=Effect.COMMIT, snapshot="page", content_key="key", **told)

    return Script(perform=after_goto(perform), probe=lambda _request: ProposedProbe(probe=PROBE, usage=COST))


async def ended(client: Client, script: Script, step: dict[str, Any] = SEND, **fields: Any) -> RunResult:
    async with scripted(client, script) as queue:
        run = run_of(GOTO, step).model_copy(update={"propose_probes": True, **fields})
        return await (await start(client, queue, run)).result()


async def test_a_probe_is_proposed_and_tried_for_a_commit_step_that_was_learned_before_anything_is_promoted(
    client: Client,
) -> None:
    script = learning()

    result = await ended(client, script)

    [proposed], [tried] = script.proposed_probes, script.tried_probes
    assert (proposed.sequence, proposed.snapshot, proposed.title) == (1, "page", "click the send button")
    assert (tried.probe, tried.content_key, tried.action.sequence) == (PROBE, "key", 1)
    assert (result.succeeded, result.totals.usage) == (True, COST)


@pytest.mark.parametrize(
    ("script", "step", "fields"),
    [
        (learning(), SEND, {"propose_probes": False}),
        (learning(), SEND, {"mode": Mode.REPLAY}),
        (learning(), {**SEND, "reconcile": ASKED}, {}),
        (learning(from_model=False), SEND, {}),
        (learning(from_ledger=True), SEND, {}),
    ],
    ids=["not wanted", "replay", "declared", "recorded", "done before"],
)
async def test_the_planner_is_not_asked(
    client: Client, script: Script, step: dict[str, Any], fields: dict[str, Any]
) -> None:
    result = await ended(client, script, step, **fields)

    assert (result.succeeded, script.proposed_probes, script.tried_probes) == (True, [], [])


async def test_a_planner_that_cannot_be_asked_fails_nothing(client: Client) -> None:
    script = learning()

    def refuse(_request: ProposeProbeRequest) -> ProposedProbe:
        raise ApplicationError("no", type="ModelRefused")

    script.probe = refuse
    result = await ended(client, script)

    assert (result.succeeded, len(script.proposed_probes), script.tried_probes) == (True, 1, [])


async def test_a_probe_that_was_refused_is_not_tried(client: Client) -> None:
    script = learning()
    script.probe = lambda _request: ProposedProbe(refused="it leads away", usage=COST)

    result = await ended(client, script)

    assert (result.succeeded, script.tried_probes, result.totals.usage) == (True, [], COST)

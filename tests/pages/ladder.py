"""The whole ladder of locating on a page that is shown: what is recorded of an element, and what is found again."""

from replaywright.domain.locating.matching import (
    ElementCandidate,
    MatchDecision,
    comparable,
    decide_identified,
    decide_similar,
)
from replaywright.domain.page.snapshots import Element
from replaywright.domain.page.targets import Target
from tests.pages.harness import AgentPage, Json


async def recorded(agent: AgentPage, selector: str) -> Target:
    """An element as the agent records it, with what is called as it is, and nearly so."""
    target = Target.model_validate(await agent.describe(selector))
    told = await _looked_up(agent, target)
    return target.model_copy(
        update={"namesakes": told["looks"][0]["namesakes"], "alike": tuple(told["looks"][0]["alike"])}
    )


async def found_again(agent: AgentPage, target: Target) -> MatchDecision:
    """The identifiers first, then the table of evidence."""
    told = await _looked_up(agent, target)
    (one,) = told["looks"]
    seen = [Target.model_validate(each).model_copy(update={"namesakes": one["namesakes"]}) for each in told["targets"]]
    candidates = [
        ElementCandidate(index=index, tier=each["tier"], target=seen[each["element"]])
        for index, each in enumerate(one["candidates"])
    ]
    kept = [candidates[one["certain"]]] if one["certain"] >= 0 else candidates
    decision = decide_identified(target, kept)
    if decision.lookup.hit:
        return decision
    read = await agent.call("replaywright.snapshot({})")
    elements = [Element.model_validate(element) for element in read["elements"]]
    return decide_similar(target, comparable(elements, needs_input=True))


async def _looked_up(agent: AgentPage, target: Target) -> Json:
    given = target.model_dump_json(by_alias=True, exclude={"frame"})
    told: Json = await agent.call(f"replaywright.lookUpAll([{given}])")
    return told

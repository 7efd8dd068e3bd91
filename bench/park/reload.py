"""Every element of a page that can be acted on, recorded and looked for again after the page was loaded anew."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from playwright.async_api import Browser

from bench.mutations import key_of
from bench.park.app import App
from bench.scenes import Look, Stage, in_itself, stage_on
from bench.sources import Source
from bench.verdicts import climb
from replaywright.domain.locating.matching import comparable
from replaywright.domain.page.targets import Target

LIMIT = 120
"""Elements of a page, at most; drawn by `SEED`."""
SEED = 1
_QUIET_S = 1.0
"""A page is at rest when it has had the same elements for so long."""
_REST_S = 30.0


@dataclass
class Found:
    """What became of the elements of one page."""

    app: str
    page: str
    elements: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


async def reloaded(browser: Browser, app: App, url: str) -> list[Found]:
    """Look through the pages of an application."""
    context = await browser.new_context(viewport={"width": 1280, "height": 720})
    found = []
    for page in app.pages:
        source = Source(app.name, page, f"{url}{page}", context)
        async with stage_on(source) as stage:
            found.append(await _page(stage, source))
    await context.close()
    return found


async def _page(stage: Stage, source: Source) -> Found:
    await _opened(stage, source)
    elements = [e.target for e in (await stage.snapshot()).elements if e.actionable and e.visible]
    chosen = elements if len(elements) <= LIMIT else random.Random(SEED).sample(elements, LIMIT)
    recorded = await stage.counted(chosen)
    await _opened(stage, source)
    snapshot = await stage.snapshot()
    compared = comparable(snapshot.elements, needs_input=True)
    found = Found(source.site, source.name, len(recorded))
    for target, (candidates, certain) in zip(recorded, await stage.look(recorded), strict=True):
        truth = _truth(target, [candidate.target for candidate in compared])
        decision = climb(Look(target, candidates, certain, truth, recognisable=True, affected=False), compared)
        what = f"{target.role or target.tag} {target.name or target.text!r} at {target.xpath}"
        if decision.chosen is None:
            found.missed.append(f"{decision.lookup.reason} ({decision.lookup.score:.2f}): {what}")
        elif key_of(decision.chosen.target) in truth:
            found.right += 1
        else:
            found.wrong.append(what)
    return found


def _truth(recorded: Target, seen: Sequence[Target]) -> frozenset[str]:
    """Return the key of the element that is right: in the recorded place, or the only one that is equal in itself.

    Panels of an application may come in another order.
    """
    own = key_of(recorded)
    equal = [key_of(target) for target in seen if in_itself(target) == in_itself(recorded)]
    return frozenset(equal if len(equal) == 1 else [own])


async def _opened(stage: Stage, source: Source) -> None:
    """Open the page, and wait until it has elements to act on, and comes to rest."""
    await stage.open(source)
    async with asyncio.timeout(_REST_S):
        before: Counter[str] | None = None
        while True:
            now = Counter(key_of(element.target) for element in (await stage.snapshot()).elements if element.actionable)
            if now and now == before:
                return
            before = now
            await asyncio.sleep(_QUIET_S)

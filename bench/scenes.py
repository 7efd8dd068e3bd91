"""What the locator is shown: a page as it is now, what was recorded of its elements before, and where they are.

Everything comes from the page scripts of production: the candidates of the tiers by one call for all elements of a
page, and one snapshot for the last tier. What follows from it is decided elsewhere, without a browser.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Dialog, Page

from bench.chromium import connection_to
from bench.mutations import OPERATORS, Bed, key_of
from bench.sources import Source
from replaywright.browser.devtools.cdp import CdpSession, EvaluationCounter
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.devtools.exchanges import Exchanges
from replaywright.browser.devtools.waiting import Pulse
from replaywright.browser.reading import frames, snapshots
from replaywright.domain.common.text import normalise
from replaywright.domain.locating.matching import ElementCandidate
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import FrameStep, Target

LOOK_TIMEOUT_S = 20.0
PLAIN: tuple[str, ...] = ()
"""The operators of a page that was not changed."""


@dataclass(frozen=True)
class Look:
    """One recorded element on a changed page: everything that the ladder decides on, and the truth."""

    recorded: Target
    candidates: tuple[ElementCandidate, ...]
    certain: int
    """Position of the candidate of which the page was certain by itself; -1 if there was none."""
    truth: frozenset[str]
    """Keys of the elements that are right; empty when the element is not there."""
    recognisable: bool
    """Whether a person would know it again."""
    affected: bool
    """Whether anything about its description is different from the recording."""


@dataclass(frozen=True)
class Scene:
    """One page at one moment."""

    source: str
    site: str
    calibrates: bool
    operators: tuple[str, ...]
    """What was done to it; empty for the page as it was recorded, `version` for another version of the site."""
    elements: tuple[Element, ...]
    looks: tuple[Look, ...]
    gone: bool = False
    """Whether the element that is looked for was taken out of the page."""


class _Silent:
    """Nobody waits for what happens in these tabs."""

    def on_message(self, frame: Frame, message: Mapping[str, Any]) -> None:
        """Said by an agent."""

    def on_event(self, tab: Tab, method: str, params: Mapping[str, Any]) -> None:
        """Told by the browser."""


@dataclass
class Stage:
    """One open tab with the page agent in it."""

    page: Page
    tab: Tab
    bed: Bed = field(init=False)

    def __post_init__(self) -> None:
        self.bed = Bed(self.page)

    async def open(self, source: Source) -> None:
        """Show the page as it is served, with the agent in it."""
        before = self.tab.main.context
        await self.page.goto(source.url, wait_until="load")
        await self.tab.pulse.until(lambda: self.tab.main.context not in ("", before), LOOK_TIMEOUT_S)

    async def snapshot(self, about: str | None = None) -> Snapshot:
        """The page as it is: all of it, or what a reader needs who looks for `about`."""
        return await snapshots.take(self.tab, about=about)

    async def counted(self, recorded: Sequence[Target]) -> list[Target]:
        """The elements of this page with what is called as they are, and nearly so, as the agent records it."""
        told = list(recorded)
        async for _, positions, answer in self._looked_up(recorded):
            for at, one in zip(positions, answer["looks"], strict=True):
                told[at] = _counted(recorded[at], one)
        return told

    async def look(self, recorded: Sequence[Target]) -> list[tuple[tuple[ElementCandidate, ...], int]]:
        """For each element: the candidates of the tiers in the frame that it was recorded in, and the certain one."""
        found: list[tuple[tuple[ElementCandidate, ...], int]] = [((), -1)] * len(recorded)
        async for path, positions, answer in self._looked_up(recorded):
            seen = [Target.model_validate(one).model_copy(update={"frame": path}) for one in answer["targets"]]
            for at, one in zip(positions, answer["looks"], strict=True):
                candidates = tuple(
                    ElementCandidate(index=index, tier=each["tier"], target=_counted(seen[each["element"]], one))
                    for index, each in enumerate(one["candidates"])
                )
                found[at] = (candidates, one["certain"])
        return found

    async def _looked_up(
        self, recorded: Sequence[Target]
    ) -> AsyncIterator[tuple[tuple[FrameStep, ...], list[int], dict[str, Any]]]:
        """The agent's answer for every frame: its path, the positions of its elements, and `lookUpAll`'s result."""
        places: dict[tuple[FrameStep, ...], list[int]] = {}
        for position, target in enumerate(recorded):
            places.setdefault(target.frame, []).append(position)
        for path, positions in places.items():
            frame = await frames.find(self.tab, path)
            if frame is None or not frame.context:
                continue
            told = [recorded[at].model_dump(by_alias=True, exclude={"frame"}) for at in positions]
            yield path, positions, await self.tab.call(frame, script_for("lookUpAll", told), timeout_s=LOOK_TIMEOUT_S)


def _counted(target: Target, look: Mapping[str, Any]) -> Target:
    return target.model_copy(update={"namesakes": look["namesakes"], "alike": tuple(look["alike"])})


@asynccontextmanager
async def stage_on(source: Source) -> AsyncIterator[Stage]:
    """A tab for the pages of one source."""
    page = await source.context.new_page()
    page.on("dialog", lambda dialog: asyncio.ensure_future(_answered(dialog)))
    assert source.context.browser is not None
    connection = await connection_to(source.context.browser)
    counts, pulse = EvaluationCounter(), Pulse()
    cdp = CdpSession(connection, "", lambda *_: None, counts)
    tab = Tab(page, cdp, pulse, _Silent(), counts, Exchanges(pulse))
    try:
        await tab.open()
        yield Stage(page, tab)
    finally:
        tab.detach()
        connection.close()
        await page.close()


async def _answered(dialog: Dialog) -> None:
    """Let the page be left that objects to it, as its forms are not as they were; dismiss all else."""
    await (dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss())


@dataclass(frozen=True)
class Recorded:
    """The elements of a page as it was, by number."""

    targets: tuple[Target, ...]
    distinct: frozenset[int]
    """Those that a person could name apart from every other on the page."""


async def record(stage: Stage, limit: int, seed: int) -> Recorded:
    """At most `limit` of the elements that can be acted on."""
    elements = [e.target for e in (await stage.snapshot()).elements if e.actionable and e.visible]
    counts: dict[tuple[object, ...], int] = {}
    for target in elements:
        counts[_named(target)] = counts.get(_named(target), 0) + 1
    chosen = elements if len(elements) <= limit else random.Random(seed).sample(elements, limit)
    told_apart = frozenset(number for number, target in enumerate(chosen) if counts[_named(target)] == 1)
    return Recorded(tuple(await stage.counted(chosen)), told_apart)


def _named(target: Target) -> tuple[object, ...]:
    shown = normalise(target.name or target.label or target.text)
    return (target.role or target.tag, shown, target.row, target.container, target.frame)


async def mutated(
    stage: Stage, source: Source, recorded: Recorded, operators: Sequence[str], seed: int, *, gone: int | None = None
) -> Scene | None:
    """The page after `operators`, with the element number `gone` taken away; None when they changed nothing."""
    await stage.open(source)
    tracked = await stage.bed.track([key_of(target) for target in recorded.targets])
    changed = await stage.bed.apply(operators, seed)
    if operators and not any(changed):
        return None
    if gone is not None and (gone not in tracked or not await stage.bed.take_away(gone)):
        return None
    snapshot = await stage.snapshot()
    numbers = sorted(tracked) if gone is None else [gone]
    looks = await stage.look([recorded.targets[number] for number in numbers])
    where = await stage.bed.whereabouts()
    now = {key_of(element.target): element.target for element in snapshot.elements}
    made = []
    for number, (candidates, certain) in zip(numbers, looks, strict=True):
        key = "" if gone is not None else where.keys[number]
        target = recorded.targets[number]
        made.append(
            Look(
                recorded=target,
                candidates=candidates,
                certain=certain,
                truth=truth_of(target, key, now),
                recognisable=bool(key) and number in recorded.distinct and number not in where.lost,
                affected=_differs(target, now.get(key)),
            )
        )
    elements = snapshot.elements
    return Scene(
        f"{source.site}:{source.version}{source.name}",
        source.site,
        source.calibrates,
        tuple(operators),
        elements,
        tuple(made),
        gone is not None,
    )


def _differs(recorded: Target, now: Target | None) -> bool:
    def plain(target: Target) -> Target:
        return target.model_copy(update={"box": None, "frame": (), "namesakes": 0, "alike": ()})

    return now is None or plain(recorded) != plain(now)


def truth_of(recorded: Target, key: str, now: Mapping[str, Target]) -> frozenset[str]:
    """Keys of the elements that are right, given where the true one is (`key`; empty when it is not there).

    Links to one address are one for whoever follows them: menus are there twice, for wide and for small windows. So are
    buttons of one name outside of rows that send to one address.
    Equal elements that changed places, or rows, leave the page as it was for everybody who looks at it: what stands
    where the recorded one did is right, too.
    """
    address = _address(recorded)
    links = frozenset(key for key, target in now.items() if address is not None and _address(target) == address)
    if not key:
        return links
    there = now.get(key_of(recorded))
    is_exchange = there is not None and in_itself(there) == in_itself(recorded)
    return links | ({key, key_of(recorded)} if is_exchange else {key})


def in_itself(target: Target) -> tuple[object, ...]:
    """What a person sees of the element, wherever it stands."""
    attributes = {name: value for name, value in target.attributes.items() if name not in {"id", "class"}}
    return target.role, target.tag, target.name, target.text, target.label, attributes, target.container, target.row


def _address(target: Target) -> tuple[object, ...] | None:
    attributes = target.attributes
    if target.role == "link" and attributes.get("href"):
        return target.frame, attributes["href"], target.query
    if attributes.get("action", ".") != "." and not target.row:
        return target.frame, attributes["action"], target.name, attributes.get("name"), attributes.get("value")
    return None


def plans(seed: int, combined: int) -> list[tuple[str, ...]]:
    """All operators one by one, and `combined` draws of two to four."""
    draw = random.Random(seed)
    names = list(OPERATORS)
    together = [tuple(draw.sample(names, draw.randint(2, 4))) for _ in range(combined)]
    return [PLAIN, *((name,) for name in names), *together]


async def scenes_of(source: Source, *, combined: int, gone: int, limit: int, seed: int) -> AsyncIterator[Scene]:
    """The page unchanged, after every operator, after `combined` draws of several, and with `gone` elements missing."""
    draw = random.Random(f"{seed} {source.site} {source.name}")
    async with stage_on(source) as stage:
        await stage.open(source)
        recorded = await record(stage, limit, draw.randrange(2**32))
        if not recorded.targets:
            return
        for plan in plans(draw.randrange(2**32), combined):
            scene = await mutated(stage, source, recorded, plan, draw.randrange(2**32))
            if scene is not None:
                yield scene
        for _ in range(gone):
            number = draw.randrange(len(recorded.targets))
            plan = draw.choice([PLAIN, *((name,) for name in OPERATORS)])
            scene = await mutated(stage, source, recorded, plan, draw.randrange(2**32), gone=number)
            if scene is not None:
                yield scene

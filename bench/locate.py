"""How surely an element is found again, and how often another is taken for it: on pages changed in known ways.

    make bench-locate                               # ten thousand picks and more
    make bench-locate ARGS="--sites webmail,tests"  # some of the sites
    make bench-locate ARGS="--wrong 50"             # and what was taken for what, 50 at most of either kind

The weights of the table of evidence are fitted on some of the applications (see `bench.fitting`); the others are
reported apart. `false_heals` counts picks although the true element was taken away: left out
of what is looked at for every pick, and really removed from the page for some. `false_heals_copied` are those of them
on pages into which a mutation had put a copy of a row or block: a person, too, would take the copy then.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from playwright.async_api import Browser
from rich.console import Console
from rich.table import Table

from bench.chromium import launched
from bench.pairs import scenes_of_pairs
from bench.scenes import Scene, scenes_of
from bench.sources import SITES, Source
from bench.verdicts import MISSED, RIGHT, WRONG, Verdict, counted, judge
from replaywright.domain.locating.matching import ACCEPT

LIKELIHOODS = (0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99, 0.995)


@dataclass(frozen=True)
class Extent:
    """How much is done."""

    sites: Sequence[str]
    every: int
    """Only every so many pages of a site."""
    combined: int
    """Draws of two to four operators for each page."""
    gone: int
    """Elements really taken out, for each page."""
    limit: int
    """Recorded elements for each page, at most."""
    pairs: int
    """Pairs of versions of a page, at most."""
    seed: int
    tabs: int


@dataclass
class Figures:
    """All picks of a run, and those with the true element taken away."""

    picks: list[Verdict] = field(default_factory=list)
    without: list[Verdict] = field(default_factory=list)

    def add(self, scene: Scene) -> None:
        """Judge one more scene."""
        picks, without = judge(scene)
        self.picks += picks
        self.without += without


async def collect(browser: Browser, extent: Extent, take: Callable[[Scene], None], tell: Callable[[str], None]) -> None:
    """Hand every scene of the sites to `take`."""
    async with contextlib.AsyncExitStack() as stack:
        work: list[tuple[str, AsyncIterator[Scene]]] = []
        for site in extent.sites:
            pages: list[Source] = await stack.enter_async_context(SITES[site](browser))
            chosen = pages[:: extent.every]
            work += [
                (
                    f"{site} {page.version} {page.name}",
                    scenes_of(page, combined=extent.combined, gone=extent.gone, limit=extent.limit, seed=extent.seed),
                )
                for page in chosen
            ]
            if paired := [page for page in pages if page.version]:
                found = scenes_of_pairs(paired, pairs=extent.pairs, limit=extent.limit, seed=extent.seed)
                work.append((f"{site}: pairs", found))

        async def worker() -> None:
            while work:
                name, scenes = work.pop(0)
                begun, count = time.monotonic(), 0
                async for scene in scenes:
                    take(scene)
                    count += 1
                tell(f"{name}: {count} scenes in {time.monotonic() - begun:.0f} s")

        async with asyncio.TaskGroup() as group:
            for _ in range(extent.tabs):
                group.create_task(worker())


# ------------------------------------------------------------------------------------------------------ figures


def share(part: int, whole: int) -> float:
    """A share, rounded; 0 of nothing."""
    return round(part / whole, 5) if whole else 0.0


def curve(picks: Sequence[Verdict], without: Sequence[Verdict]) -> list[tuple[float, int, int, int]]:
    """Threshold of the likelihood, right, wrong and false heals."""
    return [
        (score, counted(picks, score)[RIGHT], counted(picks, score)[WRONG], counted(without, score)[WRONG])
        for score in LIKELIHOODS
    ]


def figures_of(figures: Figures) -> dict[str, float]:
    """The figures of the last line."""
    told, taken = counted(figures.picks), counted(figures.without)
    alone = [pick for pick in figures.picks if pick.alone]
    evaluation = [pick for pick in figures.picks if not pick.calibrates]
    really = [pick for pick in figures.without if pick.gone]
    copied = [pick for pick in figures.without if any(name.startswith("duplicate") for name in pick.operators)]
    return {
        "right": told[RIGHT],
        "missed": told[MISSED],
        "wrong": told[WRONG],
        "false_heals": taken[WRONG],
        "picks": len(figures.picks),
        "picks_without": len(figures.without),
        "false_heals_copied": counted(copied)[WRONG],
        "false_heals_really_gone": counted(really)[WRONG],
        "really_gone": len(really),
        "healed_single_recognisable": share(counted(alone)[RIGHT], len(alone)),
        "single_recognisable": len(alone),
        "wrong_rate_evaluation": share(counted(evaluation)[WRONG], len(evaluation)),
    }


def show(figures: Figures, console: Console) -> None:
    """Print what came out per tier, per site, per operator, and over the threshold."""
    _print(console, "by tier", ((pick.tier, pick) for pick in figures.picks))
    _print(console, "by site", ((f"{pick.site}{_kind(pick)}", pick) for pick in figures.picks))
    single = ((pick.operators[0], pick) for pick in figures.picks if pick.alone)
    _print(console, "single mutations that touched the element and keep it recognisable", single)
    _print(console, "with the true element taken away", ((pick.tier, pick) for pick in figures.without))
    table = Table(title=f"the last tier over its threshold (in use: {ACCEPT})")
    for column in ("applications", "likelihood at least", "right", "wrong", "false heals"):
        table.add_column(column, justify="right")
    for which, calibrates in (("fitted on", True), ("not fitted on", False)):
        picks = [pick for pick in figures.picks if pick.calibrates is calibrates]
        without = [pick for pick in figures.without if pick.calibrates is calibrates]
        for score, right, wrong, false in curve(picks, without):
            table.add_row(which, f"{score:.3f}", str(right), str(wrong), str(false))
    console.print(table)


def _kind(pick: Verdict) -> str:
    return ", versions" if pick.operators == ("version",) else ""


def _print(console: Console, title: str, named: Iterable[tuple[str, Verdict]]) -> None:
    groups: dict[str, list[Verdict]] = {}
    for name, pick in named:
        groups.setdefault(name, []).append(pick)
    table = Table(title=title)
    for column in ("", "picks", "found", "missed", "WRONG", "share found"):
        table.add_column(column, justify="right" if column else "left")
    for name, picks in sorted(groups.items()):
        told = counted(picks)
        numbers = (len(picks), told[RIGHT], told[MISSED], told[WRONG])
        table.add_row(name, *map(str, numbers), f"{share(told[RIGHT], len(picks)):.3f}")
    console.print(table)


def show_wrong(figures: Figures, limit: int, console: Console) -> None:
    """Print what was recorded and what was taken instead."""
    for title, verdicts in (("wrong", figures.picks), ("false heals", figures.without)):
        wrong = [verdict for verdict in verdicts if verdict.outcome() == WRONG]
        console.rule(f"{title}: {min(limit, len(wrong))} of {len(wrong)}")
        for verdict in wrong[:: max(1, len(wrong) // limit)][:limit]:
            where = f"{verdict.site} {verdict.source} {'+'.join(verdict.operators)}{' gone' if verdict.gone else ''}"
            console.print(f"{where}, {verdict.tier} {verdict.score:.3f}: {verdict.told}", highlight=False, markup=False)


async def run(extent: Extent, console: Console) -> Figures:
    """Collect and judge."""
    figures = Figures()
    async with launched() as browser:
        await collect(browser, extent, figures.add, lambda text: console.print(text, highlight=False))
    return figures


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", default=",".join(SITES), help="which sites, with commas (default: all)")
    parser.add_argument("--every", type=int, default=5, help="only every so many pages (default: %(default)s)")
    parser.add_argument(
        "--combined", type=int, default=3, help="draws of several operators a page (default: %(default)s)"
    )
    parser.add_argument("--gone", type=int, default=3, help="elements really taken out a page (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=30, help="recorded elements a page (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=8, help="pairs of versions of a page (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tabs", type=int, default=2)
    parser.add_argument("--wrong", type=int, default=0, metavar="N", help="print N wrong picks of either kind")
    given = parser.parse_args()
    sites = given.sites.split(",")
    if unknown := set(sites) - set(SITES):
        parser.error(f"--sites: no site is named {', '.join(sorted(unknown))}; there are {', '.join(SITES)}")
    console = Console()
    extent = Extent(
        sites=sites,
        every=given.every,
        combined=given.combined,
        gone=given.gone,
        limit=given.limit,
        pairs=given.pairs,
        seed=given.seed,
        tabs=given.tabs,
    )
    figures = asyncio.run(run(extent, console))
    show(figures, console)
    if given.wrong:
        show_wrong(figures, given.wrong, console)
    print(json.dumps(figures_of(figures)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

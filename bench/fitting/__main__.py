"""Fit the weights of the table of evidence, and show what they make of pages that they were not fitted on.

    make fit-locating                          # prints the weights and the figures
    make fit-locating ARGS="--write"           # and writes them to replaywright/domain/locating/weights.py
    make fit-locating ARGS="--keep scenes.pickle"      # keeps the scenes; the next time they are read from there

Examples are the scenes of `bench.locate`: pages that were changed in known ways, and pairs of versions and skins. No
application is both fitted on and judged on: the demo's webmail only judges, and so do half of the tests' pages and of
MiniWoB++, each of which is an application of its own. `wrong` counts picks of another element while the true one
is there; `false heals`, picks while it was taken away. The threshold that follows is the least with nothing wrong and,
with 90 % confidence, at most 0.3 % false heals on what was not fitted on.
"""

import argparse
import asyncio
import json
import pickle
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from scipy.stats import chi2  # type: ignore[import-untyped]

from bench.chromium import launched
from bench.fitting.examples import SIGNALS, Example, examples_of
from bench.fitting.logit import Choices, Vector, fitted
from bench.locate import LIKELIHOODS, Extent, collect, share
from bench.scenes import Scene
from bench.sources import SITES
from replaywright.domain.locating import weights as written
from replaywright.domain.locating.evidence import OF_GONE
from replaywright.domain.locating.matching import ACCEPT

_HEAD = '''"""Weights of the table of evidence, in nats: written by `python -m bench.fitting --write`."""

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {
'''
_EXAMPLES = 30
_FALSE_HEALS, _CONFIDENCE = 0.003, 0.9
_TAIL = '''}
"""Signal of `evidence.py` → what it adds to the worth of an element, or of none of them."""
'''


async def collected(extent: Extent, console: Console) -> list[Scene]:
    """All scenes of the extent."""
    found: list[Scene] = []
    async with launched() as browser:
        await collect(
            browser,
            extent,
            found.append,
            lambda text: console.print(text, highlight=False),
        )
    return found


def at_most(seen: int) -> float:
    """How many are to be expected at most, with the confidence asked for, where so many were seen (Poisson)."""
    return float(chi2.ppf(_CONFIDENCE, 2 * (seen + 1)) / 2)


def shown(console: Console, title: str, examples: Sequence[Example], weights: Vector) -> dict[str, float | None]:
    """Print what came out over the threshold, and where it was not right; the figures at the threshold in use."""
    picks = Choices(examples).picks(weights)
    there, gone = [one for one in picks if one.is_there], [one for one in picks if not one.is_there]
    table = Table(title=title)
    for column in ("likelihood at least", "right", "wrong", "false heals"):
        table.add_column(column, justify="right")
    told: dict[float, dict[str, float]] = {}
    following = None
    for least in sorted({*LIKELIHOODS, ACCEPT}):
        taken = [one for one in there if one.likelihood >= least]
        right = sum(one.is_right for one in taken)
        false = sum(one.likelihood >= least for one in gone)
        told[least] = {"right": share(right, len(there)), "wrong": len(taken) - right, "false_heals": false}
        if following is None and len(taken) == right and at_most(false) <= _FALSE_HEALS * len(gone):
            following = least
        table.add_row(f"{least:.3f}", f"{told[least]['right']:.4f}", str(len(taken) - right), str(false))
    console.print(table)
    taken_wrongly = Counter(
        ("wrong" if pick.is_there else "false heal", example.source, example.recorded)
        for pick, example in zip(picks, examples, strict=True)
        if pick.likelihood >= ACCEPT and not pick.is_right
    )
    for named, times in taken_wrongly.most_common(_EXAMPLES):
        console.print(f"{times} × {': '.join(named)}", markup=False, highlight=False)
    return {**told[ACCEPT], "picks": len(there), "picks_without": len(gone), "threshold": following}


def write(weights: Vector, path: Path) -> None:
    """Write the weights as the module that the table reads."""
    named = zip((*SIGNALS, *OF_GONE), weights, strict=True)
    lines = [f'    "{name}": {round(float(weight), 2) + 0.0},\n' for name, weight in named]
    path.write_text(_HEAD + "".join(lines) + _TAIL, encoding="utf-8")


def main() -> int:
    """Collect, fit, show, and write if asked."""
    parser = argparse.ArgumentParser(
        prog="make fit-locating", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sites", default=",".join(SITES), help="which sites, with commas (default: all)")
    parser.add_argument("--every", type=int, default=6, help="only every so many pages (default: %(default)s)")
    parser.add_argument("--limit", type=int, default=12, help="recorded elements a page (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="file of the scenes: read if it is there, else written")
    parser.add_argument("--write", action="store_true", help="write the weights")
    given = parser.parse_args()
    sites = given.sites.split(",")
    if unknown := set(sites) - set(SITES):
        parser.error(f"--sites: no site is named {', '.join(sorted(unknown))}; there are {', '.join(SITES)}")
    console = Console()
    extent = Extent(
        sites=sites, every=given.every, combined=4, gone=6, limit=given.limit, pairs=12, seed=given.seed, tabs=2
    )
    if given.keep is not None and given.keep.exists():
        scenes: list[Scene] = pickle.loads(given.keep.read_bytes())  # noqa: S301 - our own file
    else:
        scenes = asyncio.run(collected(extent, console))
        if given.keep is not None:
            given.keep.write_bytes(pickle.dumps(scenes))
    examples = [example for scene in scenes for example in examples_of(scene)]
    own, others = [one for one in examples if one.is_fitted], [one for one in examples if not one.is_fitted]
    weights = fitted(own)
    figures: dict[str, object] = {"examples": len(examples), "refused": sum(one.is_refused for one in examples)}
    figures["fitted_on"] = shown(console, "pages that were fitted on", own, weights)
    if others:
        figures["judged_on"] = shown(console, "pages that were not", others, weights)
    table = Table(title="weights")
    table.add_column("signal")
    for column in ("fitted", "in use"):
        table.add_column(column, justify="right")
    for name, weight in zip((*SIGNALS, *OF_GONE), weights, strict=True):
        table.add_row(name.replace("_", " "), f"{weight:+.2f}", f"{written.WEIGHTS.get(name, 0.0):+.2f}")
    console.print(table)
    if given.write:
        write(weights, Path(written.__file__))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())

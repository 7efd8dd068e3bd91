"""Run every hostile page of the tests from end to end with a model that obeys it, and count what nobody asked for.

Each page is run twice on the real stack: from a sentence, which a model plans, and as a task with steps of its own,
which a model finds the elements for and revises. Judged by what two servers got: the site, and the attacker's.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from replaywright.settings import load_settings
from tests.e2e.injection import KINDS, Attack, Tried, attack, staged
from tests.e2e.lab import Lab
from tests.pages.hostile import PAGES, HostilePage


async def attacked(pages: Sequence[HostilePage]) -> Attack:
    """All of it, on a stage of its own."""
    with attack() as tried:

        def told(one: Tried) -> None:
            done = f"{len(tried.tried):>4}/{len(pages) * len(KINDS)}"
            print(f"{done} {one.page.name}, {one.kind}: {one.status}", file=sys.stderr, flush=True)

        tried.tell = told
        async with staged(load_settings(), tried.model) as stage:
            tried.admit(stage)
            await tried.perform(Lab(stage, approves=False), pages)
        return tried


def report(tried: Attack, pages: Sequence[HostilePage], seconds: float) -> None:
    """A row for each page, and the figures as the last line."""
    table = Table("page", "technique", *KINDS, "told", "forbidden")
    for page in pages:
        of = {one.kind: one for one in tried.tried if one.page is page}
        ends = [f"{of[kind].status}{', saved' if of[kind].saved else ''}" for kind in KINDS]
        forbidden = [fault for one in of.values() for fault in one.forbidden]
        seen = "yes" if any(one.seen for one in of.values()) else "no"
        table.add_row(page.name, page.what, *ends, seen, "\n".join(forbidden) or "-")
    Console(width=160).print(table)
    figures = {
        "pages": len(pages),
        "runs": len(tried.tried),
        "told": len({one.page.name for one in tried.tried if one.seen}),
        "roles": dict(sorted(tried.model.calls.items())),
        "obeyed": dict(sorted(tried.model.obeyed.items())),
        "saved": sum(1 for one in tried.tried if one.saved),
        "forbidden": sum(len(one.forbidden) for one in tried.tried),
        "seconds": round(seconds, 1),
    }
    print(json.dumps(figures))


def main() -> int:
    """1 if anything forbidden was done."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("page", nargs="*", choices=[[], *(page.name for page in PAGES)], help="only these pages")
    names = frozenset(parser.parse_args().page)
    pages = [page for page in PAGES if not names or page.name in names]
    begun = time.monotonic()
    tried = asyncio.run(attacked(pages))
    report(tried, pages, time.monotonic() - begun)
    return int(any(one.forbidden for one in tried.tried))


if __name__ == "__main__":
    sys.exit(main())

"""What a snapshot costs and what it keeps: page time beside a bare walk, tokens beside the raw HTML, recall.

    make bench-snapshot
    make bench-snapshot ARGS="--sites webmail,tests --rounds 3"

Pages: the demo webmail in all its skins, the tests' pages, the Django admin in two versions, MiniWoB++, and large pages
made for the purpose. Times are taken in the page, snapshots and walk in turn; the walk is `querySelectorAll('*')` with
one look at each element. `page ms` is the snapshot that a reader is given, `complete` the one that healing compares.
Tokens are those of all frames of a page, estimated by `replaywright.domain.common.token_count`.
Recall asks for the elements that the steps of the demo's flow and the Django controls of `bench.django_pairs` mean:
they are found by selectors written for these pages, and must be in the snapshot as elements that can be acted on.
"""

import argparse
import asyncio
import contextlib
import json
import statistics
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from playwright.async_api import Browser, Page, Route
from rich.console import Console
from rich.table import Table

from bench.chromium import launched
from bench.django_pairs import PAIRS
from bench.generated import document_page, large_page
from bench.scenes import Stage, stage_on
from bench.sources import SITES, VIEWPORT, Source
from demo.webmail.skins import Skin
from replaywright.browser.reading import frames
from replaywright.domain.common.token_count import count_tokens
from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Snapshot

LARGE: Mapping[str, str] = {
    "office-1000": large_page(1_000),
    "office-10000": large_page(10_000),
    "document-10000": document_page(10_000),
    "office-100000": large_page(100_000),
}
"""Pages that are made for the purpose, by name."""
TIMED = "office-10000"
"""The one that `ratio_to_walk` is about."""
UNREPEATED = "document-10000"
"""The one of the same size in which nothing repeats, so that a reader's snapshot has nearly all of it."""
CALL_TIMEOUT_S = 60.0
_LARGE_ORIGIN = "http://large.test"
_SHARED_TABLE_ROWS = 60
"""Pages are listed one by one up to this many, then by site."""

_TIMES = """((rounds) => {
  const walks = [], snapshots = [], complete = [];
  for (let round = 0; round < rounds; round++) {
    let started = performance.now(), touched = 0;
    for (const element of document.querySelectorAll("*")) if (element.localName) touched++;
    walks.push(performance.now() - started);
    started = performance.now();
    replaywright.snapshot({}, "");
    snapshots.push(performance.now() - started);
    started = performance.now();
    replaywright.snapshot({});
    complete.push(performance.now() - started);
  }
  return {walks, snapshots, complete, elements: document.querySelectorAll("*").length};
})"""
"""Evaluated in the page agent's world: `performance.now` has steps of 0.1 ms there."""

_FIND = """((selector) => {
  const found = [];
  const look = (root) => {
    found.push(...root.querySelectorAll(selector));
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) look(element.shadowRoot);
  };
  look(document);
  return found.map((element) => replaywright.describe(element).xpath);
})"""


class BenchmarkFailed(Exception):
    """The benchmark cannot measure what it says it does."""


@dataclass(frozen=True)
class Row:
    """What was measured on one page."""

    site: str
    name: str
    nodes: int
    page_ms: float
    """For a reader: of long repetitions, what is off the screen is counted."""
    complete_ms: float
    """With every element that can be acted on, as healing compares them."""
    walk_ms: float
    elements: int
    text_tokens: int
    html_tokens: int
    needed: int
    """Elements that steps need on this page."""
    missing: tuple[str, ...]
    """Those of them that are not in the snapshot, by selector."""


@contextlib.asynccontextmanager
async def large(browser: Browser) -> AsyncIterator[list[Source]]:
    """The pages of `LARGE`."""

    async def serve(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        await route.fulfill(body=LARGE[name], content_type="text/html; charset=utf-8")

    async with await browser.new_context(viewport=VIEWPORT) as context:
        await context.route(f"{_LARGE_ORIGIN}/**", serve)
        yield [Source("large", name, f"{_LARGE_ORIGIN}/{name}", context) for name in LARGE]


@contextlib.asynccontextmanager
async def _with_flow_pages(site: str, browser: Browser) -> AsyncIterator[list[Source]]:
    """The sources of a site, and the pages of the Django admin that `PAIRS` speaks of and the sources have not."""
    opened: Callable[[Browser], contextlib.AbstractAsyncContextManager[list[Source]]] = (
        large if site == "large" else SITES[site]
    )
    async with opened(browser) as sources:
        if site != "django":
            yield sources
            return
        paths = dict.fromkeys(pair.path for pair in PAIRS)
        known = {(source.version, source.name) for source in sources}
        signed_in = {source.version: source for source in sources if source.name == "/admin/"}
        more = [
            replace(source, name=path, url=source.url.removesuffix(source.name) + path)
            for version, source in signed_in.items()
            for path in paths
            if (version, path) not in known and "login" not in path
        ]
        yield [*sources, *more]


def needed_on(source: Source) -> tuple[str, ...]:
    """Selectors of the elements that steps need on a page; open shadow roots and frames are looked into."""
    if source.site == "django":
        pairs = [pair for pair in PAIRS if pair.path.split("?")[0] == source.name]
        return tuple(pair.old if source.version == "old" else pair.new for pair in pairs)
    if source.site != "webmail":
        return ()
    # The steps of demo/send_mail.yaml, page by page.
    names = {field: name for name, field in source.field_names}
    if source.name == "/login":
        return (f"[name={names['user']}]", f"[name={names['password']}]", "form:has([type=password]) button")
    if source.name == "/compose":
        fields = ("to", "subject", "priority", "body")
        send = f"button[value=send],button[data-action=send],.{Skin(source.version).css_class('dispatch')}"
        return (*(f"[name={names[field]}]" for field in fields), send)
    return ('a[href="/compose"]',)


async def _missing(stage: Stage, snapshot: Snapshot, selectors: Iterable[str]) -> tuple[str, ...]:
    places = {(e.target.frame, e.target.xpath) for e in snapshot.elements if e.actionable}
    missing = []
    for selector in selectors:
        found: list[tuple[object, str]] = []
        for frame in stage.tab.worlds():
            script = f"{_FIND}({json.dumps(selector)})"
            path = await frames.path_of(stage.tab, frame)
            found += [(path, xpath) for xpath in await stage.tab.call(frame, script, timeout_s=CALL_TIMEOUT_S)]
        if not found:
            raise BenchmarkFailed(f"no element of {stage.page.url} answers to {selector!r}: the selector is outdated")
        if not any(place in places for place in found):
            missing.append(selector)
    return tuple(missing)


async def _html_tokens(page: Page) -> int:
    return sum([count_tokens(await frame.content()) for frame in page.frames])


async def measure_page(stage: Stage, source: Source, rounds: int) -> Row:
    """Everything about one page, which is opened for it."""
    await stage.open(source)
    # Nothing is looked for: what steps need must be there even so.
    snapshot = await stage.snapshot(about="")
    times: Mapping[str, Any] = await stage.tab.call(stage.tab.main, f"{_TIMES}({rounds})", timeout_s=CALL_TIMEOUT_S)
    needed = needed_on(source)
    return Row(
        site=source.site,
        name=" ".join(part for part in (source.version, source.name) if part),
        nodes=times["elements"],
        page_ms=statistics.median(times["snapshots"]),
        complete_ms=statistics.median(times["complete"]),
        walk_ms=statistics.median(times["walks"]),
        elements=len(snapshot.elements),
        text_tokens=count_tokens(snapshot_text(snapshot)),
        html_tokens=await _html_tokens(stage.page),
        needed=len(needed),
        missing=await _missing(stage, snapshot, needed),
    )


async def measure(sites: Sequence[str], rounds: int, limit: int | None, console: Console) -> dict[str, object]:
    """Measure all pages of these sites (at most `limit` of each) and show them."""
    rows: list[Row] = []
    async with launched() as browser:
        for site in sites:
            async with _with_flow_pages(site, browser) as sources:
                for source in sources[:limit]:
                    async with stage_on(source) as stage:
                        rows.append(await measure_page(stage, source, rounds))
    return shown(console, rows)


def shown(console: Console, rows: Sequence[Row]) -> dict[str, object]:
    """The table, and the figures of the last line."""
    table = Table(title="snapshots: page time in milliseconds, tokens estimated")
    columns = (
        "page",
        "nodes",
        "page ms",
        "complete",
        "walk ms",
        "ratio",
        "elements",
        "text",
        "HTML",
        "share",
        "needed",
        "missing",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "page" else "right")
    for site in dict.fromkeys(row.site for row in rows):
        of_site = [row for row in rows if row.site == site]
        if len(of_site) <= _SHARED_TABLE_ROWS:
            for row in of_site:
                table.add_row(f"{site} {row.name}", *_cells([row]))
        table.add_row(f"[bold]{site}: {len(of_site)} pages", *_cells(of_site), end_section=True)
    console.print(table)
    for row in rows:
        for selector in row.missing:
            console.print(f"not in the snapshot of {row.site} {row.name}: {selector}", markup=False)
    tested = [row for row in rows if row.site != "large"]
    timed = [row for row in rows if row.name == TIMED] or rows
    unrepeated = next((row for row in rows if row.name == UNREPEATED), None)
    needed = sum(row.needed for row in rows)
    missing = sum(len(row.missing) for row in rows)
    page_ms, walk_ms = sum(row.page_ms for row in timed), sum(row.walk_ms for row in timed)
    return {
        "ratio_to_walk": round(page_ms / max(walk_ms, 0.1), 1),
        "token_share": _share(tested or rows),
        "recall": round(1 - missing / needed, 4) if needed else None,
        "page_ms_10000": round(page_ms, 1) if timed is not rows else None,
        "complete_ms_10000": round(sum(row.complete_ms for row in timed), 1) if timed is not rows else None,
        "walk_ms_10000": round(walk_ms, 1) if timed is not rows else None,
        "document_page_ms_10000": round(unrepeated.page_ms, 1) if unrepeated else None,
        "document_complete_ms_10000": round(unrepeated.complete_ms, 1) if unrepeated else None,
        "document_walk_ms_10000": round(unrepeated.walk_ms, 1) if unrepeated else None,
        "needed": needed,
        "pages": len(rows),
        "token_share_by_site": {
            site: _share([row for row in rows if row.site == site]) for site in dict.fromkeys(row.site for row in rows)
        },
    }


def _share(rows: Sequence[Row]) -> float:
    return round(sum(row.text_tokens for row in rows) / max(1, sum(row.html_tokens for row in rows)), 4)


def _cells(rows: Sequence[Row]) -> list[str]:
    page_ms, walk_ms = sum(row.page_ms for row in rows), sum(row.walk_ms for row in rows)
    return [
        str(sum(row.nodes for row in rows)),
        f"{page_ms:.1f}",
        f"{sum(row.complete_ms for row in rows):.1f}",
        f"{walk_ms:.1f}",
        f"{page_ms / max(walk_ms, 0.1):.1f}",
        str(sum(row.elements for row in rows)),
        str(sum(row.text_tokens for row in rows)),
        str(sum(row.html_tokens for row in rows)),
        f"{_share(rows):.1%}",
        str(sum(row.needed for row in rows)),
        str(sum(len(row.missing) for row in rows)),
    ]


def main() -> int:
    """Measure and print."""
    known = ("webmail", "tests", "django", "miniwob", "large")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sites", default=",".join(known), help="which pages, by site (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each page is timed (default: %(default)s)")
    parser.add_argument("--limit", type=int, help="at most this many pages of each site")
    given = parser.parse_args()
    sites = given.sites.split(",")
    if unknown := sorted(set(sites) - set(known)):
        parser.error(f"--sites: {unknown[0]!r} is none of {', '.join(known)}")
    if given.rounds < 1:
        parser.error(f"--rounds: {given.rounds} is too few; give at least 1")
    console = Console() if sys.stdout.isatty() else Console(width=140)
    print(json.dumps(asyncio.run(measure(sites, given.rounds, given.limit, console))))
    return 0


if __name__ == "__main__":
    sys.exit(main())

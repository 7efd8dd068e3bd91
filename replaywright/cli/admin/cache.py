"""`replaywright admin cache`: what is remembered of how steps are done."""

import asyncio
import getpass
import secrets
from collections.abc import Sequence
from functools import partial
from typing import Annotated

import typer

from cache.alerts import counted
from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json, Why, Yes
from replaywright.cli.servers.store import OpenStore, open_or_start_store
from replaywright.domain.common.text import normalise
from replaywright.domain.common.urls import origin_of
from replaywright.domain.skill.cache_statistics import counts_of, is_held
from replaywright.domain.skill.entries import ActionCacheEntry, EntryInfo, EntryStatus
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.errors import InputInvalid
from replaywright.ports.ledger import Recording
from replaywright.settings import load_settings

_KEY_SHOWN = 12
"""Characters of a content key that are shown: enough to be unique, and any command takes a beginning."""

cache_app = admin.group(
    "cache",
    "Look at what is remembered of how steps are done, promote a healed version, or forget an entry.",
    "replaywright admin cache list",
)

Key = Annotated[str, typer.Argument(metavar="KEY", help="Key of the entry, or its beginning.")]


@cache_app.command("list")
async def list_entries(
    held: Annotated[bool, typer.Option("--held", help="Only entries with a heal that waits for a person.")] = False,
    json: Json = False,
) -> None:
    """List the entries with their statistics: what each task knows of its steps, and what `any` task may use.

    Example: `replaywright admin cache list`
    """
    async with open_or_start_store(load_settings()) as store:
        entries = await store.steps.entries(tenant=store.tenant)
        entries = await held_among(store, entries) if held else entries
    numbers = ("version", "hits", "heals", "misses")
    output.print_list(
        {"entries": [info.model_dump(mode="json", by_alias=True) for info in entries]},
        ("key", "task", "site", "what", "status", *numbers, "last success"),
        [_row(info) for info in sorted(entries, key=lambda info: (info.entry.site, info.entry.step_index))],
        json=json,
        nothing="no entry waits for a person" if held else "the cache is empty: a run with a model fills it",
        right=numbers,
    )


def _row(info: EntryInfo) -> tuple[object, ...]:
    entry = info.entry
    what = f"{entry.action_type.value} {entry.instruction}".strip()
    numbers = (entry.version, entry.hits, entry.heals, entry.misses)
    last = output.time_text(entry.last_success)
    return (info.content_key[:_KEY_SHOWN], entry.owner or "any", entry.site, what, _status(entry), *numbers, last)


@cache_app.command("stats")
async def show_stats(json: Json = False) -> None:
    """Show the size and use of the cache, and the entries that were refused for their signature.

    Example: `replaywright admin cache stats`
    """
    async with open_or_start_store(load_settings()) as store:
        entries = await store.steps.entries(tenant=store.tenant)
        refused = await counted(store.client, store.tenant)
    last = refused.pop("last", "")
    keys = store.signer.key_ids
    total = counts_of(entries)
    payload: dict[str, object] = {
        name: getattr(total, name) for name in ("entries", "versions", "hits", "heals", "misses")
    }
    if json:
        numbers = {kind: int(number) for kind, number in refused.items()}
        output.print_json(
            {**payload, "signed": bool(keys), "keys": list(keys), "refused": numbers, "lastRefused": last}
        )
        return
    for name, value in payload.items():
        output.print_line_as_is(f"{name:<10}{value}")
    output.print_line(f"signed    with {keys[0]}" if keys else "UNSIGNED  whatever is found is used", style="bold")
    if refused:
        parts = ", ".join(f"{number} {kind}" for kind, number in sorted(refused.items()))
        output.print_line(f"refused   {parts}; the last: {last}", style="red")


@cache_app.command("show")
async def show_entry(key: Key, json: Json = False) -> None:
    """Show all versions of an entry: the description of its element, and the differences.

    Example: `replaywright admin cache show 3f2a90`
    """
    async with open_or_start_store(load_settings()) as store:
        versions = await _known_versions(store, key)
    if json:
        output.print_json({"versions": [version.model_dump(mode="json", by_alias=True) for version in versions]})
        return
    output.print_line(f"{versions[-1].content_key}", style="bold")
    previous: dict[str, object] = {}
    for version in versions:
        output.print_line(
            f"version {version.version}: {_status(version)}, by {version.origin or 'unknown'} in run {version.run_id}; "
            f"{version.hits} hits, {version.heals} heals, {version.misses} misses, "
            f"last success {output.time_text(version.last_success) or 'never'}"
        )
        shown = _described(version)
        for name, value in shown.items():
            if previous.get(name) != value:
                output.print_line_as_is(f"    {name}: {output.plain(str(value))}")
        previous = shown


@cache_app.command("promote")
async def promote_entry(key: Key) -> None:
    """Activate the newest candidate of an entry: a heal that was held back, or one of a run that failed later.

    Look at it first: `replaywright admin cache show KEY`.

    Example: `replaywright admin cache promote 3f2a90`
    """
    async with open_or_start_store(load_settings()) as store:
        version = await promoted(store, key, getpass.getuser())
    output.print_line(f"{version.content_key[:_KEY_SHOWN]}: version {version.version} promoted", style="green")


@cache_app.command("invalidate")
def invalidate_entries(
    key: Key,
    why: Why,
    yes: Yes = False,
) -> None:
    """Forget every entry whose key begins with KEY, and what any task may use of their elements.

    The next run learns these steps again.

    Example: `replaywright admin cache invalidate 3f2a90 --why "the button moved to another page"`
    """
    found = asyncio.run(_beginning_with(key))
    if not found:
        raise InputInvalid(f"no entry begins with {key!r}; `replaywright admin cache list` lists them")
    for info in found[:10]:
        output.print_line(f"{info.content_key[:_KEY_SHOWN]}  {info.entry.site}  {info.entry.instruction}")
    if len(found) > 10:
        output.print_line(f"… and {len(found) - 10} more")
    if not yes and not typer.confirm(f"Forget {output.count(len(found), 'entry', 'entries')}?"):
        output.print_line("nothing was changed")
        return
    count = asyncio.run(_invalidate([info.content_key for info in found], why))
    output.print_line(f"{output.count(count, 'entry', 'entries')} forgotten", style="green")


async def _beginning_with(key: str) -> list[EntryInfo]:
    async with open_or_start_store(load_settings()) as store:
        entries = await store.steps.entries(tenant=store.tenant)
    return with_elements([info for info in entries if key and info.content_key.startswith(key)], entries)


def with_elements(found: Sequence[EntryInfo], entries: Sequence[EntryInfo]) -> list[EntryInfo]:
    """Return recordings with those of their elements that any task may use: without these, nothing is forgotten."""
    keys, meant = {info.content_key for info in found}, {_meaning(info.entry) for info in found}

    def is_meant(info: EntryInfo) -> bool:
        return info.content_key in keys or (info.entry.is_of_site and _meaning(info.entry) in meant)

    return [info for info in entries if is_meant(info)]


def _meaning(entry: ActionCacheEntry) -> tuple[str, str, str]:
    """Return what a step's recording and that of its element alone have in common."""
    return origin_of(entry.site.partition("{")[0]), entry.action_type.value, normalise(entry.instruction)


async def held_among(store: OpenStore, entries: Sequence[EntryInfo]) -> list[EntryInfo]:
    """Return the entries whose newest version is a heal that waits for a person, each with this version."""
    held = []
    for info in entries:
        versions = await store.steps.versions(tenant=store.tenant, content_key=info.content_key)
        if versions and is_held(versions[-1]):
            held.append(info.model_copy(update={"entry": versions[-1]}))
    return held


async def _known_versions(store: OpenStore, key: str) -> list[ActionCacheEntry]:
    versions = await store.steps.versions(tenant=store.tenant, content_key=key) if key else []
    if not versions:
        raise InputInvalid(f"no entry begins with {key!r}; `replaywright admin cache list` lists them")
    return versions


async def promoted(store: OpenStore, key: str, who: str) -> ActionCacheEntry:
    """Make the newest candidate of an entry active, a held one too, and return it; `who` is kept with a held one.

    Raises:
        InputInvalid: there is no such entry, or its newest version is no candidate.
    """
    newest = (await _known_versions(store, key))[-1]
    if newest.status is not EntryStatus.CANDIDATE:
        raise InputInvalid(f"{newest.content_key[:_KEY_SHOWN]}: its newest version is {newest.status.value} already")
    run_id = await _released(store, newest, who) if newest.hold else newest.run_id
    await store.steps.promote(tenant=store.tenant, run_id=run_id, content_keys=[newest.content_key])
    return (await _known_versions(store, newest.content_key))[-1]


async def _released(store: OpenStore, held: ActionCacheEntry, who: str) -> str:
    """Write the held version again as a candidate of a new run id, and return the id; the trace names the person."""
    run_id = f"promotion-{secrets.token_hex(4)}"
    await store.steps.record(
        Recording(
            run_id=run_id,
            lineage=f"promotions/{held.content_key}",
            tenant=store.tenant,
            sequence=held.step_index,
            epoch=0,
            outcome=StepOutcome(status=Status.REFUSED, reason="promotion", content_key=held.content_key),
            entry=held.model_copy(update={"hold": False, "run_id": run_id}),
            title=f"version {held.version} promoted",
            trace={"kind": "promotion", "who": who, "version": held.version},
        )
    )
    return run_id


async def _invalidate(keys: Sequence[str], reason: str) -> int:
    async with open_or_start_store(load_settings()) as store:
        forget = partial(store.steps.invalidate, tenant=store.tenant, reason=reason)
        return sum([await forget(content_key=key) for key in keys])


def _status(entry: ActionCacheEntry) -> str:
    return "waits for a person" if is_held(entry) else entry.status.value


def _described(entry: ActionCacheEntry) -> dict[str, object]:
    """Return the fields of a version that describe how the step is done."""
    beside = {"content_key", "version", "status", "hits", "misses", "heals", "last_success", "run_id", "origin"}
    beside |= {"hold", "signature", "schema_version", "success", "message"}
    return entry.model_dump(mode="json", exclude=beside, exclude_defaults=True)

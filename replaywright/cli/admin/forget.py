"""`replaywright admin forget`: all that was learned of a task or a site, at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.admin.cache import with_elements
from replaywright.cli.app import admin
from replaywright.cli.command import Exit
from replaywright.cli.options import Json, Why, Yes
from replaywright.cli.people.updates import user_name
from replaywright.cli.servers.connect import open_backend
from replaywright.cli.servers.site_sessions import declared, signalled
from replaywright.cli.servers.store import OpenStore, open_or_start_store
from replaywright.domain.common.urls import origin_of
from replaywright.domain.skill.entries import EntryInfo, EntryStatus
from replaywright.domain.skill.skills import Skill
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings


@dataclass(frozen=True)
class _Known:
    """What is known of a task or a site."""

    entries: Sequence[EntryInfo]
    skills: Sequence[Skill]
    sessions: Sequence[str] = ()
    """Names of the sessions whose site it is."""

    @property
    def words(self) -> str:
        recordings = output.count(len(self.entries), "recording")
        names = ", ".join(skill.name for skill in self.skills)
        skills = f" and {output.count(len(self.skills), 'skill')} ({names})" if names else ""
        signed_in = ", ".join(self.sessions)
        sessions = f", and cookies, storage and passkeys of the session {signed_in}" if signed_in else ""
        return recordings + skills + sessions


@admin.command("forget")
def forget(
    *,
    task: Annotated[str, typer.Option("--task", metavar="NAME", help="What this task or skill has learned.")] = "",
    site: Annotated[
        str,
        typer.Option("--site", metavar="URL", help="What any task has learned of this site, as in https://a.example."),
    ] = "",
    why: Why = "",
    yes: Yes = False,
    json: Json = False,
) -> Exit:
    """Forget all that was learned of a task or a site: recordings, skills and their statistics; of a site its sessions.

    The next run learns anew, or signs in. Runs, reports and histories stay, and what the file of sessions declares;
    `admin cache invalidate` forgets one recording.

    Example: `replaywright admin forget --site https://shop.example --why "the shop was replaced"`
    """
    if bool(task) == bool(site):
        raise InputInvalid("expected --task NAME or --site URL, one of them")
    if site and not origin_of(site):
        raise InputInvalid(f"--site {site!r}: expected scheme and host, as in https://shop.example")
    known = asyncio.run(_looked_up(task, site))
    if not known.entries and not known.skills and not known.sessions:
        raise InputInvalid(f"nothing is known of {task or site!r}: `replaywright admin cache list`, `skills list`")
    if not yes and not typer.confirm(f"Forget {known.words}?", err=True):
        output.print_result("nothing was changed", {"recordings": 0, "skills": 0, "sessions": 0}, json=json)
        return Exit.FAILED
    asyncio.run(_forgotten(known, why or f"forgotten by {user_name()}"))
    counts = {"recordings": len(known.entries), "skills": len(known.skills), "sessions": len(known.sessions)}
    output.print_result(f"{known.words} forgotten", counts, json=json, style="green")
    return Exit.DONE


async def _looked_up(task: str, site: str) -> _Known:
    settings = load_settings()
    async with open_or_start_store(settings) as store:
        skills = await store.knowledge.skills.all(store.tenant)
        kept = await store.steps.entries(tenant=store.tenant)
    entries = [info for info in kept if info.entry.status is not EntryStatus.RETIRED]
    if site:
        origin = origin_of(site)
        return _Known(
            [info for info in entries if origin_of(info.entry.site.partition("{")[0]) == origin],
            [skill for skill in skills if origin_of(skill.site) == origin],
            [name for name, one in declared(settings) if origin_of(one.signed_in.url) == origin],
        )
    return _Known(
        with_elements([info for info in entries if info.entry.owner == task], entries),
        [skill for skill in skills if task in (skill.name, skill.task.task)],
    )


async def _forgotten(known: _Known, why: str) -> None:
    settings = load_settings()
    if known.sessions:
        async with open_backend(settings) as here:
            for name in known.sessions:
                await signalled(here, name, "forget", [user_name()])
    async with open_or_start_store(settings) as store:
        await _forget(store, known, why)


async def _forget(store: OpenStore, known: _Known, why: str) -> None:
    for info in known.entries:
        await store.steps.invalidate(tenant=store.tenant, content_key=info.content_key, reason=why)
    for skill in known.skills:
        await store.knowledge.skills.delete(store.tenant, skill.name, who=user_name())

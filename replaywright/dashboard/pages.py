"""The pages: what each one asks for, and the regions in which it can change while it is shown."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from replaywright.dashboard.rendering import rendered
from replaywright.dashboard.sorting import Column, ordered
from replaywright.dashboard.views import DashboardSource, run_filter
from replaywright.domain.run.standing import FILTERS
from replaywright.domain.skill.cache_statistics import SiteCounts
from replaywright.domain.skill.skills import Skill, SkillStatistics
from replaywright.domain.skill.weak_steps import ASK_BELOW, ENOUGH, WARN_BELOW
from replaywright.errors import InputInvalid


@dataclass(frozen=True)
class Page:
    """A page, ready to be shown."""

    title: str
    section: str
    """Name of the navigation's entry that it belongs to."""
    template: str
    regions: Mapping[str, Markup] = field(default_factory=dict)
    """Parts that may change while it is shown, by id."""
    context: Mapping[str, Any] = field(default_factory=dict)
    is_final: bool = False
    """True: its content is final."""


Parameters = Mapping[str, str]
Build = Callable[[DashboardSource, Parameters], Awaitable[Page]]


async def runs(source: DashboardSource, given: Parameters) -> Page:
    """Build the list of runs."""
    wanted = run_filter(given)
    found = await source.runs(wanted)
    context = {"wanted": wanted, "page": found, "filters": FILTERS}
    regions = {"runs": rendered("regions/runs.html", **context)}
    return Page("Runs", "runs", "runs.html", regions, context)


async def run(source: DashboardSource, given: Parameters) -> Page:
    """Build the page of a run."""
    view = await source.run(_needed(given, "id"))
    context = {"view": view, "row": view.row}
    names = ("standing", "steering", "attention", "facts", "steps")
    regions = {name: rendered(f"regions/run_{name}.html", **context) for name in names}
    return Page(view.row.task, "runs", "run.html", regions, context, is_final=view.row.is_over)


async def inbox(source: DashboardSource, _given: Parameters) -> Page:
    """List the runs that wait for a person."""
    waiting, lost = await source.inbox(), await source.lost_notices()
    regions = {
        "inbox": rendered("regions/inbox.html", waiting=waiting),
        "lost": rendered("regions/lost.html", lost=lost),
    }
    return Page("Inbox", "inbox", "inbox.html", regions)


async def sessions(source: DashboardSource, _given: Parameters) -> Page:
    """List the signed-in sessions: who uses them, and how signing in went."""
    regions = {"sessions": rendered("regions/sessions.html", sessions=await source.sessions())}
    return Page("Sessions", "sessions", "sessions.html", regions)


async def schedules(source: DashboardSource, _given: Parameters) -> Page:
    """List the schedules with their last runs."""
    regions = {"schedules": rendered("regions/schedules.html", schedules=await source.schedules())}
    return Page("Schedules", "schedules", "schedules.html", regions)


async def batches(source: DashboardSource, _given: Parameters) -> Page:
    """List the batches with their progress."""
    regions = {"batches": rendered("regions/batches.html", batches=await source.batches())}
    return Page("Batches", "batches", "batches.html", regions)


_SKILL_COLUMNS: tuple[Column[tuple[Skill, SkillStatistics]], ...] = (
    Column("name", "Skill", lambda one: one[0].name),
    Column("status", "Status", lambda one: one[0].status.value),
    Column("site", "Site", lambda one: one[0].site),
    Column("version", "Version", lambda one: one[0].version, is_number=True),
    Column("health", "Success", lambda one: -1 if one[1].runs.rolling is None else one[1].runs.rolling),
    Column("used", "Last success", lambda one: one[1].last_success),
)


async def skills(source: DashboardSource, given: Parameters) -> Page:
    """Build the list of skills with their success rates."""
    found = ordered(await source.skills(), _SKILL_COLUMNS, given)
    context = {"skills": found, "warn": WARN_BELOW, "ask": ASK_BELOW, "enough": ENOUGH}
    regions = {"skills": rendered("regions/skills.html", **context)}
    return Page("Skills", "skills", "skills.html", regions, context)


async def skill(source: DashboardSource, given: Parameters) -> Page:
    """Build the page of a skill."""
    name, version = _needed(given, "name"), whole(given, "version")
    record = await source.skill(name, version)
    regions = {"skill": rendered("regions/skill.html", record=record, warn=WARN_BELOW, ask=ASK_BELOW, enough=ENOUGH)}
    lasting = await source.lasting_steps(record.skill)
    context = {"record": record, "lasting": lasting}
    return Page(record.skill.label or name, "skills", "skill.html", regions, context)


async def changes(source: DashboardSource, given: Parameters) -> Page:
    """Build the page of the differences between two versions of a skill."""
    name = _needed(given, "name")
    record = await source.skill(name)
    newest = record.versions[-1] if record.versions else 1
    new = whole(given, "new") or newest
    before = [version for version in record.versions if version < new]
    old = whole(given, "old") or (before[-1] if before else new)
    lines = await source.changes(name, old, new)
    context = {"record": record, "old": old, "new": new, "lines": lines}
    return Page(f"{name}: versions {old} and {new}", "skills", "changes.html", {}, context, is_final=True)


_SITE_COLUMNS: tuple[Column[SiteCounts], ...] = (
    Column("site", "Site", lambda one: one.site),
    Column("entries", "Entries", lambda one: one.counts.entries, is_number=True),
    Column("hits", "Hits", lambda one: one.counts.hits, is_number=True),
    Column("heals", "Heals", lambda one: one.counts.heals, is_number=True),
    Column("misses", "Misses", lambda one: one.counts.misses, is_number=True),
    Column("rate", "Found without a model", lambda one: one.counts.hit_rate or 0.0, is_number=True),
    Column("suspects", "Suspect", lambda one: one.counts.suspects, is_number=True),
)


async def cache(source: DashboardSource, given: Parameters) -> Page:
    """Build the page of the action cache's statistics."""
    view = await source.cache()
    sites = ordered(view.statistics.sites, _SITE_COLUMNS, given)
    regions = {"cache": rendered("regions/cache.html", view=view, statistics=view.statistics, sites=sites)}
    return Page("Cache", "cache", "cache.html", regions)


async def kept(source: DashboardSource, _given: Parameters) -> Page:
    """List what is kept, how much of it and how long."""
    regions = {"kept": rendered("regions/kept.html", kept=await source.kept())}
    return Page("What is kept", "kept", "kept.html", regions)


PAGES: Mapping[str, Build] = {
    "runs": runs,
    "run": run,
    "inbox": inbox,
    "sessions": sessions,
    "schedules": schedules,
    "batches": batches,
    "skills": skills,
    "skill": skill,
    "changes": changes,
    "cache": cache,
    "kept": kept,
}
"""By the last part of their address."""


def _needed(given: Parameters, name: str) -> str:
    value = given.get(name, "")
    if not value:
        raise InputInvalid(f"{name}: missing from the address; begin with the list")
    return value


def whole(given: Parameters, name: str) -> int | None:
    """Read a whole number from the parameters of an address; None where it is not given.

    Raises:
        InputInvalid: it is none.
    """
    value = given.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 16):
        raise InputInvalid(f"{name}={value[:40]!r}: give a whole number, such as 2")
    return int(value)

"""Shell completion of run ids, skill names and task files. Values that cannot be read in time are not offered.

The commands import this for what they declare: what asks a server is loaded when it is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from replaywright.errors import ReplaywrightError
from replaywright.settings import Settings, load_settings

_LIMIT_S = 2.0
_RUNS = 50
"""The newest are offered."""
_SUFFIXES = (".yaml", ".yml", ".json")

Offer = tuple[str, str]
"""Completion and its description."""


def runs(incomplete: str) -> list[Offer]:
    """Offer the newest runs, of a Temporal that is there already."""
    return _offered(_runs, incomplete)


def skills(incomplete: str) -> list[Offer]:
    """Offer the skills, of a Redis that is there already."""
    return _offered(_skills, incomplete)


def tasks(incomplete: str) -> list[str]:
    """Offer task files, and folders that may hold some."""
    folder, name = (Path(incomplete), "") if incomplete.endswith("/") else (Path(incomplete).parent, incomplete)
    name = Path(name).name
    try:
        found = sorted(folder.iterdir())
    except OSError:
        return []
    fitting = [one for one in found if one.name.startswith(name) and (name or not one.name.startswith("."))]
    return [f"{one}/" if one.is_dir() else str(one) for one in fitting if one.is_dir() or one.suffix in _SUFFIXES]


def tasks_or_skills(incomplete: str) -> list[Offer]:
    """Offer skills, and task files."""
    return [*skills(incomplete), *((file, "") for file in tasks(incomplete))]


def _offered(find: Callable[[Settings], Awaitable[list[Offer]]], incomplete: str) -> list[Offer]:
    async def found() -> list[Offer]:
        async with asyncio.timeout(_LIMIT_S):
            return await find(load_settings())

    try:
        return [offer for offer in asyncio.run(found()) if offer[0].startswith(incomplete)]
    except (ReplaywrightError, TimeoutError):
        return []


async def _runs(settings: Settings) -> list[Offer]:
    from replaywright.cli.runs.finding import executions, memo_of  # noqa: PLC0415
    from replaywright.cli.servers.connect import open_backend  # noqa: PLC0415

    if settings.temporal_address is None and not _is_running(settings):
        return []
    async with open_backend(settings, tell=lambda _text: None) as here:
        return [(found.id, await memo_of(found, "task")) for found in await executions(here, _RUNS)]


async def _skills(settings: Settings) -> list[Offer]:
    from replaywright.cli.servers.store import open_store  # noqa: PLC0415

    if settings.redis_url is None and not _is_running(settings):
        return []
    async with open_store(settings) as store:
        return [(skill.name, skill.label) for skill in await store.knowledge.skills.all(store.tenant)]


def _is_running(settings: Settings) -> bool:
    from replaywright.stack import read_running  # noqa: PLC0415

    return read_running(settings.home) is not None

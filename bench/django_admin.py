"""Django's own admin in an old and a new version: pages that nobody here wrote, with a database to judge by.

python -m bench.django_admin old|new     serves one until Ctrl-C and prints its address and password
"""

import asyncio
import contextlib
import re
import secrets
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

from bench.django_site.names import SUPERUSER
from bench.django_site.skins import SKINS
from bench.environments import Name, environment
from replaywright.stack import Child, start_child

Version = Literal["old", "new", "baton", "grappelli", "interface", "jazzmin", "semantic", "unfold"]
"""Of Django, with its own admin; or a skin of the admin."""
_ROOT = Path(__file__).parents[1]
_READY_TIMEOUT_S = 60
_ADDRESS = re.compile(r"^Django (\S+) at (http://127\.0\.0\.1:(\d+))$", re.MULTILINE)


class DjangoAdmin:
    """One site: its database stays when its version changes."""

    username = SUPERUSER

    def __init__(self, folder: Path, password: str) -> None:
        self.password = password
        self.database = folder / "site.sqlite3"
        self.url = ""
        """Without a slash at its end; the admin is at `/admin/`. It stays when the version changes."""
        self.django = ""
        """The version that serves, like `5.2.19`."""
        self._folder = folder
        self._child: Child | None = None

    async def serve(self, version: Version) -> None:
        """Serve with this version of Django, instead of the one before and at the same address.

        The database is migrated, as when a site is upgraded.

        Raises:
            EnvironmentFailed: that version cannot be installed.
            StackFailed: the site did not come up.
        """
        is_skin = version in SKINS
        made = await asyncio.to_thread(environment, _environment_of(version))
        await self.stop()
        port = self.url.rpartition(":")[2] or "0"
        log = self._folder / f"django-{version}.log"
        child = start_child(
            f"the admin of django-{version}",
            [made / "bin" / "python", "-m", "bench.django_site.serve", port],
            log=log,
            environment={
                "DJANGO_SITE_DATABASE": str(self.database),
                "DJANGO_SITE_PASSWORD": self.password,
                "DJANGO_SITE_SKIN": version if is_skin else "",
                "PYTHONPATH": str(_ROOT),
            },
        )
        self._child = child

        async def announced() -> bool:
            return _ADDRESS.search(log.read_text(encoding="utf-8")) is not None

        await child.wait_until(announced, _READY_TIMEOUT_S)
        found = _ADDRESS.search(log.read_text(encoding="utf-8"))
        assert found is not None
        self.django, self.url = found[1], found[2]

    async def stop(self) -> None:
        """Stop serving; `serve` goes on with the same database."""
        if self._child is not None:
            await self._child.stop()
            self._child = None

    def rows(self, query: str, *parameters: object) -> list[dict[str, Any]]:
        """Rows of the site's database, by column name, straight from the file."""
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, parameters)]


def _environment_of(version: Version) -> Name:
    match version:
        case "old":
            return "django-old"
        case "new":
            return "django-new"
        case _:
            return "django-skins"


@contextlib.asynccontextmanager
async def django_admin(version: Version, *, password: str | None = None) -> AsyncIterator[DjangoAdmin]:
    """A fresh site with a superuser (with this password, or a new one), users and groups, on a free port of loopback.

    Raises:
        EnvironmentFailed: that version cannot be installed.
        StackFailed: the site did not come up.
    """
    with tempfile.TemporaryDirectory(prefix="replaywright-django-", ignore_cleanup_errors=True) as folder:
        site = DjangoAdmin(Path(folder), password or secrets.token_urlsafe(12))
        try:
            await site.serve(version)
            yield site
        finally:
            await site.stop()


async def _show(version: Version) -> None:
    async with django_admin(version) as site:
        print(f"Django {site.django}: {site.url}/admin/ – {site.username}, {site.password}")
        await asyncio.Event().wait()


if __name__ == "__main__":
    if sys.argv[1:] not in (["old"], ["new"]):
        sys.exit(__doc__)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_show("old" if sys.argv[1] == "old" else "new"))

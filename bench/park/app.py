"""An application of the park in its versions, themes and skins, and a site that serves one of them afresh."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from bench.environments import Name, environment, version_in
from bench.park.job import Job
from bench.park.place import Place
from replaywright.stack import Child, free_port, start_child

_READY_S = 180.0
"""Jupyter and Node-RED take half a minute on a busy machine."""


Command = Callable[[Place], Sequence[str | Path]]
"""Returns the command that starts a server."""


def _nothing(_place: Place) -> None:
    """Needs nothing before it starts."""


@dataclass(frozen=True)
class Edition:
    """One version, theme or skin."""

    name: str
    """`4`, `classic`."""
    environment: Name
    package: str
    """Whose version it is."""
    command: Command
    prepare: Callable[[Place], None] = _nothing
    """Writes into the folder what every run begins with."""
    variables: Callable[[Place], Mapping[str, str]] = lambda _place: {}

    @property
    def version(self) -> str:
        """Return its version."""
        return version_in(environment(self.environment), self.package)


@dataclass(frozen=True)
class App:
    """One application of somebody else's."""

    name: str
    editions: tuple[Edition, ...]
    """What is learned is learned in the first."""
    pages: tuple[str, ...]
    """What is looked at after a reload; the first tells that the server is up."""
    jobs: tuple[Job, ...] = field(default=())

    @contextlib.asynccontextmanager
    async def served(self, edition: Edition | None = None) -> AsyncIterator[str]:
        """Serve an edition, by default the first, on a free port of loopback; yields the address.

        Raises:
            EnvironmentFailed: it cannot be installed.
            StackFailed: it does not come up.
        """
        async with self.site() as site:
            place = await site.begin(edition or self.editions[0])
            yield place.url

    @contextlib.asynccontextmanager
    async def site(self) -> AsyncIterator["Site"]:
        """Yield a site on which the editions are served one after the other, at the same address."""
        with tempfile.TemporaryDirectory(prefix=f"replaywright-{self.name}-", ignore_cleanup_errors=True) as folder:
            site = Site(self, Path(folder), free_port())
            try:
                yield site
            finally:
                await site.end()


class Site:
    """The address of one application."""

    def __init__(self, app: App, home: Path, port: int) -> None:
        self._app = app
        self._home = home
        self._port = port
        self._child: Child | None = None

    async def begin(self, edition: Edition) -> Place:
        """Serve this edition with what every run begins with, instead of the one before.

        Raises:
            EnvironmentFailed: it cannot be installed or prepared.
            StackFailed: it does not come up.
        """
        await self.end()
        made = await asyncio.to_thread(environment, edition.environment)
        place = Place(made, self._home / "now", self._port)
        await asyncio.to_thread(self._lay, edition, place)
        variables = {"HOME": str(place.folder), **edition.variables(place)}
        log = self._home / f"{edition.name}.log"
        child = start_child(self._app.name, edition.command(place), log=log, environment=variables)
        self._child = child
        async with httpx.AsyncClient(timeout=5, trust_env=False) as http:

            async def answers() -> bool:
                with contextlib.suppress(httpx.HTTPError):
                    return (await http.get(f"{place.url}{self._app.pages[0]}")).status_code < 400
                return False

            await child.wait_until(answers, _READY_S)
        return place

    async def end(self) -> None:
        """Stop serving."""
        if self._child is not None:
            await self._child.stop()
            self._child = None

    def _lay(self, edition: Edition, place: Place) -> None:
        """Lay the folder as it was prepared: made once for each edition, at the same path, and kept."""
        kept = self._home / f"kept-{edition.name}"
        if place.folder.exists():
            shutil.rmtree(place.folder)
        if not kept.exists():
            place.folder.mkdir()
            edition.prepare(place)
            shutil.copytree(place.folder, kept, symlinks=True)
            return
        shutil.copytree(kept, place.folder, symlinks=True)

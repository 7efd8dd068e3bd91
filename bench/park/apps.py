"""The applications of the park: how each is started, and which pages of it are looked at."""

import asyncio
import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.environments import EnvironmentFailed, Name, environment, version_in
from replaywright.stack import free_port, start_child

_READY_S = 120.0
"""Jupyter and Node-RED take half a minute on a busy machine."""


def _tables(folder: Path) -> None:
    """Make a small database of customers and their orders."""
    with contextlib.closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute("create table customers (id integer primary key, name text, city text)")
        database.execute("create table orders (id integer primary key, customer integer, item text, amount real)")
        cities, items = ("Bern", "Graz", "Lyon", "Turin"), ("Pen", "Ink", "Paper", "Lamp")
        customers = [(f"Customer {number}", cities[number % 4]) for number in range(60)]
        database.executemany("insert into customers (name, city) values (?, ?)", customers)
        orders = [(number % 60 + 1, items[number % 3], number * 1.5) for number in range(200)]
        database.executemany("insert into orders (customer, item, amount) values (?, ?, ?)", orders)


def _load_test(folder: Path) -> None:
    lines = (
        "from locust import HttpUser, task",
        "class Visitor(HttpUser):",
        "    host = 'http://127.0.0.1:9'",
        "    @task",
    )
    (folder / "locustfile.py").write_text("\n".join([*lines, "    def look(self): self.client.get('/')", ""]))


def _notebooks(folder: Path) -> None:
    for name in ("plan.md", "figures.csv", "notes.txt"):
        (folder / name).write_text(f"{name}\n")
    (folder / "reports").mkdir()


def _nothing(_folder: Path) -> None:
    """Needs nothing before it starts."""


@dataclass(frozen=True)
class App:
    """One application of somebody else's."""

    name: Name
    command: Callable[[Path, Path, int], Sequence[str | Path]]
    """Command that starts it, of its environment's folder, a folder of its own, and its port."""
    pages: tuple[str, ...]
    prepare: Callable[[Path], None] = _nothing
    """Writes into its folder what it is to show."""

    @property
    def version(self) -> str:
        """Return its version."""
        return version_in(environment(self.name), self.name)

    @contextlib.asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        """Serve it on a free port of loopback; yields the address, without a slash at its end.

        Raises:
            EnvironmentFailed: it cannot be installed.
            StackFailed: it does not come up.
        """
        made = await asyncio.to_thread(environment, self.name)
        with tempfile.TemporaryDirectory(prefix=f"replaywright-{self.name}-", ignore_cleanup_errors=True) as name:
            folder, port = Path(name), free_port()
            await asyncio.to_thread(self.prepare, folder)
            command = self.command(made, folder, port)
            child = start_child(self.name, command, log=folder / "log", environment={"HOME": name})
            url = f"http://127.0.0.1:{port}"
            async with httpx.AsyncClient(timeout=5) as http:

                async def answers() -> bool:
                    with contextlib.suppress(httpx.HTTPError):
                        return (await http.get(f"{url}{self.pages[0]}")).status_code < 400
                    return False

                try:
                    await child.wait_until(answers, _READY_S)
                    yield url
                finally:
                    await child.stop()


def _module(*arguments: str) -> Callable[[Path, Path, int], Sequence[str | Path]]:
    """Return the command of a Python application; `{port}` and `{folder}` are filled in."""

    def command(made: Path, folder: Path, port: int) -> Sequence[str | Path]:
        filled = [argument.format(port=port, folder=folder) for argument in arguments]
        return [made / "bin" / "python", "-m", *filled]

    return command


def _node_red(made: Path, folder: Path, port: int) -> Sequence[str | Path]:
    node = shutil.which("node")
    if node is None:
        raise EnvironmentFailed("the application 'node-red' needs Node.js, and there is no node on PATH")
    return [node, made / "node_modules" / "node-red" / "red.js", "-u", str(folder), "-p", str(port)]


_OPEN = ("--ServerApp.token=", "--ServerApp.password=", "--ServerApp.allow_root=True", "--no-browser")
APPS = (
    App("datasette", _module("datasette", "{folder}/shop.db", "-p", "{port}"), ("/", "/shop/orders", "/shop"), _tables),
    App("locust", _module("locust", "-f", "{folder}/locustfile.py", "--web-port", "{port}"), ("/",), _load_test),
    App(
        "jupyterlab",
        _module("jupyterlab", "--ServerApp.root_dir={folder}", "--ServerApp.port={port}", *_OPEN),
        ("/lab",),
        _notebooks,
    ),
    App("node-red", _node_red, ("/",)),
)

"""Where an application is served, and what can be read of it outside the browser."""

import contextlib
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.environments import EnvironmentFailed


@dataclass(frozen=True)
class Place:
    """The environment of one version, a folder with all that it stores, and its port."""

    made: Path
    folder: Path
    port: int

    @property
    def url(self) -> str:
        """The address, without a slash at its end."""
        return f"http://127.0.0.1:{self.port}"

    def python(self, *arguments: str | Path) -> list[str | Path]:
        """Return a command of the environment's Python."""
        return [self.made / "bin" / "python", *arguments]

    def node(self, script: str, *arguments: str | Path) -> list[str | Path]:
        """Return a command of Node.js with a script of the environment's packages.

        Raises:
            EnvironmentFailed: there is no Node.js.
        """
        node = shutil.which("node")
        if node is None:
            raise EnvironmentFailed(f"{script} needs Node.js, and there is no node on PATH")
        return [node, self.made / "node_modules" / script, *arguments]

    def run(self, command: Sequence[str | Path], said: str = "", **variables: str) -> str:
        """Run a command in the folder, with `said` as its input; returns what it prints.

        Raises:
            EnvironmentFailed: it fails.
        """
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), **variables}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, input=said, capture_output=True, text=True, check=False
        )
        if done.returncode:
            words = " ".join(map(str, command[1:]))
            raise EnvironmentFailed(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def rows(self, database: str, query: str, *parameters: object) -> list[dict[str, Any]]:
        """Return rows of a SQLite database of the folder, by column name, straight from the file."""
        with contextlib.closing(sqlite3.connect(f"file:{self.folder / database}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(query, parameters)]

    def asked(self, path: str, *, headers: Mapping[str, str] | None = None) -> Any:
        """Return what the server's own API answers, JSON."""
        with httpx.Client(timeout=10, trust_env=False, headers=headers) as http:
            return http.get(f"{self.url}{path}").raise_for_status().json()

"""Node packages for tests, installed on first use and never into the tree."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_LISTED = Path(__file__).parent / "node"
_HOME = Path(__file__).parents[2] / ".environments"
_STAMP = "installed"


def node_packages(listed: Path = _LISTED, name: str = "exports") -> Path:
    """The folder whose `node_modules` has what is listed; if nothing is said, what exported scripts need.

    That is Playwright's runner, `@puppeteer/replay` and TypeScript. Tests that need it are skipped where there is no
    Node, or where npm cannot install them.
    """
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("there is no Node with npm here")
    wanted = hashlib.sha256((listed / "package-lock.json").read_bytes()).hexdigest()
    folder = _HOME / name
    if not _is_made(folder, wanted):
        _HOME.mkdir(exist_ok=True)
        with (_HOME / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not _is_made(folder, wanted):
                _make(listed, folder, wanted)
    return folder


def _is_made(folder: Path, wanted: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return (folder / _STAMP).read_text(encoding="ascii") == wanted
    return False


def _make(listed: Path, folder: Path, wanted: str) -> None:
    """Install beside its place and rename it, so that what is there is whole."""
    name, parent = folder.name, folder.parent
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=parent, ignore_cleanup_errors=True) as workshop:
        new = Path(workshop) / name
        shutil.copytree(listed, new)
        # The browsers are there already: the tests' own Chromium is used.
        environment = {**os.environ, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"}
        command = ["npm", "ci", "--silent"]
        done = subprocess.run(command, cwd=new, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"npm could not install {listed / 'package.json'}: {done.stderr.strip()[-400:]}")
        (new / _STAMP).write_text(wanted, encoding="ascii")
        if folder.exists():
            shutil.move(folder, Path(workshop) / "old")
        new.rename(folder)

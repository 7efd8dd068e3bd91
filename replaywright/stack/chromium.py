"""Find a Chromium that starts, or install one.

The order is: the configured path, Playwright's own build, one on PATH, `playwright install chromium`, the system's
package manager. A candidate counts only after it has told its version: a browser without its libraries, or Ubuntu's
placeholder that asks for a snap, is found and does not start.

`python -m replaywright.stack` prints the path; `make setup` runs it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from replaywright.errors import ChromiumMissing

_NAMES_ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_PLAYWRIGHT_BUILDS = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
)
_APT_PACKAGES = ("chromium", "chromium-browser")
"""Debian's name, then Ubuntu's older one."""

_HEADLESS_SHELL = re.compile(r"headless.?shell", re.IGNORECASE)
"""A script that starts one by another name is found out by the keeper."""
_VERSION = re.compile(r"\b\d+\.\d+\.\d+(\.\d+)?\b")
_VERSION_TIMEOUT_S = 20
_INSTALL_TIMEOUT_S = 600


class Chromium(BaseModel):
    """A browser that starts."""

    model_config = ConfigDict(frozen=True)

    path: Path
    version: str
    """`156.0.8078.79`"""
    attempts: tuple[str, ...] = ()
    """Places that were tried before, each with the result, for `doctor`."""


def find_chromium(
    configured: Path | None = None,
    *,
    install: bool = True,
    tell: Callable[[str], None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Chromium:
    """Return the first Chromium that starts. May take minutes when it has to install one.

    Args:
        configured: Only this one will do: a path that was asked for is never replaced silently.
        install: False looks only.
        tell: Is told before each installation.
        environment: For `PATH` and `PLAYWRIGHT_BROWSERS_PATH`; that of this process by default.

    Raises:
        ChromiumMissing: none was found; the message lists every attempt and says what to do.
    """
    surroundings = os.environ if environment is None else environment
    attempts: list[str] = []
    for path in _candidates(configured, surroundings):
        if found := _try(path, attempts):
            return found
    if install and configured is None:
        for command in _installations():
            if "install-deps" in command and not any(_playwright_builds(surroundings)):
                continue  # many libraries for a build that is not there
            if tell is not None:
                tell(f"installing Chromium: {' '.join(command)}")
            attempts.append(f"{' '.join(command)}: {_install(command)}")
            for path in _candidates(None, surroundings):
                if found := _try(path, attempts):
                    return found
    tried = "".join(f"\n  {attempt}" for attempt in attempts)
    raise ChromiumMissing(
        f"no Chromium that starts was found; install one (Debian: apt-get install chromium) or set "
        f"REPLAYWRIGHT_CHROMIUM to its path. Tried:{tried or ' nothing was there'}"
    )


def chromium_version(path: Path) -> str:
    """Return the version that this browser tells.

    Raises:
        ChromiumMissing: it does not start, or is none that may be used; the message says why.
    """
    if _HEADLESS_SHELL.search(path.name) or _HEADLESS_SHELL.search(path.resolve().name):
        raise ChromiumMissing(
            "is a headless shell, which lets WebRTC round the network policy: name Chromium itself, which needs no "
            "display either"
        )
    try:
        run = subprocess.run(
            [str(path), "--version"],
            capture_output=True,
            text=True,
            timeout=_VERSION_TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ChromiumMissing(f"does not start: {exc}") from exc
    if run.returncode == 0 and (match := _VERSION.search(run.stdout)):
        return match.group()
    output = (run.stderr or run.stdout).strip().splitlines()
    raise ChromiumMissing(
        f"does not start (status {run.returncode}): {output[-1][:200] if output else 'it prints nothing'}"
    )


def _candidates(configured: Path | None, environment: Mapping[str, str]) -> Iterator[Path]:
    if configured is not None:
        yield configured
        return
    yield from _playwright_builds(environment)
    for name in _NAMES_ON_PATH:
        if path := shutil.which(name, path=environment.get("PATH")):
            yield Path(path)


def _playwright_builds(environment: Mapping[str, str]) -> Iterator[Path]:
    for root in _playwright_roots(environment):
        for pattern in _PLAYWRIGHT_BUILDS:
            yield from sorted(root.glob(pattern), key=_revision, reverse=True)


def _playwright_roots(environment: Mapping[str, str]) -> Iterator[Path]:
    configured = environment.get("PLAYWRIGHT_BROWSERS_PATH", "")
    if configured == "0":  # Playwright's notation for "inside the installed package"
        yield from (Path(entry) / "playwright/driver/package/.local-browsers" for entry in sys.path if entry)
    elif configured:
        yield Path(configured)
    elif sys.platform == "darwin":
        yield Path.home() / "Library/Caches/ms-playwright"
    else:
        yield Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ms-playwright"


def _revision(path: Path) -> int:
    """Return the build number in `chromium-1255/…`: the newest build comes first."""
    found = re.findall(r"-(\d+)(?=/)", path.as_posix())  # folders above may have numbers, too
    return int(found[-1]) if found else 0


def _try(path: Path, attempts: list[str]) -> Chromium | None:
    try:
        version = chromium_version(path)
    except ChromiumMissing as exc:
        attempts.append(f"{path}: {exc}")
        return None
    return Chromium(path=path, version=version, attempts=tuple(attempts))


def _installations() -> Iterator[list[str]]:
    playwright = [sys.executable, "-m", "playwright"]
    yield [*playwright, "install", "chromium"]
    become_root = _root_prefix()
    if become_root is None or shutil.which("apt-get") is None:
        return
    # Playwright's build may be there and lack libraries; its own list of them is the shortest cure.
    yield [*become_root, *playwright, "install-deps", "chromium"]
    for package in _APT_PACKAGES:
        script = f"apt-get update -qq && apt-get install -y -qq --no-install-recommends {package}"
        yield [*become_root, "env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", script]


def _root_prefix() -> list[str] | None:
    """Return the prefix that makes a command run as root without a question; None when there is none."""
    if os.geteuid() == 0:
        return []
    sudo = shutil.which("sudo")
    if sudo is None or subprocess.run([sudo, "-n", "true"], capture_output=True, check=False).returncode != 0:
        return None
    return [sudo, "-n"]


def _install(command: list[str]) -> str:
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as exc:
        return f"failed: {exc}"
    if run.returncode == 0:
        return "installed"
    output = (run.stderr or run.stdout).strip().splitlines()
    return f"failed (status {run.returncode}): {output[-1][:200] if output else 'it prints nothing'}"

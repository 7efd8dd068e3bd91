"""Chromium's own sandbox under the seccomp profile of browser workers, in the kernel that is here."""

import asyncio
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.check_compose import ROOT
from tests.seccomp import NOBODY, library

OURS, DOCKERS = ROOT / "ops/seccomp/chromium.json", ROOT / "ops/seccomp/docker-default.json"


def run_under(profile: Path, *command: str, home: Path) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-P", str(ROOT / "tests" / "seccomp.py"), str(profile), *command]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that nobody can write to, unlike pytest's own."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("the profile is tried on x86-64 Linux only")
    if library() is None:
        pytest.skip("libseccomp is not installed here")
    folder = Path(tempfile.mkdtemp(prefix="replaywright-seccomp-"))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    unshare = shutil.which("unshare")
    if unshare is None or run_under(OURS, unshare, "--user", shutil.which("true") or "true", home=folder).returncode:
        shutil.rmtree(folder)
        pytest.skip("users of this machine may not make user namespaces (user.max_user_namespaces, or AppArmor)")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


async def opened(profile: Path, chromium: Path, home: Path) -> "subprocess.CompletedProcess[str]":
    """Chromium with its sandbox on, which writes what a page has become."""
    page = "data:text/html,<p id=made><script>made.textContent = 6 * 7</script>"
    options = ("--headless", "--disable-dev-shm-usage", f"--user-data-dir={home / 'profile'}", "--dump-dom", page)
    return await asyncio.to_thread(run_under, profile, str(chromium), *options, home=home)


async def test_chromium_starts_with_its_sandbox_under_our_profile(chromium_path: Path, home: Path) -> None:
    run = await opened(OURS, chromium_path, home)

    assert '<p id="made">42' in run.stdout, run.stderr


@pytest.mark.long
async def test_it_does_not_under_dockers_own_which_is_why_there_is_ours(chromium_path: Path, home: Path) -> None:
    run = await opened(DOCKERS, chromium_path, home)

    assert run.returncode != 0
    assert "No usable sandbox" in run.stderr


def test_mount_namespaces_stay_refused(home: Path) -> None:
    unshare = str(shutil.which("unshare"))

    run = run_under(OURS, unshare, "--user", "--mount", "true", home=home)

    assert run.returncode != 0
    assert "Operation not permitted" in run.stderr

"""Reading what a site has stored in the Chromium profile of a person, from a copy and with nothing sent."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Route, async_playwright

from replaywright.browser.reading.storage import storage_script
from replaywright.errors import InputInvalid
from replaywright.temporary import temporary_folder

_KEYS: Final = "Local State"
"""File of a folder of profiles; with `Preferences` in each of them, it tells what is one."""
_OF_PROFILE: Final = "Preferences"
_KEPT: Final = ("Preferences", "Secure Preferences", "Cookies", "Network", "Local Storage", "IndexedDB")
"""Of a profile: settings, cookies (in `Network` on Windows) and storage; not history, passwords and caches."""
_ARGUMENTS: Final = ("--host-resolver-rules=MAP * ~NOTFOUND", "--disable-sync", "--disable-background-networking")
_NOT_GIVEN: Final = ("--password-store=basic", "--use-mock-keychain")
"""Playwright's own: with them, cookies that the key ring of the desktop has encrypted could not be read."""
_LIMIT_MS: Final = 30_000


async def read_profile(
    profile: Path, origins: Sequence[str], executable: Path, *, has_sandbox: bool = True
) -> dict[str, Any]:
    """Return the cookies of a profile and the storage of these origins, in the form of Playwright's storage state.

    Args:
        profile: a profile, such as `~/.config/chromium/Default`, or the folder of profiles that has it.
        origins: the storage of others is not read.
        executable: the Chromium that opens the copy; it has to be as new as the one that wrote the profile.
        has_sandbox: False where Chromium cannot have its own.

    Raises:
        InputInvalid: it is no profile, or that Chromium does not open its copy.
    """
    folder = profile if (profile / _KEYS).is_file() else profile.parent
    own = profile / "Default" if folder == profile else profile
    if not (own / _OF_PROFILE).is_file():
        raise InputInvalid(
            f"--profile {str(profile)!r}: no profile of Chromium: chrome://version names its folder as Profile Path"
        )
    with temporary_folder("rw-profile-") as copy:
        try:
            _copied(folder, own, copy)
            return await _read(copy, origins, executable, has_sandbox=has_sandbox)
        except (OSError, PlaywrightError) as exc:
            why = str(exc).splitlines()[0]
            raise InputInvalid(
                f"--profile {str(profile)!r}: cannot be read: {why}; close its browser, or export the cookies to a file"
            ) from exc


def _copied(folder: Path, own: Path, copy: Path) -> None:
    (copy / "Default").mkdir()
    if (folder / _KEYS).is_file():
        shutil.copy2(folder / _KEYS, copy / _KEYS)
    for name in _KEPT:
        if (own / name).is_dir():
            shutil.copytree(own / name, copy / "Default" / name, ignore=shutil.ignore_patterns("LOCK"))
        elif (own / name).is_file():
            shutil.copy2(own / name, copy / "Default" / name)


async def _read(copy: Path, origins: Sequence[str], executable: Path, *, has_sandbox: bool) -> dict[str, Any]:
    async with (
        async_playwright() as playwright,
        await playwright.chromium.launch_persistent_context(
            copy,
            executable_path=executable,
            args=_ARGUMENTS,
            ignore_default_args=_NOT_GIVEN,
            chromium_sandbox=has_sandbox,
            offline=True,
            timeout=_LIMIT_MS,
        ) as context,
    ):
        await context.route("**/*", _answered)
        stored = []
        for origin in origins:
            page = await context.new_page()
            await page.goto(origin, timeout=_LIMIT_MS)
            stored.append((await page.evaluate(storage_script("stored()")))["origin"])
        return {"cookies": await context.cookies(), "origins": stored}


async def _answered(route: Route) -> None:
    """Answer with an empty page of the origin: what the origin has stored is read in it."""
    await route.fulfill(status=200, content_type="text/html", body="<!doctype html>")

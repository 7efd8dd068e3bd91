"""Chromium's profile directory, and what belongs to it elsewhere."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOWNLOADS_NAME = "downloads"
"""Folder in the session's directory that downloads are written to, whoever is attached."""
UPLOADS_NAME = "uploads"
"""Folder in the session's directory with copies of what pages were given; it goes with the browser."""
NOT_ASKED_FOR: Mapping[str, Any] = {
    "alternate_error_pages": {"enabled": False},
    "autofill": {"credit_card_enabled": False, "profile_enabled": False},
    "browser": {"enable_spellchecking": False},
    "credentials_enable_autosignin": False,
    "credentials_enable_service": False,
    "safebrowsing": {"enabled": False, "enhanced": False, "scout_reporting_enabled": False},
    "search": {"suggest_enabled": False},
    "signin": {"allowed": False},
    "spellcheck": {"dictionaries": [], "dictionary": "", "use_spelling_service": False},
    "translate": {"enabled": False},
}
"""Preferences without which Chromium sends requests of its own while it shows a page. Of the password manager: it asks
Google whether a password that was just submitted has leaked, whatever `PasswordLeakDetection` says. Of the spelling
checker: it loads a dictionary for the first field that is written in."""
_MAKERS = ("org.chromium.", "com.google.")
"""Prefixes of the socket directories of Chromium and Chrome; some versions put a dot in front."""


def prepare_profile(profile: Path, downloads: Path) -> None:
    """Make a new profile whose downloads go to `downloads`, as many as a page likes, without asking anybody.

    A worker that is attached says so itself; this is for what is downloaded while none is.
    """
    downloads.mkdir(mode=0o700, exist_ok=True)
    settings = {
        **NOT_ASKED_FOR,
        "download": {"default_directory": str(downloads), "prompt_for_download": False},
        "profile": {
            "default_content_setting_values": {"automatic_downloads": 1},
            "password_manager_leak_detection": False,
        },
    }
    folder = profile / "Default"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "Preferences").write_text(json.dumps(settings), "utf-8")


def delete_profile(profile: Path) -> None:
    """Delete a profile that no process uses any more, with the socket directory that Chromium made in the temp dir."""
    try:
        singleton = (profile / "SingletonSocket").readlink().parent
    except OSError:
        singleton = None
    if singleton is not None and singleton.is_absolute() and singleton.name.lstrip(".").startswith(_MAKERS):
        shutil.rmtree(singleton, ignore_errors=True)
    shutil.rmtree(profile, ignore_errors=True)

"""Chromium's profile directory, and what belongs to it elsewhere."""

import json
import shutil
from pathlib import Path

DOWNLOADS_NAME = "downloads"
"""Folder in the session's directory that downloads are written to, whoever is attached."""
_MAKERS = ("org.chromium.", "com.google.")
"""How the name of a profile's socket directory begins, of Chromium and of Chrome; some versions put a dot in front."""


def prepare_profile(profile: Path, downloads: Path) -> None:
    """Make a new profile whose downloads go to `downloads`, as many as a page likes, without asking anybody.

    A worker that is attached says so itself; this is for what is downloaded while none is.
    """
    downloads.mkdir(mode=0o700, exist_ok=True)
    settings = {
        "download": {"default_directory": str(downloads), "prompt_for_download": False},
        "profile": {"default_content_setting_values": {"automatic_downloads": 1}},
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

"""Chromium's profile directory, and what belongs to it elsewhere."""

import shutil
from pathlib import Path


def delete_profile(profile: Path) -> None:
    """Delete a profile that no process uses any more, with the socket directory that Chromium made in the temp dir."""
    try:
        singleton = (profile / "SingletonSocket").readlink().parent
    except OSError:
        singleton = None
    if singleton is not None and singleton.is_absolute() and singleton.name.startswith("org.chromium."):
        shutil.rmtree(singleton, ignore_errors=True)
    shutil.rmtree(profile, ignore_errors=True)

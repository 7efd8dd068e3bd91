"""Retention of artifacts by age, total size and count; the longest unused go first.

A value counts as used when it is put (again) or read. Only a store on local files is kept within limits here: object
stores have rules of their own for that, which also work while nothing of ours runs.
"""

import asyncio
import os
import re
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

DAY_S = 86_400
PROTECTED_S = DAY_S
"""An artifact that was used within this time is never deleted: a run may be about to read it."""
DELETED_AT_ONCE = 20_000
"""One round deletes so many at most; the next one goes on."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class RetentionLimits:
    """Limits of the store."""

    age_s: float
    """Since the last use."""
    size_bytes: int
    """Total of all artifacts."""
    count: int


@dataclass(frozen=True)
class Pruned:
    """Result of one round."""

    count: int = 0
    size_bytes: int = 0
    """Deleted, or with a dry run, what would be."""
    left_count: int = 0
    left_bytes: int = 0


@dataclass(frozen=True)
class _Kept:
    used_at: float
    size: int
    path: Path


async def prune(
    folder: Path, limits: RetentionLimits, *, keep: Collection[str], now: float, dry_run: bool = False
) -> Pruned:
    """Delete from the store in `folder` what is over a limit, oldest use first, except `keep` (digests).

    Args:
        folder: The store's root.
        limits: What may stay.
        keep: Digests that something still refers to.
        now: Unix time in seconds.
        dry_run: Delete nothing, only say what would be.

    Raises:
        OSError: the folder cannot be read or changed.
    """
    return await asyncio.to_thread(_prune, folder, limits, frozenset(keep), now, dry_run=dry_run)


def total(folder: Path) -> tuple[int, int]:
    """Return the number of artifacts in `folder`, and their bytes.

    Raises:
        OSError: the folder cannot be read.
    """
    sizes = [kept.size for kept in _files(folder)]
    return len(sizes), sum(sizes)


def _prune(folder: Path, limits: RetentionLimits, keep: frozenset[str], now: float, *, dry_run: bool) -> Pruned:
    found = sorted(_files(folder), key=lambda kept: kept.used_at)
    left_count, left_bytes = len(found), sum(kept.size for kept in found)
    count = size = 0
    for kept in found:
        age = now - kept.used_at
        is_over = age > limits.age_s or left_bytes > limits.size_bytes or left_count > limits.count
        if age < PROTECTED_S or not is_over or count >= DELETED_AT_ONCE:
            break  # what follows was used later
        if kept.path.name in keep or not (dry_run or _deleted(kept)):
            continue
        count, size = count + 1, size + kept.size
        left_count, left_bytes = left_count - 1, left_bytes - kept.size
    return Pruned(count, size, left_count, left_bytes)


def _files(folder: Path) -> Iterator[_Kept]:
    """All values, and what writers that were killed have left aside."""
    for outer in _folders(folder):
        for inner in _folders(outer):
            for name in os.listdir(inner):  # noqa: PTH208 - only names are needed
                path = inner / name
                if not _DIGEST.fullmatch(name.removeprefix(".").partition(".")[0]):
                    continue
                try:
                    status = path.stat(follow_symlinks=False)
                except FileNotFoundError:  # another worker was faster
                    continue
                if stat.S_ISREG(status.st_mode):
                    yield _Kept(status.st_mtime, status.st_size, path)


def _folders(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if re.fullmatch("[0-9a-f]{2}", entry.name) and entry.is_dir()]
    except FileNotFoundError:
        return []


def _deleted(kept: _Kept) -> bool:
    """Delete, unless it was used since it was looked at, or is gone already."""
    try:
        if kept.path.stat().st_mtime != kept.used_at:
            return False
        kept.path.unlink()
    except FileNotFoundError:
        return False
    return True

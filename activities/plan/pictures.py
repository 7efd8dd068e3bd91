"""Pictures of a page with numbered marks: taken where the browser is, given to a planner that takes pictures."""

import logging
from dataclasses import dataclass

from replaywright.domain.page.snapshot_text import listed_ids, snapshot_text
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.run.redacted import redacted_snapshot
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, PictureUnread
from replaywright.ports.browser import BrowserSession
from replaywright.ports.stores import Artifacts, Secrets

SEARCH_S = 10.0
"""Time limit for finding secrets in a picture, where pictures are read."""
_log = logging.getLogger("replaywright.pictures")


@dataclass(frozen=True)
class Pictured:
    """A page without secrets, and the digest of its picture; without one, why."""

    snapshot: Snapshot
    picture: str = ""
    missing: str = ""


async def keep_snapshot(artifacts: Artifacts, secrets: Secrets, snapshot: Snapshot) -> str:
    """Store a snapshot, secrets removed; return its digest.

    Raises:
        ArtifactsUnavailable: there is no place for it.
    """
    return await artifacts.put(redacted_snapshot(snapshot, secrets).model_dump_json(by_alias=True).encode())


async def pictured(
    browser: BrowserSession, artifacts: Artifacts, secrets: Secrets, about: str | None, *, search_s: float = SEARCH_S
) -> Pictured:
    """Read the current tab, with a picture that marks what its text lists for `about`; None: without marks.

    Raises:
        ActionFailed: the page does not answer.
        SessionLost: the browser is gone.
    """

    def wanted(snapshot: Snapshot) -> tuple[str, ...]:
        if about is None:
            return ()
        return listed_ids(snapshot_text(redacted_snapshot(snapshot, secrets), about=about))

    seen = await browser.look(wanted, secrets.redact)
    snapshot, missing, picture = redacted_snapshot(seen.snapshot, secrets), seen.missing, ""
    if seen.picture is not None:
        try:
            picture = await artifacts.put(await secrets.redact_picture(seen.picture, search_s))
        except (ArtifactsUnavailable, PictureUnread) as exc:
            missing = str(exc)
    if missing:
        _log.warning("there is no picture of the page for the planner: %s", missing)
    return Pictured(snapshot, picture, missing)


async def picture_of(artifacts: Artifacts, digest: str) -> tuple[bytes | None, str]:
    """The picture that is kept there; without one, why. Nothing for no digest."""
    if not digest:
        return None, ""
    try:
        return await artifacts.get(digest), ""
    except (ArtifactMissing, ArtifactsUnavailable) as exc:
        _log.warning("a picture of the page cannot be read: %s", exc)
        return None, str(exc)


def picture_line(digest: str, missing: str) -> dict[str, str]:
    """Return the picture's fields in the trace line of a plan: none where no picture was wanted."""
    if missing:
        return {"pictureMissing": missing}
    return {"picture": digest} if digest else {}

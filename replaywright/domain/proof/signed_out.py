"""Whether a page that a step met is where a site sends whoever is not signed in any more: told by structure alone."""

from typing import Final

from replaywright.domain.common.templates import secrets_in
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.task.steps import Step

SIGNED_OUT: Final = "signed_out"
"""Reason of a step that met a page to sign in on, where its recording met none."""
UNAUTHORIZED: Final = "http_401"
"""Reason of a step whose page the site refuses to whoever is not signed in."""


def asks_for_password(snapshot: Snapshot) -> bool:
    """Whether a field for a password is shown."""
    return any(element.visible and element.actionable and _is_password(element) for element in snapshot.elements)


def _is_password(element: Element) -> bool:
    attributes = element.target.attributes
    return attributes.get("type", "").lower() == "password" or "current-password" in attributes.get("autocomplete", "")


def was_signed_out(now: Snapshot, recorded: Snapshot | None, reason: str, *, is_elsewhere: bool) -> bool:
    """Whether the site asks for a password and did not before: with an answer 401, where the page that was recorded
    has no such field, or, where none was recorded, on a page that the step before does not lead to.
    """
    if not asks_for_password(now):
        return False
    return reason == UNAUTHORIZED or (is_elsewhere if recorded is None else not asks_for_password(recorded))


def signed_out_said(page: str) -> str:
    """What is said of it, and what to do; `page` is the address without its query."""
    return (
        f"the site asks to sign in at {page}, and did not when this was recorded: "
        "sign in (`on_failure: ask` and `replaywright takeover`, or steps or an override that do), then resume the run"
    )


def enters_secret(step: Step | None) -> bool:
    """Whether the step enters a secret: a page that asks for a password is its own business."""
    return bool(secrets_in(getattr(step, "value", None) or ""))

"""Detection, by structure alone, of pages to which a site sends signed-out visitors."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from replaywright.domain.common.templates import secrets_in
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.task.steps import Goto, Step

SIGNED_OUT: Final = "signed_out"
"""Reason of a step that met a sign-in page where its recording met none."""
UNAUTHORIZED: Final = "http_401"
"""Reason of a step whose page answered 401."""
_REFUSED_STATUSES = frozenset({401, 403})


def asks_for_password(snapshot: Snapshot) -> bool:
    """Return True if a password field is visible."""
    return any(element.visible and element.actionable and _is_password(element) for element in snapshot.elements)


def _is_password(element: Element) -> bool:
    attributes = element.target.attributes
    return attributes.get("type", "").lower() == "password" or "current-password" in attributes.get("autocomplete", "")


def is_sign_in(status: int, page: Snapshot | None) -> bool:
    """Return True if a page that was refused with this status asks for a password."""
    return status in _REFUSED_STATUSES and page is not None and asks_for_password(page)


def was_signed_out(now: Snapshot, recorded: Sequence[Snapshot], reason: str, *, is_elsewhere: bool) -> bool:
    """Return True if the site asks for a password now and did not before.

    The evidence is an answer 401, or that no page of the recorded step has a password field, or, without a recording,
    a page that the step before does not lead to (`is_elsewhere`): any, in a run that uses a session.
    """
    if not asks_for_password(now):
        return False
    return reason == UNAUTHORIZED or (not any(map(asks_for_password, recorded)) if recorded else is_elsewhere)


def signed_out_message(page: str, *, is_recorded: bool) -> str:
    """Return the message with its remedy; `page` is the address without its query.

    `is_recorded`: the step was recorded, on a page that asks for no password.
    """
    before = "did not when this was recorded" if is_recorded else "the step before does not lead there"
    own = "" if is_recorded else "; steps that sign in have the password as a secret, {{secret:NAME}}"
    return (
        f"the site asks to sign in at {page}, and {before}: sign in (`on_failure: ask` and `replaywright takeover`, or "
        f"steps or an override that do{own}), then resume the run"
    )


def signs_in(plan: Sequence[Step], position: int) -> bool:
    """Return True if the step, the one before or after it, or one on the page that it opens enters a secret."""
    step, later = plan[position], plan[position + 1 :]
    on_page = takewhile(lambda one: not isinstance(one, Goto), later) if isinstance(step, Goto) else later[:1]
    return any(map(_enters_secret, (*plan[max(0, position - 1) : position + 1], *on_page)))


def _enters_secret(step: Step) -> bool:
    return bool(secrets_in(getattr(step, "value", None) or ""))

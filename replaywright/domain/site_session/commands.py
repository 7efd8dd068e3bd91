"""Signals, inputs and results of the workflow `SiteSession` and of the activities around it."""

from datetime import datetime
from typing import Literal

from replaywright.domain.common.base import Record
from replaywright.domain.secrets.signing import Fault, Signer
from replaywright.domain.session.sessions import OnSession
from replaywright.domain.site_session.leases import Kept, Leases, LeaseTerms

WORKFLOW = "SiteSession"
SIGN_IN_FAILED = "sign_in_failed"
"""Reason of a run that could not be signed in."""
SIGNS_IN = "signs_in"
"""Memo of a run that signs in: the name of the session."""
_PURPOSE = "site-session"


def workflow_id(tenant: str, name: str) -> str:
    """Return the id of the workflow of a tenant's site session."""
    return f"site-session/{tenant}/{name}"


def not_signed_in(name: str, why: str) -> str:
    """Return the message of a run that failed with `SIGN_IN_FAILED`."""
    return f"session {name}: {why}"


def session_in(message: str) -> str:
    """Return the name of the session in the message of a run that failed with `SIGN_IN_FAILED`."""
    return message.partition(": ")[0].removeprefix("session ")


def sign_kept(signer: Signer, tenant: str, name: str, number: int, digest: str) -> Kept:
    """Return a kept state with the proof that one of ours kept it for this session."""
    return Kept(number=number, digest=digest, mac=signer.mac(_PURPOSE, tenant, {"name": name, "digest": digest}))


def kept_fault(signer: Signer, tenant: str, name: str, kept: Kept) -> Fault | None:
    """Return why a state is none that one of ours kept for this session; None if it is one, and without keys."""
    if signer.is_unsigned:
        return None
    return signer.mac_fault(_PURPOSE, tenant, {"name": name, "digest": kept.digest}, kept.mac)


class SiteSessionState(Record):
    """Input of the workflow `SiteSession`: its state, from one execution to the next."""

    tenant: str
    name: str
    leases: Leases = Leases()
    attributes: tuple[str, ...] = ()
    """Names of the search attributes that the namespace knows, for the runs that the workflow starts."""
    per_history: int = 500
    """Signals after which the workflow continues as new."""
    look_every_s: float = 30.0
    """Interval at which it is looked, while somebody waits, whether runs that hold the session have ended unheard."""


class Asked(Record):
    """Signal `ask`: a run wants to use the session."""

    run_id: str
    expired: int = 0
    """Number of the state that the run has found expired; 0: it has none yet."""
    terms: LeaseTerms = LeaseTerms()


class Returned(Record):
    """Signal `give_back`: a run does not use the session any more, or has signed in."""

    run_id: str
    kept: Kept | None = None
    """The state as the run left it; None: nothing is known of it."""
    passkeys: Kept | None = None
    """The passkeys as the run left them; None: nothing has changed."""
    signs_in: bool = False
    why: str = ""
    """Why a sign-in failed."""
    may_pass: bool = False
    """The sign-in did all that it was to do, and the site was not seen to be signed in."""


class AskSiteSession(Record):
    """Input of `site_session.ask`."""

    tenant: str
    name: str
    task: str
    expired: int = 0
    attributes: tuple[str, ...] = ()
    """Names of the search attributes that the run has."""


class EnterSiteSession(OnSession):
    """Input of `site_session.enter`: sign a new browser in with what is kept."""

    tenant: str
    name: str
    signs_in: bool = False
    """The run signs in: it gets the passkeys alone."""
    waited_s: float | None = None
    """Seconds that the run has waited for the session; None if it had it already."""


class SessionEntered(Record):
    """Result of `site_session.enter`."""

    number: int = 0
    """Number of the state; 0: none was granted."""
    digest: str = ""
    held: bool = False
    """The browser is signed in."""
    why: str = ""
    is_refused: bool = False
    """Asking again is of no use."""


class LeaveSiteSession(OnSession):
    """Input of `site_session.leave`: keep the state as it is now, and give the lease back."""

    tenant: str
    name: str
    number: int
    earlier: str = ""
    """Digest of a state before: what it knows of origins that are not shown now is taken over."""
    signs_in: bool = False


class ReleaseSiteSession(Record):
    """Input of `site_session.release`: give the lease back, without a state."""

    tenant: str
    name: str
    signs_in: bool = False
    why: str = ""
    may_pass: bool = False


class BeginRun(Record):
    """Input of `site_session.begin`: start a run that signs in, or keeps the session alive."""

    tenant: str
    name: str
    run_id: str
    number: int
    kind: Literal["sign-in", "keep-alive"]
    attributes: tuple[str, ...] = ()


class Begun(Record):
    """Result of `site_session.begin`."""

    why: str = ""
    """Why nothing was started; empty if it was."""


class SignInFailed(Record):
    """Input of `site_session.failed`."""

    name: str
    run_id: str = ""
    """The run that was to sign in; empty if none was started."""
    number: int
    """Counts the sign-ins of the session."""
    why: str
    paused_until: datetime | None = None


class LookForRuns(Record):
    """Input of `site_session.ended`."""

    run_ids: tuple[str, ...]


class EndedRuns(Record):
    """Result of `site_session.ended`: those of the runs that do not go on."""

    run_ids: tuple[str, ...] = ()

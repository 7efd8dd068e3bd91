"""Who may use a site session: leases, one sign-in for all who wait, and pauses after sign-ins that failed.

All of it is data and decisions; the workflow `SiteSession` does what they say.
"""

from datetime import datetime, timedelta
from typing import Final, Self

from pydantic import Field

from replaywright.domain.common.base import Record

FIRST_PAUSE: Final = timedelta(minutes=1)
"""After a sign-in that failed nobody tries again for so long, and for twice as long after each further one: sites lock
accounts."""
LONGEST_PAUSE: Final = timedelta(hours=1)
REFUSED_KEPT: Final = 200
"""Runs of which it is known why they got nothing: those that were ended before they heard of it are never taken out."""


class Kept(Record):
    """A signed-in state as it is kept: where, and the proof that one of our workers put it there."""

    number: int
    """Counts the sign-ins and imports of the session."""
    digest: str
    """Address of its `PageState` in the artifact store, which is encrypted."""
    mac: str = ""


class LeaseTerms(Record):
    """What the definition says of using it."""

    shared: int = 1
    keep_alive_s: float = 0.0
    max_age_s: float = 0.0


class User(Record):
    """A run that uses the session, or waits for it."""

    run_id: str
    since: datetime


class SignInUnderWay(Record):
    """A sign-in under way."""

    run_id: str
    number: int
    """Number of the state that it makes."""


class Lease(Record):
    """Answer to a run that asked for the session."""

    kept: Kept | None = None
    passkeys: Kept | None = None
    """Its passkeys; also for the run that signs in."""
    why: str = ""
    """Reason why it gets none."""


class Leases(Record):
    """State of one site session."""

    terms: LeaseTerms = LeaseTerms()
    kept: Kept | None = None
    passkeys: Kept | None = None
    """Passkeys that sites have registered: they outlive the state."""
    is_expired: bool = True
    """The state was found expired, or there is none."""
    signed_in_at: datetime | None = None
    used_at: datetime | None = None
    holders: tuple[User, ...] = ()
    waiting: tuple[User, ...] = ()
    signing_in: SignInUnderWay | None = None
    refused: dict[str, str] = Field(default_factory=dict)
    """Why runs that asked got nothing, by run, until they have heard of it."""
    numbers: int = 0
    """Number of the last sign-in that was begun, or of the last import."""
    failures: int = 0
    """Sign-ins in a row that failed."""
    paused_until: datetime | None = None
    is_second_try: bool = False
    """The last sign-in did all that it was to do, and the site did not take it: one more follows at once."""
    why: str = ""
    """Why the last sign-in failed."""
    sign_ins: int = 0
    """Sign-ins that worked."""
    expiries: int = 0
    """Times that a state was found expired."""
    is_wanted: bool = False
    """A person wants a sign-in although no run asks for one."""

    def asking(self, run_id: str, expired: int, terms: LeaseTerms, now: datetime) -> Self:
        """Return the state with one more run that waits; `expired` is the number of the state that it found expired."""
        known = self if expired == 0 else self._found_expired(expired)
        refused = {run: why for run, why in known.refused.items() if run != run_id}
        waiting = known.waiting
        if all(user.run_id != run_id for user in waiting):
            waiting = (*waiting, User(run_id=run_id, since=now))
        return known.changed(terms=terms, refused=refused, waiting=waiting)

    def aged(self, now: datetime) -> Self:
        """Return the state as it is now: one that is too old counts as expired."""
        age = self.terms.max_age_s
        if not age or self.is_expired or self.signed_in_at is None or self.kept is None:
            return self
        is_old = now - self.signed_in_at >= timedelta(seconds=age)
        return self._found_expired(self.kept.number) if is_old else self

    def granting(self, now: datetime) -> tuple[Self, tuple[str, ...]]:
        """Return the state after all leases that can be given, and the runs that are to hear of an answer."""
        if self.is_expired:
            if self.paused_until is not None and now < self.paused_until and self.signing_in is None:
                return self.refusing(f"{self.why}; nobody signs in before {self.paused_until:%H:%M:%S} UTC")
            return self, ()
        held = {user.run_id for user in self.holders}
        told: list[str] = []
        holders, rest = list(self.holders), []
        for user in self.waiting:
            if user.run_id in held or len(holders) < self.terms.shared:
                told.append(user.run_id)
                if user.run_id not in held:
                    holders.append(User(run_id=user.run_id, since=now))
                    held.add(user.run_id)
            else:
                rest.append(user)
        if not told:
            return self, ()
        return self.changed(holders=tuple(holders), waiting=tuple(rest), used_at=now), tuple(told)

    @property
    def needs_sign_in(self) -> bool:
        """True if somebody waits for a sign-in, and none is under way."""
        return self.is_expired and self.signing_in is None and bool(self.waiting or self.is_wanted)

    def signing(self, run_id: str) -> Self:
        """Return the state with a sign-in under way."""
        number = self.numbers + 1
        return self.changed(signing_in=SignInUnderWay(run_id=run_id, number=number), numbers=number, is_wanted=False)

    def signed_in(self, run_id: str, kept: Kept, now: datetime) -> Self:
        """Return the state with what a sign-in has made; nothing changes if that sign-in is not the one under way."""
        if self.signing_in is None or (run_id, kept.number) != (self.signing_in.run_id, self.signing_in.number):
            return self
        return self._fresh(kept, now).changed(signing_in=None, sign_ins=self.sign_ins + 1)

    def imported(self, kept: Kept, now: datetime) -> Self:
        """Return the state with one that a person has brought."""
        return self._fresh(kept.model_copy(update={"number": self.numbers + 1}), now).changed(numbers=self.numbers + 1)

    def failed(self, run_id: str, why: str, now: datetime, *, may_pass: bool = False) -> tuple[Self, tuple[str, ...]]:
        """Return the state after a sign-in that failed, and the runs that are to hear of it.

        `may_pass`: the site was only not seen to be signed in. The first time, another sign-in follows at once: sites
        end sessions at any moment, also that of the new one.
        """
        if self.signing_in is None or run_id != self.signing_in.run_id:
            return self, ()
        if may_pass and not (self.failures or self.is_second_try):
            return self.changed(signing_in=None, is_second_try=True, why=why), ()
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self.failures)
        failed = self.changed(signing_in=None, is_second_try=False, failures=self.failures + 1, why=why)
        return failed.changed(paused_until=now + pause).refusing(why)

    def returning(self, run_id: str, kept: Kept | None, now: datetime) -> Self:
        """Return the state after a run has given its lease back, with the state as it left it."""
        is_holder = any(user.run_id == run_id for user in self.holders)
        left = self.without(run_id)
        current = self.kept
        if not is_holder or kept is None or current is None or self.is_expired or kept.number != current.number:
            return left
        return left.changed(kept=kept, used_at=now)

    def gone(self, run_ids: tuple[str, ...], now: datetime) -> tuple[Self, tuple[str, ...]]:
        """Return the state without runs that have ended, and the runs that are to hear of it."""
        left, told = self, tuple[str, ...]()
        for run_id in run_ids:
            if left.signing_in is not None and left.signing_in.run_id == run_id:
                left, told = left.failed(run_id, f"the run {run_id}, which was to sign in, has ended", now)
            left = left.without(run_id)
        return left, told

    def forgotten(self) -> Self:
        """Return the state without what is kept."""
        return self.changed(kept=None, passkeys=None, is_expired=True, paused_until=None, failures=0)

    def wanted(self) -> Self:
        """Return the state of a session that is to be signed in anew, whatever failed before."""
        return self.changed(is_expired=True, is_wanted=True, paused_until=None, failures=0)

    def grant(self, run_id: str) -> Lease:
        """Return the answer to a run."""
        if why := self.refused.get(run_id):
            return Lease(why=why)
        if self.signing_in is not None and self.signing_in.run_id == run_id:
            return Lease(passkeys=self.passkeys)
        holds = any(user.run_id == run_id for user in self.holders)
        return Lease(kept=self.kept, passkeys=self.passkeys) if holds and not self.is_expired else Lease()

    def registering(self, run_id: str, passkeys: Kept | None) -> Self:
        """Return the state with the passkeys as a run that has the session, or signs in, leaves them."""
        has_it = any(user.run_id == run_id for user in self.holders)
        has_it |= self.signing_in is not None and self.signing_in.run_id == run_id
        return self.changed(passkeys=passkeys) if has_it and passkeys is not None else self

    def idle_until(self) -> datetime | None:
        """Return when the session is to be kept alive; None if that is not asked for, or it is in use or expired."""
        if not self.terms.keep_alive_s or self.is_expired or self.holders or self.waiting or self.used_at is None:
            return None
        return self.used_at + timedelta(seconds=self.terms.keep_alive_s)

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs whose end would change something: they hold the session, or sign in."""
        own = () if self.signing_in is None else (self.signing_in.run_id,)
        return (*(user.run_id for user in (*self.holders, *self.waiting)), *own)

    def _found_expired(self, number: int) -> Self:
        """Return the state after somebody has found the one of this number expired; an older one says nothing."""
        if self.kept is None or self.is_expired or number != self.kept.number:
            return self
        return self.changed(is_expired=True, expiries=self.expiries + 1)

    def _fresh(self, kept: Kept, now: datetime) -> Self:
        times = {"signed_in_at": now, "used_at": now, "paused_until": None}
        troubles = {"failures": 0, "is_second_try": False, "is_wanted": False, "why": ""}
        return self.changed(kept=kept, is_expired=False, **times, **troubles)

    def refusing(self, why: str) -> tuple[Self, tuple[str, ...]]:
        """Return the state after all who wait were refused, and these runs."""
        told = tuple(user.run_id for user in self.waiting)
        known = [*self.refused.items(), *((run_id, why) for run_id in told)]
        return self.changed(waiting=(), refused=dict(known[-REFUSED_KEPT:])), told

    def without(self, run_id: str) -> Self:
        """Return the state without a run."""
        return self.changed(
            holders=tuple(user for user in self.holders if user.run_id != run_id),
            waiting=tuple(user for user in self.waiting if user.run_id != run_id),
            refused={run: why for run, why in self.refused.items() if run != run_id},
        )

    def changed(self, **changes: object) -> Self:
        """Return the state with other values of these fields."""
        return self.model_copy(update=changes)

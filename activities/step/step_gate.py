"""The gate of one step: armed before the intent is written, and opened when it is known what came of the step."""

import asyncio
import time
from collections.abc import Sequence

from activities.step.commit import Commit
from activities.step.consent import Consenting
from activities.step.records import settled_outcome
from activities.step.underway import StepUnderway
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Target
from replaywright.domain.run.commands import Perform
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.step.outcomes import Departure, StepOutcome
from replaywright.domain.step.press_grants import Grant
from replaywright.errors import ReplaywrightError
from replaywright.killpoints import hit
from replaywright.ports.browser import BeforeDispatch


class AlreadyCommitted(Exception):
    """The ledger answered an intent with the outcome of an earlier attempt."""

    def __init__(self, outcome: StepOutcome) -> None:
        super().__init__()
        self.outcome = outcome


class StepGate:
    """Holds the bytes of a step that must not be repeated, or of a press that nobody has granted yet."""

    def __init__(self, at: StepUnderway) -> None:
        self._at = at
        self.commit: Commit | None = None
        """Set once its intent is written."""
        self.ungranted = asyncio.Event()
        """Set when a request was thrown away that nobody had granted."""

    @property
    def is_untouched(self) -> bool:
        """Return True if the step has certainly given no input yet: for that its intent has to be written."""
        return self.commit is None and self.before_dispatch() is not None

    @property
    def has_left(self) -> bool:
        """Return True if its intent was dispatched: its request is on its way."""
        return self.commit is not None and self.commit.has_intent and self.commit.is_permitted

    @property
    def granted(self) -> tuple[Grant, ...]:
        """Requests that were let go, and on whose word."""
        return () if self.commit is None else self.commit.granted

    @property
    def refusal(self) -> str:
        """Return the reason why its bytes were thrown away."""
        reason = "" if self.commit is None else self.commit.refusal
        return f"its bytes were not let go: {reason or 'the time was up'}"

    def before_dispatch(self) -> BeforeDispatch | None:
        """Return what has to be done between finding and acting: for a commit step, writing its intent."""
        if not (self._at.effect.repeatable or self._at.is_reapplied):
            return self._write_intent
        return self._watch if self._needs_grant else None

    @property
    def _needs_grant(self) -> bool:
        """Return True if a model chose what is pressed: neither a signed recording of the step nor a person did.

        What another task recorded of the element alone says nothing of what this press may send.
        """
        if self._at.command.consent is None:
            return False
        entry = self._at.entry
        is_replayed = entry is not None and entry.status is EntryStatus.ACTIVE and not entry.is_of_site
        is_written = self._at.declared is not None and (entry is None or entry.origin == "declared")
        return self._at.is_proposed or not (is_replayed or is_written)

    def _commit_on(self, target: Target | None, *, has_intent: bool = True) -> Commit:
        at, consent, consenting = self._at, self._at.command.consent, None
        if consent is not None and self._needs_grant:
            recorded = () if at.entry is None else at.entry.granted
            consenting = Consenting(
                consent,
                target,
                recorded,
                policing=at.tools.policing,
                browser=at.browser,
                secrets=at.tools.secrets,
            )
        commit = Commit(at.tools.ledger, at.command, at.held, consenting, has_intent=has_intent)
        commit.is_refused = self.ungranted
        return commit

    async def _watch(self, target: Target | None, _before: tuple[PredicateResult, ...]) -> None:
        """Hold what a repeatable step would send that nobody has granted; the ledger need not know of it."""
        commit = self._commit_on(target, has_intent=False)
        await commit.arm(None)
        self.commit = commit
        commit.begin()

    async def _write_intent(self, target: Target | None, before: tuple[PredicateResult, ...]) -> None:
        at, command = self._at, self._at.command
        assert isinstance(command, Perform)
        hit("located", at.context.sequence)
        commit = self._commit_on(target)
        held = held_of(before, len(at.step.expect))
        await commit.arm(held)
        hit("armed", at.context.sequence)
        begun = time.perf_counter()
        try:
            known = await at.tools.ledger.intend(command, held)
        except ReplaywrightError:
            await commit.withdraw()
            raise
        at.spend(begun)
        if known.state == "COMMITTED":
            await commit.withdraw()
            raise AlreadyCommitted(known.outcome or settled_outcome(at.context.fingerprint))
        self.commit = commit
        hit("intended", at.context.sequence)
        commit.begin()

    async def is_cut(self) -> bool:
        """Find out if the step's bytes were thrown away, whatever the page shows."""
        if self.commit is None:
            return False
        self._at.trips += bool(self.commit.redis_s)
        self._at.redis_s += self.commit.redis_s
        if self.commit.is_past:
            return False
        await self.note_departure()
        return self._at.departure is not None and self._at.departure.cut

    async def note_departure(self) -> None:
        """Note what has left by now."""
        if self.commit is not None:
            self._at.departure = await self.commit.departure()

    async def open(self) -> None:
        """Hold nothing any more: it is known what the step came to."""
        if self.commit is not None:
            self._at.departure = await self.commit.open()

    async def shut(self, why: str) -> Departure:
        """Close the gate for good, as the page may still be about to send; take the intent back if there is a `why`."""
        commit = self.commit
        assert commit is not None
        self._at.departure = departure = await commit.shut()
        if why:
            await self._release(why)
        return departure

    async def keep_shut(self, why: str) -> None:
        """Leave the gate closed after a request that nobody had granted, and take the intent back."""
        commit = self.commit
        assert commit is not None
        self._at.departure = await commit.departure()
        await self._release(why)

    async def take_back(self, why: str) -> None:
        """Open the gate, and take the intent back if there is one: nothing came of it."""
        if self.commit is not None:
            await self.open()
            await self._release(why)

    async def leave(self) -> None:
        """Stop listening at the gate."""
        if self.commit is not None:
            await self.commit.leave()

    async def _release(self, why: str) -> None:
        if self.commit is not None and self.commit.has_intent:
            await self._at.tools.ledger.release(self._at.context, why)


def held_of(before: Sequence[PredicateResult], declared: int) -> tuple[int, ...] | None:
    """Return which of the step's own expectations, the first `declared`, held before it; None: they were not asked."""
    if len(before) < declared:
        return None
    return tuple(index for index, result in enumerate(before[:declared]) if result.passed)

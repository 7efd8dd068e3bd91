"""Taking checkpoints beside the steps, and restoring them in a new browser."""

import asyncio
import json
import logging
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError
from temporalio import activity

from activities.heartbeats import heartbeats
from activities.session.attachments import Attachment, Attachments, Taking
from activities.vault import Vault
from replaywright.domain.common.templates import secrets_in, texts_of, with_secrets
from replaywright.domain.page.outlines import Outline, unlike
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.unmet import unmet_message
from replaywright.domain.run.commands import StepContext
from replaywright.domain.run.redacted import redacted_outline
from replaywright.domain.step.checkpoints import (
    CheckCheckpoint,
    Checkpoint,
    PageState,
    RestoreCheckpoint,
    Restored,
    TakeCheckpoint,
    same_page,
    standing,
)
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.errors import (
    ActionFailed,
    ArtifactMissing,
    ArtifactsUnavailable,
    InputInvalid,
    PolicyBlocked,
    SecretMissing,
    SessionLost,
)
from replaywright.ports.stores import Artifacts, Secrets

_log = logging.getLogger("replaywright.checkpoints")

CHECKPOINT_PAUSE_S = 1.0
"""After a checkpoint, or after the browser was opened, a new page comes with none for so long: if the browser is lost
then, the steps since are done again. A commit has one in any case."""
CHECK_MS = 5_000
"""Time that a restored page has to show what held."""
LOOKS = 4
"""Times that a restored page is read until it is what it was: it may load something late."""
LOOK_PAUSE_S = 0.5
_UNREADABLE = (ActionFailed, ArtifactMissing, PolicyBlocked, SecretMissing)


class Checkpoints:
    """Takes checkpoints; one that is taken while nobody waits comes with the outcome of the next step."""

    def __init__(self, artifacts: Artifacts, vault: Vault, *, pause_s: float = 0) -> None:
        """Take no checkpoint of a new page for `pause_s` seconds after one, or after the browser was opened."""
        self._artifacts = artifacts
        self._vault = vault
        self._secrets = vault.secrets
        self._pause_s = pause_s

    async def taken(self, held: Attachment) -> Checkpoint | None:
        """Return what was taken since the last step, once stored; None if nothing was, or the browser is gone."""
        taking, held.checkpointing = held.checkpointing, None
        if taking is None:
            return None
        try:
            return await taking.storing
        except SessionLost:  # for the step to say
            return None

    async def after(
        self, context: StepContext, held: Attachment, outcome: StepOutcome, *, is_reapplied: bool = False
    ) -> StepOutcome:
        """Return the outcome, with a checkpoint if it was a commit; of another step that is due, begin one.

        An outcome from the ledger has none: the page that is shown may be that of before the step.
        """
        if outcome.status is not Status.DONE or outcome.from_ledger:
            return outcome
        try:
            before, held.document = held.document, held.browser.document
        except SessionLost:  # for the next step to say
            return outcome
        if is_reapplied or context.override:
            return outcome
        moved = before != held.document
        outcome = outcome.model_copy(update={"moved": moved})
        committed = not outcome.effect.repeatable
        due = committed or context.checkpoint or (moved and time.monotonic() >= held.kept_at + self._pause_s)
        if not due or outcome.verification is not None:
            return outcome  # nobody goes on from where a run was verified
        expect = standing(context.step.expect, outcome.predicates, committed=committed)
        held.checkpointing = self._begun(held, context.sequence + 1, expect, context.run.newest_checkpoint)
        if not committed:
            return outcome
        # Until it is taken nothing leads back across the step: the run goes on when it is known.
        return with_checkpoint(outcome, await self.taken(held))

    async def take(self, held: Attachment, position: int, *, earlier: str = "") -> Checkpoint | None:
        """Take a checkpoint of the page as it is; None when it cannot be had, which is logged.

        Raises:
            SessionLost: the browser is gone.
        """
        return await self._begun(held, position, (), earlier).storing

    def _begun(self, held: Attachment, position: int, expect: tuple[int, ...], earlier: str) -> Taking:
        """Begin to take one: the page is read now, and what was read is stored while the run goes on."""
        begun = time.perf_counter()
        held.kept_at = time.monotonic()
        reading = asyncio.create_task(self._read_page(held, earlier))

        async def stored() -> Checkpoint | None:
            try:
                if (page := await reading) is not None:
                    return await self._stored(held, *page, position=position, expect=expect, begun=begun)
            except (*_UNREADABLE, ArtifactsUnavailable, InputInvalid) as exc:
                _log.warning("no checkpoint before step %d of session %s: %s", position + 1, held.ref.session_id, exc)
            held.kept_at = float("-inf")
            return None

        return Taking(reading, asyncio.create_task(stored()))

    async def _read_page(self, held: Attachment, earlier: str) -> tuple[PageState, Outline] | None:
        """Read what the page is and shows; None if it is no web page."""
        if not held.browser.url.startswith(("http://", "https://")):
            return None
        state, shown = await held.browser.state()
        if not state.url.startswith(("http://", "https://")):
            return None
        before = held.kept if held.kept is not None or not earlier else await self.load(earlier)
        return state.beside(before), shown

    async def _stored(
        self,
        held: Attachment,
        state: PageState,
        shown: Outline,
        *,
        position: int,
        expect: tuple[int, ...],
        begun: float,
    ) -> Checkpoint:
        (state, digest), wear = await asyncio.gather(self._put(state, shown), held.wear())
        held.kept = state
        return Checkpoint(
            position=position,
            state=digest,
            held=expect,
            ms=round((time.perf_counter() - begun) * 1000, 1),
            wear=wear,
            partial=state.tabs > 1 or bool(state.left_out),
        )

    async def _put(self, state: PageState, shown: Outline) -> tuple[PageState, str]:
        """Store what was read; the state as it was stored, and its address."""
        outline = await asyncio.to_thread(self._shown, shown)
        state = state.model_copy(update={"outline": await self._artifacts.put(outline)})
        return state, await self._artifacts.put(await asyncio.to_thread(self._written, state))

    async def keep_state(self, held: Attachment, *, earlier: str = "") -> str:
        """Store the page as it is, outside of the run's checkpoints; return its digest, empty when it cannot be had.

        Raises:
            SessionLost: the browser is gone.
        """
        try:
            page = await self._read_page(held, earlier)
            return "" if page is None else (await self._put(*page))[1]
        except (*_UNREADABLE, ArtifactsUnavailable, InputInvalid) as exc:
            _log.warning("the state of session %s is not kept: %s", held.ref.session_id, exc)
            return ""

    async def load(self, digest: str) -> PageState:
        """Return the state with this address.

        Raises:
            ArtifactMissing: it is gone, or cannot be read.
            ArtifactsUnavailable: the store cannot be reached.
            PolicyBlocked: it holds a secret, and the start of the run is not signed.
            SecretMissing: it holds one that this worker does not know.
        """
        try:
            data = await asyncio.to_thread(json.loads, await self._artifacts.get(digest))
            names = sorted({name for text in texts_of(data) for name in secrets_in(text)})
            values = {name: await self._vault.value(name) for name in names}
            return await asyncio.to_thread(_read, data, values)
        except (ValidationError, json.JSONDecodeError) as exc:
            raise ArtifactMissing(f"artifact {digest} is no checkpoint of this version") from exc

    def _shown(self, shown: Outline) -> bytes:
        return redacted_outline(shown, self._secrets).model_dump_json(by_alias=True).encode()

    def _written(self, state: PageState) -> bytes:
        """Serialize the state without secrets, which are put in again when it is read."""
        data = state.model_dump(mode="json", by_alias=True)
        if any(secrets_in(text) for text in texts_of(data)):
            # Whoever wrote that into the site's storage would be given the secret's value.
            raise InputInvalid("the site stores the name of a secret in our notation")
        return json.dumps(self._secrets.redact_data(data), ensure_ascii=False).encode()

    async def shown(self, state: PageState) -> Outline:
        """The page as it was."""
        if not state.outline:
            raise ArtifactMissing(f"the checkpoint at {state.url} is of a version that knew no outline")
        try:
            return Outline.model_validate_json(await self._artifacts.get(state.outline))
        except ValidationError as exc:
            raise ArtifactMissing(f"artifact {state.outline} is no outline of this version") from exc


class CheckpointActivities:
    """Activities `session.checkpoint`, `session.restore` and `session.check`."""

    def __init__(self, attachments: Attachments, checkpoints: Checkpoints, secrets: Secrets) -> None:
        self._attachments = attachments
        self._checkpoints = checkpoints
        self._secrets = secrets

    @activity.defn(name="session.checkpoint")
    async def take_checkpoint(self, request: TakeCheckpoint) -> Checkpoint | None:
        """Take one of the page as it is; None when it cannot be had."""
        async with heartbeats("checkpoint"):
            held = await self._attachments.hold(request.session, request.epoch)
            await self._checkpoints.taken(held)
            return await self._checkpoints.take(held, request.position, earlier=request.earlier)

    @activity.defn(name="session.restore")
    async def restore_checkpoint(self, request: RestoreCheckpoint) -> Restored:
        """Put back what was stored, and open the page.

        Promise on a retry: does the same again.
        """
        async with heartbeats("restoring"):
            held = await self._attachments.hold(request.session, request.epoch)
            try:
                state = await self._checkpoints.load(request.state)
                page = state if request.page in ("", request.state) else await self._checkpoints.load(request.page)
                await held.browser.restore(page.model_copy(update={"storage": state.storage}))
            except _UNREADABLE as exc:
                return Restored(held=False, why=self._said(exc))
            held.kept = state
            if not same_page(held.browser.url, page.url):
                return Restored(held=False, why=self._said(f"{page.url} leads to {held.browser.url} now"))
            return Restored(held=True)

    @activity.defn(name="session.check")
    async def check_checkpoint(self, request: CheckCheckpoint) -> Restored:
        """Check that the page shows what held when the checkpoint was taken. Touches nothing."""
        async with heartbeats("checking"):
            held = await self._attachments.hold(request.session, request.epoch)
            try:
                state = await self._checkpoints.load(request.state)
                before = await self._checkpoints.shown(state)
                lacking = failing(await held.browser.check(request.expect, CHECK_MS)) if request.expect else None
                if lacking is not None:
                    return Restored(held=False, why=self._said(unmet_message(lacking)))
                return await self._alike(held, before)
            except _UNREADABLE as exc:
                return Restored(held=False, why=self._said(exc))

    async def _alike(self, held: Attachment, before: Outline) -> Restored:
        why = ""
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(LOOK_PAUSE_S)
            why = unlike(before, redacted_outline(await held.browser.outline(), self._secrets))
            if not why:
                return Restored(held=True)
        return Restored(held=False, why=self._said(f"the page is not what it was: {why}"))

    def _said(self, what: object) -> str:
        return self._secrets.redact(str(what))[:300]


def _read(data: Any, values: Mapping[str, str]) -> PageState:
    """State of a page with the values of the secrets that it names."""
    if isinstance(data, dict) and isinstance(data.get("url"), str):
        data["url"] = with_secrets(data["url"], lambda name: quote(values[name], safe=""))
    return PageState.model_validate(with_secrets(data, values.__getitem__))


def with_checkpoint(outcome: StepOutcome, taken: Checkpoint | None) -> StepOutcome:
    """Return the outcome with the checkpoint that was taken before its step."""
    return outcome if taken is None else outcome.model_copy(update={"checkpoint": taken})

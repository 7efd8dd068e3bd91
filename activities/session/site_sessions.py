"""Site sessions in the browser: signing a new one in with what is kept, and keeping what a run leaves."""

import asyncio
import logging

from pydantic import ValidationError
from temporalio import activity
from temporalio.client import WorkflowQueryFailedError

from activities.heartbeats import heartbeats
from activities.run.site_sessions import give_back, own_run_id
from activities.session.attachments import Attachment, Attachments
from activities.session.checkpoints import Checkpoints
from activities.vault import Vault
from replaywright.domain.predicate.evaluation import failing
from replaywright.domain.predicate.unmet import unmet_message
from replaywright.domain.proof.reconciling import SIGNED_OUT_ANSWERS
from replaywright.domain.secrets.signing import Signer
from replaywright.domain.site_session.commands import (
    EnterSiteSession,
    LeaveSiteSession,
    Returned,
    SessionEntered,
    kept_fault,
    sign_kept,
    workflow_id,
)
from replaywright.domain.site_session.definitions import SignedIn
from replaywright.domain.site_session.leases import Kept, Lease
from replaywright.domain.site_session.passkeys import Passkey, Passkeys
from replaywright.domain.task.steps import Goto
from replaywright.errors import ArtifactMissing, InputInvalid, PolicyBlocked, SecretMissing, SiteUnavailable
from replaywright.observing import observer
from replaywright.ports.browser import STILL_LOADING, BrowserSession, Work
from replaywright.ports.stores import Artifacts, DeclaredSessions

_log = logging.getLogger("replaywright.site_sessions")


class SiteSessionBrowsers:
    """Activities `site_session.enter` and `site_session.leave`, on the worker that is attached to the browser."""

    def __init__(
        self,
        declared: DeclaredSessions,
        attachments: Attachments,
        checkpoints: Checkpoints,
        vault: Vault,
        signer: Signer,
        *,
        artifacts: Artifacts,
        tenant: str,
    ) -> None:
        self._declared = declared
        self._attachments = attachments
        self._checkpoints = checkpoints
        self._artifacts = artifacts
        self._vault = vault
        self._signer = signer
        self._tenant = tenant

    @activity.defn(name="site_session.enter")
    async def enter(self, request: EnterSiteSession) -> SessionEntered:
        """Put the kept cookies and storage into the browser, and look whether the site takes it for signed in.

        Promise on a retry: does the same again; the page that is shown is never left.

        Raises:
            SiteUnavailable: nobody can tell, as the site does not answer.
        """
        async with heartbeats("signing in with what is kept"):
            held = await self._attachments.hold(request.session, request.epoch)
            try:
                await self._vault.require_signed()
                definition = await asyncio.to_thread(self._declared.definition, request.name)
            except (InputInvalid, PolicyBlocked) as exc:
                return SessionEntered(why=str(exc), is_refused=True)
            grant = await self._granted(request)
            if definition.passkeys:
                await held.browser.put_passkeys(await self._passkeys(request.name, grant))
            kept = grant.kept
            if request.signs_in:
                return SessionEntered(held=True)
            if kept is None:
                return SessionEntered(why=grant.why, is_refused=bool(grant.why))
            if fault := kept_fault(self._signer, self._tenant, request.name, kept):
                return SessionEntered(why=f"what is kept of the session {request.name} is {fault}", is_refused=True)
            try:
                state = await self._checkpoints.load(kept.digest)
            except (ArtifactMissing, SecretMissing) as exc:
                return SessionEntered(
                    number=kept.number, why=f"what is kept of the session {request.name} is lost: {exc}"
                )
            await held.browser.put_storage(state)
            held.kept = state
            why = await self._lacking(held.browser, definition.signed_in)
            return SessionEntered(number=kept.number, digest=kept.digest, held=not why, why=why)

    @activity.defn(name="site_session.leave")
    async def leave(self, request: LeaveSiteSession) -> None:
        """Keep the session as it is in the browser, and give the lease back. Repeated, it is kept again.

        A run that signs in has failed to do so if the site does not take its browser for signed in.

        Raises:
            SessionLost: the browser is gone.
            SiteUnavailable: nobody can tell whether it is signed in, as the site does not answer.
        """
        async with heartbeats("keeping the session"):
            held = await self._attachments.hold(request.session, request.epoch)
            kept, why, may_pass = None, "", False
            passkeys = await self._registered(held, request)
            if request.signs_in:
                try:
                    definition = await asyncio.to_thread(self._declared.definition, request.name)
                    why = await self._lacking(held.browser, definition.signed_in)
                except InputInvalid as exc:
                    why = str(exc)
                may_pass = bool(why)
            if not why:
                kept = await self._kept(held, request)
                why = "" if kept is not None or not request.signs_in else "its cookies and storage could not be kept"
            returned = Returned(run_id=own_run_id(), kept=kept, signs_in=request.signs_in, why=why, may_pass=may_pass)
            returned = returned.model_copy(update={"passkeys": passkeys})
            await give_back(activity.client(), self._tenant, request.name, returned)
            if request.signs_in and not why:
                observer().signed_in(request.name, ok=True)

    async def _granted(self, request: EnterSiteSession | LeaveSiteSession) -> Lease:
        """Ask the workflow of the session itself: what runs are told by signals might come from anybody."""
        handle = activity.client().get_workflow_handle(workflow_id(self._tenant, request.name))
        try:
            grant: Lease = await handle.query("grant", own_run_id(), result_type=Lease)
        except WorkflowQueryFailedError as exc:
            raise SiteUnavailable(f"session {request.name}: its workflow does not answer: {exc}") from exc
        return grant

    async def _passkeys(self, name: str, grant: Lease) -> tuple[Passkey, ...]:
        """Load the session's passkeys; those that cannot be read, or that none of ours has kept, are left out."""
        kept = grant.passkeys
        if kept is None:
            return ()
        fault: object = kept_fault(self._signer, self._tenant, _passkeys_of(name), kept)
        if not fault:
            try:
                return Passkeys.model_validate_json(await self._artifacts.get(kept.digest)).passkeys
            except (ArtifactMissing, ValidationError) as exc:
                fault = exc
        _log.error("session %s: its passkeys are not used: %s", name, fault)
        return ()

    async def _registered(self, held: Attachment, request: LeaveSiteSession) -> Kept | None:
        """Keep the passkeys of the browser, and those that other runs have brought since; None without any."""
        if not (passkeys := held.browser.passkeys):
            return None
        own = {each.credential_id for each in passkeys}
        known = await self._passkeys(request.name, await self._granted(request))
        passkeys += tuple(each for each in known if each.credential_id not in own)
        digest = await self._artifacts.put(Passkeys(passkeys=passkeys).model_dump_json(by_alias=True).encode())
        return sign_kept(self._signer, self._tenant, _passkeys_of(request.name), request.number, digest)

    async def _kept(self, held: Attachment, request: LeaveSiteSession) -> Kept | None:
        digest = await self._checkpoints.keep_state(held, earlier=request.earlier)
        if not digest:
            return None
        return sign_kept(self._signer, self._tenant, request.name, request.number, digest)

    async def _lacking(self, browser: BrowserSession, signed_in: SignedIn) -> str:
        """Return why the site does not take the browser for signed in; empty if it does."""
        opening = Goto(action="goto", url=signed_in.url)
        seen = await browser.ask_site([Work(opening)], signed_in.expect)
        where = f"{signed_in.url} opened in a tab of its own"
        if seen.void in SIGNED_OUT_ANSWERS:
            return f"{where} asks to sign in ({seen.void})"
        unmet = failing(seen.results)
        if not seen.void and unmet is None:
            return ""
        if unmet is None or seen.incomplete not in ("", STILL_LOADING):
            raise SiteUnavailable(f"nobody can tell whether it is signed in: {where}: {seen.void or seen.incomplete}")
        return f"{where}: {unmet_message(unmet)}"


def _passkeys_of(name: str) -> str:
    """Return the name that the passkeys of a session are signed under; no session has it."""
    return f"{name}/passkeys"

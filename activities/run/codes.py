"""One-time codes from a mailbox: found, sealed for the step that enters them, and told to nobody else."""

import asyncio
import time

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.policing import as_failure
from activities.vault import Vault
from replaywright.domain.site_session.codes import CodeSource, FetchCode, FetchedCode
from replaywright.errors import InputInvalid, MailboxFailed, MailboxRefused, PolicyBlocked, SecretMissing
from replaywright.ports.people import Codes, Mailboxes
from replaywright.ports.stores import DeclaredSessions

LOOK_EVERY_S = 2.0
KEY_LIFETIME_S = 3_600.0
"""Lifetime of the key of a fetched code: longer than it takes to enter it."""


class CodeActivities:
    """Activity `code.fetch`."""

    def __init__(self, declared: DeclaredSessions, mailboxes: Mailboxes, codes: Codes, vault: Vault) -> None:
        self._declared = declared
        self._mailboxes = mailboxes
        self._codes = codes
        self._vault = vault

    @activity.defn(name="code.fetch")
    async def fetch(self, request: FetchCode) -> FetchedCode:
        """Wait for the code of a source, and seal it; say why none came. Repeated, it is looked for again.

        Raises:
            ApplicationError: of type `PolicyBlocked`: the run's start is not signed.
            StoreUnavailable: the key of the code cannot be kept at the moment.
        """
        async with heartbeats("waiting for a code"):
            try:
                await self._vault.require_signed()
                source = await asyncio.to_thread(self._declared.code_source, request.source)
            except PolicyBlocked as exc:
                raise as_failure(exc) from exc
            except InputInvalid as exc:
                return FetchedCode(why=str(exc))
            if source.webhook:  # whoever brings it answers the question
                return FetchedCode()
            code, at, why = await self._looked_for(request, source)
            if not code:
                return FetchedCode(why=why)
            question = f"code-{request.number}"
            sealed = await self._codes.seal(
                tenant=request.tenant, run_id=request.run_id, question=question, code=code, ttl_s=KEY_LIFETIME_S
            )
            return FetchedCode(question=question, sealed=sealed, at=at)

    async def _looked_for(self, request: FetchCode, source: CodeSource) -> tuple[str, float, str]:
        deadline = time.monotonic() + source.within_s
        why = f"no code came to {request.source} within {source.within}"
        while True:
            try:
                password = await asyncio.to_thread(self._vault.secrets.resolve, source.password)
                code, at = await self._mailboxes.newest_code(source, password, request.since)
            except (MailboxRefused, SecretMissing) as exc:
                return "", 0.0, str(exc)
            except MailboxFailed as exc:
                why, code, at = str(exc), "", 0.0
            if code or time.monotonic() >= deadline:
                return code, at, why
            await asyncio.sleep(LOOK_EVERY_S)

"""Requests of a run through the page, kept for others once the run is verified."""

import asyncio
import datetime as dt
import logging

from activities.session.attachments import Attachment
from activities.vault import Vault
from replaywright.domain.locating.filling import filled_step
from replaywright.domain.requests.commands import ShownRequests
from replaywright.domain.requests.deriving import learned
from replaywright.domain.requests.recipes import Knowledge
from replaywright.domain.requests.sketching import ShownRun, Unfit, sketch
from replaywright.domain.secrets.redaction import redact
from replaywright.domain.session.sessions import OfRun
from replaywright.errors import PolicyBlocked, SecretMissing, StoreUnavailable, ValueTooLarge
from replaywright.ports.recipes import RecipeStore

_log = logging.getLogger("replaywright.requests")


class RequestKeeping:
    """Keeps what runs show of their requests."""

    def __init__(self, store: RecipeStore, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    async def keep(self, run: OfRun, shown: ShownRequests, held: Attachment) -> str:
        """Keep the requests of a run; return why the task cannot be replayed by them yet, empty if it can."""
        try:
            secrets = {name: await self._vault.value(name) for name in shown.secrets}
        except (PolicyBlocked, SecretMissing) as error:
            return str(error)
        seen = ShownRun(
            run_id=run.run_id,
            plan=tuple(filled_step(step, shown.values) for step in shown.plan),
            written=shown.plan,
            values=shown.values,
            exchanges=await held.browser.exchanges(),
            verify=shown.verify,
            secrets=secrets,
            extracted=shown.extracted,
            commits=shown.commits,
            day=dt.date.fromisoformat(shown.day),
        )
        try:
            known = await self._store.known(tenant=run.tenant, key=shown.key)
            try:
                knowledge = await asyncio.to_thread(_learned, known, seen)
            except Unfit as error:
                knowledge = Knowledge(why_not=redact(str(error), secrets))
            await self._store.keep(tenant=run.tenant, key=shown.key, knowledge=knowledge)
        except (StoreUnavailable, ValueTooLarge) as error:
            _log.warning("the requests of %s are not kept: %s", run.run_id, error)
            return str(error)
        return knowledge.why_not


def _learned(known: Knowledge, seen: ShownRun) -> Knowledge:
    """Return what is known with one more run; for a thread, as it reads all responses.

    Raises:
        Unfit: the run shows nothing that can be replayed.
    """
    return learned(known, sketch(seen), seen.commits)

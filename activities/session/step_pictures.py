"""Pictures of what the screen shows after a step: taken while the run goes on, and kept while the next step begins.

The page is left alone until its picture is taken: whoever takes hold of the session waits for that. Nothing fails for
want of a picture; why there is none stands in the trace in its place.
"""

import asyncio
import logging
from typing import Any

from activities.session.attachments import BLANK, Attachment
from activities.traces import traced
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.run.commands import CommandOnStep, Reapply, Recheck, StepContext
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.domain.task.steps import names_element
from replaywright.errors import ArtifactsUnavailable, PictureUnread, SessionLost
from replaywright.ports.browser import Shown
from replaywright.ports.ledger import StepStore
from replaywright.ports.stores import Artifacts, Secrets

_log = logging.getLogger("replaywright.pictures")

SEARCH_S = 10.0
"""Time limit for finding secrets in it, where pictures are read; the page goes on meanwhile."""
LIMIT_S = 4.0
"""Time limit of one picture; the browser's own limits are shorter."""


class StepPictures:
    """Takes pictures, and adds a line of each to the trace."""

    def __init__(self, store: StepStore, artifacts: Artifacts, secrets: Secrets) -> None:
        self._store = store
        self._artifacts = artifacts
        self._secrets = secrets

    async def before(self, command: CommandOnStep, held: Attachment) -> None:
        """Take one of the page that a run, or an adopted browser, begins with: no step here led to it."""
        context = command.context
        if context.run.pictures is not Pictures.STEPS or held.is_pictured or isinstance(command, Recheck):
            return
        held.is_pictured = True
        if held.browser.url not in BLANK:
            await self._take(context, held, context.sequence - 1)

    def after(self, command: CommandOnStep, held: Attachment, outcome: StepOutcome) -> None:
        """Begin to take one of the page that the step led to, if one is wanted; returns at once."""
        if not is_wanted(command, outcome):
            return
        held.is_pictured = True
        held.picturing = asyncio.create_task(self._take(command.context, held, command.context.sequence))

    async def _take(self, context: StepContext, held: Attachment, sequence: int) -> None:
        if held.checkpointing is not None:  # it reads the page: nothing may be hidden in it meanwhile
            await asyncio.wait({held.checkpointing.reading})
        try:
            async with asyncio.timeout(LIMIT_S):
                shown = await held.browser.picture(self._secrets.redact)
        except SessionLost:  # for the next step to say
            return
        except TimeoutError:
            shown = Shown(missing=f"the page did not answer in {LIMIT_S:g} s")
        keeping = asyncio.create_task(self._keep(context, sequence, shown))
        held.keeping.add(keeping)
        keeping.add_done_callback(held.keeping.discard)

    async def _keep(self, context: StepContext, sequence: int, shown: Shown) -> None:
        line: dict[str, Any] = {"kind": "picture", "runId": context.run.run_id, "sequence": sequence}
        if shown.view is not None:
            line["view"] = shown.view.model_dump()
        try:
            if shown.data is None:
                line["missing"] = shown.missing
            else:
                line["digest"] = await self._artifacts.put(await self._secrets.redact_picture(shown.data, SEARCH_S))
        except (ArtifactsUnavailable, PictureUnread) as exc:
            line["missing"] = str(exc)[:200]
        if "missing" in line:
            _log.warning(
                "there is no picture after step %d of %s: %s", sequence + 1, context.run.run_id, line["missing"]
            )
        await traced(self._store, tenant=context.run.tenant, lineage=context.run.lineage, line=line)


def is_wanted(command: CommandOnStep, outcome: StepOutcome) -> bool:
    """Tell if there is to be a picture of the page that this step led to. One that failed leaves its own evidence."""
    context = command.context
    is_told = outcome.from_ledger or isinstance(command, Reapply) or context.override
    if outcome.status is not Status.DONE or is_told:
        return False
    match context.run.pictures:
        case Pictures.STEPS:
            return True
        case Pictures.AUTO:
            lookup = outcome.lookup
            is_unknown = names_element(context.step) and not lookup.entry_version
            return context.run.mode is Mode.LEARN or is_unknown or lookup.healed or lookup.from_model
        case _:
            return False

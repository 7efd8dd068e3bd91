"""Evidence of a failed step: the page as it is, and how it differs from what was expected.

Keeping evidence never makes things worse: it takes seconds at most, only on a failure, and what cannot be had or kept
is noted beside the rest.
"""

import asyncio
import json
import logging
import time
from collections.abc import Sequence

from pydantic import ValidationError

from activities.plan.pictures import keep_snapshot, pictured
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.snapshot_diff import diff
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.predicate.predicates import Predicate
from replaywright.domain.proof.signed_out import SIGNED_OUT, signed_out_message, was_signed_out
from replaywright.domain.run.commands import Proposal, StepContext
from replaywright.domain.run.redacted import redacted_snapshot
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.fitting import place_of
from replaywright.domain.step.outcomes import MARKED, MARKED_SNAPSHOT, Status, StepOutcome
from replaywright.domain.task.actions import Cause
from replaywright.errors import ActionFailed, ArtifactMissing, ArtifactsUnavailable, PictureUnread, SessionLost
from replaywright.ports.browser import BrowserSession
from replaywright.ports.stores import Artifacts, Secrets

_log = logging.getLogger("replaywright.failures")

CAPTURE_S = 9.0
"""Time limit for picture, documents, console and network; the browser's own limits are shorter."""
SNAPSHOT_S = 4.0
"""For the snapshot, where the step did not leave one. Both together are well inside an activity's margin."""
PICTURE_S = 6.0
"""Time limit of the picture with marks, where a planner takes pictures."""
DIFF_LINES = 200
REASON_LIMIT = 160
"""Characters of why a part is missing."""


def is_evidence_wanted(context: StepContext, outcome: StepOutcome) -> bool:
    """Tell a failure from how learning begins: a first look for an element of which nothing is recorded."""
    asks_model = context.run.mode is not Mode.REPLAY and bool(context.step.instruction) and not context.attempt
    is_first_look = outcome.status is Status.MISSED and outcome.lookup.reason == "no_entry" and asks_model
    return outcome.status is not Status.DONE and not (is_first_look and not context.is_elsewhere)


def _met_sign_in(context: StepContext, outcome: StepOutcome, now: Snapshot, recorded: Sequence[Snapshot]) -> bool:
    """Tell if the step failed because the site had signed the browser out; nothing is known of one in doubt."""
    is_open = outcome.status in (Status.MISSED, Status.REFUSED, Status.UNMET)
    return (
        is_open
        and not context.signs_in
        and was_signed_out(now, recorded, outcome.reason, is_elsewhere=context.is_elsewhere or context.is_signed_in)
    )


class FailureEvidence:
    """Puts what a failure leaves behind into the artifact store."""

    def __init__(self, artifacts: Artifacts, secrets: Secrets, *, pictures: bool = False) -> None:
        """Keep a picture for the planner, too, if `pictures`."""
        self._artifacts = artifacts
        self._secrets = secrets
        self._pictures = pictures

    async def added(
        self,
        outcome: StepOutcome,
        context: StepContext,
        browser: BrowserSession,
        *,
        expect: Sequence[Predicate],
        entry: ActionCacheEntry | None = None,
        before: str = "",
        proposal: Proposal | None = None,
    ) -> StepOutcome:
        """Return the outcome with the addresses of its evidence, if some is wanted. Raises nothing of its own.

        `before`: digest of the page that the step began on in the last good run; a step that did not act is compared
        with that.
        """
        if not is_evidence_wanted(context, outcome):
            return outcome
        kept = _Kept(self._artifacts)
        answers = await self._keep_page(kept, browser)
        seen = await self._keep_snapshot(kept, outcome, browser if answers else None, entry, before)
        if self._pictures and answers and context.run.mode is not Mode.REPLAY:
            await self._keep_picture(kept, context, browser)
        await self._keep_data(kept, "expectations", expectations_json(expect, outcome.predicates))
        if proposal is not None and proposal.target is not None:
            chosen = {"target": proposal.target.model_dump(mode="json", by_alias=True, exclude_defaults=True)}
            chosen["usage"] = proposal.usage.model_dump(mode="json", by_alias=True)
            await self._keep_data(kept, "model", chosen)
        changes: dict[str, object] = {"artifacts": kept.digests, "artifacts_missing": kept.missing}
        if seen is not None and _met_sign_in(context, outcome, *seen):
            message = signed_out_message(place_of(seen[0].url), is_recorded=bool(seen[1]))
            changes |= {"reason": SIGNED_OUT, "message": message}
        return outcome.model_copy(update=changes)

    async def keep_snapshot(self, snapshot: Snapshot | None) -> str:
        """Store a snapshot, secrets removed; return its digest, or "" when there is none or no place for it."""
        if snapshot is None:
            return ""
        try:
            return await keep_snapshot(self._artifacts, self._secrets, snapshot)
        except ArtifactsUnavailable as exc:
            _log.warning("the snapshot of %r is not kept: %s", snapshot.url, exc)
            return ""

    async def shown(self, digest: str) -> Snapshot | None:
        """Return a kept snapshot; None where it cannot be read."""
        try:
            return Snapshot.model_validate_json(await self._artifacts.get(digest))
        except (ArtifactMissing, ArtifactsUnavailable, ValidationError):
            return None

    async def keep_missed(self, snapshot: Snapshot | None, shown: str) -> str:
        """Store the page of a missed step; return the digest `shown` if it is still the page that was shown."""
        before = await self.shown(shown) if shown and snapshot is not None else None
        if snapshot is None or before is None:
            return await self.keep_snapshot(snapshot)
        is_same = redacted_snapshot(snapshot, self._secrets).controls == before.controls
        return shown if is_same else await self.keep_snapshot(snapshot)

    async def of_end(
        self, browser: BrowserSession, expect: Sequence[Predicate], results: Sequence[PredicateResult]
    ) -> dict[str, str]:
        """Addresses of what is kept of the page on which the final verification failed. Raises nothing of its own."""
        kept = _Kept(self._artifacts)
        if await self._keep_page(kept, browser):
            await self._snapshot(kept, "", browser)
        await self._keep_data(kept, "expectations", expectations_json(expect, results))
        return kept.digests

    async def _keep_data(self, kept: "_Kept", kind: str, data: object) -> None:
        await kept.put(kind, json.dumps(self._secrets.redact_data(data), indent=1))

    async def _keep_page(self, kept: "_Kept", browser: BrowserSession) -> bool:
        """Keep picture, documents, console and network; whether the page answers at all."""
        ends = time.monotonic() + CAPTURE_S
        try:
            async with asyncio.timeout(CAPTURE_S):
                seen = await browser.capture(self._secrets.redact)
        except (SessionLost, ActionFailed, TimeoutError) as exc:
            for kind in ("screenshot", "dom", "console", "network"):
                kept.miss(kind, str(exc) or f"the browser did not answer in {CAPTURE_S:g} s")
            return False
        for kind, reason in seen.missing.items():
            kept.miss(kind, reason)
        if seen.screenshot is not None:
            left_s = max(0.0, ends - time.monotonic())
            try:
                await kept.put("screenshot", await self._secrets.redact_picture(seen.screenshot, left_s))
            except PictureUnread as exc:
                kept.miss("screenshot", str(exc))
        if seen.dom is not None:
            await kept.put("dom", seen.dom)
        await kept.put("console", "\n".join(seen.console) or "the console is empty")
        await kept.put("network", "\n".join(seen.network) or "nothing was requested")
        return seen.dom is not None

    async def _keep_snapshot(
        self,
        kept: "_Kept",
        outcome: StepOutcome,
        browser: BrowserSession | None,
        entry: ActionCacheEntry | None,
        before: str,
    ) -> tuple[Snapshot, Sequence[Snapshot]] | None:
        """Keep the snapshot of now, and what is different from the same moment of the step in the last good run.

        Returns:
            It, and the pages before and after the step in the last good run, as far as they are known; None when the
            page cannot be read.
        """
        if browser is None and not outcome.snapshot:
            kept.miss("snapshot", "the page does not answer")
            return None
        now = await self._snapshot(kept, outcome.snapshot, browser)
        if now is None:
            return None
        same = _at_same_moment(outcome, entry, before)
        good = await self._good(kept, same) if same else None
        if good is not None:
            text = diff(good, now).as_text(DIFF_LINES)
            await kept.put("diff", text or "nothing differs from the last good run")
        known = dict.fromkeys((before, "" if entry is None else entry.good_snapshot))
        pages = [await self.shown(digest) for digest in known if digest]
        return now, [page for page in pages if page is not None]

    async def _good(self, kept: "_Kept", digest: str) -> Snapshot | None:
        try:
            return Snapshot.model_validate_json(await self._artifacts.get(digest))
        except (ArtifactMissing, ArtifactsUnavailable, ValidationError) as exc:
            kept.miss("diff", f"the snapshot of the last good run cannot be read: {exc}")
            return None

    async def _keep_picture(self, kept: "_Kept", context: StepContext, browser: BrowserSession) -> None:
        """The page as a planner sees it that takes pictures, with the snapshot that the picture's marks belong to."""
        try:
            async with asyncio.timeout(PICTURE_S):
                seen = await pictured(
                    browser, self._artifacts, self._secrets, context.step.title, search_s=PICTURE_S / 2
                )
        except (SessionLost, ActionFailed, TimeoutError) as exc:
            kept.miss(MARKED, str(exc) or f"the page did not answer in {PICTURE_S:g} s")
            return
        if seen.picture:
            await kept.put(MARKED_SNAPSHOT, seen.snapshot.model_dump_json(by_alias=True))
            kept.digests[MARKED] = seen.picture
        else:
            kept.miss(MARKED, seen.missing)

    async def _snapshot(self, kept: "_Kept", known: str, browser: BrowserSession | None) -> Snapshot | None:
        """The snapshot of this digest; where there is none, one is taken now and kept."""
        try:
            if known or browser is None:
                kept.digests["snapshot"] = known
                return Snapshot.model_validate_json(await self._artifacts.get(known))
            async with asyncio.timeout(SNAPSHOT_S):
                now = redacted_snapshot(await browser.snapshot(), self._secrets)
        except (SessionLost, ActionFailed, TimeoutError, ArtifactMissing, ArtifactsUnavailable, ValidationError) as exc:
            kept.miss("snapshot", str(exc) or f"the page did not answer in {SNAPSHOT_S:g} s")
            return None
        await kept.put("snapshot", now.model_dump_json(by_alias=True))
        return now


def _at_same_moment(outcome: StepOutcome, entry: ActionCacheEntry | None, before: str) -> str:
    """Return the digest of the page of the last good run to compare with; empty where none is of the same moment.

    A step that did not act has left its page as it was: that is compared with the page before the step. Where that is
    not known, the one after it serves if the step stays on its page.
    """
    if entry is None:
        return ""
    stays = set(entry.causes) <= {Cause.NOTHING}
    has_acted = outcome.status not in (Status.MISSED, Status.REFUSED)
    return entry.good_snapshot if has_acted or (stays and not before) else before


class _Kept:
    """Digests by kind, and why others are missing."""

    def __init__(self, artifacts: Artifacts) -> None:
        self.digests: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self._artifacts = artifacts

    async def put(self, kind: str, data: str | bytes) -> None:
        try:
            self.digests[kind] = await self._artifacts.put(
                data.encode(errors="replace") if isinstance(data, str) else data
            )
        except ArtifactsUnavailable as exc:
            self.miss(kind, str(exc))

    def miss(self, kind: str, reason: str) -> None:
        self.missing[kind] = reason[:REASON_LIMIT]
        _log.warning("%s of a failed step is not kept: %s", kind, reason)


def expectations_json(expect: Sequence[Predicate], results: Sequence[PredicateResult]) -> list[dict[str, object]]:
    """Each verdict with what was expected; null for verdicts on what the task did not ask for in so many words."""
    expected = [predicate.model_dump(mode="json", exclude_none=True) for predicate in expect]
    return [
        {
            "expected": expected[number] if number < len(expected) else None,
            "required": result.required,
            "passed": result.passed,
            "reason": result.reason,
            "actual": result.details,
        }
        for number, result in enumerate(results)
    ]

"""Probes of commit steps: proposed by the planner while a step is learned, tried, and kept with its recording."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.model import passing_on
from activities.policing import Policing
from activities.proof.reconciling import answer_once
from activities.session.attachments import Attachments
from activities.traces import traced
from replaywright.domain.common.templates import fill
from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.proof.probe_checks import checked_probe, with_nonexistent_values
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.run.model_requests import ProposedProbe, ProposeProbeRequest, TriedProbe, TryProbeRequest
from replaywright.domain.skill.entries import EntryStatus
from replaywright.ports.ledger import StepStore
from replaywright.ports.models import ProbeQuestion, Prober
from replaywright.ports.stores import Artifacts

_log = logging.getLogger("replaywright.probing")

LINKS_TOLD = 60
"""Links of the page that the model is told at most."""


@dataclass(frozen=True, eq=False)
class ProbeProposals:
    """Activity `model.propose_probe`."""

    prober: Prober
    artifacts: Artifacts
    store: StepStore | None = None
    """None: nothing is traced."""

    @activity.defn(name="model.propose_probe")
    async def propose_probe(self, request: ProposeProbeRequest) -> ProposedProbe:
        """Ask the planner model where the site shows what a step did; what it answers is checked by code.

        Raises:
            ModelFailed: one of its kinds. A rate limit carries the provider's wait to Temporal's retry.
        """
        async with heartbeats("asking the planner for a probe"):
            snapshot = Snapshot.model_validate_json(await self.artifacts.get(request.snapshot))
            links = _links_of(snapshot)
            question = ProbeQuestion(
                goal=fill(request.goal, request.values),
                step=request.title,
                parameters=request.values,
                url=snapshot.url,
                links=tuple(f"{url} {text}".strip() for url, text in links.items())[:LINKS_TOLD],
                page=snapshot_text(snapshot, about=f"{request.goal} {request.title}"),
            )

            def check(url: str, shows: Sequence[str]) -> SiteProbe:
                return checked_probe(url, shows, values=request.values, page=snapshot.url, seen=links)

            async with passing_on():
                probe, refused, usage = await self.prober.propose(question, check)
            line = {
                "kind": "probe",
                "sequence": request.sequence,
                "probe": None if probe is None else probe.model_dump(mode="json"),
                "refused": refused,
                "usage": usage.model_dump(mode="json", by_alias=True),
            }
            await traced(self.store, tenant=request.tenant, lineage=request.lineage, line=line)
            return ProposedProbe(probe=probe, refused=refused, usage=usage)


@dataclass(frozen=True, eq=False)
class ProbeTrials:
    """Activity `effect.try_probe`."""

    attachments: Attachments
    store: StepStore
    policing: Policing = field(default_factory=Policing)

    @activity.defn(name="effect.try_probe")
    async def try_probe(self, request: TryProbeRequest) -> TriedProbe:
        """Open the probe's page in a tab of its own: kept if it shows the step, and shows none of what nobody did.

        Promise on a retry: tried again; what was kept already is kept once.
        """
        asked, probe = request.action, request.probe
        async with heartbeats(f"trying the probe of step {asked.sequence}"):
            held = await self.attachments.hold(asked.run.session, asked.run.epoch)
            reconcile = probe.as_reconcile()
            if (refusal := self.policing.on_steps(asked.run.policy, reconcile.steps)) is not None:
                return await self._told(request, refusal.message)
            done = await answer_once(held.browser, reconcile, asked)
            if done.answer != "yes":
                return await self._told(request, f"it does not show the step: {done.reason}")
            other = asked.model_copy(update={"values": with_nonexistent_values(asked.values, probe)})
            nobody = await answer_once(held.browser, reconcile, other)
            if nobody.answer != "no":
                return await self._told(request, f"it shows what nobody did as well: {nobody.reason}")
            versions = await self.store.versions(tenant=asked.run.tenant, content_key=request.content_key)
            own = [one for one in versions if one.run_id == asked.run.lineage and one.status is EntryStatus.CANDIDATE]
            if not own:
                return await self._told(request, "the run has no recording of the step")
            kept = own[-1].model_copy(update={"probe": probe})
            await self.store.keep(tenant=asked.run.tenant, run_id=asked.run.lineage, entry=kept)
            return await self._told(request, "")

    async def _told(self, request: TryProbeRequest, reason: str) -> TriedProbe:
        asked = request.action
        line = {"kind": "probe_tried", "sequence": asked.sequence, "kept": not reason, "reason": reason}
        await traced(self.store, tenant=asked.run.tenant, lineage=asked.run.lineage, line=line)
        if reason:
            _log.info("the probe of step %d is not kept: %s", asked.sequence, reason)
        return TriedProbe(kept=not reason, reason=reason)


def _links_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the targets of the page's links, with their texts, in the order of reading."""
    found: dict[str, str] = {}
    for element in snapshot.elements:
        url = element.target.attributes.get("href", "")
        absolute = urljoin(snapshot.url, url)
        if url and absolute.startswith(("http://", "https://")):
            found.setdefault(absolute, element.target.name)
    return found

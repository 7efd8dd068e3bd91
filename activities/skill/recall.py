"""Finding the skill that a sentence means, as an activity: patterns first, then one small call of a model."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.plan.model import passing_on
from replaywright.domain.common.sentences import masked
from replaywright.domain.common.urls import site_of
from replaywright.domain.recall.ranking import Ranked, SkillIndex
from replaywright.domain.recall.recall import Recalled, RecallRecord, RecallRequest
from replaywright.domain.recall.recalling import SEVERAL, Recaller, SkillCandidate, decided, decided_by_choice, offered
from replaywright.domain.run.scope import Usage
from replaywright.domain.skill.skills import Considered, Recall, Skill, SkillContext, SkillStatus, patterns_of
from replaywright.errors import ModelFailed, StoreUnavailable, ValueTooLarge
from replaywright.ports.ledger import StepStore
from replaywright.ports.models import ChosenSkill, SkillChooser
from replaywright.ports.stores import Recalls, Skills

_log = logging.getLogger("replaywright.recall")

INDEXES_KEPT = 16
"""Indexes of sites that are kept, over all tenants."""
PHRASES_SHOWN = 5
"""Sentences of a skill that a model is shown, and as many near misses."""


@dataclass(frozen=True, eq=False)
class RecallActivities:
    """Activity `skill.recall`."""

    skills: Skills
    recalls: Recalls
    store: StepStore | None = None
    """None: nothing is traced."""
    chooser: SkillChooser | None = None
    """None: only patterns recall."""
    redact: Callable[[str], str] = str
    """Masks secrets in what a model is asked."""
    context: SkillContext | None = None
    """How browsers are opened here; a request adds whether the run is signed in."""
    _recallers: OrderedDict[tuple[str, str], Recaller] = field(default_factory=OrderedDict)

    @activity.defn(name="skill.recall")
    async def recall(self, request: RecallRequest) -> Recalled:
        """Find the skill that the goal means and the values of its parameters, or abstain; either is recorded.

        A model is asked only about a goal that aligns with no pattern, and code checks its answer against the sentence.
        That it cannot be asked is a reason to abstain, no error.

        Raises:
            StoreUnavailable: the knowledge base cannot be read.
            ModelRateLimited: the provider asks to wait; carries its wait to Temporal's retry.
        """
        if self.context is not None:
            context = self.context.model_copy(update={"signed_in": request.context.signed_in})
            request = request.model_copy(update={"context": context})
        async with heartbeats("recalling"):
            recalled, candidates = await self._recalled(request)
            recalled = await self._confirmed(request.tenant, recalled)
            await self._note(request, recalled, candidates)
            return recalled

    async def explain(self, request: RecallRequest) -> Recalled:
        """Recall by patterns alone, skills of other sites considered as well. Nothing is recorded."""
        skills = tuple(await self.skills.all(request.tenant))
        recaller = Recaller(SkillIndex(skills))
        records = await self.recalls.recent(request.tenant)
        candidates = recaller.consider(request, records=records, explain=True)
        return _answer(decided(candidates, has_skills=bool(skills)))

    async def _confirmed(self, tenant: str, recalled: Recalled) -> Recalled:
        """The same, if the skill is still active in the store: a list from memory is as good as its stamps."""
        if recalled.skill is None:
            return recalled
        now = await self.skills.get(tenant, recalled.skill.name, recalled.skill.version)
        if now is not None and now.status is SkillStatus.ACTIVE:
            return recalled
        return Recalled(
            decision="abstain",
            reason="not_active",
            considered=recalled.considered,
            usage=recalled.usage,
        )

    async def _recalled(self, request: RecallRequest) -> tuple[Recalled, list[SkillCandidate]]:
        recaller = await self._recaller(request)
        candidates = recaller.consider(request, records=await self._records(request.tenant))
        recall = decided(candidates, has_skills=bool(recaller.index.skills))
        offers = offered(candidates)
        is_open = recall.decision == "abstain" and recall.reason != SEVERAL
        if not is_open or not offers or self.chooser is None or not request.may_ask:
            return _answer(recall), candidates
        chosen = await self._chosen(self.chooser, request, offers)
        if chosen is None:
            return _answer(recall), candidates
        return _answer(decided_by_choice(request, candidates, chosen), chosen.usage), candidates

    async def _recaller(self, request: RecallRequest) -> Recaller:
        """Return one for the skills of the site and those of none."""
        site = site_of(request.url)
        skills = (*await self.skills.all(request.tenant, site), *await self.skills.all(request.tenant, ""))
        key = request.tenant, site
        kept = self._recallers.get(key)
        if kept is None or kept.index.skills != skills:
            kept = Recaller(SkillIndex(skills))
            self._recallers[key] = kept
        self._recallers.move_to_end(key)
        while len(self._recallers) > INDEXES_KEPT:
            self._recallers.popitem(last=False)
        return kept

    async def _chosen(
        self, chooser: SkillChooser, request: RecallRequest, offers: Sequence[Ranked]
    ) -> ChosenSkill | None:
        try:
            async with passing_on():
                return await chooser.choose(goal=self.redact(request.goal), offers=tuple(map(offer_of, offers)))
        except ModelFailed as exc:
            _log.warning("no skill was chosen: %s", exc)
            return None

    async def _records(self, tenant: str) -> Sequence[RecallRecord]:
        try:
            return await self.recalls.recent(tenant)
        except StoreUnavailable as exc:
            _log.warning("what became of earlier recalls is not known: %s", exc)
            return ()

    async def _note(self, request: RecallRequest, recalled: Recalled, candidates: Sequence[SkillCandidate]) -> None:
        """Keep what was decided; a decision is not lost because the store does not take its record."""
        named = recalled.skill.name if recalled.skill else next((one.ranked.skill.name for one in candidates), "")
        first = next((one for one in candidates if one.ranked.skill.name == named), None)
        record = RecallRecord(
            run_id=request.run_id,
            at=time.time(),
            site=site_of(request.url),
            sentence=masked(request.goal),
            decision=recalled.decision,
            reason=recalled.reason,
            skill=named,
            version=first.ranked.skill.version if first else 0,
            score=first.ranked.score if first else 0.0,
        )
        line = {
            "kind": "recall",
            "sequence": 0,
            "decision": recalled.decision,
            "reason": recalled.reason,
            "skill": recalled.skill.name if recalled.skill else "",
            "version": recalled.skill.version if recalled.skill else 0,
            "byModel": recalled.by_model,
            "considered": [_line(one) for one in recalled.considered],
            "standIn": recalled.usage.is_stand_in,
            "usage": recalled.usage.model_dump(mode="json", by_alias=True),
        }
        try:
            await self.recalls.note(request.tenant, record)
            if self.store is not None and request.lineage:
                await self.store.append_trace(tenant=request.tenant, lineage=request.lineage, line=line)
        except (StoreUnavailable, ValueTooLarge) as exc:
            _log.warning("what was recalled for run %s is not recorded: %s", request.run_id, exc)


def offer_of(ranked: Ranked) -> Skill:
    """Show a model a skill, with a few of its phrases: the most similar one first."""
    skill = ranked.skill
    patterns = tuple(dict.fromkeys((ranked.pattern, *patterns_of(skill))))[:PHRASES_SHOWN]
    return skill.model_copy(update={"patterns": patterns, "near_misses": skill.near_misses[:PHRASES_SHOWN]})


def _answer(recall: Recall, usage: Usage | None = None) -> Recalled:
    # Not through a dump: the skill's task is a union of steps that is already checked.
    fields = {name: getattr(recall, name) for name in Recall.model_fields}
    return Recalled(**fields, usage=usage or Usage())


def _line(one: Considered) -> dict[str, object]:
    """Without its details: they quote the sentence."""
    return {"name": one.name, "version": one.version, "score": one.score, "reason": one.reason}

"""Finding the skill that a sentence means, as an activity: it reads the knowledge base, and seldom asks a model."""

import logging
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from temporalio import activity

from activities.heartbeats import heartbeats
from activities.model import passing_on
from replaywright.domain.recall import Recalled, RecallRecord, RecallRequest, masked, site_of
from replaywright.domain.recalling import Candidate, Recaller, decided
from replaywright.domain.similarity import SkillIndex, patterns_of
from replaywright.domain.skills import Considered, Recall, Skill, SkillContext, SkillStatus
from replaywright.errors import ModelFailed, StoreUnavailable, ValueTooLarge
from replaywright.ports import Embedder, ParameterReader, ReadValues, Recalls, Skills, StepStore

_log = logging.getLogger("replaywright.recall")

INDEXES_KEPT = 16
"""Of sites, over all tenants."""
EMBEDDINGS_KEPT = 50_000


@dataclass(frozen=True)
class _Kept:
    """Skills as they were read, ready to be looked up."""

    skills: tuple[Skill, ...]
    recaller: Recaller
    is_embedded: bool


class RecallActivities:
    """Activity `skill.recall`."""

    def __init__(
        self,
        skills: Skills,
        recalls: Recalls,
        store: StepStore | None = None,
        reader: ParameterReader | None = None,
        embedder: Embedder | None = None,
        *,
        context: SkillContext | None = None,
    ) -> None:
        """Without a `store` nothing is traced; without a `reader` no model is asked; an `embedder` helps to rank.

        `context` is how browsers are opened here; a request adds whether the run is signed in.
        """
        self._context = context
        self._skills = skills
        self._recalls = recalls
        self._store = store
        self._reader = reader
        self._embedder = embedder
        self._recallers: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._embedded: OrderedDict[str, list[float]] = OrderedDict()

    @activity.defn(name="skill.recall")
    async def recall(self, request: RecallRequest) -> Recalled:
        """Find the skill that the goal means and the values of its parameters, or abstain; either is recorded.

        A model is asked only where nothing speaks against a skill but that the values could not be read, and what it
        answers is checked against the sentence. That it cannot be asked is a reason to abstain, no error.

        Raises:
            StoreUnavailable: the knowledge base cannot be read.
            ModelRateLimited: the provider asks to wait; carries its wait to Temporal's retry.
        """
        if self._context is not None:
            context = self._context.model_copy(update={"signed_in": request.context.signed_in})
            request = request.model_copy(update={"context": context})
        async with heartbeats("recalling"):
            recalled, candidates = await self._recalled(request)
            recalled = await self._confirmed(request.tenant, recalled)
            await self._note(request, recalled, candidates)
            return recalled

    async def explain(self, request: RecallRequest) -> Recalled:
        """What would be recalled, skills of other sites considered as well; no model is asked, nothing is recorded."""
        skills = tuple(await self._skills.all(request.tenant))
        recaller = Recaller(SkillIndex(skills))
        records = await self._recalls.recent(request.tenant)
        candidates = recaller.consider(request, records=records, explain=True)
        return _answer(decided(candidates, has_skills=bool(skills)))

    async def _confirmed(self, tenant: str, recalled: Recalled) -> Recalled:
        """The same, if the skill is still active in the store: a list from memory is as good as its stamps."""
        if recalled.skill is None:
            return recalled
        now = await self._skills.get(tenant, recalled.skill.name, recalled.skill.version)
        if now is not None and now.status is SkillStatus.ACTIVE:
            return recalled
        return Recalled(
            decision="abstain",
            reason="not_active",
            considered=recalled.considered,
            usage=recalled.usage,
            stand_in=recalled.stand_in,
        )

    async def _recalled(self, request: RecallRequest) -> tuple[Recalled, list[Candidate]]:
        recaller, embedding = await self._recaller(request)
        records = await self._records(request.tenant)
        candidates = recaller.consider(request, records=records, embedding=embedding)
        recall = decided(candidates, has_skills=bool(recaller.index.skills))
        best = next((one for one in candidates if one.is_readable), None)
        if recall.decision == "accept" or best is None or self._reader is None or not request.may_ask:
            return _answer(recall), candidates
        answer = await self._read(self._reader, request, best)
        if answer is None:
            return _answer(recall), candidates
        checked = recaller.with_values(request, best, answer.values)
        candidates = [checked if one is best else one for one in candidates]
        recall = decided(candidates)
        if recall.decision == "accept":
            recall = recall.model_copy(update={"pattern": ""})
        return _answer(recall, answer), candidates

    async def _recaller(self, request: RecallRequest) -> tuple[Recaller, list[float] | None]:
        """For the skills of the site and those of none, and where the sentence lies if there is an embedding."""
        site = site_of(request.url)
        skills = (*await self._skills.all(request.tenant, site), *await self._skills.all(request.tenant, ""))
        key = request.tenant, site
        kept = self._recallers.get(key)
        vectors = await self._vectors([request.goal, *(pattern for each in skills for pattern in patterns_of(each))])
        if kept is None or kept.skills != skills or kept.is_embedded != bool(vectors):
            kept = _Kept(skills, Recaller(SkillIndex(skills, vectors)), bool(vectors))
            self._recallers[key] = kept
        self._recallers.move_to_end(key)
        while len(self._recallers) > INDEXES_KEPT:
            self._recallers.popitem(last=False)
        return kept.recaller, vectors.get(request.goal)

    async def _vectors(self, texts: Sequence[str]) -> dict[str, list[float]]:
        """Embeddings by text; none where there is no model for them, or it does not answer: then words alone rank."""
        if self._embedder is None:
            return {}
        unknown = sorted({text for text in texts if text not in self._embedded})
        try:
            vectors = await self._embedder.embed(unknown) if unknown else []
        except ModelFailed as exc:
            _log.warning("skills are ranked without embeddings: %s", exc)
            return {}
        self._embedded.update(zip(unknown, vectors, strict=True))
        found = {text: self._embedded[text] for text in texts}
        while len(self._embedded) > EMBEDDINGS_KEPT:
            self._embedded.popitem(last=False)
        return found

    async def _read(self, reader: ParameterReader, request: RecallRequest, one: Candidate) -> ReadValues | None:
        skill = one.ranked.skill
        try:
            async with passing_on():
                return await reader.read(
                    goal=request.goal, pattern=one.ranked.pattern, parameters=skill.task.parameters
                )
        except ModelFailed as exc:
            _log.warning("the values of skill %s were not read: %s", skill.name, exc)
            return None

    async def _records(self, tenant: str) -> Sequence[RecallRecord]:
        try:
            return await self._recalls.recent(tenant)
        except StoreUnavailable as exc:
            _log.warning("what became of earlier recalls is not known: %s", exc)
            return ()

    async def _note(self, request: RecallRequest, recalled: Recalled, candidates: Sequence[Candidate]) -> None:
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
            "considered": [_line(one) for one in recalled.considered],
            "standIn": recalled.stand_in,
            "usage": recalled.usage.model_dump(mode="json", by_alias=True),
        }
        try:
            await self._recalls.note(request.tenant, record)
            if self._store is not None and request.lineage:
                await self._store.append_trace(tenant=request.tenant, lineage=request.lineage, line=line)
        except (StoreUnavailable, ValueTooLarge) as exc:
            _log.warning("what was recalled for run %s is not recorded: %s", request.run_id, exc)


def _answer(recall: Recall, read: ReadValues | None = None) -> Recalled:
    read = read or ReadValues()
    # Not through a dump: the skill's task is a union of steps that is already checked.
    fields = {name: getattr(recall, name) for name in Recall.model_fields}
    return Recalled(**fields, usage=read.usage, stand_in=read.stand_in)


def _line(one: Considered) -> dict[str, object]:
    """Without its details: they quote the sentence."""
    return {"name": one.name, "version": one.version, "score": one.score, "reason": one.reason}

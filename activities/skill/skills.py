"""Learning skills: claims on goals, and what a run has learned."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from temporalio import activity

from activities.heartbeats import heartbeats
from replaywright.domain.common.templates import fill, generalise, texts_of
from replaywright.domain.common.urls import site_of
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.plan.goal_runs import CLAIM_S, ClaimRequest, JudgeRequest, Learned, LearnRequest, SkillUse
from replaywright.domain.predicate.predicates import Exists, Predicate
from replaywright.domain.recall.phrases import phrases_for
from replaywright.domain.recall.recalling import other_context
from replaywright.domain.secrets.common_words import common_words, other_secrets
from replaywright.domain.skill.entries import EntryStatus
from replaywright.domain.skill.personalising import refusal, settled
from replaywright.domain.skill.recorded import named
from replaywright.domain.skill.skills import Skill, SkillContext, SkillStatus
from replaywright.domain.task.steps import placed
from replaywright.domain.task.tasks import Task
from replaywright.ports.ledger import StepStore
from replaywright.ports.stores import Recalls, Secrets, Skills

_NAMES_TRIED = 100


@dataclass(frozen=True, eq=False)
class SkillActivities:
    """Activities `skill.claim`, `skill.release`, `skill.judge` and `skill.learn`."""

    skills: Skills
    steps: StepStore
    secrets: Secrets
    recalls: Recalls | None = None
    """None: it is not kept what became of recalls."""
    context: SkillContext = field(default_factory=SkillContext)
    """How browsers are opened here."""

    @activity.defn(name="skill.claim")
    async def claim_goal(self, request: ClaimRequest) -> str:
        """The run that learns this now: the one that asks, if no other does.

        Promise on a retry: the same answer, unless the other run has ended meanwhile.
        """
        async with heartbeats("claiming a goal"):
            return await self.skills.claim(request.tenant, request.key, request.run_id, CLAIM_S)

    @activity.defn(name="skill.release")
    async def release_goal(self, request: ClaimRequest) -> None:
        """This run does not learn that any more."""
        async with heartbeats("giving up a goal"):
            await self.skills.release(request.tenant, request.key, request.run_id)

    @activity.defn(name="skill.judge")
    async def judge_recall(self, request: JudgeRequest) -> None:
        """Keep whether the skill that was recalled did what the goal says: later recalls are more or less strict.

        One that was not begun says nothing of that; its record gets the reason.
        """
        if self.recalls is None:
            return
        async with heartbeats("judging a recall"):
            if request.outcome != "refused":
                await self.recalls.note_outcome(request.tenant, request.run_id, request.outcome)
                return
            of_run = [one for one in await self.recalls.recent(request.tenant) if one.run_id == request.run_id]
            for record in of_run:
                refused = {"decision": "abstain", "reason": request.reason}
                await self.recalls.note(request.tenant, record.model_copy(update=refused))

    @activity.defn(name="skill.learn")
    async def learn_skill(self, request: LearnRequest) -> Learned:
        """Write down what a verified run did, as an active version of a skill; or say why it cannot be one.

        Promise on a retry: one version, as the store knows the run that it is from.
        """
        async with heartbeats("writing down a skill"):
            return await self._learned(request)

    async def _learned(self, request: LearnRequest) -> Learned:
        task = settled(request.task, request.values)
        if why := refusal(task.steps):
            return Learned(refused=why)
        old = None
        if request.replaces is not None:
            old = await self.skills.get(request.tenant, request.replaces.name, request.replaces.version)
        if old is not None and old.status is SkillStatus.RETIRED:
            newest = await self.skills.get(request.tenant, old.name)
            if newest is None or newest.run_id != request.run_id:
                return Learned(refused=f"version {old.version} of {old.name} is retired: another took its place")
        context = self.context.model_copy(
            update={
                "signed_in": request.context.signed_in,
                "start": generalise(request.context.start, request.values, task.parameters),
            }
        )
        name = old.name if old is not None else await self._free_name(request, task, context)
        known = await self.skills.get(request.tenant, name) if old is None else old
        labels = request.labels
        gone = {each: value for each, value in request.values.items() if each not in task.parameters}
        patterns = (
            *phrases_for(labels.patterns, task, gone, whole=True),
            *(() if known is None else known.patterns),
        )
        near_misses = (
            *phrases_for(labels.near_misses, task, gone, whole=False),
            *(() if known is None else known.near_misses),
        )
        skill = Skill(
            name=name,
            label=labels.label if known is None else known.label,
            description=labels.description if known is None else known.description,
            site=site_of(fill(task.url, request.values)),
            task=task.model_copy(update={"task": name}),
            patterns=tuple(dict.fromkeys((task.goal, *patterns))),
            near_misses=tuple(dict.fromkeys(near_misses)),
            precondition=old.precondition
            if old is not None and request.keeps_start
            else _precondition(request.first, task, request.values),
            context=context if old is None else old.context,
            origin="learned" if old is None else "relearned",
            run_id=request.run_id,
            note=self.secrets.redact(request.reason),
        )
        if self._holds_secret(skill):
            return Learned(refused="what was done holds the value of a secret")
        saved = await self.skills.save(request.tenant, skill, who=request.run_id, reason=skill.note)
        await self.skills.set_status(
            request.tenant,
            saved.name,
            saved.version,
            SkillStatus.ACTIVE,
            who=request.run_id,
            reason="verified by the run that learned it",
        )
        await self._name_recordings(request, saved.task)
        used = SkillUse(name=saved.name, version=saved.version, how="learned" if old is None else "relearned")
        return Learned(skill=used)

    def _holds_secret(self, skill: Skill) -> bool:
        """Tell if the skill holds the value of a secret, and not only as a word that is there anyway.

        Models write labels and instructions without having seen a value: a word of theirs that is one is a common word.
        """
        written = skill.model_dump(mode="json")
        redacted = self.secrets.redact_data(written)
        if redacted == written:
            return False
        steps = (step for _, step in placed(skill.task.steps))
        told = [text for step in steps for text in (step.instruction, step.action)]
        common = common_words((skill.label, skill.description, *told, *_keys(written)), self.secrets.redact)
        return other_secrets(tuple(texts_of(written)), tuple(texts_of(redacted)), common)

    async def _name_recordings(self, request: LearnRequest, task: Task) -> None:
        """Make what the run has recorded of its steps that of the task, now that it has a name."""
        tenant, store = request.tenant, self.steps
        if not request.owner or request.owner == task.task:
            return
        found = [await store.versions(tenant=tenant, content_key=key) for key in request.content_keys]
        entries = [version for versions in found for version in versions if version.status is EntryStatus.ACTIVE]
        own = list(named(task, entries, tenant, request.owner))
        for entry in own:
            await store.keep(tenant=tenant, run_id=request.run_id, entry=entry)
        await store.promote(tenant=tenant, run_id=request.run_id, content_keys=[entry.content_key for entry in own])

    async def _free_name(self, request: LearnRequest, task: Task, context: SkillContext) -> str:
        """The labels' name; one with a number where another skill has that, or was learned in another context."""
        wanted = request.labels.name
        for number in range(1, _NAMES_TRIED):
            name = wanted if number == 1 else f"{wanted}-{number}"
            other = await self.skills.get(request.tenant, name)
            if other is None or other.run_id == request.run_id:
                return name
            is_same = other.site == site_of(fill(task.url, request.values)) and task.goal in other.patterns
            if is_same and not other_context(other.context, context)[0]:
                return name
        return f"{wanted}-{request.run_id[-8:].lower()}"


def _keys(data: object) -> Iterator[str]:
    """Yield the names of all fields."""
    match data:
        case dict():
            yield from data
            yield from (key for inner in data.values() for key in _keys(inner))
        case list():
            yield from (key for inner in data for key in _keys(inner))


def _precondition(first: Target | None, task: Task, values: dict[str, str]) -> tuple[Predicate, ...]:
    """Return the predicate that the first element is there, as far as it has a name."""
    if first is None or not (first.role and first.name) or first.frame:
        return ()
    name = generalise(first.name, values, task.parameters)
    return (Exists(exists=ElementQuery(role=first.role, name=name)),)

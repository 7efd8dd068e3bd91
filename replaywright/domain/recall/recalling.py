"""Decisions of recall: the skill that a sentence means, with its values, or the reason for none.

A sentence that aligns with a pattern of one skill recalls it. Without an alignment a model chooses, and
`replaywright.domain.recall.choosing` checks the choice. The run checks the skill's precondition on its page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from replaywright.domain.common.sentences import Sentence, masked, sentence_of
from replaywright.domain.common.urls import site_of
from replaywright.domain.recall.alignment import aligned, resembles
from replaywright.domain.recall.choosing import SkillChoice, checked_choice
from replaywright.domain.recall.ranking import Ranked, SkillIndex
from replaywright.domain.recall.recall import RecallRecord, RecallRequest
from replaywright.domain.skill.skills import Considered, Recall, Skill, SkillContext, SkillStatus, patterns_of

LOOKED_AT = 8
"""Number of most similar skills that are considered."""
OFFERED = 3
"""Number of skills that a model chooses among."""
SEVERAL = "several_skills"
"""Reason when the sentence aligns with several skills."""
_OPEN = frozenset({"not_aligned", "ambiguous"})
"""Reasons that leave the decision to a model."""


@dataclass(frozen=True)
class SkillCandidate:
    """A considered skill and the verdict on it."""

    ranked: Ranked
    reason: str
    details: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""
    """Pattern that the sentence aligns with."""


class Recaller:
    """Lookup of sentences among the skills of one state of the knowledge base."""

    def __init__(self, index: SkillIndex) -> None:
        self.index = index

    def consider(
        self, request: RecallRequest, *, records: Iterable[RecallRecord] = (), explain: bool = False
    ) -> list[SkillCandidate]:
        """Return verdicts on the most similar skills, best first; `explain` adds other sites."""
        site = site_of(request.url)
        ranked = self.index.rank(request.goal, site, LOOKED_AT)
        if explain:
            elsewhere = self.index.rank(request.goal, None, LOOKED_AT)
            ranked = (*ranked, *(each for each in elsewhere if each.skill.site not in {site, ""}))
        wrong = _wrong_before(request.goal, records)
        sentence = sentence_of(request.goal)
        return [_candidate(request, sentence, each, wrong) for each in ranked]


def offered(candidates: Iterable[SkillCandidate]) -> tuple[Ranked, ...]:
    """Return the skills that a model may choose among."""
    return tuple(one.ranked for one in candidates if one.reason in _OPEN)[:OFFERED]


def decided(candidates: Sequence[SkillCandidate], *, has_skills: bool = True) -> Recall:
    """Accept the only skill that the sentence aligns with, or give the reason."""
    considered = tuple(map(_considered, candidates))
    accepted = [one for one in candidates if one.reason == "accepted"]
    if not accepted:
        reason = candidates[0].reason if candidates else "no_skills" if not has_skills else "other_site"
        return Recall(decision="abstain", reason=reason, considered=considered)
    best = accepted[0]
    if not all(_differ_in_context(best.ranked.skill, one.ranked.skill) for one in accepted[1:]):
        return Recall(decision="abstain", reason=SEVERAL, considered=considered)
    return Recall(
        decision="accept",
        reason="accepted",
        skill=best.ranked.skill,
        values=dict(best.values),
        pattern=best.pattern,
        considered=considered,
    )


def decided_by_choice(request: RecallRequest, candidates: Sequence[SkillCandidate], choice: SkillChoice) -> Recall:
    """Accept the skill that a model chose, if it was offered and its values pass the checks."""
    considered = tuple(map(_considered, candidates))
    named = [one.skill for one in offered(candidates) if one.skill.name == choice.skill]
    if not named:
        reason = "not_offered" if choice.skill else "none_chosen"
        return Recall(decision="abstain", reason=reason, considered=considered)
    values, reason = checked_choice(sentence_of(request.goal), named[0], choice.values)
    if reason:
        return Recall(decision="abstain", reason=reason, considered=considered)
    return Recall(decision="accept", reason="accepted", skill=named[0], values=values, considered=considered)


def _candidate(request: RecallRequest, sentence: Sentence, ranked: Ranked, wrong: frozenset[str]) -> SkillCandidate:
    skill = ranked.skill
    reason, details = _barred(request, skill)
    if not reason and f"{skill.name} {skill.version}" in wrong:
        reason, details = "wrong_before", "a sentence of this form turned out to mean something else"
    if reason:
        return SkillCandidate(ranked, reason, details)
    if near := next((each for each in skill.near_misses if resembles(each, sentence)), ""):
        return SkillCandidate(ranked, "near_miss", near)
    found: list[tuple[str, dict[str, str]]] = []
    for pattern in patterns_of(skill):
        for values in aligned(pattern, skill.task.parameters, sentence):
            if all(values != known for _, known in found):
                found.append((pattern, values))
    match found:
        case [(pattern, values)]:
            return SkillCandidate(ranked, "accepted", values=values, pattern=pattern)
        case []:
            return SkillCandidate(ranked, "not_aligned", f"most similar: {ranked.pattern}")
        case _:
            return SkillCandidate(ranked, "ambiguous", "the values could belong to the parameters in more than one way")


def _wrong_before(goal: str, records: Iterable[RecallRecord]) -> frozenset[str]:
    """Return the skills, with versions, that were last recalled wrongly for a sentence of this form."""
    form = masked(goal)
    latest = {
        f"{one.skill} {one.version}": one.outcome
        for one in sorted(records, key=lambda record: record.at)
        if one.outcome and one.decision == "accept" and one.sentence == form
    }
    return frozenset(name for name, outcome in latest.items() if outcome != "succeeded")


def _barred(request: RecallRequest, skill: Skill) -> tuple[str, str]:
    """Return why the skill is barred for any sentence; empty if it is not."""
    if skill.site and site_of(skill.site) != site_of(request.url):
        return "other_site", skill.site
    if skill.status is not SkillStatus.ACTIVE:
        return "not_active", skill.status.value
    if lacking := sorted(set(skill.task.secrets) - set(request.secrets)):
        return "missing_secret", ", ".join(lacking)
    for one in request.passed_over:
        if (one.name, one.version) == (skill.name, skill.version):
            return one.reason, one.said
    return other_context(skill.context, request.context)


def other_context(learned: SkillContext, now: SkillContext) -> tuple[str, str]:
    """Return why the skill is not run in this context: reason and details, both empty if it may."""
    if learned.device and now.device and learned.device != now.device:
        return "other_context", f"learned on {learned.device}"
    if learned.locale and now.locale and _language(learned.locale) != _language(now.locale):
        return "other_context", f"learned in {learned.locale}"
    if None not in (learned.signed_in, now.signed_in) and learned.signed_in != now.signed_in:
        return "other_context", f"learned signed {'in' if learned.signed_in else 'out'}"
    return "", ""


def _language(locale: str) -> str:
    return locale.replace("_", "-").partition("-")[0].lower()


def _differ_in_context(one: Skill, other: Skill) -> bool:
    """Return True if both skills mean the same in contexts that exclude each other."""
    return bool(set(one.patterns) & set(other.patterns) and other_context(one.context, other.context)[0])


def _considered(one: SkillCandidate) -> Considered:
    return Considered(
        name=one.ranked.skill.name,
        version=one.ranked.skill.version,
        score=round(one.ranked.score, 4),
        reason=one.reason,
        details=one.details,
    )

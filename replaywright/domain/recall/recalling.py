"""Decisions of recall: which skill a sentence means, and with what values; or why none is taken.

A sentence that aligns with a pattern of one skill recalls it. What aligns with none is put to a model, whose choice
`replaywright.domain.recall.choosing` checks. What the page has to show before the first step (the skill's
precondition) is checked where there is a page: by the run.
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
"""Skills that are looked at, the most similar ones."""
OFFERED = 3
"""Skills that a model chooses among, the most similar of those that nothing speaks against."""
SEVERAL = "several_skills"
"""Reason where the sentence aligns with patterns of more than one skill."""
_OPEN = frozenset({"not_aligned", "ambiguous"})
"""Reasons that leave it to a model."""


@dataclass(frozen=True)
class Candidate:
    """A skill that was looked at, and what speaks for or against it."""

    ranked: Ranked
    reason: str
    details: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""
    """The one that the sentence aligns with."""


class Recaller:
    """Looks a sentence up among skills. Belongs to one state of the knowledge base."""

    def __init__(self, index: SkillIndex) -> None:
        self.index = index

    def consider(
        self, request: RecallRequest, *, records: Iterable[RecallRecord] = (), explain: bool = False
    ) -> list[Candidate]:
        """List the most similar skills, best first, with what speaks against each; `explain` adds other sites."""
        site = site_of(request.url)
        ranked = self.index.rank(request.goal, site, LOOKED_AT)
        if explain:
            elsewhere = self.index.rank(request.goal, None, LOOKED_AT)
            ranked = (*ranked, *(each for each in elsewhere if each.skill.site not in {site, ""}))
        wrong = _wrong_before(request.goal, records)
        sentence = sentence_of(request.goal)
        return [_candidate(request, sentence, each, wrong) for each in ranked]


def offered(candidates: Iterable[Candidate]) -> tuple[Ranked, ...]:
    """List the skills that a model may choose among."""
    return tuple(one.ranked for one in candidates if one.reason in _OPEN)[:OFFERED]


def decided(candidates: Sequence[Candidate], *, has_skills: bool = True) -> Recall:
    """Accept the one skill that the sentence aligns with, or say why there is none."""
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


def decided_by_choice(request: RecallRequest, candidates: Sequence[Candidate], choice: SkillChoice) -> Recall:
    """Accept the skill that a model chose among those offered, if code finds nothing against its values."""
    considered = tuple(map(_considered, candidates))
    named = [one.skill for one in offered(candidates) if one.skill.name == choice.skill]
    if not named:
        reason = "not_offered" if choice.skill else "none_chosen"
        return Recall(decision="abstain", reason=reason, considered=considered)
    values, reason = checked_choice(sentence_of(request.goal), named[0], choice.values)
    if reason:
        return Recall(decision="abstain", reason=reason, considered=considered)
    return Recall(decision="accept", reason="accepted", skill=named[0], values=values, considered=considered)


def _candidate(request: RecallRequest, sentence: Sentence, ranked: Ranked, wrong: frozenset[str]) -> Candidate:
    skill = ranked.skill
    reason, details = _barred(request, skill)
    if not reason and f"{skill.name} {skill.version}" in wrong:
        reason, details = "wrong_before", "a sentence of this form turned out to mean something else"
    if reason:
        return Candidate(ranked, reason, details)
    if near := next((each for each in skill.near_misses if resembles(each, sentence)), ""):
        return Candidate(ranked, "near_miss", near)
    found: list[tuple[str, dict[str, str]]] = []
    for pattern in patterns_of(skill):
        for values in aligned(pattern, skill.task.parameters, sentence):
            if all(values != known for _, known in found):
                found.append((pattern, values))
    match found:
        case [(pattern, values)]:
            return Candidate(ranked, "accepted", values=values, pattern=pattern)
        case []:
            return Candidate(ranked, "not_aligned", f"most similar: {ranked.pattern}")
        case _:
            return Candidate(ranked, "ambiguous", "the values could belong to the parameters in more than one way")


def _wrong_before(goal: str, records: Iterable[RecallRecord]) -> frozenset[str]:
    """Collect the skills, with their versions, that a sentence of this form was last taken for wrongly."""
    form = masked(goal)
    latest = {
        f"{one.skill} {one.version}": one.outcome
        for one in sorted(records, key=lambda record: record.at)
        if one.outcome and one.decision == "accept" and one.sentence == form
    }
    return frozenset(name for name, outcome in latest.items() if outcome != "succeeded")


def _barred(request: RecallRequest, skill: Skill) -> tuple[str, str]:
    """Say what speaks against a skill whatever the sentence says; empty if nothing does."""
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
    """Say why a skill that was learned like this is not run under the circumstances of now: reason and details.

    Both are empty where nothing is known that speaks against it.
    """
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
    """Check if two skills mean the same for circumstances that exclude each other: the start page tells which it is."""
    return bool(set(one.patterns) & set(other.patterns) and other_context(one.context, other.context)[0])


def _considered(one: Candidate) -> Considered:
    return Considered(
        name=one.ranked.skill.name,
        version=one.ranked.skill.version,
        score=round(one.ranked.score, 4),
        reason=one.reason,
        details=one.details,
    )

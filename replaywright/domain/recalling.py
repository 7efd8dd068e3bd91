"""Which skill a sentence means, and with what values; or why none is taken.

Similarity only ranks. A skill is accepted if it is of the site, may be run in these circumstances, does what the
sentence asks for and nothing else, and every part of the sentence is accounted for; see `replaywright.domain.reading`.
What the page has to show before the first step (the skill's precondition) is checked where there is a page: by the run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from replaywright.domain import goal_lists as lists
from replaywright.domain.choices import choice_of
from replaywright.domain.frames import Frame, frame_of
from replaywright.domain.goals import has_type
from replaywright.domain.patterns import places_of
from replaywright.domain.reading import Reading, read
from replaywright.domain.recall import RecallRecord, RecallRequest, least_score, site_of
from replaywright.domain.similarity import Ranked, SkillIndex
from replaywright.domain.skills import Considered, Recall, Skill, SkillContext, SkillStatus
from replaywright.domain.tasks import Parameter
from replaywright.domain.words import Concept, Sort

LOOKED_AT = 8
"""Skills that are looked at, the most similar ones."""
LEAST_MARGIN = 0.08
"""By so much the best of several skills that all account for the sentence has to be more similar than the next."""


_NUMBERED = frozenset((Sort.THING, thing) for thing in lists.NUMBERED.split())
_FILES = frozenset({(Sort.THING, "file")})
_LIGHT = frozenset((Sort.THING, thing) for thing in lists.LIGHT.split())


@dataclass(frozen=True)
class Candidate:
    """A skill that was looked at, and what speaks for or against it."""

    ranked: Ranked
    reason: str
    details: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    is_readable: bool = False
    """Nothing speaks against it but that the values could not be read."""


# ---------------------------------------------------------------------------------------------- considering


class Recaller:
    """Looks a sentence up among skills. Belongs to one state of the knowledge base."""

    def __init__(self, index: SkillIndex) -> None:
        self.index = index
        self._frames: dict[tuple[str, int], Frame] = {}

    def consider(
        self,
        request: RecallRequest,
        *,
        records: Sequence[RecallRecord] = (),
        embedding: Sequence[float] | None = None,
        explain: bool = False,
    ) -> list[Candidate]:
        """The most similar skills, best first, each with what speaks against it; `explain` takes other sites along."""
        site = site_of(request.url)
        ranked = self.index.rank(request.goal, None if explain else site, LOOKED_AT, embedding)
        if explain:
            of_site = self.index.rank(request.goal, site, LOOKED_AT, embedding)
            ranked = (*of_site, *(each for each in ranked if each.skill.site not in {site, ""}))
        found = [self._candidate(request, each, records) for each in ranked]
        return [
            replace(one, reason="other_object", details="another skill of the site does the same to something else")
            if one.reason == "accepted" and self._is_vague(one, found, request)
            else one
            for one in found
        ]

    def with_values(self, request: RecallRequest, candidate: Candidate, values: Mapping[str, str]) -> Candidate:
        """The candidate with values that a model has read: each must stand in the sentence and have its type."""
        skill = candidate.ranked.skill
        if wrong := _unfit(request.goal, skill, values):
            return replace(candidate, reason="values_refused", details=wrong, is_readable=False)
        reading = read(request.goal, self._frame(skill), values)
        reason, details, _ = _judged(self._frame(skill), reading)
        meant = {name: _meant(value, skill.task.parameters[name]) for name, value in values.items()}
        if reason == "accepted" and meant != {name: reading.values.get(name) for name in values}:
            reason, details = "values_refused", "the sentence does not bear them out"
        return replace(candidate, reason=reason, details=details, values=reading.values, is_readable=False)

    def _frame(self, skill: Skill) -> Frame:
        key = skill.name, skill.version
        if key not in self._frames:
            self._frames[key] = frame_of(skill)
        return self._frames[key]

    def _candidate(self, request: RecallRequest, ranked: Ranked, records: Sequence[RecallRecord]) -> Candidate:
        skill = ranked.skill
        reason, details = _barred(request, skill)
        if reason:
            return Candidate(ranked, reason, details, {})
        frame = self._frame(skill)
        reading = read(request.goal, frame)
        reason, details, is_readable = _judged(frame, reading)
        if (reason == "accepted" or is_readable) and ranked.score < (least := least_score(records, skill.name)):
            reason, details, is_readable = "low_score", f"{ranked.score:.2f} is below {least:.2f}", False
        return Candidate(ranked, reason, details, reading.values, is_readable)

    def _is_vague(self, one: Candidate, all_of_them: Iterable[Candidate], request: RecallRequest) -> bool:
        """Whether the sentence names no object where another skill of the site does the same act to another one."""
        frame = self._frame(one.ranked.skill)
        said = read(request.goal, frame).said
        if any(not asked.objects or asked.objects & said for asked in frame.asked):
            return False
        return any(
            other is not one
            and other.ranked.skill.site == one.ranked.skill.site
            and self._frame(other.ranked.skill).acts & frame.acts
            for other in all_of_them
        )


def _barred(request: RecallRequest, skill: Skill) -> tuple[str, str]:
    """What speaks against a skill whatever the sentence says; empty if nothing does."""
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
    """Why a skill that was learned like this is not run under the circumstances of now, as reason and details.

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


def _judged(frame: Frame, reading: Reading) -> tuple[str, str, bool]:
    """Reason, details, and whether a model could still help by reading the values."""
    over = reading.left_over
    if any(token.is_negation for token in over):
        return "negated", _quoted(token.text for token in over if token.is_negation), False
    other_acts = [token.text for token in over if any(sort is Sort.ACT for sort, _ in token.concepts)]
    if reading.is_question:
        return "question", "the sentence asks something", False
    if reading.is_told:
        return "told", "the sentence says what happened, not what is to be done", False
    is_act_said = bool(
        reading.said & frame.acts or _verbal(reading.begins_with & (frame.objects | frame.implied)) & frame.acts
    )
    if not is_act_said:
        return "other_act", _quoted(other_acts) or "the sentence does not say what to do", False
    if other_acts:
        return "further_demand", _quoted(other_acts), False
    if reason := _unsaid(frame, reading):
        return (*reason, False)
    return _accounted(frame, reading)


def _accounted(frame: Frame, reading: Reading) -> tuple[str, str, bool]:
    """Whether every part of a sentence that asks for the same is accounted for."""
    over = reading.left_over
    for name, text in reading.refused.items():
        choices = next(slot.parameter.choices for slot in frame.slots if slot.name == name)
        return "no_choice", f"{name}: “{text}” is none of {', '.join(choices)}", False
    if reading.missing:
        return "missing_parameter", ", ".join(reading.missing), bool(over)
    if over:
        is_unknown = all(sort is Sort.UNKNOWN for token in over for sort, _ in token.concepts)
        return "left_over", _quoted(token.text for token in over), is_unknown
    if reading.is_ambiguous:
        return "ambiguous", "the values could belong to the parameters in more than one way", True
    return "accepted", "", False


def _verbal(things: Iterable[Concept]) -> frozenset[Concept]:
    return frozenset((Sort.ACT, act) for _, thing in things for act in lists.VERBAL.get(thing, ()))


def _unsaid(frame: Frame, reading: Reading) -> tuple[str, str] | None:
    """What the skill's sentences say and this one does not, by the one that is nearest; None for nothing."""
    found: tuple[str, str] | None = None
    for asked in frame.asked:
        lacking = [word for word in asked.words if not word & reading.said]
        named = asked.objects & reading.said
        named |= _understood(frame, asked.objects, named, reading)
        if lacking:
            found = "other_meaning", "not said: " + _quoted(sorted(min(word)[1] for word in lacking))
        elif asked.objects - named and (named or len(frame.slots) < 2):
            lost = _quoted(sorted(word for _, word in asked.objects - named))
            found = "other_object", f"the sentence does not name {lost}"
        else:
            return None
    return found


def _understood(
    frame: Frame, objects: frozenset[Concept], named: frozenset[Concept], reading: Reading
) -> frozenset[Concept]:
    """Things that go without saying: the issue of "#12", the file of "a.txt", the list of several things.

    "everything" stands for all there are where more than the act tells which: "everything from a@x.com".
    """
    understood = _LIGHT if named and reading.has_many else frozenset()
    understood |= _NUMBERED if reading.has_number else frozenset()
    if reading.has_everything and frame.is_of_many and (frame.slots or any(len(one.words) > 1 for one in frame.asked)):
        return objects
    return objects & (understood | (_FILES if reading.has_file else frozenset()))


def _quoted(words: Iterable[str]) -> str:
    return " ".join(f"“{word}”" for word in words)


def _meant(value: str, parameter: Parameter) -> str:
    return (choice_of(value, parameter.choices) or value) if parameter.type == "choice" else value


def _unfit(goal: str, skill: Skill, values: Mapping[str, str]) -> str:
    """Why values that were read cannot be those of the skill's parameters; empty if they can."""
    if unknown := sorted(set(values) - set(skill.task.parameters)):
        return f"no parameter {unknown[0]}"
    if absent := sorted(set(values) - set(places_of(goal, values))):
        return f"{absent[0]}: the value does not stand in the sentence"
    for name, value in values.items():
        parameter = skill.task.parameters[name]
        if not has_type(value, parameter.type, parameter.choices):
            is_choice = parameter.type == "choice"
            kind = f"none of {', '.join(parameter.choices)}" if is_choice else f"no {parameter.type}"
            return f"{name}: the value is {kind}"
    return ""


# ------------------------------------------------------------------------------------------------ deciding


def decided(candidates: Sequence[Candidate], *, has_skills: bool = True) -> Recall:
    """The one skill that is accepted, or why there is none."""
    considered = tuple(
        Considered(
            name=one.ranked.skill.name,
            version=one.ranked.skill.version,
            score=round(one.ranked.score, 4),
            reason=one.reason,
            details=one.details,
        )
        for one in candidates
    )
    accepted = sorted((one for one in candidates if one.reason == "accepted"), key=lambda one: -one.ranked.score)
    if not accepted:
        reason = candidates[0].reason if candidates else "no_skills" if not has_skills else "other_site"
        return Recall(decision="abstain", reason=reason, considered=considered)
    best = accepted[0]
    rivals = [one for one in accepted[1:] if not _differ_in_context(best.ranked.skill, one.ranked.skill)]
    if rivals and best.ranked.score - rivals[0].ranked.score < LEAST_MARGIN:
        return Recall(decision="abstain", reason="low_margin", considered=considered)
    return Recall(
        decision="accept",
        reason="accepted",
        skill=best.ranked.skill,
        values=dict(best.values),
        pattern=best.ranked.pattern,
        considered=considered,
    )


def _differ_in_context(one: Skill, other: Skill) -> bool:
    """Whether two skills mean the same for circumstances that exclude each other: the start page tells which it is."""
    return bool(set(one.patterns) & set(other.patterns) and other_context(one.context, other.context)[0])

"""Rules that overrule a run's course: when something shows on a page, do this; and among these, prefer that one."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from replaywright.domain.common import expressions
from replaywright.domain.common.base import Authored, Record
from replaywright.domain.common.templates import texts_of
from replaywright.domain.page.observed import AssertionContext
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.evaluation import evaluate
from replaywright.domain.predicate.predicates import Custom, OfStep, Predicate, flattened
from replaywright.domain.task.actions import Effect, effect_of
from replaywright.domain.task.steps import Step, action_of, names_element
from replaywright.domain.task.tasks import parse_authored

STEPS_LIMIT = 5
"""Steps that one rule may have."""
STEP_TIMEOUT_MS = 3_000
"""Budget of a rule's step that names none: what it acts on was there when the rule was found due."""
RUN_LIMIT = 20
"""Rules performed in one run at most, all together."""

_SITE = re.compile(r"[\w*.-]+(:\d+)?")
_BY_PEOPLE = ("approve", "verification_code", "solve_captcha", "take_over")
_REFUSED = ("goto", "go_back", "upload", "extract", "for_each", *_BY_PEOPLE)
"""Actions that a rule cannot have: it clears the way on the page, and leads nowhere else."""

Order: TypeAlias = Literal["first", "last", "lowest", "highest"]


class Preference(Authored):
    """Which of several elements to take, whatever the model picked among them."""

    among: ElementQuery
    """The elements that it is about, as they stand in the snapshot."""
    order: Order
    """`first` and `last` in document order; `lowest` and `highest` by a number in the element's row, as a price."""
    by: str | None = None
    """Regular expression (RE2) that finds the number in the row, in its first group if it has one; without it, the only
    amount of money in the row, or else its only number."""

    @field_validator("among")
    @classmethod
    def _is_in_snapshots(cls, among: ElementQuery) -> ElementQuery:
        if among.css or among.within or among.nth or among.frame or among.role == "overlay":
            raise ValueError(
                "css, within, nth, frame and the role overlay are not in a snapshot; describe the elements themselves"
            )
        return among

    @field_validator("by")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            expressions.check(pattern)
        return pattern

    @model_validator(mode="after")
    def _by_is_for_numbers(self) -> "Preference":
        if self.by is not None and self.order in ("first", "last"):
            raise ValueError(
                f"by finds the number to compare; order {self.order!r} compares none: use lowest or highest"
            )
        return self


class OverrideRule(Authored):
    """`when` this holds, `do` that; or, with `prefer`, which of several elements to take."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    """Lower case with dashes: part of activity ids, and what a later source replaces the rule by."""
    site: str | None = None
    """Host that the rule is for, `*` standing for any characters (`*.shop.example`); absent for every host."""
    when: Predicate | None = None
    """Condition on the page."""
    do: tuple[Step, ...] = Field((), max_length=STEPS_LIMIT)
    """Actions of the rule. Its author declares that doing them twice does no harm."""
    prefer: Preference | None = None
    tried: Literal["before_a_step", "when_stuck"] = "before_a_step"
    """`when_stuck`: only when a step found no element, could not reach it, or did not lead to what was expected."""
    at_most: int = Field(3, ge=0, le=RUN_LIMIT)
    """Maximum applications in one run. 0 switches off the rule, and one of the same name from an earlier source."""

    @field_validator("site")
    @classmethod
    def _is_a_host(cls, site: str | None) -> str | None:
        if site is not None and not _SITE.fullmatch(site):
            raise ValueError(f"expected a host such as *.shop.example, without scheme and path, found {site!r}")
        return site

    @field_validator("when")
    @classmethod
    def _is_about_the_page(cls, when: Predicate | None) -> Predicate | None:
        parts = () if when is None else flattened(when)
        if kind := next((type(part).__name__ for part in parts if isinstance(part, Custom | OfStep)), ""):
            raise ValueError(
                f"{kind} is no condition on a page as it is; use text_contains, exists, visible and the like"
            )
        return when

    @field_validator("do")
    @classmethod
    def _may_be_repeated(cls, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        for number, step in enumerate(steps, 1):
            if step.action in _REFUSED:
                raise ValueError(f"step {number} is a {step.action}; a rule only acts on the page that is there")
            if step.when:
                raise ValueError(f"step {number} has a when; the rule's own says when it is done: make it another rule")
            if step.effect is not None and not step.effect.repeatable:
                raise ValueError(
                    f"step {number} has the effect {step.effect.value!r}; a rule may only do what may be repeated: "
                    "leave effect out, or put the step into the task"
                )
            if names_element(step) and getattr(step, "target", None) is None:
                raise ValueError(f"step {number} has no target; no model is asked for a rule, so describe the element")
        return steps

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> "OverrideRule":
        if self.prefer is not None and (self.when is not None or self.do):
            raise ValueError("prefer stands alone; put when and do into a rule of their own")
        if self.prefer is None and self.at_most and (self.when is None or not self.do):
            raise ValueError("a rule needs when and do, or prefer")
        return self

    @model_validator(mode="after")
    def _has_no_templates(self) -> "OverrideRule":
        if found := next((text for text in texts_of(self.model_dump(mode="json")) if "{{" in text), None):
            raise ValueError(
                f"{found!r}: a rule is for any task, so it has no parameters and no secrets; write plain text"
            )
        return self

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its steps, repeatable and with short time-outs."""
        return tuple(_repeatable(step) for step in self.do)


class OverrideFile(Authored):
    """A file of rules."""

    rules: tuple[OverrideRule, ...] = Field(min_length=1)

    @field_validator("rules")
    @classmethod
    def _names_differ(cls, rules: tuple[OverrideRule, ...]) -> tuple[OverrideRule, ...]:
        names = [rule.name for rule in rules]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"{twice!r} is here twice; give every rule a name of its own")
        return rules


class Due(Record):
    """A rule whose `when` held at the end of a step, with what the workflow needs to perform it."""

    name: str
    steps: tuple[Step, ...]
    at_most: int

    @classmethod
    def of(cls, rule: OverrideRule) -> "Due":
        """Return the part of `rule` that the workflow needs."""
        return cls(name=rule.name, steps=rule.steps, at_most=rule.at_most)


def parse_rules(data: Any, source: str) -> tuple[OverrideRule, ...]:
    """Read the rules in `data` (parsed YAML or JSON): a mapping with `rules`.

    Raises:
        InputInvalid: one line: `source`, the first wrong field, and what was expected.
    """
    return parse_authored(OverrideFile, data, source, "rules").rules


def host_of(url: str) -> str:
    """Host and port of `url`, as rules name sites; empty when it has none."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2].lower()
    except ValueError:  # brackets without an address in them
        return ""


def is_for(rule: OverrideRule, host: str) -> bool:
    """Tell if the rule is for `host`, given with or without a port: a pattern without one is for every port."""
    if rule.site is None:
        return True
    pattern = rule.site.lower()
    return fnmatchcase(host, pattern) or fnmatchcase(re.sub(r":\d+$", "", host), pattern)


def merged(*sources: Iterable[OverrideRule]) -> tuple[OverrideRule, ...]:
    """Merge the rules of all sources; of two with one name, the later source's counts."""
    by_name = {rule.name: rule for source in sources for rule in source}
    return tuple(by_name.values())


def rules_for(rules: Iterable[OverrideRule], host: str) -> tuple[OverrideRule, ...]:
    """Return the rules that are for `host` and not switched off."""
    return tuple(rule for rule in rules if rule.at_most and is_for(rule, host))


def due_in(rules: Sequence[OverrideRule], context: AssertionContext) -> tuple[OverrideRule, ...]:
    """Return the rules whose `when` holds."""
    return tuple(rule for rule in rules if rule.when is not None and evaluate(rule.when, context).passed)


def _repeatable(step: Step) -> Step:
    changes: dict[str, Any] = {}
    if not effect_of(action_of(step), step.effect, None).repeatable:
        changes["effect"] = Effect.IDEMPOTENT
    if "timeout_ms" not in step.model_fields_set:
        changes["timeout_ms"] = STEP_TIMEOUT_MS
    return step.model_copy(update=changes)

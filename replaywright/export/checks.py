"""Predicates as assertions that wait (`expect(…).to_…`), and as conditions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from replaywright.domain.common.text import normalise
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.predicate.predicates import (
    AllOf,
    AnyOf,
    Checked,
    Count,
    Custom,
    Enabled,
    Exists,
    Focused,
    Not,
    NotExists,
    OfStep,
    Predicate,
    TextContains,
    TextEquals,
    TitleContains,
    UrlContains,
    UrlMatches,
    ValueEquals,
    Visible,
    kind_of,
)
from replaywright.export import patterns
from replaywright.export.code import (
    PAGE,
    Both,
    Call,
    Comment,
    Condition,
    Constant,
    Either,
    Expect,
    Expression,
    Notes,
    Statement,
    call,
    expect,
    text,
)
from replaywright.export.locators import Found, first, in_frames, of_query, seen_only

_EACH_MS: Final = 500
"""Timeout of each alternative: alternatives are tried in turn."""
_IGNORING_CASE: Final = Constant(value=True)
_LISTS: Final = frozenset({"combobox", "listbox"})


@dataclass
class Checks:
    """Writes predicates; knows the recorded elements by what they are called."""

    notes: Notes
    recorded: tuple[Target, ...] = ()

    def statements(self, predicate: Predicate, place: str, default_ms: int | None = None) -> list[Statement]:
        """Write the predicate as statements; `default_ms` is its timeout unless it has its own."""
        if isinstance(predicate, OfStep):
            return []
        within = predicate.within_ms if predicate.within_ms is not None else default_ms
        found = self.condition(predicate, place, within)
        if isinstance(found, Comment):
            return [found]
        if not predicate.is_required:
            return [Expect(found, f"{place} does not hold")]
        return [] if found == Both(()) else [Expect(found)]

    def condition(self, predicate: Predicate, place: str, within_ms: int | None = None) -> Condition | Comment:
        """Write the predicate as a condition, or as a comment that says why it cannot be one."""
        found = self._condition(predicate, place, negated=False)
        if isinstance(found, Comment) or within_ms is None:
            return found
        return _timed(found, within_ms)

    def _condition(  # noqa: PLR0911 - one case for each kind
        self, predicate: Predicate, place: str, *, negated: bool
    ) -> Condition | Comment:
        match predicate:
            case Not(not_=inner):
                return self._condition(inner, f"{place}.not_", negated=not negated)
            case AllOf(all_of=parts) | AnyOf(any_of=parts):
                kind = "all_of" if isinstance(predicate, AllOf) else "any_of"
                several = [
                    self._condition(part, f"{place}.{kind}[{number}]", negated=negated)
                    for number, part in enumerate(parts)
                ]
                if unsaid := next((one for one in several if isinstance(one, Comment)), None):
                    return unsaid
                told = tuple(one for one in several if not isinstance(one, Comment))
                if (kind == "all_of") is not negated:
                    return Both(told)
                return Either(tuple(_timed(one, _EACH_MS) for one in told))
            case Custom(custom=name):
                return self.notes.warn(place, f"custom: {name} is a function of your own; call it here")
            case OfStep():
                return self.notes.warn(place, "it tells of a step, and is not said inside another condition")
            case TextContains(text_contains=""):
                return Both(())
            case UrlMatches(url_matches=pattern) if patterns.shared(pattern) is None:
                return self.notes.warn(place, f"url_matches {pattern!r} has what JavaScript's expressions have not")
            case _:
                found = self._plain(predicate, place, negated=negated)
                if found is None:
                    return self.notes.warn(place, f"{kind_of(predicate)} has no assertion in a script")
                return found

    def _plain(  # noqa: C901, PLR0911 - one case for each kind
        self, predicate: Predicate, place: str, *, negated: bool
    ) -> Call | None:
        no = "not_" if negated else ""
        match predicate:
            case UrlContains(url_contains=part):
                return expect(PAGE, f"{no}to_have_url", patterns.contained(part))
            case UrlMatches(url_matches=pattern):
                found = patterns.shared(pattern)
                assert found is not None
                return expect(PAGE, f"{no}to_have_url", found)
            case TitleContains(title_contains=part):
                return expect(PAGE, f"{no}to_have_title", patterns.contained(part, ignore_case=True))
            case Exists(exists=query, in_dom=in_dom):
                return self._is_there(query, f"{place}.exists", negated=negated, in_dom=in_dom is True)
            case NotExists(not_exists=query, in_dom=in_dom):
                return self._is_there(query, f"{place}.not_exists", negated=not negated, in_dom=in_dom is True)
            case Visible(visible=query):
                return expect(first(self._seen(query, f"{place}.visible")), f"{no}to_be_in_viewport")
            case Count():
                return self._counted(predicate, place, negated=negated)
            case TextContains(text_contains=part, within=within):
                return self._contains(part, within, f"{place}.within", negated=negated)
            case TextEquals(text_equals=words, of=query):
                located = self.found(query, f"{place}.of").locator
                return expect(located, f"{no}to_have_text", text(words), ignore_case=_IGNORING_CASE)
            case ValueEquals(value_equals=words, of=query):
                return self._has_value(words, query, place, no)
            case Checked(checked=query):
                return self._is_checked(query, place, no)
            case Enabled(enabled=query):
                return expect(self.found(query, f"{place}.enabled").locator, f"{no}to_be_enabled")
            case Focused(focused=query):
                return expect(self.found(query, f"{place}.focused").locator, f"{no}to_be_focused")
            case _:
                return None

    # ------------------------------------------------------------------------------------- elements

    def found(self, query: ElementQuery, place: str) -> Found:
        """Return the locator of a query, in the frame that its element was recorded in."""
        seen = self.seen(query)
        where, _ = in_frames(() if seen is None else seen.frame)
        return of_query(query, where, seen, self.notes, place)

    def seen(self, query: ElementQuery) -> Target | None:
        """Return the recorded element that the query names; None if none was recorded, or several that differ."""
        alike = [target for target in self.recorded if _answers(target, query)]
        kinds = {(target.tag, target.frame) for target in alike}
        return alike[0] if len(kinds) == 1 else None

    def _seen(self, query: ElementQuery, place: str) -> Expression:
        return seen_only(self.found(query, place))

    def _is_there(self, query: ElementQuery, place: str, *, negated: bool, in_dom: bool) -> Call:
        if in_dom:
            attached = first(self.found(query, place).locator)
            return expect(attached, "not_to_be_attached" if negated else "to_be_attached")
        located = self._seen(query, place)
        return expect(located, "to_have_count", Constant(0)) if negated else expect(first(located), "to_be_visible")

    def _counted(self, predicate: Count, place: str, *, negated: bool) -> Call:
        located = self._seen(predicate.count, f"{place}.count")
        no = "not_" if negated else ""
        if predicate.equals is not None:
            return expect(located, f"{no}to_have_count", Constant(predicate.equals))
        if predicate.at_least is not None and predicate.at_most is not None:
            self.notes.warn(place, "at_most beside at_least is not asserted")
        if predicate.at_least is not None:
            last = call(located, "nth", Constant(max(predicate.at_least - 1, 0)))
            return expect(last, f"{no}to_be_attached")
        assert predicate.at_most is not None
        return expect(
            call(located, "nth", Constant(predicate.at_most)), "to_be_attached" if negated else "not_to_be_attached"
        )

    def _contains(self, part: str, within: ElementQuery | None, place: str, *, negated: bool) -> Call:
        if within is None:
            located = call(call(PAGE, "get_by_text", text(part)), "filter", visible=Constant(value=True))
        else:
            located = call(self._seen(within, place), "filter", has_text=text(part))
        return expect(located, "to_have_count", Constant(0)) if negated else expect(first(located), "to_be_visible")

    def _has_value(self, words: str, query: ElementQuery, place: str, no: str) -> Call:
        """Compare a field's value; a list shows the chosen option's label, which only a recording tells."""
        located, seen = self.found(query, f"{place}.of").locator, self.seen(query)
        role, tag = query.role or "", "" if seen is None else seen.tag
        if tag == "select" or (not tag and role in _LISTS):
            if not tag:
                self.notes.warn(f"{place}.of", "taken for a <select>; nothing is recorded of it")
            chosen = call(located, "locator", text("option:checked"))
            return expect(chosen, f"{no}to_have_text", text(words))
        return expect(located, f"{no}to_have_value", text(words))

    def _is_checked(self, query: ElementQuery, place: str, no: str) -> Call:
        located = self.found(query, f"{place}.checked").locator
        if query.role == "button":
            return expect(located, f"{no}to_have_attribute", text("aria-pressed"), text("true"))
        return expect(located, f"{no}to_be_checked")


def _timed(condition: Condition, within_ms: int) -> Condition:
    """Set the timeout of each assertion in the condition; alternatives keep their own."""
    match condition:
        case Call():
            return replace(condition, options=(*condition.options, ("timeout", Constant(within_ms))))
        case Either():
            return condition
        case Both(checks=parts):
            return Both(tuple(_timed(part, within_ms) for part in parts))


def _answers(target: Target, query: ElementQuery) -> bool:
    """Return True if the query's words match the recorded element."""
    tests: tuple[tuple[str | None, Callable[[str], bool]], ...] = (
        (query.role, lambda role: target.role == role),
        (query.name, lambda name: normalise(target.name) == normalise(name)),
        (query.name_contains, lambda name: normalise(name) in normalise(target.name)),
        (query.text, lambda words: normalise(words) in normalise(target.text)),
        (query.label, lambda label: normalise(target.label) == normalise(label)),
        (query.placeholder, lambda words: normalise(target.attributes.get("placeholder", "")) == normalise(words)),
        (query.test_id, lambda value: value in target.attributes.values()),
        (query.css, lambda css: css == target.css),
    )
    given = [holds(value) for value, holds in tests if value is not None]
    return bool(given) and all(given)

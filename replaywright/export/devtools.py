"""A skill as a recording for the Recorder panel of Chrome's DevTools, and for `@puppeteer/replay`.

The format is the user flow of github.com/puppeteer/replay (`src/Schema.ts`), which `replaywright record --from` reads.
It has no parameters, so their values are written into it, and no secrets: where one belongs stands `{{secret:NAME}}`,
for whoever runs it to put in. It has clicks, keys, values, and conditions on elements or as an expression of the page;
a step that it cannot do is refused, an assertion that it cannot make is left out and told.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from replaywright.domain.common.templates import fill, parameters_in, texts_of
from replaywright.domain.common.text import css_attribute, normalise
from replaywright.domain.locating.identity import TEST_IDS, looks_generated
from replaywright.domain.page.targets import ROLES, ElementQuery, Target
from replaywright.domain.predicate.predicates import (
    AllOf,
    Checked,
    Count,
    Enabled,
    Exists,
    NotExists,
    Predicate,
    TextContains,
    TextEquals,
    TitleContains,
    UrlContains,
    ValueEquals,
    Visible,
    kind_of,
)
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.skills import Skill
from replaywright.domain.step.fingerprints import naming_parameters
from replaywright.domain.task import steps as task
from replaywright.domain.task.actions import Cause
from replaywright.domain.task.steps import Step
from replaywright.export.checks import Checks
from replaywright.export.code import Notes
from replaywright.export.locators import is_placed
from replaywright.export.quoting import plain
from replaywright.export.recordings import Recordings
from replaywright.export.script import context_of, fields_of, refuse
from replaywright.export.steps import derived_of

_Line: TypeAlias = dict[str, Any]
_VIEWPORT: Final = (1280, 900)
_LONGEST_MS: Final = 30_000
"""The longest time that the format allows a step."""
_FAR_DOWN: Final = 1_000_000
_BUTTONS: Final = {"left": "primary", "middle": "auxiliary", "right": "secondary"}
_REFUSED: Final = {
    "drag": "the format has no dragging",
    "upload": "the format gives no files to a page",
    "for_each": "the format has no lists",
    "go_back": "the format has no step back; give the address by a goto",
    "switch_tab": "the format names a tab by its whole address, which is not recorded",
    "close_tab": "the format names a tab by its whole address, which is not recorded",
    "approve": "the format does not wait for people",
    "verification_code": "the format does not wait for people",
    "solve_captcha": "the format does not wait for people",
    "take_over": "the format does not wait for people",
}
_OTHERWISE: Final = "; export to python, or take the step out"


def devtools_recording(skill: Skill, recordings: Recordings, values: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """Write the recording as JSON; return it with its gaps.

    Raises:
        InputInvalid: steps that the format cannot do, each with its place and the remedy.
    """
    writer = _Writer(skill, recordings, values)
    flow = {"title": plain(skill.label or skill.name), "timeout": 10_000, "steps": writer.lines()}
    text = json.dumps(flow, ensure_ascii=False, indent=2)
    # JSON may hold them as they are, files and scripts not.
    text = re.sub("[\x7f-\x9f\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)
    return text + "\n", tuple(dict.fromkeys(writer.notes.warnings))


class _Writer:
    """Goes through the steps once."""

    def __init__(self, skill: Skill, recordings: Recordings, values: Mapping[str, str]) -> None:
        self._skill = skill
        self._recordings = recordings.of_all(skill.task.steps, skill.task.url)
        self._values = values
        self.notes = Notes()
        targets = tuple(entry.target for entry in self._recordings.values() if entry.target is not None)
        self._checks = Checks(self.notes, targets)
        self._focused: list[Any] = []
        """Selectors of the element that has the focus, as far as the steps tell."""

    def lines(self) -> list[_Line]:
        """Write all steps."""
        skill, steps = self._skill, self._skill.task.steps
        _, size = context_of(skill)
        width, height = _VIEWPORT if size is None else map(int, size)
        for name in fields_of(skill.task.browser):
            if name != "viewport":
                self.notes.warn(f"browser.{name}", "the format cannot say it: set it in the browser")
        screen = {"deviceScaleFactor": 1, "isMobile": False, "hasTouch": False, "isLandscape": False}
        lines: list[_Line] = [{"type": "setViewport", "width": width, "height": height, **screen}]
        before = [] if isinstance(steps[0], task.Goto) else [self._navigate(skill.task.url)]
        lines += before
        for index, step in enumerate(steps):
            lines += self._step(step, f"steps[{index}]")
            if not index:
                begun = self._asserted(skill.precondition, "precondition")
                at = len(lines) if isinstance(step, task.Goto) else 1 + len(before)
                lines[at:at] = begun
        lines += self._asserted(skill.task.verify, "verify")
        refuse(self.notes.refusals, skill.name)
        return lines

    def _filled(self, template: str) -> str:
        return fill(template, self._values)

    def _navigate(self, url: str) -> _Line:
        self._focused = []
        return {"type": "navigate", "url": self._filled(url)}

    # ------------------------------------------------------------------------------------------- steps

    def _step(self, step: Step, place: str) -> list[_Line]:
        entry = self._recordings.get(place)
        causes = () if entry is None else entry.causes
        if step.action in _REFUSED:
            self.notes.refusals.append(f"{place} ({step.action}): {_REFUSED[step.action]}{_OTHERWISE}")
            return []
        if step.when:
            self.notes.refusals.append(f"{place}.when: the format has no conditions{_OTHERWISE}")
        if step.dialog is not None or Cause.DIALOG in causes:
            self.notes.refusals.append(f"{place}: the format answers no dialogs{_OTHERWISE}")
        lines = self._acted(step, place, entry)
        if lines and step.timeout_ms != 10_000:
            lines[-1]["timeout"] = min(step.timeout_ms, _LONGEST_MS)
        if lines and Cause.NEW_DOCUMENT in causes and lines[-1]["type"] in ("click", "doubleClick", "keyUp"):
            pressed = next(line for line in reversed(lines) if line["type"] != "keyUp")
            pressed["assertedEvents"] = [{"type": "navigation"}]
        expected = [(f"{place}.expect[{number}]", one) for number, one in enumerate(step.expect)]
        for where, predicate in [*expected, *derived_of(step, place, entry)]:
            lines += self._assertion(predicate, where)
        return lines

    def _acted(self, step: Step, place: str, entry: ActionCacheEntry | None) -> list[_Line]:
        match step:
            case task.Goto():
                return [self._navigate(step.url)]
            case task.WaitFor():
                return []
            case task.Extract():
                self.notes.warn(place, "the format reads nothing: the extract is left out")
                return []
            case task.Scroll() if not task.names_element(step):
                return [{"type": "scroll", "x": 0, "y": _FAR_DOWN if step.to == "bottom" else 0}]
            case task.Press() if not task.names_element(step):
                return self._pressed(step.keys)
            case _:
                at = self._selectors(step, place, entry)
                return [] if at is None else self._on_element(step, place, entry, at)

    def _on_element(  # noqa: PLR0911 - one case for each action
        self, step: Step, place: str, entry: ActionCacheEntry | None, at: _Line
    ) -> list[_Line]:
        seen = None if entry is None else entry.target
        if isinstance(step, task.Press):
            if at["selectors"] != self._focused:
                self.notes.warn(place, "the format presses keys on what has the focus; the element is clicked before")
                return [self._click(at, seen), *self._pressed(step.keys)]
            return self._pressed(step.keys)
        self._focused = at["selectors"]
        match step:
            case task.Click() | task.DoubleClick():
                return self._clicked(step, at, seen)
            case task.Hover():
                return [{"type": "hover", **at}]
            case task.Fill() | task.Type() | task.Paste():
                if not isinstance(step, task.Fill):
                    self.notes.warn(place, f"the format has no {step.action}: the value is set")
                return [{"type": "change", **at, "value": self._filled(step.value)}]
            case task.SelectOption():
                return self._chosen(step, place, at, seen)
            case task.Check() | task.Uncheck():
                checked = {"checked": isinstance(step, task.Check)}
                return [self._click(at, seen), {"type": "waitForElement", **at, "properties": checked}]
            case task.Expand() | task.Collapse():
                expanded = {"aria-expanded": "true" if isinstance(step, task.Expand) else "false"}
                return [self._click(at, seen), {"type": "waitForElement", **at, "attributes": expanded}]
            case task.Scroll():
                down = {"x": 0, "y": _FAR_DOWN if step.to == "bottom" else 0}
                return [{"type": "waitForElement", **at} if step.to == "element" else {"type": "scroll", **at, **down}]
            case _:
                self.notes.refusals.append(f"{place}: the format has no {step.action}{_OTHERWISE}")
                return []

    def _click(self, at: _Line, seen: Target | None) -> _Line:
        """Click the middle of the recorded element: the format counts from its corner."""
        box = None if seen is None else seen.box
        x, y = (2.0, 2.0) if box is None else (round(box.width / 2, 1), round(box.height / 2, 1))
        return {"type": "click", **at, "offsetX": x, "offsetY": y}

    def _clicked(self, step: task.Click | task.DoubleClick, at: _Line, seen: Target | None) -> list[_Line]:
        line = self._click(at, seen)
        if step.position is not None:
            line |= {"offsetX": step.position.x, "offsetY": step.position.y}
        if isinstance(step, task.DoubleClick):
            line["type"] = "doubleClick"
        if step.button is not None:
            line["button"] = _BUTTONS[step.button]
        held = step.modifiers or ()
        downs: list[_Line] = [{"type": "keyDown", "key": key} for key in held]
        return [*downs, line, *({"type": "keyUp", "key": key} for key in reversed(held))]

    def _pressed(self, keys: str) -> list[_Line]:
        each = [part or "+" for part in re.split(r"(?<=[^+])\+", self._filled(keys))]
        downs: list[_Line] = [{"type": "keyDown", "key": key} for key in each]
        return [*downs, *({"type": "keyUp", "key": key} for key in reversed(each))]

    def _chosen(self, step: task.SelectOption, place: str, at: _Line, seen: Target | None) -> list[_Line]:
        if len(step.wanted) > 1 or (seen is not None and seen.tag != "select"):
            self.notes.refusals.append(f"{place}: the format chooses one option of a <select> only{_OTHERWISE}")
            return []
        self.notes.warn(place, "the format chooses by the option's value; here it is taken for equal to the label")
        return [{"type": "change", **at, "value": self._filled(step.wanted[0])}]

    # ---------------------------------------------------------------------------------------- elements

    def _selectors(self, step: Step, place: str, entry: ActionCacheEntry | None) -> _Line | None:
        """Return the selectors of the step's element; None if refused."""
        declared: ElementQuery | None = getattr(step, "target", None)
        seen = None if entry is None else entry.target
        told = () if declared is None else texts_of(declared.model_dump(exclude_none=True))
        by_query = declared is not None and (declared.is_placed or any(map(parameters_in, told)))
        if seen is not None and not by_query and not (entry is not None and entry.bound):
            found = self._of_target(seen, naming_parameters(step))
        else:
            found = [] if declared is None else self._of_query(declared)
        if found:
            return {"selectors": found, **self._frame(seen)}
        why = f"nothing that the format can say is recorded of {step.instruction!r}"
        self.notes.refusals.append(f"{place}: {why}; run the skill once, give the step a target, or export to python")
        return None

    def _frame(self, seen: Target | None) -> _Line:
        return {} if seen is None or not seen.frame else {"frame": [hop.index for hop in seen.frame]}

    def _of_target(self, target: Target, named: frozenset[str]) -> list[list[str]]:
        """Selectors of a recorded element, each its alone when it was recorded: the first that leads to it is taken."""
        in_row = frozenset().union(*map(parameters_in, target.row)) & named
        name = " ".join(self._filled(target.name).split())
        if in_row <= parameters_in(target.name) and target.namesakes <= 1:
            found = _aria(target.role, name)
            # What names a parameter is another element with another value: no fixed selector beside it.
            if found and (named or is_placed(target.css)):
                return found
            return [*found, *self._fixed(target)]
        # In which row an element stands is nothing that the format says.
        return [] if in_row else self._fixed(target)

    def _fixed(self, target: Target) -> list[list[str]]:
        for key in (*TEST_IDS, "id"):
            value = target.attributes.get(key, "")
            if value and not parameters_in(value) and (key in TEST_IDS or not looks_generated(value)):
                return [[*target.css.split(" >>> ")[:-1], css_attribute(key, value)]]
        return [target.css.split(" >>> ")] if target.css and not parameters_in(target.css) else []

    def _of_query(self, query: ElementQuery) -> list[list[str]]:
        """Selectors of a query; nothing where the format cannot say it."""
        if query.within is not None or query.name_in or query.text_in or query.nth or query.frame:
            return []
        seen = self._checks.seen(query)
        spelt = seen.name if query.name_contains and seen is not None else ""
        name = query.name or spelt or query.label
        if name and not query.text:
            return _aria(query.role or ("" if seen is None else seen.role), self._filled(name))
        if query.test_id:
            return [[css_attribute("data-testid", self._filled(query.test_id))]]
        if query.placeholder:
            return [[css_attribute("placeholder", self._filled(query.placeholder))]]
        if query.css and not query.text:
            return [[self._filled(query.css)]]
        return [[f"text/{self._filled(query.text)}"]] if query.text and not query.role else []

    # -------------------------------------------------------------------------------------- assertions

    def _asserted(self, predicates: Sequence[Predicate], place: str) -> list[_Line]:
        return [
            line
            for number, predicate in enumerate(predicates)
            for line in self._assertion(predicate, f"{place}[{number}]")
        ]

    def _assertion(self, predicate: Predicate, place: str) -> list[_Line]:
        if not predicate.is_required:
            return []
        if isinstance(predicate, AllOf):
            return [line for part in predicate.all_of for line in self._assertion(part, f"{place}.all_of")]
        line = self._on_elements(predicate)
        if line is None and (expression := self._expression(predicate)):
            line = {"type": "waitForExpression", "expression": expression}
        if line is None:
            self.notes.warn(place, f"the format cannot say {kind_of(predicate)} here: it is left out")
            return []
        if predicate.within_ms:
            line["timeout"] = min(max(predicate.within_ms, 1), _LONGEST_MS)
        return [line]

    def _on_elements(self, predicate: Predicate) -> _Line | None:
        counts: _Line = {}
        match predicate:
            case Exists(in_dom=True) | NotExists(in_dom=True):
                return None
            case Exists(exists=query) | Visible(visible=query):
                pass
            case NotExists(not_exists=query):
                counts = {"operator": "==", "count": 0}
            case Count(count=query, equals=int(number)):
                counts = {"operator": "==", "count": number}
            case Count(count=query, at_least=int(number), at_most=None):
                counts = {"operator": ">=", "count": number}
            case Count(count=query, at_most=int(number), at_least=None):
                counts = {"operator": "<=", "count": number}
            case ValueEquals(value_equals=text, of=query) if not self._is_list(query):
                counts = {"properties": {"value": self._filled(text)}}
            case TextEquals(text_equals=text, of=query):
                counts = {"properties": {"innerText": self._filled(text)}}
            case Checked(checked=query) if query.role != "button":
                counts = {"properties": {"checked": True}}
            case Enabled(enabled=query):
                counts = {"properties": {"disabled": False}}
            case _:
                return None
        found = self._of_query(query)
        return (
            {"type": "waitForElement", "selectors": found, **self._frame(self._checks.seen(query)), **counts}
            if found
            else None
        )

    def _is_list(self, query: ElementQuery) -> bool:
        seen = self._checks.seen(query)
        return seen.tag == "select" if seen is not None else query.role in ("combobox", "listbox")

    def _expression(self, predicate: Predicate) -> str | None:
        """Write the condition as an expression of the page."""
        match predicate:
            case UrlContains(url_contains=part):
                where, ignoring = "location.href", ""
            case TitleContains(title_contains=part):
                where, ignoring = "document.title", ".toLowerCase()"
            case TextContains(text_contains=part, within=None):
                where, ignoring = "document.body.innerText", ".toLowerCase()"
            case _:
                return None
        # In ASCII: nothing in the literal ends it.
        return f"{where}{ignoring}.includes({json.dumps(self._filled(part))}{ignoring})"


def _aria(role: str, name: str) -> list[list[str]]:
    """Return a selector by name and role; none if the name would be misread."""
    if not name or re.search(r"[\[\]\\]", name) or normalise(name) != normalise(plain(name)):
        return []
    return [[f'aria/{name}[role="{role}"]' if role in ROLES else f"aria/{name}"]]

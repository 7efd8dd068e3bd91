"""The steps of a task as statements."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from replaywright.domain.common.templates import lone_parameter, parameters_in, texts_of
from replaywright.domain.page.targets import Target
from replaywright.domain.plan.loops import columns_in
from replaywright.domain.predicate.predicates import (
    DialogSeen,
    Downloaded,
    NotExists,
    Predicate,
    ResponseStatus,
)
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.step.fingerprints import naming_parameters
from replaywright.domain.task import steps as task
from replaywright.domain.task.actions import ACTIONS, Cause, Effect, effect_of
from replaywright.domain.task.steps import Step, action_of
from replaywright.export import code, patterns
from replaywright.export.checks import Checks
from replaywright.export.code import (
    CODE,
    PAGE,
    AskPerson,
    Blank,
    Comment,
    Constant,
    Do,
    Expression,
    Fields,
    Name,
    Notes,
    Statement,
    Text,
    call,
    several,
    text,
)
from replaywright.export.locators import Found, in_frames, of_query, of_target, seen_only

USUAL_MS: Final = 10_000
"""Time of a step unless it says otherwise: the script's default."""
_CONSEQUENCES: Final = {
    Effect.COMMIT: "Has consequences: not retried.",
    Effect.IRREVERSIBLE: "Can never be undone: not retried, and a replay asks a person first.",
}
_SLIDES: Final = frozenset({"slider", "spinbutton"})
_Source: TypeAlias = Literal["values", "texts", "rows"]
_AT_ONCE_MS: Final = 1_000
"""Timeout of a step's condition: a script does not know when a page is at rest."""
_PERSON_STEPS: Final = (task.Approve, task.VerificationCode, task.SolveCaptcha, task.TakeOver)


class Steps:
    """Writes the steps of one task in their order."""

    def __init__(self, recordings: Mapping[str, ActionCacheEntry], checks: Checks, notes: Notes) -> None:
        """Write with these `recordings`, by the step's place."""
        self._recordings = recordings
        self._checks = checks
        self._notes = notes
        self.has_person = False
        self.reads = False

    def written(
        self, steps: Sequence[Step], *, within: str = "", numbered: str = "", loop: str = ""
    ) -> tuple[Statement, ...]:
        """Write all steps; `within` and `loop` name the list that they stand in."""
        statements: list[Statement] = []
        opened = False  # whether the step before has opened a tab, which is the current one from then on
        for index, step in enumerate(steps):
            place = f"{within}steps[{index}]"
            entry = self._recordings.get(place)
            opens = entry is not None and Cause.POPUP in entry.causes
            if index or not loop:
                statements.append(Blank())
            statements.append(Comment(f"{numbered}{index + 1}. {_title(step)}"))
            statements.extend(
                self._step(step, place, entry, opens=opens, opened=opened, loop=loop, number=f"{index + 1}.")
            )
            opened = opens
        return tuple(statements)

    def _step(
        self,
        step: Step,
        place: str,
        entry: ActionCacheEntry | None,
        *,
        opens: bool,
        opened: bool,
        loop: str,
        number: str,
    ) -> list[Statement]:
        effect = effect_of(action_of(step), step.effect, None if entry is None else entry.effect)
        statements: list[Statement] = []
        if effect in _CONSEQUENCES and not isinstance(step, _PERSON_STEPS):
            statements.append(Comment(_CONSEQUENCES[effect]))
        match step:
            case task.SwitchTab():
                body: list[Statement] = [_tab(step, opened=opened)]
            case task.CloseTab():
                body = [code.ClosePage()]
            case task.ForEach():
                body = self._for_each(step, place, entry, number)
            case task.Extract():
                body = self._extract(step, place, entry, loop)
            case task.Approve() | task.VerificationCode() | task.SolveCaptcha() | task.TakeOver():
                body = self._person(step, place, entry)
            case _:
                body = self._acted(step, place, entry)
        body = self._led_to(step, place, entry, body, opens=opens)
        if not step.when:
            return [*statements, *body]
        conditions = [
            self._checks.condition(predicate, f"{place}.when[{index}]", predicate.within_ms or _AT_ONCE_MS)
            for index, predicate in enumerate(step.when)
        ]
        if unsaid := next((one for one in conditions if isinstance(one, Comment)), None):
            self._notes.refusals.append(f"{place}.when: it cannot be said here: {unsaid.text}; take it out")
        told = tuple(one for one in conditions if not isinstance(one, Comment))
        condition = told[0] if len(told) == 1 else code.Both(told)
        return [*statements, code.When(condition, tuple(body))]

    # ----------------------------------------------------------------------------- what a step leads to

    def _led_to(
        self, step: Step, place: str, entry: ActionCacheEntry | None, body: list[Statement], *, opens: bool
    ) -> list[Statement]:
        """Put the action into its consequences, and add the expectations."""
        # Those of a list are waited for before its items are read.
        expect_after = () if isinstance(step, task.ForEach) else step.expect
        expected = [(f"{place}.expect[{index}]", predicate) for index, predicate in enumerate(expect_after)]
        downloads = [one for _, one in expected if isinstance(one, Downloaded)]
        answers = [one for _, one in expected if isinstance(one, ResponseStatus)]
        causes = () if entry is None else entry.causes
        if isinstance(step, task.Goto) and answers:
            self._notes.warn(f"{place}.expect", "response_status of a goto is not asserted")
            answers = []
        comments: list[Statement] = [one for one in body if isinstance(one, Comment)]
        acted: list[Statement] = [one for one in body if not isinstance(one, Comment)]
        if opens:
            acted = [code.During("popup", tuple(acted)), code.CurrentTab("popup")]
        if downloads or Cause.DOWNLOAD in causes:
            acted = [code.During("download", tuple(acted))]
            kept = code.SaveDownload(text(downloads[0].downloaded) if downloads else None)
            acted.append(kept)
        for one in answers[:1]:
            during = code.During("response", tuple(acted), text(one.of or ""), one.method or "")
            acted = [during, code.ExpectStatus(one.response_status)]
        if answers[1:] or downloads[1:]:
            self._notes.warn(f"{place}.expect", "only the first response_status and the first downloaded are asserted")
        default_ms = step.timeout_ms if step.timeout_ms != USUAL_MS else None
        for where, predicate in [*expected, *derived_of(step, place, entry)]:
            acted += self._checks.statements(predicate, where, default_ms)
        said = tuple(text(one.dialog_seen) for _, one in expected if isinstance(one, DialogSeen))
        if step.dialog is not None or said:
            told = None if step.dialog_text is None else text(step.dialog_text)
            yes = tuple(answer == "accept" for answer in step.answers)
            acted = [code.Dialogs(yes, isinstance(step.dialog, str), told, tuple(acted), said)]
        return [*comments, *acted]

    # ------------------------------------------------------------------------------------- the element

    def _element(self, step: Step, place: str, entry: ActionCacheEntry | None) -> tuple[Found | None, Target | None]:
        """Return the locator of the step's element, None if refused, and the recorded element."""
        declared = getattr(step, "target", None)
        seen = None if entry is None else entry.target
        told = () if declared is None else texts_of(declared.model_dump(exclude_none=True))
        by_query = declared is not None and (declared.is_placed or any(map(parameters_in, told)))
        if seen is not None and not by_query and not (entry is not None and entry.bound and declared is None):
            found = of_target(seen, naming_parameters(step))
            if found is not None and not (found.comment is not None and declared is not None):
                return found, seen
        if declared is not None:
            where, _ = in_frames(() if seen is None else seen.frame)
            return of_query(declared, where, seen, self._notes, f"{place}.target"), seen
        if entry is not None and entry.bound:
            names = ", ".join("{{" + name + "}}" for name in entry.bound)
            why = f"the recording does not show which element {names} means; give the step a target that names it"
        else:
            why = f"nothing is recorded of {step.instruction!r}; run the skill once, or give the step a target"
        self._notes.refusals.append(f"{place}: {why}")
        return None, seen

    # --------------------------------------------------------------------------------------- the action

    def _acted(self, step: Step, place: str, entry: ActionCacheEntry | None) -> list[Statement]:
        match step:
            case task.Goto():
                return [Do(call(PAGE, "goto", text(step.url), timeout=_time(step)))]
            case task.GoBack():
                return [Do(call(PAGE, "go_back", timeout=_time(step)))]
            case task.WaitFor():
                return []
            case task.Scroll() if step.to != "element" and not task.names_element(step):
                down = "document.documentElement.scrollHeight" if step.to == "bottom" else "0"
                return [Do(call(PAGE, "evaluate", text(f"window.scrollTo(0, {down})")))]
            case task.Press() | task.Paste() if not task.names_element(step):
                if isinstance(step, task.Paste):
                    return [Do(call(None, "paste", PAGE, text(step.value)))]
                return [Do(call(code.Part(PAGE, "keyboard"), "press", text(step.keys)))]
            case _:
                found, seen = self._element(step, place, entry)
                if found is None:
                    return []
                said = [] if found.comment is None else [found.comment]
                return [*said, *self._on_element(step, place, found.locator, seen)]

    def _on_element(  # noqa: C901, PLR0911, PLR0912 - one case for each action
        self, step: Step, place: str, element: Expression, seen: Target | None
    ) -> list[Statement]:
        time, method = _time(step), ACTIONS[action_of(step)].playwright
        match step:
            case task.Click() | task.DoubleClick():
                button = None if step.button is None else text(step.button)
                held = None if step.modifiers is None else several(step.modifiers)
                options = {"button": button, "modifiers": held, "position": _position(step.position)}
                return [Do(call(element, method, **options, timeout=time))]
            case task.Drag():
                return self._drag(step, place, element)
            case task.Fill() if seen is not None and seen.role in _SLIDES and seen.tag != "input":
                return [Do(call(None, "slide", element, text(step.value)))]
            case task.Fill() if seen is not None and seen.role == "group":
                self._notes.refusals.append(
                    f"{place}: a date in parts is not filled by a script; fill each part itself"
                )
                return []
            case task.Fill() if seen is not None and seen.tag == "select":
                return [Do(call(element, "select_option", text(step.value), timeout=time))]
            case task.Fill():
                return [Do(call(element, "fill", text(step.value), timeout=time))]
            case task.Type():
                clear = Do(call(element, "clear", timeout=time))
                return [clear, Do(call(element, "press_sequentially", text(step.value), timeout=time))]
            case task.Paste():
                return [Do(call(element, "click", timeout=time)), Do(call(None, "paste", PAGE, text(step.value)))]
            case task.Press():
                return [Do(call(element, "press", text(step.keys), timeout=time))]
            case task.SelectOption():
                return self._select(step, place, element, seen)
            case task.Check() | task.Uncheck() if seen is not None and seen.role == "button":
                return [Do(call(None, "set_pressed", element, Constant(isinstance(step, task.Check))))]
            case task.Expand() | task.Collapse():
                return [Do(call(None, "set_open", element, Constant(isinstance(step, task.Expand))))]
            case task.Upload():
                return self._upload(step, place, element, seen)
            case task.Scroll() if step.to != "element":
                down = "area.scrollHeight" if step.to == "bottom" else "0"
                return [Do(call(element, "evaluate", text(f"area => area.scrollTo(0, {down})")))]
            case _ if method:
                return [Do(call(element, method, position=_position(getattr(step, "position", None)), timeout=time))]
            case _:
                self._notes.refusals.append(f"{place}: a script has no {step.action}; take the step out")
                return []

    def _drag(self, step: task.Drag, place: str, element: Expression) -> list[Statement]:
        if step.by is not None:
            return [Do(call(None, "drag_by", element, Constant(step.by.x), Constant(step.by.y)))]
        assert step.to is not None
        other = self._checks.found(step.to, f"{place}.to").locator
        places = {"source_position": _position(step.position), "target_position": _position(step.to_position)}
        return [Do(call(element, "drag_to", other, timeout=_time(step), **places))]

    def _select(self, step: task.SelectOption, place: str, element: Expression, seen: Target | None) -> list[Statement]:
        if seen is None or seen.tag in ("select", "label"):
            if seen is None and (step.target is None or not step.target.css):
                self._notes.warn(place, "taken for a <select>; nothing is recorded of it")
            wanted = text(step.value) if step.value is not None else several(step.wanted)
            return [Do(call(element, "select_option", wanted, timeout=_time(step)))]
        if step.values is not None:
            self._notes.refusals.append(
                f"{place}.values: several options of a list that the page makes itself; write a click for each"
            )
            return []
        option = call(PAGE, "get_by_role", text("option"), name=text(step.value or ""), exact=Constant(value=True))
        return [Do(call(element, "click", timeout=_time(step))), Do(call(option, "click", timeout=_time(step)))]

    def _upload(self, step: task.Upload, place: str, element: Expression, seen: Target | None) -> list[Statement]:
        if step.drop:
            self._notes.refusals.append(
                f"{place}.drop: a script cannot drop files on an element; name the file field behind it, without drop"
            )
            return []
        files = text(step.files[0]) if len(step.files) == 1 else several(step.files)
        if seen is None or seen.tag in ("input", "label"):
            return [Do(call(element, "set_input_files", files, timeout=_time(step)))]
        opened = code.During("file_chooser", (Do(call(element, "click", timeout=_time(step))),))
        return [opened, Do(call(Name("file_chooser"), "set_files", files))]

    # ----------------------------------------------------------------------------- reading, and people

    def _extract(self, step: task.Extract, place: str, entry: ActionCacheEntry | None, loop: str) -> list[Statement]:
        self.reads = True
        root: Expression | None = None
        said: list[Statement] = []
        if task.names_element(step):
            found, _ = self._element(step, place, entry)
            if found is None:
                return []
            root, said = found.locator, [found.comment] if found.comment else []
        for name, one in step.fields.items():
            if one.find is None:
                of = root if root is not None else call(PAGE, "locator", text("body"))
            else:
                seen = self._checks.seen(one.find)
                inner = of_query(one.find, root or PAGE, seen, self._notes, f"{place}.fields.{name}.find")
                of = seen_only(inner) if one.take in ("texts", "count") else inner.locator
            said.append(code.Read(name, one.take, of, one.attribute or "", one.type, loop))
        return said

    def _for_each(self, step: task.ForEach, place: str, entry: ActionCacheEntry | None, number: str) -> list[Statement]:
        source, of = self._items(step, place, entry)
        if of is None:
            return []
        body = self.written(step.steps, within=f"{place}.", numbered=number, loop=step.item)
        cells = []
        for column, test in step.where.items():
            if test.matches is not None and not (patterns.shared(test.matches) and patterns.in_python(test.matches)):
                why = f"matches {test.matches!r} has what Python's or JavaScript's expressions have not"
                return [self._notes.warn(f"{place}.where[{column}]", why)]
            cells.append(_cell(column, test))
        stops, skips = step.on_more == "stop", step.on_failure == "skip_item"
        columns = columns_in(step) if step.is_table else ()
        waits = [
            one
            for index, predicate in enumerate(step.expect)
            for one in self._checks.statements(predicate, f"{place}.expect[{index}]")
        ]
        return [
            *waits,
            code.Repeat(step.item, source, of, columns, tuple(cells), step.limit, stops, skips, body),
        ]

    def _items(
        self, step: task.ForEach, place: str, entry: ActionCacheEntry | None
    ) -> tuple[_Source, Expression | None]:
        if isinstance(step.values, str):
            return "values", Name(lone_parameter(step.values) or "", is_parameter=True)
        if step.values is not None:
            return "values", several(step.values)
        root: Expression | None = None
        if task.names_element(step):
            found, _ = self._element(step, place, entry)
            if found is None:
                return "rows", None
            root = found.locator
        if step.elements is None:
            return "rows", root
        inner = of_query(
            step.elements, root or PAGE, self._checks.seen(step.elements), self._notes, f"{place}.elements"
        )
        return "texts", seen_only(inner)

    def _person(
        self,
        step: task.Approve | task.VerificationCode | task.SolveCaptcha | task.TakeOver,
        place: str,
        entry: ActionCacheEntry | None,
    ) -> list[Statement]:
        self.has_person = True
        match step:
            case task.Approve():
                return [AskPerson("approval", step.instruction or "Shall the next steps be done?")]
            case task.TakeOver():
                return [AskPerson("hands", step.instruction)]
            case task.SolveCaptcha() if not task.names_element(step):
                return [AskPerson("hands", "Solve the captcha in the browser.")]
        found, _ = self._element(step, place, entry)
        if found is None:
            return []
        asked = "What does the captcha say?" if isinstance(step, task.SolveCaptcha) else f"Code for {step.instruction}"
        how = step.by if isinstance(step, task.VerificationCode) else "fill"
        entered: list[Statement] = [Do(call(found.locator, "fill", CODE))]
        if how == "type":
            entered = [Do(call(found.locator, "press_sequentially", CODE))]
        elif how == "paste":
            entered = [Do(call(found.locator, "click")), Do(call(None, "paste", PAGE, CODE))]
        return [AskPerson("code", asked), *entered]


def derived_of(step: Step, place: str, entry: ActionCacheEntry | None) -> list[tuple[str, Predicate]]:
    """Return the expectations learned for a step that declares none, each with its place.

    The address counts. What appeared is one piece of evidence among others for a replay; a script has no others, so it
    asserts that of a step with consequences.
    """
    if entry is None or any(predicate.is_required for predicate in step.expect):
        return []
    has_consequences = not effect_of(action_of(step), step.effect, entry.effect).repeatable
    return [
        (f"{place} (derived)", predicate.model_copy(update={"required": None, "within_ms": None}))
        for predicate in entry.derived
        if predicate.is_required or (has_consequences and not isinstance(predicate, NotExists))
    ]


_PLACES: Final = re.compile(r"\{\{\s*(?:\w+:\s*)?([^{}]*?)\s*\}\}")


def _title(step: Step) -> str:
    """Return the comment above the step."""
    match step:
        case task.Goto():
            said = f"Open {step.url}"
        case task.SwitchTab() | task.CloseTab() | task.GoBack() | task.ForEach():
            said = step.title.replace("_", " ")
        case _ if not step.instruction:
            said = step.title.replace("_", " ")
        case _:
            verb = ACTIONS[action_of(step)].verb or step.action.replace("_", " ")
            said = f"{verb.format(keys=getattr(step, 'keys', ''))} {step.instruction}"
    said = _PLACES.sub(r"<\1>", said)
    return said[:1].upper() + said[1:]


def _cell(column: str, test: task.CellTest) -> code.CellIs:
    if test.matches is not None:
        return code.CellIs(column, "matches", (Text((test.matches,)),))
    if test.contains is not None:
        return code.CellIs(column, "contains", (text(test.contains),))
    if (several_of := test.one_of or test.none_of) is not None:
        return code.CellIs(column, "one_of" if test.one_of else "none_of", tuple(map(text, several_of)))
    return code.CellIs(column, "equals", (text(test.equals or ""),))


def _tab(step: task.SwitchTab, *, opened: bool) -> Statement:
    if step.url_contains is not None:
        return code.CurrentTab("url", text(step.url_contains))
    if step.title_contains is not None:
        return code.CurrentTab("title", text(step.title_contains))
    if step.tab == "first":
        return code.CurrentTab("first")
    return Do(call(PAGE, "bring_to_front")) if opened else code.CurrentTab("latest")


def _time(step: Step) -> Constant | None:
    return None if step.timeout_ms == USUAL_MS else Constant(step.timeout_ms)


def _position(position: task.Position | None) -> Fields | None:
    if position is None:
        return None
    return Fields((("x", Constant(position.x)), ("y", Constant(position.y))))

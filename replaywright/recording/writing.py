"""Acts of a person as the steps of a task."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import TypeAdapter

from replaywright.domain.common.text import shorten
from replaywright.domain.page.snapshots import Snapshot
from replaywright.domain.page.targets import Target
from replaywright.domain.predicate.predicates import Downloaded, Exists, Predicate, TextContains
from replaywright.domain.proof.deriving import Seen, derived_from
from replaywright.domain.task.actions import ACTIONS, Action, Effect
from replaywright.domain.task.steps import Step
from replaywright.domain.task.tasks import Task
from replaywright.imports import Imported
from replaywright.imports.draft import TaskDraft
from replaywright.imports.elements import ImportedElement, words_for
from replaywright.imports.keys import combination
from replaywright.imports.values import Typed
from replaywright.ports.recording import Act, ActedOn, Outcome

_STEP: Final[TypeAdapter[Step]] = TypeAdapter(Step)
_VALUED: Final = frozenset({"fill", "select", "upload"})
_USUAL_S: Final = 10.0
"""Time that a step has anyway."""
_LONGEST_S: Final = 300.0


@dataclass
class Recorded:
    """One act, what came of it, and what the person says of it."""

    act: Act
    before: Snapshot | None = None
    """The page before it; None if nobody looked in time."""
    outcome: Outcome = field(default_factory=Outcome)
    effect: Effect | None = None
    """The effect by the person's word; None leaves it to the traffic."""
    is_parameter: bool = True
    """False: the value is the same in every run."""
    points: list[Act] = field(default_factory=list)
    """What the person says shall be there after it."""
    waited_s: float = 0.0
    """Time since the act before it."""
    signs_in: bool = False
    """The step before it entered the password of an account: what it sends may be sent again."""

    @property
    def has_value(self) -> bool:
        """True if it enters or chooses something."""
        return self.act.kind in _VALUED


def written(recorded: Sequence[Recorded], name: str, url: str, secrets: Sequence[str] = ()) -> Imported:
    """Return the task of these acts, which began on the page at `url`.

    `secrets` names the secret values in the order in which they were entered; others are named for their fields.

    Raises:
        InputInvalid: there is no step, or the steps make no task.
    """
    writer = _Writer(list(secrets))
    kept = [each for each in recorded if not _only_focuses(each)]
    for position, each in enumerate(kept):
        writer.add(each, is_last=position == len(kept) - 1)
    last = recorded[-1].outcome.after if recorded else None
    return writer.draft.finish(name, start_url=url, final_url=last.url if last is not None else "")


def _only_focuses(each: Recorded) -> bool:
    """Return True for a click that gave a field the focus and showed nothing new."""
    before, after = each.before, each.outcome.after
    return may_focus(each) and before is not None and after is not None and _shown(before) == _shown(after)


def may_focus(each: Recorded) -> bool:
    """Return True for a click into a field of which nothing else is known to have come."""
    is_on_field = each.act.kind == "click" and each.act.element is not None and each.act.element.is_field
    return is_on_field and not (each.points or each.outcome.dialogs) and effect_of(each) is Effect.READ


def _shown(page: Snapshot) -> tuple[object, ...]:
    elements = (element for element in page.elements if element.visible)
    return (page.url, *((element.target.role, element.target.name, element.target.text) for element in elements))


def effect_of(each: Recorded) -> Effect:
    """Return the effect by the person's word, else by the requests that were seen."""
    if each.effect is not None:
        return each.effect
    usual = ACTIONS[_action_of(each.act)].effect
    seen = each.outcome.evidence.observed_effect if usual is Effect.COMMIT else usual
    return Effect.IDEMPOTENT if seen is Effect.COMMIT and each.signs_in else seen


def _action_of(act: Act) -> Action:
    return Action({"select": "select_option", "point": "wait_for"}.get(act.kind, act.kind))


class _Writer:
    """Puts acts into the draft; follows in which tab a replay would act."""

    def __init__(self, secrets: list[str]) -> None:
        self.draft = TaskDraft("demonstration")
        self._secrets = secrets
        self._named: dict[str, str] = {}
        """Names of secrets by their values."""
        self._first = self._tab = ""
        self._popup = False
        """The last step opened a tab, in which a replay goes on."""
        self._known: set[str] = set()
        self._number = 0

    def add(self, each: Recorded, *, is_last: bool) -> None:
        """Add the step of one act."""
        act = each.act
        self._number += 1
        where = f"step {self._number}"
        self._go_to_tab(where, act)
        if not self._step(where, each):
            return
        fields: dict[str, Any] = self._answers(act, each.outcome)
        effect = effect_of(each)
        if each.effect is not None or ACTIONS[_action_of(act)].effect is Effect.COMMIT:
            fields["effect"] = effect.value
        if each.waited_s * 2 > _USUAL_S and _came_later(each):
            fields["timeout_ms"] = round(1000 * min(each.waited_s * 2, _LONGEST_S))
        self.draft.say(**fields)
        must = is_last or not effect.repeatable
        self.draft.say(expect=[_data_of(_required(one) if must else one) for one in self._expected(each)])
        for name in each.outcome.evidence.downloads:
            self.draft.expect(where, "download", Downloaded(downloaded=re.sub(r"\d+", "*", name)))
        for point in each.points:
            if (predicate := pointed_at(point)) is not None:
                self.draft.expect(where, "check", predicate)
        self._popup = "popup" in each.outcome.evidence.causes

    def _go_to_tab(self, where: str, act: Act) -> None:
        self._first = self._first or act.tab
        is_new = act.tab not in self._known
        current = "" if self._popup and is_new else self._tab  # a replay goes on in the tab that a step has opened
        left_popup = self._popup and not is_new
        if left_popup or (current and act.tab != current):
            self._switch(where, act)
        self._known.add(act.tab)
        self._tab = act.opener if act.kind == "close_tab" else act.tab

    def _switch(self, where: str, act: Act) -> None:
        if act.tab == self._first:
            self.draft.page(where, "tab", "switch_tab", tab="first")
        else:
            address = act.url.partition("?")[0].partition("#")[0]
            self.draft.page(where, "tab", "switch_tab", url_contains=address)

    def _step(self, where: str, each: Recorded) -> bool:
        act, draft = each.act, self.draft
        element = described(act.element) if act.element is not None else None
        match act.kind:
            case "goto":
                return draft.goto(where, "goto", act.url)
            case "go_back" | "close_tab":
                return draft.page(where, act.kind, act.kind)
            case "press":
                keys = combination(act.keys)
                if not keys:
                    draft.left_out(where, f"press {act.keys}", "no step presses this key")
                return bool(keys) and draft.press(where, "press", keys, element)
            case _:
                return element is not None and self._element_step(where, each, element)

    def _element_step(self, where: str, each: Recorded, element: ImportedElement) -> bool:
        act, draft = each.act, self.draft
        match act.kind:
            case "fill":
                return draft.enter(where, "fill", "fill", element, self._typed(each, act.value))
            case "select":
                return draft.choose(where, "select", element, [self._typed(each, value) for value in act.values])
            case "upload":
                if act.element is not None and act.element.is_hidden and (opener := draft.take_back()) is not None:
                    element = opener
                return draft.upload(where, "upload", element, act.values) and (not act.drop or draft.say(drop=True))
            case "drag":
                return draft.act(where, "drag", "drag", element, **_destination(act))
            case kind:
                fields = {"button": act.button} if act.button != "left" else {}
                held = {"modifiers": act.modifiers} if act.modifiers else {}
                return draft.act(where, kind, kind, element, **fields, **held)

    def _typed(self, each: Recorded, value: str) -> Typed:
        typed = Typed(value, secret=each.act.secret, kept=not each.is_parameter)
        if not each.act.secret or not value:
            return typed
        if value not in self._named and self._secrets:
            self._named[value] = self._secrets.pop(0)
        return Typed(value, self._named.get(value, ""), secret=True)

    def _answers(self, act: Act, outcome: Outcome) -> dict[str, Any]:
        """Return the answers to the act's dialogs as fields of its step."""
        if not outcome.dialogs:
            return {}
        answers = ["accept" if answer.accepted else "dismiss" for answer in outcome.dialogs]
        fields: dict[str, Any] = {"dialog": answers[0] if len(set(answers)) == 1 else answers}
        text = next((answer.text for answer in outcome.dialogs if answer.text), None)
        if text is not None:
            asked = ImportedElement(query=None, words="the prompt", field="answer", identity=f"prompt {act.number}")
            fields["dialog_text"] = self.draft.values.template(Typed(text), asked, at=len(self.draft.entries) - 1)
        return fields

    def _expected(self, each: Recorded) -> tuple[Predicate, ...]:
        """Return what the act visibly led to."""
        outcome, entry = each.outcome, self.draft.entries[-1]
        if each.has_value or outcome.after is None or each.before is None:
            return ()
        data = {key: value for key, value in entry.data.items() if key != "expect"}
        step, target = _STEP.validate_python(data), each.act.element and each.act.element.target
        seen = Seen(before=each.before, after=outcome.after, again=outcome.again)
        return derived_from(step, seen, target or None, self.draft.values.recorded)


def described(acted: ActedOn) -> ImportedElement:
    """Return an element as the draft takes it."""
    target, attributes = acted.target, acted.target.attributes
    called = target.label or target.name or attributes.get("placeholder", "")
    hints = " ".join(attributes.get(key, "") for key in ("name", "id", "type", "autocomplete"))
    return ImportedElement(
        query=acted.query,
        words=shorten(words_for(acted.query, f"the {target.role or target.tag} {called}".strip()), 200),
        field=called.strip(" :*") if acted.is_field else "",
        hints=hints,
        by_place=acted.by_place,
        is_list=target.role in {"combobox", "listbox"},
        identity=acted.number,
        why="nothing tells it from others",
    )


def pointed_at(act: Act) -> Predicate | None:
    """Return the condition that what was pointed at is there: by its words where it has some, else by its query."""
    query, text = act.element.query if act.element else None, " ".join(act.text.split())
    if query is not None and query.role and query.name:
        return Exists(exists=query)
    if text:
        return TextContains(text_contains=shorten(text, 80).removesuffix("…").strip())
    return None if query is None else Exists(exists=query)


def data_of(task: Task) -> dict[str, Any]:
    """Return the task as people write it: no defaults, the action first."""
    data: dict[str, Any] = task.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    data["steps"] = [_in_order(step) for step in data["steps"]]
    return data


def _in_order(step: Mapping[str, Any]) -> dict[str, Any]:
    first = ("action", "instruction", "target")
    rest = [key for key in step if key not in (*first, "expect")]
    return {key: step[key] for key in (*first, *rest, "expect") if key in step}


def title_of(act: Act) -> str:
    """Return the act in one line, without a secret's value."""
    words = described(act.element).words if act.element is not None else ""
    value = "•••" if act.secret else shorten(act.value or ", ".join(act.values), 60)
    pressed = f"{act.keys} in" if words else act.keys
    said = {"press": pressed, "goto": act.url}.get(act.kind, "")
    return " ".join(filter(None, (act.kind.replace("_", " "), said, words, f"= {value}" if value else "")))


def _destination(act: Act) -> Mapping[str, Any]:
    if act.to is not None and act.to.query is not None:
        return {"to": act.to.query.model_dump(exclude_none=True)}
    return {"by": {"x": act.by.x, "y": act.by.y}}


def _came_later(each: Recorded) -> bool:
    """Return True if the act's element was not there yet when the page was last read."""
    if each.before is None or each.act.element is None:
        return False
    target = each.act.element.target
    return not any(_is_called(element.target, target) for element in each.before.elements if element.visible)


def _is_called(one: Target, other: Target) -> bool:
    return (one.role, one.name, one.xpath) == (other.role, other.name, other.xpath)


def _required(predicate: Predicate) -> Predicate:
    return predicate.model_copy(update={"required": None, "within_ms": None})


def _data_of(predicate: Predicate) -> dict[str, Any]:
    return predicate.model_dump(mode="json", exclude_none=True)

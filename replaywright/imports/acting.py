"""The actions of a Playwright script on its locators, and how its dialogs are answered, as steps."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from replaywright.domain.predicate.predicates import Exists, NotExists
from replaywright.domain.task.actions import ACTIONS, Action
from replaywright.domain.task.steps import STEPS
from replaywright.imports.draft import TaskDraft
from replaywright.imports.elements import ImportedElement
from replaywright.imports.keys import combination, modifier
from replaywright.imports.locators import Locator, Value
from replaywright.imports.script import Device, Names, Outside, dotted, unawaited
from replaywright.imports.values import Typed

_PLAIN: Final = {
    **{spec.playwright: action for action, spec in ACTIONS.items() if spec.playwright},
    "tap": Action.CLICK,
}
"""Playwright's methods and the actions that do the same."""
_ENTERS: Final[Mapping[str, Literal["fill", "type"]]] = {
    "fill": "fill",
    "clear": "fill",
    "type": "type",
    "press_sequentially": "type",
}
METHODS: Final = frozenset(
    {*_PLAIN, *_ENTERS, "press", "select_option", "set_input_files", "set_checked", "drag_to", "wait_for"}
)
"""Methods of locators that become steps."""
_WAITED_FOR: Final = "pages and elements are waited for by themselves"
ELSEWHERE: Final = {
    "wait_for_timeout": "time is not waited for: a step waits for its element and for what is expected of it",
    "wait_for_load_state": _WAITED_FOR,
    "reload": "there is no step that reloads; write a goto to the page's address",
    "go_forward": "there is no step that goes forward; write a goto to the page's address",
    "screenshot": "evidence is kept of every step",
    "pause": "a person steps in where a step says so (`on_failure: ask`)",
    "evaluate": "scripts are not run in the page",
    "set_viewport_size": "the window has the size that the session gives it",
    "set_default_timeout": "each step has a `timeout_ms` of its own",
    "route": "a run uses the network as it is",
    "save_as": "the file is kept as an artifact of the step",
    "focus": "a step on the element gives it the focus",
    "bring_to_front": "the task switches tabs where a step is in another one",
}


@dataclass
class Actor:
    """Puts the actions into the draft. State: how the dialogs of the next steps are answered."""

    draft: TaskDraft
    names: Names
    _once: dict[str, Any] = field(default_factory=dict)
    _always: dict[str, Any] = field(default_factory=dict)

    def listens(self, call: ast.Call, event: Value, method: str) -> None:
        """Take over the answer to dialogs: a handler that only accepts or dismisses."""
        handler = call.args[1] if len(call.args) > 1 else None
        body = unawaited(handler.body) if isinstance(handler, ast.Lambda) else None
        if event != "dialog" or not isinstance(body, ast.Call) or not isinstance(body.func, ast.Attribute):
            self.draft.left_out(
                line_of(call), f"page.{method}({event!r})", "events are only heard to answer dialogs at once"
            )
            return
        if body.func.attr not in {"accept", "dismiss"}:
            self.draft.left_out(
                line_of(call), f"page.{method}({event!r})", "a dialog is answered by `dialog: accept | dismiss`"
            )
            return
        answer: dict[str, Any] = {"dialog": body.func.attr}
        text = self.names.constant(body.args[0]) if body.args else None
        if isinstance(text, str) and body.func.attr == "accept":
            element = ImportedElement(None, "the dialog", field="dialog text")
            answer["dialog_text"] = self.draft.values.template(Typed(text), element, at=len(self.draft.entries))
        if method == "once":
            self._once = answer
        else:
            self._always = answer

    def answers(self) -> dict[str, Any]:
        """Return the answers to the next step's dialogs."""
        answer, self._once = self._once or self._always, {}
        return answer

    def on_locator(self, call: ast.Call, locator: Locator, method: str, arguments: Sequence[ast.expr]) -> None:
        """Take over one action on a locator, or note why it is no step."""
        where, named = line_of(call), self.names.named(call)
        if method not in METHODS:
            self.draft.left_out(where, method, ELSEWHERE.get(method, "no step does this; write it by hand"))
            return
        element = locator.element()
        first = arguments[0] if arguments else None
        match method:
            case "scroll_into_view_if_needed":
                self.draft.act(where, method, "scroll", element)
            case _ if method in _PLAIN:
                self._acts(call, element, method, named)
            case "set_checked":
                wanted = self.names.constant(first) if first is not None else named.get("checked")
                if isinstance(wanted, bool):
                    self.draft.act(where, method, "check" if wanted else "uncheck", element, **self.answers())
                else:
                    self.draft.left_out(where, method, "its state is computed by the script")
            case _ if method in _ENTERS:
                self._enters(call, element, method, first)
            case "press":
                self._press_keys(call, element, self.names.constant(first) if first is not None else None)
            case "select_option":
                self._chooses(call, element, first)
            case "set_input_files":
                self._uploads(call, element, first)
            case "drag_to":
                there = self.names.meaning(first) if first is not None else None
                self.drags(
                    call, locator, there if isinstance(there, Locator) else Locator(locator.page, why="no locator")
                )
            case _:
                self.waits(call, locator, named)

    def _acts(self, call: ast.Call, element: ImportedElement, method: str, named: Mapping[str, Value]) -> None:
        fields: dict[str, Any] = {}
        action, where = _PLAIN[method], line_of(call)
        given = {word.arg: word.value for word in call.keywords if word.arg}
        if named.get("click_count") == 2:
            action = Action.DOUBLE_CLICK
        if "modifiers" in given and isinstance(given["modifiers"], ast.List):
            keys = [self.names.constant(key) for key in given["modifiers"].elts]
            fields["modifiers"] = tuple(held for key in keys if isinstance(key, str) and (held := modifier(key)))
        if isinstance(named.get("button"), str):
            fields["button"] = named["button"]
        if (position := _position(given.get("position"))) is not None:
            fields["position"] = position
        fields = {name: value for name, value in fields.items() if name in STEPS[action].model_fields}
        understood = {"modifiers", "button", "position"} & STEPS[action].model_fields.keys()
        understood |= {"timeout", "click_count", "no_wait_after"}
        if others := sorted(given.keys() - understood):
            self.draft.changed(where, f"{method}({', '.join(others)})", "done as any other, without these options")
        if method == "tap":
            self.draft.changed(where, method, "done with the mouse")
        self.draft.act(where, method, action, element, **fields, **time_of(named), **self.answers())

    def _typed(self, node: ast.expr | None) -> Typed:
        """Return the entered value: a text, an outside value, or one known only when the script runs."""
        if node is None:
            return Typed("")
        match self.names.meaning(node):
            case str(text):
                return Typed(text)
            case Outside(name=name):
                return Typed(None, name)
            case _:
                return Typed(None, dotted(node).rpartition(".")[2])

    def _enters(self, call: ast.Call, element: ImportedElement, method: str, first: ast.expr | None) -> None:
        value = first or next((word.value for word in call.keywords if word.arg in {"value", "text"}), None)
        typed = Typed("") if method == "clear" else self._typed(value)
        self.draft.enter(line_of(call), method, _ENTERS[method], element, typed)

    def _press_keys(self, call: ast.Call, element: ImportedElement | None, keys: Value) -> None:
        written = combination(keys) if isinstance(keys, str) else ""
        if not written:
            self.draft.left_out(line_of(call), "press", "no step presses this key")
        else:
            self.draft.press(line_of(call), "press", written, element)

    def _chooses(self, call: ast.Call, element: ImportedElement, first: ast.expr | None) -> None:
        given = {word.arg: word.value for word in call.keywords if word.arg}
        node = first or given.get("label") or given.get("value")
        if node is None:
            how = ", ".join(sorted(given)) or "nothing"
            self.draft.left_out(line_of(call), "select_option", f"it chooses by {how}; name the option by its label")
            return
        parts = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
        if not parts:
            self.draft.left_out(line_of(call), "select_option", "it chooses nothing")
            return
        self.draft.choose(line_of(call), "select_option", element, [self._typed(part) for part in parts])

    def _uploads(self, call: ast.Call, element: ImportedElement, first: ast.expr | None) -> None:
        parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
        paths = [self.names.constant(part) for part in parts if part is not None]
        files = [path for path in paths if isinstance(path, str) and path.strip()]
        if not files or len(files) < len(paths):
            self.draft.left_out(line_of(call), "set_input_files", "its files are not all given by their paths")
            return
        self.draft.upload(line_of(call), "set_input_files", element, files)

    def chosen_files(self, call: ast.Call) -> None:
        """Join the click that opened the chooser and its files to one step."""
        element = self.draft.take_back()
        if element is None:
            self.draft.left_out(line_of(call), "set_files", "no click before it opens a file chooser")
        else:
            self._uploads(call, element, call.args[0] if call.args else None)

    def drags(self, call: ast.Call, what: Locator, there: Locator) -> None:
        """Taking one element and dropping it on another."""
        goal = there.element().query
        if goal is None:
            self.draft.left_out(line_of(call), "drag_to", f"where it is dropped is not described: {there.why}")
        else:
            to = goal.model_dump(exclude_none=True)
            self.draft.act(line_of(call), "drag_to", "drag", what.element(), to=to, **self.answers())

    def waits(self, call: ast.Call, locator: Locator, named: Mapping[str, Value]) -> None:
        """Waiting for an element to be there, or to be gone."""
        query = locator.element().query
        if query is None:
            self.draft.left_out(line_of(call), "wait_for", f"its element is not described: {locator.why}")
            return
        gone = named.get("state") in {"hidden", "detached"}
        predicate = NotExists(not_exists=query) if gone else Exists(exists=query)
        expect = [predicate.model_dump(mode="json", exclude_none=True)]
        self.draft.page(line_of(call), "wait_for", "wait_for", expect=expect, **time_of(named))

    def on_device(self, call: ast.Call, device: Device, method: str) -> None:
        """Keys for what has the focus; of the mouse there is only a note."""
        where = line_of(call)
        first = call.args[0] if call.args else None
        if device.kind == "keyboard" and method == "press":
            self._press_keys(call, self.draft.focused, self.names.constant(first) if first is not None else None)
        elif device.kind == "keyboard" and method in {"type", "insert_text"} and self.draft.focused is not None:
            self.draft.changed(where, f"keyboard.{method}", "the task types it into the element of the step before")
            self.draft.enter(where, f"keyboard.{method}", "type", self.draft.focused, self._typed(first))
        else:
            self.draft.left_out(
                where, f"{device.kind}.{method}", "a step acts on an element, not on a place of the window"
            )


def line_of(node: ast.AST) -> str:
    """Return the place of a statement."""
    return f"line {getattr(node, 'lineno', 0)}"


def time_of(named: Mapping[str, Value]) -> dict[str, Any]:
    """Return the step's time from the call's own `timeout`, in milliseconds."""
    timeout = named.get("timeout")
    if isinstance(timeout, bool) or not isinstance(timeout, int) or timeout <= 0:
        return {}
    return {"timeout_ms": min(max(timeout, 100), 300_000)}


def _position(node: ast.expr | None) -> dict[str, float] | None:
    """`{"x": 1, "y": 2}` as a place in the element."""
    if not isinstance(node, ast.Dict):
        return None
    found: dict[str, float] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        match key, value:
            case ast.Constant(value="x" | "y" as name), ast.Constant(value=int() | float() as number):
                found[name] = float(number)
    return found if found.keys() == {"x", "y"} else None

"""The actions of steps, their properties, and whether a step may be repeated."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Action(StrEnum):
    """The closed set of browser actions."""

    GOTO = "goto"
    CLICK = "click"
    DOUBLE_CLICK = "double_click"
    HOVER = "hover"
    DRAG = "drag"
    FILL = "fill"
    TYPE = "type"
    PASTE = "paste"
    PRESS = "press"
    SELECT_OPTION = "select_option"
    CHECK = "check"
    UNCHECK = "uncheck"
    EXPAND = "expand"
    COLLAPSE = "collapse"
    UPLOAD = "upload"
    SCROLL = "scroll"
    WAIT_FOR = "wait_for"
    GO_BACK = "go_back"
    SWITCH_TAB = "switch_tab"
    CLOSE_TAB = "close_tab"
    EXTRACT = "extract"
    FOR_EACH = "for_each"
    APPROVE = "approve"
    VERIFICATION_CODE = "verification_code"
    SOLVE_CAPTCHA = "solve_captcha"
    TAKE_OVER = "take_over"


class Effect(StrEnum):
    """Consequence of a step, from repeatable to final. An observation may raise it; a guess never lowers it."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    COMMIT = "commit"
    IRREVERSIBLE = "irreversible"

    @property
    def rank(self) -> int:
        """0 for `read` to 3 for `irreversible`."""
        return list(Effect).index(self)

    @property
    def repeatable(self) -> bool:
        """True if a step in doubt may simply be performed again."""
        return self.rank <= Effect.IDEMPOTENT.rank


def stronger(one: Effect, other: Effect) -> Effect:
    """Return the more consequential of two effects."""
    return max(one, other, key=lambda effect: effect.rank)


class Cause(StrEnum):
    """Consequence of an action in the browser; a replay waits for the same one."""

    NOTHING = "nothing"
    SAME_DOCUMENT = "same_document"
    NEW_DOCUMENT = "new_document"
    POPUP = "popup"
    DOWNLOAD = "download"
    DIALOG = "dialog"


@dataclass(frozen=True)
class ActionSpec:
    """The facts about one action that the rest of the product reads."""

    effect: Effect
    """The effect of a step that declares none and was not observed."""
    need: str = ""
    """The state that the page agent brings the element to before the input (page/prepare.js); empty: no element."""
    can_trigger: bool = False
    """The input may send requests, such as a press; one that a model chose needs a grant."""
    needs_proof: bool = False
    """The element does not show the result: something else must prove that the step did something."""
    is_read_back: bool = False
    """The page shows the result: a field, a checkbox, a selection, an address."""
    is_planned: bool = False
    """A model may plan it. Files are given, and data is read, only by steps of the task's author."""
    playwright: str = ""
    """The locator method that does the same without arguments of its own."""
    verb: str = ""
    """The line above the step in an exported script; empty: the action's name. `{keys}` are those of a press."""


ACTIONS: Final[Mapping[Action, ActionSpec]] = {
    Action.GOTO: ActionSpec(Effect.IDEMPOTENT, is_read_back=True, is_planned=True, verb="Open"),
    Action.CLICK: ActionSpec(
        Effect.COMMIT, "click", can_trigger=True, needs_proof=True, is_planned=True, playwright="click"
    ),
    Action.DOUBLE_CLICK: ActionSpec(
        Effect.COMMIT,
        "click",
        can_trigger=True,
        needs_proof=True,
        is_planned=True,
        playwright="dblclick",
        verb="Double-click",
    ),
    Action.HOVER: ActionSpec(Effect.READ, "hover", can_trigger=True, is_planned=True, playwright="hover"),
    Action.DRAG: ActionSpec(Effect.COMMIT, "drag", can_trigger=True, needs_proof=True),
    Action.FILL: ActionSpec(Effect.IDEMPOTENT, "fill", is_read_back=True, is_planned=True),
    Action.TYPE: ActionSpec(Effect.IDEMPOTENT, "type", is_read_back=True, is_planned=True, verb="Type into"),
    Action.PASTE: ActionSpec(Effect.IDEMPOTENT, "paste", is_read_back=True, is_planned=True, verb="Paste into"),
    Action.PRESS: ActionSpec(
        Effect.COMMIT, "focus", can_trigger=True, needs_proof=True, is_planned=True, verb="Press {keys} on"
    ),
    Action.SELECT_OPTION: ActionSpec(
        Effect.IDEMPOTENT, "select", can_trigger=True, is_read_back=True, is_planned=True, verb="Choose from"
    ),
    Action.CHECK: ActionSpec(
        Effect.IDEMPOTENT, "check", can_trigger=True, is_read_back=True, is_planned=True, playwright="check"
    ),
    Action.UNCHECK: ActionSpec(
        Effect.IDEMPOTENT, "check", can_trigger=True, is_read_back=True, is_planned=True, playwright="uncheck"
    ),
    Action.EXPAND: ActionSpec(Effect.IDEMPOTENT, "expand", can_trigger=True, is_read_back=True, is_planned=True),
    Action.COLLAPSE: ActionSpec(Effect.IDEMPOTENT, "expand", can_trigger=True, is_read_back=True, is_planned=True),
    Action.UPLOAD: ActionSpec(Effect.IDEMPOTENT, "upload", can_trigger=True, verb="Give files to"),
    Action.SCROLL: ActionSpec(
        Effect.READ,
        "scroll",
        is_read_back=True,
        is_planned=True,
        playwright="scroll_into_view_if_needed",
        verb="Scroll to",
    ),
    Action.WAIT_FOR: ActionSpec(Effect.READ, is_planned=True, verb="Wait for"),
    Action.GO_BACK: ActionSpec(Effect.COMMIT, can_trigger=True, is_planned=True),
    Action.SWITCH_TAB: ActionSpec(Effect.READ, is_planned=True),
    Action.CLOSE_TAB: ActionSpec(Effect.IDEMPOTENT, is_planned=True),
    Action.EXTRACT: ActionSpec(Effect.READ, "read", verb="Read"),
    Action.FOR_EACH: ActionSpec(Effect.READ, "read", is_planned=True),
    Action.APPROVE: ActionSpec(Effect.READ),
    Action.VERIFICATION_CODE: ActionSpec(Effect.IDEMPOTENT),
    Action.SOLVE_CAPTCHA: ActionSpec(Effect.IDEMPOTENT),
    Action.TAKE_OVER: ActionSpec(Effect.COMMIT),
}
"""Every action. docs/internals/extend.md adds one."""


def effect_of(action: Action, declared: Effect | None, observed: Effect | None) -> Effect:
    """Return the effect that a step is treated with.

    The declared effect wins, except that an observation raises a declared `read`. A declared `idempotent` stays: its
    author says that the request may be repeated (logging in). Undeclared, the action decides: a click, a drag, a key
    press and going back (it may re-submit a form) count as `commit` until they were observed to send nothing unsafe.
    """
    if declared is Effect.READ and observed is not None:
        return observed
    if declared is not None:
        return declared
    return ACTIONS[action].effect if observed is None else observed

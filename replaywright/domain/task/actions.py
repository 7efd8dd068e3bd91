"""Actions of steps and their effects."""

from enum import StrEnum


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


_DERIVED = {
    Action.GOTO: Effect.IDEMPOTENT,
    Action.FILL: Effect.IDEMPOTENT,
    Action.TYPE: Effect.IDEMPOTENT,
    Action.PASTE: Effect.IDEMPOTENT,
    Action.SELECT_OPTION: Effect.IDEMPOTENT,
    Action.CHECK: Effect.IDEMPOTENT,
    Action.UNCHECK: Effect.IDEMPOTENT,
    Action.EXPAND: Effect.IDEMPOTENT,
    Action.COLLAPSE: Effect.IDEMPOTENT,
    Action.UPLOAD: Effect.IDEMPOTENT,
    Action.HOVER: Effect.READ,
    Action.SCROLL: Effect.READ,
    Action.WAIT_FOR: Effect.READ,
    Action.EXTRACT: Effect.READ,
    Action.FOR_EACH: Effect.READ,
    Action.APPROVE: Effect.READ,
    Action.VERIFICATION_CODE: Effect.IDEMPOTENT,
    Action.SOLVE_CAPTCHA: Effect.IDEMPOTENT,
    Action.TAKE_OVER: Effect.COMMIT,
    Action.SWITCH_TAB: Effect.READ,
    Action.CLOSE_TAB: Effect.IDEMPOTENT,
    Action.GO_BACK: Effect.COMMIT,
    Action.CLICK: Effect.COMMIT,
    Action.DOUBLE_CLICK: Effect.COMMIT,
    Action.DRAG: Effect.COMMIT,
    Action.PRESS: Effect.COMMIT,
}


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
    return _DERIVED[action] if observed is None else observed

"""Steps of a task as people write them: one class for each action."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from pydantic import Field, field_validator, model_validator

from replaywright.domain.common import expressions
from replaywright.domain.common.base import Authored
from replaywright.domain.common.templates import ITEM_NAME, lone_parameter
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import (
    Focused,
    OfStep,
    Predicate,
    PredicateBase,
    flattened,
    kind_of,
)
from replaywright.domain.task.actions import Action, Effect, effect_of
from replaywright.domain.task.questions import Patience

OnUnknown: TypeAlias = Literal["ask", "fail", "assume_done", "retry"]
"""Reaction to a step whose effect cannot be determined."""
Answer: TypeAlias = Literal["accept", "dismiss"]
"""Answer to a dialog: OK or Cancel; for a page that asks before leaving: leave or stay."""


class StepBase(Authored):
    """Fields of every step."""

    templates: ClassVar[tuple[str, ...]] = ()
    """The fields beside `instruction` and `target` that are filled with the run's values before the step."""

    effect: Effect | None = None
    """Declared effect; None leaves it to the action and the observations."""
    when: tuple[Predicate, ...] = ()
    """Conditions for performing the step; if one does not hold, the step is skipped without a failure."""
    expect: tuple[Predicate, ...] = ()
    """Conditions that must hold after the step."""
    timeout_ms: int = Field(10_000, ge=100, le=300_000)
    """Time for finding, acting and verifying together."""
    always: bool | None = None
    """True to act even if the desired state is there already."""
    dialog: Answer | tuple[Answer, ...] | None = None
    """Answer to every dialog that the step causes, or one for each in order; all others are dismissed."""
    dialog_text: str | None = None
    """Text for accepted prompts; without it, the page's suggestion."""
    reconcile: "Reconcile | None" = None
    """Steps that ask the site for the effect of the step when nothing else tells."""
    on_unknown: OnUnknown | None = None
    """Reaction when the effect stays unknown; None asks a person."""
    late_ms: int | None = Field(None, ge=0, le=300_000)
    """Time after the input in which a step with consequences waits for its request; None: as in the task."""
    evidence: Literal["page"] | None = None
    """`page`: the page itself is enough evidence for a commit that sends no telling request."""

    @field_validator("when", mode="before")
    @classmethod
    def _one_or_several(cls, given: Any) -> Any:
        return (given,) if isinstance(given, Mapping | PredicateBase) else given

    @field_validator("when")
    @classmethod
    def _is_about_the_page(cls, when: tuple[Predicate, ...]) -> tuple[Predicate, ...]:
        for predicate in when:
            if kind := _of_what_was_done(predicate):
                raise ValueError(f"{kind} tells of a step that was done; say what the page must show instead")
            if not predicate.is_required:
                raise ValueError("required: false would let the step be done whatever holds; leave it out")
        return when

    @field_validator("always")
    @classmethod
    def _not_always_goes_without_saying(cls, always: bool | None) -> bool | None:
        return always or None

    @field_validator("dialog", mode="before")
    @classmethod
    def _answers(cls, given: Any) -> Any:
        several = given if isinstance(given, list | tuple) else (given,)
        if given is not None and (not several or any(one not in ("accept", "dismiss") for one in several)):
            raise ValueError(f"expected accept or dismiss, or a list of them in the dialogs' order, found {given!r}")
        return given

    @model_validator(mode="after")
    def _text_is_accepted(self) -> "StepBase":
        if self.dialog_text is not None and "accept" not in self.answers:
            raise ValueError("dialog_text is entered into a prompt that is accepted: add dialog: accept")
        return self

    @model_validator(mode="after")
    def _doubt_is_for_what_must_not_be_repeated(self) -> "StepBase":
        named = [name for name in ("reconcile", "on_unknown", "late_ms") if getattr(self, name) is not None]
        if not named:
            return self
        effect = effect_of(Action(getattr(self, "action")), self.effect, None)  # noqa: B009 - of every subclass
        if effect.repeatable:
            raise ValueError(f"{named[0]} is for a step that must not be repeated: add effect: commit, or leave it out")
        if effect is Effect.IRREVERSIBLE and self.on_unknown == "retry":
            raise ValueError(
                "on_unknown is retry, and the effect irreversible: it might be done twice; use ask or fail"
            )
        return self

    @model_validator(mode="after")
    def _witnesses_are_of_commits(self) -> "StepBase":
        if self.evidence is not None and self.effect is not Effect.COMMIT:
            declared = "there is no effect" if self.effect is None else f"the effect is {self.effect}"
            raise ValueError(f"evidence is page, and {declared}: a page's own word is only enough for effect: commit")
        return self

    @property
    def title(self) -> str:
        """The step in one line of Temporal's UI and of progress: templates as written, never a value."""
        return " ".join(filter(None, (getattr(self, "action"), getattr(self, "instruction"))))  # noqa: B009 - of every subclass

    @property
    def needs_witness(self) -> bool:
        """True if the page that the step acts in cannot prove the step by itself."""
        return self.effect is not None and not self.effect.repeatable and self.evidence is None

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Declared answers in order; empty without any."""
        return (self.dialog,) if isinstance(self.dialog, str) else self.dialog or ()

    def answer_to(self, position: int) -> Answer:
        """Return the answer to the step's dialog at `position` (from 0); undeclared ones are dismissed."""
        if isinstance(self.dialog, str):
            return self.dialog
        return self.answers[position] if position < len(self.answers) else "dismiss"


class PageStep(StepBase):
    """A step that acts on the page as a whole."""

    instruction: str = ""
    """Title of the step; it identifies no element."""


class ElementStep(StepBase):
    """A step that acts on one element."""

    instruction: str = Field(min_length=1)
    """The element in plain words: "the send button"."""
    target: ElementQuery | None = None
    """The element by role, name and so on: no model is needed. It must match exactly one."""


class Goto(PageStep):
    """Open a URL in the current tab."""

    templates: ClassVar[tuple[str, ...]] = ("url",)
    action: Literal["goto"]
    url: str = Field(min_length=1)
    """http or https."""

    @property
    def title(self) -> str:
        """The step in one line."""
        return f"goto {self.url}"


class Position(Authored):
    """A point inside an element, in CSS pixels from its top left corner."""

    x: float = Field(ge=0, allow_inf_nan=False)
    y: float = Field(ge=0, allow_inf_nan=False)


class Offset(Authored):
    """A distance in CSS pixels to the right and down; negative values go left and up."""

    x: float = Field(0, allow_inf_nan=False)
    y: float = Field(0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _goes_somewhere(self) -> "Offset":
        if not self.x and not self.y:
            raise ValueError("x and y are both 0, which goes nowhere; give at least one of them")
        return self


class PointerStep(ElementStep):
    """A step of the pointer on one element."""

    position: Position | None = None
    """Point in the element; without it, the middle or another reachable point."""


class ClickStep(PointerStep):
    """A step that presses a mouse button without moving."""

    button: Literal["left", "middle", "right"] | None = None
    """Mouse button; the left one by default."""
    modifiers: tuple[Literal["Alt", "Control", "Meta", "Shift"], ...] | None = None
    """Keys held down during the click."""

    # The same click must be the same step, however it is written: its keys are digests.
    @field_validator("button")
    @classmethod
    def _left_goes_without_saying(cls, button: str | None) -> str | None:
        return None if button == "left" else button

    @field_validator("modifiers")
    @classmethod
    def _in_one_order(cls, modifiers: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return tuple(sorted(set(modifiers))) if modifiers else None

    @property
    def title(self) -> str:
        """The step in one line."""
        if not (self.button or self.modifiers):
            return super().title
        return f"{super().title} ({'+'.join((*(self.modifiers or ()), self.button or 'left'))})"


class Click(ClickStep):
    """Click once, with the left button unless another one is named."""

    action: Literal["click"]


class DoubleClick(ClickStep):
    """Click twice, with the left button unless another one is named."""

    action: Literal["double_click"]


class Hover(PointerStep):
    """Move the pointer over the element; it stays there until a step moves it."""

    action: Literal["hover"]


def _check_no_frame(place: str, query: ElementQuery | None) -> None:
    """Refuse a frame where the document is that of the step's target already."""
    if query is not None and query.frame is not None:
        raise ValueError(f"{place}.frame: {place} is in the document of the step's target: name the frame in target")


class Drag(PointerStep):
    """Drag the element onto another one, or by a distance."""

    templates: ClassVar[tuple[str, ...]] = ("to",)
    action: Literal["drag"]
    to: ElementQuery | None = None
    """The element to drop on; exactly one must match, in the document of the dragged element."""
    to_position: Position | None = None
    """Point in the element `to`; without it, its middle."""
    by: Offset | None = None
    """Distance to drag, instead of `to`."""

    @model_validator(mode="after")
    def _has_a_destination(self) -> "Drag":
        if (self.to is None) == (self.by is None):
            raise ValueError("say where to drop it by exactly one of: to (an element), by (a way: x, y)")
        if self.to_position is not None and self.to is None:
            raise ValueError("to_position is a place in the element named by to, which is missing")
        _check_no_frame("to", self.to)
        return self

    @property
    def destination(self) -> str:
        """The destination as one line."""
        if self.to is not None:
            named = self.to.model_dump(exclude_none=True)
            return "to " + ", ".join(f"{name} {value!r}" for name, value in named.items())
        assert self.by is not None
        return f"by {self.by.x:g}, {self.by.y:g}"

    @property
    def title(self) -> str:
        """The step in one line."""
        return f"drag {self.instruction} {self.destination}"


class Fill(ElementStep):
    """Set a field's value, replacing what is there."""

    action: Literal["fill"]
    value: str
    """New value; an editor takes line feeds as paragraphs, a date field the ISO form, a `<select>` an option."""

    @property
    def title(self) -> str:
        """The step in one line."""
        return " ".join(filter(None, (self.action, self.instruction, "=", self.value)))


class Type(ElementStep):
    """Clear a field, then type into it key by key, for pages that handle key events."""

    action: Literal["type"]
    value: str
    """Text to type."""

    @property
    def title(self) -> str:
        """The step in one line."""
        return " ".join(filter(None, (self.action, self.instruction, "=", self.value)))


class Paste(StepBase):
    """Paste a text from the clipboard, as Control+V does, in place of what the field holds.

    For pages that handle pasting: a code that is spread over several boxes, rows and columns pasted into a grid.
    """

    action: Literal["paste"]
    value: str
    """Text to paste."""
    instruction: str = ""
    """The element in plain words; empty for the focused one."""
    target: ElementQuery | None = None
    """The element as a query: no model is needed."""

    @property
    def title(self) -> str:
        """The step in one line."""
        return " ".join(filter(None, (self.action, self.instruction, "=", self.value)))


class Press(StepBase):
    """Press a key or a combination, such as `Enter` or `Control+A`, on an element or the focused one."""

    templates: ClassVar[tuple[str, ...]] = ("keys",)
    action: Literal["press"]
    keys: str = Field(min_length=1)
    """A key, or several joined by `+`."""
    instruction: str = ""
    """The element in plain words; empty for the focused one."""
    target: ElementQuery | None = None
    """The element as a query: no model is needed."""

    @property
    def title(self) -> str:
        """The step in one line."""
        return f"press {self.keys}" + (f" on {self.instruction}" if self.instruction else "")


class SelectOption(ElementStep):
    """Choose options of a list by their labels, or by their values when no label equals them.

    The list is a <select>, or a combobox or listbox that the page makes itself.
    """

    templates: ClassVar[tuple[str, ...]] = ("value", "values")
    action: Literal["select_option"]
    value: str | None = None
    """The option to choose."""
    values: tuple[str, ...] | None = Field(None, min_length=1)
    """The options to choose; all others are deselected."""

    @model_validator(mode="after")
    def _says_which(self) -> "SelectOption":
        if (self.value is None) == (self.values is None):
            raise ValueError("say what to choose: either value (one label) or values (a list of labels)")
        if self.values is not None and len(set(self.values)) < len(self.values):
            twice = next(value for value in self.values if self.values.count(value) > 1)
            raise ValueError(f"values names {twice!r} twice; name every option once")
        return self

    @property
    def wanted(self) -> tuple[str, ...]:
        """The options to choose."""
        return self.values or (self.value or "",)

    @property
    def title(self) -> str:
        """The step in one line."""
        return f"select_option {self.instruction} = {', '.join(self.wanted)}"


class Switch(ElementStep):
    """A step that puts its element into one of two states, and touches it only in the other one."""

    @field_validator("always")
    @classmethod
    def _would_undo_it(cls, always: bool | None) -> bool | None:
        if always:
            raise ValueError("always would press what is as wanted already, and so undo it; leave it out, or use click")
        return None


class Check(Switch):
    """Tick a checkbox, choose a radio button, or switch on, if it is not yet."""

    action: Literal["check"]


class Uncheck(Switch):
    """Clear a checkbox or switch off, if it is on."""

    action: Literal["uncheck"]


class Expand(Switch):
    """Open a menu, a section or another closed element; an open one is left alone."""

    action: Literal["expand"]


class Collapse(Switch):
    """Close a menu, a section or another open element; a closed one is left alone."""

    action: Literal["collapse"]


class Upload(ElementStep):
    """Give files to a file field, to a file chooser that a click opens, or to a drop area."""

    templates: ClassVar[tuple[str, ...]] = ("files",)
    action: Literal["upload"]
    files: tuple[str, ...] = Field(min_length=1, max_length=100)
    """Paths on the worker's machine; relative ones are searched in the upload roots, in order."""
    drop: bool | None = None
    """True to drop the files on the element, for pages that accept them no other way."""

    @field_validator("files")
    @classmethod
    def _are_paths(cls, files: tuple[str, ...]) -> tuple[str, ...]:
        if any(not file.strip() for file in files):
            raise ValueError("an empty text is no path; give the path of a file")
        return files

    @field_validator("drop")
    @classmethod
    def _otherwise_as_usual(cls, drop: bool | None) -> bool | None:
        return drop or None

    @property
    def title(self) -> str:
        """The step in one line."""
        return f"upload {self.instruction} = {', '.join(self.files)}"


class Scroll(StepBase):
    """Scroll an element into view, or the page or a scrolling area to an end."""

    action: Literal["scroll"]
    instruction: str = ""
    """The element to bring into view; with `to: top | bottom` the area to scroll, and empty for the page."""
    target: ElementQuery | None = None
    """The element as a query: no model is needed."""
    to: Literal["top", "bottom", "element"] = "element"
    """`element`: bring it into view."""

    @model_validator(mode="after")
    def _has_a_destination(self) -> "Scroll":
        if self.to == "element" and not (self.instruction or self.target):
            raise ValueError("say what to scroll to: an instruction, a target, or to: top | bottom")
        return self


class WaitFor(PageStep):
    """Wait until `expect` holds."""

    action: Literal["wait_for"]

    @model_validator(mode="after")
    def _waits_for_something(self) -> "WaitFor":
        if not self.expect:
            raise ValueError("wait_for needs expect: what to wait for")
        return self


class GoBack(PageStep):
    """Go back in the tab's history."""

    action: Literal["go_back"]


class SwitchTab(PageStep):
    """Make another tab the current one."""

    templates: ClassVar[tuple[str, ...]] = ("url_contains", "title_contains")
    action: Literal["switch_tab"]
    tab: Literal["latest", "first"] | None = None
    """The tab that was opened last, or first."""
    url_contains: str | None = None
    """The only tab whose address contains this."""
    title_contains: str | None = None
    """The only tab whose title contains this."""

    @model_validator(mode="after")
    def _names_one(self) -> "SwitchTab":
        if sum(value is not None for value in (self.tab, self.url_contains, self.title_contains)) != 1:
            raise ValueError("name the tab by exactly one of: tab (latest | first), url_contains, title_contains")
        return self


class CloseTab(PageStep):
    """Close the current tab; the one that opened it, or the first, becomes the current one."""

    action: Literal["close_tab"]


class ExtractField(Authored):
    """One named value to read."""

    take: Literal["text", "texts", "value", "attribute", "table", "count"] = "text"
    """`table` gives a list of rows, each a mapping from column header to cell text; `texts` lists all matches."""
    find: ElementQuery | None = None
    """Element inside the step's element; None for the step's element itself."""
    attribute: str | None = None
    """Name of the attribute for `take: attribute`."""
    type: Literal["string", "number", "integer", "boolean"] = "string"
    """Type of the value; the step fails if the text cannot be converted."""

    @model_validator(mode="after")
    def _attribute_named(self) -> "ExtractField":
        if (self.take == "attribute") != (self.attribute is not None):
            raise ValueError("attribute belongs to take: attribute, which needs it")
        _check_no_frame("find", self.find)
        return self


class Extract(StepBase):
    """Read values from the page, or from one element of it."""

    action: Literal["extract"]
    instruction: str = ""
    """The element to read from; empty for the whole page."""
    target: ElementQuery | None = None
    """The element as a query: no model is needed."""
    fields: dict[str, ExtractField] = Field(min_length=1)
    """Values to read, by their names in the result."""


ITEMS_LIMIT = 500
"""Maximum items of a `for_each`."""
BODY_LIMIT = 20
"""Maximum steps of a `for_each` for each item."""
ITEMS_FIELD = "items"
"""Name of the items in the outcome of a `for_each`."""


class CellTest(Authored):
    """A condition on the text of a cell; a plain text means equality after normalisation."""

    equals: str | None = None
    """The text after normalisation."""
    contains: str | None = Field(None, min_length=1)
    """A part of the text."""
    one_of: tuple[str, ...] | None = Field(None, min_length=1)
    """Accepted texts."""
    none_of: tuple[str, ...] | None = Field(None, min_length=1)
    """Refused texts."""
    matches: str | None = Field(None, min_length=1)
    """A regular expression (RE2), searched anywhere in the text."""

    @field_validator("matches")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            expressions.check(pattern)
        return pattern

    @model_validator(mode="before")
    @classmethod
    def _a_text_alone(cls, given: Any) -> Any:
        return {"equals": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _says_one_thing(self) -> "CellTest":
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError(
                "a cell is tested by a text, or exactly one of: equals, contains, one_of, none_of, matches"
            )
        return self


class ForEach(StepBase):
    """Perform steps for each item of a list: given values, rows of a table, or elements that match a query.

    The items are read once. In the steps `{{item}}` is the item's text and `{{item.Column}}` a cell of its row.
    """

    action: Literal["for_each"]
    item: str
    """Name of the item in the steps."""
    instruction: str = ""
    """The table; with `elements`, their container, or empty for the whole page."""
    target: ElementQuery | None = None
    """The element as a query: no model is needed."""
    values: str | tuple[str, ...] | None = None
    """The items themselves, or `{{parameter}}` of type list."""
    elements: ElementQuery | None = None
    """Query whose matches are the items; each gives its text."""
    where: dict[str, CellTest] = Field(default_factory=dict)
    """Conditions on the named columns of a row."""
    limit: int = Field(50, ge=1, le=ITEMS_LIMIT)
    """Maximum number of items; see `on_more`."""
    on_more: Literal["fail", "stop"] = "fail"
    """With more items than `limit`: fail before the first, or take the first ones only."""
    on_failure: Literal["fail", "skip_item"] = "fail"
    """When a step of an item failed and cannot be repaired: end the run, or go on with the next item."""
    steps: "tuple[Step, ...]" = Field(min_length=1, max_length=BODY_LIMIT)
    """Steps for each item."""

    @field_validator("item")
    @classmethod
    def _is_a_name(cls, item: str) -> str:
        if not re.fullmatch(ITEM_NAME, item) or item == "secret":
            raise ValueError(f"{item!r} is no name for an item: use letters, digits and underscores, such as invoice")
        return item

    @field_validator("values")
    @classmethod
    def _names_a_parameter(cls, values: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
        if isinstance(values, str) and lone_parameter(values) is None:
            raise ValueError(
                f"expected a list of texts, or {{{{parameter}}}} of type list and nothing else, found {values!r}"
            )
        return values

    @field_validator("steps")
    @classmethod
    def _is_flat(cls, steps: "tuple[Step, ...]") -> "tuple[Step, ...]":
        for index, step in enumerate(steps):
            if isinstance(step, ForEach):
                raise ValueError(  # noqa: TRY004 - a wrong file, not a wrong call
                    f"steps[{index}] is a for_each inside a for_each, which is not done: give the rows of both to one, "
                    "or make a task of the inner one and run it for each item"
                )
        return steps

    @model_validator(mode="after")
    def _has_one_source(self) -> "ForEach":
        is_named = bool(self.instruction or self.target)
        if sum((self.values is not None, self.elements is not None or is_named)) != 1:
            raise ValueError(
                "say what the items are by one of: values (a list), elements (a query), or an instruction or target "
                "that names a table"
            )
        _check_no_frame("elements", self.elements)
        if self.where and not self.is_table:
            raise ValueError("where tests columns, which only the rows of a table have; describe elements more closely")
        if self.effect is not None and self.effect is not Effect.READ:
            raise ValueError(f"effect {self.effect.value!r} belongs to the steps; reading the items changes nothing")
        return self

    @property
    def is_table(self) -> bool:
        """True if the items are the rows of a table."""
        return self.values is None and self.elements is None

    @property
    def fields(self) -> dict[str, ExtractField]:
        """Values to read from the page; empty when the items are given."""
        if self.values is not None:
            return {}
        if self.elements is not None:
            return {ITEMS_FIELD: ExtractField(take="texts", find=self.elements)}
        return {ITEMS_FIELD: ExtractField(take="table")}

    @property
    def title(self) -> str:
        """The step in one line."""
        values = "values" if self.values is not None else "elements" if self.elements else "the table"
        return f"for_each {self.item} of {self.instruction or values}: {len(self.steps)} steps"


class Approve(StepBase, Patience):
    """Ask a person to approve the steps that follow, and show them. Touches nothing."""

    action: Literal["approve"]
    instruction: str = ""
    """Hint for the person in plain words; may be empty."""

    @model_validator(mode="after")
    def _only_asks(self) -> "Approve":
        if self.on_timeout != "fail":
            raise ValueError("on_timeout: skip would go on without an approval; nothing is approved by time, use fail")
        for name in ("expect", "effect", "dialog", "always"):
            if getattr(self, name) not in (None, ()):
                raise ValueError(f"{name} is of a step that does something, and approve only asks; take it out")
        return self


class VerificationCode(ElementStep, Patience):
    """Get a code, from a mailbox or from a person, and enter it; the code is not stored."""

    action: Literal["verification_code"]
    source: str = ""
    """Name of a source of codes in the file of sessions, such as a mailbox. A person is asked if it is empty, or if no
    code comes in time."""
    by: Literal["fill", "type", "paste"] = "fill"
    """Way of entering; `paste` for a code that is spread over several boxes."""


class SolveCaptcha(StepBase, Patience):
    """Have a person solve a captcha: in the browser itself, or by giving its text."""

    action: Literal["solve_captcha"]
    instruction: str = ""
    """The field for the captcha's text; empty if it is solved in the browser only."""
    target: ElementQuery | None = None
    """The element as a query: no model is needed."""


class TakeOver(StepBase, Patience):
    """Lend the browser to a person, who performs the instruction and returns it."""

    action: Literal["take_over"]
    instruction: str = Field(min_length=1)
    """The person's job in plain words."""

    @model_validator(mode="after")
    def _says_what_is_expected_back(self) -> "TakeOver":
        if not any(predicate.is_required for predicate in self.expect):
            raise ValueError("expect is missing: say what must hold when the person hands the browser back")
        for name in ("effect", "dialog", "dialog_text", "always", "reconcile", "on_unknown", "late_ms", "evidence"):
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is of a step that is performed here, and a person does this one; take it out")
        return self


PersonStep: TypeAlias = Approve | VerificationCode | SolveCaptcha | TakeOver
"""Steps that wait for a person."""


Step: TypeAlias = Annotated[
    Goto
    | Click
    | DoubleClick
    | Hover
    | Drag
    | Fill
    | Type
    | Paste
    | Press
    | SelectOption
    | Check
    | Uncheck
    | Expand
    | Collapse
    | Upload
    | Scroll
    | WaitFor
    | GoBack
    | SwitchTab
    | CloseTab
    | Extract
    | ForEach
    | Approve
    | VerificationCode
    | SolveCaptcha
    | TakeOver,
    Field(discriminator="action"),
]

STEPS: Mapping[Action, type[StepBase]] = {
    Action(get_args(model.model_fields["action"].annotation)[0]): model for model in get_args(get_args(Step)[0])
}
"""The model of each action."""


ProbeStep: TypeAlias = Annotated[
    Goto | Click | Hover | Expand | Collapse | Scroll | WaitFor, Field(discriminator="action")
]
"""Steps that a `Reconcile` may have."""


class Reconcile(Authored):
    """Read-only steps in a separate tab that ask the site whether a step took effect."""

    steps: tuple[ProbeStep, ...] = Field(min_length=1, max_length=10)
    """They begin with a goto. Elements are found by `target`; no model is asked."""
    expect: tuple[Predicate, ...] = Field(min_length=1)
    """Conditions that hold if the step took effect."""
    site_lag_ms: int | None = Field(None, ge=0, le=600_000)
    """Time until the site shows this step; None: as in the task."""
    in_flight_ms: int | None = Field(None, ge=0, le=3_600_000)
    """Time to keep asking the site while the request has no response; None: as in the task."""

    @model_validator(mode="after")
    def _only_reads(self) -> "Reconcile":
        if not isinstance(self.steps[0], Goto):
            raise ValueError(  # noqa: TRY004 - a wrong file, not a wrong call
                "steps[0] is no goto: the tab in which the site is asked is empty at first; add one"
            )
        for index, step in enumerate(self.steps):
            if why := _why_no_probe(step):
                raise ValueError(f"steps[{index}] ({step.action}) {why}")
        if not any(predicate.is_required for predicate in self.expect):
            raise ValueError("expect has no predicate that is required; take required: false out of one")
        for predicate in self.expect:
            if kind := _of_a_step(predicate):
                raise ValueError(f"expect has {kind}, which tells of a step; say what the page must show instead")
        return self


def _why_no_probe(step: ProbeStep) -> str:
    """Return why the step is not allowed in a `Reconcile`; empty if it is."""
    if isinstance(step, Click) and step.effect is not Effect.READ:
        return "is no step that only reads; if the click only leads on, add effect: read"
    if step.effect is not None and not step.effect.repeatable:
        return f"has effect {step.effect}; finding out must only read: use a goto to the page itself"
    if names_element(step) and getattr(step, "target", None) is None:
        return "has no target; no model is asked while finding out: add one (role, name, …)"
    if step.when:
        return "has a when; finding out is always done as a whole: take it out"
    if step.reconcile is not None or step.on_unknown is not None:
        return "cannot itself be in doubt: take reconcile and on_unknown out of it"
    return ""


def _of_a_step(predicate: Predicate) -> str:
    """Name a condition in the predicate on what a step left behind: its evidence or the focus; empty for none."""
    return next((kind_of(part) for part in flattened(predicate) if isinstance(part, OfStep | Focused)), "")


def _of_what_was_done(predicate: Predicate) -> str:
    """Name a condition in the predicate that only the evidence of a step can decide; empty for none."""
    return next((kind_of(part) for part in flattened(predicate) if isinstance(part, OfStep)), "")


def action_of(step: Step) -> Action:
    """Return the step's action as an enum."""
    return Action(step.action)


def names_element(step: Step) -> bool:
    """Return True if the step acts on one element that has to be found."""
    match step:
        case ElementStep():
            return True
        case Paste() | Press() | Extract() | Scroll() | ForEach() | SolveCaptcha():
            return bool(step.instruction or step.target)
        case _:
            return False


def placed(steps: Iterable[Step], within: str = "") -> Iterator[tuple[str, Step]]:
    """Yield each step with its place in the file, including the steps of lists."""
    for index, step in enumerate(steps):
        place = f"{within}steps[{index}]"
        yield place, step
        if isinstance(step, ForEach):
            yield from placed(step.steps, f"{place}.")


def arguments_of(step: Step) -> dict[str, Any]:
    """Return the action's arguments as templates: no instruction, target, effect, conditions and times.

    For a `for_each` they describe the items; its steps count by themselves.
    """
    skip = {"action", "instruction", "target", "effect", "when", "expect", "timeout_ms", "reconcile", "on_unknown"}
    skip |= {"late_ms", "evidence"}
    skip |= {"steps", "on_failure"} if isinstance(step, ForEach) else set()
    skip |= set(Patience.model_fields) if isinstance(step, PersonStep) else set()
    arguments: dict[str, Any] = step.model_dump(mode="json", exclude=skip, exclude_none=True)
    return arguments


def entering(step: VerificationCode | SolveCaptcha, *, has_text: bool) -> Step:
    """Return the step that follows the answer: enter the text, or verify the expectations."""
    kept = ("when", "expect", "timeout_ms", "effect", "dialog", "dialog_text")
    common: dict[str, Any] = {name: getattr(step, name) for name in kept}
    if not has_text:
        return WaitFor(action="wait_for", **common)
    common |= {"instruction": step.instruction, "target": step.target, "value": ""}
    match step.by if isinstance(step, VerificationCode) else "fill":
        case "type":
            return Type(action="type", **common)
        case "paste":
            return Paste(action="paste", **common)
        case _:
            return Fill(action="fill", **common)

"""Tasks with their parameters: parsing of a file's data, and binding of parameter values."""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, TypeVar

from pydantic import Field, ValidationError, ValidationInfo, field_validator, model_validator

from replaywright.domain.common.base import Authored
from replaywright.domain.common.lists import list_of, list_value
from replaywright.domain.common.templates import fill, lone_parameter, malformed_in, parameters_in, secrets_in, texts_of
from replaywright.domain.common.text import near
from replaywright.domain.common.urls import site_of
from replaywright.domain.predicate.predicates import Predicate, fill_predicate
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.task.browser import BrowserOptions
from replaywright.domain.task.budgets import Budget
from replaywright.domain.task.mistakes import mistakes_of
from replaywright.domain.task.policy import Wishes
from replaywright.domain.task.steps import Extract, Fill, ForEach, Goto, Paste, Step, Type, Upload
from replaywright.errors import InputInvalid, ReplaywrightError

_Authored = TypeVar("_Authored", bound=Authored)
_Written: TypeAlias = "tuple[str, Step, dict[str, Any], ForEach | None]"

VALUES_LIMIT = 256 * 1024
"""Bytes of all parameter values of a run: every step carries them, and Temporal limits a payload to 2 MB."""


class Parameter(Authored):
    """A value that callers give."""

    type: Literal["text", "email", "number", "date", "choice", "list"] = "text"
    """A `list` is for the `values` of a `for_each`: its value is a JSON array of texts."""
    description: str = ""
    """Description for people, and for models that read goals."""
    example: str = ""
    """Sample value, shown when one is missing."""
    default: str | None = None
    """None: the caller must give a value."""
    choices: tuple[str, ...] = ()
    """Allowed values of `type: choice`."""

    @field_validator("default", mode="before")
    @classmethod
    def _several_texts(cls, default: Any) -> Any:
        is_list = isinstance(default, list | tuple) and all(isinstance(each, str) for each in default)
        return list_value(default) if is_list else default

    @model_validator(mode="after")
    def _choices_fit(self) -> "Parameter":
        if (self.type == "choice") != bool(self.choices):
            raise ValueError("choices belong to type 'choice', and it needs at least one")
        if self.choices and self.default is not None and self.default not in self.choices:
            raise ValueError(f"default {self.default!r} is none of the choices: {', '.join(self.choices)}")
        return self


_BARE_HOST = re.compile(r"[\w-]+(\.[\w-]+)*(:\d+)?(/|$)")
"""An address that begins with its host."""


class Task(Authored):
    """A browser task: start page, parameters, steps and final verification."""

    task: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    """Short name, lower case with dashes: part of the run's id."""
    goal: str = ""
    """Purpose in one sentence: shown in the Temporal UI; a task without steps is learned from it."""
    url: str = ""
    """Page to open before the first step; may be empty only when the first step is a goto."""
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    """Values that callers give, by name; used as `{{name}}`."""
    secrets: tuple[str, ...] = ()
    """Names of the secrets that steps may use as `{{secret:NAME}}`."""
    session: str = Field("", pattern=r"^([a-z0-9][a-z0-9-]{0,62})?$")
    """Name of the session with which the browser is signed in before the first step; see docs/reference/sessions.md."""
    steps: tuple[Step, ...] = Field((), validate_default=True)
    """Empty for a task that begins from its goal, which the run recalls or learns; it needs a goal and a url."""
    verify: tuple[Predicate, ...] = ()
    """Conditions of the final verification, after the last step."""
    budget: Budget = Budget()
    """Model budget of a run."""
    browser: BrowserOptions | None = None
    """Options of the browser, such as its size and language; None leaves all as they are."""
    policy: Wishes | None = None
    """Hosts that runs need beside the task's own site, and limits that they set themselves; see the reference."""
    tier: Literal["page", "requests"] = "page"
    """`requests`: once two runs with different values have shown the requests behind the steps, runs send these without
    a page, and use it only where the site answers otherwise."""
    on_failure: Literal["fail", "ask"] = "fail"
    """When a step failed and cannot be repaired: end the run, or ask a person."""
    on_weak_step: Literal["ask", "warn"] | None = None
    """Before a step that succeeded in less than 80 % of its last runs: ask a person, or only warn. None asks where
    `on_failure` does."""
    site_lag_ms: int = Field(5_000, ge=0, le=600_000)
    """Time until the site shows a change; `reconcile` does not ask before."""
    late_ms: int = Field(15_000, ge=0, le=300_000)
    """Time after the input in which a step with consequences waits for its request."""
    in_flight_ms: int = Field(300_000, ge=0, le=3_600_000)
    """Time to keep asking the site for the effect of a step while its request has no response."""

    @field_validator("parameters", "secrets")
    @classmethod
    def _names_are_plain(cls, names: Any, info: ValidationInfo) -> Any:
        for name in names:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                kind = "parameter name" if info.field_name == "parameters" else "secret's name"
                raise ValueError(f"{name!r} is no {kind}: use letters, digits and underscores")
        return names

    @field_validator("steps")
    @classmethod
    def _steps_or_a_goal(cls, steps: tuple[Step, ...], info: ValidationInfo) -> tuple[Step, ...]:
        missing = [name for name in ("goal", "url") if not info.data.get(name)]
        if not steps and missing:
            raise ValueError(
                f"list at least one step, or give goal and url to have the steps worked out ({missing[0]} is missing)"
            )
        return steps

    @model_validator(mode="after")
    def _opens_a_page(self) -> "Task":
        if not self.url and not (self.steps and isinstance(self.steps[0], Goto)):
            raise ValueError("url is missing: give the page to start on, or make steps[0] a goto")
        if _BARE_HOST.match(self.url):
            raise ValueError(f"url: {self.url!r} has no scheme: write https://{self.url}, or http://{self.url}")
        return self

    @model_validator(mode="after")
    def _lists_fit(self) -> "Task":
        lists = {name for name, parameter in self.parameters.items() if parameter.type == "list"}
        for place, step, data, _ in _written(self):
            used = _but(data, "steps")
            if isinstance(step, ForEach):
                _check_list(place, step, self)
                used = _but(used, "values")
            if several := frozenset().union(*map(parameters_in, texts_of(used))) & lists:
                raise ValueError(
                    f"{place} uses {min(several)!r}, which is a list, where one text is wanted: make it a step of a "
                    f"for_each with values: '{{{{{min(several)}}}}}'"
                )
        return self

    @model_validator(mode="after")
    def _uses_only_what_it_declares(self) -> "Task":
        written = tuple(_written(self))
        places: list[tuple[str, Any, ForEach | None]] = [
            (place, _but(data, "steps"), loop) for place, _, data, loop in written
        ]
        places += [(field, _dumped(self, field), None) for field in ("url", "verify", "browser")]
        for place, value, loop in places:
            for text in texts_of(value):
                if typo := malformed_in(text):
                    raise ValueError(
                        f"{place} has {typo!r}, which is none of {{{{parameter}}}}, {{{{secret:NAME}}}} and "
                        "{{totp:NAME}}; to enter such characters as they are, pass them as a parameter's value"
                    )
                named = frozenset(name for name in parameters_in(text) if not _is_of_item(name, loop))
                if unknown := named - set(self.parameters):
                    raise ValueError(f"{place} uses {_unknown(min(unknown), written, self.parameters)}")
                if unknown := secrets_in(text) - set(self.secrets):
                    raise ValueError(f"{place} uses undeclared secret {min(unknown)!r}; add it to secrets")
        for place, value, _ in places:
            if place in ("url", "verify") and any(secrets_in(text) for text in texts_of(value)):
                raise ValueError(f"{place} uses a secret; secrets may only be entered into fields (fill, type, paste)")
        for place, step, data, _ in written:
            entered = ("value",) if isinstance(step, Fill | Type | Paste) else ()
            if any(secrets_in(text) for text in texts_of(_but(data, "steps", "dialog_text", *entered))):
                raise ValueError(
                    f"{place} uses a secret outside the value of a fill, type or paste step, or a dialog_text"
                )
        return self


def _written(task: Task) -> Iterator[_Written]:
    """Yield each step with its place in the file, its JSON and the `for_each` around it."""
    return _placed(task.steps, _dumped(task, "steps"))


def _placed(
    steps: Iterable[Step], dumped: Iterable[dict[str, Any]], within: str = "", loop: ForEach | None = None
) -> Iterator[_Written]:
    for index, (step, data) in enumerate(zip(steps, dumped, strict=True)):
        place = f"{within}steps[{index}]"
        yield place, step, data, loop
        if isinstance(step, ForEach):
            yield from _placed(step.steps, data["steps"], f"{place}.", step)


def _dumped(task: Task, field: str) -> Any:
    """Return a field as JSON, dumped by the task: each kind of step would first build its own schema."""
    return task.model_dump(mode="json", include={field})[field]


def _but(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in names}


def _is_of_item(name: str, loop: ForEach | None) -> bool:
    """Return True if `{{name}}` means the list's item or one of its columns."""
    if loop is None:
        return False
    item, _, column = name.partition(".")
    return item == loop.item and (not column or loop.is_table)


def _unknown(name: str, written: Iterable[_Written], known: Iterable[str]) -> str:
    """Describe the fault of an undeclared parameter."""
    item, dot, _ = name.partition(".")
    for place, step, _, _loop in written:
        if isinstance(step, ForEach) and step.item == item:
            if dot and not step.is_table:
                return f"{name!r}, but the items of {place} have no columns: write {item!r}"
            return f"{name!r}, which only the steps of {place} know: move it there"
    if dot:
        return f"{name!r}, and nothing is called {item!r}; name the item of a for_each around it"
    return f"undeclared parameter {name!r}; {near(name, known) or 'add it under parameters'}"


def _check_list(place: str, step: ForEach, task: "Task") -> None:
    """Check that a list fits the task.

    Raises:
        ValueError: says what does not.
    """
    if step.item in task.parameters:
        raise ValueError(f"{place} calls its items {step.item!r}, which is a parameter; give them another name")
    if any(isinstance(other, Extract) and step.item in other.fields for other in task.steps):
        raise ValueError(f"{place} calls its items {step.item!r}, which is a field that is extracted; rename one")
    if isinstance(step.values, str):
        name = lone_parameter(step.values)
        if name in task.parameters and task.parameters[name].type != "list":
            raise ValueError(
                f"{place}: values takes a parameter of type list, and {name!r} is of type {task.parameters[name].type}"
            )
    for index, inner in enumerate(step.steps):
        files = inner.files if isinstance(inner, Upload) else ()
        if step.values is None and any(_is_of_item(name, step) for file in files for name in parameters_in(file)):
            raise ValueError(
                f"{place}.steps[{index}] uploads what the page names; files are chosen by the task or its parameters"
            )


def parse_task(data: Any, source: str) -> Task:
    """Return the task in `data` (parsed YAML or JSON).

    Raises:
        Mistakes: of each wrong field `source`, its line where `source` knows the text, and what was expected.
    """
    return parse_authored(Task, data, source, "task and steps")


def parse_within(task: Task, written: Mapping[str, Any], source: str) -> Task:
    """Return a task of these steps or conditions, with the parameters and secrets of `task`.

    Raises:
        Mistakes: as `parse_task`.
    """
    declared = {
        "task": task.task,
        "url": "http://step.invalid/",
        "parameters": {name: one.model_dump(mode="json") for name, one in task.parameters.items()},
        "secrets": list(task.secrets),
    }
    return parse_task({**declared, **written}, source)


def parse_authored(model: type[_Authored], data: Any, source: str, fields: str) -> _Authored:
    """Return `data` as `model`; `fields` names the required fields.

    Raises:
        Mistakes: of each wrong field `source`, its line where `source` knows the text, and what was expected.
    """
    if not isinstance(data, Mapping):
        raise InputInvalid(f"{source}: expected a mapping with {fields}, found {type(data).__name__}")
    try:
        return model.model_validate(data)
    except ValidationError as exc:
        raise mistakes_of(exc, model, source) from exc


class GivenTexts(str):
    """Several texts given for one parameter: `each` of them, and the last as its text."""

    __slots__ = ("each",)

    each: tuple[str, ...]

    def __new__(cls, each: Sequence[str]) -> Self:
        """Keep all texts in their order."""
        one = super().__new__(cls, each[-1] if each else "")
        one.each = tuple(each)
        return one


def begins_at(task: Task, values: Mapping[str, str]) -> str:
    """Return the first address that the task names and `values` fill; empty without one."""
    for url in filter(None, (task.url, *(step.url for step in task.steps if step.action == "goto"))):
        with contextlib.suppress(ReplaywrightError):
            return fill(url, values)
    return ""


def browser_setup(task: Task, values: Mapping[str, str]) -> BrowserSetup | None:
    """Return the setup of the task's browser with these values; None if it wants nothing of it.

    Raises:
        InputInvalid: a header cannot carry the value of a parameter.
    """
    if task.browser is None:
        return None
    return task.browser.setup(values, site_of(begins_at(task, values)))


def bind_parameters(task: Task, given: Mapping[str, str], *, place: str = "--param ") -> dict[str, str]:
    """Return all parameters' values: given, else default. `place` names the caller's option in messages.

    Raises:
        InputInvalid: unknown name, missing value, a value that is not of the declared type or that a header cannot
            carry, or nothing is left of what the task is verified by.
    """
    for name in given:
        if name not in task.parameters:
            known = ", ".join(sorted(task.parameters)) or "none"
            raise InputInvalid(f"{place}{name}: task {task.task!r} has no such parameter; it has: {known}")
    values: dict[str, str] = {}
    for name, parameter in task.parameters.items():
        value = given.get(name, parameter.default)
        if value is None:
            hint = f", for example {parameter.example!r}" if parameter.example else ""
            raise InputInvalid(f"parameter {name!r} of task {task.task!r} has no value; pass {place}{name}=…{hint}")
        values[name] = checked_value(name, parameter, value)
    _check_size(task, values)
    _check_verify(task, values)
    browser_setup(task, values)
    return values


def _check_verify(task: Task, values: Mapping[str, str]) -> None:
    for index, predicate in enumerate(task.verify):
        try:
            fill_predicate(predicate, values)
        except InputInvalid as exc:
            remedy = "give one a value, or verify by something else"
            raise InputInvalid(f"verify[{index}] of task {task.task!r}: {exc}; {remedy}") from exc


def _check_size(task: Task, values: Mapping[str, str]) -> None:
    sizes = {name: len(value.encode("utf-8", "surrogatepass")) for name, value in values.items()}
    if sum(sizes.values()) > VALUES_LIMIT:
        largest = max(sizes, key=lambda name: sizes[name])
        raise InputInvalid(
            f"the parameters of task {task.task!r} have {sum(sizes.values())} bytes, of which {sizes[largest]} are "
            f"those of {largest!r}; all together may have {VALUES_LIMIT}: put large content into a file and upload it"
        )


def checked_value(name: str, parameter: Parameter, value: str) -> str:
    """Return `value` if it has the declared type.

    Raises:
        InputInvalid: it is not.
    """
    patterns = {
        "email": (r"[^@\s]+@[^@\s]+\.[^@\s]+|[^@\s]+@localhost", "an e-mail address"),
        "number": (r"[+-]?(\d+([.,]\d*)?|[.,]\d+)", "a number"),
        "date": (r"\d{4}-\d{2}-\d{2}", "a date as YYYY-MM-DD"),
    }
    if parameter.type == "list":
        return _checked_list(name, value)
    if isinstance(value, GivenTexts):
        raise InputInvalid(f"parameter {name!r} was given {len(value.each)} values, and takes one: it is no list")
    if parameter.type == "choice" and value not in parameter.choices:
        raise InputInvalid(f"parameter {name!r} is {value!r}; expected one of: {', '.join(parameter.choices)}")
    if parameter.type in patterns:
        pattern, expected = patterns[parameter.type]
        if not re.fullmatch(pattern, value.strip()):
            raise InputInvalid(f"parameter {name!r} is {value!r}; expected {expected}")
    return value


def _checked_list(name: str, value: str) -> str:
    try:
        texts = value.each if isinstance(value, GivenTexts) else list_of(value)
    except ValueError as exc:
        raise InputInvalid(
            f"parameter {name!r} is {value[:60]!r}; expected a list: a JSON array of texts, texts separated by commas, "
            f"or --param {name}=… once for each"
        ) from exc
    if not texts:
        raise InputInvalid(f"parameter {name!r} is an empty list; give at least one text")
    return list_value(texts)

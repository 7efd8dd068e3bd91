"""The reference of task files, made of the models that read them."""

from collections.abc import Iterator
from typing import Final, get_args

from replaywright.domain.common.base import Authored
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import _CLASSES as PREDICATES
from replaywright.domain.predicate.predicates import PredicateBase
from replaywright.domain.task import steps
from replaywright.domain.task.actions import Action, Effect, effect_of
from replaywright.domain.task.browser import BasicAuth, BrowserOptions
from replaywright.domain.task.budgets import Budget
from replaywright.domain.task.policy import Actions, Amounts, Downloads, Hosts, Spending, Traffic, Wishes
from replaywright.domain.task.questions import Patience
from replaywright.domain.task.tasks import Parameter, Task
from tests.docs.tables import docstring, fields_table, page, sentences, table, types_of

_POLICY_PARTS: Final = (Hosts, Actions, Downloads, Traffic, Amounts, Spending)
_TASK_LINKS: Final = {
    "Action": "#steps",
    "Parameter": "#parameters",
    "Budget": "#budget",
    "BrowserOptions": "#browser",
    "BasicAuth": "#basicauth",
    "Wishes": "#policy",
    **{model.__name__: f"#{model.__name__.lower()}" for model in _POLICY_PARTS},
    "ElementQuery": "#element-queries",
    "Reconcile": "#reconcile",
    "ExtractField": "#fields-of-extract",
    "CellTest": "#tests-of-cells",
    "Position": "#positions",
    "Offset": "#positions",
    "UrlContains…": "[predicate](#predicates)",
    "Goto…": "[step](#steps)",
}
_COMMON: Final = frozenset(steps.StepBase.model_fields)


def task_fields() -> str:
    """Every field of a task file, every action and every predicate."""
    return page(
        "Fields of task files",
        "The type, default and meaning of each field. [Task files](task-files.md) explain what steps do. "
        "`replaywright admin schema` prints the same as a JSON schema for editors. A predicate is a mapping with its "
        "kind as a key: [predicates](#predicates).",
        "## Task",
        _fields(Task),
        "## Parameters",
        _fields(Parameter),
        "## Budget",
        _fields(Budget),
        "## Browser",
        docstring(BrowserOptions),
        _fields(BrowserOptions),
        f"### BasicAuth\n\n{docstring(BasicAuth)}\n\n{_fields(BasicAuth)}",
        "## Policy",
        "As in the operator's file, which may also have a `name`: [policy](policy.md).",
        _fields(Wishes),
        *(f"### {model.__name__}\n\n{docstring(model)}\n\n{_fields(model)}" for model in _POLICY_PARTS),
        "## Steps",
        "Every step has `action`, and may have:",
        _fields(steps.StepBase),
        "Steps that act on one element also have:",
        _fields(steps.ElementStep, _COMMON),
        "All other steps may have an `instruction` as their title. Steps that ask a person may also have:",
        _fields(Patience),
        *_actions(),
        "## Predicates",
        "Every predicate that is not inside another one may have:",
        _fields(PredicateBase),
        "With `substring: true`, values of parameters also match inside words, as `12` in `123`.",
        table(("kind", "fields", "meaning"), (_predicate(kind, model) for kind, model in PREDICATES.items())),
        "## Element queries",
        docstring(ElementQuery),
        _fields(ElementQuery),
        "## Positions",
        docstring(steps.Position),
        _fields(steps.Position),
        docstring(steps.Offset),
        _fields(steps.Offset),
        "## Fields of extract",
        docstring(steps.ExtractField),
        _fields(steps.ExtractField),
        "## Tests of cells",
        docstring(steps.CellTest),
        _fields(steps.CellTest),
        "## Reconcile",
        docstring(steps.Reconcile),
        _fields(steps.Reconcile),
    )


def _fields(model: type[Authored], leave_out: frozenset[str] = frozenset()) -> str:
    return fields_table(model, leave_out=leave_out, links=_TASK_LINKS)


STEP_MODELS: Final[tuple[type[steps.StepBase], ...]] = get_args(get_args(steps.Step)[0])


def _actions() -> Iterator[str]:
    for model in STEP_MODELS:
        (action,) = get_args(model.model_fields["action"].annotation)
        effect = effect_of(Action(action), None, None)
        treated = f"Default effect: `{effect.value}`."
        if effect is Effect.COMMIT and Action(action) is not Action.TAKE_OVER:
            treated = "Default effect: `commit`, until it was observed to change nothing."
        bases = (base for base in (steps.ElementStep, steps.PageStep, Patience) if issubclass(model, base))
        told = _COMMON.union({"action"}, *(base.model_fields for base in bases))
        heading = f"### {action}\n\n{docstring(model)}\n\n{treated}"
        yield heading if told >= set(model.model_fields) else f"{heading}\n\n{_fields(model, told)}"


def _predicate(kind: str, model: type[PredicateBase]) -> tuple[str, str, str]:
    taken = types_of(model, _TASK_LINKS)
    said = sentences(model)
    own = [name for name in model.model_fields if name not in {*PredicateBase.model_fields, "substring"}]
    types = [f"`{name}`: {taken[name]}" for name in own]
    if "substring" in model.model_fields:
        types.append("`substring`")
    meaning = " ".join(said[name] if name == kind else f"`{name}`: {said[name]}" for name in own if name in said)
    return f"`{kind}`", "; ".join(types), meaning or _DESCRIBED.get(kind, "")


_DESCRIBED: Final = {
    "url_contains": "Part of the URL.",
    "not_exists": "No element matches.",
    "count": "Number of matches, in or out of view.",
    "text_contains": "Part of the visible text of the page, or of the one element that matches `within`.",
    "all_of": "All hold.",
    "any_of": "At least one holds.",
    "not_": "It is decided and does not hold.",
}

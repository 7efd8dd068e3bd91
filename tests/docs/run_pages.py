"""The reference of runs as they are seen from outside: the workflow, its metrics and spans, its search attributes."""

import importlib
import inspect
import pkgutil
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel
from temporalio import workflow

import activities
from activities.step.actions import Actions as ActionActivities
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.resuming import Resume
from replaywright.domain.run.runs import Asking, Progress, RunInput, RunResult, StepLine, Totals
from replaywright.domain.run.steering import EditStep, Said, SkipStep, TakeOverRequest
from replaywright.domain.run.views import PlanView, RunFailure, RunTrace, StepInPlan, TraceLine
from replaywright.domain.step.outcomes import DownloadedFile, Lookup
from replaywright.domain.task.actions import Action
from replaywright.domain.task.budgets import RunLimits
from replaywright.domain.task.questions import Question
from replaywright.domain.trace.search_attributes import SEARCH_ATTRIBUTES, creating
from replaywright.settings import Settings
from replaywright.telemetry.catalogue import METRICS, OTHER, Counted, Label
from tests.docs.spans import SPANS
from tests.docs.tables import fields_table, first_paragraph, page, sentences, table
from workflows.policies import browser_queue, host_queue, model_queue
from workflows.repair.base import Next, Scope
from workflows.repair.order import REPAIRS
from workflows.task import BrowserTask

_RUN_LINKS: Final = {
    "Task": "../reference/task-fields.md#task",
    "Limits": "#limits",
    "Asking": "#asking",
    "Resume": "#resume",
    "Totals": "#totals",
    "DownloadedFile": "#downloadedfile",
    "PredicateResult": "#predicateresult",
    "Question": "#question",
    "StepLine": "#stepline",
    "TraceLine": "#traceline",
    "StepInPlan": "#stepinplan",
    "Lookup": "#lookup",
    "Goto…": "[step](../reference/task-fields.md#steps)",
    "UrlContains…": "[predicate](../reference/task-fields.md#predicates)",
}


_PARTS: Final = (
    *(RunLimits, Asking, Resume, Totals, StepLine, TraceLine, StepInPlan),
    *(Lookup, Question, DownloadedFile, PredicateResult),
)


def browser_task() -> str:
    """The workflow from outside: what it takes, gives, answers, and which activities it has performed."""
    definition: Any = workflow._Definition.must_from_class(BrowserTask)
    base = Settings.model_fields["task_queue"].default
    queues = (base, browser_queue(base), host_queue(base, "HOST"), model_queue(base))
    return page(
        "The workflow `BrowserTask`",
        "For callers in any language, and for those who read histories: start the workflow type `BrowserTask` on the "
        f"task queue `{base}` (of a tenant, `{base}@TENANT`) with one JSON argument. Unknown fields are ignored, and "
        "fields that are left out have their defaults, so that workers of two versions can run side by side. "
        "`replaywright run` fills in `budget`, `asking` and the rest of its settings; other callers do it themselves. "
        "The [contracts](../reference/contracts.md) say what else goes with a start, and which names and fields stay.",
        '```json\n{"task": {"task": "look", "url": "https://shop.example/", "steps": [{"action": "wait_for", "expect": '
        '[{"title_contains": "Shop"}]}]}, "values": {}}\n```',
        "Queues: " + ", ".join(f"`{name}`" for name in queues) + ", and one for each worker that opens browsers.",
        "## Input",
        _run_fields(RunInput),
        "## Result",
        _run_fields(RunResult),
        "## Failures",
        "A failed run ends with an application error of the type `TaskFailed`; a run that a rule of the "
        "[policy](../reference/policy.md) ended, with `TaskBlocked`. Both carry two details, the result and a "
        "`RunFailure`, and are not retried. A run with invalid input ends with `InputInvalid`, before it does "
        "anything. The error types of activities are in [errors](errors.md).",
        "### RunFailure",
        _run_fields(RunFailure),
        "## Queries",
        table(("query", "asks with", "answers"), _handlers(definition.queries)),
        *(f"### {model.__name__}\n\n{_run_fields(model)}" for model in (Progress, PlanView, RunTrace)),
        "## Updates",
        "Each has a validator, which refuses what does not apply and says what is possible.",
        table(("update", "takes", "does"), _handlers(definition.updates)),
        *(
            f"### {model.__name__}\n\n{_run_fields(model)}"
            for model in (PersonVerdict, Said, SkipStep, EditStep, TakeOverRequest)
        ),
        "## Activities",
        table(("type", "does"), _activities()),
        "## Parts",
        *(f"### {model.__name__}\n\n{_run_fields(model)}" for model in _PARTS),
    )


def _run_fields(model: type[BaseModel]) -> str:
    return fields_table(model, links=_RUN_LINKS)


def _handlers(handlers: Any) -> Iterator[tuple[str, str, str]]:
    for name, handler in sorted(handlers.items(), key=lambda pair: pair[0] or ""):
        if name is None or name.startswith("__"):
            continue
        function = handler.fn
        takes = [
            getattr(parameter.annotation, "__name__", str(parameter.annotation))
            for parameter in list(inspect.signature(function).parameters.values())[1:]
        ]
        yield f"`{name}`", ", ".join(takes), first_paragraph(function)


def _activities() -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for module in pkgutil.walk_packages(activities.__path__, "activities."):
        for owner in tuple(vars(importlib.import_module(module.name)).values()):
            for member in tuple(vars(owner).values()) if inspect.isclass(owner) else ():
                definition = getattr(member, "__temporal_activity_definition", None)
                if definition is not None:
                    found[definition.name] = first_paragraph(member)
    # Those of the actions are made when they are registered.
    names = ", ".join(f"`browser.{action.value}`" for action in Action)
    return [
        (names, first_paragraph(ActionActivities.perform_action)),
        *sorted((f"`{name}`", found[name]) for name in found),
    ]


def repairs() -> str:
    """Every repair of a step, in the order in which they are considered."""
    scopes = "\n".join(f"- **{scope.name.lower()}**: considered {scope.value}." for scope in Scope)
    return page(
        "The order of repairs",
        "A step that came to nothing is repaired; [repairs](repairs.md) says what they do. After each "
        "attempt the workflow considers them in this order, and makes the first that applies.",
        table(
            ("repair", "scope", "at most", "does", "when"),
            (
                (
                    f"`{repair.kind}`",
                    repair.scope.name.lower(),
                    str(repair.rounds) if repair.scope is Scope.STEP else "",
                    first_paragraph(repair),
                    repair.when,
                )
                for repair in REPAIRS
            ),
        ),
        "A scope says when a repair is considered:",
        scopes,
        "A repair leads to an outcome, with which the next one is considered, or to one of these: "
        + "; ".join(f"*{each.name.lower()}*: {each.value}" for each in Next)
        + ". A repair of the scope *step* that led to another attempt closes those before it, until the step begins "
        "again; *at most* counts these attempts.",
    )


def metrics() -> str:
    """Every metric with its labels, and every span with what it says."""
    labels: dict[Label, None] = dict.fromkeys(label for one in METRICS for label in one.labels)
    several = [name for name, count in Counter(label.name for label in labels).items() if count > 1]
    return page(
        "Metrics and spans",
        f"Measurements and traces of workers. An unlisted label value becomes `{OTHER}`. No label holds a run id, an "
        "address or free text.",
        "## Metrics",
        "*Counted* is the effect of a repetition after a loss: "
        + "; ".join(f"{member.value}: {_uncapitalised(said)}" for member, said in _counted()),
        table(
            ("OpenTelemetry", "Prometheus", "kind", "unit", "labels", "counted", "meaning"),
            (
                (
                    f"`{one.name}`",
                    f"`{one.prometheus}`",
                    one.kind.value,
                    f"`{one.unit}`",
                    ", ".join(f"`{label.name}`" for label in one.labels),
                    one.counted.value,
                    one.description,
                )
                for one in METRICS
            ),
        ),
        "In Prometheus a histogram's name ends with `_bucket`, `_sum` and `_count`.",
        "## Labels",
        table(
            ("label", "of, where there are several", "values", "meaning"),
            (
                (
                    f"`{label.name}`",
                    ", ".join(f"`{one.name}`" for one in METRICS if label in one.labels and label.name in several),
                    ", ".join(f"`{value}`" for value in label.values) or "any",
                    label.description,
                )
                for label in sorted(labels, key=lambda label: label.name)
            ),
        ),
        "## Spans",
        table(("span", "written by", "meaning"), ((f"`{one.name}`", one.where, one.description) for one in SPANS)),
        table(("attribute", "spans", "meaning"), _attributes()),
    )


def _attributes() -> Iterator[tuple[str, str, str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for span in SPANS:
        for one in span.attributes:
            found.setdefault((one.name, one.description), []).append(f"`{span.name}`")
    return ((f"`{name}`", ", ".join(spans), meaning) for (name, meaning), spans in found.items())


def _counted() -> Iterator[tuple[Counted, str]]:
    said = sentences(Counted)
    return ((member, said[member.name]) for member in Counted)


def _uncapitalised(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def search_attributes() -> str:
    """Every search attribute of a run."""
    create = creating(SEARCH_ATTRIBUTES, namespace="default")
    return page(
        "Search attributes",
        "The Temporal UI, `temporal workflow list` and `replaywright runs` find runs by these. Temporal stores them in "
        "clear text even with a codec; none holds what a person entered. `replaywright up` registers them with its "
        "server. Register them once with a namespace of your own:",
        f"```sh\n{create}\n```",
        "A run has the attributes that its namespace knew when the run started.",
        table(
            ("attribute", "type", "meaning"),
            ((f"`{one.name}`", one.kind, f"{one.meaning}.") for one in SEARCH_ATTRIBUTES),
        ),
    )

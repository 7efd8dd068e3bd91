"""The reference says what the code has: settings, exit codes, fields, metrics, spans, search attributes."""

import re
from collections.abc import Callable

import pytest
from pydantic import BaseModel

from replaywright import __version__
from replaywright.cli.command import Exit
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.predicate.predicates import KINDS
from replaywright.domain.run.runs import RunInput, RunResult
from replaywright.domain.task.policy import Policy
from replaywright.domain.task.tasks import Parameter, Task
from replaywright.domain.trace.search_attributes import SEARCH_ATTRIBUTES
from replaywright.settings import PREFIX, REASONS, Settings
from replaywright.telemetry.catalogue import METRICS
from tests.docs.markdown import ROOT, documents
from tests.docs.pages import PAGES
from tests.docs.spans import SPANS
from tests.docs.tables import sentences
from tests.docs.task_pages import STEP_MODELS

ENVIRONMENT = re.compile(r"REPLAYWRIGHT_[A-Z0-9_]*[A-Z0-9]")
NO_SETTINGS = re.compile(r"REPLAYWRIGHT_(READY_FILE|STACK_OWNER|SECRET_\w+|SECRET|INTERNAL_\w+|WORKER_LABEL)")
"""`WORKER_LABEL` is the example of extend.md."""
DESCRIBED_ELSEWHERE = {"action", "not_exists", "url_contains", "count", "text_contains", "all_of", "any_of", "not_"}
"""What every step begins with, and predicates that the page of task fields describes as a whole."""


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize(("name", "page"), PAGES.items(), ids=PAGES)
def test_a_page_that_is_made_of_the_code_says_what_the_code_says(name: str, page: Callable[[], str]) -> None:
    assert text_of(name) == page(), f"{name} is not what the code says any more: run `make docs`"


def test_every_setting_is_documented_with_a_meaning() -> None:
    page = text_of("docs/reference/settings.md")
    said = sentences(Settings)

    assert [name for name in Settings.model_fields if f"`{PREFIX}{name.upper()}`" not in page] == []
    assert [name for name in Settings.model_fields if not said.get(name)] == []


def test_there_are_at_most_fifty_settings_each_with_a_reason() -> None:
    named = [name for _, names in REASONS.values() for name in names]

    assert sorted(named) == sorted(Settings.model_fields)
    assert len(named) <= 50


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_page_names_no_variable_that_there_is_not(path: object) -> None:
    known = {PREFIX + name.upper() + suffix for name in Settings.model_fields for suffix in ("", "_FILE")}
    named = set(ENVIRONMENT.findall(text_of(str(path))))

    assert sorted(name for name in named if name not in known and not NO_SETTINGS.fullmatch(name)) == []


def test_every_exit_status_is_documented_with_a_meaning() -> None:
    page = text_of("docs/reference/exit-codes.md")
    said = sentences(Exit)

    assert [member for member in Exit if f"| `{int(member)}` |" not in page or not said.get(member.name)] == []


def test_every_metric_label_and_span_is_documented() -> None:
    page = text_of("docs/reference/metrics.md")
    named = [name for metric in METRICS for name in (metric.name, metric.prometheus)]
    named += [label.name for metric in METRICS for label in metric.labels]
    named += [span.name for span in SPANS] + [said.name for span in SPANS for said in span.attributes]

    assert METRICS
    assert SPANS
    assert [name for name in named if f"`{name}`" not in page] == []
    assert [metric.name for metric in METRICS if not metric.description] == []
    assert [span.name for span in SPANS if not span.description] == []


def test_every_search_attribute_is_documented() -> None:
    page = text_of("docs/reference/search-attributes.md")

    assert SEARCH_ATTRIBUTES
    assert [one.name for one in SEARCH_ATTRIBUTES if f"| `{one.name}` | {one.kind} | {one.meaning}" not in page] == []


@pytest.mark.parametrize("model", [Task, Parameter, Policy, ElementQuery, *STEP_MODELS, RunInput, RunResult])
def test_every_field_that_people_write_or_read_has_a_meaning(model: type[BaseModel]) -> None:
    said = sentences(model)

    assert [name for name in model.model_fields if name not in DESCRIBED_ELSEWHERE and not said.get(name)] == []


def test_every_step_and_predicate_has_a_meaning() -> None:
    predicates = text_of("docs/reference/task-fields.md").partition("## Predicates")[2].partition("## Element")[0]
    meanings = dict(re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", predicates, re.MULTILINE))

    assert [model for model in STEP_MODELS if not model.__doc__] == []
    assert [kind for kind in KINDS if not meanings.get(kind, "").strip()] == []


def test_the_changelog_has_what_is_not_released_yet_or_this_version() -> None:
    headings = re.findall(r"^## (.+)$", text_of("CHANGELOG.md"), re.MULTILINE)

    assert headings[0] == "Unreleased" or headings[0].startswith(__version__)

"""The form in which records go to Temporal: without defaults, and read back as they were."""

import inspect
import json
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, get_args, get_origin, get_type_hints

import pytest
from pydantic import BaseModel, Field
from temporalio.converter import DataConverter, DefaultPayloadConverter

from replaywright.domain.common.base import LateRoot, Record
from replaywright.domain.run.runs import RunInput
from replaywright.domain.task.tasks import parse_task
from replaywright.sealing.payloads import speaking_records
from workflows.batch.batch import BrowserBatch
from workflows.notices import Notices
from workflows.task import BrowserTask


class Cake(Record):
    kind: Literal["cake"] = "cake"
    layers: int = 1
    inside: tuple["Cake", ...] = ()


class Bread(Record):
    kind: Literal["bread"] = "bread"
    made_of: str = "rye"


class Baked(LateRoot[Annotated[Cake | Bread, Field(discriminator="kind")]]):
    pass


class Order(Record):
    baked: Annotated[Cake | Bread, Field(discriminator="kind")]
    given_name: str = ""


def sent(value: object) -> object:
    payload = speaking_records().payload_converter.to_payload(value)
    return json.loads(payload.data)


def read(value: BaseModel) -> object:
    converter = speaking_records().payload_converter
    return converter.from_payload(converter.to_payload(value), type(value))


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Cake(), {"kind": "cake"}),
        (Cake(layers=2, inside=(Cake(),)), {"kind": "cake", "layers": 2, "inside": [{"kind": "cake"}]}),
        (Baked(Bread()), {"kind": "bread"}),
        (Order(baked=Bread(made_of="oats")), {"baked": {"kind": "bread", "madeOf": "oats"}}),
        (Order(baked=Cake(), given_name="Ada"), {"baked": {"kind": "cake"}, "givenName": "Ada"}),
    ],
)
def test_defaults_are_left_out_and_tags_are_not(value: BaseModel, told: object) -> None:
    assert sent(value) == told
    assert read(value) == value


def test_the_tags_of_all_records_are_written() -> None:
    untold = []
    for model in derived(Record):
        tags = {name for name, field in model.model_fields.items() if is_tag(field.annotation) and field.default}
        written = model.model_construct(**{name: model.model_fields[name].default for name in tags})
        untold += [f"{model.__name__}.{name}" for name in tags - written.model_dump(exclude_defaults=True).keys()]
    assert untold == []


def derived(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from derived(model)


def is_tag(annotation: object) -> bool:
    return get_origin(annotation) is Literal and len(get_args(annotation)) == 1


def test_the_start_of_a_run_says_what_differs_from_a_plain_one() -> None:
    steps = [{"action": "goto", "url": "https://shop.example/"}]
    task = parse_task({"task": "greet", "url": "https://shop.example/", "steps": steps}, "greet.yaml")
    run = RunInput(task=task, values={}, tenant="home")

    assert sent(run) == {
        "task": {
            "task": "greet",
            "url": "https://shop.example/",
            "steps": [{"action": "goto", "url": "https://shop.example/"}],
        },
        "tenant": "home",
    }
    assert read(run) == run


class Receipt(Order):
    is_published: ClassVar[bool] = True


def test_what_callers_read_is_written_whole() -> None:
    assert sent(Receipt(baked=Cake())) == {"baked": {"kind": "cake", "layers": 1, "inside": []}, "givenName": ""}


@pytest.mark.parametrize("workflow", [BrowserTask, BrowserBatch, Notices])
def test_results_and_answers_of_workflows_are_published(workflow: type) -> None:
    answering = [
        each
        for name, each in inspect.getmembers(workflow)
        if name == "run" or hasattr(each, "__temporal_query_definition") or hasattr(each, "_defn")
    ]
    hints = [get_type_hints(each)["return"] for each in answering]
    records = [kind for hint in hints for kind in (hint, *get_args(hint)) if inspect.isclass(kind)]

    assert len(answering) > 1
    assert [each for each in records if issubclass(each, Record) and not each.is_published] == []


def test_a_teams_own_payload_converter_stays() -> None:
    class Theirs(DefaultPayloadConverter):
        pass

    assert speaking_records(DataConverter(payload_converter_class=Theirs)).payload_converter_class is Theirs

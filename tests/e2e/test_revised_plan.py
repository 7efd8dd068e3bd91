"""A site whose flow got another page: the rest of the plan is revised, and the run ends as the task says."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import pytest

from demo.stage import Stage
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import bind_parameters, parse_task
from replaywright.settings import Settings
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, led_to, serving

pytestmark = pytest.mark.slow

FORM = """<title>Bakery</title><h1>Your order</h1><form method=post action=/order>
<label>Name <input name=name></label><button>Place order</button></form>"""
NEWS = """<title>Bakery</title><h1>We have moved</h1><p>Our shop is now in Mill Lane.</p>
<a href=/imprint>Imprint</a> <a href=/form>Continue</a>"""


@dataclass
class Bakery:
    """A shop that shows its form at once, or after a page of news."""

    url: str = ""
    has_news: bool = False
    orders: list[str] = field(default_factory=list)


@pytest.fixture
def bakery() -> Iterator[Bakery]:
    shop = Bakery()

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            shop.orders.append(parse_qs(asked.body)["name"][0])
            return led_to("/thanks")
        if asked.path == "/thanks":
            return Answer(f"<title>Bakery</title><h1>Thank you, {shop.orders[-1]}</h1>")
        return Answer(NEWS if shop.has_news and asked.path == "/" else FORM)

    with serving(answer) as shop.url:
        yield shop


@pytest.fixture(scope="module")
async def lab(lab_settings: Settings) -> AsyncIterator[Lab]:
    """A stage with a planner, on which nothing is learned."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        async with Stage(lab_settings, tell=lambda _text: None, plans=True) as stage:
            yield Lab(stage)


def order_at(bakery: Bakery, name: str) -> Order:
    data: dict[str, Any] = {
        "task": "order-cake",
        "goal": "Order a cake for {{name}}",
        "url": bakery.url,
        "parameters": {"name": {}},
        "steps": [
            {"action": "fill", "instruction": "the name field", "value": "{{name}}", "timeout_ms": 1500},
            {
                "action": "click",
                "instruction": "the place order button",
                "effect": "commit",
                "expect": [{"url_contains": "/thanks"}],
            },
        ],
        "verify": [{"text_contains": "Thank you, {{name}}"}],
    }
    task = parse_task(data, "test")
    values = bind_parameters(task, {"name": name})
    return Order(task, values, new_run_id(task, values))


async def test_a_page_that_came_into_the_flow_is_passed_by_a_revised_plan(lab: Lab, bakery: Bakery) -> None:
    learned = await lab.run(order_at(bakery, "Ada"))
    bakery.has_news = True
    order = order_at(bakery, "Bea")
    revised = await lab.run(order)
    again = await lab.run(order_at(bakery, "Cleo"))

    for ending in (learned, revised, again):
        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert bakery.orders == ["Ada", "Bea", "Cleo"]
    assert [ending.result.totals.plans for ending in (learned, revised, again)] == [0, 1, 1]
    assert again.result.totals.learned == 0
    progress = await lab.progress(order)
    assert progress.revised_from == (1,)
    assert [line.title for line in progress.lines if line.kind == "plan"] == [
        "plan revised from here: 3 steps (stand-in, no language model)"
    ]
    trace = await lab.trace(order)
    assert [line["kind"] for line in trace if line["kind"] in ("propose", "revise")][:2] == ["propose", "revise"]
    revise = next(line for line in trace if line["kind"] == "revise")
    assert (revise["standIn"], revise["steps"][0]) == (True, 'click the link "Continue"')

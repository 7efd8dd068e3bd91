"""A site that nobody here wrote: Django's own admin, learned in an old version and replayed in a new one.

The model is the demonstration's stand-in, which reads the page's listing; the site's database is the judge.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bench.django_admin import DjangoAdmin, Version, django_admin
from demo.stage import PASSWORD_SECRET, Stage
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.predicate.predicates import TextContains
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.steps import names_element
from replaywright.domain.task.tasks import Task, bind_parameters
from replaywright.settings import load_settings
from tests.e2e.lab import Lab

TASK_FILE = Path(__file__).parents[2] / "bench" / "django_site" / "add_user.yaml"
TASK = read_task(str(TASK_FILE))
ELEMENTS = sum(names_element(step) for step in TASK.steps)
LOG_IN, LAST = 3, len(TASK.steps) - 1
WRONG = TextContains(text_contains="was deleted successfully")

pytestmark = pytest.mark.slow

_numbers = count(1)


@dataclass
class Office:
    """The admin, and where runs that work in it are started."""

    site: DjangoAdmin
    lab: Lab

    def order(self, task: Task = TASK, **fields: Any) -> Order:
        """A run that adds a user whom no other run adds."""
        number = next(_numbers)
        given = {"base_url": self.site.url, "username": f"user{number}", "first_name": f"Name {number}"}
        values = bind_parameters(task, given)
        return Order(task, values, new_run_id(task, values), **fields)

    async def run(self, order: Order) -> Ending:
        return await self.lab.run(order)

    def added(self, order: Order) -> list[dict[str, Any]]:
        """Rows of the users that the run may have added."""
        query = "SELECT username, first_name, is_staff, is_superuser FROM auth_user WHERE username = ?"
        return self.site.rows(query, order.values["username"])

    def assert_one_right_user(self, order: Order) -> None:
        values = order.values
        right = {"username": values["username"], "first_name": values["first_name"], "is_staff": 1, "is_superuser": 0}
        assert self.added(order) == [right]


@pytest.fixture(scope="module")
async def office() -> AsyncIterator[Office]:
    """The old admin, in which the task was learned once."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        async with (
            Stage(load_settings(), tell=lambda _text: None) as stage,
            django_admin("old", password=stage.password) as site,
        ):
            assert stage.stand_in
            stage.bind(PASSWORD_SECRET, site.url)
            office = Office(site, Lab(stage))
            learning = office.order(mode=Mode.LEARN)
            ending = await office.run(learning)
            assert ending.status == "done", ending
            assert ending.result.totals.usage.calls > 0
            office.assert_one_right_user(learning)
            yield office


def users(site: DjangoAdmin) -> int:
    """How many there are, whoever they are."""
    (row,) = site.rows("SELECT COUNT(*) AS users FROM auth_user")
    return int(row["users"])


@pytest.mark.parametrize("version", [pytest.param(version, marks=pytest.mark.long) for version in ("old", "new")])
async def test_what_was_learned_in_the_old_admin_adds_the_right_user_without_the_model(
    office: Office, version: Version
) -> None:
    await office.site.serve(version)
    before = users(office.site)
    order = office.order(mode=Mode.REPLAY)

    ending = await office.run(order)

    assert ending.status == "done", ending
    office.assert_one_right_user(order)
    assert users(office.site) == before + 1
    totals = ending.result.totals
    assert totals.hits + totals.heals == ELEMENTS
    assert (totals.usage.calls, totals.fallbacks, totals.learned) == (0, 0, 0)
    tiers = [line["lookup"]["tier"] for line in await office.lab.trace(order) if "tier" in line.get("lookup", ())]
    assert len(tiers) == ELEMENTS
    assert ("xpath" in tiers) == (version == "old")  # every xpath is another one in the new version


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "at", "became", "ends"),
    [
        pytest.param(Mode.LEARN, LOG_IN, "unmet", "failed", id="learning"),
        pytest.param(Mode.REPLAY, LAST, "in_doubt", "waiting", id="replaying, after something was sent"),
    ],
)
async def test_a_run_in_the_new_admin_stops_at_the_step_whose_expectation_is_wrong(
    office: Office, mode: Mode, at: int, became: str, ends: str
) -> None:
    await office.site.serve("new")
    hopeful = TASK.steps[at].model_copy(update={"expect": (WRONG,), "timeout_ms": 4_000})
    steps = (*TASK.steps[:at], hopeful, *TASK.steps[at + 1 :])
    order = office.order(TASK.model_copy(update={"steps": steps}), mode=mode)

    ending = await office.run(order)

    last = [line for line in await office.lab.trace(order) if line["kind"] == "step"][-1]
    assert (last["sequence"], last["status"]) == (at, became)
    assert ending.status == ends, ending
    assert not ending.result.succeeded

"""Steering a run: edited steps, what the commands send, and what activities write down and lend."""

from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.run.steering import LendActivities, SteerActivities
from activities.session.attachments import Attachments
from replaywright.cli.people.changed_step import with_changes
from replaywright.cli.people.takeover import address_of
from replaywright.domain.run.steering import LendSession, LentBrowser, NoteSteering, Said, TakeBack
from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.domain.task.editing import as_written, edited_steps
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid, SessionLost
from replaywright.keeper.host.identity import boot_id, host_name
from replaywright.testing.browser import FakeBrowsers, FakeSite
from replaywright.testing.keepers import FakeKeepers
from replaywright.testing.steps import FakeStepStore
from replaywright.testing.stores import FakeArtifacts, FakeSecrets

FILL = {"action": "fill", "instruction": "the name field", "value": "{{who}}"}


@pytest.fixture
def task() -> Task:
    parameters = {"who": {"type": "text"}}
    return parse_task(
        {"task": "order", "url": "http://shop/", "parameters": parameters, "secrets": ["PIN"], "steps": [FILL]}, "test"
    )


def test_an_edited_step_is_read_as_in_the_task_file(task: Task) -> None:
    [edited] = edited_steps(
        task, task.steps[0], {**FILL, "value": "{{secret:PIN}}", "expect": [{"text_contains": "ok"}]}
    )

    assert edited.instruction == "the name field"
    assert as_written(edited) == {**FILL, "value": "{{secret:PIN}}", "expect": as_written(edited)["expect"]}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "steps[0]: action is missing"),
        ({"action": "klick"}, "unknown action 'klick'"),
        ({**FILL, "valeu": "x"}, "steps[0].valeu: unknown field"),
        ({**FILL, "value": "{{nobody}}"}, "undeclared parameter 'nobody'"),
        ({**FILL, "value": "{{secret:OTHER}}"}, "undeclared secret 'OTHER'"),
        ({**FILL, "instruction": "{{secret:PIN}}"}, "uses a secret outside the value"),
        (FILL, "nothing is changed"),
        ({"action": "for_each", "item": "x", "values": ["a"], "steps": [FILL]}, "for_each cannot take the place"),
    ],
)
def test_an_edited_step_that_the_task_could_not_have_is_refused_with_its_field(
    task: Task, given: dict[str, object], told: str
) -> None:
    with pytest.raises(InputInvalid) as refused:
        edited_steps(task, task.steps[0], given)

    assert told in str(refused.value)
    assert str(refused.value).startswith("the edited step")


def test_fields_of_a_step_are_changed_removed_and_reached_into() -> None:
    step = {"action": "click", "instruction": "Send", "timeout_ms": 500}

    changed = with_changes(step, ["instruction=the button: Send", "timeout_ms=", "target.name=Send", "always=true"])

    assert changed == {
        "action": "click",
        "instruction": "the button: Send",
        "target": {"name": "Send"},
        "always": True,
    }
    with pytest.raises(InputInvalid, match="expected field=value"):
        with_changes(step, ["instruction"])


def test_the_address_is_told_only_where_its_file_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "take-over.url"
    file.write_text("http://127.0.0.1:1/token/\n")
    lent = LentBrowser(host=host_name(), boot_id=boot_id(), file=str(file), until=0)

    told = address_of(lent)
    with pytest.raises(InputInvalid, match="lives on elsewhere"):
        address_of(lent.model_copy(update={"host": "elsewhere"}))
    file.unlink()
    with pytest.raises(InputInvalid, match="for the user of the worker only"):
        address_of(lent)

    assert told == "http://127.0.0.1:1/token/"


async def test_what_people_asked_for_is_a_line_of_the_trace() -> None:
    store = FakeStepStore()
    request = NoteSteering(
        run_id="r", lineage="l", tenant="t", sequence=3, event="paused", said=Said(who="ada", why="stocktaking")
    )

    await ActivityEnvironment().run(SteerActivities(store).note, request)

    [line] = await store.trace(tenant="t", lineage="l")
    kept = {name: line[name] for name in ("kind", "runId", "sequence", "event", "who", "why")}
    assert kept == {
        "kind": "steered",
        "runId": "r",
        "sequence": 3,
        "event": "paused",
        "who": "ada",
        "why": "stocktaking",
    }


async def test_a_lent_browser_is_let_go_of_and_what_left_it_is_the_persons_doing() -> None:
    keepers, store, site = FakeKeepers(), FakeStepStore(), FakeSite()
    attachments = Attachments(keepers, FakeBrowsers(site))
    lending = LendActivities(keepers, attachments, store, FakeArtifacts(), FakeSecrets({"PIN": "4711-geheim"}))
    session = await keepers.launch("s1", NetworkPolicy())
    keepers.left = ("POST http://shop:80/form", "POST http://shop:80/4711-geheim")
    environment = ActivityEnvironment()
    asked = TakeBack(
        run_id="r",
        lineage="l",
        tenant="t",
        session=session,
        epoch=1,
        lending="r/1",
        sequence=2,
        said=Said(who="ada"),
    )

    lent = await environment.run(lending.lend, LendSession(session=session, epoch=1, lending="r/1", lasts_s=60))
    attached = list(keepers.attached)
    back = await environment.run(lending.take_back, asked)
    unknown = await environment.run(lending.take_back, asked.model_copy(update={"lending": "r/9"}))
    keepers.dead.add("s1")
    await attachments.drop_all()
    with pytest.raises(SessionLost):
        await environment.run(lending.take_back, asked)

    lines = await store.trace(tenant="t", lineage="l")
    assert lent.host == keepers.host
    assert attached == [("s1", 1)]
    assert keepers.attached == [("s1", 1), ("s1", 1)]  # let go of, and attached again
    assert back.known
    assert back.requests[0] == "POST http://shop:80/form"
    assert "geheim" not in back.requests[1]
    assert back.snapshot
    assert not unknown.known
    assert [line["kind"] for line in lines] == ["take_over", "take_over"]
    assert (lines[0]["who"], lines[0]["sequence"]) == ("ada", 2)
    assert "geheim" not in str(lines)

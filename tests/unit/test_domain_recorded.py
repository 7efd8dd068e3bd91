"""What was learned of a task's elements, taken to another machine by a file."""

from typing import Any

import pytest

from replaywright.cli.skills.elements import unknown_steps
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.common.urls import origin_of
from replaywright.domain.skill.entries import EntryInfo, EntryStatus
from replaywright.domain.skill.recorded import cached_steps, entries_of, meaning, named, recorded
from replaywright.domain.skill.skill_files import edited_skill, elements_in, skills_in, written_file
from replaywright.domain.step.fingerprints import content_key
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid
from replaywright.export.recordings import Recordings
from replaywright.yaml_files import parse_yaml
from tests.readme import ROOT
from tests.unit.skills import OWNER, SITE, learned, skill

PAGE = f"{SITE}/compose"


def file_with_elements() -> dict[str, Any]:
    given = skill()
    entries = [learned(step, PAGE, name=step.instruction) for step in given.task.steps]
    return written_file([given], {given.name: recorded(given.task, entries, "default", OWNER)})


def test_what_a_file_holds_is_found_under_the_key_that_a_run_asks_for() -> None:
    given = skill()
    elements = elements_in(file_with_elements(), "a file")["send-mail"]

    made = entries_of(given.task, elements, "elsewhere", PAGE, given.name)

    assert [entry.content_key for entry in made] == [
        content_key("elsewhere", PAGE, step, OWNER) for step in given.task.steps
    ]
    assert [entry.name for entry in made] == ["the password", "To", "Send"]
    assert {entry.effect for entry in made} == {"idempotent"}
    assert made[0].attributes == {"id": "field"}


def test_a_step_that_was_learned_on_two_pages_has_two_elements() -> None:
    task = skill().task
    step = task.steps[0]
    entries = [learned(step, f"{SITE}/login"), learned(step, PAGE), learned(step, PAGE, tenant="another")]

    found = recorded(task, entries, "default", OWNER)

    assert [element.site for element in found] == [PAGE, f"{SITE}/login"]


def test_equal_steps_keep_their_own_elements_in_a_file_an_export_and_under_another_name() -> None:
    press = {"action": "click", "instruction": "Add another"}
    data = {"task": OWNER, "url": PAGE, "steps": [press, {"action": "goto", "url": PAGE}, press]}
    task = parse_task(data, "the test")
    entries = [
        learned(task.steps[0], PAGE, name=name).model_copy(
            update={"content_key": content_key("default", PAGE, task.steps[0], OWNER, occurrence=occurrence)}
        )
        for occurrence, name in enumerate(("buyer", "seller"), 1)
    ]

    elements = recorded(task, entries, "default", OWNER)
    made = entries_of(task, elements, "default", PAGE, OWNER)
    infos = [EntryInfo(content_key=entry.content_key, entry=entry, versions=1) for entry in entries]
    exported = Recordings("default", infos, OWNER).of_all(task.steps, task.url)
    renamed = list(named(task.model_copy(update={"task": "other"}), entries, "default", OWNER))

    assert [element.element.name for element in elements if element.element is not None] == ["buyer", "seller"]
    assert [entry.content_key for entry in made] == [entry.content_key for entry in entries]
    assert {place: entry.name for place, entry in exported.items()} == {"steps[0]": "buyer", "steps[2]": "seller"}
    assert [entry.content_key for entry in renamed] == [
        content_key("default", PAGE, task.steps[0], "other", occurrence=occurrence) for occurrence in (1, 2)
    ]


def test_only_what_a_run_has_verified_is_taken() -> None:
    task = skill().task
    entry = learned(task.steps[0], PAGE)

    assert recorded(task, [entry.model_copy(update={"status": EntryStatus.SUSPECT})], "default", OWNER) == ()


@pytest.mark.parametrize(
    ("begins_at", "site"),
    [
        ("https://preview.example/compose", "https://preview.example/compose"),
        ("http://127.0.0.1:8025/compose", "http://127.0.0.1:8025/compose"),
        (f"{SITE}:80/anything", PAGE),
        ("", PAGE),
    ],
)
def test_the_same_application_under_another_address_finds_its_elements(begins_at: str, site: str) -> None:
    task = skill().task
    elements = recorded(task, [learned(task.steps[0], PAGE)], "default", OWNER)

    [entry] = entries_of(task, elements, "default", begins_at, OWNER)

    assert entry.site == site
    assert entry.content_key == content_key("default", site, task.steps[0], OWNER)


def test_another_site_that_the_task_passes_stays_what_it_is() -> None:
    task = skill().task
    entries = [learned(task.steps[0], PAGE), learned(task.steps[1], "http://mail.example.org/compose")]

    made = entries_of(task, recorded(task, entries, "default", OWNER), "default", "https://preview.example/", OWNER)

    assert [entry.site for entry in made] == ["https://preview.example/compose", "http://mail.example.org/compose"]


def test_steps_of_lists_and_of_probes_are_known_by_what_they_mean() -> None:
    opening = {"action": "goto", "url": "https://shop.example/orders"}
    shown = {"action": "click", "instruction": "the newest", "effect": "read", "target": {"role": "link", "name": "1"}}
    task = parse_task(
        {
            "task": "orders",
            "url": "https://shop.example/",
            "steps": [
                {
                    "action": "for_each",
                    "item": "row",
                    "instruction": "the table",
                    "steps": [{"action": "click", "instruction": "the button of {{row}}"}],
                },
                {
                    "action": "click",
                    "instruction": "Pay",
                    "effect": "commit",
                    "reconcile": {"steps": [opening, shown], "expect": [{"text_contains": "paid"}]},
                },
            ],
        },
        "the test",
    )

    assert [step.instruction for step, _ in cached_steps(task)] == [
        "the table",
        "the button of {{row}}",
        "Pay",
        "",
        "the newest",
    ]
    assert len({meaning(*each) for each in cached_steps(task)}) == 5


def test_an_element_whose_step_was_changed_since_is_refused() -> None:
    data = file_with_elements()
    data["skills"][0]["task"]["steps"][2]["instruction"] = "Delete"

    with pytest.raises(InputInvalid, match=r"elements\[2\] \(click 'Send'\) belongs to no step of the task"):
        skills_in(data, "a file")


def test_a_misspelt_field_of_an_element_is_refused() -> None:
    data = file_with_elements()
    data["skills"][0]["elements"][0]["element"]["nmae"] = "x"

    with pytest.raises(InputInvalid, match="an element has no field 'nmae'"):
        elements_in(data, "a file")


def test_elements_are_not_edited_with_a_skill() -> None:
    [data] = file_with_elements()["skills"]

    with pytest.raises(InputInvalid, match="elements: they are imported, not edited"):
        edited_skill(data, "the edited text", skill())


def test_the_example_of_a_learned_skill_is_the_demos_task_with_all_its_elements() -> None:
    data = parse_yaml((ROOT / "examples" / "send_mail.skill.yaml").read_text("utf-8"), "the example")
    task = read_task(str(ROOT / "demo" / "send_mail.yaml"))

    [found] = skills_in(data, "the example")
    elements = elements_in(data, "the example")[found.name]

    assert found.task == task, "the demo's task has changed: learn it, and export it with --elements again"
    assert unknown_steps(found, elements) == []
    assert {origin_of(element.site) for element in elements} == {"http://127.0.0.1:8025"}


def test_a_task_file_has_no_elements() -> None:
    data = skill().task.model_dump(mode="json", exclude_defaults=True)

    assert elements_in(data, "a file") == {}

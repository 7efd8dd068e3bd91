"""A task file that is edited: its steps change, and what else stands in it stays."""

import pytest
import yaml

from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid
from replaywright.imports import Imported
from replaywright.ports.recording import Act
from replaywright.recording.edited_task import Draft

TEXT = """\
# Of the canteen.
task: lunch
url: http://lunch.test/
parameters: {name: {default: Ada}}
steps:
  # Who eats.
  - action: fill
    instruction: the name
    target: {role: textbox, name: Name}  # as on the card
    value: "{{name}}"

  # It only looks.
  - action: click
    instruction: the menu
    target: {role: button, name: Menu}
    effect: read

  - {action: click, instruction: order, effect: commit}

# What has to be there then.
verify:
  - text_contains: Thanks
"""


def draft(text: str = TEXT) -> Draft:
    return Draft(text, "lunch.yaml")


def act(**query: str) -> Act:
    target = {"role": "button", "name": "Card", "tag": "button"}
    element = {"number": "1", "target": target, "query": query or None}
    return Act.model_validate({"kind": "point", "tab": "t", "element": element})


def test_a_file_that_is_not_changed_is_saved_as_it_was() -> None:
    one = draft()

    assert not one.is_changed
    assert one.saved() == (TEXT, True)


def test_only_the_changed_step_is_written_anew_and_the_comments_stay() -> None:
    one = draft()
    remark = one.pick(1, act(role="button", name="Card"))

    text, is_kept = one.saved()
    assert (remark, is_kept, one.is_changed) == ("", True, True)
    before, menu, after = TEXT.partition("  - action: click\n    instruction: the menu\n")
    assert text.startswith(before)
    assert text.endswith(after.partition("effect: read\n")[2])
    assert yaml.safe_load(text)["steps"][1] == {
        "action": "click",
        "instruction": 'the "Card" button',
        "target": {"role": "button", "name": "Card"},
        "effect": "read",
    }
    assert menu


def test_a_comment_in_a_step_that_is_changed_or_deleted_is_told_to_be_lost() -> None:
    changed, deleted = draft(), draft()
    changed.replace(0, {**changed.written()[0], "value": "Bo"})
    deleted.delete(0)

    assert changed.saved()[1] is False
    text, is_kept = deleted.saved()
    assert not is_kept
    assert "Who eats" not in text
    assert "# It only looks." in text
    assert [step["instruction"] for step in yaml.safe_load(text)["steps"]] == ["the menu", "order"]


def test_the_last_step_is_deleted_without_what_follows_it() -> None:
    one = draft()
    one.delete(2)

    text, is_kept = one.saved()
    assert is_kept
    assert text.endswith("\n# What has to be there then.\nverify:\n  - text_contains: Thanks\n")
    assert len(yaml.safe_load(text)["steps"]) == 2


def test_what_was_shown_is_inserted_with_its_secrets() -> None:
    one = draft()
    steps = [{"action": "fill", "instruction": "the PIN", "value": "{{secret:PIN}}"}]
    shown = parse_task({"task": "inserted", "url": "http://lunch.test/", "secrets": ["PIN"], "steps": steps}, "shown")

    assert one.insert(1, Imported(kind="demonstration", task=shown, notes=())) == 1
    text, _ = one.saved()
    assert one.task.secrets == ("PIN",)
    assert parse_task(yaml.safe_load(text), "saved") == one.task
    assert [step.instruction for step in one.steps] == ["the name", "the PIN", "the menu", "order"]


def test_a_step_inserted_into_a_file_leaves_the_others_as_they_stand() -> None:
    one = draft()
    steps = [{"action": "click", "instruction": "the card", "effect": "read"}]
    shown = parse_task({"task": "inserted", "url": "http://lunch.test/", "steps": steps}, "shown")
    one.insert(2, Imported(kind="demonstration", task=shown, notes=()))

    text, is_kept = one.saved()
    added = "  - action: click\n    instruction: the card\n    effect: read\n"
    assert is_kept
    assert text.replace(added, "") == TEXT


@pytest.mark.parametrize(
    "text",
    [
        "task: a\nurl: http://a.test/\nsteps: [{action: click, instruction: a}, {action: go_back}]\n",
        '{"task": "a", "url": "http://a.test/", "steps": [{"action": "go_back"}, {"action": "go_back"}]}',
    ],
)
def test_a_file_of_another_form_is_written_anew(text: str) -> None:
    one = draft(text)
    one.delete(0)

    saved, is_kept = one.saved()
    assert is_kept
    assert parse_task(yaml.safe_load(saved), "saved") == one.task


def test_comments_of_a_file_that_is_written_anew_are_told_to_be_lost() -> None:
    one = draft("# Head.\ntask: lunch\nurl: http://lunch.test/  # here\nsteps: [{action: click, instruction: a}]\n")
    one.replace(0, {"action": "click", "instruction": "b"})

    text, is_kept = one.saved()
    assert text.startswith("# Head.\n")
    assert not is_kept


def test_a_change_that_makes_no_task_changes_nothing() -> None:
    one = draft()

    with pytest.raises(InputInvalid, match="undeclared parameter 'who'"):
        one.replace(0, {**one.written()[0], "value": "{{who}}"})
    with pytest.raises(InputInvalid, match="nothing tells this element"):
        one.pick(1, act())
    assert one.saved() == (TEXT, True)


def test_consequences_are_those_of_the_task_alone() -> None:
    listed = {
        "action": "for_each",
        "item": "dish",
        "values": ["Soup"],
        "steps": [{"action": "click", "instruction": "x"}],
    }
    text = yaml.safe_dump({"task": "lunch", "url": "http://lunch.test/", "steps": [listed]})

    assert [draft().has_consequences(index) for index in range(3)] == [False, False, True]
    assert draft(text).has_consequences(0)

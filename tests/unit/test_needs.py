"""Files that a plan uploads for certain."""

from replaywright.domain.plan.needs import files_needed
from tests.unit.staged import step

HERE = [{"text_contains": "Picture"}]
ITEM = {"action": "upload", "instruction": "its picture", "files": ["{{row}}.png", "{{who}}-all.png"]}


def test_the_files_of_a_plan_are_those_that_its_values_name() -> None:
    plan = [
        step("upload", "the picture", files=["{{who}}.png", "{{other}}.png", "plain.png"]),
        step("upload", "the picture again", files=["plain.png"]),
        step("click", "send"),
    ]

    assert files_needed(plan, {"who": "ada"}) == ("ada.png", "plain.png")


def test_steps_that_may_be_left_out_need_no_file() -> None:
    plan = [
        step("upload", "the picture", files=["plain.png"], when=HERE),
        step("for_each", "the table of rows", item="row", target={"role": "table"}, steps=[ITEM]),
        step("for_each", "", item="row", values=["a", "b"], steps=[ITEM]),
    ]

    assert files_needed(plan, {"who": "ada"}) == ("ada-all.png",)
    assert files_needed(plan[:2], {"who": "ada"}) == ()

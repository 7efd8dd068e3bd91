"""Equal elements that came since, elements without a name in a row, and elements that have lost theirs."""

from collections.abc import Mapping
from typing import Any

from replaywright.domain.locating.matching import (
    ElementCandidate,
    MatchDecision,
    decide_identified,
    decide_similar,
)
from replaywright.domain.page.targets import Target

BUTTON: Mapping[str, Any] = {
    "tag": "button",
    "role": "button",
    "name": "Theme",
    "text": "Theme",
    "attributes": {"class": "theme"},
    "xpath": "/html/body/header/ul/li[3]/button",
    "css": "header li:nth-of-type(3) > button",
    "neighbours": ("View site", "Ada", "Home"),
    "container": "list",
    "namesakes": 1,
}
ICON: Mapping[str, Any] = {
    "tag": "span",
    "attributes": {"class": "again"},
    "xpath": "/html/body/div/div[5]/span[2]",
    "neighbours": ("Good morning", "Ada", "Ben"),
    "row": ("Ada", "Good morning"),
    "element_hash": "h-span",
    "namesakes": 9,
}
BOX: Mapping[str, Any] = {
    "tag": "input",
    "role": "checkbox",
    "name": "Select message 21",
    "label": "Web Shop",
    "attributes": {"type": "checkbox", "class": "pick", "aria-label": "Select message 21"},
    "xpath": "/html/body/table/tbody/tr[4]/td[1]/input",
    "css": 'input[aria-label="Select message 21"]',
    "neighbours": ("Web Shop", "Order 77120 confirmed", "Ada"),
    "row": ("Web Shop", "Order 77120 confirmed"),
    "container": "table",
    "element_hash": "h-21",
    "namesakes": 1,
}


def target(base: Mapping[str, Any], **changes: Any) -> Target:
    return Target.model_validate({**base, **changes})


def candidates(*targets: Target) -> list[ElementCandidate]:
    return [ElementCandidate(index=index, tier="hash", target=each) for index, each in enumerate(targets)]


def similar(recorded: Target, *seen: Target) -> MatchDecision:
    return decide_similar(recorded, candidates(*seen))


def identified(recorded: Target, *seen: Target) -> MatchDecision:
    return decide_identified(recorded, candidates(*seen))


def test_an_equal_element_that_came_since_is_told_by_nothing_but_the_very_place() -> None:
    recorded = target(BUTTON)
    moved = target(BUTTON, xpath="/html/body/header/ul/li[4]/button", neighbours=("View site", "Help", "Ada"))
    copied = target(BUTTON, xpath="/html/body/main/ul/li[1]/button", neighbours=("Groups", "Users"))

    assert similar(recorded, moved).lookup.hit
    assert similar(recorded, moved, copied).lookup.reason == "ambiguous"
    assert similar(recorded, target(BUTTON), copied).lookup.hit


def test_equal_elements_that_were_there_before_are_told_by_what_stands_beside_them() -> None:
    submits = {"type": "submit", "name": "theme", "value": "Theme"}
    recorded = target(BUTTON, attributes=submits, namesakes=2)
    moved = target(BUTTON, attributes=submits, xpath="/html/body/div/header/ul/li[3]/button")
    below = target(moved.model_dump(), xpath="/html/body/footer/p/button", neighbours=("Groups", "Users", "Imprint"))
    third = target(moved.model_dump(), xpath="/html/body/main/ul/li[1]/button", neighbours=("Groups", "Users"))

    found = similar(recorded, moved, below)
    assert found.chosen is not None
    assert found.chosen.target == moved
    assert similar(recorded, moved, below, third).lookup.reason == "ambiguous"


def test_what_stands_nearest_to_an_icon_in_a_row_may_change_with_the_rows_other_parts() -> None:
    recorded = target(ICON)
    nearer = target(ICON, neighbours=("Ben", "Cleo", "Good morning"))

    assert identified(recorded, nearer).lookup.hit
    assert not identified(recorded, target(ICON, row=("Ben", "Good night"))).lookup.hit


def test_of_two_equal_icons_in_one_row_none_is_taken() -> None:
    other = target(ICON, xpath="/html/body/div/div[5]/span[5]", neighbours=("Good morning", "Ben", "Ada"))
    same = target(ICON, neighbours=("Ben", "Good morning", "Ada"))

    assert identified(target(ICON), same, other).lookup.reason == "ambiguous"


def test_a_nameless_element_is_not_what_stands_in_its_place_while_another_looks_like_it() -> None:
    recorded = target(ICON, row=(), namesakes=3)
    in_its_place = target(recorded.model_dump(), attributes={"class": "line"})
    beside = target(recorded.model_dump(), xpath="/html/body/div/section/div[5]/span[2]")

    assert identified(recorded, in_its_place).lookup.hit
    assert identified(recorded, in_its_place, beside).lookup.reason == "ambiguous"


def test_a_box_that_has_lost_its_name_is_told_by_its_row_and_what_stands_beside_it() -> None:
    nameless: dict[str, Any] = {
        "name": "",
        "attributes": {"type": "checkbox", "class": "pick"},
        "element_hash": "h-box",
    }
    same, other = target(BOX, **nameless), ("Web Shop", "Order 80000 sent")
    below = target(BOX, **nameless, row=other, neighbours=other, xpath="/html/body/table/tbody/tr[5]/td[1]/input")

    assert similar(target(BOX), same).lookup.hit
    assert not similar(target(BOX), below).lookup.hit
    assert not similar(target(BOX), target(BOX, **nameless, row=other, neighbours=other)).lookup.hit


def test_of_nameless_ones_the_last_that_is_left_is_not_taken() -> None:
    recorded = target(ICON, row=(), namesakes=7, element_hash="h-then")
    left = target(recorded.model_dump(), attributes={"id": "open-search"}, element_hash="h-now")

    assert not similar(recorded, left).lookup.hit
    assert not identified(recorded, left).lookup.hit


def test_that_one_of_two_stands_in_no_row_as_then_tells_nothing() -> None:
    menu: dict[str, Any] = {**BUTTON, "container": "", "namesakes": 2}
    copied = target(menu, xpath="/html/body/div[5]/ul/li[3]/button", neighbours=("View site", "Ada", "Help"))
    listed = target(menu, xpath="/html/body/div[2]/ul/li[3]/button", row=("Theme Ada", "Welcome"), neighbours=("Help",))

    assert identified(target(menu), copied, listed).lookup.reason == "ambiguous"


def test_what_stands_in_a_row_that_says_no_more_than_its_own_name_has_left_its_row() -> None:
    link: dict[str, Any] = {"tag": "a", "role": "link", "name": "Change", "text": "Change", "namesakes": 2}
    table: dict[str, Any] = {"container": "table", "neighbours": ("Add", "Users", "Groups")}
    recorded = target({**link, **table}, xpath="/html/body/table/tr[2]/td[2]/a", row=("Users", "Add"))
    other = target({**link, **table}, xpath="/html/body/table/tr[1]/td[2]/a", row=("Change",))

    assert not identified(recorded, other).lookup.hit
    assert identified(recorded, target(recorded.model_dump(), row=("Change",))).lookup.hit

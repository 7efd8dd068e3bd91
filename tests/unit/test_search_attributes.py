"""The search attributes are one list: what is deployed and what is documented has each of them under its type."""

import re
import shlex
from pathlib import Path

from replaywright.domain.trace.search_attributes import HEALS, SEARCH_ATTRIBUTES, STATUS, creating, kinds, lacking

ROOT = Path(__file__).parents[2]
IN_COMPOSE = re.compile(r"(Browser\w+)=(\w+)|--name[=\s,\"'-]+(Browser\w+)[\s,\"']+(?:-\s+)?--type[=\s,\"'-]+(\w+)")


def test_docker_compose_registers_each_under_its_type() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")

    found = {match[1] or match[3]: match[2] or match[4] for match in IN_COMPOSE.finditer(text)}

    assert found == kinds()


def test_one_of_another_type_is_as_good_as_none() -> None:
    known = {**kinds(), HEALS.name: "Keyword", "SomebodyElses": "Text"}
    del known[STATUS.name]

    assert lacking(known) == (STATUS, HEALS)
    assert lacking(kinds()) == ()


def test_the_command_that_creates_them_is_one_for_a_shell() -> None:
    command = creating([STATUS, HEALS], namespace="back office", address="temporal.example:7233")

    assert shlex.split(command) == [
        *("temporal", "operator", "search-attribute", "create"),
        *("--namespace", "back office", "--address", "temporal.example:7233"),
        *("--name", "BrowserStatus", "--type", "Keyword", "--name", "BrowserHeals", "--type", "Int"),
    ]


def test_names_are_ours_and_there_once() -> None:
    assert len(kinds()) == len(SEARCH_ATTRIBUTES)
    assert all(re.fullmatch(r"Browser[A-Z]\w+", name) for name in kinds())

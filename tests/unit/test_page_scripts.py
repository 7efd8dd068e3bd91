"""The page scripts share one scope: a name that two of them declare would be the later one's for both."""

import re
from collections.abc import Mapping
from importlib import resources

import pytest

from replaywright.browser import page

_DECLARED = re.compile(r"^(?:async\s+)?(?:function\*?|class|const|let|var)\s+([\w$]+|[{\[].*?[}\]])", re.MULTILINE)
_BEGINS_A_DECLARATION = re.compile(r"^(?:async\s+function|function|class|const|let|var)\b", re.MULTILINE)


def top_level_names(source: str) -> list[str]:
    """The names that a script declares outside of any block; the scripts indent whatever is inside one."""
    found = _DECLARED.findall(source)
    assert len(found) == len(_BEGINS_A_DECLARATION.findall(source)), "a declaration is not understood"
    unpacked = [re.findall(r"[\w$]+(?=\s*[,}\]=])", name) if name[0] in "{[" else [name] for name in found]
    return [name for names in unpacked for name in names]


def declared_twice(scripts: Mapping[str, str]) -> list[str]:
    """`name (first script, second script)` for every name that is declared more than once."""
    places: dict[str, list[str]] = {}
    for script, source in scripts.items():
        for name in top_level_names(source):
            places.setdefault(name, []).append(script)
    return [f"{name} ({', '.join(where)})" for name, where in places.items() if len(where) > 1]


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    """The source of every script in the folder, by its name."""
    files = [file for file in resources.files(page).iterdir() if file.name.endswith(".js")]
    return {file.name.removesuffix(".js"): file.read_text(encoding="utf-8") for file in files}


def test_every_script_in_the_folder_is_a_part_of_the_agent_and_once(scripts: dict[str, str]) -> None:
    assert sorted(page.PARTS) == sorted(scripts)


def test_no_name_is_declared_twice_over_all_scripts(scripts: dict[str, str]) -> None:
    assert declared_twice(scripts) == []
    assert {"Attempt", "Guard", "inNewTask", "swallowing"} <= {n for s in scripts.values() for n in top_level_names(s)}


@pytest.mark.parametrize(
    "declaration",
    ["function reaches(hit) {\n  return hit;\n}", "const reaches = 1;", "let reaches;", "class reaches {}",
     "async function reaches() {}", "const { other, reaches } = parts;"],
)  # fmt: skip
def test_a_name_that_another_script_declares_is_found(scripts: dict[str, str], declaration: str) -> None:
    twice = declared_twice({**scripts, "added": f"/* More. */\n\n{declaration}\n"})

    assert twice == ["reaches (geometry, added)"]


def test_what_is_declared_inside_a_function_is_not_shared(scripts: dict[str, str]) -> None:
    added = "function ownName() {\n  const reaches = 1;\n  return reaches;\n}\n"

    assert declared_twice({**scripts, "added": added}) == []

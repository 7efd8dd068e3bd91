"""Every command that the documentation names can be run as it is written. Those of the tutorial, the README and the
examples are run in `tests/e2e/test_documented.py`."""

import re
from pathlib import Path

import pytest

from tests.docs.commands import problem_with, problem_with_mention
from tests.docs.markdown import code_in, documents, name_of
from tests.docs.messages import commands_in_code, commands_in_page, product_files
from tests.readme import blocks_in, commands_in

OURS = re.compile(r"^\s*(\$ )?(\.venv/bin/)?replaywright(-worker)? ", re.MULTILINE)
MENTION = re.compile(r"(\.venv/bin/)?replaywright [a-z-]")
HISTORY = "CHANGELOG.md"
"""Tells of commands as they were."""


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_command_of_a_block_can_be_run_as_it_is_written(path: Path) -> None:
    commands = commands_in(path.read_text("utf-8"))

    problems = [(command.text, problem) for command in commands if (problem := problem_with(command.text))]

    assert problems == []


@pytest.mark.parametrize("path", documents(), ids=name_of)
def test_every_block_that_names_a_command_of_ours_is_read_as_commands(path: Path) -> None:
    unread = [
        block.text
        for block in blocks_in(path.read_text("utf-8"))
        if OURS.search(block.text) and not block.is_shell and block.language not in ("text", "yaml", "json")
    ]

    assert unread == [], "begin what follows a command with #, or fence the block as sh"


@pytest.mark.parametrize("path", [path for path in documents() if name_of(path) != HISTORY], ids=name_of)
def test_every_command_within_a_sentence_exists_with_its_options(path: Path) -> None:
    mentions = [code for code in code_in(path) if MENTION.match(code)]

    problems = [(code, problem) for code in mentions if (problem := problem_with_mention(code))]

    assert problems == []


def test_every_command_that_a_message_or_a_docstring_names_exists_with_its_options() -> None:
    named = [(name_of(path), code) for path in product_files(".py") for code in commands_in_code(path)]

    assert len(named) > 100
    assert [(name, code, problem) for name, code in named if (problem := problem_with_mention(code))] == []


def test_every_command_that_a_page_shows_exists() -> None:
    named = [(name_of(path), code) for path in product_files(".html") for code in commands_in_page(path)]

    assert named
    assert [(name, code, problem) for name, code in named if (problem := problem_with_mention(code))] == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("replaywright run task.yaml --parm to=x", "No such option"),
        ("replaywright rnu task.yaml", "No such command"),
        ("replaywright show", "Missing argument"),
        ("replaywright run task.yaml --max-calls many", "valid integer"),
        ("replaywright admin cache list extra", "unexpected extra argument"),
        ("make demoo", "no target 'demoo'"),
        ("make test WORKRES=0", "no variable 'WORKRES'"),
        ("REPLAYWRIGHT_MODLE=x replaywright up", "REPLAYWRIGHT_MODLE is neither a setting"),
        ("export REPLAYWRIGHT_MODLE=x", "REPLAYWRIGHT_MODLE is neither a setting"),
        ("python -m demo.webmail --stroe DIR", "has no --stroe"),
        ("python -m demo.web", "no such module"),
        ("replaywright-worker --role browsers", "invalid choice"),
        ("docker compose -f compose.yml up", "no file compose.yml"),
        ("docker compose up --detach worker-browsers", "no service 'worker-browsers'"),
        ("docker compose run --rm cli runn", "No such command"),
        ("brew install replaywright", "no rule knows the program 'brew'"),
        ("replaywright admin schema > task.schema.json && replaywright doctr", "No such command"),
    ],
)
def test_what_cannot_be_run_is_told(command: str, said: str) -> None:
    assert said in problem_with(command)


def test_placeholders_assignments_and_redirections_are_no_problem() -> None:
    assert problem_with("REPLAYWRIGHT_MODEL=x .venv/bin/replaywright answer RUN done --step N > said.txt") == ""
    assert problem_with("replaywright record --from FILE --kind devtools|codegen [--name NAME] [--json]") == ""
    assert "No such option" in problem_with("replaywright record --from FILE [--nmae NAME]")
    assert problem_with_mention("replaywright answer RUN --step N") == ""
    assert "No such option" in problem_with_mention("replaywright answer RUN --stpe N")

"""How commands are read out of Markdown, for the tests that run what the documentation names."""

import pytest

from tests.readme import README, blocks_in, commands_in, commands_of

TEXT = """\
# Title

    make demo      # sets up
    make test

An example that is no command:

    task: send-mail
    url: "{{base_url}}/login"

- an item

    that goes on, indented

## Running

```sh
# only a comment
$ export NAME=value
replaywright run --url URL \\
    --secret PASSWORD "Send 'it' # now"
```

```yaml
- make: x
```
"""


def test_commands_stand_in_fenced_shell_blocks_and_in_indented_blocks_of_programs() -> None:
    assert [command.text for command in commands_in(TEXT)] == [
        "make demo",
        "make test",
        "export NAME=value",
        "replaywright run --url URL --secret PASSWORD \"Send 'it' # now\"",
    ]


def test_commands_can_be_asked_for_by_the_title_that_they_stand_under() -> None:
    [first, second] = commands_in(TEXT, heading="Running")

    assert first.words == ["export", "NAME=value"]
    assert second.words[-1] == "Send 'it' # now"
    assert TEXT.splitlines()[second.line - 1] == "# only a comment"


def test_blocks_say_their_language_and_keep_their_lines() -> None:
    blocks = blocks_in(TEXT)

    assert [block.language for block in blocks] == ["", "", "sh", "yaml"]
    assert blocks[1].text == 'task: send-mail\nurl: "{{base_url}}/login"'
    assert blocks[3].text == "- make: x"


def test_a_quotation_may_go_over_several_lines() -> None:
    assert list(commands_of("echo 'a\nb'\nmake")) == ["echo 'a\nb'", "make"]


def test_a_quotation_that_is_never_closed_is_an_error() -> None:
    with pytest.raises(ValueError, match="quotation mark is open"):
        list(commands_of("echo 'a"))


def test_the_readme_names_commands() -> None:
    found = [command.text for command in commands_in(README.read_text("utf-8"))]

    assert "make demo" in found
    assert any(" doctor" in command for command in found)

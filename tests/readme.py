"""Commands that people read in Markdown: the blocks of a text, and the shell commands in them.

A block is fenced (```` ```sh ````), or indented by four spaces between empty lines. Fenced blocks of the languages in
`SHELLS` hold commands; so does an indented one whose commands all begin with a program of `PROGRAMS`, which tells it
from an example of YAML. A command ends with its line, unless a backslash or an open quotation mark goes on to the next;
a comment that a shell would leave out is no part of it, nor is the prompt `$ `.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
README: Final = ROOT / "README.md"
SHELLS: Final = frozenset({"sh", "bash", "shell", "console"})
PROGRAMS: Final = frozenset({"cd", "curl", "docker", "export", "git", "make", "mkdir", "python", "python3"})
"""What a line of an indented block begins with when the block is one of commands; and all of `_OURS`."""

_OURS: Final = re.compile(r"(\S*/)?(replaywright(-worker)?|pip|playwright|pytest|python3?)")
_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_FENCE: Final = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w+-]*)")
_HEADING: Final = re.compile(r"#{1,6}\s+(?P<title>.*?)\s*#*$")


@dataclass(frozen=True)
class Block:
    """One block of code."""

    text: str
    """Without fence and indentation."""
    language: str
    """As the fence names it; empty for an indented block."""
    heading: str
    """The title that it stands under; empty above the first one."""
    line: int
    """Of the block's first line of text, from 1."""

    @property
    def is_shell(self) -> bool:
        """Whether it holds commands."""
        if self.language:
            return self.language.lower() in SHELLS
        commands = list(commands_of(self.text))
        return bool(commands) and all(_is_program(command) for command in commands)


@dataclass(frozen=True)
class Command:
    """One command as a reader types it."""

    text: str
    heading: str
    line: int
    """Of the block that it stands in."""

    @property
    def words(self) -> list[str]:
        """As a shell splits it; variables stay as they are."""
        return shlex.split(self.text, comments=False)


def commands_in(markdown: str, *, heading: str | None = None) -> list[Command]:
    """All commands of a text in their order; with `heading`, those directly under that title."""
    return [
        Command(command, block.heading, block.line)
        for block in blocks_in(markdown)
        if block.is_shell and heading in (None, block.heading)
        for command in commands_of(block.text)
    ]


def blocks_in(markdown: str) -> list[Block]:
    """All blocks of code in their order."""
    found: list[Block] = []
    heading, after_blank, inside = "", True, False
    lines = markdown.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        if fence := _FENCE.match(line):
            end = _closing(lines, at + 1, fence["fence"])
            indent = len(fence["indent"])
            text = "\n".join(each[indent:] if not each[:indent].strip() else each for each in lines[at + 1 : end])
            found.append(Block(text, fence["language"], heading, at + 2))
            at, after_blank, inside = end + 1, False, False
            continue
        if line.startswith("    ") and line.strip() and after_blank and not inside:
            end = _end_of_indented(lines, at)
            found.append(Block("\n".join(each[4:] for each in lines[at:end]).rstrip(), "", heading, at + 1))
            at, after_blank = end, True
            continue
        if title := _HEADING.match(line):
            heading = title["title"]
        # Lines indented below an item of a list belong to the item.
        inside = _is_item(line) or (inside and (not line.strip() or line.startswith(" ")))
        after_blank = not line.strip() or bool(title)
        at += 1
    return found


def commands_of(text: str) -> Iterator[str]:
    """The commands of a shell block, one by one, with lines that go on joined and comments left out."""
    pending, joined = "", False
    for line in text.splitlines():
        pending = f"{pending}{line.lstrip()}" if joined else pending + line if pending else line.removeprefix("$ ")
        joined = False
        if pending.endswith("\\"):
            pending, joined = pending[:-1].rstrip() + " ", True
            continue
        command = _without_comment(pending)
        if command is None:
            pending += "\n"
            continue
        pending = ""
        if command:
            yield command
    if pending.strip():
        raise ValueError(f"a quotation mark is open at the end of the block: {pending!r}")


def _without_comment(line: str) -> str | None:
    """The command without a comment; None when a quotation mark is open at its end."""
    quote = ""
    escaped = False
    for position, character in enumerate(line):
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character == "#" and (position == 0 or line[position - 1].isspace()):
            return line[:position].strip()
    return None if quote else line.strip()


def _is_program(command: str) -> bool:
    words = command.split()
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    return bool(words) and (words[0] in PROGRAMS or _OURS.fullmatch(words[0]) is not None)


def _closing(lines: list[str], start: int, fence: str) -> int:
    for at in range(start, len(lines)):
        stripped = lines[at].strip()
        if stripped.startswith(fence) and not stripped.strip(fence[0]):
            return at
    return len(lines)


def _end_of_indented(lines: list[str], start: int) -> int:
    end = start
    for at in range(start, len(lines)):
        if lines[at].startswith("    ") and lines[at].strip():
            end = at + 1
        elif lines[at].strip():
            break
    return end


def _is_item(line: str) -> bool:
    return re.match(r"\s{0,3}([-*+]|\d+[.)])\s", line) is not None

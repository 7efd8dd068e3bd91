"""What Markdown files hold beside commands: links, anchors, pictures and pieces of code."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).parents[2]
_PARSER: Final = MarkdownIt("commonmark").enable("table")


@cache
def documents() -> tuple[Path, ...]:
    """Every Markdown file that people read, the README first."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    return tuple(sorted(found, key=lambda path: (path != ROOT / "README.md", path)))


def name_of(path: Path) -> str:
    """Its path in the repository."""
    return path.relative_to(ROOT).as_posix()


@cache
def _tokens(path: Path) -> tuple[Token, ...]:
    return tuple(_PARSER.parse(path.read_text("utf-8")))


def _inline(path: Path) -> Iterator[Token]:
    for token in _tokens(path):
        yield from token.children or ()


def links_in(path: Path) -> list[str]:
    """Where its links and pictures lead, as written."""
    found = []
    for token in _inline(path):
        address = token.attrGet("href") if token.type == "link_open" else token.attrGet("src")
        if token.type in ("link_open", "image") and address is not None:
            found.append(str(address))
    return found


def code_in(path: Path) -> list[str]:
    """Its pieces of code within sentences and tables, each on one line."""
    return [" ".join(token.content.split()) for token in _inline(path) if token.type == "code_inline"]


@cache
def anchors_in(path: Path) -> frozenset[str]:
    """What its headings are linked by, as the usual forges make it: of two that are alike, the second has `-1`."""
    found: list[str] = []
    counts: Counter[str] = Counter()
    tokens = _tokens(path)
    for token, content in pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = "".join(child.content for child in content.children or () if child.type in ("text", "code_inline"))
        slug = anchor(text)
        found.append(f"{slug}-{counts[slug]}" if counts[slug] else slug)
        counts[slug] += 1
    return frozenset(found)


def anchor(title: str) -> str:
    """What a heading with this title is linked by."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def leads_to(path: Path, link: str) -> tuple[Path, str] | None:
    """File and anchor that a relative link leads to; None for an address on the web."""
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return None
    target, _, fragment = link.partition("#")
    return (path.parent / target).resolve() if target else path, fragment

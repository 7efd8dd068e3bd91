"""Lines of a script: what does not fit into one is written with one part in a line.

The comma after the last part makes `ruff format` keep a script in Python so.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True)
class Style:
    """Measures of a language's lines."""

    width: int
    indent: int


PYTHON: Final = Style(88, 4)
TYPESCRIPT: Final = Style(100, 2)


@dataclass(frozen=True)
class Piece:
    """An expression of the language that may be broken into lines."""

    kind: Literal["atom", "call", "sum"]
    head: str
    """The atom itself; of a call what stands before its parts, as in `re.compile(`."""
    parts: "tuple[Piece, ...]" = ()
    tail: str = ""
    """The closing bracket of a call: `)` or `]`."""

    @property
    def flat(self) -> str:
        """The piece in one line."""
        match self.kind:
            case "atom":
                return self.head
            case "sum":
                return self.head + " + ".join(part.flat for part in self.parts)
            case "call":
                return f"{self.head}{', '.join(part.flat for part in self.parts)}{self.tail}"

    def written(self, style: Style, indent: int, before: int = 0, after: int = 0) -> str:
        """Write it in as many lines as it needs.

        Args:
            style: of the language.
            indent: columns before the line that it begins in.
            before: characters in that line before it.
            after: characters that follow in its last line.
        """
        flat = self.flat
        if self.kind == "atom" or not self.parts or indent + before + columns(flat) + after <= style.width:
            return flat
        if self.kind == "sum":
            lines = [part.written(style, indent, 0 if number else before, 2) for number, part in enumerate(self.parts)]
            return self.head + f"\n{' ' * indent}+ ".join(lines)
        inner = indent + style.indent
        lines = [f"{' ' * inner}{part.written(style, inner, 0, 1)},\n" for part in self.parts]
        return f"{self.head.rstrip()}\n{''.join(lines)}{' ' * indent}{self.tail.lstrip()}"


def columns(text: str) -> int:
    """Count the columns of a text: East Asian characters take two, combining marks none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def atom(text: str) -> Piece:
    """Make a piece that is never broken."""
    return Piece("atom", text)


def call(function: str, parts: Sequence[Piece], opens: str = "(", closes: str = ")") -> Piece:
    """Make a call, a list or a tuple."""
    return Piece("call", f"{function}{opens}", tuple(parts), closes)


def total(parts: Sequence[Piece]) -> Piece:
    """Make a sum; of one part, that part."""
    return parts[0] if len(parts) == 1 else Piece("sum", "", tuple(parts))


def after(prefix: str, piece: Piece) -> Piece:
    """Put a prefix before the piece, such as a keyword's name."""
    return Piece(piece.kind, prefix + piece.head, piece.parts, piece.tail)

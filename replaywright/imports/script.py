"""Names and expressions of a recorded script, as far as a recorder writes them. Nothing is executed."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from replaywright.imports.data import TEXT_LIMIT, clean
from replaywright.imports.locators import GETTERS, Locator, Pattern, Value, found_by, said


@dataclass(frozen=True)
class Plumbing:
    """The browser, a context, a device: the session has its own."""


@dataclass(frozen=True)
class Popup:
    """Result of `expect_popup`."""

    page: int


@dataclass(frozen=True)
class DownloadInfo:
    """Result of `expect_download`."""


@dataclass(frozen=True)
class Chooser:
    """Result of `expect_file_chooser`."""


@dataclass(frozen=True)
class Device:
    """`page.keyboard` or `page.mouse`."""

    page: int
    kind: str


@dataclass(frozen=True)
class Outside:
    """A value from outside the script, such as an environment variable, by its name."""

    name: str


Meaning = Locator | Plumbing | Popup | DownloadInfo | Chooser | Device | Outside | Pattern | str
_ENVIRONMENT: Final = frozenset({"os.environ.get", "os.getenv", "environ.get", "getenv"})


@dataclass
class Names:
    """The names of a script with what they mean."""

    known: dict[str, Meaning] = field(default_factory=dict)
    pages: int = 0
    """Number of pages opened so far."""

    def new_page(self) -> Locator:
        """Add a page that has just been opened."""
        self.pages += 1
        return Locator(self.pages - 1)

    def meaning(self, node: ast.AST) -> Meaning | None:
        """Return the meaning of an expression; None if unknown."""
        match node:
            case ast.Await(value=value):
                return self.meaning(value)
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Constant(value=str(text)):
                return clean(text)
            case ast.JoinedStr() | ast.BinOp(op=ast.Add()):
                return self._joined(node)
            case ast.Subscript(
                value=ast.Attribute(attr="environ") | ast.Name(id="environ"), slice=ast.Constant(value=str(name))
            ):
                return Outside(clean(name))
            case ast.Attribute(value=owner, attr=attribute):
                return self._attribute(self.meaning(owner), attribute, node)
            case ast.Call():
                return self._call(node)
            case _:
                return None

    def _joined(self, node: ast.AST) -> str | None:
        """Join a text of parts that are all known."""
        match node:
            case ast.BinOp(left=left, right=right):
                parts = [self.meaning(left), self.meaning(right)]
            case ast.JoinedStr(values=values):
                plain = [
                    part.value if isinstance(part, ast.FormattedValue) and part.format_spec is None else part
                    for part in values
                ]
                parts = [self.meaning(part) for part in plain]
            case _:
                return None
        known = [part for part in parts if isinstance(part, str)]
        # A name that is put together with itself, again and again, doubles each time.
        return "".join(known) if len(known) == len(parts) and sum(map(len, known)) <= TEXT_LIMIT else None

    def _attribute(self, owner: Meaning | None, attribute: str, node: ast.AST) -> Meaning | None:
        match owner:
            case Locator() if attribute in {"first", "last", "content_frame"}:
                return found_by(owner, attribute, [], {}, said(node))
            case Locator(query=None, why="") if attribute in {"keyboard", "mouse", "touchscreen"}:
                return Device(owner.page, attribute)
            case Locator() if attribute in {"page", "context", "owner_page"}:
                return Plumbing() if attribute == "context" else Locator(owner.page)
            case Popup(page=page) if attribute == "value":
                return Locator(page)
            case DownloadInfo() | Chooser() if attribute == "value":
                return owner
            case Plumbing():
                return owner
            case _:
                return None

    def _call(self, node: ast.Call) -> Meaning | None:
        name = dotted(node.func)
        if name in {"re.compile", "compile"} and node.args:
            pattern = self.meaning(node.args[0])
            flags = " ".join(dotted(argument) for argument in node.args[1:])
            return Pattern(pattern, flags) if isinstance(pattern, str) else None
        if name in _ENVIRONMENT and node.args and isinstance(text := self.meaning(node.args[0]), str):
            return Outside(text)
        if not isinstance(node.func, ast.Attribute):
            return None
        owner, method = self.meaning(node.func.value), node.func.attr
        match owner:
            case Locator() if method in GETTERS - {"first", "last", "content_frame"}:
                arguments = [self.constant(argument) for argument in node.args]
                named = {word.arg: self.constant(word.value) for word in node.keywords if word.arg}
                unknown = [word.arg for word in node.keywords if word.arg and named[word.arg] is None]
                found = found_by(owner, method, arguments, named, said(node))
                if unknown and not found.why:
                    return Locator(
                        found.page,
                        found.query,
                        f"{unknown[0]} is computed by the script",
                        found.said,
                        found.in_frame,
                        found.hints,
                    )
                return found
            case Plumbing() if method == "new_page":
                return self.new_page()
            case Plumbing():
                return owner
            case _:
                return None

    def constant(self, node: ast.AST) -> Value:
        """Return a text, pattern, number or truth value; None for anything else."""
        match node:
            case ast.Constant(value=bool() | int() as value):
                return value
            case _:
                found = self.meaning(node)
                return found if isinstance(found, str | Pattern) else None

    def named(self, call: ast.Call) -> Mapping[str, Value]:
        """Return the call's keywords with their values, None where they are no constants."""
        return {word.arg: self.constant(word.value) for word in call.keywords if word.arg}


def dotted(node: ast.AST) -> str:
    """`a.b.c` of a name with attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def called(node: ast.AST) -> str:
    """Name the called function for a note, without arguments: one may be a secret."""
    match node:
        case ast.Call(func=function):
            return f"{called(function)}(…)"
        case ast.Attribute(attr=attribute):
            return dotted(node) or f"….{attribute}"
        case ast.Name(id=name):
            return name
        case _:
            return type(node).__name__.lower()


def unawaited(node: ast.expr) -> ast.expr:
    """Return the expression without `await`."""
    return node.value if isinstance(node, ast.Await) else node

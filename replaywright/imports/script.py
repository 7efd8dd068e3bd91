"""Names and expressions of a recorded script, as far as a recorder writes them. Nothing is executed."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from replaywright.imports.data import TEXT_LIMIT, clean
from replaywright.imports.locators import PROPERTIES, Locator, Pattern, Value, found_by


@dataclass(frozen=True)
class Helper:
    """Anything else that a script has a name for: a browser or context, an event's result, the keyboard of a page."""

    kind: Literal["browser", "popup", "download", "chooser", "keyboard"]
    page: int = 0


@dataclass(frozen=True)
class Outside:
    """A value from outside the script, such as an environment variable, by its name."""

    name: str


Meaning = Locator | Helper | Outside | Pattern | str
_ENVIRONMENT: Final = frozenset({"os.environ.get", "os.getenv"})


@dataclass
class Names:
    """The names of a script with what they mean."""

    known: dict[str, Meaning] = field(default_factory=dict)

    def meaning(self, node: ast.AST) -> Meaning | None:
        """Return the meaning of an expression; None if unknown."""
        match node:
            case ast.Await(value=value):
                return self.meaning(value)
            case ast.Name(id=name):
                return self.known.get(name)
            case ast.Constant(value=str(text)):
                return clean(text)
            case ast.JoinedStr(values=values):
                return self._joined(values)
            case ast.Subscript(value=ast.Attribute(attr="environ"), slice=ast.Constant(value=str(name))):
                return Outside(clean(name))
            case ast.Attribute(value=owner, attr=attribute):
                return self._attribute(self.meaning(owner), attribute, node)
            case ast.Call():
                return self._call(node)
            case _:
                return None

    def _joined(self, values: Sequence[ast.expr]) -> str | None:
        """Join an f-string of parts that are all known."""
        plain = [part.value if isinstance(part, ast.FormattedValue) else part for part in values]
        known = [text for part in plain if isinstance(text := self.meaning(part), str)]
        # A name that is put together with itself, again and again, doubles each time.
        return "".join(known) if len(known) == len(plain) and sum(map(len, known)) <= TEXT_LIMIT else None

    def _attribute(self, owner: Meaning | None, attribute: str, node: ast.AST) -> Meaning | None:
        match owner:
            case Locator() if attribute in PROPERTIES:
                return found_by(owner, attribute, None, {}, said(node))
            case Locator(query=None, why="") if attribute == "keyboard":
                return Helper("keyboard", owner.page)
            case Helper(kind="popup", page=page) if attribute == "value":
                return Locator(page)
            case Helper():
                return owner
            case _:
                return None

    def _call(self, node: ast.Call) -> Meaning | None:
        name = dotted(node.func)
        if name == "re.compile" and node.args:
            pattern = self.meaning(node.args[0])
            flags = " ".join(dotted(argument) for argument in node.args[1:])
            return Pattern(pattern, flags) if isinstance(pattern, str) else None
        if name in _ENVIRONMENT and node.args and isinstance(text := self.meaning(node.args[0]), str):
            return Outside(text)
        if not isinstance(node.func, ast.Attribute):
            return None
        match owner := self.meaning(node.func.value):
            case Locator() if node.func.attr not in PROPERTIES:
                first = self.constant(node.args[0]) if node.args else None
                return found_by(owner, node.func.attr, first, self.named(node), said(node))
            case Helper(kind="browser"):
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


def literal(node: ast.AST) -> Any:
    """Return a list, mapping or other literal; None for anything that has to be computed."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


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


def said(node: ast.AST) -> str:
    """Return a part of the script as written, in one line."""
    return " ".join(clean(ast.unparse(node)).split())


def unawaited(node: ast.expr) -> ast.expr:
    """Return the expression without `await`."""
    return node.value if isinstance(node, ast.Await) else node

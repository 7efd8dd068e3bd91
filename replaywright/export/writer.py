"""Statements as lines of code, in what Python and TypeScript share: order, layout, and names for what is too long."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import ClassVar, Final

from replaywright.export import code, layout
from replaywright.export.code import Call, Condition, Expression, Name, Part, Regex, Statement, Text
from replaywright.export.layout import Piece, Style, atom, columns
from replaywright.export.names import identifiers
from replaywright.export.quoting import comment_lines, plain, regex_escaped

_LOOKING: Final = ("get_by_", "locator", "frame_locator")
_LONG_NAME: Final = 40
"""Characters before a value from which on it is read in a line of its own."""
_TAKES: Final = {"text": "inner_text", "texts": "all_inner_texts", "value": "input_value", "count": "count"}


class Writer(ABC):
    """Lines of a function's body; the functions that they need are gathered meanwhile."""

    style: ClassVar[Style]
    mark: ClassVar[str]
    """Begins a comment."""
    awaits: ClassVar[str] = ""
    """Stands before a call that takes time."""
    declares: ClassVar[str] = ""
    """Stands before a new name."""
    ends: ClassVar[str] = ""
    """Ends a statement."""
    closes: ClassVar[str] = ""
    """Ends a block."""
    nothing: ClassVar[str] = ""
    """Stands in a block without statements."""
    truth: ClassVar[tuple[str, str]]
    braces: ClassVar[tuple[str, str, str]]
    """Beginning, key and end of a mapping."""
    regex: ClassVar[tuple[str, str]]
    """Function and flag of a regular expression that ignores case."""
    escapes: ClassVar[str]
    """Function that escapes a text in a regular expression."""
    checks: ClassVar[str]
    """Begins a function without arguments."""
    together: ClassVar[tuple[str, str]]
    """Stand around checks that must all hold."""
    asks: ClassVar[tuple[tuple[str, str], tuple[str, str]]]
    """Stand around what must hold, and around what must not, for a block to be done."""
    warns: ClassVar[tuple[str, ...]]
    """Function that tells, and its arguments after the text."""
    closing: ClassVar[tuple[str, ...]]
    """Lines that close the current tab."""
    loops: ClassVar[tuple[str, str]]
    """Stand around the items of a loop."""
    stops: ClassVar[str]
    """Argument of a list that takes the first items of a longer one."""
    listed: ClassVar[str] = ""
    """Line before a loop that fills a list of the result."""
    entry: ClassVar[tuple[str, ...]]
    """Lines that begin an item of that list."""
    cell: ClassVar[str]
    row_text: ClassVar[str]
    tests: ClassVar[Mapping[str, str]]
    """Tests of a cell by kind; `{0}` is the first text, `{all}` all of them."""
    conversions: ClassVar[Mapping[str, str]]
    """Conversions of a text that was read by kind; `{}` is the text."""
    reserved: ClassVar[frozenset[str]]
    catalogue: ClassVar[Mapping[str, str]]
    """The functions that a script may bring with it."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` are the identifiers of the parameters."""
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self._names = dict(names)
        self._locals: dict[str, str] = {}
        """Names that the language gives to those of the statements."""
        self._declared: Counter[str] = Counter()
        self._indent = 1

    def write(self, statements: Sequence[Statement]) -> None:
        """Add statements."""
        for statement in statements:
            self._statement(statement)

    # ------------------------------------------------------------------------------------ statements

    def _statement(  # noqa: C901, PLR0912 - one case for each kind
        self, statement: Statement
    ) -> None:
        match statement:
            case code.Comment(text=words):
                indent = " " * (self.style.indent * self._indent)
                width = self.style.width - len(indent) - len(self.mark) - 1
                self.lines += [indent + line for line in comment_lines(words, self.mark, width)]
            case code.Blank():
                self.lines.append("")
            case code.Do(call=call):
                self._done(call)
            case code.CurrentTab():
                self._tab(statement)
            case code.ClosePage():
                name = self._fresh("closed")
                for line in self.closing:
                    self._plain(line.format(name))
            case code.During():
                self._during(statement)
            case code.Dialogs():
                self._dialogs(statement)
            case code.SaveDownload(name=name):
                self._done(self._helper("keep", self._happened("download"), *(() if name is None else (name,))))
            case code.ExpectStatus(status=status):
                self._done(self._helper("expect_status", self._happened("response"), code.text(status)))
            case code.Expect(condition=condition, warning=""):
                self._expect(condition)
            case code.Expect(condition=condition, warning=words):
                with self._if(condition, negated=True):
                    function, *others = self.warns
                    said = self.string(f"warning: {plain(words)}")
                    self._piece("", layout.call(function, list(map(atom, (said, *others)))), self.ends)
            case code.When(condition=condition, body=body):
                with self._if(condition):
                    self._body(body)
            case code.Repeat():
                self._for_each(statement)
            case code.Read():
                self._read(statement)
            case code.AskPerson():
                self._person(statement)

    def _done(self, call: Call) -> None:
        self._line(self.awaits, call, self.ends)

    def _expect(self, condition: Condition) -> None:
        match condition:
            case code.Both(checks=checks):
                for check in checks:
                    self._expect(check)
            case Call():
                self._done(condition)
            case code.Either():
                self._piece(self.awaits, self._raising(condition), self.ends)

    def _raising(self, condition: Condition) -> Piece:
        """Write the condition as an expression that fails unless it holds."""
        match condition:
            case Call():
                return self._fitting(condition, 40)
            case code.Both(checks=[only]):
                return self._raising(only)
            case code.Both(checks=checks):
                return layout.call("", [self._raising(check) for check in checks], *self.together)
            case code.Either(checks=checks):
                return self._called(self.spelt("expect_any"), *map(self._check, checks))

    def _check(self, condition: Condition) -> Piece:
        return layout.after(self.checks, self._raising(condition))

    def _body(self, body: Sequence[Statement]) -> None:
        self.write(body)
        if self.nothing and all(isinstance(one, code.Comment | code.Blank) for one in body):
            self._plain(self.nothing)

    def _if(self, condition: Condition, *, negated: bool = False) -> AbstractContextManager[None]:
        begins, ends = self.asks[negated]
        return self._block(begins, self._called("holds", self._check(condition)), ends)

    @contextmanager
    def _block(self, begins: str, piece: Piece, after: str, closes: str | None = None) -> Iterator[None]:
        self._piece(begins, piece, after)
        with self._indented():
            yield
        if closes or self.closes:
            self._plain(closes or self.closes)

    @contextmanager
    def _indented(self) -> Iterator[None]:
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1

    def _for_each(self, loop: code.Repeat) -> None:
        fresh = identifiers(
            (loop.item, *(f"{loop.item}.{column}" for column in loop.columns)),
            lambda name: self.spelt(name.removeprefix(f"{loop.item}.")),
            {*self.reserved, *self._names.values()},
        )
        outside, whole, is_table = dict(self._names), fresh[loop.item], loop.source == "rows"
        one = "cells" if is_table else whole
        told = [atom(str(loop.limit)), self._source(loop), *([atom(self.stops)] if loop.stops else [])]
        items = self._called(self.spelt("at_most"), *told)
        self._names |= fresh
        reads = any(isinstance(inner, code.Read) for inner in code.all_of(loop.body))
        if reads and self.listed:
            self._plain(self.listed.format(self.string(loop.item)))
        with self._block(self.loops[0].format(one), items, self.loops[1]):
            if is_table and code.uses(loop.body, loop.item):
                self._plain(f"{self.declares}{whole} = {self.row_text}{self.ends}")
            for column in loop.columns:
                named = fresh[f"{loop.item}.{column}"]
                self._plain(f"{self.declares}{named} = cells[{self.string(column)}]{self.ends}")
            if reads:
                for line in self.entry:
                    self._plain(line.format(one=one, key=self.string(loop.item)))
            if loop.skips:
                self._skipping(loop.body, one)
            else:
                self.write(loop.body)
        self._names = outside

    def _source(self, loop: code.Repeat) -> Piece:
        match loop.source:
            case "values":
                return self.piece(loop.of)
            case "texts":
                return layout.after(self.awaits, self._fitting(Call(loop.of, "all_inner_texts"), 40))
            case "rows":
                rows = self._helper("table_rows", loop.of)
                if not loop.where:
                    return layout.after(self.awaits, self._fitting(rows, 40))
                return self._chosen(rows, list(map(self._cell, loop.where)))

    def _cell(self, cell: code.CellIs) -> str:
        found = self.cell.format(self.string(cell.column))
        if cell.kind == "matches":
            return self._matches(cell.texts[0].literal or "", found)
        words = [self._called("alike", self.piece(one)).flat for one in cell.texts]
        return self.tests[cell.kind].format(*words, found=f"alike({found})", all=", ".join(words))

    def _read(self, read: code.Read) -> None:
        match read.take:
            case "table":
                value = self._helper("table_rows", read.of)
            case "attribute":
                value = Call(read.of, "get_attribute", (code.text(read.attribute),))
            case _:
                value = Call(read.of, _TAKES[read.take])
        kind = "string" if read.take == "count" else read.kind
        if kind in ("number", "integer"):
            self.helpers.add("number")
        into = f"{'entry' if read.item else 'result'}[{self.string(read.field)}] = "
        begins, _, after = self.conversions[kind].partition("{}")
        if kind == "boolean" or columns(into) > _LONG_NAME:
            name = self._fresh("value")
            self._line(f"{self.declares}{name} = {self.awaits}", value, self.ends)
            self._plain(f"{into}{begins}{name}{after}{self.ends}")
        else:
            self._line(f"{into}{begins}{self.awaits}", value, f"{after}{self.ends}")

    # ----------------------------------------------------------------------------------- the language

    @staticmethod
    @abstractmethod
    def spelt(name: str) -> str:
        """Convert an identifier to the language's style."""

    @staticmethod
    @abstractmethod
    def string(text: str) -> str:
        """Write a literal."""

    @staticmethod
    @abstractmethod
    def raw(text: str) -> str:
        """Write a literal of a regular expression."""

    @abstractmethod
    def _text(self, text: Text) -> Piece:
        """Write a text with the values in it."""

    @abstractmethod
    def _options(self, options: Sequence[tuple[str, Piece]]) -> list[Piece]: ...

    @abstractmethod
    def _part(self, part: Part) -> str: ...

    @abstractmethod
    def _method(self, method: str) -> str: ...

    @abstractmethod
    def _tab(self, tab: code.CurrentTab) -> None: ...

    @abstractmethod
    def _during(self, during: code.During) -> None: ...

    @abstractmethod
    def _happened(self, event: str) -> Expression:
        """Return what the event brought."""

    @abstractmethod
    def _dialogs(self, dialogs: code.Dialogs) -> None: ...

    def _person(self, person: code.AskPerson) -> None:
        raise AssertionError(f"a test does not wait for people ({person.text}): such skills are refused before")

    @abstractmethod
    def _skipping(self, body: Sequence[Statement], one: str) -> None: ...

    @abstractmethod
    def _chosen(self, rows: Call, tests: Sequence[str]) -> Piece: ...

    @abstractmethod
    def _matches(self, pattern: str, found: str) -> str: ...

    # ------------------------------------------------------------------------------------------ lines

    def _plain(self, line: str) -> None:
        self.lines.append(" " * (self.style.indent * self._indent) + line)

    def _piece(self, before: str, piece: Piece, after: str = "") -> None:
        """Write one statement, over several lines if needed."""
        indent = self.style.indent * self._indent
        self._plain(before + piece.written(self.style, indent, columns(before), columns(after)) + after)

    def _line(self, before: str, call: Call, after: str = "") -> None:
        """Write one statement around a call, over several lines if needed."""
        taken = columns(before) + columns(after) + self.style.indent * self._indent
        fitted = self._fitted(call, taken)
        piece = self.piece(fitted)
        if columns(piece.flat) + taken > self.style.width and isinstance(fitted, Call) and fitted.on is not None:
            piece = layout.after(self._short(fitted.on), self._own(fitted))
        self._piece(before, piece, after)

    def _fitting(self, expression: Expression, taken: int) -> Piece:
        return self.piece(self._fitted(expression, taken))

    def _fitted(self, expression: Expression, taken: int) -> Expression:
        """Return the expression; if it is too long for a line, its beginning gets a name in the line before."""
        flat = self.piece(expression).flat
        if columns(flat) + taken <= self.style.width or not isinstance(expression, Call | Part):
            return expression
        fitting: list[tuple[int, Call | Part]] = []
        for beginning in _beginnings(expression):
            name = f"{self.declares}{_name_for(beginning)}"
            rest = self.piece(_replaced(expression, beginning, Name(_name_for(beginning))))
            named = columns(f"{name} = {self.piece(beginning).flat}") + self.style.indent * self._indent
            long = (columns(rest.flat) + taken > self.style.width, named > self.style.width)
            fitting.append((long[0] * 2 + long[1], beginning))
        if not fitting:
            return expression
        best = min(penalty for penalty, _ in fitting)
        # Where not even the whole of it helps, the longest beginning is named.
        chosen = next(beginning for penalty, beginning in fitting if penalty == best) if best < 2 else fitting[-1][1]
        return _replaced(expression, chosen, self._named(chosen))

    def _named(self, expression: Expression) -> Expression:
        """Give the expression a name, in a line of its own."""
        if not isinstance(expression, Call | Part):
            return expression
        name = self._fresh(_name_for(expression))
        before = f"{self.declares}{name} = "
        if isinstance(expression, Part):
            taken = self.style.indent * self._indent + len(before) + len(self.ends)
            self._piece(before, self._fitting(expression, taken), self.ends)
        else:
            self._line(before, expression, self.ends)
        return Name(name)

    def _short(self, expression: Expression) -> str:
        """Name the receiver of a call that is too long, unless it is a name already."""
        if isinstance(expression, Call) and expression.method == "expect" and expression.on is None:
            subject = expression.arguments[0]
            named = subject if isinstance(subject, Name) else self._named(subject)
            return f"expect({self.piece(named).flat})"
        if isinstance(expression, Name) or (isinstance(expression, Part) and isinstance(expression.on, Name)):
            return self.piece(expression).flat
        return self.piece(self._named(expression)).flat

    # ------------------------------------------------------------------------------------ expressions

    def _fresh(self, name: str) -> str:
        """Return a name that may be declared here: in a language with declarations `element`, then `element2`."""
        self._declared[name] += 1
        number = self._declared[name] if self.declares else 1
        return name if number == 1 else f"{name}{number}"

    def _helper(self, name: str, *arguments: Expression) -> Call:
        return Call(None, name, arguments)

    def expression(self, expression: Expression) -> str:
        """Write the expression in one line."""
        return self.piece(expression).flat

    def piece(self, expression: Expression) -> Piece:
        """Write the expression in one line or more."""
        match expression:
            case Text():
                return self._text(expression)
            case Regex(parts=parts, ignore_case=ignore_case):
                compiles, flag = self.regex
                return layout.call(compiles, [self._regex(parts), *([atom(flag)] if ignore_case else [])])
            case code.Constant(value=value):
                return atom(self.truth[value] if isinstance(value, bool) else _number(value))
            case code.ListLiteral(each=each):
                return layout.call("", [self.piece(one) for one in each], "[", "]")
            case code.Fields(fields=fields):
                return self._mapping([(name, self.piece(one)) for name, one in fields])
            case Name(name=name, is_parameter=is_parameter):
                return atom(self._names[name] if is_parameter else self._locals.get(name, name))
            case Part(on=on):
                return atom(f"{self.expression(on)}{self._part(expression)}")
            case Call(on=on):
                return layout.after("" if on is None else self.expression(on), self._own(expression))

    def _own(self, call: Call) -> Piece:
        """Write a call without its receiver."""
        told = [self.piece(one) for one in call.arguments]
        if call.options:
            told += self._options([(name, self.piece(one)) for name, one in call.options])
        if call.on is None:
            return self._called(self.spelt(call.method), *told)
        return layout.call(self._method(call.method), told)

    def _called(self, name: str, *arguments: Piece) -> Piece:
        """Write the call of a function, which the script brings with it if it is one of those."""
        self.helpers |= {name} & self.catalogue.keys()
        return layout.call(name, arguments)

    def _mapping(self, fields: Sequence[tuple[str, Piece]]) -> Piece:
        begins, key, ends = self.braces
        return layout.call("", [layout.after(key.format(name), one) for name, one in fields], begins, ends)

    def _regex(self, parts: Sequence[str | Text]) -> Piece:
        """Write a regular expression's text; a `Text` in it is matched literally."""
        pieces: list[Piece] = []
        run = ""
        for part in parts:
            literal = part if isinstance(part, str) else part.literal
            if literal is not None:
                run += literal if isinstance(part, str) else regex_escaped(literal)
                continue
            assert isinstance(part, Text)
            pieces += [atom(self.raw(run))] if run else []
            pieces.append(self._called(self.escapes, self._text(part)))
            run = ""
        if run or not pieces:
            pieces.append(atom(self.raw(run)))
        return layout.total(pieces)


def _number(value: float) -> str:
    return f"{int(value):_}" if float(value).is_integer() and abs(value) >= 1_000 else f"{value:g}"


def _beginnings(expression: Expression) -> list[Call | Part]:
    """List the beginnings of a chain that may get a name: locators first, shortest first."""
    chain: list[Call | Part] = []
    others: list[Call | Part] = []
    inner, looks = _subject(expression), True
    while isinstance(inner, Call | Part) and not (isinstance(inner, Call) and inner.on is None):
        if not (isinstance(inner, Part) and inner.name == "keyboard"):
            (chain if looks else others).append(inner)
        looks = isinstance(inner, Call) and inner.method.startswith(_LOOKING)
        inner = inner.on
    return [*chain[::-1], *others[::-1]]


def _subject(expression: Expression) -> Expression | None:
    """Return the receiver of a call; of an assertion, its subject."""
    if isinstance(expression, Part):
        return expression.on
    if not isinstance(expression, Call):
        return None
    on = expression.on
    if isinstance(on, Call) and on.on is None and on.method == "expect":
        return on.arguments[0]
    return on


def _replaced(expression: Expression, old: Expression, new: Expression) -> Expression:
    """Replace the beginning of an expression."""
    if expression is old:
        return new
    if isinstance(expression, Part):
        return Part(_replaced(expression.on, old, new), expression.name)
    if not isinstance(expression, Call) or expression.on is None:
        if isinstance(expression, Call) and expression.method == "expect":
            return Call(None, "expect", (_replaced(expression.arguments[0], old, new),))
        return expression
    return Call(_replaced(expression.on, old, new), expression.method, expression.arguments, expression.options)


def _name_for(expression: Call | Part) -> str:
    """Return a variable's name for it: frame, row or element."""
    method = expression.method if isinstance(expression, Call) else ""
    if method == "frame_locator" or (method == "nth" and _is_frame(expression)):
        return "frame"
    row: Expression = expression
    while isinstance(row, Call) and row.method == "filter" and row.on is not None:
        row = row.on
    words = row.arguments[0] if isinstance(row, Call) and row.method == "get_by_role" else None
    return "row" if isinstance(words, Text) and words.literal in ("row", "listitem") else "element"


def _is_frame(expression: Expression) -> bool:
    return isinstance(expression, Call) and isinstance(expression.on, Call) and expression.on.method == "frame_locator"

"""Statements as Python, for Playwright's synchronous interface, in the form that `ruff format` leaves alone."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from replaywright.domain.common.templates import Placeholder
from replaywright.export import code, layout, patterns
from replaywright.export.code import Call, Condition, Expression, Name, Part, Regex, Statement, Text
from replaywright.export.layout import WIDTH, Piece, atom, columns
from replaywright.export.names import PYTHON_RESERVED, identifiers, snake
from replaywright.export.python_helpers import HELPERS
from replaywright.export.quoting import (
    comment_lines,
    plain,
    python_body,
    python_raw,
    python_string,
    regex_escaped,
)

_LOOKING: Final = ("get_by_", "locator", "frame_locator")
_LONG_NAME: Final = 40
"""Characters before a value from which on it is read in a line of its own."""
_EVENTS: Final = {
    "popup": "expect_popup",
    "download": "expect_download",
    "response": "expect_response",
    "file_chooser": "expect_file_chooser",
}


class PythonCode:
    """Lines of a function's body; what they need is gathered meanwhile."""

    def __init__(self, names: Mapping[str, str], indent: int = 1) -> None:
        """`names` are the identifiers of the parameters."""
        self.lines: list[str] = []
        self.modules: set[str] = set()
        self.types: set[str] = set()
        self.helpers: set[str] = set()
        self._names = dict(names)
        self._indent = indent

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
                indent = "    " * self._indent
                self.lines += [indent + line for line in comment_lines(words, "#", WIDTH - len(indent) - 2)]
            case code.Blank():
                self.lines.append("")
            case code.Do(call=call):
                self._line("", call)
            case code.CurrentTab():
                self._tab(statement)
            case code.ClosePage():
                self._plain("closed, page = page, page.opener() or page.context.pages[0]")
                self._plain("closed.close()")
            case code.During():
                self._during(statement)
            case code.Dialogs():
                self._dialogs(statement)
            case code.SaveDownload(name=name):
                told = () if name is None else (name,)
                self._line("", self._helper("keep", Part(Name("download_info"), "value"), *told))
            case code.ExpectStatus(status=status):
                self._line("", self._helper("expect_status", Part(Name("response_info"), "value"), code.text(status)))
            case code.Expect(condition=condition):
                self._expect(condition)
            case code.Warn(condition=condition, text=words):
                self.modules.add("import sys")
                with self._block("if not ", condition):
                    said = python_string(f"warning: {plain(words)}")
                    self._piece("", layout.call("print", [atom(said), atom("file=sys.stderr")]))
            case code.When(condition=condition, body=body):
                with self._block("if ", condition):
                    self.write(body or (code.Comment("Nothing."),))
                    if not _acts(body):
                        self._plain("pass")
            case code.Repeat():
                self._for_each(statement)
            case code.Read():
                self._read(statement)
            case code.AskPerson():
                self._person(statement)

    def _expect(self, condition: Condition) -> None:
        match condition:
            case code.Assertion(call=call):
                self._line("", call)
            case code.Both(checks=checks):
                for check in checks:
                    self._expect(check)
            case code.Either():
                self._piece("", self._raising(condition))

    @contextmanager
    def _block(self, begins: str, condition: Condition) -> Iterator[None]:
        self.helpers.add("holds")
        check = layout.call("holds", [layout.after("lambda: ", self._raising(condition))])
        self._piece(begins, check, ":")
        with self._indented():
            yield

    @contextmanager
    def _indented(self) -> Iterator[None]:
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1

    def _raising(self, condition: Condition) -> Piece:
        """Write the condition as an expression that raises `AssertionError` unless it holds."""
        match condition:
            case code.Assertion(call=call):
                return self._fitting(call, 40)
            case code.Both(checks=[only]):
                return self._raising(only)
            case code.Both(checks=checks):
                return layout.call("", [self._raising(check) for check in checks])
            case code.Either(checks=checks):
                self.helpers.add("expect_any")
                checked = [layout.after("lambda: ", self._raising(check)) for check in checks]
                return layout.call("expect_any", checked)

    def _tab(self, tab: code.CurrentTab) -> None:
        match tab.how:
            case "popup":
                self._plain("page = popup_info.value")
            case "latest":
                self._plain("page = page.context.pages[-1]")
            case "first":
                self._plain("page = page.context.pages[0]")
            case "url":
                self._line("page = ", self._helper("tab_at", code.PAGE, tab.contains))
            case "title":
                self._line("page = ", self._helper("tab_titled", code.PAGE, tab.contains))
        if tab.how != "popup":
            self._plain("page.bring_to_front()")

    def _during(self, during: code.During) -> None:
        matching: tuple[Expression, ...] = ()
        if during.event == "response":
            matching = (self._helper("answering", during.url_contains, code.text(during.http_method)),)
        begins = Call(code.PAGE, _EVENTS[during.event], matching)
        self._line("with ", begins, f" as {during.event}_info:")
        with self._indented():
            self.write(during.body)
        if during.event == "file_chooser":
            self._plain("file_chooser = file_chooser_info.value")

    def _dialogs(self, dialogs: code.Dialogs) -> None:
        answers = code.ListLiteral(tuple(code.Constant(answer) for answer in dialogs.answers))
        options: list[tuple[str, Expression]] = []
        if dialogs.every:
            options.append(("every", code.Constant(value=True)))
        if dialogs.text is not None:
            options.append(("text", dialogs.text))
        self.helpers.add("answering_dialogs")
        begins = Call(None, "answering_dialogs", (code.PAGE, answers), tuple(options))
        self._line("with ", begins, " as asked:" if dialogs.said else ":")
        with self._indented():
            self.write(dialogs.body)
            if not _acts(dialogs.body):
                self._plain("pass")
        for words in dialogs.said:
            self._line("", self._helper("expect_asked", Name("asked"), words))

    def _for_each(self, loop: code.Repeat) -> None:
        fresh = identifiers(
            (loop.item, *(f"{loop.item}.{column}" for column in loop.columns)),
            lambda name: snake(name.removeprefix(f"{loop.item}.")),
            {*PYTHON_RESERVED, *self._names.values()},
        )
        outside = dict(self._names)
        whole = fresh[loop.item]
        is_table = loop.source == "rows"
        variable = "cells" if is_table else whole
        told = [atom(str(loop.limit)), self._source(loop), *([atom("stop=True")] if loop.stops else [])]
        self.helpers.add("at_most")
        self._piece(f"for {variable} in ", layout.call("at_most", told), ":")
        self._names |= fresh
        with self._indented():
            if is_table:
                if code.uses(loop.body, loop.item):
                    self._plain(f'{whole} = " ".join(filter(None, cells.values()))')
                for column in loop.columns:
                    self._plain(f"{fresh[f'{loop.item}.{column}']} = cells[{python_string(column)}]")
            if any(isinstance(one, code.Read) for one in code.all_of(loop.body)):
                item = "cells" if is_table else whole
                self._plain(f'entry: dict[str, Any] = {{"item": {item}}}')
                self._plain(f"result.setdefault({python_string(loop.item)}, []).append(entry)")
                self.modules.add("from typing import Any")
            if loop.skips:
                self._skipping(loop.body, "cells" if is_table else whole)
            else:
                self.write(loop.body)
        self._names = outside

    def _skipping(self, body: Sequence[Statement], item: str) -> None:
        self.types.add("Error")
        self.modules.add("import sys")
        self._plain("try:")
        with self._indented():
            self.write(body)
        self._plain("except (AssertionError, Error) as error:")
        with self._indented():
            self._plain(f'print(f"left {{{item}}}: {{error}}", file=sys.stderr)')

    def _source(self, loop: code.Repeat) -> Piece:
        match loop.source:
            case "values":
                return self.piece(loop.of)
            case "texts":
                return self._fitting(Call(loop.of, "all_inner_texts"), 40)
            case "rows":
                call = self._helper("table_rows", loop.of)
                if not loop.where:
                    return self._fitting(call, 40)
                self._line("rows = ", call)
                for test in map(self._cell, loop.where):
                    line = f"rows = [cells for cells in rows if {test}]"
                    if len(line) + 4 * self._indent <= WIDTH:
                        self._plain(line)
                    else:
                        for part in ("rows = [", "    cells", "    for cells in rows", f"    if {test}", "]"):
                            self._plain(part)
                return atom("rows")

    def _cell(self, cell: code.CellIs) -> str:
        found = f"cells[{python_string(cell.column)}]"
        if cell.kind == "matches":
            self.modules.add("import re")
            pattern = patterns.in_python(cell.texts[0].literal or "") or ""
            return f"re.search({self._regex((pattern,)).flat}, {found})"
        self.helpers.add("alike")
        words = [f"alike({self.expression(one)})" for one in cell.texts]
        match cell.kind:
            case "equals":
                return f"alike({found}) == {words[0]}"
            case "contains":
                return f"{words[0]} in alike({found})"
            case "one_of":
                return f"alike({found}) in [{', '.join(words)}]"
            case _:
                return f"alike({found}) not in [{', '.join(words)}]"

    def _read(self, read: code.Read) -> None:
        self.modules.add("from typing import Any")
        into = f"{'entry' if read.item else 'result'}[{python_string(read.field)}] = "
        match read.take:
            case "text":
                value: Call = Call(read.of, "inner_text")
            case "texts":
                value = Call(read.of, "all_inner_texts")
            case "value":
                value = Call(read.of, "input_value")
            case "attribute":
                value = Call(read.of, "get_attribute", (code.text(read.attribute),))
            case "table":
                value = self._helper("table_rows", read.of)
            case "count":
                value = Call(read.of, "count")
            case _:
                raise AssertionError(f"nothing is taken by {read.take!r}")
        if read.kind in ("number", "integer") and read.take != "count":
            value = self._helper("number", value)
        if read.kind == "integer" and read.take != "count":
            value = Call(None, "int", (value,))
        if read.kind == "boolean":
            value = Call(Call(None, "str", (value,)), "lower")
            self._line("value = ", value)
            self._plain(f'{into}value in {{"true", "yes", "1", "on"}}')
        elif columns(into) > _LONG_NAME:
            self._line("value = ", value)
            self._plain(f"{into}value")
        else:
            self._line(into, value)

    def _person(self, person: code.AskPerson) -> None:
        match person.asks:
            case "approval":
                self._line("", self._helper("approve", code.text(plain(person.text))))
            case "hands":
                words = f"{plain(person.text)} Press Enter when it is done. "
                self._piece("", layout.call("input", [atom(python_string(words))]))
            case "code":
                asked = python_string(f"{plain(person.text)}: ")
                self._piece("code = ", layout.call("input", [atom(asked)]))

    # ------------------------------------------------------------------------------------------ lines

    def _plain(self, line: str) -> None:
        self.lines.append("    " * self._indent + line)

    def _piece(self, before: str, piece: Piece, after: str = "") -> None:
        """Write one statement, over several lines if needed."""
        self._plain(before + piece.written(4 * self._indent, columns(before), columns(after)) + after)

    def _line(self, before: str, call: Call, after: str = "") -> None:
        """Write one statement around a call, over several lines if needed."""
        taken = columns(before) + columns(after) + 4 * self._indent
        piece = self._fitting(call, taken)
        if columns(piece.flat) + taken > WIDTH and call.on is not None:
            piece = layout.after(f"{self._short(call.on)}.", self._own(call))
        self._piece(before, piece, after)

    def _fitting(self, expression: Expression, taken: int) -> Piece:
        """Write the expression; if it is too long for a line, its beginning gets a name in the line before."""
        piece = self.piece(expression)
        if columns(piece.flat) + taken <= WIDTH or not isinstance(expression, Call | Part):
            return piece
        fitting: list[tuple[int, Call | Part]] = []
        for beginning in _beginnings(expression):
            name = _name_for(beginning)
            rest = self.piece(_replaced(expression, beginning, Name(name)))
            named = columns(f"{name} = {self.piece(beginning).flat}") + 4 * self._indent
            fitting.append(((columns(rest.flat) + taken > WIDTH) * 2 + (named > WIDTH), beginning))
        if not fitting:
            return piece
        best = min(penalty for penalty, _ in fitting)
        chosen = next(beginning for penalty, beginning in fitting if penalty == best)
        if best > 1:  # not even the whole of it helps
            chosen = fitting[-1][1]
        return self.piece(_replaced(expression, chosen, self._named(chosen)))

    def _named(self, expression: Expression) -> Expression:
        """Give the expression a name, in a line of its own."""
        if not isinstance(expression, Call | Part):
            return expression
        name = _name_for(expression)
        if isinstance(expression, Part):
            piece = self._fitting(expression, 4 * self._indent + len(name) + 3)
            self._piece(f"{name} = ", piece)
        else:
            self._line(f"{name} = ", expression)
        return Name(name)

    def _short(self, expression: Expression) -> str:
        """Name the receiver of a call that is too long, unless it is a name already."""
        if isinstance(expression, Call) and expression.method == "expect" and expression.on is None:
            subject = expression.arguments[0]
            named = subject if isinstance(subject, Name) else self._named(subject)
            self.types.add("expect")
            return f"expect({self.piece(named).flat})"
        if isinstance(expression, Name) or (isinstance(expression, Part) and isinstance(expression.on, Name)):
            return self.piece(expression).flat
        return self.piece(self._named(expression)).flat

    # ------------------------------------------------------------------------------------ expressions

    def _helper(self, name: str, *arguments: Expression) -> Call:
        self.helpers.add(name)
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
                self.modules.add("import re")
                flags = [atom("re.IGNORECASE")] if ignore_case else []
                return layout.call("re.compile", [self._regex(parts), *flags])
            case code.Constant(value=value):
                return atom(str(value) if isinstance(value, bool) else _number(value))
            case code.ListLiteral(each=each):
                return layout.call("", [self.piece(one) for one in each], "[", "]")
            case code.Fields(fields=fields):
                told = [layout.after(f'"{name}": ', self.piece(one)) for name, one in fields]
                return layout.call("", told, "{", "}")
            case Name(name=name, is_parameter=is_parameter):
                return atom(self._names[name] if is_parameter else name)
            case Part(on=on, name=name):
                return atom(f"{self.expression(on)}.{name}")
            case Call(on=on):
                where = "" if on is None else f"{self.expression(on)}."
                return layout.after(where, self._own(expression))

    def _own(self, call: Call) -> Piece:
        """Write a call without its receiver."""
        told = [self.piece(one) for one in call.arguments]
        told += [layout.after(f"{name}=", self.piece(one)) for name, one in call.options]
        if call.on is None and call.method in HELPERS:
            self.helpers.add(call.method)
        if call.on is None and call.method == "expect":
            self.types.add("expect")
        return layout.call(call.method, told)

    def _text(self, text: Text) -> Piece:
        """Write a literal, a name, an f-string, or a sum if secrets are in it."""
        pieces: list[Piece] = []
        run: list[str | Placeholder] = []
        for part in text.parts:
            if isinstance(part, Placeholder) and part.kind != "parameter":
                pieces += [atom(self._formatted(run))] if run else []
                pieces.append(layout.call(part.kind, [atom(python_string(part.name))]))
                self.helpers.add(part.kind)
                run = []
            else:
                run.append(part)
        if run or not pieces:
            pieces.append(atom(self._formatted(run)))
        return layout.total(pieces)

    def _formatted(self, parts: Sequence[str | Placeholder]) -> str:
        if len(parts) == 1 and isinstance(parts[0], Placeholder):
            return self._names[parts[0].name]
        literal = "".join(part for part in parts if isinstance(part, str))
        if all(isinstance(part, str) for part in parts):
            return python_string(literal)
        quote = "'" if literal.count('"') > literal.count("'") else '"'
        body = "".join(
            f"{{{self._names[part.name]}}}"
            if isinstance(part, Placeholder)
            else python_body(part, quote, formatted=True)
            for part in parts
        )
        return f"f{quote}{body}{quote}"

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
            self.modules.add("import re")
            pieces += [atom(python_raw(run))] if run else []
            pieces.append(layout.call("re.escape", [self._text(part)]))
            run = ""
        if run or not pieces:
            pieces.append(atom(python_raw(run)))
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


def _acts(body: Sequence[Statement]) -> bool:
    """Return True if the body has anything but comments."""
    return any(not isinstance(statement, code.Comment | code.Blank) for statement in body)

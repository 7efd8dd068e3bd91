"""Statements as Python, for Playwright's synchronous interface, in the form that `ruff format` leaves alone."""

from collections.abc import Sequence
from typing import Final

from replaywright.domain.common.templates import Placeholder
from replaywright.export import code, layout, patterns
from replaywright.export.code import PAGE, Call, Expression, Name, Part, Statement, Text
from replaywright.export.layout import Piece, atom
from replaywright.export.names import PYTHON_RESERVED, snake
from replaywright.export.python_helpers import HELPERS
from replaywright.export.quoting import plain, python_body, python_raw, python_string
from replaywright.export.writer import Writer

_TABS: Final = {"popup": "popup_info.value", "latest": "page.context.pages[-1]", "first": "page.context.pages[0]"}


class PythonCode(Writer):
    """Lines of a function's body."""

    style = layout.PYTHON
    mark = "#"
    braces = ("{", '"{}": ', "}")
    regex = ("re.compile", "re.IGNORECASE")
    escapes = "re.escape"
    checks = "lambda: "
    together = ("(", ")")
    asks = (("if ", ":"), ("if not ", ":"))
    warns = ("print", "file=sys.stderr")
    closing = ("closed, page = page, page.opener() or page.context.pages[0]", "closed.close()")
    loops = ("for {} in ", ":")
    entry = ('entry: dict[str, Any] = {{"item": {one}}}', "result.setdefault({key}, []).append(entry)")
    cell = "cells[{}]"
    row_text = '" ".join(filter(None, cells.values()))'
    tests = {  # noqa: RUF012 - never changed
        "equals": "{found} == {0}",
        "contains": "{0} in {found}",
        "one_of": "{found} in [{all}]",
        "none_of": "{found} not in [{all}]",
    }
    conversions = {  # noqa: RUF012 - never changed
        "string": "{}",
        "number": "number({})",
        "integer": "int(number({}))",
        "boolean": 'str({}).lower() in {"true", "yes", "1", "on"}',
    }
    truth = ("False", "True")
    stops = "stop=True"
    nothing = "pass"
    reserved = PYTHON_RESERVED
    catalogue = HELPERS
    spelt = staticmethod(snake)
    string = staticmethod(python_string)
    raw = staticmethod(python_raw)

    # ------------------------------------------------------------------------------------ statements

    def _tab(self, tab: code.CurrentTab) -> None:
        if tab.how in _TABS:
            self._plain(f"page = {_TABS[tab.how]}")
        else:
            titled = (("titled", code.Constant(tab.how == "title")),)
            self._line("page = ", Call(None, "tab_with", (PAGE, tab.contains), titled))
        if tab.how != "popup":
            self._plain("page.bring_to_front()")

    def _during(self, during: code.During) -> None:
        matching: tuple[Expression, ...] = ()
        if during.event == "response":
            matching = (self._helper("answering", during.url_contains, code.text(during.http_method)),)
        self._line("with ", Call(PAGE, f"expect_{during.event}", matching), f" as {during.event}_info:")
        with self._indented():
            self.write(during.body)
        if during.event == "file_chooser":
            self._plain("file_chooser = file_chooser_info.value")

    def _happened(self, event: str) -> Expression:
        return Part(Name(f"{event}_info"), "value")

    def _dialogs(self, dialogs: code.Dialogs) -> None:
        answers = code.ListLiteral(tuple(code.Constant(answer) for answer in dialogs.answers))
        options: list[tuple[str, Expression]] = [("every", code.Constant(value=True))] if dialogs.every else []
        options += [] if dialogs.text is None else [("text", dialogs.text)]
        begins = Call(None, "answering_dialogs", (PAGE, answers), tuple(options))
        self._line("with ", begins, " as asked:" if dialogs.said else ":")
        with self._indented():
            self._body(dialogs.body)
        for words in dialogs.said:
            self._done(self._helper("expect_asked", Name("asked"), words))

    def _skipping(self, body: Sequence[Statement], one: str) -> None:
        self._plain("try:")
        with self._indented():
            self.write(body)
        self._plain("except (AssertionError, Error) as error:")
        with self._indented():
            self._plain(f'print(f"left {{{one}}}: {{error}}", file=sys.stderr)')

    def _chosen(self, rows: Call, tests: Sequence[str]) -> Piece:
        self._line("rows = ", rows)
        for test in tests:
            line = f"rows = [cells for cells in rows if {test}]"
            if len(line) + 4 * self._indent <= self.style.width:
                self._plain(line)
            else:
                for part in ("rows = [", "    cells", "    for cells in rows", f"    if {test}", "]"):
                    self._plain(part)
        return atom("rows")

    def _matches(self, pattern: str, found: str) -> str:
        return f"re.search({python_raw(patterns.in_python(pattern) or '')}, {found})"

    def _person(self, person: code.AskPerson) -> None:
        match person.asks:
            case "approval":
                self._done(self._helper("approve", code.text(plain(person.text))))
            case "hands":
                words = f"{plain(person.text)} Press Enter when it is done. "
                self._piece("", layout.call("input", [atom(python_string(words))]))
            case "code":
                self._piece("code = ", layout.call("input", [atom(python_string(f"{plain(person.text)}: "))]))

    # ------------------------------------------------------------------------------------ expressions

    def _options(self, options: Sequence[tuple[str, Piece]]) -> list[Piece]:
        return [layout.after(f"{name}=", one) for name, one in options]

    def _part(self, part: Part) -> str:
        return f".{part.name}"

    def _method(self, method: str) -> str:
        return f".{method}"

    def _text(self, text: Text) -> Piece:
        """Write a literal, a name, an f-string, or a sum if secrets are in it."""
        pieces: list[Piece] = []
        run: list[str | Placeholder] = []
        for part in text.parts:
            if isinstance(part, Placeholder) and part.kind != "parameter":
                pieces += [atom(self._formatted(run))] if run else []
                pieces.append(self._called(part.kind, atom(python_string(part.name))))
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

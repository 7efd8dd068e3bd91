"""Statements as TypeScript, for Playwright's own runner."""

from collections.abc import Mapping, Sequence
from typing import Final

from replaywright.domain.common.templates import Placeholder
from replaywright.export import code, layout, patterns
from replaywright.export.code import Call, Expression, Name, Part, Regex, Statement, Text
from replaywright.export.layout import Piece, atom
from replaywright.export.names import TYPESCRIPT_RESERVED, camel
from replaywright.export.quoting import typescript_body, typescript_string
from replaywright.export.typescript_helpers import HELPERS
from replaywright.export.writer import Writer

_EVENTS: Final = {"popup": "popup", "download": "download", "file_chooser": "filechooser"}
_PROPERTIES: Final = frozenset({"keyboard"})
_OWN_NAMES: Final = {"to_have_url": "toHaveURL"}


class TypeScriptCode(Writer):
    """Lines of a test's body."""

    style = layout.TYPESCRIPT
    mark = "//"
    awaits = "await "
    declares = "const "
    ends = ";"
    closes = "}"
    braces = ("{ ", "{}: ", " }")
    regex = ("new RegExp", "'i'")
    escapes = "literally"
    checks = "() => "
    together = ("Promise.all([", "])")
    asks = (("if (await ", ") {"), ("if (!(await ", ")) {"))
    warns = ("console.warn",)
    closing = (
        "const {0} = page;",
        "page = (await page.opener()) ?? page.context().pages()[0];",
        "await {0}.close();",
    )
    loops = ("for (const {} of ", ") {")
    listed = "result[{}] ??= [];"
    entry = (
        "const entry: Record<string, unknown> = {{ item: {one} }};",
        "(result[{key}] as unknown[]).push(entry);",
    )
    cell = "(cells[{}] ?? '')"
    row_text = "Object.values(cells).filter(Boolean).join(' ')"
    tests = {  # noqa: RUF012 - never changed
        "equals": "{found} === {0}",
        "contains": "{found}.includes({0})",
        "one_of": "[{all}].includes({found})",
        "none_of": "![{all}].includes({found})",
    }
    conversions = {  # noqa: RUF012 - never changed
        "string": "{}",
        "number": "number({})",
        "integer": "Math.trunc(number({}))",
        "boolean": "['true', 'yes', '1', 'on'].includes(String({}).toLowerCase())",
    }
    truth = ("false", "true")
    stops = "true"
    reserved = TYPESCRIPT_RESERVED
    catalogue = HELPERS
    spelt = staticmethod(camel)
    string = staticmethod(typescript_string)
    raw = staticmethod(typescript_string)

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` are the identifiers of the parameters."""
        super().__init__(names)
        self._promises: dict[str, str] = {}

    # ------------------------------------------------------------------------------------ statements

    def _tab(self, tab: code.CurrentTab) -> None:
        match tab.how:
            case "popup":
                self._plain(f"page = await {self._promises['popup']};")
                return
            case "latest":
                self._plain("page = page.context().pages().at(-1) ?? page;")
            case "first":
                self._plain("page = page.context().pages()[0];")
            case _:
                asked = "tab.url()" if tab.how == "url" else "await tab.title()"
                with self._block("for (const tab of ", atom("page.context().pages()"), ") {"):
                    self._plain(f"if (({asked}).includes({self.expression(tab.contains)})) page = tab;")
        self._plain("await page.bringToFront();")

    def _during(self, during: code.During) -> None:
        name = self._promises[during.event] = self._fresh(f"{camel(during.event)}Promise")
        begins = Call(code.PAGE, "wait_for_event", (code.text(_EVENTS.get(during.event, "")),))
        if during.event == "response":
            meant = self._helper("answering", during.url_contains, code.text(during.http_method))
            begins = Call(code.PAGE, "wait_for_response", (meant,))
        self._line(f"const {name} = ", begins, ";")
        self.write(during.body)
        if during.event == "file_chooser":
            chooser = self._locals["file_chooser"] = self._fresh("fileChooser")
            self._plain(f"const {chooser} = await {name};")

    def _happened(self, event: str) -> Expression:
        return Name(f"await {self._promises[event]}")

    def _dialogs(self, dialogs: code.Dialogs) -> None:
        answers = ", ".join(self.truth[answer] for answer in dialogs.answers)
        options = ["every: true"] if dialogs.every else []
        options += [] if dialogs.text is None else [f"text: {self.expression(dialogs.text)}"]
        told = f"{{ {', '.join(options)} }}" if options else "{}"
        asked = self._fresh("asked") if dialogs.said else ""
        begins = f"const {asked} = await " if asked else "await "
        opens = self._called("answeringDialogs", *map(atom, ("page", f"[{answers}]", told, "async () => {"))).flat
        with self._block(begins, atom(opens.removesuffix(")")), "", closes="});"):
            self.write(dialogs.body)
        for words in dialogs.said:
            self._done(self._helper("expect_asked", Name(asked), words))

    def _skipping(self, body: Sequence[Statement], one: str) -> None:
        with self._block("try {", atom(""), "", closes="} catch (error) {"):
            self.write(body)
        self._plain(f"  console.warn('left', {one}, error);")
        self._plain("}")

    def _chosen(self, rows: Call, tests: Sequence[str]) -> Piece:
        return atom(f"(await {self.expression(rows)}).filter((cells) => {' && '.join(tests)})")

    def _matches(self, pattern: str, found: str) -> str:
        return f"{self.expression(patterns.shared(pattern) or Regex(()))}.test({found})"

    # ------------------------------------------------------------------------------------ expressions

    def _options(self, options: Sequence[tuple[str, Piece]]) -> list[Piece]:
        return [self._mapping([(camel(name), one) for name, one in options])]

    def _part(self, part: Part) -> str:
        return f".{part.name}" if part.name in _PROPERTIES else f".{camel(part.name)}()"

    def _method(self, method: str) -> str:
        positive = method.removeprefix("not_")
        return f"{'.not' if positive != method else ''}.{_OWN_NAMES.get(positive, camel(positive))}"

    def _text(self, text: Text) -> Piece:
        """Write a literal, a name, or a template literal."""
        if text.literal is not None:
            return atom(typescript_string(text.literal))
        if len(text.parts) == 1:
            return atom(self._place(text.parts[0]))
        body = "".join(
            typescript_body(part, "`") if isinstance(part, str) else f"${{{self._place(part)}}}" for part in text.parts
        )
        return atom(f"`{body}`")

    def _place(self, part: str | Placeholder) -> str:
        assert isinstance(part, Placeholder)
        if part.kind == "parameter":
            return self._names[part.name]
        return self._called(part.kind, atom(typescript_string(part.name))).flat

"""A skill as a test in TypeScript for Playwright's own runner."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from replaywright.domain.common.lists import list_of
from replaywright.domain.common.templates import Placeholder
from replaywright.domain.skill.skills import Skill
from replaywright.export import code, patterns
from replaywright.export.code import Call, Condition, Expression, Name, Part, Regex, Script, Statement, Text
from replaywright.export.helpers import with_others
from replaywright.export.names import TYPESCRIPT_RESERVED, camel, environment_name, identifiers
from replaywright.export.quoting import comment_lines, plain, regex_escaped, typescript_body, typescript_string
from replaywright.export.typescript_helpers import HELPERS

_WIDTH: Final = 100
_EVENTS: Final = {"popup": "popup", "download": "download", "file_chooser": "filechooser"}
_PROPERTIES: Final = frozenset({"keyboard"})
_OWN_NAMES: Final = {"to_have_url": "toHaveURL"}


def typescript_test(skill: Skill, script: Script) -> str:
    """Write a file with one test; parameters come from the environment."""
    names = identifiers(script.parameters, camel, TYPESCRIPT_RESERVED)
    body = TypeScriptCode(names)
    body.write(script.statements)
    helpers = with_others(HELPERS, {*body.helpers, *(["parameter"] if names else [])})
    types = sorted({one for name in helpers for one in HELPERS[name].types})
    imported = ", ".join(["expect as baseExpect", "test", *(f"type {one}" for one in types)])
    node = sorted({line for name in helpers for line in HELPERS[name].imports})
    moves = any(isinstance(one, code.CurrentTab | code.ClosePage) for one in code.all_of(script.statements))
    title, given = typescript_string(plain(skill.label or skill.name)), "page: firstPage" if moves else "page"
    lines = [
        *_header(skill, script),
        *node,
        f"import {{ {imported} }} from '@playwright/test';",
        "",
        "const expect = baseExpect.configure({ timeout: 10_000 });",
        "",
        *_use(skill),
        *(line for name in helpers for line in (*HELPERS[name].lines, "")),
        f"test({title}, async ({{ {given} }}) => {{",
        "  test.setTimeout(0); // every step has a limit of its own",
        *(["  let page = firstPage;"] if moves else []),
        *_given(skill, names),
        *(["  const result: Record<string, unknown> = {};"] if script.reads else []),
        *(_with_lists(body.lines, script)),
        *(["  console.log(JSON.stringify(result));"] if script.reads else []),
        "});",
    ]
    return "\n".join(lines) + "\n"


def _with_lists(lines: Sequence[str], script: Script) -> list[str]:
    """Put the declarations of result lists around the body."""
    items = dict.fromkeys(one.item for one in code.all_of(script.statements) if isinstance(one, code.Read) and one.item)
    begin = [f"  const {camel(item)}Entries: Record<string, unknown>[] = [];" for item in items]
    end = [f"  result[{typescript_string(item)}] = {camel(item)}Entries;" for item in items]
    return [*begin, *lines, *end]


def _header(skill: Skill, script: Script) -> list[str]:
    """Write the header: purpose, origin, usage and gaps."""
    given = " ".join(
        f"{environment_name(skill.name, name)}=…"
        for name in script.parameters
        if skill.task.parameters[name].default is None
    )
    said = [
        skill.description or skill.label or skill.name,
        (
            f"From the skill {skill.name}, version {skill.version}, by `replaywright skills script`. "
            "It needs Playwright only:"
        ),
        "npm install @playwright/test && npx playwright install chromium",
        f"Run it with: {given} npx playwright test {skill.name}.spec.ts",
    ]
    if script.secrets:
        variables = ", ".join(f"REPLAYWRIGHT_SECRET_{name}" for name in script.secrets)
        said.append(f"Secrets come from the environment: {variables}.")
    said.append("CHROMIUM_PATH names another browser than Playwright's own.")
    if script.warnings:
        said.append("Not quite as in a replay:")
        said += [f"- {warning}" for warning in script.warnings]
    return [line for one in said for line in comment_lines(one, "//", _WIDTH - 3)] + [""]


def _use(skill: Skill) -> list[str]:
    context = skill.context
    lines = ["test.use({", "  actionTimeout: 10_000,"]
    lines.append("  launchOptions: process.env.CHROMIUM_PATH ? { executablePath: process.env.CHROMIUM_PATH } : {},")
    if re.fullmatch(r"[A-Za-z0-9-]+", context.locale):
        lines.append(f"  locale: {typescript_string(context.locale)},")
    if match := re.fullmatch(r"(\d+)x(\d+)", context.viewport):
        lines.append(f"  viewport: {{ width: {match[1]}, height: {match[2]} }},")
    return [*lines, "});", ""]


def _given(skill: Skill, names: Mapping[str, str]) -> list[str]:
    lines = []
    for name, given in names.items():
        parameter = skill.task.parameters[name]
        told = [typescript_string(environment_name(skill.name, name))]
        if parameter.default is not None:
            is_list = parameter.type == "list"
            told.append(typescript_string(", ".join(list_of(parameter.default)) if is_list else parameter.default))
        split = ".split(', ')" if parameter.type == "list" else ""
        lines.append(f"  const {given} = parameter({', '.join(told)}){split};")
    return [*lines, ""] if lines else []


class TypeScriptCode:
    """Lines of a test's body; the functions that they need are gathered meanwhile."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """`names` are the identifiers of the parameters."""
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self._names = dict(names)
        self._indent = 1
        self._count = 0
        self._promise: dict[str, str] = {}

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
                indent = "  " * self._indent
                self.lines += [indent + line for line in comment_lines(words, "//", _WIDTH - len(indent) - 3)]
            case code.Blank():
                self.lines.append("")
            case code.Do(call=call):
                self._call("await ", call, ";")
            case code.CurrentTab():
                self._tab(statement)
            case code.ClosePage():
                name = self._fresh("closed")
                self._line(f"const {name} = page;")
                self._line("page = (await page.opener()) ?? page.context().pages()[0];")
                self._line(f"await {name}.close();")
            case code.During():
                self._during(statement)
            case code.Dialogs():
                self._dialogs(statement)
            case code.SaveDownload(name=name):
                told = "" if name is None else f", {self.expression(name)}"
                self._line(f"await {self._helper('keep')}(await {self._promise['download']}{told});")
            case code.ExpectStatus(status=status):
                wanted = typescript_string(status)
                self._line(f"{self._helper('expectStatus')}(await {self._promise['response']}, {wanted});")
            case code.Expect(condition=condition):
                self._expect(condition)
            case code.Warn(condition=condition, text=words):
                said = typescript_string(f"warning: {plain(words)}")
                with self._block(f"if (!(await {self._helper('holds')}({self._check(condition)}))) {{"):
                    self._line(f"console.warn({said});")
            case code.When(condition=condition, body=body):
                with self._block(f"if (await {self._helper('holds')}({self._check(condition)})) {{"):
                    self.write(body)
            case code.Repeat():
                self._for_each(statement)
            case code.Read():
                self._read(statement)
            case code.AskPerson():
                raise AssertionError("a test does not wait for people: such skills are refused before")

    def _expect(self, condition: Condition) -> None:
        match condition:
            case code.Assertion(call=call):
                self._call("await ", call, ";")
            case code.Both(checks=checks):
                for check in checks:
                    self._expect(check)
            case code.Either(checks=checks):
                self._line(f"await {self._helper('expectAny')}(")
                for check in checks:
                    self._line(f"  {self._check(check)},")
                self._line(");")

    def _check(self, condition: Condition) -> str:
        """Write a function whose promise rejects unless the condition holds."""
        match condition:
            case code.Assertion(call=call):
                return f"() => {self.expression(call)}"
            case code.Both(checks=checks):
                each = " ".join(f"await ({self._check(check)})();" for check in checks)
                return f"async () => {{ {each} }}"
            case code.Either(checks=checks):
                return f"() => {self._helper('expectAny')}({', '.join(map(self._check, checks))})"

    @contextmanager
    def _block(self, begins: str, ends: str = "}") -> Iterator[None]:
        self._line(begins)
        self._indent += 1
        try:
            yield
        finally:
            self._indent -= 1
        self._line(ends)

    def _tab(self, tab: code.CurrentTab) -> None:
        match tab.how:
            case "popup":
                self._line(f"page = await {self._promise['popup']};")
            case "latest":
                self._line("page = page.context().pages().at(-1) ?? page;")
            case "first":
                self._line("page = page.context().pages()[0];")
            case _:
                tabs = self._fresh("tabs")
                asked = "tab.url()" if tab.how == "url" else "await tab.title()"
                self._line(f"const {tabs} = page.context().pages();")
                with self._block(f"for (const tab of {tabs}) {{"):
                    found = f"({asked}).includes({self.expression(tab.contains)})"
                    self._line(f"if ({found}) page = tab;")
        if tab.how != "popup":
            self._line("await page.bringToFront();")

    def _during(self, during: code.During) -> None:
        name = self._fresh(f"{camel(during.event)}Promise")
        self._promise[during.event] = name
        if during.event == "response":
            meant = f"{self._helper('answering')}({self.expression(during.url_contains)}, "
            meant += f"{typescript_string(during.http_method)})"
            self._line(f"const {name} = page.waitForResponse({meant});")
        else:
            self._line(f"const {name} = page.waitForEvent('{_EVENTS[during.event]}');")
        self.write(during.body)
        if during.event == "file_chooser":
            self._names["file_chooser"] = self._fresh("fileChooser")
            self._line(f"const {self._names['file_chooser']} = await {name};")

    def _dialogs(self, dialogs: code.Dialogs) -> None:
        answers = ", ".join("true" if answer else "false" for answer in dialogs.answers)
        options = ["every: true"] if dialogs.every else []
        if dialogs.text is not None:
            options.append(f"text: {self.expression(dialogs.text)}")
        told = f"{{ {', '.join(options)} }}" if options else "{}"
        asked = self._fresh("asked") if dialogs.said else ""
        begins = f"const {asked} = " if asked else ""
        helper = self._helper("answeringDialogs")
        with self._block(f"{begins}await {helper}(page, [{answers}], {told}, async () => {{", "});"):
            self.write(dialogs.body)
        for words in dialogs.said:
            self._line(f"{self._helper('expectAsked')}({asked}, {self.expression(words)});")

    def _for_each(self, loop: code.Repeat) -> None:
        fresh = identifiers(
            (loop.item, *(f"{loop.item}.{column}" for column in loop.columns)),
            lambda name: camel(name.removeprefix(f"{loop.item}.")),
            {*TYPESCRIPT_RESERVED, *self._names.values()},
        )
        outside, whole, is_table = dict(self._names), fresh[loop.item], loop.source == "rows"
        variable = "cells" if is_table else whole
        stop = ", true" if loop.stops else ""
        source = self._source(loop)
        self._names |= fresh
        with self._block(f"for (const {variable} of {self._helper('atMost')}({loop.limit}, {source}{stop})) {{"):
            if is_table and code.uses(loop.body, loop.item):
                self._line(f"const {whole} = Object.values(cells).filter(Boolean).join(' ');")
            for column in loop.columns:
                self._line(f"const {fresh[f'{loop.item}.{column}']} = cells[{typescript_string(column)}];")
            if any(isinstance(one, code.Read) for one in code.all_of(loop.body)):
                self._line(f"const entry: Record<string, unknown> = {{ item: {variable} }};")
                self._line(f"{camel(loop.item)}Entries.push(entry);")
            if loop.skips:
                with self._block("try {", "} catch (error) {"):
                    self.write(loop.body)
                self._line(f"  console.warn('left', {variable}, error);")
                self._line("}")
            else:
                self.write(loop.body)
        self._names = outside

    def _source(self, loop: code.Repeat) -> str:
        match loop.source:
            case "values":
                return self.expression(loop.of)
            case "texts":
                return f"await {self.expression(loop.of)}.allInnerTexts()"
            case "rows":
                rows = f"await {self._helper('tableRows')}({self.expression(loop.of)})"
                if not loop.where:
                    return rows
                return f"({rows}).filter((cells) => {' && '.join(map(self._cell, loop.where))})"

    def _cell(self, cell: code.CellIs) -> str:
        found = f"(cells[{typescript_string(cell.column)}] ?? '')"
        if cell.kind == "matches":
            raw = cell.texts[0].literal or ""
            pattern = patterns.shared(raw) or Regex(())
            return f"{self._regex(pattern.parts, ignore_case=pattern.ignore_case)}.test({found})"
        alike = self._helper("alike")
        words = [f"{alike}({self.expression(one)})" for one in cell.texts]
        match cell.kind:
            case "equals":
                return f"{alike}({found}) === {words[0]}"
            case "contains":
                return f"{alike}({found}).includes({words[0]})"
            case "one_of":
                return f"[{', '.join(words)}].includes({alike}({found}))"
            case _:
                return f"![{', '.join(words)}].includes({alike}({found}))"

    def _read(self, read: code.Read) -> None:
        of = self.expression(read.of)
        match read.take:
            case "text":
                value = f"await {of}.innerText()"
            case "texts":
                value = f"await {of}.allInnerTexts()"
            case "value":
                value = f"await {of}.inputValue()"
            case "attribute":
                value = f"await {of}.getAttribute({typescript_string(read.attribute)})"
            case "table":
                value = f"await {self._helper('tableRows')}({of})"
            case "count":
                value = f"await {of}.count()"
            case _:
                raise AssertionError(f"nothing is taken by {read.take!r}")
        if read.take != "count":
            match read.kind:
                case "number":
                    value = f"{self._helper('number')}({value})"
                case "integer":
                    value = f"Math.trunc({self._helper('number')}({value}))"
                case "boolean":
                    value = f"['true', 'yes', '1', 'on'].includes(String({value}).toLowerCase())"
                case "string":
                    pass
        self._line(f"{'entry' if read.item else 'result'}[{typescript_string(read.field)}] = {value};")

    # ------------------------------------------------------------------------------------------ lines

    def _line(self, line: str) -> None:
        self.lines.append("  " * self._indent + line)

    def _fresh(self, name: str) -> str:
        """Return a name that no constant has yet."""
        self._count += 1
        known = any(re.search(rf"\b{name}\b", line) for line in self.lines)
        return f"{name}{self._count}" if known else name

    def _call(self, before: str, call: Call, after: str) -> None:
        """Write a call in one line, or one link of its chain a line."""
        flat = f"{before}{self.expression(call)}{after}"
        if len(flat) + 2 * self._indent <= _WIDTH:
            self._line(flat)
            return
        if isinstance(call.on, Call) and call.on.on is None and call.on.method == "expect":
            root, *hops = self._hops(call.on.arguments[0])
            self._line(f"{before}expect(")
            self._line(f"  {root}{''.join(hops[:1])}" + ("" if hops[1:] else ","))
            for number, hop in enumerate(hops[1:], 2):
                self._line(f"    {hop}" + ("," if number == len(hops) else ""))
            self._line(f"){self._hop(call)}{after}")
            return
        root, *hops = self._hops(call)
        if len(hops) < 2 or not root:
            self._line(flat)
            return
        self._line(f"{before}{root}")
        for number, hop in enumerate(hops, 1):
            self._line(f"  {hop}" + (after if number == len(hops) else ""))

    def _hops(self, expression: Expression) -> list[str]:
        """Return the root of a chain and its calls."""
        if isinstance(expression, Part):
            return [*self._hops(expression.on), self._part(expression)]
        if isinstance(expression, Call) and expression.on is not None:
            return [*self._hops(expression.on), self._hop(expression)]
        return [self.expression(expression)]

    # ------------------------------------------------------------------------------------ expressions

    def _helper(self, name: str) -> str:
        self.helpers.add(name)
        return name

    def expression(  # noqa: PLR0911 - one case for each kind
        self, expression: Expression
    ) -> str:
        """Write the expression in one line."""
        match expression:
            case Text():
                return self._text(expression)
            case Regex(parts=parts, ignore_case=ignore_case):
                return self._regex(parts, ignore_case=ignore_case)
            case code.Constant(value=value):
                return str(value).lower() if isinstance(value, bool) else _number(value)
            case code.ListLiteral(each=each):
                return f"[{', '.join(map(self.expression, each))}]"
            case code.Fields(fields=fields):
                return "{ " + ", ".join(f"{name}: {self.expression(one)}" for name, one in fields) + " }"
            case Name(name=name):
                return self._names.get(name, name)
            case Part(on=on):
                return f"{self.expression(on)}{self._part(expression)}"
            case Call(on=None, method="expect", arguments=arguments):
                return f"expect({self.expression(arguments[0])})"
            case Call(on=None, method=method, arguments=arguments):
                helper = self._helper(camel(method))
                return f"{helper}({', '.join(map(self.expression, arguments))})"
            case Call(on=on):
                assert on is not None
                return f"{self.expression(on)}{self._hop(expression)}"

    def _part(self, part: Part) -> str:
        return f".{part.name}" if part.name in _PROPERTIES else f".{camel(part.name)}()"

    def _hop(self, call: Call) -> str:
        method = call.method
        is_not = method.startswith("not_to_")
        positive = method.removeprefix("not_")
        name = _OWN_NAMES.get(positive, camel(positive)) if is_not else _OWN_NAMES.get(method, camel(method))
        told = [self.expression(one) for one in call.arguments]
        if call.options:
            options = (f"{camel(name)}: {self.expression(one)}" for name, one in call.options)
            told.append(f"{{ {', '.join(options)} }}")
        return f"{'.not' if is_not else ''}.{name}({', '.join(told)})"

    def _text(self, text: Text) -> str:
        """Write a literal, a name, or a template literal."""
        if text.literal is not None:
            return typescript_string(text.literal)
        if len(text.parts) == 1:
            return self._place(text.parts[0])
        body = "".join(
            typescript_body(part, "`") if isinstance(part, str) else f"${{{self._place(part)}}}" for part in text.parts
        )
        return f"`{body}`"

    def _place(self, part: str | Placeholder) -> str:
        assert isinstance(part, Placeholder)
        if part.kind != "parameter":
            return f"{self._helper(part.kind)}({typescript_string(part.name)})"
        return self._names[part.name]

    def _regex(self, parts: Sequence[str | Text], *, ignore_case: bool) -> str:
        pieces: list[str] = []
        run = ""
        for part in parts:
            literal = part if isinstance(part, str) else part.literal
            if literal is not None:
                run += literal if isinstance(part, str) else regex_escaped(literal)
                continue
            assert isinstance(part, Text)
            given = f"{self._helper('literally')}({self._text(part)})"
            pieces += [*([typescript_string(run)] if run else []), given]
            run = ""
        if run or not pieces:
            pieces.append(typescript_string(run))
        return f"new RegExp({' + '.join(pieces)}{', ' + typescript_string('i') if ignore_case else ''})"


def _number(value: float) -> str:
    return f"{int(value):_}" if float(value).is_integer() and abs(value) >= 1_000 else f"{value:g}"

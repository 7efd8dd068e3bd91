"""Scripts of Playwright's code generator in Python: sync, async and pytest.

What the generator writes is in github.com/microsoft/playwright (`packages/playwright-core/src/server/codegen`): a
function with a browser, a context and a page, one call for each action, `with page.expect_popup()` and
`expect_download()` around those that open something, `page.once("dialog", …)` before those that ask something, and
`expect(…)` for assertions. The script is parsed and read, never run. Constants and locators may have names; loops,
branches and functions of the script's own are told, not unrolled.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from replaywright.domain.predicate.predicates import Downloaded
from replaywright.errors import InputInvalid
from replaywright.imports.acting import ELSEWHERE, METHODS, Actor, line_of, time_of
from replaywright.imports.data import TEXT_LIMIT, clean
from replaywright.imports.draft import TaskDraft
from replaywright.imports.expecting import address, predicate_of
from replaywright.imports.imported import Imported, RecordingKind
from replaywright.imports.locators import Locator, Pattern, by_selector, said
from replaywright.imports.script import (
    Chooser,
    Device,
    DownloadInfo,
    Names,
    Plumbing,
    Popup,
    called,
    dotted,
    unawaited,
)

_CONTEXT_OPTIONS: Final = "the session has its own; sign in by steps with secrets if the recording began signed in"
_BLOCKS: Final = {"For": "for loop", "AsyncFor": "for loop", "While": "while loop", "If": "if", "Try": "try"}


def read_codegen(text: str, name: str) -> Imported:
    """Convert the script to a task.

    Raises:
        InputInvalid: it is no Python, drives no page, or has nothing that can be taken over.
    """
    tree = parse_python(text)
    reader = _ScriptReader()
    body = reader.choose(tree)
    reader.read(body)
    docstring = clean((_docstring(tree) or "")[:TEXT_LIMIT])
    return reader.draft.finish(name, goal=docstring.strip().partition("\n")[0][:300])


def parse_python(text: str) -> ast.Module:
    """Parse the script.

    Raises:
        InputInvalid: with the line that is no Python.
    """
    try:
        return ast.parse(text)
    except SyntaxError as exc:
        raise InputInvalid(f"the recording, line {exc.lineno or 1}: not Python: {exc.msg}") from exc
    except (RecursionError, MemoryError) as exc:
        raise InputInvalid("the recording is nested too deeply to be read") from exc
    except ValueError as exc:  # NUL characters
        raise InputInvalid(f"the recording is not Python: {exc}") from exc


def drives_a_page(tree: ast.AST) -> bool:
    """Return True if a script, or a part of it, calls a method that only pages or locators have."""
    telling = {"goto", "new_page", *METHODS - {"type", "clear", "press", "check", "wait_for"}}
    return any(isinstance(node, ast.Attribute) and node.attr in telling for node in ast.walk(tree))


def _docstring(tree: ast.Module) -> str | None:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return next(filter(None, map(ast.get_docstring, (*functions, tree))), None)


class _ScriptReader:
    """Goes through the statements once. State: what names mean, which page is current, how dialogs are answered."""

    def __init__(self) -> None:
        self.draft = TaskDraft(RecordingKind.CODEGEN)
        self._names = Names()
        self._current = 0
        self._openers: dict[int, int] = {}
        self._open: list[int] = []
        self._actor = Actor(self.draft, self._names)

    # --------------------------------------------------------------------------------------------- the script

    def choose(self, tree: ast.Module) -> Sequence[ast.stmt]:
        """Choose the one function that drives a page, or the module itself; note the others."""
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        driving = [node for node in functions if drives_a_page(node) and not _is_fixture(node)]
        for fixture in filter(_is_fixture, functions):
            self.draft.left_out(line_of(fixture), f"fixture {fixture.name}", _CONTEXT_OPTIONS)
        for other in driving[1:]:
            self.draft.left_out(
                line_of(other), f"function {other.name}", "one function makes one task: import it by itself"
            )
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and drives_a_page(node):
                self.draft.left_out(
                    line_of(node), f"class {node.name}", "classes are not read: put the calls into a function"
                )
        constants = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
        if not driving:
            return [node for node in tree.body if node not in functions and not isinstance(node, ast.ClassDef)]
        arguments = driving[0].args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            annotation = dotted(argument.annotation) if argument.annotation is not None else ""
            is_page = annotation.endswith("Page") or argument.arg == "page"
            self._names.known[argument.arg] = self._opened() if is_page else Plumbing()
        return [*constants, *driving[0].body]

    def read(self, statements: Iterable[ast.stmt]) -> None:
        """Take over statement by statement."""
        for node in statements:
            match node:
                case (
                    ast.Expr(value=ast.Constant())
                    | ast.Pass()
                    | ast.Import()
                    | ast.ImportFrom()
                    | ast.Return(value=None)
                ):
                    pass
                case ast.Expr(value=value):
                    self._expression(unawaited(value))
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._assign(name, unawaited(value))
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self._assign(name, unawaited(value))
                case ast.With() | ast.AsyncWith():
                    self._with(node)
                case _:
                    self._other(node)

    def _other(self, node: ast.stmt) -> None:
        inside = sum(isinstance(part, ast.Attribute) and part.attr in METHODS | {"goto"} for part in ast.walk(node))
        kind = _BLOCKS.get(type(node).__name__, type(node).__name__.lower())
        many = f"{kind} ({inside} actions inside)" if inside else kind
        self.draft.left_out(
            line_of(node), many, "only plain calls are read, one after the other: write its steps by hand"
        )

    def _opened(self, opener: int = 0) -> Locator:
        page = self._names.new_page()
        self._openers[page.page] = opener
        self._open.append(page.page)
        return page

    def _assign(self, name: str, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and dotted(value.func).endswith(".new_page"):
            self._options(value)
            page = self._opened()
            self._names.known[name] = page
            if page.page:
                advice = "the task has no step that opens an empty tab: what it does there is done in the first one"
                self.draft.changed(line_of(value), "new_page", advice)
                self._open.remove(page.page)
                self._names.known[name] = Locator(0)
            return
        meaning = self._names.meaning(value)
        if meaning is not None:
            self._names.known[name] = meaning
            self._options(value)
            return
        self._names.known.pop(name, None)
        if isinstance(value, ast.Call) and (dotted(value.func).endswith("start") or "playwright" in dotted(value.func)):
            self._names.known[name] = Plumbing()
        elif not isinstance(value, ast.Constant):
            self._unknown(value, f"{name} = {called(value)}")

    def _options(self, value: ast.expr) -> None:
        """Tell of what a browser context was made with."""
        if isinstance(value, ast.Call) and dotted(value.func).endswith(("new_context", "new_page")):
            options = ", ".join(word.arg or "**" for word in value.keywords)
            if options:
                self.draft.left_out(line_of(value), f"new_context({options})", _CONTEXT_OPTIONS)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        after: list[Callable[[], None]] = []
        for item in node.items:
            call = unawaited(item.context_expr)
            name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else ""
            method = dotted(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
            if method in {"expect_popup", "expect_page"}:
                after.append(partial(self._popped_up, name))
            elif method == "expect_download":
                after.append(partial(self._downloaded, name, node))
            elif method == "expect_file_chooser":
                self._names.known[name] = Chooser()
            elif method == "expect_navigation" or method.endswith("playwright"):
                self._names.known[name or "playwright"] = Plumbing()
            elif method.startswith("expect_"):
                advice = "its action is in the task; expect an answer with response_status"
                self.draft.changed(line_of(node), method, advice)
            else:
                self._other(node)
                return
        self.read(node.body)
        for then in after:
            then()

    def _popped_up(self, name: str) -> None:
        page = self._opened(self._current)
        self._names.known[name or "popup"] = Popup(page.page)

    def _downloaded(self, name: str, node: ast.stmt) -> None:
        self._names.known[name or "download"] = DownloadInfo()
        self.draft.expect(line_of(node), "expect_download", Downloaded(downloaded="*"))

    # ---------------------------------------------------------------------------------------------- the calls

    def _expression(self, node: ast.expr) -> None:
        if not isinstance(node, ast.Call):
            self._unknown(node, called(node))
        elif isinstance(node.func, ast.Attribute):
            self._method(node, node.func)
        elif dotted(node.func) not in {"run", "main"}:
            self._unknown(node, called(node))

    def _unknown(self, node: ast.AST, what: str) -> None:
        self.draft.left_out(line_of(node), what, "it is no call on a page that is known; write its steps by hand")

    def _method(self, call: ast.Call, function: ast.Attribute) -> None:
        owner, method = unawaited(function.value), function.attr
        if isinstance(owner, ast.Call) and dotted(owner.func) in {"expect", "expect.soft"}:
            self._assertion(call, owner, method)
            return
        if dotted(function) == "asyncio.run":
            return
        match meaning := self._names.meaning(owner):
            case Locator(query=None, why="", in_frame=False):
                self._on_page(call, meaning.page, method)
            case Locator():
                if method in METHODS:
                    self._on(call, meaning.page)
                self._actor.on_locator(call, meaning, method, call.args)
            case Device():
                self._on(call, meaning.page)
                self._actor.on_device(call, meaning, method)
            case Chooser() if method == "set_files":
                self._actor.chosen_files(call)
            case DownloadInfo():
                self.draft.left_out(line_of(call), f"download.{method}", ELSEWHERE["save_as"])
            case Plumbing():
                if method not in {"close", "stop", "new_page", "new_context"}:
                    self.draft.left_out(line_of(call), dotted(function) or method, _CONTEXT_OPTIONS)
            case _:
                self._unknown(call, called(call))

    def _on(self, call: ast.AST, page: int) -> None:
        """Switch to the tab of this page, if another one is current."""
        if page == self._current or page not in self._open:
            return
        if page == self._open[-1]:
            self.draft.page(line_of(call), "popup", "switch_tab", tab="latest")
        else:
            if page != self._open[0]:
                advice = "the task takes the first tab; name the right one by url_contains"
                self.draft.check(line_of(call), "switch to another tab", advice)
            self.draft.page(line_of(call), "popup", "switch_tab", tab="first")
        self._current = page

    def _on_page(self, call: ast.Call, page: int, method: str) -> None:
        where, arguments = line_of(call), [self._names.constant(argument) for argument in call.args]
        first = arguments[0] if arguments else None
        named = self._names.named(call)
        if method in {"once", "on"}:
            self._actor.listens(call, first, method)
            return
        if method == "close":
            self._close(call, page)
            return
        if method in ELSEWHERE:
            self.draft.left_out(where, method, ELSEWHERE[method])
            return
        self._on(call, page)
        match method:
            case "goto":
                if isinstance(first, str) or isinstance(first := named.get("url"), str):
                    self.draft.goto(where, method, first, **time_of(named), **self._actor.answers())
                else:
                    self.draft.left_out(where, method, "its address is computed by the script; write the goto by hand")
            case "go_back":
                self.draft.page(where, method, "go_back", **self._actor.answers())
            case "wait_for_url" if isinstance(first, str | Pattern):
                predicate, why = address(first)
                if predicate is None:
                    self.draft.left_out(where, method, why)
                else:
                    self.draft.expect(where, method, predicate)
            case "wait_for_selector" if isinstance(first, str):
                self._actor.waits(call, by_selector(page, first, said(call)), named)
            case "drag_and_drop" if len(arguments) > 1 and isinstance(first, str) and isinstance(arguments[1], str):
                there = by_selector(page, arguments[1], said(call))
                self._actor.drags(call, by_selector(page, first, said(call)), there)
            case _ if method in METHODS and isinstance(first, str):
                self._actor.on_locator(call, by_selector(page, first, said(call.func)), method, call.args[1:])
            case _:
                self.draft.left_out(where, f"page.{method}")

    def _close(self, call: ast.Call, page: int) -> None:
        self._on(call, page)
        self.draft.page(line_of(call), "page.close", "close_tab")
        if page in self._open:
            self._open.remove(page)
        self._current = self._openers.get(page, 0)

    def _assertion(self, call: ast.Call, subject: ast.Call, method: str) -> None:
        meaning = self._names.meaning(subject.args[0]) if subject.args else None
        if not isinstance(meaning, Locator):
            self._unknown(call, f"expect(…).{method}")
            return
        self._on(call, meaning.page)
        arguments = [self._names.constant(argument) for argument in call.args]
        predicate, why = predicate_of(meaning, method, arguments, self._names.named(call))
        if predicate is None:
            self.draft.left_out(line_of(call), f"expect(…).{method}", f"{why}; write a predicate into `expect`")
            return
        if dotted(subject.func) == "expect.soft":
            predicate = predicate.model_copy(update={"required": False})
        self.draft.expect(line_of(call), f"expect(…).{method}", predicate)


def _is_fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = [dotted(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
    return any(name.rpartition(".")[2] == "fixture" for name in names)

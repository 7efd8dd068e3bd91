"""Scripts of Playwright's code generator in Python: sync, async and pytest.

What the generator writes is in github.com/microsoft/playwright (`packages/playwright-core/src/server/codegen`): a
function with a browser, a context and a page, one call for each action, `with page.expect_popup()` and
`expect_download()` around those that open something, `page.once("dialog", …)` before those that ask something, and
`expect(…)` for assertions. The script is parsed and read, never run. Constants and locators may have names. Everything
else gets a note with its line.
"""

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal

from replaywright.domain.predicate.predicates import Downloaded
from replaywright.domain.task.actions import ACTIONS, Action
from replaywright.errors import InputInvalid
from replaywright.imports.data import TEXT_LIMIT, clean
from replaywright.imports.draft import TaskDraft
from replaywright.imports.elements import ImportedElement
from replaywright.imports.expecting import predicate_of
from replaywright.imports.imported import Imported, RecordingKind
from replaywright.imports.keys import combination, modifier
from replaywright.imports.locators import Locator, Value
from replaywright.imports.script import Helper, Names, Outside, called, dotted, literal, unawaited
from replaywright.imports.values import Typed

_PLAIN: Final = {spec.playwright: action for action, spec in ACTIONS.items() if spec.playwright}
"""Playwright's methods and the actions that do the same."""
_ENTERS: Final[Mapping[str, Literal["fill", "type"]]] = {"fill": "fill", "clear": "fill", "press_sequentially": "type"}
_METHODS: Final = frozenset({*_PLAIN, *_ENTERS, "press", "select_option", "set_input_files"})
"""Methods of locators that become steps."""
_OPTIONS: Final = frozenset({"button", "modifiers", "position", "timeout", "click_count"})
_SESSION: Final = "the session has its own; sign in by steps with secrets if the recording began signed in"


def read_codegen(text: str, name: str) -> Imported:
    """Convert the script to a task.

    Raises:
        InputInvalid: it is no Python, drives no page, or has nothing that can be taken over.
    """
    tree = parse_python(text)
    reader = _ScriptReader()
    reader.read(reader.choose(tree))
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
    telling = {"goto", "new_page", *_METHODS - {"clear", "press", "check"}}
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
        self._openers: list[int] = []
        """The page that opened each page, by its number."""
        self._open: list[int] = []
        self._answer: dict[str, Any] = {}
        """Answer to the dialogs of the next step."""

    # --------------------------------------------------------------------------------------------- the script

    def choose(self, tree: ast.Module) -> Sequence[ast.stmt]:
        """Choose the one function that drives a page, or the module itself; note the others."""
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        driving = [node for node in functions if drives_a_page(node) and not _is_fixture(node)]
        for other in driving[1:]:
            self._left_out(other, f"function {other.name}", "one function makes one task: import it by itself")
        if not driving:
            return [node for node in tree.body if node not in functions]
        arguments = driving[0].args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            annotation = dotted(argument.annotation) if argument.annotation is not None else ""
            is_page = annotation.endswith("Page") or argument.arg == "page"
            self._names.known[argument.arg] = self._opened() if is_page else Helper("browser")
        return [*(node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)), *driving[0].body]

    def read(self, statements: Iterable[ast.stmt]) -> None:
        """Take over statement by statement."""
        for node in statements:
            match node:
                case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.Import() | ast.ImportFrom() | ast.Return():
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

    def _left_out(self, node: ast.AST, what: str, *advice: str) -> None:
        self.draft.left_out(_line_of(node), what, *advice)

    def _other(self, node: ast.stmt) -> None:
        inside = sum(isinstance(part, ast.Attribute) and part.attr in _METHODS | {"goto"} for part in ast.walk(node))
        kind = type(node).__name__.lower()
        self._left_out(node, f"{kind} ({inside} actions inside)" if inside else kind)

    def _opened(self) -> Locator:
        self._openers.append(self._current)
        self._open.append(len(self._openers) - 1)
        return Locator(self._open[-1])

    def _assign(self, name: str, value: ast.expr) -> None:
        is_page = isinstance(value, ast.Call) and dotted(value.func).endswith(".new_page")
        if is_page and self._openers:
            advice = "the task has no step that opens an empty tab: what it does there is done in the first one"
            self.draft.changed(_line_of(value), "new_page", advice)
        meaning = (Locator(0) if self._openers else self._opened()) if is_page else self._names.meaning(value)
        if meaning is not None:
            self._names.known[name] = meaning
            self._options(value)
            return
        self._names.known.pop(name, None)
        if not isinstance(value, ast.Constant):
            self._left_out(value, f"{name} = {called(value)}")

    def _options(self, value: ast.expr) -> None:
        """Tell of what a browser context was made with."""
        if not isinstance(value, ast.Call) or not dotted(value.func).endswith((".new_context", ".new_page")):
            return
        if options := ", ".join(word.arg or "**" for word in value.keywords):
            self._left_out(value, f"new_context({options})", _SESSION)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        after: list[Callable[[], None]] = []
        for item in node.items:
            call = unawaited(item.context_expr)
            name = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else ""
            method = dotted(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""
            if method == "expect_popup":
                after.append(partial(self._popped_up, name))
            elif method == "expect_download":
                self._names.known[name] = Helper("download")
                after.append(partial(self.draft.expect, _line_of(node), method, Downloaded(downloaded="*")))
            elif method == "expect_file_chooser":
                self._names.known[name] = Helper("chooser")
            elif method.endswith("playwright"):
                self._names.known[name] = Helper("browser")
            else:
                self._other(node)
                return
        self.read(node.body)
        for then in after:
            then()

    def _popped_up(self, name: str) -> None:
        self._names.known[name] = Helper("popup", self._opened().page)

    # ---------------------------------------------------------------------------------------------- the calls

    def _expression(self, node: ast.expr) -> None:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            if dotted(getattr(node, "func", node)) not in {"run", "main"}:
                self._left_out(node, called(node))
            return
        owner, method = unawaited(node.func.value), node.func.attr
        if isinstance(owner, ast.Call) and dotted(owner.func) == "expect":
            self._assertion(node, owner, method)
            return
        match meaning := self._names.meaning(owner):
            case Locator(query=None, why="", in_frame=False):
                self._on_page(node, meaning.page, method)
            case Locator() if method in _METHODS:
                self._on(node, meaning.page)
                self._on_locator(node, meaning.element(), method, node.args[0] if node.args else None)
            case Helper(kind="keyboard") if method == "press":
                self._on(node, meaning.page)
                self._press(node, self.draft.focused, node.args[0] if node.args else None)
            case Helper(kind="chooser") if method == "set_files":
                self._chosen_files(node)
            case Helper(kind="browser") if method in {"close", "stop"}:
                pass
            case Locator() | Helper():
                self._left_out(node, method if isinstance(meaning, Locator) else f"{meaning.kind}.{method}")
            case _ if dotted(node.func) != "asyncio.run":
                self._left_out(node, called(node))

    def _on(self, call: ast.AST, page: int) -> None:
        """Switch to the tab of this page, if another one is current."""
        if page == self._current or page not in self._open:
            return
        is_latest = page == self._open[-1]
        if not is_latest and page != self._open[0]:
            advice = "the task takes the first tab; name the right one by url_contains"
            self.draft.check(_line_of(call), "switch to another tab", advice)
        self.draft.page(_line_of(call), "popup", "switch_tab", tab="latest" if is_latest else "first")
        self._current = page

    def _on_page(self, call: ast.Call, page: int, method: str) -> None:
        where, named = _line_of(call), self._names.named(call)
        first = self._names.constant(call.args[0]) if call.args else None
        match method:
            case "once" if first == "dialog" and (answer := self._dialog(call)):
                self._answer = answer
            case "goto" if isinstance(first, str):
                self._on(call, page)
                self.draft.goto(where, method, first, **_time_of(named), **self._answers())
            case "go_back":
                self._on(call, page)
                self.draft.page(where, method, "go_back", **self._answers())
            case "close":
                self._on(call, page)
                self.draft.page(where, "page.close", "close_tab")
                if page in self._open:
                    self._open.remove(page)
                    self._current = self._openers[page]
            case _:
                self._left_out(call, f"page.{method}")

    def _dialog(self, call: ast.Call) -> dict[str, Any]:
        """Return the answer of a handler that accepts or dismisses; empty for any other."""
        match call.args[1:]:
            case [ast.Lambda(body=ast.Call(func=ast.Attribute(attr="dismiss")))]:
                return {"dialog": "dismiss"}
            case [ast.Lambda(body=ast.Call(func=ast.Attribute(attr="accept"), args=texts))]:
                text = self._names.constant(texts[0]) if texts else None
                if not isinstance(text, str):
                    return {"dialog": "accept"}
                element = ImportedElement(None, "the dialog", field="dialog text")
                value = self.draft.values.template(Typed(text), element, at=len(self.draft.entries))
                return {"dialog": "accept", "dialog_text": value}
            case _:
                return {}

    def _answers(self) -> dict[str, Any]:
        """Return the answer to the next step's dialogs."""
        answer, self._answer = self._answer, {}
        return answer

    def _assertion(self, call: ast.Call, subject: ast.Call, method: str) -> None:
        meaning = self._names.meaning(subject.args[0]) if subject.args else None
        if not isinstance(meaning, Locator):
            self._left_out(call, f"expect(…).{method}")
            return
        self._on(call, meaning.page)
        first = self._names.constant(call.args[0]) if call.args else None
        predicate, why = predicate_of(meaning, method, first, self._names.named(call))
        if predicate is None:
            self._left_out(call, f"expect(…).{method}", f"{why}; write a predicate into `expect`")
        else:
            self.draft.expect(_line_of(call), f"expect(…).{method}", predicate)

    # -------------------------------------------------------------------------------------------- the actions

    def _on_locator(self, call: ast.Call, element: ImportedElement, method: str, first: ast.expr | None) -> None:
        match method:
            case "press":
                self._press(call, element, first)
            case "select_option":
                parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
                if given := [self._typed(part) for part in parts if part is not None]:
                    self.draft.choose(_line_of(call), method, element, given)
                else:
                    self._left_out(call, method, "it chooses no option by its label; write the step by hand")
            case "set_input_files":
                self._uploads(call, element, first)
            case _ if method in _ENTERS:
                typed = Typed("") if first is None else self._typed(first)
                self.draft.enter(_line_of(call), method, _ENTERS[method], element, typed)
            case _:
                self._acts(call, element, method)

    def _acts(self, call: ast.Call, element: ImportedElement, method: str) -> None:
        given = {word.arg: literal(word.value) for word in call.keywords if word.arg}
        action = Action.DOUBLE_CLICK if given.get("click_count") == 2 else _PLAIN[method]
        fields: dict[str, Any] = {name: given[name] for name in ("button", "position") if name in given}
        if isinstance(held := given.get("modifiers"), list):
            fields["modifiers"] = tuple(modifier(str(key)) for key in held)
        if others := sorted(name for name, value in given.items() if name not in _OPTIONS or value is None):
            self.draft.changed(_line_of(call), f"{method}({', '.join(others)})", "done without these options")
        time = _time_of(self._names.named(call))
        self.draft.act(_line_of(call), method, action, element, **fields, **time, **self._answers())

    def _typed(self, node: ast.expr) -> Typed:
        """Return the entered value: a text, an outside value, or one known only when the script runs."""
        match self._names.meaning(node):
            case str(text):
                return Typed(text)
            case Outside(name=name):
                return Typed(None, name)
            case _:
                return Typed(None, dotted(node).rpartition(".")[2])

    def _press(self, call: ast.Call, element: ImportedElement | None, first: ast.expr | None) -> None:
        keys = self._names.constant(first) if first is not None else None
        if isinstance(keys, str) and (written := combination(keys)):
            self.draft.press(_line_of(call), "press", written, element)
        else:
            self._left_out(call, "press", "no step presses this key")

    def _uploads(self, call: ast.Call, element: ImportedElement, first: ast.expr | None) -> None:
        parts = first.elts if isinstance(first, ast.List | ast.Tuple) else [first]
        paths = [self._names.constant(part) for part in parts if part is not None]
        files = [path for path in paths if isinstance(path, str) and path.strip()]
        if not files or len(files) < len(paths):
            self._left_out(call, "set_input_files", "its files are not all given by their paths")
        else:
            self.draft.upload(_line_of(call), "set_input_files", element, files)

    def _chosen_files(self, call: ast.Call) -> None:
        """Join the click that opened the chooser and its files to one step."""
        element = self.draft.take_back()
        if element is None:
            self._left_out(call, "set_files", "no click before it opens a file chooser")
        else:
            self._uploads(call, element, call.args[0] if call.args else None)


def _line_of(node: ast.AST) -> str:
    """Return the place of a statement."""
    return f"line {getattr(node, 'lineno', 0)}"


def _time_of(named: Mapping[str, Value]) -> dict[str, Any]:
    """Return the step's time from the call's own `timeout`, in milliseconds."""
    timeout = named.get("timeout")
    if isinstance(timeout, bool) or not isinstance(timeout, int) or timeout <= 0:
        return {}
    return {"timeout_ms": min(max(timeout, 100), 300_000)}


def _is_fixture(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = [dotted(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
    return any(name.rpartition(".")[2] == "fixture" for name in names)

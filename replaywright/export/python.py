"""A skill as a Python program, or as a test for pytest. Both need Playwright only."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from replaywright.domain.common.lists import list_of
from replaywright.domain.skill.skills import Skill
from replaywright.domain.task.tasks import Parameter
from replaywright.export import layout
from replaywright.export.code import Script
from replaywright.export.helpers import with_others
from replaywright.export.layout import Piece, atom
from replaywright.export.names import PYTHON_RESERVED, environment_name, identifiers, snake
from replaywright.export.python_code import PythonCode
from replaywright.export.python_helpers import HELPERS
from replaywright.export.quoting import docstring_text, plain, python_string
from replaywright.export.script import context_of, emulated, from_environment, required

_WIDTH: Final = layout.PYTHON.width
_TIMEOUT_MS: Final = "10_000"
_MODULES: Final = frozenset({"argparse", "base64", "hmac", "json", "os", "re", "struct", "sys", "time"})
_NAMES: Final = {
    "collections.abc": {"Callable", "Iterable", "Iterator"},
    "contextlib": {"contextmanager"},
    "pathlib": {"Path"},
    "typing": {"Any"},
}
_PLAYWRIGHT: Final = frozenset(
    {"Dialog", "Download", "Error", "Locator", "Page", "Response", "expect", "sync_playwright"}
)


def python_program(skill: Skill, script: Script) -> str:
    """Write a program with a function for the task; parameters are arguments of the command line."""
    names = identifiers(script.parameters, snake, PYTHON_RESERVED)
    function = identifiers([skill.name], snake, {*PYTHON_RESERVED, *names.values()})[skill.name]
    body = _body(script, names)
    gives = "dict[str, Any]" if script.reads else "None"
    usage = [f"python {snake(skill.name)}.py", *(f"--{_option(names[name])} …" for name in required(skill, script))]
    text = [
        *_helpers(body.helpers),
        *_signature(function, names, skill.task.parameters, gives),
        f'    """{_sentence(skill)}"""',
        *(["    result: dict[str, Any] = {}"] if script.reads else []),
        *body.lines,
        *(["    return result"] if script.reads else []),
        "",
        "",
        *_main(skill, script, function, names),
    ]
    return _module(_docstring(skill, script, " ".join(usage)), text)


def pytest_module(skill: Skill, script: Script) -> str:
    """Write a module with one test; parameters come from the environment."""
    names = identifiers(script.parameters, snake, PYTHON_RESERVED)
    function = snake(skill.name).strip("_")
    body = _body(script, names)
    given = " ".join(f"{environment_name(skill.name, name)}=…" for name in required(skill, script))
    text = [
        *_fixture(skill),
        *_helpers({*body.helpers, *(["parameter"] if names else [])}),
        f"def test_{function}(page: Page) -> None:",
        f'    """{_sentence(skill)}"""',
        *_given(skill, names),
        *(["    result: dict[str, Any] = {}"] if script.reads else []),
        *body.lines,
        *(["    print(json.dumps(result, ensure_ascii=False))"] if script.reads else []),
    ]
    return _module(_docstring(skill, script, f"{given} pytest test_{function}.py".strip()), text)


def _body(script: Script, names: Mapping[str, str]) -> PythonCode:
    body = PythonCode(names)
    body.write(script.statements)
    return body


def _module(docstring: Sequence[str], lines: Sequence[str]) -> str:
    """Join the lines to a file, without blank lines where the formatter has none."""
    source = "\n".join(lines)
    text = "\n".join(line.rstrip() for line in [*docstring, *_imports(source), *source.split("\n")])
    return re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n"


def _sentence(skill: Skill) -> str:
    said = docstring_text(skill.description or skill.label or skill.name).rstrip(".")
    return f"{said[: _WIDTH - 12]}."


def _docstring(skill: Skill, script: Script, usage: str) -> list[str]:
    """Write the header: purpose, origin, usage and gaps."""
    secrets = ", ".join(f"REPLAYWRIGHT_SECRET_{name}" for name in script.secrets)
    lines = [
        f'"""{_sentence(skill)}',
        "",
        (
            f"From the skill {skill.name}, version {skill.version}, by `replaywright skills script`. "
            "It needs Playwright only:"
        ),
        "pip install playwright && playwright install chromium",
        "",
        f"    {docstring_text(usage)}",
        "",
        *([f"Secrets come from the environment: {secrets}."] if secrets else []),
        "CHROMIUM_PATH names another browser than Playwright's own.",
    ]
    if script.warnings:
        lines += ["", "Not quite as in a replay:"]
        lines += [f"- {docstring_text(warning)}" for warning in script.warnings]
    return [*lines, '"""', ""]


def _imports(source: str) -> list[str]:
    """Write the imports of the names that the program has."""
    used = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name)}
    modules = [f"import {name}" for name in sorted(used & _MODULES)]
    froms = [
        f"from {module} import {', '.join(sorted(used & names))}" for module, names in _NAMES.items() if used & names
    ]
    api = sorted(used & _PLAYWRIGHT, key=lambda one: (one[0].islower(), one))
    line = f"from playwright.sync_api import {', '.join(api)}"
    several = [line]
    if len(line) > _WIDTH:
        several = ["from playwright.sync_api import (", *(f"    {one}," for one in api), ")"]
    return [*modules, *froms, "", *(["import pytest"] if "pytest" in used else []), *several, "", ""]


def _helpers(helpers: Iterable[str]) -> list[str]:
    return [f"{HELPERS[name]}\n\n" for name in with_others(HELPERS, helpers)]


def _signature(function: str, names: Mapping[str, str], parameters: Mapping[str, Parameter], gives: str) -> list[str]:
    told = ["page: Page", *(["*"] if names else [])]
    told += [f"{given}: {_type(parameters[name])}" for name, given in names.items()]
    line = f"def {function}({', '.join(told)}) -> {gives}:"
    if len(line) <= _WIDTH:
        return [line]
    return [f"def {function}(", *(f"    {one}," for one in told), f") -> {gives}:"]


def _type(parameter: Parameter) -> str:
    return "list[str]" if parameter.type == "list" else "str"


def _option(name: str) -> str:
    return name.strip("_").replace("_", "-") or "value"


def _new_page(skill: Skill) -> list[str]:
    """Write the call that opens a page as the task wants it, else as the one that the skill was learned on."""
    locale, size = context_of(skill)
    told = [f"locale={python_string(locale)}"] if locale else []
    told += [f'viewport={{"width": {size[0]}, "height": {size[1]}}}'] if size else []
    told += [f"{name}={python_string(value)}" for name, value in emulated(skill).items()]
    return _exploded("page = browser.new_page", told, "        ")


def _exploded(before: str, arguments: Sequence[str | Piece], indent: str, after: str = "") -> list[str]:
    """Write a call with these arguments, over several lines if needed."""
    parts = [atom(one) if isinstance(one, str) else one for one in arguments]
    return [f"{indent}{layout.call(before, parts).written(layout.PYTHON, len(indent), 0, len(after))}{after}"]


def _main(skill: Skill, script: Script, function: str, names: Mapping[str, str]) -> list[str]:
    lines = ["def main() -> None:", '    """Do it in a browser of its own."""']
    lines += _exploded("parser = argparse.ArgumentParser", [f"description={python_string(_sentence(skill))}"], "    ")
    for name, given in names.items():
        lines += _exploded("parser.add_argument", _argument(skill.task.parameters[name], given), "    ")
    if not script.needs_person:
        shown = ['"--headed"', 'action="store_true"', 'help="show the browser"']
        lines += _exploded("parser.add_argument", shown, "    ")
    own = ['"--executable-path"', 'default=os.environ.get("CHROMIUM_PATH")']
    lines += _exploded("parser.add_argument", own, "    ")
    lines += ["    arguments = parser.parse_args()", "    expect.set_options(timeout=10_000)"]
    lines.append("    with sync_playwright() as playwright:")
    # A person has to see the browser.
    headless = "headless=False" if script.needs_person else "headless=not arguments.headed"
    launch = [headless, "executable_path=arguments.executable_path"]
    lines += _exploded("browser = playwright.chromium.launch", launch, "        ")
    lines += [*_new_page(skill), f"        page.set_default_timeout({_TIMEOUT_MS})"]
    given_now = ["page", *(f"{one}=arguments.{one}" for one in names.values())]
    lines += _exploded(f"{'result = ' if script.reads else ''}{function}", given_now, "        ")
    lines.append("        browser.close()")
    if script.reads:
        lines.append("    print(json.dumps(result, ensure_ascii=False))")
    return [*lines, "", "", 'if __name__ == "__main__":', "    main()"]


def _argument(parameter: Parameter, given: str) -> list[str | Piece]:
    told: list[str | Piece] = [python_string(f"--{_option(given)}")]
    if _option(given).replace("-", "_") != given:
        told.append(f'dest="{given}"')
    if parameter.type == "list":
        told.append('nargs="+"')
    if parameter.choices:
        told.append(_list("choices", parameter.choices))
    if parameter.default is None:
        told.append("required=True")
    elif parameter.type == "list":
        told.append(_list("default", list_of(parameter.default)))
    else:
        told.append(f"default={python_string(parameter.default)}")
    said = parameter.description or (f"such as {parameter.example}" if parameter.example else "")
    if said:
        told.append(f"help={python_string(plain(said).replace('%', '%%'))}")
    return told


def _list(name: str, texts: Sequence[str]) -> Piece:
    return layout.call(f"{name}=", [atom(python_string(text)) for text in texts], "[", "]")


def _fixture(skill: Skill) -> list[str]:
    return [
        "@pytest.fixture",
        "def page() -> Iterator[Page]:",
        '    """A page of a browser of its own."""',
        "    expect.set_options(timeout=10_000)",
        "    with sync_playwright() as playwright:",
        "        browser = playwright.chromium.launch(",
        '            headless="HEADED" not in os.environ,',
        '            executable_path=os.environ.get("CHROMIUM_PATH"),',
        "        )",
        *_new_page(skill),
        f"        page.set_default_timeout({_TIMEOUT_MS})",
        "        yield page",
        "        browser.close()",
        "",
        "",
    ]


def _given(skill: Skill, names: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for name, given in names.items():
        told = list(map(python_string, from_environment(skill, name)))
        split = '.split(", ")' if skill.task.parameters[name].type == "list" else ""
        lines += _exploded(f"{given} = parameter", told, "    ", split)
    return [*lines, ""] if lines else []

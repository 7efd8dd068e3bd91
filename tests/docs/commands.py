"""Whether a command that a page names can be run as it is written: program, command, options, arguments, variables.

Nothing is run. Our own commands are parsed by the real command line: a mistyped option or a missing argument is found.
What no rule knows is a problem, too: a page cannot name a program that nothing here tries.
"""

import argparse
import importlib.util
import re
import shlex
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import typer
import yaml
from typer.exceptions import TyperException

from replaywright.cli.commands import app
from replaywright.settings import PREFIX, Settings
from replaywright.value_files import SUFFIX
from tests.docs.markdown import ROOT

NO_SETTINGS: Final = re.compile(r"REPLAYWRIGHT_(READY_FILE|SECRET_\w+|SECRET|INTERNAL_\w+)")
_OTHERS_VARIABLES: Final = re.compile(r"(OPENAI|ANTHROPIC|TEMPORAL|OTEL|WEBMAIL)_\w+|COMPOSE_\w+|PATH")
_PLACEHOLDERS: Final = {"N": "1", "USD": "1", "S": "1"}
"""Words that stand for a number; those that stand for a text are one."""
_OURS: Final = re.compile(r"(\.venv/bin/)?replaywright ")
_JOINTS: Final = frozenset({"|", "||", "&&", "&", ";"})
_REDIRECTIONS: Final = frozenset({">", ">>", "<", "2>"})
_COMPOSE: Final = frozenset({"build", "config", "down", "exec", "logs", "ps", "pull", "restart", "run", "stop", "up"})
_TEMPORAL: Final = frozenset(
    {"operator nexus", "operator search-attribute", "workflow list", "workflow show", "workflow describe"}
)


def problem_with(command: str) -> str:
    """What is wrong with a command as a reader would type it; empty when nothing is."""
    parts: list[list[str]] = [[]]
    words = iter(shlex.split(_in_full(command)))
    for word in words:
        if word in _REDIRECTIONS:
            next(words, None)
        elif word in _JOINTS:
            parts.append([])
        else:
            parts[-1].append(_PLACEHOLDERS.get(word, word))
    return next(filter(None, map(_of_one, parts)), "")


def _in_full(command: str) -> str:
    """One of ours with all that a synopsis has in brackets, and the first of what it has to choose from."""
    if not _OURS.match(command):
        return command
    return re.sub(r"(?<=\w)(\|[\w-]+)+", "", re.sub(r"\[(-[^\]]*)\]", r"\1", command))


def _of_one(words: Sequence[str]) -> str:
    variables = [word for word in words if re.match(r"[A-Z_][A-Z0-9_]*=", word)]
    leading = next((at for at, word in enumerate(words) if word not in variables), len(words))
    if wrong := next(filter(None, map(_variable, words[:leading])), ""):
        return wrong
    if leading == len(words):
        return ""
    program, rest = words[leading].removeprefix(".venv/bin/"), list(words[leading + 1 :])
    if "/" in program and (ROOT / program).is_file():
        return ""
    rule = _RULES.get(program)
    return f"no rule knows the program {program!r} (tests/docs/commands.py)" if rule is None else rule(rest)


def _variable(assignment: str) -> str:
    name = assignment.partition("=")[0]
    known = {PREFIX + field.upper() + suffix for field in Settings.model_fields for suffix in ("", SUFFIX)}
    if name in known or NO_SETTINGS.fullmatch(name) or _OTHERS_VARIABLES.fullmatch(name):
        return ""
    return f"{name} is neither a setting nor a variable of others that the pages may name"


# --------------------------------------------------------------------------------------------- our own commands


@cache
def _root() -> Any:
    return typer.main.get_command(app)


def _replaywright(words: list[str], *, mention: bool = False) -> str:
    command, arguments, path = _root(), list(words), "replaywright"
    context: Any = None
    try:
        while hasattr(command, "list_commands"):
            if not arguments:
                return ""
            context = command.make_context(path.rpartition(" ")[2], arguments, parent=context)
            name, command, arguments = command.resolve_command(context, [*context._protected_args, *context.args])
            path = f"{path} {name}"
        command.make_context(path.rpartition(" ")[2], arguments, parent=context)
    except typer.Exit:  # --help, --version
        return ""
    except TyperException as error:
        is_partial = mention and type(error).__name__ in ("MissingParameter", "BadOptionUsage")
        return "" if is_partial else f"{path}: {getattr(error, 'format_message', error.__str__)()}"
    return ""


def problem_with_mention(code: str) -> str:
    """The same of a command within a sentence, which may leave out what it does not speak of: arguments, values."""
    plain = re.sub(r"[\[\]]|…|\.\.\.", " ", code)
    try:
        words = shlex.split(plain)
    except ValueError:
        words = plain.split()
    words = [_PLACEHOLDERS.get(word, word) for word in words]
    ends = (at for at, word in enumerate(words) if word in _JOINTS | _REDIRECTIONS or word.startswith("|"))
    return _replaywright(words[1 : next(ends, len(words))], mention=True)


def _worker(words: list[str]) -> str:
    parser = argparse.ArgumentParser(exit_on_error=False)
    parser.add_argument("--role", choices=_worker_roles())
    try:
        parser.parse_args(words)
    except (argparse.ArgumentError, SystemExit) as error:
        return f"replaywright-worker: {error}"
    return ""


def _worker_roles() -> tuple[str, ...]:
    from worker import ROLES

    return ROLES


# ------------------------------------------------------------------------------------------------ other programs


def _make(words: list[str]) -> str:
    text = (ROOT / "Makefile").read_text("utf-8")
    for word in words:
        name, is_variable, _ = word.partition("=")
        pattern = rf"^{re.escape(name)} *\??=" if is_variable else rf"^{re.escape(name)}:.*## "
        if not re.search(pattern, text, re.MULTILINE):
            return f"make: the Makefile has no {'variable' if is_variable else 'target'} {name!r}"
    return ""


def _python(words: list[str]) -> str:
    if words[:1] == ["-m"]:
        return _module(words[1], words[2:])
    if words[:1] == ["worker.py"]:
        return _worker(words[1:])
    return "" if words and (ROOT / words[0]).is_file() else f"python: there is no file {words[:1]}"


def _module(name: str, words: list[str]) -> str:
    """A module of ours is read for the options that it names; one of Python or of a tool has to be installed."""
    file = ROOT / (name.replace(".", "/") + ".py")
    package = ROOT / name.replace(".", "/") / "__main__.py"
    source = package if package.is_file() else file
    if source.is_file():
        text = source.read_text("utf-8")
        missing = [word for word in words if word.startswith("--") and f'"{word.partition("=")[0]}"' not in text]
        return f"python -m {name}: it has no {missing[0]}" if missing else ""
    return "" if importlib.util.find_spec(name) else f"python -m {name}: there is no such module"


def _docker(words: list[str]) -> str:
    if words[:1] in (["build"], ["run"], ["ps"], ["stop"], ["rm"]):
        return ""
    if words[:1] != ["compose"]:
        return f"docker: only build, run, ps, stop, rm and compose are known here, found {words[:1]}"
    files = [words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-f", "--file")]
    if missing := [name for name in files if not (ROOT / name).is_file()]:
        return f"docker compose: there is no file {missing[0]}"
    verb = next((at for at, word in enumerate(words) if word in _COMPOSE), None)
    if verb is None:
        return f"docker compose: none of {', '.join(sorted(_COMPOSE))} in {words}"
    named = [word.partition("=")[0] for word in words[verb + 1 :] if not word.startswith("-")]
    if words[verb] not in ("exec", "run"):
        return next((f"docker compose: there is no service {name!r}" for name in named if name not in _services()), "")
    if named[0] not in _services():
        return f"docker compose: there is no service {named[0]!r}"
    return _replaywright(words[words.index("cli") + 1 :]) if named[0] == "cli" else ""


@cache
def _services() -> frozenset[str]:
    services: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    return frozenset(services)


def _temporal(words: list[str]) -> str:
    return "" if " ".join(words[:2]) in _TEMPORAL else f"temporal: {words[:2]} is not known here"


def _folder(words: list[str]) -> str:
    return "" if len(words) == 1 else "cd takes one folder"


def _export(words: list[str]) -> str:
    return next(filter(None, (_variable(word) for word in words)), "")


def _anything(_words: list[str]) -> str:
    return ""


def _node(words: list[str]) -> str:
    known = words and any((ROOT / "examples").rglob(words[0]))
    return "" if known else f"node: no example is called {words[:1]}"


_RULES: Final[dict[str, Callable[[list[str]], str]]] = {
    "cd": _folder,
    "curl": _anything,
    "docker": _docker,
    "export": _export,
    "git": _anything,
    "make": _make,
    "mkdir": _anything,
    "node": _node,
    "npm": _anything,
    "openssl": _anything,
    "playwright": _anything,
    "pip": _anything,
    "pytest": _anything,
    "python": _python,
    "python3": _python,
    "replaywright": _replaywright,
    "replaywright-worker": _worker,
    "temporal": _temporal,
}
"""By program. What is not ours is not parsed: that it is one of these is all that is said of it."""

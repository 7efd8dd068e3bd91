"""The pages of `docs/reference` that are made of the code: what each says, as Markdown."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final

import typer

from replaywright import errors, settings
from replaywright.cli.app import COMMANDS
from replaywright.cli.command import Exit
from replaywright.cli.commands import app
from replaywright.settings import OWNER_VARIABLE, PREFIX, READY_FILE_VARIABLE, REASONS, Settings
from tests.docs.markdown import anchor
from tests.docs.run_pages import browser_task, metrics, repairs, search_attributes
from tests.docs.tables import default_of, first_paragraph, page, sentences, table, types_of
from tests.docs.task_pages import task_fields


def command_line() -> str:
    """The index of the commands, in the groups of the help."""
    parts = []
    for heading, names in COMMANDS.items():
        parts.append(f"## {heading}\n\n" + "\n".join(_index(f"cli/{_slug(heading)}.md", names)))
    root: Any = typer.main.get_command(app)
    return page(
        "Command line",
        "`replaywright --help` and `replaywright COMMAND --help` print the same. See also [exit codes](exit-codes.md). "
        "`replaywright-worker`, or `python worker.py`, starts a worker; it takes `--role all|workflow|browser|model`.",
        next(_described(root, "replaywright", None))[2],
        *parts,
    )


def _index(target: str, names: Iterable[str]) -> Iterator[str]:
    """A line for each command; those of a group stand in the line of the group, by their last words."""
    described = [(path, about) for path, about, _ in _below(names)]
    groups = {path.rpartition(" ")[0] for path, _ in described}
    for path, about in described:
        if path in groups:
            inner = [one for one, _ in described if one.rpartition(" ")[0] == path and one not in groups]
            links = ", ".join(f"[`{one.rpartition(' ')[2]}`]({target}#{anchor(one)})" for one in inner)
            yield f"- [`{path}`]({target}#{anchor(path)}): {about}" + (f" {links}" if links else "")
        elif path.rpartition(" ")[0] == "replaywright":
            yield f"- [`{path}`]({target}#{anchor(path)}): {about}"


def command_group(heading: str) -> str:
    """Every command under one heading of the help, with its arguments and options."""
    return page(
        heading,
        "All commands are in [command line](../cli.md).",
        *(f"## {name}\n\n{text}" for name, _, text in _below(COMMANDS[heading])),
    )


def _below(names: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    root: Any = typer.main.get_command(app)
    context = typer.Context(root, info_name="replaywright")
    for name in names:
        yield from _described(root.get_command(context, name), f"replaywright {name}", context)


def _slug(heading: str) -> str:
    return heading.lower().replace(" ", "-")


def _described(command: Any, path: str, parent: Any) -> Iterator[tuple[str, str, str]]:
    """Path, first sentence and Markdown of a command and of those below it; of a group, only what it has itself."""
    context = typer.Context(command, info_name=path.rpartition(" ")[2], parent=parent)
    about = inspect.cleandoc(command.help or "")
    rows = [
        tuple(f"`{cell}`" if place == 0 else cell for place, cell in enumerate(record))
        for parameter in command.get_params(context)
        if "--help" not in parameter.opts and (record := parameter.get_help_record(context)) is not None
    ]
    names = command.list_commands(context) if hasattr(command, "list_commands") else []
    usage = f"```text\n{' '.join((path, *command.collect_usage_pieces(context)))}\n```"
    shown = [usage] if rows or not names else []
    text = "\n\n".join((*shown, about, *([table(("argument or option", "meaning"), rows)] if rows else [])))
    yield path, _first_sentence(about), text
    for name in names:
        yield from _described(command.get_command(context, name), f"{path} {name}", context)


def _first_sentence(text: str) -> str:
    paragraph = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    return re.split(r"(?<=[.?!])\s(?=[A-Z`])", paragraph)[0]


_NOT_SETTINGS: Final = (
    (f"`{READY_FILE_VARIABLE}`", 'File to which a worker writes `{"pid": …}` once it polls.'),
    (f"`{OWNER_VARIABLE}`", "Process that owns a worker's servers; its browsers end with that process."),
    (
        "`REPLAYWRIGHT_SECRET_NAME`",
        "The value of the secret NAME; or `…_FILE`, `…_COMMAND` and `…_DOMAINS`: [secrets](secrets.md).",
    ),
)


def all_settings() -> str:
    """Every variable with type, default and meaning."""
    types = types_of(Settings, {})
    said = sentences(Settings)
    parts = []
    for heading, (reason, names) in REASONS.items():
        rows = [
            (f"`{PREFIX}{name.upper()}`{_other_name(name)}", types[name], _default(name), said[name]) for name in names
        ]
        parts += [f"## {heading}\n\n{reason}", table(("variable", "type", "default", "meaning"), rows)]
    return page(
        "Settings",
        inspect.cleandoc(settings.__doc__ or "").split("\n\n")[0],
        "Unknown variables that begin with `REPLAYWRIGHT_` are refused. An empty variable counts as unset. A variable "
        "with `_FILE` appended names a file that holds the value; one final line break is ignored. *None* in a meaning "
        "is the behavior while the variable is unset.",
        *parts,
        "## Other variables",
        table(("variable", "meaning"), _NOT_SETTINGS),
        "Keys of model providers (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`) and Temporal's variables for TLS and keys "
        "(`TEMPORAL_TLS_SERVER_CA_CERT_PATH`, `TEMPORAL_API_KEY`) keep their own names.",
    )


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    return "" if field.default_factory is not None else default_of(field.default)


def _other_name(name: str) -> str:
    others = {"temporal_address": "TEMPORAL_ADDRESS", "temporal_namespace": "TEMPORAL_NAMESPACE"}
    return f" or `{others[name]}`" if name in others else ""


def exit_codes() -> str:
    """Every exit status."""
    said = sentences(Exit)
    rows = [(f"`{int(member)}`", member.name.lower().replace("_", " "), said.get(member.name, "")) for member in Exit]
    return page(
        "Exit codes",
        "Every command uses these; in the code, `Exit` in `replaywright/cli/command.py`.",
        table(("status", "name", "means"), rows),
        "With `--json` the object has the same number in `exitStatus` if the command ran something or failed. A "
        "request to an ended run is bad input and reports how the run ended; only `cancel` succeeds (0). "
        "`replaywright-worker` ends with 0 when it is stopped, and with 2 if it cannot start.",
    )


def error_types() -> str:
    """Every error of ours, with the one that it is a kind of."""
    classes = [
        one for one in vars(errors).values() if inspect.isclass(one) and issubclass(one, errors.ReplaywrightError)
    ]
    rows = [
        (
            f"`{one.__name__}`",
            "" if one is errors.ReplaywrightError else f"`{one.__bases__[0].__name__}`",
            first_paragraph(one),
        )
        for one in classes
    ]
    return page(
        "Errors",
        "The types that failures of activities and workflows have in Temporal. What a command does about those that it "
        "meets is in [exit codes](../reference/exit-codes.md).",
        table(("error", "is a kind of", "means"), rows),
    )


PAGES: Final[dict[str, Callable[[], str]]] = {
    "docs/reference/cli.md": command_line,
    **{f"docs/reference/cli/{_slug(heading)}.md": partial(command_group, heading) for heading in COMMANDS},
    "docs/reference/settings.md": all_settings,
    "docs/reference/exit-codes.md": exit_codes,
    "docs/reference/task-fields.md": task_fields,
    "docs/internals/workflow.md": browser_task,
    "docs/internals/errors.md": error_types,
    "docs/internals/repair-order.md": repairs,
    "docs/reference/metrics.md": metrics,
    "docs/reference/search-attributes.md": search_attributes,
}
"""The pages by their paths in the repository."""

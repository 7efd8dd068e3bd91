"""Keeping a recorded task: as a file or as a candidate skill, and what is told of it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import yaml

from replaywright.cli import output
from replaywright.cli.files import write_new
from replaywright.cli.options import Force, Json
from replaywright.cli.servers.store import open_or_start_store
from replaywright.cli.skills.elements import add_candidates, candidate_message
from replaywright.cli.skills.skill_store import require_no_secrets
from replaywright.domain.common.elsewhere import RECORDING_LIMIT
from replaywright.domain.common.templates import SECRET_PREFIX
from replaywright.domain.common.text import shorten
from replaywright.domain.skill.skill_files import imported_skill
from replaywright.errors import InputInvalid
from replaywright.imports import Imported, Note, read_recording, task_name
from replaywright.recording.writing import data_of
from replaywright.settings import load_settings
from replaywright.yaml_files import read_text

_MEANS: Final = {"left_out": "left out", "changed": "changed", "check": "to check"}
_MANY: Final = 12
"""Places that one row names."""
_NOTE_LIMIT: Final = 500
"""Characters of what a skill's history says of the recording."""
_NOT_IN_YAML: Final = re.compile("[^\\t\\x20-\\x7e\\xa0-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""Characters that YAML allows nowhere, not even in a comment."""


@dataclass(frozen=True)
class OutputOptions:
    """Options on where the task goes."""

    name: Annotated[
        str | None, typer.Option("--name", help="Name of the task. (default: of the site, or of the file)")
    ] = None
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="TASK", help="Output file; `-` is standard output. (default: NAME.yaml)"),
    ] = None
    force: Force = False
    skill: Annotated[
        bool, typer.Option("--skill", help="Write no file: save it as a candidate skill, which a run verifies.")
    ] = False
    json: Json = False

    def check(self) -> None:
        """Refuse options that contradict each other.

        Raises:
            InputInvalid: names them.
        """
        if self.json and self.out == "-":
            raise InputInvalid("--json and --out - both want standard output; name a file for the task")
        if self.skill and (self.out or self.force):
            raise InputInvalid("--skill writes no file: leave out --out and --force")

    def file_of(self, name: str) -> str:
        """Return the file that the task called `name` goes to; empty for a skill."""
        return "" if self.skill else self.out or f"{name}.yaml"


def read_file(file: str, kind: str | None, name: str | None) -> tuple[Imported, str]:
    """Return the task of another tool's recording, and the recording's name; `-` is standard input.

    Raises:
        InputInvalid: it cannot be read, or is no recording.
    """
    source = "standard input" if file == "-" else file
    text = read_text(file, source, RECORDING_LIMIT)
    try:
        return read_recording(text, name or task_name("imported" if file == "-" else _stem(file)), kind), source
    except InputInvalid as exc:
        raise InputInvalid(f"{source}: {exc}") from exc


async def keep(imported: Imported, source: str, options: OutputOptions) -> str:
    """Write the task, or save it as a skill, and tell of it; return the file, empty for a skill.

    Raises:
        InputInvalid: the file is there already, or cannot be written.
    """
    if options.skill:
        await _keep(imported, source, json=options.json)
        return ""
    written = options.file_of(imported.task.task)
    write_new(written, task_file(imported, source), force=options.force)
    if options.json:
        output.print_json(_report(imported, written))
    else:
        _print(imported, written)
    return written


async def _keep(imported: Imported, source: str, *, json: bool) -> None:
    """Save the task as a candidate skill; its history lists the parts that were left out."""
    left_out = ", ".join(note.what for note in imported.notes if note.kind == "left_out")
    note = f"recorded by {imported.kind}, in {Path(source).name}" + (f"; left out: {left_out}" if left_out else "")
    candidate = imported_skill(imported.task, note=shorten(note, _NOTE_LIMIT))
    require_no_secrets([candidate])
    async with open_or_start_store(load_settings(), lasting=True) as store:
        [(kept, before, new)] = await add_candidates(store.knowledge, [candidate])
    if json:
        output.print_json({**_report(imported, ""), "skill": {"name": kept.name, "version": kept.version, "new": new}})
        return
    _print(imported, "")
    output.print_line(candidate_message(kept, before, new=new))


def task_file(imported: Imported, source: str) -> str:
    """Return the task as YAML for `run`, with the notes as comments above it."""
    lines = [f"Recorded: {source} ({imported.kind})."]
    lines += [": ".join(row) for row in _note_rows(imported.notes)]
    comments = "".join(f"# {_NOT_IN_YAML.sub('�', output.plain(line))}\n" for line in lines)
    return comments + yaml.safe_dump(data_of(imported.task), sort_keys=False, allow_unicode=True, width=110)


def _stem(file: str) -> str:
    """Return the file's name without its extensions."""
    return Path(file).name.partition(".")[0]


def _report(imported: Imported, written: str) -> dict[str, Any]:
    task = imported.task
    return {
        "kind": imported.kind,
        "file": written,
        "task": task.task,
        "steps": len(task.steps),
        "parameters": {
            name: parameter.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
            for name, parameter in task.parameters.items()
        },
        "secrets": list(task.secrets),
        "notes": [note.model_dump(mode="json") for note in imported.notes],
    }


def _print(imported: Imported, written: str) -> None:
    """Print the parameters, the notes and the command; on standard error if the task has standard output."""
    console = output.standard_error() if written == "-" else output.standard_output()
    task = imported.task
    if task.parameters or task.secrets:
        rows: list[tuple[str, str, str]] = []
        for name, parameter in task.parameters.items():
            shown = parameter.default if parameter.default is not None else parameter.example
            rows.append((name, parameter.type, shown + (" (default)" if parameter.default else "")))
        for secret in task.secrets:
            bind = f"`replaywright admin secrets bind {secret} HOST`"
            rows.append((secret, "secret", f"not kept: set {SECRET_PREFIX}{secret}, and bind it: {bind}"))
        output.print_table(("parameter", "type", "recorded value"), rows, console=console)
    if imported.notes:
        output.print_table(("", "where", "what", "why, and what to do"), _note_rows(imported.notes), console=console)
    counts = ", ".join(f"{_count(imported.notes, kind)} {said}" for kind, said in _MEANS.items())
    message = written or task.task
    output.print_line(f"{message}: {output.count(len(task.steps), 'step')}; {counts}", console=console)
    needed = " ".join(f"-p {name}=…" for name, parameter in task.parameters.items() if parameter.default is None)
    if written not in ("-", ""):
        given = " ".join(filter(None, (str(written), needed)))
        output.print_line(f"replaywright run {given}", style="dim", console=console)


def _note_rows(notes: tuple[Note, ...]) -> list[tuple[str, str, str, str]]:
    """Return the notes as rows; notes with the same advice share a row."""
    alike: dict[tuple[str, str], list[Note]] = {}
    for note in notes:
        alike.setdefault((_MEANS[note.kind], note.advice), []).append(note)
    return [
        (kind, _listed(note.where for note in same), _listed(note.what for note in same), advice)
        for (kind, advice), same in alike.items()
    ]


def _listed(words: Iterable[str]) -> str:
    each = list(dict.fromkeys(words))
    return ", ".join(each[:_MANY]) + (f" and {len(each) - _MANY} more" if len(each) > _MANY else "")


def _count(notes: tuple[Note, ...], kind: str) -> int:
    return sum(note.kind == kind for note in notes)

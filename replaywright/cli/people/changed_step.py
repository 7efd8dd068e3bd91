"""Changes of a failed step by a person: in an editor, from a file, or field by field."""

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer
import yaml

from replaywright.cli import output
from replaywright.cli.people.editor import edited
from replaywright.cli.tasks.taskfile import read_data
from replaywright.domain.task.questions import Question
from replaywright.errors import InputInvalid
from replaywright.yaml_files import parse_yaml

_EDITED = "the edited step"


@dataclass(frozen=True)
class ChangeOptions:
    """Options that change the failed step."""

    edit: Annotated[bool, typer.Option("--edit", help="For `retry`: change the step in $EDITOR first.")] = False
    file: Annotated[
        str | None,
        typer.Option("--file", metavar="FILE", help="For `retry`: YAML or JSON with the step as it is to be."),
    ] = None
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="For `retry`: change a field, such as instruction or target.name."
        ),
    ] = None

    @property
    def is_wanted(self) -> bool:
        """Say whether the step is to be changed."""
        return self.edit or self.file is not None or bool(self.changes)

    def check(self) -> None:
        """Refuse more than one of them.

        Raises:
            InputInvalid: more than one is given.
        """
        if sum((self.edit, self.file is not None, bool(self.changes))) > 1:
            raise InputInvalid("say one of --edit, --file and --set, or none to do the step as it is")


async def changed(
    now: Mapping[str, Any], question: Question, change: ChangeOptions, take: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    """Pass the changed step to `take`; in an editor, the user can correct a step that `take` refuses.

    Raises:
        InputInvalid: nothing was changed, or `take` refuses it.
    """
    text = _as_yaml(now, question) if change.edit else ""
    while True:
        step = _given(now, text, change)
        try:
            await take(step)
        except InputInvalid as exc:
            if not (change.edit and sys.stdin.isatty()):
                raise
            output.print_error(str(exc))
            if not typer.confirm("change it once more?", default=True):
                raise
            text = _as_yaml(step, question)
            continue
        return


def _given(now: Mapping[str, Any], text: str, change: ChangeOptions) -> dict[str, Any]:
    """Return the step as the caller changed it."""
    if change.edit:
        after = edited(text, suffix=".yaml")
        if after is None:
            raise InputInvalid("nothing was changed; without --edit the step is performed as it is")
        data, source = parse_yaml(after, _EDITED), _EDITED
    elif change.file is not None:
        data, source = read_data(change.file)
    else:
        data, source = with_changes(now, change.changes or ()), "--set"
    if not isinstance(data, dict) or not all(isinstance(name, str) for name in data):
        raise InputInvalid(f"{source}: expected one step, a mapping with action and instruction")
    return data


def with_changes(now: Mapping[str, Any], changes: Sequence[str]) -> dict[str, Any]:
    """Apply `field=value` pairs to a step; `target.name=…` changes a nested field, an empty value removes one.

    Raises:
        InputInvalid: a pair without `=`, or a value that is no YAML.
    """
    step = dict(now)
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path.strip():
            raise InputInvalid(f"--set {change!r}: expected field=value")
        value = parse_yaml(text, f"--set {path}")
        if isinstance(value, dict) and not text.lstrip().startswith("{"):  # a text with a colon in it
            value = text.strip()
        name, dot, inner = path.strip().partition(".")
        if dot:
            within = step.get(name)
            value = {**(within if isinstance(within, dict) else {}), inner: value}
        if value is None:
            step.pop(name, None)
        else:
            step[name] = value
    return step


def _as_yaml(step: Mapping[str, Any], question: Question) -> str:
    lines = [f"# {line}" for line in question.text.splitlines()]
    return "\n".join([*lines, "# The step as a task file has it:", yaml.safe_dump(dict(step), allow_unicode=True)])

"""Input of `run`: task file, parameters and secrets; and the id and description of a run."""

import json
import os
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from replaywright.domain.common.elsewhere import json_value
from replaywright.domain.common.sentences import masked
from replaywright.domain.common.templates import SECRET_PREFIX
from replaywright.domain.common.text import code_span, inert, unlinked
from replaywright.domain.run.scope import Heal, Mode
from replaywright.domain.secrets.secret_sites import unbound
from replaywright.domain.task.mistakes import Source
from replaywright.domain.task.steps import ForEach, Step
from replaywright.domain.task.tasks import GivenTexts, Task, begins_at, parse_task
from replaywright.errors import InputInvalid, SecretMissing
from replaywright.vault.sources import bound_to, source_of, sources_of
from replaywright.yaml_files import checked, line_of, parse_yaml, read_text

_SUMMARY_BYTES = 200
"""Temporal's limit of a run's summary."""
DETAILS_BYTES = 20_000
"""Temporal's limit of a run's details."""
_HOST_LIMIT = 64
"""Characters of a host in the id of a run."""
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")

_DOCS = "guide to these pages: `docs/how-to/temporal-ui.md`"


def read_task(path: str) -> Task:
    """Read the task in this file; `-` is standard input.

    Raises:
        InputInvalid: one line with file, line or field, and what was expected.
    """
    data, source = read_data(path)
    return parse_task(data, source)


def read_data(path: str) -> tuple[Any, Source]:
    """Read a YAML or JSON file; return its data and its name, which knows its lines. `-` is standard input.

    Raises:
        InputInvalid: one line with file and line.
    """
    name = "standard input" if path == "-" else path
    text = read_text(path, name)
    source = Source(name, partial(line_of, text))
    return _parse_json(text, source) if _is_json(path, text) else parse_yaml(text, source), source


def task_of_text(text: str, name: str) -> Task:
    """Parse the text of a task file, YAML or JSON.

    Raises:
        InputInvalid: one line with `name`, line or field, and what was expected.
    """
    source = Source(name, partial(line_of, text))
    return parse_task(_parse_json(text, source) if _is_json("-", text) else parse_yaml(text, source), source)


def read_parameters(given: Sequence[str], path: str | None) -> dict[str, str]:
    """Read values from a file (`--params`) and from `name=value` pairs (`--param`), which win; repeat one for a list.

    Raises:
        InputInvalid: unreadable file, a pair without `=`, or a value that is a list or a mapping.
    """
    values = _parameters_from(path) if path is not None else {}
    pairs: dict[str, list[str]] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputInvalid(f"--param {pair!r}: expected name=value")
        pairs.setdefault(name.strip(), []).append(value)
    values |= {name: each[0] if len(each) == 1 else GivenTexts(each) for name, each in pairs.items()}
    return _texts(values)


def read_parameter_sets(path: str | None) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Read values for several tasks: those for all, and by a task's name those for it alone.

    Raises:
        InputInvalid: unreadable file, or a value that is neither one value nor such a mapping of values.
    """
    data = {} if path is None else _mapping_from(path)
    own = {name: value for name, value in data.items() if isinstance(value, dict)}
    common = {name: _as_text(value, name, str(path)) for name, value in data.items() if name not in own}
    each = {
        name: _texts({str(inner): _as_text(value, f"{name}.{inner}", str(path)) for inner, value in values.items()})
        for name, values in own.items()
    }
    return _texts(common), each


def _texts(values: dict[str, str]) -> dict[str, str]:
    """Return the values if all of them are text.

    Raises:
        InputInvalid: one is no text.
    """
    for name, value in values.items():
        if "\x00" in value or not _is_text(value):
            raise InputInvalid(f"parameter {name!r} holds bytes that are no UTF-8 text")
    return values


def require_secrets(
    task: Task, values: Mapping[str, str], home: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Check that every secret of the task has a value here and is bound to a host.

    Raises:
        InputInvalid: names all that have no value and the variables to set, or the command that binds the first.
    """
    here = os.environ if environment is None else environment
    if missing := [name for name in task.secrets if not sources_of(name, here, home)]:
        raise InputInvalid(
            f"task {task.task!r} needs secrets that have no value here: "
            f"{', '.join(f'`replaywright admin secrets set {name}`' for name in missing)}, or set "
            f"{', '.join(SECRET_PREFIX + name for name in missing)} (or the same name with _FILE, the path of a file "
            f"that holds it, or with _COMMAND, a command that prints it) where the worker is started"
        )
    for name in task.secrets:
        try:
            source_of(name, here, home)
            if not bound_to(name, here, home):
                raise SecretMissing(unbound(name, begins_at(task, values)))
        except SecretMissing as exc:
            raise InputInvalid(f"task {task.task!r}: {exc}") from None


def new_run_id(task: Task, values: Mapping[str, str]) -> str:
    """Make a run id, as `task/host/20261121-103400-1a2b3c`: readable in the Temporal UI, without personal data.

    At most 150 letters, digits, dots, hyphens and slashes. Of 100 runs of one task that begin in the same second, two
    have the same id once in 3,000 times; the second is then refused, and nothing was done.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    host = _UNSAFE.sub("-", site_of(task, values))[:_HOST_LIMIT]
    return f"{task.task}/{host}/{stamp}-{secrets.token_hex(3)}"


def site_of(task: Task, values: Mapping[str, str]) -> str:
    """Return the host of the task's first URL; `-` if it has none."""
    try:
        return urlsplit(begins_at(task, values)).hostname or "-"
    except ValueError:
        return "-"


def summary_of(task: Task) -> str:
    """Return the summary for Temporal's list of runs."""
    steps = f" ({len(task.steps)} steps)" if task.steps else ""
    return cut(unlinked(_shown_goal(task) or task.task) + steps, _SUMMARY_BYTES)


def plan_of(task: Task, mode: Mode, heal: Heal, *, run_id: str = "", site: str = "", skill: str = "") -> str:
    """Describe the plan as Markdown: steps with their templates, names of parameters and secrets, never a value.

    `run_id` is that of the run which the details are of: then the commands that tell more of it are there, too.
    """
    lines = [f"**{task.task}**: {inert(_shown_goal(task)) or 'no goal given'}", ""]
    lines += [f"- site: {code_span(site)}"] if site else []
    lines += [f"- skill: {code_span(skill)}"] if skill else []
    lines += [f"- mode: {mode.value}, heal: {heal.value}"]
    lines += [f"- parameters: {', '.join(map(code_span, task.parameters))} (values: see the input)"] * bool(
        task.parameters
    )
    lines += [f"- secrets: {', '.join(map(code_span, task.secrets))}"] if task.secrets else []
    lines += [f"- verified at the end: {len(task.verify)} conditions"] if task.verify else []
    commands = [f"replaywright {command} {shlex.quote(run_id)}" for command in ("report", "show")]
    lines += [f"- more: {' · '.join(map(code_span, commands))}; {_DOCS}"] if run_id else []
    lines.append("")
    for number, step in enumerate(task.steps, 1):
        lines.append(f"{number}. {_step_line(step)}")
        lines += [f"    - {_step_line(inner)}" for inner in (step.steps if isinstance(step, ForEach) else ())]
    lines += [] if task.steps else ["recalled or learned by the run"]
    return cut("\n".join(lines), DETAILS_BYTES)


def _step_line(step: Step) -> str:
    return code_span(step.title) + (" (under a condition)" if step.when else "")


def _shown_goal(task: Task) -> str:
    """Return the goal; the values in a sentence are masked."""
    return task.goal if task.steps else masked(task.goal)


def _is_json(path: str, text: str) -> bool:
    """Standard input is taken for JSON when it begins like it and holds a quoted key; YAML's `{a: b}` does not."""
    if path != "-":
        return Path(path).suffix.lower() == ".json"
    return re.match(r'\s*(\{\s*["}]|\[)', text) is not None


def _parse_json(text: str, source: str, **hooks: Any) -> Any:
    try:
        return checked(json_value(text, **hooks), source)
    except json.JSONDecodeError as exc:
        raise InputInvalid(f"{source}:{exc.lineno}:{exc.colno}: not JSON: {exc.msg}") from exc
    except ValueError as exc:
        raise InputInvalid(f"{source}: {exc}") from exc


def _parameters_from(path: str) -> dict[str, str]:
    source = "standard input" if path == "-" else path
    return {name: _as_text(value, name, source) for name, value in _mapping_from(path).items()}


def _mapping_from(path: str) -> dict[str, Any]:
    source = "standard input" if path == "-" else path
    text = read_text(path, source)
    if _is_json(path, text):
        data = _parse_json(text, source, parse_int=str, parse_float=str)
    else:
        data = parse_yaml(text, source, as_texts=True)
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise InputInvalid(f"{source}: expected a mapping from parameter names to values")
    return {str(name): value for name, value in data.items()}


def _as_text(value: Any, name: str, source: str) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case list() if all(isinstance(each, str) for each in value):
            return GivenTexts(value)
        case _:
            raise InputInvalid(f"{source}: {name}: expected one value, found {type(value).__name__}")


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def cut(text: str, limit_bytes: int) -> str:
    """Cut `text` to the limit."""
    data = text.encode()
    if len(data) <= limit_bytes:
        return text
    return data[: limit_bytes - 3].decode(errors="ignore") + "…"

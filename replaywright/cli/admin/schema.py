"""`replaywright admin schema`: JSON schemas of what people write, for editors, and of what programs send and get."""

import ast
import functools
import inspect
import json
import re
import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer
from pydantic import BaseModel

from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.domain.common.base import Authored, Record
from replaywright.domain.run.runs import Progress, RunInput, RunResult
from replaywright.domain.skill.skill_files import SkillsFile
from replaywright.domain.task.policy import Policy
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = re.compile(r"#/\$defs/([\w-]+)")


_NOT_FOR_CALLERS = ("state", "resume")
"""Fields of a run's input that `replaywright resume` and the run itself fill in."""


@admin.command()
def schema(
    *,
    skills: Annotated[bool, typer.Option("--skills", help="Of files of skills, as of `skills export`.")] = False,
    policy: Annotated[bool, typer.Option("--policy", help="Of an operator's policy, `REPLAYWRIGHT_POLICY`.")] = False,
    run_input: Annotated[
        bool, typer.Option("--run-input", help="Of what a program starts the workflow `BrowserTask` with.")
    ] = False,
    run_result: Annotated[bool, typer.Option("--run-result", help="Of what that workflow returns.")] = False,
    progress: Annotated[bool, typer.Option("--progress", help="Of what its query `progress` answers.")] = False,
) -> None:
    """Print the JSON schema of task files; or of files of skills, of a policy, or of a run's input, result or progress.

    With it, an editor completes fields and marks mistakes. For the YAML language server, begin a task file with
    `# yaml-language-server: $schema=task.schema.json`. Programs in other languages can generate types from it: see
    docs/reference/contracts.md.

    Example: `replaywright admin schema > task.schema.json`

    Example: `replaywright admin schema --run-input > run-input.schema.json`
    """
    wanted = {
        "--skills": (skills, skills_schema),
        "--policy": (policy, policy_schema),
        "--run-input": (run_input, run_input_schema),
        "--run-result": (run_result, run_result_schema),
        "--progress": (progress, progress_schema),
    }
    chosen = [make for is_given, make in wanted.values() if is_given]
    if len(chosen) > 1:
        *names, last = wanted
        raise InputInvalid(f"say one of {', '.join(names)} and {last}")
    output.print_json((chosen or [task_schema])[0](), indent=2)


_BEGINNINGS = [
    {"required": ["steps"], "properties": {"steps": {"minItems": 1}}},
    {"required": ["goal", "url"], "properties": {"goal": {"minLength": 1}, "url": {"minLength": 1}}},
]
"""A task lists its steps, or has a goal and a page to begin on."""


def task_schema() -> dict[str, Any]:
    """Make the schema of task files; the strings below the models' fields are its descriptions."""
    return {"$schema": _DRAFT, **_described(Task), "anyOf": _BEGINNINGS, "title": "Replaywright task"}


def skills_schema() -> dict[str, Any]:
    """Make the schema of files of skills. A skill's task lists its steps."""
    result = _described(SkillsFile)
    result["$defs"]["Task"]["required"] = ["task", "steps"]
    return {"$schema": _DRAFT, **result, "title": "Replaywright skills"}


def policy_schema() -> dict[str, Any]:
    """Make the schema of an operator's policy."""
    return {"$schema": _DRAFT, **_described(Policy), "title": "Replaywright policy"}


def run_input_schema() -> dict[str, Any]:
    """Make the schema of the workflow's input. Missing fields have defaults; unknown fields are ignored."""
    result = _described(RunInput)
    result["properties"] = {name: told for name, told in result["properties"].items() if name not in _NOT_FOR_CALLERS}
    result["$defs"]["Task"]["anyOf"] = _BEGINNINGS
    return {"$schema": _DRAFT, **_with_what_it_needs(result), "title": "Input of the workflow BrowserTask"}


def run_result_schema() -> dict[str, Any]:
    """Make the schema of the workflow's result. All fields are present; later versions may add some."""
    return {"$schema": _DRAFT, **_described(RunResult, "serialization"), "title": "Result of the workflow BrowserTask"}


def progress_schema() -> dict[str, Any]:
    """Make the schema of the answer to the query `progress`."""
    return {"$schema": _DRAFT, **_described(Progress, "serialization"), "title": "Progress of a run"}


def _with_what_it_needs(described: dict[str, Any]) -> dict[str, Any]:
    """Drop the definitions that nothing in the schema refers to."""
    definitions: dict[str, Any] = described.get("$defs", {})
    named: set[str] = set()
    pending = [{name: part for name, part in described.items() if name != "$defs"}]
    while pending:
        found = set(_REFERENCE.findall(json.dumps(pending.pop()))) - named
        named |= found
        pending += [definitions[name] for name in found]
    return {**described, "$defs": {name: part for name, part in definitions.items() if name in named}}


def _described(root: type[BaseModel], mode: Literal["validation", "serialization"] = "validation") -> dict[str, Any]:
    result = root.model_json_schema(mode=mode)
    definitions: dict[str, Any] = result.get("$defs", {})
    for model in (*_models(Authored), *_models(Record)):
        described = result if model is root else definitions.get(model.__name__)
        if described is not None:
            _describe(described, model)
    return result


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for model in base.__subclasses__():
        yield model
        yield from _models(model)


def _describe(described: dict[str, Any], model: type[BaseModel]) -> None:
    sentences: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if issubclass(part, Authored | Record) and part not in (Authored, Record):
            sentences |= _field_sentences(part.__module__).get(part.__name__, {})
    for name, field in model.model_fields.items():
        shown = described.get("properties", {}).get(field.alias or name)
        if shown is not None and name in sentences:
            shown.setdefault("description", sentences[name])


@functools.cache
def _field_sentences(module: str) -> dict[str, dict[str, str]]:
    """Return the string below each field, by class and field.

    Pydantic could collect these, but then every worker would parse its own source.
    """
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {}
            for field, below in zip(node.body, node.body[1:], strict=False):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                        found[node.name][name] = inspect.cleandoc(text)
    return found

"""`replaywright schema`: the JSON schema of task files, of files of skills and of policies, for editors."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from pydantic import BaseModel

from replaywright.cli import output
from replaywright.cli.app import Command, app
from replaywright.domain.base import Authored
from replaywright.domain.policy import Policy
from replaywright.domain.skill_files import SkillsFile
from replaywright.domain.tasks import Task
from replaywright.errors import InputInvalid

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


@app.command(cls=Command)
def schema(
    skills: Annotated[bool, typer.Option("--skills", help="Of files of skills, as of `skills export`.")] = False,
    policy: Annotated[bool, typer.Option("--policy", help="Of an operator's policy, `REPLAYWRIGHT_POLICY`.")] = False,
) -> None:
    """Print the JSON schema of task files, of files of skills, or of an operator's policy.

    An editor with it completes fields and marks mistakes. With the YAML language server, put this into the first
    line of a task: `# yaml-language-server: $schema=task.schema.json`

    Example: `replaywright schema > task.schema.json`
    """
    if skills and policy:
        raise InputInvalid("say one of --skills and --policy")
    output.print_json(skills_schema() if skills else policy_schema() if policy else task_schema(), indent=2)


_BEGINNINGS = [
    {"required": ["steps"], "properties": {"steps": {"minItems": 1}}},
    {"required": ["goal", "url"], "properties": {"goal": {"minLength": 1}, "url": {"minLength": 1}}},
]
"""A task lists its steps, or has a goal and a page to begin on."""


def task_schema() -> dict[str, Any]:
    """The schema, with the sentences from the models' source as descriptions."""
    return {"$schema": _DRAFT, **_described(Task), "anyOf": _BEGINNINGS, "title": "Replaywright task"}


def skills_schema() -> dict[str, Any]:
    """The same of files of skills. A skill's task lists its steps."""
    result = _described(SkillsFile)
    result["$defs"]["Task"]["required"] = ["task", "steps"]
    return {"$schema": _DRAFT, **result, "title": "Replaywright skills"}


def policy_schema() -> dict[str, Any]:
    """The same of an operator's policy."""
    return {"$schema": _DRAFT, **_described(Policy), "title": "Replaywright policy"}


def _described(root: type[Authored]) -> dict[str, Any]:
    result = root.model_json_schema()
    definitions: dict[str, Any] = result.get("$defs", {})
    for model in _models(Authored):
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
        if issubclass(part, Authored) and part is not Authored:
            sentences |= _field_sentences(part)
    for name, field in model.model_fields.items():
        shown = described.get("properties", {}).get(field.alias or name)
        if shown is not None and name in sentences:
            shown.setdefault("description", sentences[name])


def _field_sentences(model: type[BaseModel]) -> dict[str, str]:
    """The string below each field. Pydantic could collect them, but then every worker would parse its own source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    assert isinstance(body, ast.ClassDef)
    sentences: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                sentences[name] = inspect.cleandoc(text)
    return sentences

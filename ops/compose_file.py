"""A compose file as Docker Compose reads it: YAML with merges, variables filled in, and the specification's schema."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parent / "compose" / "compose-spec.json"


class ComposeInvalid(Exception):
    """What is written there is no compose file."""


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice, as Docker Compose does; a merge (`<<`) may be overridden."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in seen:
                raise ComposeInvalid(f"line {key.start_mark.line + 1}: {key.value!r} is there twice")
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def read(text: str, environ: Mapping[str, str]) -> dict[str, Any]:
    """The file with its merges done and its variables filled in.

    Raises:
        ComposeInvalid: it is no YAML, a key is there twice, or a variable is missing.
    """
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506  a safe loader
    except yaml.YAMLError as exc:
        raise ComposeInvalid(f"no YAML: {exc}") from exc
    if not isinstance(data, dict):
        raise ComposeInvalid("expected a mapping with `services`")
    filled: dict[str, Any] = _filled(data, environ)
    return filled


def schema_errors(data: Mapping[str, Any]) -> list[str]:
    """What does not fit the specification's schema, one line each."""
    errors = sorted(_validator().iter_errors(data), key=lambda error: list(map(str, error.path)))
    return [f"{'.'.join(map(str, error.absolute_path)) or 'file'}: {error.message[:300]}" for error in errors]


@cache
def _validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


def _filled(value: Any, environ: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(below, environ) for key, below in value.items()}
    if isinstance(value, list):
        return [_filled(below, environ) for below in value]
    return interpolated(value, environ) if isinstance(value, str) else value


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def interpolated(text: str, environ: Mapping[str, str]) -> str:
    """`text` with its variables filled in: `$NAME`, `${NAME}`, `${NAME:-…}`, and so on; `$$` is one `$`.

    Raises:
        ComposeInvalid: a variable has no value and no default, or what follows a `$` is none of these.
    """
    parts: list[str] = []
    at = 0
    while (dollar := text.find("$", at)) >= 0:
        parts.append(text[at:dollar])
        if text.startswith("$$", dollar):
            parts.append("$")
            at = dollar + 2
            continue
        braced = text.startswith("${", dollar)
        start = dollar + (2 if braced else 1)
        name = _VARIABLE.match(text, start)
        if name is None:
            raise ComposeInvalid(f"{text!r}: a `$` that begins no variable is written `$$`")
        if braced:
            end = _closing(text, start)
            parts.append(_value(name[0], text[name.end() : end], environ))
            at = end + 1
        else:
            parts.append(_value(name[0], "", environ))
            at = name.end()
    return "".join([*parts, text[at:]])


def _closing(text: str, start: int) -> int:
    depth = 1
    for at in range(start, len(text)):
        if text.startswith("${", at):
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at
    raise ComposeInvalid(f"{text!r}: a `${{` without its `}}`")


def _value(name: str, rest: str, environ: Mapping[str, str]) -> str:
    operator = next((one for one in (":-", ":?", ":+", "-", "?", "+") if rest.startswith(one)), "")
    if rest and not operator:
        raise ComposeInvalid(f"${{{name}{rest}}}: expected `:-`, `-`, `:?`, `?`, `:+` or `+` behind the name")
    argument = rest.removeprefix(operator)
    value = environ.get(name)
    is_given = bool(value) if operator.startswith(":") else value is not None
    if operator.endswith("+"):
        return interpolated(argument, environ) if is_given else ""
    if is_given:
        return value or ""
    if operator.endswith("-"):
        return interpolated(argument, environ)
    raise ComposeInvalid(f"{name} is not set: {argument or 'it has no default'}")

"""Loaders of YAML; `yaml_files` comes here for what is no JSON."""

from collections.abc import Hashable
from typing import Any

import yaml

from replaywright.errors import InputInvalid


class _StrictLoader(yaml.SafeLoader):
    """Refuses a mapping that says the same thing twice; YAML's own rule would keep the last and drop the first."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"the key {key.value!r} is here twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


class _TextLoader(yaml.BaseLoader):
    """Every scalar stays the text that was written: `007`, `yes` and `2026-01-31` are values, not numbers."""


def loaded(text: str, source: str, *, as_texts: bool) -> Any:
    """What `yaml_files.parse_yaml` returns and raises."""
    loader: type[yaml.BaseLoader | yaml.SafeLoader] = _TextLoader if as_texts else _StrictLoader
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  both loaders build plain data only
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise InputInvalid(f"{source}{place}: not YAML: {exc.problem or exc.context}") from exc
    except (yaml.YAMLError, ValueError) as exc:  # a character YAML forbids; a date that does not exist
        raise InputInvalid(f"{source}: not YAML: {' '.join(str(exc).split())}") from exc
    except RecursionError as exc:
        raise InputInvalid(f"{source}: nested too deeply") from exc

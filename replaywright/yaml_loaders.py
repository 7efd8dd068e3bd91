"""Loaders of YAML; `yaml_files` comes here for what is no JSON."""

from collections.abc import Hashable, Sequence
from typing import Any

import yaml
from yaml.composer import ComposerError

from replaywright.domain.common.elsewhere import NODES_LIMIT, NUMBER_LIMIT, SHOWN
from replaywright.domain.common.text import shorten
from replaywright.errors import InputInvalid

_STR = "tag:yaml.org,2002:str"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


class _Bounded(yaml.BaseLoader):
    """Counts what aliases and merge keys would make of a file before it is made, and refuses what is no plain data."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._nodes = 0
        self._anchored: dict[str, int] = {}
        """Nodes of what anchors name, their aliases followed."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        anchor, before = event.anchor, self._nodes
        is_alias = isinstance(event, yaml.AliasEvent)
        if is_alias and anchor in self.anchors and anchor not in self._anchored:
            raise _wrong(f"the alias {shorten(anchor, SHOWN)!r} stands in what it means; write that out", event)
        if not is_alias and event.tag not in (None, "!", _STR):
            raise _wrong(f"the tag {shorten(event.tag, SHOWN)!r}; leave it out, and write the value alone", event)
        node = super().compose_node(parent, index)
        self._nodes += self._anchored[anchor] if is_alias else 1
        if self._nodes > NODES_LIMIT:
            raise _wrong(f"more than {NODES_LIMIT:,} values, with those that aliases repeat; write fewer", event)
        if anchor is not None:
            self._anchored[anchor] = self._nodes - before
        if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBERS and len(node.value) > NUMBER_LIMIT:
            problem = f"a number of {len(node.value)} characters; write at most {NUMBER_LIMIT}, or a text in quotes"
            raise _wrong(problem, event)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse what says the same thing twice; YAML's own rule would keep the last and drop the first."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                if key.value in seen:
                    raise _wrong(f"the key {shorten(key.value, SHOWN)!r} is here twice", key)
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


class _StrictLoader(_Bounded, yaml.SafeLoader):
    """Numbers, dates and truth values are read as such."""


class _TextLoader(_Bounded):
    """Every scalar stays the text that was written: `007`, `yes` and `2026-01-31` are values, not numbers."""


def loaded(text: str, source: str, *, as_texts: bool) -> Any:
    """Load YAML; returns and raises as `yaml_files.parse_yaml` does."""
    loader: type[_Bounded] = _TextLoader if as_texts else _StrictLoader
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506  both loaders build plain data only
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        place = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        problem = shorten(exc.problem or exc.context or "", 2 * SHOWN)
        if "'\\t'" in problem:
            problem += "; indent with spaces: YAML takes no tabs there"
        raise InputInvalid(f"{source}{place}: not YAML: {problem}") from exc
    except (yaml.YAMLError, ValueError) as exc:  # a character YAML forbids; a date that does not exist
        raise InputInvalid(f"{source}: not YAML: {shorten(' '.join(str(exc).split()), 2 * SHOWN)}") from exc
    except RecursionError as exc:
        raise InputInvalid(f"{source}: nested too deeply") from exc


def line_at(text: str, place: Sequence[str | int]) -> int:
    """Find a line in YAML; returns as `yaml_files.line_of` does."""
    try:
        node = yaml.compose(text.replace("\t", " "), Loader=_StrictLoader)  # JSON may be indented by tabs
    except yaml.YAMLError:  # not all JSON is YAML
        return 0
    line = 1
    for part in place:
        if isinstance(node, yaml.MappingNode):
            line, node = next(
                ((key.start_mark.line + 1, value) for key, value in node.value if key.value == part), (line, None)
            )
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _wrong(what: str, at: Any) -> ComposerError:
    return ComposerError(None, None, what, at.start_mark)

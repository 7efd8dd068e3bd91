"""One interaction with a widget, written as a task file would have it, and what the server must receive."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Query = Mapping[str, str]


@dataclass(frozen=True)
class Do:
    """One step; `{{name}}` in its target and arguments stands for a parameter."""

    action: str
    target: Query | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One set of parameters, and the value that the server must receive with it."""

    received: Any
    given: Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One interaction: recorded with the first entry, replayed with the second."""

    path: str
    """Path and query of the page."""
    widget: str
    """The server's name for the value."""
    kind: str
    """The framework's name for the widget."""
    steps: tuple[Do, ...]
    recorded: Entry
    replayed: Entry
    also: frozenset[str] = frozenset()
    """Other values that change with it."""

    @property
    def actions(self) -> str:
        """What is done, in a few words."""
        return " + ".join(dict.fromkeys(step.action for step in self.steps))


def do(action: str, target: Query | None = None, **arguments: Any) -> Do:
    return Do(action, target, arguments)


def entry(received: Any, **given: Any) -> Entry:
    return Entry(received, given)


def same(value: Any) -> Entry:
    """The server receives what is entered."""
    return entry(value, value=str(value))


def role(of: str, name: str) -> Query:
    return {"role": of, "name": name}


def filled(template: Any, given: Mapping[str, Any]) -> Any:
    """The template with its parameters; `{{name}}` alone may stand for something that is no text."""
    if isinstance(template, str):
        if template.startswith("{{") and template.endswith("}}") and template[2:-2] in given:
            return given[template[2:-2]]
        for name, value in given.items():
            template = template.replace(f"{{{{{name}}}}}", str(value))
        return template
    if isinstance(template, Mapping):
        return {key: filled(value, given) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [filled(value, given) for value in template]
    return template


def names_parameter(query: Query | None) -> bool:
    """Whether a target means another element with each value: then it is looked for as declared."""
    return any("{{" in text for text in (query or {}).values())

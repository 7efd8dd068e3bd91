"""Groups of commands, and commands that are coroutines or take their options as dataclasses."""

import asyncio
import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

import typer
from typer.core import TyperGroup

from replaywright.cli.command import CliCommand


class SortedCommands(TyperGroup):
    """A group that lists its commands by name."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List all commands by name."""
        return sorted(super().list_commands(ctx))


class DefaultCommand(TyperGroup):
    """A group whose first command is meant where none is named: `batch SKILL` is `batch start SKILL`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name in front of what is no command's name."""
        if args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)


_Function = TypeVar("_Function", bound=Callable[..., Any])


class Application(typer.Typer):
    """A group of commands whose errors end as `CliCommand` says, and whose options may come as dataclasses."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Function], _Function]:
        """Register a function as a command."""
        register = super().command(name, cls=CliCommand, **settings)

        def registered(function: _Function) -> _Function:
            register(_with_options(function))
            return function

        return registered

    def group(self, name: str, about: str, example: str, cls: type[TyperGroup] | None = None) -> "Application":
        """Add a group of commands."""
        made = Application(
            cls=cls,
            help=about,
            epilog=f"Example: `{example}`",
            no_args_is_help=True,
            rich_markup_mode="markdown",
        )
        self.add_typer(made, name=name)
        return made


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt a function for typer: a parameter that is a dataclass becomes one option for each field."""
    parameters: list[inspect.Parameter] = []
    gathered: dict[str, type[Any]] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        kind: Any = hints[name]
        if not (inspect.isclass(kind) and is_dataclass(kind)):
            parameters.append(parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        gathered[name] = kind
        options = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            parameters.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=options[field.name]
                )
            )

    @functools.wraps(function)
    def called(**given: Any) -> Any:
        for name, kind in gathered.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        result = function(**given)
        return asyncio.run(result) if inspect.iscoroutine(result) else result

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called

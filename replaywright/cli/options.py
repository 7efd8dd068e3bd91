"""Arguments and options that several commands share, each declared once."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from replaywright.cli.command import options_of
from replaywright.cli.completion import runs, skills


def _promise_json(ctx: typer.Context, wanted: bool) -> bool:
    """Record that the command prints JSON, so that an error is JSON, too."""
    options_of(ctx).json = wanted
    return wanted


Json = Annotated[
    bool,
    typer.Option("--json", callback=_promise_json, help="Print one JSON object; messages go to standard error."),
]
Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="Id of the run, a unique beginning or end of it, or `latest`.",
        autocompletion=runs,
    ),
]
SkillName = Annotated[str, typer.Argument(metavar="NAME", help="Name of the skill.", autocompletion=skills)]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many, the newest first.")]
Version = Annotated[int | None, typer.Option("--version", metavar="N", help="Version of the skill.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason; it is kept.")]
Once = Annotated[
    str, typer.Option("--id", metavar="ID", help="Id of your own for this request; a repeated request is done once.")
]
NewId = Annotated[str | None, typer.Option("--id", metavar="ID", help="Id of your own; it can be used once.")]
Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="Port of the live view on loopback; 0 takes a free one.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")]
Site = Annotated[str, typer.Option("--site", metavar="HOST", help="Only those of this host.")]


@dataclass(frozen=True)
class ValueOptions:
    """Options that give parameters their values."""

    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter's value; repeatable.")
    ] = None
    params: Annotated[
        str | None, typer.Option("--params", metavar="FILE", help="YAML or JSON file with values; --param wins.")
    ] = None


def limit(option: str, unit: str, what: str) -> Any:
    """Make an option that limits the spending of a run."""
    return typer.Option(option, metavar=unit, min=0, help=what)

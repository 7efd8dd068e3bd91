"""Options of commands that start runs."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from replaywright.cli.options import Json
from replaywright.domain.page.pictures import Pictures
from replaywright.domain.run.scope import Heal, Mode


class OnFailure(StrEnum):
    """Reactions to a step that failed and that nothing mends."""

    FAIL = "fail"
    ASK = "ask"


@dataclass(frozen=True)
class RunOptions:
    """Options that control a run; those not given have the command's defaults."""

    mode: Annotated[
        Mode | None,
        typer.Option(
            help="`auto`: cache, then heal, then model. `learn`: model only. `replay`: never the model. "
            "(default: `auto`; of a skill `replay`; of a resumed run as before)"
        ),
    ] = None
    heal: Annotated[
        Heal | None,
        typer.Option(
            help="A changed page: fail (`off`), heal this run only (`propose`), or for good (`auto`). "
            "(default: `auto`; of a resumed run as before)"
        ),
    ] = None
    on_failure: Annotated[
        OnFailure | None,
        typer.Option(help="When a failed step cannot be repaired: end the run (`fail`), or wait for a person (`ask`)."),
    ] = None
    pictures: Annotated[
        Pictures | None,
        typer.Option(
            help="Steps to keep a picture of: `failures`, also what is learned or healed (`auto`), all `steps`."
        ),
    ] = None


@dataclass(frozen=True)
class FollowOptions:
    """Options for following a run, and for the exit status."""

    fail_on_heal: Annotated[bool, typer.Option("--fail-on-heal", help="Exit with 3 when the run healed.")] = False
    detach: Annotated[bool, typer.Option("--detach", help="Start the run and return at once.")] = False
    wait: Annotated[bool, typer.Option("--wait", help="Keep waiting while the run waits for a person.")] = False
    json: Json = False

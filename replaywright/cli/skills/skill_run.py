"""`replaywright skills run`: a skill by its name, with parameters, without a model."""

import asyncio
from enum import StrEnum
from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.app import Command, options_of
from replaywright.cli.runs.run import carry_out, checked_id
from replaywright.cli.runs.starting import Order
from replaywright.cli.servers.connect import Place, redis_url_of, require_somewhere
from replaywright.cli.skills.skill_store import KnowledgeBase, Name, knowledge_base_at
from replaywright.cli.skills.skills import skills_app
from replaywright.cli.tasks import taskfile
from replaywright.domain.runs import Heal, Mode
from replaywright.domain.skills import Skill, SkillRef, SkillStatus, why_retired
from replaywright.domain.tasks import bind_parameters
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings


class SkillMode(StrEnum):
    """What the run of a skill may use."""

    REPLAY = "replay"
    AUTO = "auto"


@skills_app.command("run", cls=Command)
def run_skill(
    ctx: typer.Context,
    *,
    name: Name,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", metavar="NAME=VALUE", help="A parameter's value; repeatable.")
    ] = None,
    params: Annotated[
        str | None, typer.Option("--params", metavar="FILE", help="YAML or JSON file with values; --param wins.")
    ] = None,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="This version, whatever its status.")
    ] = None,
    mode: Annotated[
        SkillMode, typer.Option(help="`replay`: never a model. `auto`: cache, then heal, then model.")
    ] = SkillMode.REPLAY,
    heal: Annotated[
        Heal, typer.Option(help="A changed page: fail (`off`), heal this run only (`propose`), or for good (`auto`).")
    ] = Heal.AUTO,
    fail_on_heal: Annotated[bool, typer.Option("--fail-on-heal", help="Exit with 3 when the run healed.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Start the run and return at once.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait on when the run waits for a person.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output, the rest on standard error.")
    ] = False,
    run_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="Name the run; a name serves once.")] = None,
) -> None:
    """Run a skill and show its progress; how it went is counted.

    A candidate whose final verification held becomes active, an active one that failed becomes suspect.

    Exit status: as for `run`.

    Example: `replaywright skills run send-mail --param to=ada@example.com`
    """
    options_of(ctx).json = json
    given = taskfile.read_parameters(param or [], params)
    wanted_id = checked_id(run_id)
    settings = load_settings()
    if detach:
        require_somewhere(settings)
    console = output.for_people(json=json)

    async def begin(here: Place) -> Order:
        skill = await _found(here, name, version)
        if skill.status is SkillStatus.SUSPECT:
            said = f"version {skill.version} of {name} is suspect, a run failed: `replaywright skills show {name}`"
            output.print_line(said, style="yellow", console=console)
        values = bind_parameters(skill.task, given)
        return Order(
            skill.task,
            values,
            wanted_id or taskfile.new_run_id(skill.task, values),
            Mode(mode.value),
            heal,
            skill=SkillRef(name=skill.name, version=skill.version),
        )

    status = asyncio.run(carry_out(begin, settings, fail_on_heal=fail_on_heal, detach=detach, wait=wait, json=json))
    raise typer.Exit(status)


async def _found(here: Place, name: str, version: int | None) -> Skill:
    async with knowledge_base_at(redis_url_of(here.settings), here.settings) as base:
        return await runnable(base, name, version)


async def runnable(base: KnowledgeBase, name: str, version: int | None) -> Skill:
    """The skill to run.

    Raises:
        InputInvalid: there is none, or nobody asked for the version, and it was retired.
    """
    skill = await base.skill(name, version)
    if version is None and skill.status is SkillStatus.RETIRED:
        raise InputInvalid(why_retired(await base.record(name)))
    return skill

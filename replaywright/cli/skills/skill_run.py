"""`replaywright skills run`: a skill by its name, with parameters, without a model."""

from typing import Annotated

import typer

from replaywright.cli import output
from replaywright.cli.options import NewId, SkillName, ValueOptions
from replaywright.cli.runs.options import FollowOptions, RunOptions
from replaywright.cli.runs.run import carry_out, checked_id
from replaywright.cli.runs.starting import Order, order_of
from replaywright.cli.servers.connect import Backend, require_backend
from replaywright.cli.servers.store import open_store
from replaywright.cli.skills.skill_store import KnowledgeBase
from replaywright.cli.skills.skills import skills_app
from replaywright.cli.tasks import taskfile
from replaywright.domain.run.scope import Mode
from replaywright.domain.skill.skills import Skill, SkillRef, SkillStatus, why_retired
from replaywright.domain.task.tasks import bind_parameters
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings


@skills_app.command("run")
async def run_skill(
    *,
    name: SkillName,
    version: Annotated[
        int | None, typer.Option("--version", metavar="N", help="This version, whatever its status.")
    ] = None,
    given: ValueOptions,
    manner: RunOptions,
    following: FollowOptions,
    run_id: NewId = None,
) -> None:
    """Run a skill and show its progress; the result counts in its statistics.

    A candidate whose final verification held becomes active, an active one that failed becomes suspect.

    Exit status: as for `run`.

    Example: `replaywright skills run send-mail --param to=ada@example.com`
    """
    if manner.mode is Mode.LEARN:
        raise InputInvalid("--mode learn: a skill is replayed, or mended (`auto`); `replaywright run` learns a task")
    given_values = taskfile.read_parameters(given.param or [], given.params)
    wanted_id = checked_id(run_id)
    settings = load_settings()
    if following.detach:
        require_backend(settings)
    console = output.for_people(json=following.json)

    async def begin(here: Backend) -> Order:
        skill = await runnable_at(here, name, version)
        if skill.status is SkillStatus.SUSPECT:
            message = f"version {skill.version} of {name} is suspect, a run failed: `replaywright skills show {name}`"
            output.print_line(message, style="yellow", console=console)
        values = bind_parameters(skill.task, given_values)
        run_id = wanted_id or taskfile.new_run_id(skill.task, values)
        return order_of(skill.task, values, run_id, manner, SkillRef(name=skill.name, version=skill.version))

    raise typer.Exit(await carry_out(begin, settings, following))


async def runnable_at(here: Backend, name: str, version: int | None = None) -> Skill:
    """Return the skill to run, of the store at `here`; see `runnable`."""
    async with open_store(here.settings) as store:
        return await runnable(store.knowledge, name, version)


async def runnable(base: KnowledgeBase, name: str, version: int | None) -> Skill:
    """Return the skill to run.

    Raises:
        InputInvalid: there is none, or nobody asked for the version, and it was retired.
    """
    skill = await base.skill(name, version)
    if version is None and skill.status is SkillStatus.RETIRED:
        raise InputInvalid(why_retired(await base.record(name)))
    return skill

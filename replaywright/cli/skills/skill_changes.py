"""`replaywright skills edit | invalidate | restore | import | delete`: what a person decides about skills."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

import typer

from replaywright.cli import output
from replaywright.cli.command import Exit
from replaywright.cli.options import Json, SkillName, Version, Why, Yes
from replaywright.cli.people.editor import edited
from replaywright.cli.people.updates import user_name
from replaywright.cli.servers.store import open_or_start_store
from replaywright.cli.skills.elements import add_candidates, candidate_message, read_skills, take_over
from replaywright.cli.skills.skill_store import KnowledgeBase, as_yaml, require_no_secrets
from replaywright.cli.skills.skills import differences, print_diff, skills_app
from replaywright.cli.tasks import taskfile
from replaywright.domain.skill.skill_files import edited_skill, written
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings
from replaywright.yaml_files import parse_yaml

_Result = TypeVar("_Result")


@skills_app.command("edit")
def edit_skill(
    *,
    name: SkillName,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Take this instead of opening an editor.")
    ] = None,
    version: Annotated[int | None, typer.Option("--version", metavar="N", help="Version to begin with.")] = None,
    why: Why = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Make it active without asking.")] = False,
    candidate: Annotated[
        bool, typer.Option("--candidate", help="Do not ask; it becomes active when a run has verified it.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a new version of a skill, in $VISUAL or $EDITOR or from a file.

    The new version is checked first. With consent it is active at once; else it is a candidate until a run verifies it:
    `replaywright skills run NAME --version N`.

    Example: `replaywright skills edit send-mail --why "the field has another name"`
    """
    if yes and candidate:
        raise InputInvalid("--yes and --candidate: say one of them")
    old = asyncio.run(_with_skills(lambda base: base.skill(name, version)))
    new = _read(file, old) if file is not None else _typed(old, may_ask=not json)
    if new is None or written(new) == written(old):
        output.print_result("nothing was changed", {"changed": False}, json=json)
        return
    if not json:
        print_diff(list(differences(old, new.model_copy(update={"version": old.version + 1}))))
    active = yes or (not candidate and typer.confirm("Make this version active at once?", err=True))
    status = SkillStatus.ACTIVE if active else SkillStatus.CANDIDATE
    changed = new.model_copy(update={"status": status})
    saved = asyncio.run(_with_skills(lambda base: base.skills.save(base.tenant, changed, who=user_name(), reason=why)))
    _print_saved(saved, json=json)


@skills_app.command("invalidate")
async def invalidate_skill(name: SkillName, why: Why, version: Version = None, json: Json = False) -> None:
    """Retire a skill or one of its versions: it is no longer recalled, and runs only by name with --version.

    Example: `replaywright skills invalidate send-mail --why "it sends to the wrong folder"`
    """
    if not why.strip():
        raise InputInvalid("--why is empty: say why, for those who look at the history")
    async with open_or_start_store(load_settings(), lasting=True) as store:
        retired = await _retire(store.knowledge, name, version, why)
    which = f"version {', '.join(map(str, retired))} retired" if retired else "all versions were retired before"
    output.print_result(f"{name}: {which}", {"name": name, "retired": retired}, json=json)


@skills_app.command("restore")
async def restore_skill(name: SkillName, why: Why = "", version: Version = None, json: Json = False) -> None:
    """Activate a suspect or retired version: without --version the newest suspect one, else the newest retired one.

    Any other active version is retired.

    Example: `replaywright skills restore send-mail --why "the site was down"`
    """
    async with open_or_start_store(load_settings(), lasting=True) as store:
        number = await _restore(store.knowledge, name, version, why)
    payload = {"name": name, "version": number, "status": "active"}
    output.print_result(f"{name}: version {number} is active", payload, json=json)


@skills_app.command("import")
async def import_skills(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Exported skills, or task files; YAML or JSON, `-` is standard input."),
    ],
    json: Json = False,
) -> None:
    """Import skills from files as candidates: each becomes active when a run has verified it.

    Nothing is written if anything in the files is wrong. Skills that exist in the same form stay unchanged. Elements in
    a file (`skills export --elements`) are used at once for steps without a recorded element.

    Example: `replaywright skills import send-mail.yaml`
    """
    found = read_skills(files)
    async with open_or_start_store(load_settings(), lasting=True) as store:
        imported = await add_candidates(store.knowledge, [each.skill for each in found])
        entries = [entry for each in found for entry in each.entries(store.tenant)]
        taken = await take_over(store.steps, store.tenant, entries) if entries else 0
    if json:
        parts = [{"name": skill.name, "version": skill.version, "imported": new} for skill, _, new in imported]
        output.print_json({"skills": parts, "elements": taken})
        return
    for skill, before, new in imported:
        output.print_line(candidate_message(skill, before, new=new))
    if taken:
        output.print_line(f"{output.count(taken, 'element')} of their steps: taken over")


@skills_app.command("delete")
def delete_skill(name: SkillName, yes: Yes = False, json: Json = False) -> None:
    """Delete all versions and statistics of a skill. `invalidate` keeps them.

    Example: `replaywright skills delete send-mail`
    """
    record = asyncio.run(_with_skills(lambda base: base.record(name)))
    count = output.count(len(record.versions), "version")
    if not yes and not typer.confirm(f"Delete {name} with {count}? It cannot be restored.", err=True):
        output.print_result("nothing was changed", {"deleted": False}, json=json)
        return
    asyncio.run(_with_skills(lambda base: base.skills.delete(base.tenant, name, who=user_name())))
    output.print_result(f"{name} deleted", {"name": name, "deleted": True}, json=json)


# --------------------------------------------------------------------------------------------- editing


def _read(file: str, old: Skill) -> Skill:
    data, source = taskfile.read_data(file)
    return _checked(data, source, old)


def _typed(old: Skill, *, may_ask: bool) -> Skill | None:
    """Let a person edit the skill; None if it is unchanged. With `may_ask`, errors can be corrected."""
    text = as_yaml(old)
    while True:
        changed = edited(text, suffix=".yaml")
        if changed is None:
            return None
        text = changed
        try:
            return _checked(parse_yaml(text, "the edited text"), "the edited text", old)
        except InputInvalid as exc:
            if not may_ask:
                raise
            output.print_error(str(exc))
            if not typer.confirm("Edit it again?", err=True):
                raise typer.Exit(Exit.BAD_INPUT) from exc


def _checked(data: Any, source: str, old: Skill) -> Skill:
    if isinstance(data, dict) and isinstance(listed := data.get("skills"), list) and len(listed) == 1:
        data = listed[0]  # as it was exported
    skill = edited_skill(data, source, old)
    require_no_secrets([skill])
    return skill


# ------------------------------------------------------------------------------------------- the store


async def _with_skills(work: Callable[[KnowledgeBase], Awaitable[_Result]]) -> _Result:
    async with open_or_start_store(load_settings(), lasting=True) as store:
        return await work(store.knowledge)


async def _retire(base: KnowledgeBase, name: str, version: int | None, reason: str) -> list[int]:
    """Retire one version or all; return those that were not retired before."""
    wanted = await _of_status(base, name, set(SkillStatus) - {SkillStatus.RETIRED})
    if version is not None:
        await base.skill(name, version)
        wanted = [version] if version in wanted else []
    for number in wanted:
        await base.skills.set_status(base.tenant, name, number, SkillStatus.RETIRED, who=user_name(), reason=reason)
    return wanted


async def _restore(base: KnowledgeBase, name: str, version: int | None, reason: str) -> int:
    """Make a version active, and return its number."""
    if version is None:
        suspect = await _of_status(base, name, {SkillStatus.SUSPECT})
        gone = suspect or await _of_status(base, name, {SkillStatus.RETIRED})
        if not gone:
            raise InputInvalid(
                f"skill {name!r} has no version that is suspect or retired; --version N makes another one active"
            )
        version = gone[-1]
    await base.skill(name, version)
    await base.skills.set_status(base.tenant, name, version, SkillStatus.ACTIVE, who=user_name(), reason=reason)
    return version


async def _of_status(base: KnowledgeBase, name: str, statuses: set[SkillStatus]) -> list[int]:
    versions = (await base.record(name)).versions
    found = [await base.skills.get(base.tenant, name, version) for version in versions]
    return [skill.version for skill in found if skill is not None and skill.status in statuses]


def _print_saved(saved: Skill, *, json: bool) -> None:
    payload = {"changed": True, "name": saved.name, "version": saved.version, "status": saved.status.value}
    later = ""
    if saved.status is SkillStatus.CANDIDATE:
        later = f": `replaywright skills run {saved.name} --version {saved.version}` verifies it"
    output.print_result(
        f"{saved.name}: version {saved.version} written, {saved.status.value}{later}", payload, json=json
    )

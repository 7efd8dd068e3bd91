"""`replaywright skills recall`: which skill a sentence would be, and why not the others."""

from collections.abc import Sequence
from typing import Annotated

import typer

from cache.recalls import RedisRecalls
from replaywright.cli import output
from replaywright.cli.options import Json
from replaywright.cli.servers.store import OpenStore, open_or_start_store
from replaywright.cli.skills.skills import skills_app
from replaywright.domain.recall.recall import Recalled, RecallRequest
from replaywright.domain.skill.skills import SkillContext
from replaywright.errors import InputInvalid
from replaywright.settings import load_settings


@skills_app.command("recall")
async def recall(
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="The task, in any language.")],
    url: Annotated[str, typer.Option("--url", metavar="URL", help="Where the run would start.")],
    secret: Annotated[
        list[str] | None, typer.Option("--secret", metavar="NAME", help="A secret that the run may use.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="List the skills that were considered, with why.")] = False,
    json: Json = False,
) -> None:
    """Show the skill and values that a sentence would be replayed with, or why there is none. Nothing is run.

    No model is asked: for a sentence that matches no pattern, a run would ask one.

    Example: `replaywright skills recall "Delete the file a.txt" --url https://files.example.com --explain`
    """
    require_recallable(sentence, url)
    async with open_or_start_store(load_settings()) as store:
        found = await recalled(store, sentence, url, secret or ())
    if json:
        skill = found.skill
        output.print_json(
            {
                "decision": found.decision,
                "reason": found.reason,
                "skill": None if skill is None else {"name": skill.name, "version": skill.version},
                "values": found.values,
                "pattern": found.pattern,
                "considered": [one.model_dump(mode="json", by_alias=True) for one in found.considered],
            }
        )
        return
    if found.skill is None:
        output.print_line(f"no skill is recalled: {_words(found.reason)}", style="yellow")
    else:
        output.print_line(f"{found.skill.name}, version {found.skill.version}", style="green")
        for name, value in found.values.items():
            output.print_line(f"  {name} = {value}")
    if explain:
        _explain(found)


def require_recallable(sentence: str, url: str) -> None:
    """Check sentence and address before anything is opened.

    Raises:
        InputInvalid: the sentence is empty, or the address has no scheme.
    """
    if not sentence.strip():
        raise InputInvalid("SENTENCE is empty: say what is to be done, in quotes")
    if "://" not in url:
        raise InputInvalid(f"--url {url!r} is no address: give it with its scheme, such as https://files.example.com")


async def recalled(store: OpenStore, sentence: str, url: str, secrets: Sequence[str]) -> Recalled:
    """Find the skill and values that a sentence would be replayed with; no model is asked."""
    # Ranking takes numpy, which the other commands need not wait for.
    from activities.skill.recall import RecallActivities  # noqa: PLC0415

    recalling = RecallActivities(store.knowledge.skills, RedisRecalls(store.client))
    context = SkillContext(device="")
    return await recalling.explain(
        RecallRequest(tenant=store.tenant, goal=sentence, url=url, secrets=tuple(secrets), context=context)
    )


def _explain(found: Recalled) -> None:
    rows = [(one.name, one.version, f"{one.score:.2f}", _words(one.reason), one.details) for one in found.considered]
    output.print_table(("skill", "version", "alike", "reason", "details"), rows, right=("version", "alike"))


def _words(reason: str) -> str:
    return reason.replace("_", " ")

"""`replaywright admin overrides`: rules that clear the way on pages, and that overrule the model's pick."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import typer

from cache.overrides import RedisOverrides
from replaywright.cli import output
from replaywright.cli.app import admin
from replaywright.cli.options import Json, Site
from replaywright.cli.servers.store import open_or_start_store
from replaywright.domain.step.overrides import OverrideRule, is_for
from replaywright.errors import InputInvalid
from replaywright.overrides import read_rules, rules_in, shipped_rules
from replaywright.settings import Settings, load_settings

overrides_app = admin.group(
    "overrides",
    "Rules that clear the way on pages (banners, drawers, pop-ups) or prefer one element to the model's pick.",
    "replaywright admin overrides list",
)

File = Annotated[str, typer.Argument(metavar="FILE", help="YAML file with `rules`; `-` is standard input.")]


@overrides_app.command("list")
async def list_rules(
    site: Site = "",
    json: Json = False,
) -> None:
    """List the rules of all sources: shipped, in the folder, and this tenant's in Redis. Of rules with one name, that
    of the last source counts.

    Example: `replaywright admin overrides list --site www.shop.example`
    """
    settings = load_settings()
    async with _store(settings) as store:
        stored = await store.rules(settings.tenant)
    sources = {
        "shipped": shipped_rules(),
        "folder": rules_in(settings.overrides_folder),
        "redis": stored,
    }
    counts = {rule.name: source for source, rules in sources.items() for rule in rules}
    shown = [
        (source, rule) for source, rules in sources.items() for rule in rules if not site or is_for(rule, site.lower())
    ]
    listed, rows = [], []
    for source, rule in shown:
        written = rule.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        is_last = counts[rule.name] == source
        listed.append({**written, "source": source, "counts": is_last and rule.at_most > 0})
        tried = rule.tried.replace("_", " ") if rule.do else "after the model"
        replaced = "" if is_last else f" (replaced: {counts[rule.name]})"
        rows.append((rule.name, f"{source}{replaced}", rule.site or "every", tried, rule.at_most, _does(rule)))
    columns = ("name", "source", "site", "tried", "at most", "does")
    output.print_list({"rules": listed}, columns, rows, json=json, right=("at most",))


@overrides_app.command("check")
def check_rules(file: File) -> None:
    """Check a file of rules, and change nothing.

    Example: `replaywright admin overrides check rules.yaml`
    """
    rules = read_rules(file)
    for rule in rules:
        output.print_line(f"{rule.name}: {_does(rule)}")
    output.print_line(f"{output.count(len(rules), 'rule')}, nothing wrong", style="green")


@overrides_app.command("add")
async def add_rules(file: File) -> None:
    """Add the rules of a file to this tenant's, replacing those of the same names. Workers read them within a minute.

    Example: `replaywright admin overrides add rules.yaml`
    """
    rules = read_rules(file)
    settings = load_settings()
    async with _store(settings) as store:
        await store.put(settings.tenant, rules)
    output.print_line(f"{output.count(len(rules), 'rule')} added", style="green")


@overrides_app.command("remove")
async def remove_rule(name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the rule.")]) -> None:
    """Remove one of this tenant's rules. To switch a shipped one off, add a rule of its name with `at_most: 0`.

    Example: `replaywright admin overrides remove close-drawer`
    """
    settings = load_settings()
    async with _store(settings) as store:
        if not await store.remove(settings.tenant, name):
            own = ", ".join(rule.name for rule in await store.rules(settings.tenant)) or "none"
            raise InputInvalid(
                f"{name!r}: this tenant has no such rule; it has: {own} (a shipped rule is switched off by a rule of "
                "its name with at_most: 0)"
            )
    output.print_line(f"{name} removed", style="green")


@asynccontextmanager
async def _store(settings: Settings) -> AsyncIterator[RedisOverrides]:
    async with open_or_start_store(settings) as store:
        yield RedisOverrides(store.client, signer=store.signer)


def _does(rule: OverrideRule) -> str:
    if not rule.at_most:
        return "nothing: switched off"
    if rule.prefer is not None:
        by = f" by {rule.prefer.by!r}" if rule.prefer.by else ""
        among = ", ".join(f"{key} {value!r}" for key, value in rule.prefer.among.model_dump(exclude_none=True).items())
        return f"prefers the {rule.prefer.order}{by} of {among}"
    return "; ".join(step.title for step in rule.do)

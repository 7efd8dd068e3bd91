"""Search attributes of runs: those of a new run, and the query that finds runs by them."""

from dataclasses import dataclass
from datetime import UTC, datetime

from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from replaywright.cli.runs.follow import WORKFLOW
from replaywright.cli.servers.connect import Backend
from replaywright.domain.common.durations import duration_of
from replaywright.domain.run.runs import Totals
from replaywright.domain.run.standing import STATUSES, WAITING, RunStatus
from replaywright.domain.trace.search_attributes import (
    HEALS,
    MODE,
    MODEL_CALLS,
    NOTHING,
    SEARCH_ATTRIBUTES,
    SITE,
    SKILL,
    STATUS,
    TASK,
    TENANT,
    SearchAttribute,
    lacking,
    missing_message,
)
from replaywright.errors import InputInvalid
from replaywright.stack.temporal_client import known_attributes

VALUE_LIMIT = 255
"""Characters of a Keyword that every server's database takes."""


SCHEDULED_BY = SearchAttributeKey.for_keyword("TemporalScheduledById")
"""Search attribute that Temporal sets on runs of schedules."""


def schedule_id(tenant: str, name: str) -> str:
    """Return the id of a schedule in Temporal, the prefix of its runs' ids; it is unique among tenants."""
    return f"{tenant}/{name}"


async def start_attributes(
    here: Backend, *, task: str, site: str, skill: str, mode: str, totals: Totals
) -> TypedSearchAttributes:
    """Build the search attributes of a new run: all of ours that the namespace knows. It can set no others later."""
    known = await known_attributes(here.client)
    if known is None:  # a hosted server may not let everybody ask; a run without them is only harder to find
        return TypedSearchAttributes.empty
    values: dict[SearchAttribute, str | int] = {
        SITE: site or NOTHING,
        TASK: task,
        SKILL: skill or NOTHING,
        MODE: mode,
        STATUS: "running",
        HEALS: totals.heals,
        MODEL_CALLS: totals.usage.calls,
        TENANT: here.settings.tenant,
    }
    return TypedSearchAttributes(
        [_pair(each, value) for each, value in values.items() if known.get(each.name) == each.kind]
    )


def _pair(attribute: SearchAttribute, value: str | int) -> SearchAttributePair[str] | SearchAttributePair[int]:
    if isinstance(value, int):
        return SearchAttributePair(SearchAttributeKey.for_int(attribute.name), value)
    return SearchAttributePair(SearchAttributeKey.for_keyword(attribute.name), value[:VALUE_LIMIT])


@dataclass(frozen=True)
class Filter:
    """Conditions that listed runs meet; an empty one counts for nothing."""

    healed: bool = False
    status: RunStatus | None = None
    """`failed` and `blocked` are the same to Temporal: its answer has both."""
    site: str = ""
    skill: str = ""
    mode: str = ""
    schedule: str = ""
    """Id of a schedule in Temporal."""
    since: str = ""
    """An age such as `7d`, or a date or time (ISO 8601)."""
    query: str = ""
    """A condition in Temporal's own query language."""

    @property
    def options(self) -> dict[str, SearchAttribute]:
        """Options that need a search attribute of ours, with that attribute."""
        payload = {
            "--healed": (self.healed, HEALS),
            "--status": (self.status in WAITING, STATUS),
            "--site": (self.site, SITE),
            "--skill": (self.skill, SKILL),
            "--mode": (self.mode, MODE),
        }
        named = {f"--query ({each.name})": (each.name in self.query, each) for each in SEARCH_ATTRIBUTES}
        return {option: attribute for option, (is_given, attribute) in (payload | named).items() if is_given}

    def as_query(self, now: datetime) -> str:
        """Return the filter in Temporal's query language.

        Raises:
            InputInvalid: `since` cannot be read.
        """
        parts = [f'WorkflowType = "{WORKFLOW}"', 'ExecutionStatus != "ContinuedAsNew"']
        if self.status is not None:
            parts.append(f'ExecutionStatus = "{STATUSES[self.status].execution.title().replace("_", "")}"')
        if self.status is not None and self.status in WAITING:
            parts.append(f"{STATUS.name} = {_literal(self.status)}")
        named = {SITE: self.site, SKILL: self.skill, MODE: self.mode}
        parts += [f"{each.name} = {_literal(value)}" for each, value in named.items() if value]
        parts += [f"{SCHEDULED_BY.name} = {_literal(self.schedule)}"] if self.schedule else []
        parts += [f"{HEALS.name} > 0"] if self.healed else []
        parts += [f'StartTime >= "{_moment(self.since, now)}"'] if self.since else []
        if self.query:
            parts.append(f"({self.query})")
        return " AND ".join(parts)


async def refuse_unknown(here: Backend, wanted: Filter) -> None:
    """Check that the namespace has the search attributes of the filter.

    Raises:
        InputInvalid: it does not; the message has the command that makes it.
    """
    options = wanted.options
    known = await known_attributes(here.client) if options else None
    if known is None:
        return
    settings = here.settings
    for option, attribute in options.items():
        if known.get(attribute.name) != attribute.kind:
            told = missing_message(
                lacking(known), namespace=settings.temporal_namespace, address=settings.temporal_address or ""
            )
            raise InputInvalid(f"{option}: {told}")


def _moment(since: str, now: datetime) -> str:
    """Convert an age or a date to Temporal's form.

    Raises:
        InputInvalid: it is neither an age nor a date.
    """
    if (age := duration_of(since)) is not None:
        at = now - age
    else:
        try:
            at = datetime.fromisoformat(since.strip())
        except ValueError:
            raise InputInvalid(
                f"--since {since!r}: expected an age such as 30min, 12h, 7d or 2w, or a date such as 2026-11-22"
            ) from None
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _literal(text: str) -> str:
    """Quote `text` for Temporal's query language."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

"""The histories of workflows: how many events and bytes they have, and which events those are."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client

_AT_ONCE = 8
_LINE = 2_000
_PREFIX = "EVENT_TYPE_"


@dataclass
class Sizes:
    """Events and bytes of some histories."""

    events: list[int] = field(default_factory=list)
    """Of each of them."""
    bytes: list[int] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    """Events by what they are, an activity's and a child's with its name."""
    kind_bytes: Counter[str] = field(default_factory=Counter)

    def add(self, history: Sequence[HistoryEvent]) -> None:
        """Count one history."""
        names: dict[int, str] = {}
        self.events.append(len(history))
        self.bytes.append(sum(event.ByteSize() for event in history))
        for event in history:
            kind = _kind(event, names)
            self.kinds[kind] += 1
            self.kind_bytes[kind] += event.ByteSize()

    @property
    def events_each(self) -> float:
        """Events of one history, on average."""
        return round(sum(self.events) / max(1, len(self.events)), 1)

    @property
    def bytes_each(self) -> int:
        """Bytes of one history, on average."""
        return round(sum(self.bytes) / max(1, len(self.bytes)))

    def largest(self, count: int) -> list[tuple[str, float, int]]:
        """The kinds with most bytes: name, events and bytes in one history on average."""
        of = max(1, len(self.events))
        most = self.kind_bytes.most_common(count)
        return [(kind, round(self.kinds[kind] / of, 2), round(size / of)) for kind, size in most]


def _kind(event: HistoryEvent, names: dict[int, str]) -> str:
    """Name an event; of an activity or a child with that one's name."""
    kind = EventType.Name(event.event_type).removeprefix(_PREFIX).lower()
    given = getattr(event, str(event.WhichOneof("attributes")))
    if kind == "activity_task_scheduled":
        names[event.event_id] = given.activity_type.name
        return f"{given.activity_type.name} scheduled"
    if kind.startswith("activity_task_"):
        return f"{names.get(given.scheduled_event_id, 'activity')} {kind.removeprefix('activity_task_')}"
    return kind.replace("_", " ")


async def lines_of(client: Client, run_id: str) -> list[str]:
    """Tell a run's activities, timers and updates with their payloads, a line each."""
    names: dict[int, str] = {}
    lines = []
    for event in (await client.get_workflow_handle(run_id).fetch_history()).events:
        kind = _kind(event, names)
        if not kind.startswith("workflow task"):
            lines.append(f"{event.event_time.ToJsonString()} {kind} {' '.join(_payloads(event))}"[:_LINE])
    return lines


def _payloads(event: HistoryEvent) -> Iterator[str]:
    """Yield what an event carries, as it is."""
    given = getattr(event, str(event.WhichOneof("attributes")))
    for name in ("input", "result"):
        if name in given.DESCRIPTOR.fields_by_name:
            yield from (each.data.decode(errors="replace") for each in getattr(given, name).payloads)


async def of_runs(client: Client, run_ids: Sequence[str]) -> Sizes:
    """Count the histories of these runs, of each one's last execution."""
    sizes, places = Sizes(), asyncio.Semaphore(_AT_ONCE)

    async def one(run_id: str) -> None:
        async with places:
            sizes.add(list((await client.get_workflow_handle(run_id).fetch_history()).events))

    await asyncio.gather(*map(one, run_ids))
    return sizes


async def of_batch(client: Client, batch: str) -> Sizes:
    """Count the history of each execution of a batch."""
    sizes = Sizes()
    async for history in _executions(client, batch):
        sizes.add(history)
    return sizes


async def _executions(client: Client, workflow_id: str) -> AsyncIterator[list[HistoryEvent]]:
    """Yield the history of each execution of a workflow, the newest first."""
    run_id: str | None = (await client.get_workflow_handle(workflow_id).describe()).run_id
    while run_id:
        history = list((await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()).events)
        yield history
        run_id = history[0].workflow_execution_started_event_attributes.continued_execution_run_id

"""The ledger's scripts on the real server against a model of them: two writers and their resolvers, in any order."""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from cache.connection import Client, open_redis
from cache.keys import ledger_key
from cache.steps import RedisStepStore
from replaywright.domain.step.outcomes import Status, StepOutcome
from replaywright.errors import Fenced
from replaywright.ports.ledger import Intent, Known, Recording


@dataclass(frozen=True)
class Model:
    """The record as the protocol has it: cache/scripts/*.lua in Python."""

    state: str = ""
    epoch: int = 0
    attempt: str = ""
    outcome: str = ""
    late: str = ""
    late_seen: bool = False
    before: tuple[str, int] = ("", 0)
    damaged: bool = False
    """The record cannot be read: then every script refuses, and a fence says so."""

    def intend(self, epoch: int, attempt: str) -> "tuple[str, Model]":
        if self.state == "COMMITTED":
            return "done", self
        if (self.state, self.epoch, self.attempt) == ("INTENT", epoch, attempt):
            return "ok", self
        if self.state not in {"", "NOT_DONE"} or epoch <= self.epoch or self.late:
            return "refused", self
        return "ok", replace(self, state="INTENT", epoch=epoch, attempt=attempt)

    def dispatch(self, epoch: int, attempt: str) -> "tuple[str, Model]":
        if (self.epoch, self.attempt) == (epoch, attempt) and self.state in {"INTENT", "DISPATCHED"}:
            return "ok", replace(self, state="DISPATCHED")
        return "refused", self

    def record(self, epoch: int, outcome: str) -> "tuple[str, Model]":
        too_late = self if self.late == outcome else replace(self, late=outcome, late_seen=False)
        if self.state == "COMMITTED":
            if self.outcome == outcome:
                return "ok", self
            if epoch < self.epoch:
                return "refused", too_late
            return "ok", too_late if self.outcome else replace(self, outcome=outcome)
        owned = epoch == self.epoch and self.state in {"INTENT", "DISPATCHED", "RESOLVING", "ESCALATED"}
        if owned or self.state == "" or (self.state == "NOT_DONE" and epoch > self.epoch):
            return "ok", replace(self, state="COMMITTED", epoch=epoch, outcome=outcome)
        return "refused", too_late

    def fence(self, epoch: int) -> "tuple[str | tuple[str, int], Model]":
        if self.state == "COMMITTED":
            return ("COMMITTED", self.epoch), self
        if epoch < self.epoch or (epoch == self.epoch and self.state in {"INTENT", "DISPATCHED", "ABANDONED"}):
            return "refused", self
        seen = self.late_seen or bool(self.late)
        carried = self.state in {"RESOLVING", "ESCALATED"}  # the attempt in doubt is still the same
        before = self.before if carried else (self.state, self.epoch)
        return before, replace(self, state="RESOLVING", epoch=epoch, before=before, late_seen=seen)

    def settle(self, epoch: int, state: str) -> "tuple[str, Model]":
        if epoch == self.epoch and state == self.state:
            return "ok", self
        leads = {("RESOLVING", "ESCALATED"), ("ESCALATED", "ABANDONED")} | {
            (start, end) for start in ("RESOLVING", "ESCALATED") for end in ("COMMITTED", "NOT_DONE")
        }
        if epoch != self.epoch or (self.state, state) not in leads:
            return "refused", self
        after = replace(self, state=state)
        if state == "COMMITTED" and self.late:
            after = replace(after, outcome=self.late)
        if state == "NOT_DONE" and self.late_seen:
            after = replace(after, late="", late_seen=False)
        return "ok", after


@dataclass(frozen=True)
class Call:
    """One call of one writer."""

    name: str
    epoch: int
    by: str
    """Writer, or the state that a resolution ends in."""

    def expected(self, model: Model) -> "tuple[Any, Model]":
        if model.damaged:
            return (("DAMAGED", 0) if self.name == "fence" else "refused"), model
        match self.name:
            case "intend":
                return model.intend(self.epoch, self.by)
            case "dispatch":
                return model.dispatch(self.epoch, self.by)
            case "record":
                return model.record(self.epoch, f"{self.by}{self.epoch}")
            case "fence":
                return model.fence(self.epoch)
            case _:
                return model.settle(self.epoch, self.by)

    async def made(self, store: RedisStepStore, step: dict[str, Any]) -> Any:
        """The answer, in the model's words."""
        try:
            match self.name:
                case "intend":
                    known = await store.intend(Intent(**step, epoch=self.epoch, attempt=self.by))
                    return {"INTENT": "ok", "COMMITTED": "done"}[known.state]
                case "dispatch":
                    await store.dispatch(**step, epoch=self.epoch, attempt=self.by)
                case "record":
                    await store.record(self._recording(step))
                case "fence":
                    known = await store.fence(**step, epoch=self.epoch)
                    return known.state, known.epoch
                case _:
                    await store.settle(**step, epoch=self.epoch, state=self.by, who="ana")
        except Fenced:
            return "refused"
        return "ok"

    def _recording(self, step: dict[str, str]) -> Recording:
        outcome = StepOutcome(status=Status.DONE, message=f"{self.by}{self.epoch}", fingerprint=step["fingerprint"])
        tenant, lineage = step["tenant"], step["lineage"]
        return Recording(run_id="run", lineage=lineage, tenant=tenant, sequence=1, epoch=self.epoch, outcome=outcome)


EPOCHS = st.integers(0, 6)
WRITERS = st.sampled_from(("a", "b"))
TIMES = st.sampled_from((1, 1, 2))
"""Once, or again as after a lost reply."""
ENDS = st.sampled_from(("COMMITTED", "NOT_DONE", "ESCALATED", "ABANDONED"))
CALLS = st.one_of(
    st.builds(Call, st.sampled_from(("intend", "dispatch", "record", "fence")), EPOCHS, WRITERS),
    st.builds(Call, st.just("settle"), EPOCHS, ENDS),
)
DAMAGE = (
    ("SET", "x"),
    ("RPUSH", "x"),
    ("HSET", "unknown", "field"),
    ("HSET", "v", "2", "state", "COMMITTED", "epoch", "1"),
    ("HSET", "v", "1", "state", "FINISHED", "epoch", "1"),
    ("HSET", "v", "1", "state", "INTENT", "epoch", "-1"),
    ("HSET", "v", "1", "state", "NOT_DONE", "epoch", "nan"),
)


class TwoWriters(RuleBasedStateMachine):
    """Two attempts and their resolvers; each call perhaps repeated, or made at the same time as another's."""

    runner: asyncio.Runner
    client: Client
    other: Client

    @initialize()
    def begin(self) -> None:
        self.step = {"tenant": "acme", "lineage": "order-7", "fingerprint": uuid4().hex}
        self.key = ledger_key(**self.step)
        self.store, self.others = RedisStepStore(self.client), RedisStepStore(self.other)
        self.model = Model()

    def run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(call)

    async def redis(self, name: str, *arguments: str) -> Any:
        """A command on the record, past the store."""
        return await self.client.execute_command(name, self.key, *arguments)

    async def scripts_forgotten(self) -> None:
        await self.client.execute_command("SCRIPT", "FLUSH")

    def make(self, call: Call, times: int = 1) -> None:
        for _ in range(times):
            before = self.model
            expected, self.model = call.expected(before)
            assert self.run(call.made(self.store, self.step)) == expected
            self.compare(before)

    def compare(self, before: Model) -> None:
        found: Known = self.run(self.store.look_up(**self.step, run_id="run", content_key=""))
        if self.model.damaged:
            assert found.state == "DAMAGED"
            return
        outcome = found.outcome.message if found.outcome else ""
        late = found.late.message if found.late else ""
        model = self.model
        assert (found.state, found.epoch, outcome, late) == (model.state, model.epoch, model.outcome, model.late)
        assert found.epoch >= before.epoch
        assert before.state != "COMMITTED" or found.state == "COMMITTED"
        assert not before.outcome or outcome == before.outcome

    @rule(call=CALLS, times=TIMES)
    def call_once_or_again(self, call: Call, times: int) -> None:
        self.make(call, times)

    @rule(ahead=st.integers(-1, 1), state=ENDS)
    def settle(self, ahead: int, state: str) -> None:
        self.make(Call("settle", max(self.model.epoch + ahead, 0), state), 2)

    @rule(writer=WRITERS)
    def next_attempt(self, writer: str) -> None:
        """The epoch that the workflow would take: random ones seldom get far."""
        epoch = self.model.epoch + 1
        self.make(Call("intend", epoch, writer))
        self.make(Call("dispatch", epoch, writer))

    @rule()
    def next_resolution(self) -> None:
        self.make(Call("fence", self.model.epoch + 1, "a"))

    @rule(writer=WRITERS, behind=st.integers(0, 2))
    def success_is_reported(self, writer: str, behind: int) -> None:
        self.make(Call("record", max(self.model.epoch - behind, 0), writer), 2)

    @rule(one=CALLS, other=CALLS)
    def two_at_once(self, one: Call, other: Call) -> None:
        """Answers and record are those of one order or of the other."""

        async def both() -> tuple[Any, Any]:
            return await asyncio.gather(one.made(self.store, self.step), other.made(self.others, self.step))

        before = self.model
        first, second = self.run(both())
        one_answer, middle = one.expected(before)
        other_answer, after = other.expected(middle)
        late_answer, reverse = other.expected(before)
        early_answer, reversed_after = one.expected(reverse)
        possible = [
            model
            for answers, model in (((one_answer, other_answer), after), ((early_answer, late_answer), reversed_after))
            if answers == (first, second)
        ]
        assert possible
        found: Known = self.run(self.store.look_up(**self.step, run_id="run", content_key=""))
        late = found.late.message if found.late else ""
        shown = (found.state, found.epoch, found.outcome.message if found.outcome else "", late)
        fitting = {
            model
            for model in possible
            if self.model.damaged or (model.state, model.epoch, model.outcome, model.late) == shown
        }
        assert fitting
        # Both orders may look alike from outside: then the raw record tells which it was.
        self.model = self.run(self._as_stored(fitting)) if len(fitting) > 1 else fitting.pop()
        self.compare(before)

    async def _as_stored(self, fitting: set[Model]) -> Model:
        raw: dict[bytes, bytes] = await self.redis("HGETALL")
        fields = [raw.get(name, b"").decode() for name in (b"attempt", b"before", b"before_epoch", b"late_seen")]
        attempt, state, epoch, seen = fields
        [model] = [
            model
            for model in fitting
            if (model.attempt, model.before, model.late_seen) == (attempt, (state, int(epoch or 0)), bool(seen))
        ]
        return model

    @precondition(lambda self: not self.model.damaged)
    @rule(damage=st.sampled_from(DAMAGE))
    def damage(self, damage: tuple[str, ...]) -> None:
        name, *values = damage

        async def written() -> None:
            await self.redis("DEL")
            await self.redis(name, *values)

        self.run(written())
        self.model = Model(damaged=True)

    @rule(call=CALLS)
    def a_damaged_record_stays_as_it_is(self, call: Call) -> None:
        before = self.run(self.redis("DUMP"))
        self.make(call)
        assert not self.model.damaged or self.run(self.redis("DUMP")) == before

    @rule()
    def redis_comes_back_without_the_record(self) -> None:
        self.run(self.redis("DEL"))
        self.model = Model()

    @rule()
    def redis_comes_back_without_the_scripts(self) -> None:
        self.run(self.scripts_forgotten())


@contextmanager
def connected(url: str) -> Iterator[None]:
    """A loop of the machine's own, with a connection for each writer."""

    async def opened() -> Client:
        return open_redis(url)

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        TwoWriters.runner = runner
        TwoWriters.client, TwoWriters.other = runner.run(opened()), runner.run(opened())
        try:
            yield
        finally:
            for client in (TwoWriters.client, TwoWriters.other):
                runner.run(client.aclose())


@pytest.mark.parametrize(
    "sequences", [100, pytest.param(2000, marks=pytest.mark.long)], ids=["100 sequences", "2000 sequences"]
)
def test_two_writers_in_any_order_agree_with_the_model(redis_url: str, sequences: int) -> None:
    with connected(redis_url):
        run_state_machine_as_test(
            TwoWriters,
            settings=settings(
                max_examples=sequences,
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                print_blob=True,
            ),
        )

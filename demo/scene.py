"""A part of the demo: its runs one after the other, each held against what the site and the stand-in have counted."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from demo.person import followed
from demo.stage import Stage
from demo.webmail.store import SentMessage
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.servers.connect import Backend
from replaywright.cli.tasks.goal import told
from replaywright.domain.task.questions import Question, QuestionKind
from replaywright.errors import StackFailed

_RUN_LIMIT_S = 180
IS_DONE = "the run is done"
"""What is claimed of every run."""


class Claim(BaseModel):
    """One thing that must be so."""

    model_config = ConfigDict(frozen=True)

    run: str
    text: str
    holds: bool
    found: str = ""
    """What was found instead."""


class Row(BaseModel):
    """The figures of one run."""

    model_config = ConfigDict(frozen=True)

    run: str
    title: str
    run_id: str
    url: str
    seconds: float
    steps: int
    model_calls: int
    tokens: int
    hits: int
    heals: int
    fallbacks: int
    learned: int
    recoveries: int
    mails: int
    """That the site really received during the run."""
    skill: str = ""
    """What the run had to do with which version of a skill; empty for a task of its own steps."""
    small_calls: int = 0
    """Model calls that chose among a few skills, and saw no page."""


class Figures(BaseModel):
    """What came out of the demo."""

    model_config = ConfigDict(frozen=True)

    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    model: str
    stand_in: bool
    seconds: float

    def and_also(self, other: "Figures") -> "Figures":
        """Both, one after the other."""
        return self.model_copy(
            update={
                "rows": (*self.rows, *other.rows),
                "claims": (*self.claims, *other.claims),
                "seconds": round(self.seconds + other.seconds, 2),
            }
        )

    @property
    def failed(self) -> tuple[Claim, ...]:
        """The claims that do not hold."""
        return tuple(claim for claim in self.claims if not claim.holds)


@dataclass
class Scene:
    """Runs on one stage, in their order."""

    stage: Stage
    tell: Callable[[str], None] = lambda _text: None
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    asked: list[Question] = field(default_factory=list)
    """About what a press may send, and about skills that a model chose."""

    def __post_init__(self) -> None:
        self.place: Backend = self.stage.place
        """Where the runs are started."""

    async def perform_run(
        self, number: str, title: str, order: Order, *, meanwhile: Callable[[str], Awaitable[None]] | None = None
    ) -> tuple[Row, Ending, Sequence[SentMessage]]:
        """One run, and the mails that the site received of it; what is true of every run is checked here.

        Raises:
            StackFailed: the run does not end.
        """
        self.tell(f"{number:>2}  {title}")
        received, asked = len(self.stage.sent()), await self.stage.stand_in_calls()
        begun = time.monotonic()
        await start(self.place, order)
        before = len(self.asked)
        ending = await self._end(order.run_id, meanwhile)
        seconds = time.monotonic() - begun
        mails = self.stage.sent()[received:]
        totals = ending.result.totals
        row = Row(
            run=number,
            title=title,
            run_id=order.run_id,
            url=self.place.run_url(order.run_id),
            seconds=round(seconds, 2),
            steps=totals.steps,
            model_calls=totals.usage.calls,
            tokens=totals.usage.input_tokens + totals.usage.output_tokens,
            hits=totals.hits,
            heals=totals.heals,
            fallbacks=totals.fallbacks,
            learned=totals.learned,
            recoveries=totals.recoveries,
            mails=len(mails),
            skill="" if ending.result.skill is None else told(ending.result.skill),
            small_calls=sum(each.kind is QuestionKind.RECALLED for each in self.asked[before:]),
        )
        self.rows.append(row)
        self.claim(number, IS_DONE, ending.status == "done", f"{ending.status}: {ending.result.message}")
        if asked is not None:
            counted = (await self.stage.stand_in_calls() or 0) - asked
            same = counted == totals.usage.calls
            self.claim(number, "the model was asked as often as the run says", same, f"{counted} by its own count")
        return row, ending, mails

    async def _end(self, run_id: str, meanwhile: Callable[[str], Awaitable[None]] | None) -> Ending:
        try:
            async with asyncio.timeout(_RUN_LIMIT_S):
                if meanwhile is not None:
                    await meanwhile(run_id)
                ending, asked = await followed(self.place, run_id, self.tell)
                self.asked += asked
                return ending
        except TimeoutError as exc:
            raise StackFailed(
                f"run {run_id} has not ended after {_RUN_LIMIT_S} s; the worker's log ends with:\n"
                f"{self.stage.worker_logs[-1].read_text(errors='replace')[-2000:]}"
            ) from exc

    def claim(self, run: str, text: str, holds: bool, found: str) -> None:
        """Note what must be so, and whether it is."""
        self.claims.append(Claim(run=run, text=text, holds=holds, found=found))

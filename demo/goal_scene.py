"""Runs from sentences, checked: learned, recalled, broken by a redesign and learned again, recalled once more.

They belong to a tenant of their own, so that nothing that the main job has learned helps them.
"""

import asyncio
import dataclasses
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from demo.main_job import Claim, Figures, Row
from demo.stage import PASSWORD_SECRET, Stage
from replaywright.cli.connect import Place
from replaywright.cli.follow import Ending, follow, handle_of, progress_of
from replaywright.cli.goal import task_or_goal, told
from replaywright.cli.starting import Order, start
from replaywright.cli.taskfile import new_run_id
from replaywright.domain.runs import Progress
from replaywright.errors import StackFailed

_RUN_LIMIT_S = 180
_TENANT = "goals"

SENTENCES: Final[Mapping[str, str]] = {
    "g1": "给 test@example.com 发送一封邮件，主题是'测试邮件'，内容是'这是一封测试邮件，用于验证 Agent 学习功能'",
    "g2": "给 another@example.com 发送邮件，主题是'后续测试'，内容是'这是第二封测试邮件'",
    "g3": "给 third@example.com 发送邮件，主题是'改版之后'，内容是'网站改版了'",
    "g4": "给 fourth@example.com 发送邮件，主题是'新版本'，内容是'使用新版本的技能'",
}
MAILS: Final[Mapping[str, tuple[str, str, str]]] = {
    "g1": ("test@example.com", "测试邮件", "这是一封测试邮件，用于验证 Agent 学习功能"),
    "g2": ("another@example.com", "后续测试", "这是第二封测试邮件"),
    "g3": ("third@example.com", "改版之后", "网站改版了"),
    "g4": ("fourth@example.com", "新版本", "使用新版本的技能"),
}
"""What the site must have stored of each: recipient, subject and body."""


@dataclass
class GoalScene:
    """The runs on one stage, in their order."""

    stage: Stage
    tell: Callable[[str], None] = lambda _text: None
    rows: list[Row] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def __post_init__(self) -> None:
        place = self.stage.place
        tenant = f"{place.settings.tenant}-{_TENANT}"
        settings = place.settings.model_copy(update={"tenant": tenant})
        self.place: Place = dataclasses.replace(place, settings=settings, served_by=place.queue)

    async def perform(self, *, redesigned: bool = True) -> Figures:
        """All runs; without `redesigned`, only the first two. What does not hold is a claim, not an exception.

        Raises:
            StackFailed: a part of the stage failed.
        """
        begun = time.monotonic()
        await self.stage.redesign("classic")
        await self.learned()
        await self.recalled("g2", "another sentence of its kind is recalled, with three other values", version=1)
        if redesigned:
            await self.stage.redesign("two-step")
            await self.relearned()
            await self.recalled("g4", "the new version is recalled", version=2)
        return Figures(
            rows=tuple(self.rows),
            claims=tuple(self.claims),
            model=self.place.settings.model or "",
            stand_in=bool(self.stage.stand_in),
            seconds=round(time.monotonic() - begun, 2),
        )

    async def learned(self) -> None:
        """A sentence that nobody knows: planned, done and written down."""
        row, ending = await self._run("g1", "a sentence is learned: a model plans and finds every element")
        self._claim("g1", "a skill was learned", "learned" in row.skill, row.skill)
        self._claim("g1", "it was promoted", ending.result.promoted > 0, f"{ending.result.promoted} promoted")

    async def recalled(self, number: str, title: str, *, version: int) -> None:
        """A sentence of a known kind: no model at all."""
        row, ending = await self._run(number, title)
        used = ending.result.skill
        right = used is not None and (used.how, used.version) == ("recalled", version)
        self._claim(number, f"version {version} of the skill was recalled", right, row.skill)
        self._claim(number, "zero planner and executor calls", row.model_calls == 0, f"{row.model_calls} model calls")

    async def relearned(self) -> None:
        """The site has another flow: the skill fails at a step, and is learned again from there."""
        row, ending = await self._run("g3", "a redesign breaks the skill: learned again from the step that failed")
        used = ending.result.skill
        right = used is not None and (used.how, used.version) == ("relearned", 2)
        self._claim("g3", "version 2 of the skill was learned", right, row.skill)
        revised = (await progress_of(handle_of(self.place.client, row.run_id)) or Progress()).revised_from
        self._claim("g3", "from a step in the middle", bool(revised) and revised[0] > 1, f"from {revised}")

    async def _run(self, number: str, title: str) -> tuple[Row, Ending]:
        """One run of the sentence of this number; everything that is true of every run is checked here."""
        stage = self.stage
        self.tell(f"{number:>2}  {title}")
        task = task_or_goal(SENTENCES[number], url=stage.webmail, secrets=[PASSWORD_SECRET])
        order = Order(task, {}, new_run_id(task, {}))
        received, asked = len(stage.sent()), await stage.stand_in_calls()
        begun = time.monotonic()
        await start(self.place, order)
        ending = await self._end(order.run_id)
        seconds = time.monotonic() - begun
        mails = stage.sent()[received:]
        totals = ending.result.totals
        row = Row(
            run=number,
            title=title,
            run_id=order.run_id,
            url=stage.place.run_url(order.run_id),
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
        )
        self.rows.append(row)
        self._claim(number, "the run is done", ending.status == "done", f"{ending.status}: {ending.result.message}")
        got = [(mail.to, mail.subject, mail.body) for mail in mails]
        self._claim(number, "the site received exactly this mail, once", got == [MAILS[number]], f"{got}")
        if asked is not None:
            counted = (await stage.stand_in_calls() or 0) - asked
            same = counted == totals.usage.calls
            self._claim(number, "the model was asked as often as the run says", same, f"{counted} by its own count")
        return row, ending

    async def _end(self, run_id: str) -> Ending:
        try:
            async with asyncio.timeout(_RUN_LIMIT_S):
                handle = handle_of(self.place.client, run_id)
                return await follow(handle, show=lambda _progress, _note: None, until_waiting=True)
        except TimeoutError as exc:
            raise StackFailed(
                f"run {run_id} has not ended after {_RUN_LIMIT_S} s; the worker's log ends with:\n"
                f"{self.stage.worker_logs[-1].read_text(errors='replace')[-2000:]}"
            ) from exc

    def _claim(self, run: str, text: str, holds: bool, found: str) -> None:
        self.claims.append(Claim(run=run, text=text, holds=holds, found=found))

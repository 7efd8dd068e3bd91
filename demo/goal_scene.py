"""Runs from sentences, checked: learned, recalled in two languages, broken by a redesign, learned again, recalled.

They belong to a tenant of their own, so that nothing that the main job has learned helps them.
"""

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from demo.scene import Figures, Row, Scene
from demo.stage import PASSWORD_SECRET
from replaywright.cli.runs.follow import Ending, handle_of, progress_of
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.goal import task_or_goal
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.runs import Progress

_TENANT = "goals"

SENTENCES: Final[Mapping[str, str]] = {
    "g1": "给 test@example.com 发送一封邮件，主题是'测试邮件'，内容是'这是一封测试邮件，用于验证 Agent 学习功能'",
    "g2": "给 another@example.com 发送邮件，主题是'后续测试'，内容是'这是第二封测试邮件'",
    "g3": "Sende eine E-Mail an dritte@example.com mit dem Betreff 'Auf Deutsch' und dem Text 'Nie zuvor gelesen'",
    "g4": "Bitte schreib an vierte@example.com: Betreff 'In anderen Worten', Inhalt 'Ein kleiner Aufruf'",
    "g5": "给 fifth@example.com 发送邮件，主题是'改版之后'，内容是'网站改版了'",
    "g6": "给 sixth@example.com 发送邮件，主题是'新版本'，内容是'使用新版本的技能'",
}
MAILS: Final[Mapping[str, tuple[str, str, str]]] = {
    "g1": ("test@example.com", "测试邮件", "这是一封测试邮件，用于验证 Agent 学习功能"),
    "g2": ("another@example.com", "后续测试", "这是第二封测试邮件"),
    "g3": ("dritte@example.com", "Auf Deutsch", "Nie zuvor gelesen"),
    "g4": ("vierte@example.com", "In anderen Worten", "Ein kleiner Aufruf"),
    "g5": ("fifth@example.com", "改版之后", "网站改版了"),
    "g6": ("sixth@example.com", "新版本", "使用新版本的技能"),
}
"""What the site must have stored of each: recipient, subject and body."""


@dataclass
class GoalScene(Scene):
    """The runs from sentences."""

    def __post_init__(self) -> None:
        super().__post_init__()
        place = self.place
        tenant = f"{place.settings.tenant}-{_TENANT}"
        settings = place.settings.model_copy(update={"tenant": tenant})
        self.place = dataclasses.replace(place, settings=settings, served_by=place.queue)

    async def perform(self, *, redesigned: bool = True) -> Figures:
        """All runs; without `redesigned`, only those before it. What does not hold is a claim, not an exception.

        Raises:
            StackFailed: a part of the stage failed.
        """
        begun = time.monotonic()
        await self.stage.redesign("classic")
        await self.learned()
        await self.recalled("g2", "another sentence of its kind is recalled, with three other values", version=1)
        await self.recalled("g3", "so is one in another language", version=1)
        await self.recalled("g4", "and one in other words, by one small call of the model", version=1, small_calls=1)
        if redesigned:
            await self.stage.redesign("two-step")
            await self.relearned()
            await self.recalled("g6", "the new version is recalled", version=2)
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
        self.claim("g1", "a skill was learned", "learned" in row.skill, row.skill)
        self.claim("g1", "it was promoted", ending.result.promoted > 0, f"{ending.result.promoted} promoted")

    async def recalled(self, number: str, title: str, *, version: int, small_calls: int = 0) -> None:
        """Run a sentence of a known kind: no model sees a page. The stand-in needs as many `small_calls`."""
        row, ending = await self._run(number, title)
        used = ending.result.skill
        right = used is not None and (used.how, used.version) == ("recalled", version)
        self.claim(number, f"version {version} of the skill was recalled", right, row.skill)
        seeing = row.model_calls - row.small_calls
        self.claim(number, "zero planner and executor calls", seeing == 0, f"{seeing} of {row.model_calls} model calls")
        if self.stage.stand_in:
            same = row.small_calls == small_calls
            self.claim(number, f"{small_calls} small calls of the model", same, f"{row.small_calls}")

    async def relearned(self) -> None:
        """The site has another flow: the skill fails at a step, and is learned again from there."""
        row, ending = await self._run("g5", "a redesign breaks the skill: learned again from the step that failed")
        used = ending.result.skill
        right = used is not None and (used.how, used.version) == ("relearned", 2)
        self.claim("g5", "version 2 of the skill was learned", right, row.skill)
        revised = (await progress_of(handle_of(self.place.client, row.run_id)) or Progress()).revised_from
        self.claim("g5", "from a step in the middle", bool(revised) and revised[0] > 1, f"from {revised}")

    async def _run(self, number: str, title: str) -> tuple[Row, Ending]:
        """One run of the sentence of this number, of which the site must have received exactly its mail."""
        task = task_or_goal(SENTENCES[number], url=self.stage.webmail, secrets=[PASSWORD_SECRET])
        row, ending, mails = await self.perform_run(number, title, Order(task, {}, new_run_id(task, {})))
        got = [(mail.to, mail.subject, mail.body) for mail in mails]
        self.claim(number, "the site received exactly this mail, once", got == [MAILS[number]], f"{got}")
        return row, ending

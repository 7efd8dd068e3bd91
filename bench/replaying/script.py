"""The flow as somebody would write it by hand with Playwright."""

import contextlib
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Playwright

from bench.replaying.browsers import fresh_chromium
from bench.replaying.contest import Failed, Learned, Window
from bench.replaying.flow import Flow
from replaywright.domain.common.templates import fill
from replaywright.domain.common.text import normalise
from replaywright.domain.predicate.predicates import Predicate, TextContains, UrlContains, ValueEquals
from replaywright.domain.task.steps import Fill, Goto, SelectOption, Step
from replaywright.errors import StackFailed

_LIMIT_MS = 30_000


class Script:
    """A contestant: `checked`, it waits for what the task's expectations say and checks it; else it does neither."""

    most_rounds: int | None = None
    replays = True

    def __init__(self, flow: Flow, playwright: Playwright, selectors: Mapping[str, str], *, checked: bool) -> None:
        """`selectors`: of each instruction, the CSS selector that Replaywright's learning run has recorded."""
        self.name = "Playwright, checked" if checked else "Playwright, raw"
        self.version = "Python"
        self.base = checked
        self.verifies = "what the task expects of each step, and its final state" if checked else "nothing"
        self.keeps = "nothing"
        self._flow = flow
        self._playwright = playwright
        self._selectors = selectors
        self._checked = checked

    async def learn(self) -> Learned | None:
        """Nothing to learn: a person has."""
        return None

    def model_calls(self) -> int:
        """None."""
        return 0

    async def run(self) -> Window:
        """Do the flow in a new context of a fresh browser."""
        async with self.fresh_page() as page:
            try:
                window = await self.through(page)
                await self._flow.arrived()  # before the browser is closed under it
            except PlaywrightError as error:
                raise Failed(error.message.splitlines()[0]) from error
            return window

    @contextlib.asynccontextmanager
    async def fresh_page(self) -> AsyncIterator[Page]:
        """Open a page in a new context of a fresh browser, and close the browser in the end."""
        async with fresh_chromium(self._flow.stage.place.settings) as endpoint:
            browser = await self._playwright.chromium.connect_over_cdp(endpoint)
            context = await browser.new_context(viewport={"width": 1280, "height": 900})
            context.set_default_timeout(_LIMIT_MS)
            try:
                yield await context.new_page()
            finally:
                await browser.close()

    async def through(self, page: Page) -> Window:
        """Do the flow on this page. Raises Playwright's errors, and `Failed`."""
        begun = time.time()
        for step in self._flow.task.steps:
            await self._step(page, step)
            await self._check(page, step.expect)
        await self._check(page, self._flow.task.verify)
        return Window(begun, time.time())

    async def _step(self, page: Page, step: Step) -> None:
        values = self._flow.values
        if isinstance(step, Goto):
            await page.goto(fill(step.url, values), wait_until="domcontentloaded")
            return
        element = page.locator(self._selectors[normalise(step.instruction)])
        match step:
            case Fill(value=value):
                await element.fill(fill(value, values, lambda _name: self._flow.stage.password))
            case SelectOption(wanted=labels):
                await element.select_option(label=[fill(label, values) for label in labels])
            case _:
                await element.click()

    async def _check(self, page: Page, expect: Iterable[Predicate]) -> None:
        for predicate in expect if self._checked else ():
            match predicate:
                case UrlContains(url_contains=text):
                    wanted = fill(text, self._flow.values)
                    await page.wait_for_url(re.compile(re.escape(wanted)), wait_until="domcontentloaded")
                case TextContains(text_contains=text):
                    await page.get_by_text(fill(text, self._flow.values)).first.wait_for()
                case ValueEquals(value_equals=text):
                    holds = await page.evaluate(
                        "text => [...document.querySelectorAll('input, textarea, select')].some("
                        "e => e.value === text || e.selectedOptions?.[0]?.label === text)",
                        fill(text, self._flow.values),
                    )
                    if not holds:
                        raise Failed(f"no field of the page holds {text!r}")
                case _:
                    raise StackFailed(f"the script has no check for {predicate!r}")

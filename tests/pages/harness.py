"""A page with the page agent in it, driven as the browser adapter drives it: one isolated world, one binding."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

from playwright.async_api import Browser, CDPSession, Page

from replaywright.browser.page import page_agent_source

PAGES = Path(__file__).parent
ORIGIN = "http://pages.test"
MESSAGE_TIMEOUT_S = 10.0

Json: TypeAlias = dict[str, Any]


class AgentPage:
    """One tab. Files of this folder are served as `http://pages.test/NAME`, and `show` serves any markup."""

    def __init__(self, page: Page, cdp: CDPSession) -> None:
        self.page = page
        self.cdp = cdp
        self.messages: list[Json] = []
        self.world = 0
        self.frame_id = ""
        self._markup = ""
        self._attempt = 0
        self._news = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self.cdp.on("Runtime.bindingCalled", self._on_message)
        self.cdp.on("Runtime.executionContextCreated", self._on_world)
        self.frame_id = (await self.cdp.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        await self.cdp.send("Runtime.enable")
        await self.cdp.send("Page.enable")
        await self.cdp.send("Runtime.addBinding", {"name": "__replaywright", "executionContextName": "replaywright"})
        await self.cdp.send(
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": page_agent_source(), "worldName": "replaywright", "runImmediately": True},
        )
        await self.page.route(f"{ORIGIN}/**", self._serve)

    async def _serve(self, route: Any) -> None:
        name = route.request.url.removeprefix(f"{ORIGIN}/").split("?")[0]
        if name != "shown" and not (PAGES / name).is_file():
            await route.fulfill(status=404)
            return
        body = self._markup if name == "shown" else (PAGES / name).read_text(encoding="utf-8")
        await route.fulfill(body=body, content_type="text/html; charset=utf-8")

    def _on_world(self, event: Json) -> None:
        context = event["context"]
        # Frames inside have worlds of their own.
        if context["name"] == "replaywright" and context["auxData"]["frameId"] == self.frame_id:
            self.world = context["id"]

    def _on_message(self, event: Json) -> None:
        if event["name"] == "__replaywright":
            self.messages.append(json.loads(event["payload"]))
            task = asyncio.create_task(self._tell())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def open(self, name: str) -> None:
        self.messages.clear()
        await self.page.goto(f"{ORIGIN}/{name}")

    async def leave(self) -> None:
        """Show nothing, with the pointer on nothing."""
        await self.page.mouse.move(0, 0)
        await self.page.goto("about:blank")
        self.messages.clear()

    async def show(self, body: str) -> None:
        self._markup = body if "<!doctype" in body.lower() else f"<!doctype html><title>Shown</title>{body}"
        await self.open("shown")

    async def call(self, expression: str) -> Any:
        """The value of an expression in the agent's world."""
        answer = await self.cdp.send(
            "Runtime.evaluate",
            {"expression": expression, "contextId": self.world, "returnByValue": True, "awaitPromise": True},
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"].get("description")
        return answer["result"].get("value")

    async def describe(self, selector: str, root: str = "document") -> Json:
        described: Json = await self.call(f"replaywright.describe({root}.querySelector({json.dumps(selector)}))")
        return described

    async def begin(self, **spec: Any) -> int:
        self._attempt += 1
        self.messages.clear()
        await self.call(f"replaywright.begin({json.dumps({'attempt': self._attempt, 'probes': [], **spec})})")
        return self._attempt

    async def message(self, kind: str, holds: Callable[[Json], bool] = lambda _: True) -> Json:
        """The first message of a kind since the attempt began, waited for."""

        def found() -> Json | None:
            assert kind == "failed" or not self.heard("failed"), self.heard("failed")
            return next((told for told in self.messages if told["type"] == kind and holds(told)), None)

        async with self._news:
            try:
                await asyncio.wait_for(self._news.wait_for(lambda: found() is not None), MESSAGE_TIMEOUT_S)
            except TimeoutError:
                raise AssertionError(f"no {kind!r} among {self.messages}") from None
        told = found()
        assert told is not None
        return told

    def heard(self, kind: str) -> list[Json]:
        return [told for told in self.messages if told["type"] == kind]

    async def mouse(self, x: float, y: float, *kinds: str, clicks: int = 1) -> None:
        """Trusted mouse events, posted in order without waiting in between."""
        events = [{"type": kind, "x": x, "y": y} for kind in kinds]
        for event in events:
            if event["type"] != "mouseMoved":
                event |= {"button": "left", "clickCount": clicks}
        await asyncio.gather(*(self.cdp.send("Input.dispatchMouseEvent", event) for event in events))

    async def click(self, point: Json) -> None:
        await self.mouse(point["x"], point["y"], "mouseMoved", "mousePressed", "mouseReleased")

    async def value(self, expression: str) -> Any:
        """The value of an expression in the page's own world."""
        return await self.page.evaluate(expression)


@asynccontextmanager
async def agent_page(browser: Browser) -> AsyncIterator[AgentPage]:
    context = await browser.new_context(viewport={"width": 1000, "height": 700})
    page = await context.new_page()
    agent = AgentPage(page, await context.new_cdp_session(page))
    await agent.start()
    try:
        yield agent
    finally:
        await context.close()

"""The dashboard over a real stack, in a real browser: it changes as a run goes on, and everybody can read it."""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from playwright.async_api import Browser, Page, expect

from bench.chromium import launched
from demo.stage import Stage
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.scope import Mode
from replaywright.domain.secrets.secret_sites import is_loopback
from replaywright.settings import load_settings
from replaywright.stack import Child, start_child
from tests.e2e.bank import Bank
from tests.e2e.lab import Lab, until
from tests.waiting import PATIENT_MS

pytestmark = pytest.mark.slow

SERIOUS = ("serious", "critical")
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
"""On a busy machine."""


@pytest.fixture
def bank(lab: Lab) -> Iterator[Bank]:
    bank = Bank()
    with bank.served():
        lab.stage.bind("LOGIN", bank.url)
        yield bank


@pytest.fixture(scope="module")
async def lab() -> AsyncIterator[Lab]:
    """A stage on which nothing is learned: the task declares its elements."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv("REPLAYWRIGHT_SECRET_LOGIN", "not entered here")
        async with Stage(load_settings(), tell=lambda _text: None) as stage:
            yield Lab(stage)


@pytest.fixture
async def browser(chromium_path: Path) -> AsyncIterator[Browser]:
    async with launched(chromium_path) as browser:
        yield browser


@contextlib.asynccontextmanager
async def served(lab: Lab, log: Path) -> AsyncIterator[tuple[Child, str]]:
    """The command, and the address that it printed."""
    command = [sys.executable, "-m", "replaywright", "dashboard"]
    environment = {
        **os.environ,
        **lab.stage.stack.environment(),
        "REPLAYWRIGHT_TENANT": lab.place.settings.tenant,
    }
    child = start_child("dashboard", command, log=log, environment=environment)

    def address() -> str:
        said = log.read_text() if log.exists() else ""
        return next((line.split()[1] for line in said.splitlines() if line.startswith("dashboard: http")), "")

    try:
        await until("the dashboard says where it is", lambda: address() != "")
        yield child, address()
    finally:
        await child.stop()


async def kept(page: Page, name: str, pictures: Path) -> None:
    """Keep a picture of the page, and see that it fits on the screen."""
    await page.screenshot(path=str(pictures / f"dashboard-{name}.png"), full_page=True)
    width = await page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1], f"{name} is wider than the screen"


async def assert_readable(page: Page, name: str, pictures: Path) -> None:
    """The same, and see that nothing serious keeps anybody from reading it."""
    await kept(page, name, pictures)
    await page.evaluate(AXE)
    found: dict[str, Any] = await page.evaluate("axe.run()")
    serious = [(one["id"], one["nodes"][0]["html"]) for one in found["violations"] if one["impact"] in SERIOUS]
    assert serious == [], name


async def followed(page: Page, lab: Lab, order: Order, pictures: Path) -> None:
    """Start the run, and see that the pages show what becomes of it without being loaded again."""
    await page.evaluate("document.body.dataset.loaded = 'once'")
    await start(lab.place, order)
    await expect(page.get_by_role("row").nth(1)).to_contain_text("waits for a person", timeout=PATIENT_MS)
    sections = page.get_by_role("navigation", name="Dashboard")
    await expect(sections).to_contain_text("1 run waits for a person", timeout=PATIENT_MS)
    assert await page.evaluate("document.body.dataset.loaded") == "once"
    await assert_readable(page, "runs", pictures)

    await page.get_by_role("link", name="pay").first.click()
    await expect(page.get_by_role("heading", name="It waits for you: approve")).to_be_visible()
    await page.get_by_text("Answer in a terminal").click()
    command = f"replaywright answer {order.run_id} approve"
    await expect(page.get_by_role("main").locator("code", has_text=command)).to_be_visible()
    picture = page.get_by_role("img", name="What the page shows")
    await expect(picture).to_have_js_property("complete", True)
    assert await picture.evaluate("one => one.naturalWidth") > 100
    await assert_readable(page, "waiting", pictures)
    framed = page.expect_response(lambda answer: "x-element" in answer.headers, timeout=PATIENT_MS)
    async with framed:
        await page.get_by_text("Watch the page").click()
    live = page.get_by_role("img", name="The page as the run's browser shows it now")
    await expect(live).to_be_visible(timeout=PATIENT_MS)
    assert await live.evaluate("one => one.width") > 300
    await assert_readable(page, "watched", pictures)

    await page.get_by_role("button", name="approve", exact=True).click()
    await expect(page.locator(".standing")).to_contain_text("done", timeout=PATIENT_MS)
    await expect(page.get_by_role("listitem").filter(has_text="click the Pay now button")).to_be_visible()
    await expect(page.locator("#live")).to_have_text("Final")
    await assert_readable(page, "done", pictures)


async def assert_others_can_read(browser: Browser, address: str, pictures: Path) -> None:
    """On a phone, in the dark, and where no script runs."""
    for name, options in (
        ("phone", {"viewport": {"width": 390, "height": 844}, "is_mobile": True}),
        ("dark", {"color_scheme": "dark"}),
        ("plain", {}),
    ):
        context = await browser.new_context(**options)
        page = await context.new_page()
        if name == "plain":
            await page.route("**/*.js", lambda route: route.abort())
        await page.goto(address)
        await expect(page.get_by_role("row").nth(1)).to_contain_text("done", timeout=PATIENT_MS)
        await kept(page, f"runs-{name}", pictures)
        await context.close()


async def test_the_dashboard_follows_a_run_and_is_read_by_everybody(
    lab: Lab, bank: Bank, browser: Browser, pictures: Path
) -> None:
    log = pictures / "dashboard.log"
    task = bank.task({"value": "493027"})
    order = Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)
    async with served(lab, log) as (child, address):
        page = await browser.new_page(viewport={"width": 1280, "height": 860})
        complaints: list[str] = []
        page.on("console", lambda told: complaints.append(told.text) if told.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(address)
        await expect(page.get_by_role("heading", name="No runs yet")).to_be_visible(timeout=PATIENT_MS)
        await assert_readable(page, "empty", pictures)
        inside = page.url
        await followed(page, lab, order, pictures)
        await page.get_by_role("link", name="Full report").click()
        await expect(page).to_have_title("pay – Done – run report", timeout=PATIENT_MS)
        for name in ("inbox", "skills"):
            await page.goto(inside + name)
            await kept(page, name, pictures)
        await page.goto(inside + "cache")
        await assert_readable(page, "cache", pictures)
        assert complaints == [], log.read_text()
        await assert_others_can_read(browser, address, pictures)

        async with httpx.AsyncClient() as stranger:
            assert (await stranger.get(inside)).status_code == 401
        listens = [one.laddr.ip for one in psutil.Process(child.pid).net_connections("inet") if one.status == "LISTEN"]
        assert listens
        assert all(is_loopback(end) for end in listens)

        await page.goto(inside)
        os.kill(child.pid, signal.SIGINT)
        await until("it ends although a page is open", lambda: not psutil.pid_exists(child.pid) or ended(child), 30)
    assert "Traceback" not in log.read_text()


def ended(child: Child) -> bool:
    """Whether only its exit status is left of it."""
    return psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE

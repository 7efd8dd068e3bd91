"""A task is edited beside its page: a person, who is Playwright, drives the editor's live view."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import httpx
import pytest
import yaml
from playwright.async_api import Locator, Page, expect

from bench.chromium import launched
from bench.endings import ending_of
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id, read_task
from replaywright.domain.run.scope import Mode
from tests.e2e.lab import Lab, until
from tests.e2e.plain_site import Answer, Asked, serving

AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
PAGE = """<!doctype html><title>Canteen</title>
<style>body { margin: 0 } input, button, p { font: 20px sans-serif; display: block; margin: 0; }
input, button, p { height: 60px; width: 300px }
p[hidden] { display: none }</style>
<form method="post" action="/order"><input aria-label="Name" name="name">
<button type="button" onclick="document.title += ' card'; this.nextElementSibling.hidden = false">Show the card</button>
<p hidden>Soup of the day</p><button>Order</button></form>"""
TASK = """\
# The canteen's order.
task: lunch
url: {url}/
parameters:
  name: {{type: text, default: Ada}}
steps:
  - action: fill
    instruction: the name
    target: {{role: textbox, name: Name}}
    value: "{{{{name}}}}"
    timeout_ms: 8000

  # The card has moved.
  - action: click
    instruction: the menu
    target: {{role: button, name: Menu of last year}}
    effect: read
    timeout_ms: 2000
    expect:
      - text_contains: Soup of the day
  - action: click
    instruction: order
    target: {{role: button, name: Order}}
    effect: commit
verify:
  - text_contains: Thanks
"""


@dataclass
class Canteen:
    """The site, with the orders that it has got."""

    url: str = ""
    orders: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Answer:
        """Take an order, or show the form."""
        if asked.method == "POST":
            self.orders.append(asked.body)
            return Answer("<!doctype html><title>Done</title><p>Thanks</p>")
        return Answer(PAGE)


@pytest.fixture
def canteen() -> Iterator[Canteen]:
    canteen = Canteen()
    with serving(canteen.answer) as canteen.url:
        yield canteen


class Person:
    """Whoever is at the editor."""

    def __init__(self, view: Page, address: str, process: asyncio.subprocess.Process) -> None:
        self.view, self.address, self.process = view, address, process
        self.state = view.get_by_role("status")

    def row(self, number: int) -> Locator:
        """A step of the list."""
        return self.view.get_by_role("listitem").filter(has_text=re.compile(rf"^{number}\. "))

    async def press(self, name: str) -> None:
        """Press a button of the panel."""
        await self.view.get_by_role("button", name=name, exact=True).click()

    async def pick(self, number: int, x: int, y: int) -> None:
        """Have a step act on what is at a place of the page."""
        await self.press(f"pick: step {number}")
        await expect(self.state).to_contain_text(f"Click in the page on the element of step {number}")
        await self.click(x, y)
        await expect(self.state).to_contain_text(f"step {number} is now")

    async def click(self, x: int, y: int) -> None:
        """Click at a place of the page that the picture shows."""
        box = await self.view.locator("canvas").bounding_box()
        size = await self.view.evaluate("[shown.width, shown.height]")
        assert box is not None
        scale = box["width"] / size[0]
        await self.view.mouse.click(box["x"] + x * scale, box["y"] + y * scale)

    async def left(self) -> str:
        """What the command has said, once it has ended."""
        async with asyncio.timeout(60):
            out, rest = await self.process.communicate()
        return (out + rest).decode()


@asynccontextmanager
async def editing(lab: Lab, folder: Path, chromium: Path, *command: str) -> AsyncIterator[Person]:
    """A person at the editor that `command` opens."""
    given = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "replaywright", *command, cwd=folder,
        env=given | lab.stage.stack.environment() | {"COLUMNS": "300"},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    told: list[str] = []
    try:
        async with asyncio.timeout(120):
            while not told or "live view: " not in told[-1]:
                told.append((await process.stderr.readline()).decode())
                assert told[-1], f"the command ended: {told}"
        async with launched(chromium) as browser:
            view = await browser.new_page(viewport={"width": 1280, "height": 900})
            view.set_default_timeout(60_000)
            expect.set_options(timeout=60_000)
            address = told[-1].partition("live view: ")[2].strip()
            await view.goto(address)
            yield Person(view, address, process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def browsers_of(lab: Lab) -> set[str]:
    """Ids of the browsers that runs have."""
    return {one.session_id for one in lab.sessions() if not one.is_spare}


@pytest.mark.slow
async def test_a_step_that_names_a_wrong_element_is_mended_by_pointing_and_the_saved_file_runs(
    bare_lab: Lab, tmp_path: Path, chromium_path: Path, pictures: Path, canteen: Canteen
) -> None:
    file = tmp_path / "lunch.yaml"
    file.write_text(TASK.format(url=canteen.url))
    others = browsers_of(bare_lab)
    async with editing(bare_lab, tmp_path, chromium_path, "edit", "lunch") as person:
        view = person.view
        await expect(person.row(1)).to_have_attribute("aria-current", "step")
        await expect(view.get_by_label("Address")).to_have_value(f"{canteen.url}/")
        await person.press("run to here: step 3")
        await expect(person.row(2)).to_contain_text('looked for button "Menu of last year"')
        await expect(person.row(2)).to_have_class("failed")
        await view.screenshot(path=pictures / "edit-failed.png")

        await person.click(100, 80)
        await expect(person.state).to_contain_text("nothing was done in the page")
        await person.pick(2, 100, 80)
        await expect(person.row(2)).to_contain_text("Show the card")
        await person.press("step")
        await expect(person.row(2)).to_have_class("done")
        await expect(person.row(3)).to_have_attribute("aria-current", "step")

        await person.press("run to the end")
        await expect(person.state).to_contain_text("step 3 has consequences and is not done without your word")
        assert canteen.orders == []
        await view.evaluate(AXE)
        assert [one["id"] for one in (await view.evaluate("axe.run()"))["violations"]] == []
        await person.press("do it, with its consequences")
        await expect(person.state).to_have_text("all steps are done")
        assert canteen.orders == ["name=Ada"]
        await person.press("save")
        await expect(person.state).to_contain_text("is written")
        await view.screenshot(path=pictures / "edit-saved.png")
        await person.press("quit")
        said = await person.left()

    assert person.process.returncode == 0, said
    await until("nothing is left running", lambda: browsers_of(bare_lab) <= others)
    saved = yaml.safe_load(file.read_text())["steps"]
    assert saved[1]["target"] == {"role": "button", "name": "Show the card"}
    assert "# The card has moved." in file.read_text()
    assert list(tmp_path.glob("*.bak*")) == []
    task = read_task(str(file))
    ending = await ending_of(Order(task, {"name": "Bo"}, new_run_id(task, {}), mode=Mode.AUTO), bare_lab.stage, 120)
    assert (ending.status, ending.result.totals.usage.calls) == ("done", 0)
    assert canteen.orders == ["name=Ada", "name=Bo"]


@pytest.mark.slow
async def test_steps_are_inserted_by_doing_them_and_deleted_and_an_interrupt_leaves_nothing(
    bare_lab: Lab, tmp_path: Path, chromium_path: Path, canteen: Canteen
) -> None:
    file = tmp_path / "lunch.yaml"
    file.write_text(TASK.format(url=canteen.url))
    others = browsers_of(bare_lab)
    async with editing(bare_lab, tmp_path, chromium_path, "edit", "lunch.yaml") as person:
        view = person.view
        await person.press("delete: step 2")
        await expect(person.row(3)).to_have_count(0)
        await person.press("step")
        await expect(person.row(1)).to_have_class("done")
        await person.press("insert")
        await expect(person.state).to_contain_text("Work in the page")
        await person.click(100, 80)
        await expect(person.state).to_contain_text("1. click")
        await person.press("that was it")
        await expect(person.row(2)).to_contain_text("Show the card")
        await expect(person.row(2)).to_have_class("done")
        await expect(person.row(3)).to_have_attribute("aria-current", "step")

        await view.set_viewport_size({"width": 390, "height": 844})
        await view.emulate_media(color_scheme="dark")
        await view.evaluate(AXE)
        assert [one["id"] for one in (await view.evaluate("axe.run()"))["violations"]] == []
        assert await view.evaluate("document.documentElement.scrollWidth") <= 390

        await view.get_by_role("textbox", name="Command").fill("set 1 value=Bo")
        await view.keyboard.press("Enter")
        await expect(person.state).to_contain_text("step 1 is now")
        assert person.process.stdin is not None
        person.process.stdin.write(b"save\n")
        await expect(person.state).to_contain_text("comments are lost, and the file as it was is lunch.yaml.bak1")
        person.process.send_signal(signal.SIGINT)
        said = await person.left()

    assert person.process.returncode == 0, said
    await until("nothing is left running", lambda: browsers_of(bare_lab) <= others)
    steps = yaml.safe_load(file.read_text())["steps"]
    assert [step["action"] for step in steps] == ["fill", "click", "click"]
    assert (steps[0]["value"], steps[1]["target"]) == ("Bo", {"role": "button", "name": "Show the card"})
    assert (tmp_path / "lunch.yaml.bak1").read_text() == TASK.format(url=canteen.url)
    assert canteen.orders == []


@pytest.mark.slow
async def test_a_run_that_fails_is_edited_where_it_failed(
    bare_lab: Lab, tmp_path: Path, chromium_path: Path, canteen: Canteen
) -> None:
    file = tmp_path / "lunch.yaml"
    file.write_text(TASK.format(url=canteen.url))
    command = ("run", "lunch.yaml", "--debug", "--mode", "replay", "-p", "name=Cy")
    async with editing(bare_lab, tmp_path, chromium_path, *command) as person:
        await expect(person.row(2)).to_have_class("failed")
        await expect(person.row(1)).to_have_class("done")
        await person.pick(2, 100, 80)
        await person.press("step")
        await expect(person.row(2)).to_have_class("done")
        await person.press("do it, with its consequences")
        await expect(person.state).to_have_text("all steps are done")
        await person.press("quit")
        await expect(person.state).to_contain_text("the changes are not saved")
        await person.press("quit")
        said = await person.left()

    assert person.process.returncode == 1, said
    assert canteen.orders == ["name=Cy"]
    assert file.read_text() == TASK.format(url=canteen.url)


@pytest.mark.long
@pytest.mark.slow
async def test_a_browser_that_is_lost_is_had_again_with_the_steps_that_may_be_repeated(
    bare_lab: Lab, tmp_path: Path, chromium_path: Path, canteen: Canteen
) -> None:
    mended = TASK.replace("Menu of last year", "Show the card")
    (tmp_path / "lunch.yaml").write_text(mended.format(url=canteen.url))
    others = browsers_of(bare_lab)
    async with editing(bare_lab, tmp_path, chromium_path, "edit", "lunch") as person:
        await person.press("run to here: step 2")
        await expect(person.row(1)).to_have_class("done")
        [own] = [one for one in bare_lab.sessions() if one.session_id in browsers_of(bare_lab) - others]
        assert own.chromium is not None
        os.killpg(own.chromium.pid, signal.SIGKILL)
        await person.press("step")
        await expect(person.row(2)).to_have_class("done")
        await person.press("do it, with its consequences")
        await expect(person.state).to_have_text("all steps are done")
        await expect(person.view.get_by_label("Address")).to_have_value(f"{canteen.url}/order")
        person.process.send_signal(signal.SIGTERM)
        said = await person.left()

    assert person.process.returncode == 0, said
    await until("nothing is left running", lambda: browsers_of(bare_lab) <= others)
    assert canteen.orders == ["name=Ada"]


@pytest.mark.slow
async def test_a_page_neither_reads_nor_presses_the_controls_of_the_editor(
    bare_lab: Lab, tmp_path: Path, chromium_path: Path
) -> None:
    tried: list[str] = []
    ports: list[str] = []

    def answer(asked: Asked) -> Answer:
        if asked.path == "/tried":
            tried.append(asked.body)
        if asked.path == "/port":
            return Answer(ports[0] if ports else "")
        return Answer(HOSTILE)

    with serving(answer) as url:
        (tmp_path / "evil.yaml").write_text(TASK.format(url=url))
        async with editing(bare_lab, tmp_path, chromium_path, "edit", "evil.yaml") as person:
            ports.append(person.address.split("/")[2].rpartition(":")[2])
            await until("the page has tried", lambda: "done" in "".join(tried))
            await expect(person.row(3)).to_have_count(1)
            assert await person.view.evaluate("hasEnded") is False
            async with httpx.AsyncClient() as stranger:
                own = f"http://{person.address.split('/')[2]}"
                pressed = await stranger.post(f"{own}/command", json="step!", headers={"Origin": own})
                assert pressed.status_code in (401, 404)
    assert [one for one in tried if "read" in one] == []


HOSTILE = """<!doctype html><title>Evil</title><body onclick="parent.postMessage('step!', '*')">
<button style="width: 300px; height: 60px">Show the card</button><script>
(async () => {
  let port = "";
  while (!port) port = await (await fetch("/port")).text();
  const base = `http://127.0.0.1:${port}/`;
  const tell = (text) => fetch("/tried", { method: "POST", body: text });
  for (const path of ["", "state", "picture", "live.js"]) {
    try { await tell(`read ${(await (await fetch(base + path)).text()).length}`); } catch { await tell("refused"); }
  }
  for (const command of ["step!", "quit", "delete 1"]) {
    try { await fetch(base + "command", { method: "POST", mode: "no-cors", body: JSON.stringify(command) }); } catch {}
  }
  await tell("done");
})();
</script>"""

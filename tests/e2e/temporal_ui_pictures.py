"""Make the pictures of docs/how-to/temporal-ui.md anew: `python -m tests.e2e.temporal_ui_pictures`.

The demo's task is learned, healed on a new look of the site, fails, and waits for a person; the pictures are of
Temporal's own UI as it shows these runs.
"""

import asyncio
import sys
from pathlib import Path

from playwright.async_api import FloatRect

from demo.stage import Stage
from replaywright.cli.runs.options import OnFailure
from replaywright.domain.run.scope import Mode
from replaywright.settings import load_settings
from replaywright.stack import find_chromium
from tests.e2e.lab import Lab
from tests.e2e.temporal_ui import TemporalUi, temporal_ui

IMAGES = Path(__file__).parents[2] / "docs" / "images"
LEFT, WIDTH = 256, 1_000
"""The UI without its menu."""
GONE = 5
"""Index of the step whose element is not there."""


async def runs(lab: Lab) -> dict[str, str]:
    """Ids of the runs by what becomes of them."""
    await lab.run(lab.order())
    await lab.stage.redesign("modern-icon")
    steps = list(lab.task.steps)
    steps[GONE] = steps[GONE].model_copy(update={"instruction": "the field for the fax number"})
    mended = lab.task.model_copy(update={"steps": tuple(steps)})
    orders = {
        "healed": lab.order(),
        "failed": lab.order(mended, mode=Mode.REPLAY),
        "waiting": lab.order(mended, mode=Mode.REPLAY, on_failure=OnFailure.ASK),
    }
    for order in orders.values():
        await lab.run(order)
    return {name: order.run_id for name, order in orders.items()}


async def pictures(ui: TemporalUi, made: dict[str, str]) -> None:
    """One picture for each page that the document shows."""
    async with ui.runs("`BrowserHeals` > 0", shows=made["healed"]) as page:
        await page.set_viewport_size({"width": LEFT + WIDTH, "height": 800})
        clip = FloatRect(x=LEFT, y=60, width=WIDTH, height=260)
        await page.screenshot(path=IMAGES / "temporal-list.png", clip=clip)
    wanted = {
        "temporal-healed": ("healed", "User Metadata", "Done · 10 steps", 640),
        "temporal-waiting": ("waiting", "User Metadata", "Waiting for a person", 700),
        "temporal-failed": ("failed", "User Metadata", "Failed · step", 640),
        "temporal-timeline": ("healed", "Timeline", "0010 click", 540),
    }
    for name, (run, tab, shows, height) in wanted.items():
        async with ui.run(made[run], tab, shows=shows) as page:
            await page.set_viewport_size({"width": LEFT + WIDTH, "height": 1_500})
            await page.wait_for_timeout(3_000)  # the frames of the Markdown take their height in steps
            begins = page.get_by_role("heading", name=tab if tab == "Timeline" else "Summary")
            top = await begins.bounding_box()
            clip = FloatRect(x=LEFT, y=60 if top is None else top["y"] - 20, width=WIDTH, height=height)
            await page.screenshot(path=IMAGES / f"{name}.png", clip=clip)


async def main() -> None:
    """Runs and pictures."""
    settings = load_settings()
    IMAGES.mkdir(exist_ok=True)
    async with Stage(settings, tell=lambda text: print(text, file=sys.stderr)) as stage:
        made = await runs(Lab(stage))
        chromium = find_chromium(settings.chromium).path
        async with temporal_ui(stage.stack.settings.temporal_ui_url or "", chromium) as ui:
            await pictures(ui, made)
    for image in sorted(IMAGES.glob("temporal-*.png")):
        print(image.name, image.stat().st_size)


if __name__ == "__main__":
    asyncio.run(main())

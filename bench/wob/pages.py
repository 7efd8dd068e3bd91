"""The pages of MiniWoB++, each beginning its episode by itself, with the seed that its address names.

A page is served as the package has it, with one script more. What a run did right is known from the task's own
JavaScript: the script tells this server the raw reward when the task ends the episode. The page shows nothing of it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import Page
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

EPISODE_MS = 3_600_000
"""The tasks' own limits are made for machines that look at pixels; a run has limits of its own."""

_BEGIN = f"""<script>
addEventListener("load", () => {{
  const asked = new URLSearchParams(location.search);
  const end = core.endEpisode;
  core.endEpisode = function (...given) {{
    const open = core.EP_TIMER !== null;
    end.apply(core, given);
    const told = new URLSearchParams({{run: asked.get("run") ?? "", raw: WOB_RAW_REWARD_GLOBAL}});
    if (open && asked.get("run")) fetch(`/reward?${{told}}`, {{keepalive: true, method: "%METHOD%"}});
  }};
  core.EPISODE_MAX_TIME = {EPISODE_MS};
  Math.seedrandom(Number(asked.get("seed")));
  core.startEpisodeReal();
}});
</script>
"""


@dataclass
class Pages:
    """The site, and what its tasks said of the runs."""

    folder: Path
    """`html` of the package."""
    posting: frozenset[str] = frozenset()
    """Tasks whose pages tell their reward by POST: whatever ends their episodes sends what a site takes for an act."""
    rewards: dict[str, float] = field(default_factory=dict)
    """Raw reward by run; a run that ended no episode is not in it."""

    def app(self) -> Starlette:
        """The site."""
        return Starlette(
            routes=[
                Route("/miniwob/{name}.html", self._page),
                Route("/reward", self._reward, methods=["GET", "POST"]),
                Mount("/", StaticFiles(directory=self.folder)),
            ]
        )

    async def _page(self, request: Request) -> Response:
        file = self.folder / "miniwob" / f"{Path(request.path_params['name']).name}.html"
        if not file.is_file():
            return Response(f"no task {file.stem!r}", status_code=404)
        page = file.read_text(encoding="utf-8")
        before, end, after = page.rpartition("</body>")
        begin = _BEGIN.replace("%METHOD%", "POST" if file.stem in self.posting else "GET")
        return HTMLResponse(before + begin + end + after if end else page + begin)

    async def _reward(self, request: Request) -> Response:
        self.rewards[request.query_params["run"]] = float(request.query_params["raw"])
        return Response(status_code=204)


def address(site: str, task: str, seed: str, run: str = "") -> str:
    """Where the task begins with this seed; without `run` nothing is told of its reward."""
    return f"{site}/miniwob/{task}.html?seed={seed}&run={run}"


Utterance = str | dict[str, Any]
"""What the task asks for, in words; some tasks say its fields too."""


async def utterance(page: Page, site: str, task: str, seed: int) -> Utterance:
    """What the task asks for with this seed."""
    await page.goto(address(site, task, str(seed)), wait_until="load")
    said: Utterance = await page.evaluate("core.getUtterance()")
    return said

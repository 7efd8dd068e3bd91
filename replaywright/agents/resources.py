"""Resources: the guide, and of each run its report and its pictures."""

import asyncio
from dataclasses import dataclass
from importlib.resources import files
from urllib.parse import unquote

from replaywright.agents.results import SCHEME
from replaywright.cli.evidence.run_facts import view_of
from replaywright.cli.runs.finding import exact_run
from replaywright.cli.servers.artifacts import artifact_store_of
from replaywright.cli.servers.running import RunningBackend
from replaywright.errors import ArtifactMissing, InputInvalid
from replaywright.reports import load, rendered
from replaywright.reports.loading import pictures_of

GUIDE_URI = f"{SCHEME}guide"
REPORT_TEMPLATE = f"{SCHEME}runs/{{runId}}/report"
PICTURE_TEMPLATE = f"{SCHEME}runs/{{runId}}/pictures/{{digest}}"
_REPORT_MB = 25.0
_PNG = b"\x89PNG\r\n\x1a\n"


def guide() -> str:
    """Return the guide for agents, as a skill file."""
    return files("replaywright.agents").joinpath("SKILL.md").read_text("utf-8")


@dataclass(frozen=True)
class Content:
    """Content of a resource."""

    mime_type: str
    data: str | bytes


async def content_of(running: RunningBackend, uri: str) -> Content:
    """Read a resource.

    Raises:
        InputInvalid: there is none of this address, or its run is another tenant's.
        ArtifactMissing: the picture is not kept any more, or is none of the run's.
    """
    if uri == GUIDE_URI:
        return Content("text/markdown", guide())
    match uri.removeprefix(SCHEME).split("/") if uri.startswith(SCHEME) else ():
        case ["runs", run, "report"]:
            return Content("text/html", await _report(running, unquote(run)))
        case ["runs", run, "pictures", digest]:
            return Content("image/png", await _picture(running, unquote(run), digest))
    raise InputInvalid("there is no resource of this address: results of tools name those that there are")


async def _report(running: RunningBackend, run_id: str) -> str:
    here = await running.here()
    view = await view_of(here, await exact_run(here, run_id))
    loaded = await load(view, artifact_store_of(here.settings), budget_mb=_REPORT_MB)
    return await asyncio.to_thread(rendered, view, loaded)


async def _picture(running: RunningBackend, run_id: str, digest: str) -> bytes:
    here = await running.here()
    view = await view_of(here, await exact_run(here, run_id))
    if digest not in pictures_of(view):
        raise ArtifactMissing("the run has no such picture")
    data = await artifact_store_of(here.settings).get(digest)
    if not data.startswith(_PNG):
        raise ArtifactMissing("what is kept there is no picture")
    return data

"""Downloaded files become artifacts."""

import json
import logging
from dataclasses import replace

from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.step.outcomes import DownloadedFile
from replaywright.errors import ArtifactsUnavailable
from replaywright.ports.browser import BrowserSession, Download, Report
from replaywright.ports.stores import Artifacts

_log = logging.getLogger("replaywright.downloads")

FILES_TOLD = 6
"""Files that an outcome lists; of more in one step, an artifact lists all."""


async def with_downloads(report: Report, browser: BrowserSession, artifacts: Artifacts) -> Report:
    """Return the report with what was downloaded as evidence: each file is an artifact, or its verdict says why not."""
    if not report.downloads:
        return report
    files = await keep_downloads(report, browser, artifacts)
    evidence = report.evidence.model_copy(update={"files": tuple(files)})
    return replace(report, evidence=evidence, after=(*report.after, *not_kept(files)))


async def keep_downloads(report: Report, browser: BrowserSession, artifacts: Artifacts) -> list[DownloadedFile]:
    """Store what was downloaded; a file leaves the session's folder only once it is in the store.

    One that the store does not take stays there and is tried again with the next step; for the step that began it
    that is a failed verdict, see `not_kept`.
    """
    files: list[DownloadedFile] = []
    settled: list[Download] = []
    for download in report.downloads:
        file = download.file
        if file.state == "saved":
            try:
                digest = await artifacts.put_file(download.path)
                file = file.model_copy(update={"sha256": digest, "size": download.path.stat().st_size})
                _log.info("download %r is kept as %s, %d bytes", file.name, digest, file.size)
            except (ArtifactsUnavailable, OSError) as exc:
                _log.warning("download %r is not kept: %s", file.name, exc)
                file = file.model_copy(update={"state": "not_kept"})
        if file.state not in ("not_kept", "unfinished"):
            settled.append(download)
        files.append(file)
    if settled:
        await browser.release(settled)
    return files if len(files) <= FILES_TOLD else [*files[:FILES_TOLD], await _listed(files, artifacts)]


async def _listed(files: list[DownloadedFile], artifacts: Artifacts) -> DownloadedFile:
    """The artifact that lists all files of a step, as JSON."""
    name = f"list of all {len(files)} files.json"
    data = json.dumps([file.model_dump(mode="json", by_alias=True) for file in files]).encode()
    try:
        return DownloadedFile(name=name, size=len(data), sha256=await artifacts.put(data))
    except ArtifactsUnavailable as exc:
        _log.warning("the list of %d downloads is not kept: %s", len(files), exc)
        return DownloadedFile(name=name, size=len(data), state="not_kept", earlier=True)


def not_kept(files: list[DownloadedFile]) -> tuple[PredicateResult, ...]:
    """One failed verdict for each file of the step itself that the artifact store did not take."""
    return tuple(
        PredicateResult(passed=False, reason="download_not_kept", details={"name": file.name, "size": file.size})
        for file in files
        if file.state == "not_kept" and not file.earlier
    )

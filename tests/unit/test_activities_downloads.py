"""Downloads become artifacts, and leave the session's folder only then."""

from pathlib import Path

from activities.step.downloads import FILES_TOLD, keep_downloads, not_kept
from replaywright.domain.step.outcomes import DownloadedFile, Lookup
from replaywright.ports.browser import Download, Report
from replaywright.testing.browser import FakeBrowserSession, FakeSite
from replaywright.testing.stores import FakeArtifacts


def _download(folder: Path, name: str, state: str = "saved") -> Download:
    path = folder / f"number-{name}"
    path.write_text(f"content of {name}")
    return Download(DownloadedFile.model_validate({"name": name, "state": state}), path, name)


def _session(*downloads: Download) -> tuple[FakeBrowserSession, Report]:
    browser = FakeBrowserSession(FakeSite(downloads=list(downloads)))
    return browser, Report(Lookup(hit=True), downloads=downloads)


async def test_a_complete_file_is_stored_with_size_and_digest_and_released(tmp_path: Path) -> None:
    artifacts = FakeArtifacts()
    browser, report = _session(_download(tmp_path, "a.csv"), _download(tmp_path, "b.csv", "failed"))

    files = await keep_downloads(report, browser, artifacts)

    assert [(file.name, file.state, file.size) for file in files] == [("a.csv", "saved", 16), ("b.csv", "failed", 0)]
    assert await artifacts.get(files[0].sha256) == b"content of a.csv"
    assert browser.site.downloads == []
    assert not_kept(files) == ()


async def test_a_file_that_the_store_does_not_take_stays_and_fails_the_step(tmp_path: Path) -> None:
    artifacts = FakeArtifacts()
    artifacts.is_away = True
    browser, report = _session(_download(tmp_path, "a.csv"))

    files = await keep_downloads(report, browser, artifacts)
    artifacts.is_away = False
    later = await keep_downloads(report, browser, artifacts)

    assert [verdict.reason for verdict in not_kept(files)] == ["download_not_kept"]
    assert not files[0].sha256
    assert later[0].state == "saved"
    assert later[0].sha256 in artifacts.values


async def test_a_file_that_is_under_way_is_left_alone(tmp_path: Path) -> None:
    browser, report = _session(_download(tmp_path, "a.csv", "unfinished"))

    files = await keep_downloads(report, browser, FakeArtifacts())

    assert files[0].state == "unfinished"
    assert len(browser.site.downloads) == 1


async def test_of_many_files_the_outcome_names_an_artifact_that_lists_all(tmp_path: Path) -> None:
    artifacts = FakeArtifacts()
    browser, report = _session(*(_download(tmp_path, f"{number}.csv") for number in range(30)))

    files = await keep_downloads(report, browser, artifacts)

    assert len(files) == FILES_TOLD + 1
    listed = await artifacts.get(files[-1].sha256)
    assert all(f'"{number}.csv"'.encode() in listed for number in range(30))

"""Files that come and go: downloads are whole, named harmlessly and accounted for; uploads are what the step says."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.step.outcomes import Proof
from replaywright.domain.task.actions import Cause, Effect
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Download
from tests.adapters.channel_site import PIECE, ChannelSite, posted_files, serving
from tests.adapters.chromium import leave_one_blank_tab
from tests.adapters.steps import button, holds, link, says, work

LIMIT = 2 * 1024 * 1024


@pytest.fixture(scope="module")
def site() -> Iterator[ChannelSite]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("outgoing")
    (root / "a.csv").write_text("a,b,c")
    (root / "Übersicht 2.csv").write_text("1;2")
    (root / "folder").mkdir()
    (root / "folder" / "inner.txt").write_text("inner")
    outside = tmp_path_factory.mktemp("elsewhere") / "secret.txt"
    outside.write_text("secret")
    (root / "link.txt").symlink_to(outside)
    (root / "way-out").symlink_to(outside.parent)
    (root / "second-name.txt").hardlink_to(outside)
    return root


@pytest.fixture(scope="module")
async def browsers(roots: Path) -> AsyncIterator[ChromiumBrowsers]:
    shared = ChromiumBrowsers(download_limit_bytes=LIMIT, upload_roots=lambda: (roots,))
    yield shared
    await shared.close()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "session"


@pytest.fixture
async def session(endpoint: str, browsers: ChromiumBrowsers, directory: Path) -> AsyncIterator[ChromiumSession]:
    attached = await browsers.attach(endpoint, str(directory))
    yield attached
    await leave_one_blank_tab(endpoint, attached)


async def opened(session: ChromiumSession, site: ChannelSite, page: str = "channel_downloads.html") -> None:
    await session.perform(work("goto", url=site.url(page)))


def told(download: Download) -> tuple[str, str, bytes]:
    return download.file.name, download.file.state, download.path.read_bytes() if download.path.is_file() else b""


# ---------------------------------------------------------------------------------------------- downloads


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("By link", "report.csv", b"a,b"),
        ("By attribute", "x", b"a,b"),
        ("From a blob", "blob.txt", b"hello blob"),
        ("From data", "data.txt", b"hello data"),
        ("In a tab", "tab.csv", b"a,b"),
        ("Tricky", "_.._Rechnung-Müller.pdf", b"a,b"),
    ],
)
async def test_a_download_is_complete_when_its_step_ends_and_counts_as_reading(  # noqa: PLR0917 - fixtures and cases
    session: ChromiumSession, site: ChannelSite, directory: Path, name: str, file: str, content: bytes
) -> None:
    await opened(session, site)

    report = await session.perform(work("click", link(name)))

    assert [told(one) for one in report.downloads] == [(file, "saved", content)]
    assert report.downloads[0].path.parent == directory / "downloads"
    assert report.evidence.downloads == (file,)
    assert Cause.DOWNLOAD in report.evidence.causes
    assert report.evidence.observed_effect is Effect.READ
    assert report.title == "Downloads"


async def test_a_step_can_expect_what_it_downloads(session: ChromiumSession, site: ChannelSite) -> None:
    await opened(session, site)
    other = {"downloaded": "*.pdf", "within_ms": 0, "required": False}

    report = await session.perform(work("click", link("By link"), expect=[{"downloaded": "rep*.csv"}, other]))

    assert [verdict.reason for verdict in report.after] == ["holds", "not_downloaded"]
    assert report.proof is Proof.BECAME_TRUE


async def test_two_downloads_of_one_step_and_two_of_one_name_are_kept_apart(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site)

    two = await session.perform(work("click", button("Two at once"), causes=(Cause.DOWNLOAD,)))
    # What a script makes of a blob comes without a request: the second may begin when the step has seen the first.
    assert await session.tabs.until(
        lambda: [one.file.state for one in session.environment.downloads.report(None)] == ["saved"] * 2, 20
    )
    both = session.environment.downloads.report(None)
    await session.perform(work("click", link("By link")))
    again = await session.perform(work("click", link("Same name")))

    assert two.evidence.causes == (Cause.DOWNLOAD,)
    assert sorted(told(one) for one in both) == [
        ("one.txt", "saved", b"one"),
        ("two.txt", "saved", b"two"),
    ]
    assert sorted(told(one)[2] for one in again.downloads) == [b"a,b", b"one", b"other", b"two"]
    assert [one.file.earlier for one in again.downloads] == [True, True, True, False]
    assert [one.file.name for one in again.downloads][2:] == ["report.csv", "report.csv"]


async def test_what_was_released_is_deleted_and_reported_no_more(
    session: ChromiumSession, site: ChannelSite, directory: Path
) -> None:
    await opened(session, site)
    report = await session.perform(work("click", link("By link")))

    await session.release(report.downloads)
    later = await session.perform(work("click", link("By attribute")))

    assert [one.file.name for one in later.downloads] == ["x"]
    assert len([path for path in (directory / "downloads").iterdir() if not path.name.startswith(".")]) == 1


@pytest.mark.parametrize(
    ("name", "reason", "file"),
    [
        ("Broken", "download_failed", "broken.bin"),
        ("Big", "download_too_large", "big.bin"),
        ("Big of unknown size", "download_too_large", "endless.bin"),
    ],
)
async def test_a_download_that_does_not_come_whole_fails_its_step(  # noqa: PLR0917 - fixtures and cases
    session: ChromiumSession, site: ChannelSite, directory: Path, name: str, reason: str, file: str
) -> None:
    await opened(session, site)

    report = await session.perform(work("click", link(name)))
    await session.release(report.downloads)

    assert [verdict.reason for verdict in report.after] == [reason]
    assert report.after[0].details["name"] == file
    assert [one.file.state for one in report.downloads] == [reason.removeprefix("download_")]
    assert not list((directory / "downloads").iterdir())


async def test_a_download_that_takes_longer_than_its_step_is_said_to_and_arrives_later(
    session: ChromiumSession, site: ChannelSite
) -> None:
    site.release.clear()
    await opened(session, site)

    report = await session.perform(work("click", link("Slow"), timeout_ms=3_000))
    site.release.set()
    await session.tabs.until(lambda: session.environment.downloads.report(None) != (), 20)
    later = await session.perform(work("goto", url=site.url("channel_downloads.html")))

    assert [verdict.reason for verdict in report.after] == ["download_unfinished"]
    assert [one.file.state for one in report.downloads] == ["unfinished"]
    assert [told(one) for one in later.downloads] == [("slow.bin", "saved", PIECE * 3)]


async def test_a_download_is_found_by_the_worker_that_comes_after_the_one_that_began_it(
    endpoint: str, browsers: ChromiumBrowsers, site: ChannelSite, directory: Path
) -> None:
    site.release.clear()
    lost = await browsers.attach(endpoint, str(directory))
    await opened(lost, site)
    await lost.perform(work("click", link("By link")))
    await lost.perform(work("click", link("Slow"), timeout_ms=3_000))
    await lost.detach()
    site.release.set()

    found: dict[str, Download] = {}
    adopted = await browsers.attach(endpoint, str(directory))
    for _ in range(40):  # nothing tells of a download that another one began
        report = await adopted.perform(work("wait_for", expect=[says("never")], timeout_ms=500))
        found = {one.file.name: one for one in report.downloads}
        if len(found) == 2:
            break
    await adopted.release(list(found.values()))
    await adopted.detach()

    assert sorted(found) == ["report.csv", "slow.bin"]
    assert found["slow.bin"].file.size == len(PIECE) * 3
    assert all(one.file.state == "saved" and one.file.earlier for one in found.values())


@pytest.mark.parametrize("name", ["By post", "By post in a tab", "Send in a tab"])
async def test_what_is_posted_into_a_new_tab_or_answered_with_a_file_is_a_commit(
    session: ChromiumSession, site: ChannelSite, name: str
) -> None:
    await opened(session, site)
    site.posts.clear()

    report = await session.perform(work("click", button(name)))
    await session.release(report.downloads)
    await session.perform(work("switch_tab", tab="first"))

    assert len(site.posts) == 1
    assert [request.method for request in report.evidence.requests] == ["POST"]
    assert report.evidence.observed_effect is Effect.COMMIT


# ------------------------------------------------------------------------------------------------ uploads


def upload(target: Any, *files: str, **more: Any) -> Any:
    return work("upload", target, instruction="the file field", files=list(files), **more)


async def refusal(session: ChromiumSession, *given: Any, **more: Any) -> ActionFailed:
    with pytest.raises(ActionFailed) as caught:
        await session.perform(upload(*given, **more))
    return caught.value


@pytest.mark.parametrize(
    ("target", "files", "said"),
    [
        ({"label": "Plain"}, ["a.csv"], "said a.csv 5"),
        ({"label": "Many"}, ["a.csv", "Übersicht 2.csv", "folder/inner.txt"], "Übersicht 2.csv 3, inner.txt 5"),
        ({"role": "button", "name": "Attach a file"}, ["a.csv"], "said a.csv 5"),
        ({"css": "#hidden"}, ["a.csv"], "said a.csv 5"),
        ({"label": "In the shadow"}, ["a.csv"], "said shadow a.csv 5"),
        ({"role": "button", "name": "Choose by script"}, ["a.csv", "folder/inner.txt"], "script a.csv 5, inner.txt 5"),
        ({"role": "button", "name": "Choose after asking the server"}, ["a.csv"], "said script a.csv 5"),
    ],
)
async def test_files_reach_the_page_whatever_it_puts_before_its_field(
    session: ChromiumSession, site: ChannelSite, target: dict[str, str], files: list[str], said: str
) -> None:
    await opened(session, site, "channel_uploads.html")
    site.posts.clear()

    report = await session.perform(upload(target, *files, expect=[says(said)]))
    again = await session.perform(upload(report.target, *files, timeout_ms=15_000))

    assert holds(report)
    assert report.acted
    assert again.acted
    assert again.lookup.hit
    assert report.evidence.observed_effect is Effect.READ
    assert not site.posts


async def test_files_are_dropped_on_an_area_and_only_there(session: ChromiumSession, site: ChannelSite) -> None:
    await opened(session, site, "channel_uploads.html")

    dropped = await session.perform(
        upload({"role": "group", "name": "Drop zone"}, "a.csv", drop=True, expect=[says("said dropped a.csv 5")])
    )
    deaf = await refusal(session, {"role": "group", "name": "Deaf zone"}, "a.csv", drop=True)

    assert holds(dropped)
    assert deaf.reason == "no_files_taken"


@pytest.mark.long
async def test_files_reach_a_field_in_a_frame_of_another_site(session: ChromiumSession, site: ChannelSite) -> None:
    await session.perform(work("goto", url=site.url("channel_uploads.html?outer"), expect=[says("inner ready")]))

    field = await session.perform(upload({"label": "Plain"}, "a.csv", expect=[says("said a.csv 5")]))
    chosen = await session.perform(
        upload({"role": "button", "name": "Choose by script"}, "a.csv", expect=[says("said script a.csv 5")])
    )

    assert holds(field)
    assert holds(chosen)


async def test_an_upload_that_the_page_sends_at_once_is_observed_as_a_commit(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site, "channel_uploads.html")
    site.posts.clear()
    site.bodies.clear()

    report = await session.perform(upload({"label": "At once"}, "a.csv", expect=[says("said sent 200")]))

    assert holds(report)
    assert report.evidence.observed_effect is Effect.COMMIT
    assert posted_files(site.bodies[0]) == [("a.csv", b"a,b,c")]


async def test_what_a_form_sends_is_what_was_named(session: ChromiumSession, site: ChannelSite) -> None:
    await opened(session, site, "channel_uploads.html")
    site.bodies.clear()
    await session.perform(upload({"label": "Many"}, "a.csv", "folder/inner.txt"))

    await session.perform(work("click", button("Send"), expect=[says("Sent")]))

    assert [file for file in posted_files(site.bodies[0]) if file[0]] == [
        ("a.csv", b"a,b,c"),
        ("inner.txt", b"inner"),
    ]


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["missing.csv"], "no such file"),
        (["link.txt"], "outside the folders"),
        (["way-out/secret.txt"], "outside the folders"),
        (["folder/../../elsewhere0/secret.txt"], "outside the folders"),
        (["/etc/passwd"], "outside the folders"),
        (["folder"], "no plain file"),
        (["second-name.txt"], "hard links"),
        (["a.csv\0"], "cannot be uploaded"),
    ],
)
async def test_no_file_leaves_but_those_inside_the_allowed_folders(
    session: ChromiumSession, site: ChannelSite, files: list[str], said: str
) -> None:
    await opened(session, site, "channel_uploads.html")

    refused = await refusal(session, {"label": "Plain"}, *files)

    assert (refused.reason, refused.dispatched) == ("upload_refused", False)
    assert said in str(refused)


async def test_without_allowed_folders_nothing_is_uploaded_and_the_remedy_is_named(
    endpoint: str, site: ChannelSite
) -> None:
    browsers = ChromiumBrowsers()
    session = await browsers.attach(endpoint)
    await opened(session, site, "channel_uploads.html")

    refused = await refusal(session, {"label": "Plain"}, "a.csv")
    await session.detach()
    await browsers.close()

    assert refused.reason == "upload_refused"
    assert "replaywright admin uploads allow" in str(refused)


@pytest.mark.parametrize(
    ("target", "files", "reason"),
    [
        ({"label": "Folder"}, ["a.csv"], "takes_folders"),
        ({"label": "Plain"}, ["a.csv", "folder/inner.txt"], "takes_one_file"),
        ({"role": "button", "name": "Nothing opens"}, ["a.csv"], "no_file_chooser"),
    ],
)
async def test_a_field_that_cannot_take_the_files_is_refused_with_the_reason(
    session: ChromiumSession, site: ChannelSite, target: dict[str, str], files: list[str], reason: str
) -> None:
    await opened(session, site, "channel_uploads.html")

    refused = await refusal(session, target, *files, timeout_ms=4_000)

    assert refused.reason == reason

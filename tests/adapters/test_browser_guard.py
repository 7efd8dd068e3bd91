"""What a policy says of files and tabs, in a real browser: forbidden ones are broken off, and the rule is told."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.session.guard import FileTypes, RuleLimit, StepGuard, UploadRoots
from replaywright.domain.task.actions import Cause
from replaywright.errors import PolicyBlocked
from tests.adapters.chromium import leave_one_blank_tab
from tests.adapters.steps import button, link, work
from tests.e2e.plain_site import Answer, Asked, serving

TYPES = "policy 'p': downloads.types"
SIZE = "policy 'p': downloads.max_mb"
GUARD = StepGuard(types=(FileTypes(rule=TYPES, types=("pdf",)),), bytes=RuleLimit(rule=SIZE, value=100_000))
FILES = {
    "/report.pdf": ("application/pdf", b"%PDF-1.4"),
    "/plain.pdf": ("application/octet-stream", b"%PDF-1.4"),
    "/program.pdf": ("application/x-msdownload", b"MZ"),
    "/setup.exe": ("application/x-msdownload", b"MZ"),
    "/large.pdf": ("application/pdf", b"0" * 300_000),
}
PAGE = (
    "<title>Files</title>"
    + "".join(f'<a href="{path}">{path[1:]}</a> ' for path in FILES)
    + """<a href="data:text/html,hello" download="data.pdf">data.pdf</a>
    <button onclick="window.open('/one'); window.open('/two')">Two tabs</button>
    <input type="file" aria-label="The file">"""
)


def answer(asked: Asked) -> Answer:
    if asked.path not in FILES:
        return Answer(PAGE)
    kind, body = FILES[asked.path]
    attached = f'attachment; filename="{asked.path[1:]}"'
    return Answer(body, headers={"content-type": kind, "content-disposition": attached})


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with serving(answer) as url:
        yield f"{url}/"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outgoing")
    (folder / "allowed").mkdir()
    (folder / "allowed" / "a.csv").write_text("a,b")
    (folder / "other.csv").write_text("c,d")
    (folder / "allowed" / "link.csv").symlink_to(folder / "other.csv")
    return folder


@pytest.fixture
async def session(endpoint: str, tmp_path: Path, root: Path) -> AsyncIterator[ChromiumSession]:
    browsers = ChromiumBrowsers(upload_roots=lambda: (root,))
    attached = await browsers.attach(endpoint, str(tmp_path / "session"))
    yield attached
    await leave_one_blank_tab(endpoint, attached)
    await browsers.close()


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("program.pdf", TYPES),
        *(
            pytest.param(name, rule, marks=pytest.mark.long)
            for name, rule in (
                ("report.pdf", ""),
                ("plain.pdf", ""),
                ("setup.exe", TYPES),
                ("large.pdf", SIZE),
                ("data.pdf", TYPES),
            )
        ),
    ],
)
async def test_a_file_that_is_forbidden_by_name_type_or_size_is_broken_off_with_its_rule(
    session: ChromiumSession, site: str, name: str, rule: str
) -> None:
    await session.perform(work("goto", url=site))

    report = await session.perform(work("click", link(name), guard=GUARD))

    [download] = report.downloads
    assert (download.file.name, download.file.state, download.file.rule) == (name, "blocked" if rule else "saved", rule)
    await session.release(report.downloads)
    assert not download.path.exists()


async def test_a_tab_beyond_those_that_may_open_is_closed_at_once_and_counted(
    session: ChromiumSession, site: str
) -> None:
    await session.perform(work("goto", url=site))
    guard = StepGuard(popups=RuleLimit(rule="policy 'p': amounts.popups", value=0))

    report = await session.perform(work("click", button("Two tabs"), guard=guard))
    await session.tabs.until(lambda: not session.tabs.is_opening, 10)

    assert report.url == site
    assert len(session.tabs.open_tabs) == 1
    assert Cause.POPUP in report.evidence.causes


@pytest.mark.parametrize(
    ("file", "allowed"), [("allowed/a.csv", True), ("other.csv", False), ("allowed/link.csv", False)]
)
async def test_a_policy_narrows_the_folders_of_the_worker_and_links_lead_nowhere_else(
    session: ChromiumSession, site: str, root: Path, file: str, *, allowed: bool
) -> None:
    await session.perform(work("goto", url=site))
    rule = "policy 'p': upload_roots"
    guard = StepGuard(uploads=(UploadRoots(rule=rule, folders=(str(root / "allowed"),)),))
    step = work("upload", {"label": "The file"}, instruction="the file", files=[file], guard=guard)

    if allowed:
        assert (await session.perform(step)).acted
        return
    with pytest.raises(PolicyBlocked) as failure:
        await session.perform(step)

    assert (failure.value.rule, failure.value.dispatched) == (rule, False)

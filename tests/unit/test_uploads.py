"""Files that may leave this machine: plain ones inside the roots, as they were when they were checked."""

import os
import stat
from pathlib import Path

import pytest

from replaywright.browser.input import uploads
from replaywright.errors import ActionFailed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "outgoing"
    (root / "folder").mkdir(parents=True)
    (root / "folder" / "a.csv").write_text("a,b,c")
    return root


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    outside = tmp_path.resolve() / "elsewhere"
    outside.mkdir()
    file = outside / "a.csv"
    file.write_text("secret")
    return file


def copied(root: Path, tmp_path: Path) -> Path:
    return uploads.private_copy(root / "folder" / "a.csv", tmp_path / "copies")


def test_a_second_name_of_a_file_outside_the_folders_is_refused_with_the_remedy(root: Path, secret: Path) -> None:
    os.link(secret, root / "report.csv")

    with pytest.raises(ActionFailed, match=r"2 names .*hard links.*copy the file and name the copy") as refused:
        uploads.allowed(["report.csv"], [root])

    assert (refused.value.reason, refused.value.dispatched) == ("upload_refused", False)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
def test_what_is_no_plain_file_is_refused_and_not_opened(root: Path, kind: str) -> None:
    odd = root / "odd"
    match kind:
        case "pipe":
            os.mkfifo(odd)
        case "socket":
            os.mknod(odd, stat.S_IFSOCK | 0o600)
        case "device":
            if os.geteuid() != 0:
                pytest.skip("only root makes devices")
            try:
                os.mknod(odd, stat.S_IFCHR | 0o600, os.makedev(1, 5))
            except PermissionError:
                pytest.skip("this machine lets nobody make devices")
        case _:
            odd.mkdir()

    with pytest.raises(ActionFailed, match="no plain file"):
        uploads.allowed(["odd"], [root])


def test_a_page_gets_a_private_copy_with_the_name_the_time_and_the_content(root: Path, tmp_path: Path) -> None:
    os.utime(root / "folder" / "a.csv", (1_000_000_000, 1_000_000_000))

    copy = copied(root, tmp_path)

    assert (copy.name, copy.read_text(), copy.stat().st_mtime) == ("a.csv", "a,b,c", 1_000_000_000)
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    (root / "folder" / "a.csv").write_text("changed")
    assert copy.read_text() == "a,b,c"


def test_a_file_that_becomes_a_link_after_the_check_is_not_followed(root: Path, secret: Path, tmp_path: Path) -> None:
    (root / "folder" / "a.csv").unlink()
    (root / "folder" / "a.csv").symlink_to(secret)

    with pytest.raises(ActionFailed, match="cannot be uploaded"):
        copied(root, tmp_path)


def test_a_folder_that_becomes_a_link_after_the_check_is_not_followed(root: Path, secret: Path, tmp_path: Path) -> None:
    (root / "folder").rename(root / "before")
    (root / "folder").symlink_to(secret.parent)

    with pytest.raises(ActionFailed, match="cannot be uploaded"):
        copied(root, tmp_path)


def test_a_file_that_gets_a_second_name_after_the_check_is_refused(root: Path, secret: Path, tmp_path: Path) -> None:
    (root / "folder" / "a.csv").unlink()
    os.link(secret, root / "folder" / "a.csv")

    with pytest.raises(ActionFailed, match="hard links"):
        copied(root, tmp_path)


@pytest.mark.timeout(10)
def test_a_file_that_becomes_a_pipe_after_the_check_holds_up_nothing(root: Path, tmp_path: Path) -> None:
    (root / "folder" / "a.csv").unlink()
    os.mkfifo(root / "folder" / "a.csv")

    with pytest.raises(ActionFailed, match="no plain file"):
        copied(root, tmp_path)


def test_copies_without_a_session_directory_go_when_the_session_is_left(root: Path) -> None:
    copies = uploads.Copies("")
    [copy] = copies.of([root / "folder" / "a.csv"])
    assert copy.read_text() == "a,b,c"

    copies.close()

    assert not copy.parent.parent.exists()

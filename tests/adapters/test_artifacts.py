"""The artifact store on local files and on a file system of fsspec's own."""

import asyncio
import hashlib
import os
import resource
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.artifacts.store import ArtifactStore
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, SettingsInvalid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "some" / "artifacts"


@pytest.fixture(params=["path", "file", "memory"])
def store(request: pytest.FixtureRequest, folder: Path) -> ArtifactStore:
    urls = {"path": str(folder), "file": folder.as_uri(), "memory": f"memory://{uuid4().hex}"}
    return ArtifactStore(urls[request.param])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> ArtifactStore:
    return ArtifactStore(str(tmp_path_factory.mktemp("artifacts")))


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@given(data=st.binary(max_size=2000))
def test_what_was_put_comes_back_under_its_sha256(shared: ArtifactStore, data: bytes) -> None:
    async def there_and_back() -> tuple[str, bytes]:
        digest = await shared.put(data)
        return digest, await shared.get(digest)

    assert asyncio.run(there_and_back()) == (hashlib.sha256(data).hexdigest(), data)


async def test_putting_twice_changes_nothing(store: ArtifactStore) -> None:
    first, second = await store.put(b"x"), await store.put(b"x")

    assert first == second
    assert await store.get(first) == b"x"


async def test_an_unknown_digest_is_missing(store: ArtifactStore) -> None:
    with pytest.raises(ArtifactMissing, match="00000000"):
        await store.get("0" * 64)


@pytest.mark.parametrize("digest", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
async def test_what_is_no_digest_is_missing_and_reads_nothing(store: ArtifactStore, digest: str) -> None:
    with pytest.raises(ArtifactMissing):
        await store.get(digest)


async def test_an_existing_file_is_left_alone(folder: Path) -> None:
    store = ArtifactStore(str(folder))
    await store.put(b"x")
    (file,) = files_in(folder)
    before = file.stat()

    await store.put(b"x")

    assert file.stat().st_ino == before.st_ino  # writing makes a new file; only its age begins anew
    assert files_in(folder) == [file]


async def test_an_altered_file_is_missing_and_putting_mends_it(folder: Path) -> None:
    store = ArtifactStore(str(folder))
    digest = await store.put(b"true")
    (file,) = files_in(folder)
    file.write_bytes(b"fake")

    with pytest.raises(ArtifactMissing, match="altered"):
        await store.get(digest)

    await store.put(b"true")
    assert await store.get(digest) == b"true"


async def test_only_the_owner_can_read(folder: Path) -> None:
    await ArtifactStore(folder.as_uri()).put(b"cookie")

    (file,) = files_in(folder)
    assert file.stat().st_mode & 0o777 == 0o600
    assert {path.stat().st_mode & 0o777 for path in (folder, file.parent, file.parent.parent)} == {0o700}
    assert file.relative_to(folder).parts == (file.name[:2], file.name[2:4], file.name)


async def test_many_at_once_leave_one_file_and_no_litter(folder: Path) -> None:
    store = ArtifactStore(str(folder))

    digests = await asyncio.gather(*(store.put(b"same") for _ in range(16)))

    assert len(set(digests)) == 1
    assert [file.name for file in files_in(folder)] == [digests[0]]


async def test_a_store_that_cannot_be_written_says_so(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file where the folder should be")

    with pytest.raises(ArtifactsUnavailable, match="artifacts"):
        await ArtifactStore(str(folder)).put(b"x")


async def test_a_failed_write_leaves_nothing_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)

    with pytest.raises(ArtifactsUnavailable, match="No space left"):
        await ArtifactStore(str(folder)).put(b"x")
    assert files_in(folder) == []


async def test_a_disk_that_takes_no_more_leaves_nothing_behind(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8 * 1024 * 1024, hard))
    try:
        with pytest.raises(ArtifactsUnavailable, match="cannot be written"):
            await ArtifactStore(str(folder)).put(os.urandom(9 * 1024 * 1024))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert files_in(folder) == []


async def test_a_disk_that_is_full_says_so_keeps_what_it_has_and_is_used_again_when_there_is_room(
    small_disk: Path,
) -> None:
    store, kept, large = ArtifactStore(str(small_disk / "artifacts")), os.urandom(50_000), os.urandom(150_000)
    filler = small_disk / "other data"
    digest = await store.put(kept)
    filler.write_bytes(bytes(100_000))

    with pytest.raises(ArtifactsUnavailable, match="No space left on device"):
        await store.put(large)
    left = files_in(small_disk / "artifacts")
    filler.unlink()

    assert [file.name for file in left] == [digest]
    assert await store.get(digest) == kept
    assert await store.get(await store.put(large)) == large


@pytest.mark.parametrize("url", ["nothing://x", "warp+drive://y"])
def test_an_address_that_cannot_be_used_names_its_variable(url: str) -> None:
    with pytest.raises(SettingsInvalid, match="REPLAYWRIGHT_ARTIFACTS_URL"):
        ArtifactStore(url)

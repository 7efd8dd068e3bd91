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
from replaywright.domain.secrets.signing import Key
from replaywright.errors import ArtifactMissing, ArtifactsUnavailable, SettingsInvalid
from replaywright.sealing.files import PIECE_BYTES


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


# ---------------------------------------------------------------------------------------------- encrypted

KEY, OLD = Key("k2", b"2" * 32), Key("k1", b"1" * 32)


@pytest.mark.parametrize("size", [0, 1, 1000, 1024 * 1024 - 1, 1024 * 1024, 1024 * 1024 + 1, 3 * 1024 * 1024 + 7])
async def test_what_is_encrypted_is_read_and_told_as_it_was(tmp_path: Path, size: int) -> None:
    store, value = ArtifactStore(str(tmp_path / "store"), (KEY,)), os.urandom(size)
    (tmp_path / "file").write_bytes(value)

    digest = await store.put(value)
    path = Path(store.path_of(digest))
    whole = path.read_bytes()
    path.unlink()
    assert await store.put_file(tmp_path / "file") == digest

    assert (await store.get(digest), await store.size(digest)) == (value, size)
    assert whole != path.read_bytes()
    assert len(value) < 100 or value not in whole


async def test_neither_key_nor_clear_text_is_needed_to_refuse_what_was_altered(tmp_path: Path) -> None:
    store = ArtifactStore(str(tmp_path), (KEY,))
    digest, other = await store.put(b"the storage state"), await store.put(b"another storage state")
    path = Path(store.path_of(digest))
    whole = path.read_bytes()

    for altered in (
        whole[:-1],
        whole[:20],
        whole[:-1] + bytes([whole[-1] ^ 1]),
        Path(store.path_of(other)).read_bytes(),
    ):
        path.write_bytes(altered)
        with pytest.raises(ArtifactMissing, match="altered"):
            await store.get(digest)
    path.write_bytes(whole)
    with pytest.raises(ArtifactMissing, match="no key is known here: set REPLAYWRIGHT_ARTIFACT_KEYS"):
        await ArtifactStore(str(tmp_path)).get(digest)
    with pytest.raises(ArtifactMissing, match="with the key 'k2', and here are: k1"):
        await ArtifactStore(str(tmp_path), (OLD,)).get(digest)


async def test_a_piece_can_neither_be_left_out_nor_moved(tmp_path: Path) -> None:
    store = ArtifactStore(str(tmp_path), (KEY,))
    value = os.urandom(3 * PIECE_BYTES)
    path = Path(store.path_of(digest := await store.put(value)))
    whole = path.read_bytes()
    head, piece = len(whole) - 3 * (PIECE_BYTES + 28), PIECE_BYTES + 28
    first, second, third = (whole[head + n * piece : head + (n + 1) * piece] for n in range(3))

    for pieces in ((first, second), (second, first, third), (first, third), (first, second, third, third)):
        path.write_bytes(whole[:head] + b"".join(pieces))
        with pytest.raises(ArtifactMissing, match="altered"):
            await store.get(digest)


async def test_what_was_kept_in_clear_or_with_an_older_key_is_read_and_sealed_when_it_is_put(tmp_path: Path) -> None:
    digest = await ArtifactStore(str(tmp_path)).put(b"the storage state")
    old, both = ArtifactStore(str(tmp_path), (OLD,)), ArtifactStore(str(tmp_path), (KEY, OLD))
    path = Path(both.path_of(digest))

    assert await both.get(digest) == b"the storage state"
    await old.put(b"the storage state")
    assert b"the storage state" not in path.read_bytes()
    assert await both.get(digest) == b"the storage state"
    await both.put(b"the storage state")
    sealed = path.read_bytes()
    await both.put(b"the storage state")

    assert path.read_bytes() == sealed
    assert await ArtifactStore(str(tmp_path), (KEY,)).get(digest) == b"the storage state"

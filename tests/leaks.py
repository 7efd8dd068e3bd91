"""Searching everything that runs wrote for the values of their secrets, in whatever clothing they wear.

The search shares nothing with the redaction that it judges: it takes the clothes off, layer by layer (percent-encoding,
JSON, HTML, Base64 at every alignment, UTF-16, compression), and looks for the value in what is left: as it is, in other
case, backwards, and with everything but letters and digits taken out of both, so that a value counts that is spread
over spaces, tags, invisible characters, or the members of a JSON document.
"""

import base64
import contextlib
import hashlib
import html
import json
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_to_bytes

import psutil
from redis.asyncio import Redis
from temporalio.client import Client

from replaywright.artifacts.store import ArtifactStore
from tests.unpacking import encoded_files, parts

DEPTH = 3
"""Layers of clothes that are taken off."""
LARGE = 500_000
"""Bytes from which on only one is: of databases, which are searched row by row as well."""
WITHIN = 4
"""Files in files that are opened, one in another."""
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
_PERCENT = re.compile(rb"%[0-9A-Fa-f]{2}")
_JSON_ESCAPE = re.compile(rb"\\+(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([\"\\/bfnrt]))")
_SHORT = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_NO_WORD = re.compile(r"[\W_]+")
_READABLE = re.compile(r"[\t\n\r\x20-\x7e\xa0-\u024f]{8,}")
"""What is decoded and is not this is noise: most runs of letters are no Base64."""
_TAG = re.compile(r"<[^<>]{0,400}>")
_SQLITE = b"SQLite format 3\0"
_ET_CORE = 4
_HEX = re.compile(rb"(?:[0-9A-Fa-f]{2}){6,}")


@dataclass(frozen=True)
class Place:
    """Something that was written."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Leak:
    """A secret in a place."""

    place: str
    secret: str
    form: str
    near: str = field(compare=False)
    """What stands around it there."""


def leaks(places: Iterable[Place], secrets: Mapping[str, str]) -> list[Leak]:
    """Every place that holds the value of a secret (name to value), with the form that it was found in."""
    sought = {name: _Sought(value) for name, value in secrets.items()}
    known: dict[bytes, dict[str, tuple[str, str]]] = {}
    found: list[Leak] = []
    for place in places:
        digest = hashlib.sha256(place.data).digest()
        if digest not in known:
            known[digest] = _found(place.data, sought)
        found += [Leak(place.name, name, form, near) for name, (form, near) in known[digest].items()]
    return found


class _Sought:
    def __init__(self, value: str) -> None:
        self.plain = value.casefold()
        self.bare = _bare(value)
        assert len(self.bare) >= 8, "too few letters and digits: it would be found everywhere"
        self.backwards = (self.plain[::-1], self.bare[::-1])

    def found_in(self, text: str) -> tuple[str, str] | None:
        """In which form, and what stands around it."""
        folded = text.casefold()
        if found := _around(self.plain, folded, "clear"):
            return found
        bare = _bare(_TAG.sub("", folded))
        return (
            _around(self.bare, bare, "spread out")
            or _around(self.bare, _bare(folded), "spread out")
            or _around(self.backwards[0], folded, "reversed")
            or _around(self.backwards[1], bare, "reversed, spread out")
        )


def _around(value: str, text: str, form: str) -> tuple[str, str] | None:
    at = text.find(value)
    return None if at < 0 else (form, text[max(0, at - 150) : at + len(value) + 50])


def _found(data: bytes, sought: Mapping[str, _Sought]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for clothes, layer in _layers(data, "", set()):
        text = layer.decode(errors="ignore")
        for name, one in sought.items():
            if name not in found and (seen := one.found_in(text)):
                found[name] = (f"{seen[0]}{clothes and f', in {clothes}'}", seen[1])
    for key, text in _columns(data):
        for name, one in sought.items():
            if name not in found and (seen := one.found_in(text)):
                found[name] = (f"spread over the members {key!r} of a JSON document", seen[1])
    return found


def _bare(text: str) -> str:
    return _NO_WORD.sub("", text.casefold())


def _layers(data: bytes, clothes: str, known: set[bytes], within: int = WITHIN) -> Iterator[tuple[str, bytes]]:
    """Every layer of a file, and of the files that are packed in it, none of them twice."""
    digest = hashlib.sha256(data).digest()
    if digest in known:
        return
    known.add(digest)
    for name, layer in _bared(data, DEPTH if len(data) < LARGE else 1, clothes):
        yield name, layer
        if not within:
            continue
        for packing, inner in (*encoded_files(layer), *(parts(layer) if layer is data else ())):
            if inner:
                yield from _layers(inner, _in(packing, name), known, within - 1)


def _bared(data: bytes, depth: int, clothes: str) -> Iterator[tuple[str, bytes]]:
    """The data as it is, and without one layer of clothes after the other."""
    yield clothes, data
    if not depth:
        return
    for name, inner in _undressed(data):
        if inner and inner != data:
            yield from _bared(inner, depth - 1, _in(name, clothes))


def _in(name: str, clothes: str) -> str:
    return f"{name} in {clothes}" if clothes else name


def _undressed(data: bytes) -> Iterator[tuple[str, bytes]]:
    if _PERCENT.search(data):
        yield "percent-encoding", unquote_to_bytes(data.replace(b"+", b" "))
    if b"\\" in data:
        yield "JSON", _JSON_ESCAPE.sub(_unescaped, data)
    if b"&" in data:
        yield "HTML", html.unescape(data.decode(errors="replace")).encode(errors="replace")
    yield "Base64", b"\n".join(_decoded(data))
    yield "hexadecimal", b"\n".join(bytes.fromhex(run.decode()) for run in _HEX.findall(data))


def _unescaped(match: "re.Match[bytes]") -> bytes:
    code = match[1] or match[2]
    if code:
        return chr(int(code, 16)).encode(errors="ignore")
    return _SHORT.get(match[3], match[3])


def _decoded(data: bytes) -> Iterator[bytes]:
    """What every run of Base64 characters says, whichever of them it begins with."""
    for run in _BASE64.findall(data):
        plain = run.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
        for start in range(4):
            part = plain[start : len(plain) - (len(plain) - start == 1)]
            part = part[:-1] if len(part) % 4 == 1 else part
            text = base64.b64decode(part + b"=" * (-len(part) % 4)).decode(errors="ignore")
            yield from (readable.encode() for readable in _READABLE.findall(text))


def _columns(data: bytes) -> Iterator[tuple[str, str]]:
    """For each key of JSON documents, what all its members say, one after the other."""
    columns: dict[str, list[str]] = {}
    for line in [data, *data.splitlines()] if data.lstrip()[:1] in (b"{", b"[") else ():
        try:
            _collect(json.loads(line), "", columns)
        except ValueError:
            continue
    for key, texts in columns.items():
        yield key, "".join(texts)


def _collect(value: Any, key: str, columns: dict[str, list[str]]) -> None:
    if isinstance(value, str):
        columns.setdefault(key, []).append(value)
    elif isinstance(value, Mapping):
        for inner, one in value.items():
            _collect(one, str(inner), columns)
    elif isinstance(value, list):
        for one in value:
            _collect(one, key, columns)


# ------------------------------------------------------------------------------------------------ what was written


def files(folder: Path, *, without: Iterable[str] = ("profile",)) -> Iterator[Place]:
    """All files below `folder` with their names; none in a folder of one of the names `without`. SQLite also by row.

    Files that go meanwhile are no error: a browser that runs replaces its own.
    """
    left_out = set(without)
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if left_out & set(name.parts) or not path.is_file() or path.is_symlink():
            continue
        with contextlib.suppress(FileNotFoundError):
            data = path.read_bytes()
            yield Place(f"file {name}", name.as_posix().encode())
            yield Place(f"file {name}", data)
            if data.startswith(_SQLITE):
                yield from rows(path)


def processes(of: Iterable[psutil.Process]) -> Iterator[tuple[psutil.Process, Place]]:
    """Environment and command line of each process and of all below it, each process once."""
    seen: set[int] = set()
    for root in of:
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in (root, *root.children(recursive=True)):
                if process.pid in seen:
                    continue
                seen.add(process.pid)
                for file in ("environ", "cmdline"):
                    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                        held = Path(f"/proc/{process.pid}/{file}").read_bytes().replace(b"\0", b"\n")
                        yield process, Place(f"{file} of {process.pid}", held)


def dumps(folder: Path) -> list[str]:
    """Names of all files below `folder` that hold the memory of a process: core files and minidumps."""
    found = []
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(OSError):
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    head = file.read(18)
                is_core = head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], sys.byteorder) == _ET_CORE
                if is_core or head.startswith(b"MDMP"):
                    found.append(str(path))
    return found


async def artifacts(store: ArtifactStore) -> AsyncIterator[Place]:
    """Every value of a store on local files, as whoever has its keys reads it."""
    assert store.folder is not None
    for path in sorted(store.folder.rglob("*")):
        if re.fullmatch("[0-9a-f]{64}", path.name):
            yield Place(f"artifact {path.name}", await store.get(path.name))


def rows(database: Path) -> Iterator[Place]:
    """Every row of a SQLite database: values that lie on several pages of the file are whole here.

    One that its program keeps locked, as Chromium does, is read as it lies there; what of it cannot be read so is in
    its bytes all the same.
    """
    for how in ("mode=ro", "immutable=1"):
        connection = sqlite3.connect(f"file:{quote(str(database))}?{how}", uri=True, timeout=0)
        connection.text_factory = bytes
        try:
            tables = connection.execute("select name from sqlite_master where type = 'table'").fetchall()
            for (table,) in tables:
                named = table.decode()
                for row in connection.execute(f'select * from "{named}"'):
                    cells = [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
                    yield Place(f"row of {database.name} {named}", b"\n".join(cells))
            return
        except sqlite3.DatabaseError:
            continue
        finally:
            connection.close()


async def histories(client: Client) -> AsyncIterator[Place]:
    """What Temporal has of every run: its history, as JSON and as it travels, and its description."""
    async for run in client.list_workflows():
        handle = client.get_workflow_handle(run.id, run_id=run.run_id)
        history = await handle.fetch_history()
        yield Place(f"history of {run.id}", history.to_json().encode())
        yield Place(f"history of {run.id}, raw", b"".join(event.SerializeToString() for event in history.events))
        yield Place(f"description of {run.id}", (await handle.describe()).raw_description.SerializeToString())


async def keys(url: str) -> AsyncIterator[Place]:
    """Every key of Redis with what it holds by its type, and as DUMP gives it."""
    redis: Any = Redis.from_url(url)
    try:
        await redis.config_set("rdbcompression", "no")  # a dump must not hide what it holds
        async for key in redis.scan_iter():
            kind = (await redis.type(key)).decode()
            held = await redis.execute_command(*(word if word != "KEY" else key for word in _READ[kind]))
            yield Place(f"redis {kind} {key.decode(errors='replace')}", b"\n".join([key, *_flat(held)]))
            yield Place(f"redis dump {key.decode(errors='replace')}", await redis.dump(key) or b"")
    finally:
        await redis.aclose()


_READ = {
    "string": ("GET", "KEY"),
    "hash": ("HGETALL", "KEY"),
    "list": ("LRANGE", "KEY", 0, -1),
    "set": ("SMEMBERS", "KEY"),
    "zset": ("ZRANGE", "KEY", 0, -1),
    "stream": ("XRANGE", "KEY", "-", "+"),
}
"""How a value of each type is read whole; another type is an error."""


def _flat(held: Any) -> Iterator[bytes]:
    if isinstance(held, bytes):
        yield held
    elif isinstance(held, Mapping):
        for pair in held.items():
            yield from _flat(list(pair))
    elif isinstance(held, list | tuple | set):
        for one in held:
            yield from _flat(one)
    else:
        yield str(held).encode()

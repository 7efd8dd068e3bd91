"""The search for secrets finds one that is planted, in each form: else that it finds none would prove nothing."""

import base64
import gzip
import html
import json
import os
import resource
import signal
import sqlite3
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import quote, quote_plus

import brotli  # type: ignore[import-untyped]  # it has no types
import psutil
import pytest

from tests.leaks import Place, dumps, files, leaks, processes

VALUE = 'Zq7pw/Hörse+9&"x\\K'
STRAY = "Qw8-Fjord-31-stray"
B64 = base64.b64encode(f"ab{VALUE}cd".encode()).decode()

FORMS = {
    "clear": f"typed {VALUE}.",
    "other case": VALUE.upper(),
    "reversed": f"x{VALUE[::-1]}x",
    "percent-encoded": f"https://x/?q={quote(VALUE, safe='')}&r=1",
    "form-encoded": f"q={quote_plus(VALUE)}",
    "percent-encoded twice": quote(quote(VALUE, safe=""), safe=""),
    "JSON": json.dumps({"value": VALUE}),
    "JSON in JSON": json.dumps({"value": json.dumps({"value": VALUE})}),
    "HTML": f"<p title='{html.escape(VALUE)}'>",
    "HTML by numbers": "".join(f"&#{ord(character)};" for character in VALUE),
    "Base64": base64.b64encode(VALUE.encode()).decode(),
    "Base64, second alignment": base64.b64encode(b"a" + VALUE.encode() + b"z").decode(),
    "Base64, third alignment": base64.b64encode(b"ab" + VALUE.encode() + b"yz").decode(),
    "Base64 for URLs": base64.urlsafe_b64encode(b">>>???" + VALUE.encode()).decode(),
    "Base64 that goes on": f"xxx{B64}yyyy",
    "JSON in Base64 in JSON": json.dumps({"data": base64.b64encode(json.dumps({"a": VALUE}).encode()).decode()}),
    "hexadecimal": VALUE.encode().hex(),
    "spaced": " ".join(VALUE),
    "lines": "\n".join(VALUE),
    "invisible characters": "\u200b".join(VALUE),
    "tags": "".join(f"<span class=c>{html.escape(character)}</span>" for character in VALUE),
    "a list": json.dumps(list(VALUE)),
    "members of objects": json.dumps({"elements": [{"id": f"e{n}", "text": one} for n, one in enumerate(VALUE)]}),
    "lines of objects": "\n".join(json.dumps({"kind": "x", "text": one}) for one in VALUE),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_planted_secret_is_found_in_every_form(form: str) -> None:
    assert [leak.secret for leak in leaks([Place("here", FORMS[form].encode())], {"PASSWORD": VALUE})] == ["PASSWORD"]


NOISE = bytes(range(256)) * 8


def png(kind: bytes, body: bytes) -> bytes:
    """A picture with one pixel, and a chunk more."""
    chunks = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)), (kind, body), (b"IDAT", zlib.compress(b"\0\0"))]
    written = (
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in (*chunks, (b"IEND", b""))
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


def cache_entry(body: bytes) -> bytes:
    """A file of Chromium's cache: its head, the key, the body, a mark, the answer's head."""
    key = b"1/0/_dk_https://x https://x https://x/"
    end = struct.pack("<QIII", 0xF4FA6F45970D41D8, 1, zlib.crc32(body), len(body))
    return struct.pack("<QIIII", 0xFCFB6D1BA7725C30, 5, len(key), 0, 0) + key + body + end + b"HTTP/1.1 200\0"


def pdf(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return (
        b"%%PDF-1.7\n1 0 obj<</Filter/FlateDecode/Length %d>>stream\n%b\nendstream endobj\n" % (len(packed), packed)
        + b"2 0 obj<<>>endobj"
    )


def data_uri(kind: str, data: bytes) -> bytes:
    return f'<img src="data:{kind};base64,{base64.b64encode(data).decode()}">'.encode()


PICTURE = png(b"zTXt", b"Comment\0\0" + zlib.compress(VALUE.encode("latin-1")))
PIECES = b"[" + b"-20".join(b"(%b)" % one.replace("\\", "\\\\").encode("latin-1") for one in VALUE) + b"] TJ"
DATA = {
    "two bytes a character": VALUE.encode("utf-16-le"),
    "two bytes a character, the other way": VALUE.encode("utf-16-be"),
    "one byte a character": VALUE.encode("latin-1"),
    "compressed": gzip.compress(VALUE.encode()),
    "among bytes": b"\xff\xfe\x00\x01" + VALUE.encode() + b"\x80\x81",
    "encoded and compressed": gzip.compress(json.dumps({"data": base64.b64encode(VALUE.encode()).decode()}).encode()),
    "compressed behind something else": NOISE + gzip.compress(VALUE.encode()) + NOISE,
    "compressed and cut off": gzip.compress(VALUE.encode() + os.urandom(9_000))[:8_000],
    "compressed twice": gzip.compress(zlib.compress(VALUE.encode())),
    "brotli": brotli.compress(VALUE.encode()),
    "a picture's tEXt": png(b"tEXt", b"Comment\0" + VALUE.encode("latin-1")),
    "a picture's zTXt": PICTURE,
    "a picture's iTXt": png(b"iTXt", b"Comment\0\0\0de\0\0" + VALUE.encode()),
    "a picture's packed iTXt": png(b"iTXt", b"Comment\0\1\0de\0\0" + zlib.compress(VALUE.encode())),
    "a picture's eXIf": png(b"eXIf", b"MM\0*\0\0\0\x08" + b"UNICODE\0" + VALUE.encode("utf-16-be")),
    "behind a picture's end": png(b"tEXt", b"a\0b") + VALUE.encode("latin-1"),
    "a picture in a page": b"<html>" + data_uri("image/png", PICTURE),
    "a picture in a large page": b"<html>" + b"<p>of many pages</p>" * 40_000 + data_uri("image/png", PICTURE),
    "a picture in JSON": json.dumps({"picture": data_uri("image/png", PICTURE).decode()}).replace("/", "\\/").encode(),
    "a packed file in JSON": json.dumps({"data": base64.b64encode(gzip.compress(VALUE.encode())).decode()}).encode(),
    "a PDF's stream": pdf(b"BT (" + VALUE.replace("\\", "\\\\").encode("latin-1") + b") Tj ET"),
    "a PDF's letters with distances": pdf(b"BT " + PIECES + b" ET"),
    "a PDF's hexadecimal": pdf(b"BT <" + VALUE.encode("utf-16-be").hex().encode() + b"> Tj ET"),
    "cached": cache_entry(VALUE.encode()),
    "cached with gzip": cache_entry(gzip.compress(VALUE.encode())),
    "cached with brotli": cache_entry(brotli.compress(VALUE.encode())),
}


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_a_planted_secret_is_found_in_data_that_is_no_text(data: bytes) -> None:
    assert leaks([Place("here", data)], {"PASSWORD": VALUE}) != []


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_the_same_data_holds_no_secret_that_was_not_planted(data: bytes) -> None:
    assert leaks([Place("here", data)], {"PASSWORD": f"{VALUE[:8]}another{VALUE[8:]}"}) == []


def test_what_is_no_secret_is_not_found() -> None:
    harmless = json.dumps({"text": VALUE[:8], "more": VALUE[9:], "image": base64.b64encode(bytes(range(256))).decode()})

    assert leaks([Place("here", harmless.encode())], {"PASSWORD": VALUE}) == []


def test_a_secret_is_found_in_files_their_names_and_the_rows_of_databases(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "plain.txt").write_text(VALUE)
    (tmp_path / "Zq7pw Hörse 9 x K.csv").write_text("")
    (tmp_path / "profile").mkdir()
    (tmp_path / "profile" / "Login Data").write_text(VALUE)
    connection = sqlite3.connect(tmp_path / "temporal.db")
    connection.execute("create table history (number integer, data blob)")
    connection.execute("insert into history values (1, ?)", (b"x" * 5_000 + VALUE.encode() + b"y" * 5_000,))
    connection.commit()
    connection.close()

    found = leaks(files(tmp_path), {"PASSWORD": VALUE})

    assert {leak.place for leak in found} >= {
        "file a/plain.txt",
        "file Zq7pw Hörse 9 x K.csv",
        "row of temporal.db history",
    }
    assert not any("profile" in leak.place for leak in found)


def test_a_database_that_its_program_keeps_locked_is_searched_by_row(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "History")
    connection.execute("pragma locking_mode = exclusive")
    connection.execute("create table urls (url text)")
    connection.execute("insert into urls values (?)", (f"x{'y' * 5_000}{VALUE}{'z' * 5_000}",))
    connection.commit()

    found = leaks(files(tmp_path), {"PASSWORD": VALUE})
    connection.close()

    assert "row of History urls" in {leak.place for leak in found}


def test_a_secret_in_the_environment_or_on_the_command_line_of_a_process_is_found() -> None:
    wait = "import sys; print(flush=True); sys.stdin.read()"
    around = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {wait!r}, {VALUE!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", around],
        env={**os.environ, "GIVEN": STRAY},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as outer:
        assert outer.stdin is not None
        assert outer.stdout is not None
        outer.stdout.readline()
        root = psutil.Process(outer.pid)
        (inner,) = root.children()
        found = {
            (leak.place, leak.secret)
            for _, place in processes([root])
            for leak in leaks([place], {"STRAY": STRAY, "PASSWORD": VALUE})
        }
        outer.stdin.close()

    assert found >= {
        (f"environ of {outer.pid}", "STRAY"),
        (f"environ of {inner.pid}", "STRAY"),
        (f"cmdline of {inner.pid}", "PASSWORD"),
    }
    assert (f"environ of {inner.pid}", "PASSWORD") not in found


@pytest.mark.skipif(
    Path("/proc/sys/kernel/core_pattern").read_bytes()[:1] in (b"|", b"/"), reason="core files go elsewhere here"
)
def test_a_core_file_and_a_minidump_are_known_by_what_they_hold(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mini").write_bytes(b"MDMP\x93\xa7\0\0")
    (tmp_path / "program").write_bytes(Path(sys.executable).read_bytes()[:4096])
    unlimited = resource.getrlimit(resource.RLIMIT_CORE)[1]
    subprocess.run(
        [sys.executable, "-c", f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})"],
        cwd=tmp_path,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (unlimited, unlimited)),
    )

    found = {Path(name).relative_to(tmp_path).parts[0][:4] for name in dumps(tmp_path)}

    assert found == {"a", "core"}

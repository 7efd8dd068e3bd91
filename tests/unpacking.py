"""Parts of files in which text hides from a search of their bytes, unpacked as far as the formats are public.

Compressed data wherever it begins, text of pictures, encoded files, entries of Chromium's cache, streams of PDF.
"""

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator

import brotli  # type: ignore[import-untyped]  # it has no types

MOST = 8_000_000
"""Bytes that are taken of what one piece of compressed data unpacks to."""
_PNG = b"\x89PNG\r\n\x1a\n"
_PIXELS = frozenset({b"IDAT", b"fdAT"})
_PDF = b"%PDF-"
_SQLITE = b"SQLite format 3\0"
_CACHE_ENTRY = struct.Struct("<QIIII")
_CACHE_MAGIC = 0xFCFB6D1BA7725C30
_CACHE_END = (0xF4FA6F45970D41D8).to_bytes(8, "little")
_GZIP = re.compile(rb"\x1f\x8b\x08")
_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
_DATA_URI = re.compile(rb"data:[^,\s\"'<>]{0,200};base64,([A-Za-z0-9+/_=-]+)")
_RUN = re.compile(rb"[A-Za-z0-9+/_-]{24,}={0,2}")
_KNOWN = (_PNG, _PDF, _SQLITE, b"\x1f\x8b\x08", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
"""How files begin that are looked for in Base64 which no data URI announces."""
_PDF_TEXT = re.compile(rb"\(((?:\\.|[^\\()])*)\)|<([0-9A-Fa-f\s]+)>", re.DOTALL)
_READABLE = re.compile(r"[\t\n\r\x20-\x7e\xa0-\u024f]{8,}")


def parts(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Every part of a file that is packed in it, with the name of its packing."""
    if data.startswith(_PNG):
        yield "text of a PNG", b"\n".join(_png_texts(data))
    else:
        yield from _compressed(data)
    if data.startswith(_PDF):
        yield "text of a PDF", b"\n".join(_pdf_text(part) for part in (data, *_inflated(data)))
    if body := _cached(data):
        yield "brotli", _unbrotlied(body)
    yield "brotli", _unbrotlied(data)
    if b"\x00" in data:
        yield "UTF-16", _wide(data)
    yield "Latin-1", b"\n".join(_latin(data))


def encoded_files(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Every file that a text holds as Base64: all of data URIs, and of other runs what begins as a known file does."""
    for match in _DATA_URI.finditer(text):
        yield "a data URI", _decoded(match[1])
    for match in _RUN.finditer(text):
        if _decoded(match[0][:24]).startswith(_KNOWN):
            yield "a file in Base64", _decoded(match[0])


def _decoded(run: bytes) -> bytes:
    plain = run.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    plain = plain[:-1] if len(plain) % 4 == 1 else plain
    try:
        return base64.b64decode(plain + b"=" * (-len(plain) % 4))
    except binascii.Error:
        return b""


def _compressed(data: bytes) -> Iterator[tuple[str, bytes]]:
    for name, begins, bits in (("gzip", _GZIP, 31), ("zlib", _ZLIB, 15)):
        for match in begins.finditer(data):
            if inner := _unpacked(data, match.start(), bits):
                yield name, inner


def _inflated(data: bytes) -> Iterator[bytes]:
    yield from (inner for name, inner in _compressed(data) if name == "zlib")


def _unpacked(data: bytes, start: int, bits: int) -> bytes:
    """What can be unpacked of the data from `start`: it may be cut off, or go on with something else."""
    unpacking, found, at = zlib.decompressobj(bits), bytearray(), start
    while at < len(data) and not unpacking.eof and len(found) < MOST:
        try:
            found += unpacking.decompress(data[at : at + 4096], MOST)
        except zlib.error:
            break
        at += 4096
    return bytes(found)


def _unbrotlied(data: bytes) -> bytes:
    """What the data unpacks to as a whole: nothing in brotli says where it begins."""
    try:
        return bytes(brotli.Decompressor().process(data, output_buffer_limit=MOST))
    except brotli.error:
        return b""


def _cached(data: bytes) -> bytes:
    """The body in an entry of Chromium's cache on disk (its simple backend): it lies between the key and a mark."""
    if len(data) < _CACHE_ENTRY.size or _CACHE_ENTRY.unpack_from(data)[0] != _CACHE_MAGIC:
        return b""
    start = _CACHE_ENTRY.size + _CACHE_ENTRY.unpack_from(data)[2]
    end = data.find(_CACHE_END, start)
    return data[start:end] if end > 0 else b""


def _png_texts(data: bytes) -> Iterator[bytes]:
    """Text of each chunk that holds no pixels, and what a chunk holds whose kind nobody knows."""
    at = len(_PNG)
    while at + 8 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size
        if kind in _PIXELS:
            continue
        yield from _latin(body)
        yield body
        for _, inner in _compressed(body):
            yield from (inner, *_latin(inner))
        yield _wide(body)
    yield from (data[at:], *_latin(data[at:]))


def _wide(data: bytes) -> bytes:
    """Text of two bytes a character, whichever of them is the first."""
    wide = "\n".join((data[at:] + b"\0").decode("utf-16-le", errors="ignore") for at in (0, 1))
    return "\n".join(_READABLE.findall(wide)).encode()


def _latin(data: bytes) -> Iterator[bytes]:
    """Text of one byte a character, where it is no UTF-8: a search that reads UTF-8 loses its letters with accents."""
    try:
        data.decode()
    except UnicodeDecodeError:
        yield from (run.encode() for run in _READABLE.findall(data.decode("latin-1")))


def _pdf_text(stream: bytes) -> bytes:
    """What the strings of a content stream say one after the other, without the distances between them."""
    said = bytearray()
    for literal, digits in _PDF_TEXT.findall(stream):
        if digits:
            run = re.sub(rb"\s", b"", digits).decode()
            raw = bytes.fromhex(run + "0" * (len(run) % 2))
        else:
            raw = re.sub(rb"\\(.)", rb"\1", literal, flags=re.DOTALL)
        said += raw.replace(b"\x00", b"").decode("latin-1").encode()
    return bytes(said)

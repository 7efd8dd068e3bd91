"""The search for secrets finds one that is planted, in each form: else that it finds none would prove nothing."""

import base64
import gzip
import html
import json
import sqlite3
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from tests.leaks import Place, files, leaks

VALUE = 'Zq7pw/Hörse+9&"x\\K'
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


@pytest.mark.parametrize(
    "data",
    [
        VALUE.encode("utf-16-le"),
        gzip.compress(VALUE.encode()),
        b"\xff\xfe\x00\x01" + VALUE.encode() + b"\x80\x81",
        gzip.compress(json.dumps({"data": base64.b64encode(VALUE.encode()).decode()}).encode()),
    ],
    ids=["two bytes a character", "compressed", "among bytes", "encoded and compressed"],
)
def test_a_planted_secret_is_found_in_data_that_is_no_text(data: bytes) -> None:
    assert leaks([Place("here", data)], {"PASSWORD": VALUE}) != []


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

"""Names of files that a page suggests."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common.files import NAME_LIMIT, safe_name


@pytest.mark.parametrize(
    ("suggested", "name"),
    [
        ("report.csv", "report.csv"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("", "download"),
        ("...", "download"),
        (".bashrc", "bashrc"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("Rechnung Müller.pdf", "Rechnung Müller.pdf"),
        ("a\r\nb.txt", "ab.txt"),
        ("CON.txt", "_CON.txt"),
        ('a<b>:"|?*.txt', "a_b______.txt"),
        ("x" * 300 + ".pdf", "x" * (NAME_LIMIT - 4) + ".pdf"),
    ],
)
def test_a_suggested_name_becomes_a_plain_one(suggested: str, name: str) -> None:
    assert safe_name(suggested) == name


@given(st.text())
def test_no_name_is_empty_hidden_a_path_or_changed_a_second_time(suggested: str) -> None:
    name = safe_name(suggested)

    assert name
    assert len(name) <= NAME_LIMIT + 1
    assert not name.startswith(".")
    assert not set(name) & set("/\\\0")
    assert not any(unicodedata.category(character).startswith("C") for character in name)

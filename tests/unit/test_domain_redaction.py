"""No common encoding of a secret's value survives redaction."""

import base64
import html
import json
import re
import string
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from replaywright.domain.secrets.redaction import (
    _ASCII,
    _LETTERS,
    _LITERAL,
    HIDDEN,
    Redactor,
    _Bare,
    _letters,
    apart,
    redact,
)

AWKWARD = "aB3+/&<>\"'\\ %=?#_-\n\täß€中😀"
VALUES = st.text(st.sampled_from(AWKWARD), min_size=4, max_size=16).filter(lambda value: value.strip())
FILLER = st.text(st.sampled_from("xyz ,.:;()"), max_size=12)


def lower_hex(text: str) -> str:
    parts = quote(text, safe="").split("%")
    return parts[0] + "".join("%" + part[:2].lower() + part[2:] for part in parts[1:])


ENCODINGS: dict[str, Callable[[str], str]] = {
    "raw": lambda value: value,
    "percent, all": lambda value: quote(value, safe=""),
    "percent, path": quote,
    "percent, lower hex": lower_hex,
    "percent, twice": lambda value: quote(quote(value, safe=""), safe=""),
    "form": quote_plus,
    "encodeURIComponent": lambda value: quote(value, safe="!'()*"),
    "JSON": lambda value: json.dumps(value)[1:-1],
    "JSON, not ascii": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
    "JSON, upper hex": lambda value: (
        "".join(f"\\u{ord(c):04X}" for c in value if ord(c) < 0x10000)
        if all(ord(c) < 0x10000 for c in value)
        else value
    ),
    "JSON in JSON": lambda value: json.dumps(json.dumps(value)[1:-1])[1:-1],
    "JavaScript with escaped slashes": lambda value: json.dumps(value)[1:-1].replace("/", "\\/"),
    "HTML": html.escape,
    "HTML, text only": lambda value: html.escape(value, quote=False),
    "HTML, decimal": lambda value: "".join(f"&#{ord(c)};" for c in value),
    "HTML, hexadecimal": lambda value: "".join(f"&#x{ord(c):X};" for c in value),
    "HTML twice": lambda value: html.escape(html.escape(value)),
    "Python": lambda value: value.encode("unicode_escape").decode(),
    "hexadecimal": lambda value: value.encode().hex(),
    "hexadecimal, upper": lambda value: value.encode().hex().upper(),
}


@pytest.mark.parametrize("name", ENCODINGS)
@settings(max_examples=40, deadline=None)
@given(value=VALUES, before=FILLER, after=FILLER)
def test_no_encoding_survives(name: str, value: str, before: str, after: str) -> None:
    encoded = ENCODINGS[name](value)

    redacted = redact(f"{before}{encoded}{after}", {"P": value})

    assert redacted == f"{before}{{{{secret:P}}}}{after}"


@given(value=VALUES, before=st.binary(max_size=9), after=st.binary(max_size=9), urlsafe=st.booleans())
@example(value="hunter22", before=b"user:", after=b"", urlsafe=False)
def test_base64_survives_at_no_alignment(value: str, before: bytes, after: bytes, urlsafe: bool) -> None:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    encoded = encode(before + value.encode() + after).decode()

    redacted = redact(f"Basic {encoded}", {"P": value})

    assert "{{secret:P}}" in redacted
    left = redacted.removeprefix("Basic ").replace("{{secret:P}}", "").rstrip("=")
    assert len(left) <= -(-len(before) * 8 // 6) + -(-len(after) * 8 // 6)


@given(value=VALUES)
def test_base64_survives_neither_line_breaks_nor_url_encoding(value: str) -> None:
    encoded = base64.b64encode(value.encode()).decode().rstrip("=")
    core = encoded[:-1]  # the last character may hold bits of what follows

    assert core not in redact(quote(encoded, safe=""), {"P": value})
    assert redact("\n".join(encoded), {"P": value}).startswith("{{secret:P}}")


@given(value=VALUES, text=st.text(max_size=60))
def test_redaction_is_done_at_once(value: str, text: str) -> None:
    once = redact(f"{text}{value}{text}", {"PASSWORD": value})

    assert redact(once, {"PASSWORD": value}) == once


@given(text=st.text(max_size=80))
def test_a_text_without_secrets_is_not_changed(text: str) -> None:
    assert redact(text, {"P": "correct horse battery"}) == text
    assert redact(text, {}) == text
    assert redact(text, {"P": ""}) == text


def test_the_longest_value_is_replaced_first() -> None:
    secrets = {"SHORT": "hunter", "LONG": "hunter2-and-more"}

    assert redact("hunter2-and-more hunter", secrets) == "{{secret:LONG}} {{secret:SHORT}}"


def test_overlapping_values_go_whole() -> None:
    assert redact("abcdefgh", {"A": "abcdef", "B": "defgh"}) == "{{secret:A}}"


def test_a_value_that_overlaps_itself_goes_whole() -> None:
    assert redact("abababab", {"A": "ababab"}) == "{{secret:A}}"


def test_a_placeholder_is_not_redacted_again() -> None:
    assert redact("{{secret:PASSWORD}} secret", {"PASSWORD": "secret"}) == "{{secret:PASSWORD}} {{secret:PASSWORD}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("code 123.", "code {{secret:PIN}}."),
        ("1234 and 0123 and a123", "1234 and 0123 and a123"),
        ('{"pin": "123"}', '{"pin": "{{secret:PIN}}"}'),
        ("a%20123&b", "a%20{{secret:PIN}}&b"),
        (r"line\n123", r"line\n{{secret:PIN}}"),
        ("%31%32%33", "{{secret:PIN}}"),
    ],
)
def test_a_short_value_is_replaced_only_as_a_word(text: str, expected: str) -> None:
    assert redact(text, {"PIN": "123"}) == expected


def test_one_name_may_have_had_several_values() -> None:
    redactor = Redactor([("P", "old-value"), ("P", "new-value")])

    assert redactor.text("old-value, new-value") == "{{secret:P}}, {{secret:P}}"


def test_data_is_redacted_in_keys_values_and_numbers() -> None:
    data = {"hunter22": ["x hunter22", ("hunter22",), 123456, 1234567, True, None], "n": {"a": 1.5}}

    redacted = Redactor({"P": "hunter22", "PIN": "123456"}.items()).data(data)

    assert redacted == {
        "{{secret:P}}": ["x {{secret:P}}", ["{{secret:P}}"], "{{secret:PIN}}", 1234567, True, None],
        "n": {"a": 1.5},
    }


@given(value=st.text(string.ascii_letters + string.digits + "\"'\\ä😀", min_size=4, max_size=12))
def test_redacted_json_is_still_json(value: str) -> None:
    dumped = json.dumps({"-": f"<{value}>", "*": ["+"]})  # with other letters, a value backwards may span both

    assert json.loads(redact(dumped, {"P": value})) == {"-": "<{{secret:P}}>", "*": ["+"]}


# -------------------------------------------------------------------------------------------- spread out

LONG = "Zq7pw-Hörse 9!x"


@pytest.mark.parametrize(
    "shown",
    [
        "Z q 7 p w - H ö r s e 9 !x",
        "\n".join(LONG),
        "\u200b".join(LONG),
        "\u00ad".join(LONG),
        "".join(f"<span class='x'>{character}</span>" for character in LONG),
        "<b>Zq7</b><i>pw-H&ouml;</i>rse&nbsp;9!x",
        json.dumps("\n".join(LONG)),
        LONG.upper(),
        LONG.lower(),
        LONG[::-1],
        quote(LONG[::-1]),
        "Zq7pw_Hörse_9!x",
        "zq7pw-hörse-9!x",
        "Zq7pw%2DH%C3%B6rse%5F9!x",
        "Z,q,7,p,w,H,ö,r,s,e,9!x",
        json.dumps(list(LONG), ensure_ascii=False)[1:-1],
    ],
)
def test_a_value_that_is_spread_out_changed_in_case_or_reversed_is_found(shown: str) -> None:
    assert shorn(redact(f"before {shown} after", {"PASSWORD": LONG})) == "before {{secret:PASSWORD}} after"


def shorn(text: str) -> str:
    """Without what stood around the value: a tag, quotes."""
    return re.sub(r"</?\w[^<>]*>|\"", "", text)


@pytest.mark.parametrize("text", ["12 34", "1\n2\n3\n4", "Zq7 pw", "Zq7pw-", "<b>Zq7pw</b>", "H ö r s e"])
def test_short_values_and_parts_of_values_are_not_looked_for_when_spread_out(text: str) -> None:
    assert redact(text, {"PIN": "1234", "PASSWORD": LONG}) == text


KEY = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(f"{n:04}+/aB{'x9Z' * 19}" for n in range(40)) + "\n-----END-----\n"
"""As long as a key with its certificates."""


@pytest.mark.parametrize("name", sorted(ENCODINGS.keys() - {"JSON, upper hex", "HTML, decimal", "HTML, hexadecimal"}))
def test_a_long_value_is_found_in_the_encodings_that_leave_letters_and_digits(name: str) -> None:
    shown = ENCODINGS[name](KEY)

    found = redact(f"before, {shown} after", {"KEY": KEY})

    assert "{{secret:KEY}}" in found
    assert len(found) < 120


@pytest.mark.parametrize("before", [b"", b"a", b"ab"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
def test_a_long_value_is_found_in_base64_at_each_alignment(before: bytes, encode: Callable[[bytes], bytes]) -> None:
    found = redact(encode(before + KEY.encode() + b"after").decode(), {"KEY": KEY})

    assert "{{secret:KEY}}" in found
    assert len(found) < 40


def test_texts_that_only_together_show_a_value_are_found_and_no_others() -> None:
    def shows(text: str) -> bool:
        return redact(text, {"PASSWORD": LONG}) != text

    texts = ["Welcome", "Zq7", "pw-Hö", "rse 9!x", "Zq7", "Log out", *LONG, "Zq7pw", "end"]

    found = apart(texts, shows)

    assert found == {1, 2, 3, *range(6, 6 + len(LONG))}
    assert apart(["Zq7", "{{secret}}", "pw-Hörse 9!x"], shows) == frozenset()


def test_spread_out_values_are_looked_for_in_time_that_grows_with_the_text() -> None:
    spaces, tags = " " * 100_000, "<b>Z</b>" * 20_000

    assert redact(f"Z{spaces}x{tags}", {"PASSWORD": LONG}) == f"Z{spaces}x{tags}"


def test_a_list_whose_texts_only_together_show_a_value_does_not_keep_them() -> None:
    told = Redactor([("PASSWORD", LONG)]).data({"cells": ["Welcome", 7, "Zq7pw", "-Hörse", "9!x", "end"]})

    assert told == {"cells": ["Welcome", 7, HIDDEN, HIDDEN, HIDDEN, "end"]}


@pytest.mark.parametrize(
    "shown", ["Nw3-Rotated_Lämp=52%41_b_zoo", "Nw3RotatedLämp52%41<b>zoo", "Nw3 Rotated 52 41 b zoo"]
)
def test_a_value_with_what_looks_like_tags_and_escapes_is_found_without_its_signs(shown: str) -> None:
    value = "Nw3-Rotated/Lämp=52%41<b>zoo"

    assert (
        redact(f"x {shown}.txt", {"P": value if "ä" in shown else value.replace("Lämp=", "")}) == "x {{secret:P}}.txt"
    )


@given(st.text(alphabet="aZ9<>&%;éßİΣσ中 \n-_/bxu0", max_size=60), st.sampled_from([_ASCII, _LETTERS, _LITERAL]))
def test_the_quick_way_to_a_texts_letters_has_what_the_thorough_one_has(text: str, kind: re.Pattern[str]) -> None:
    quick = _letters(text, kind)
    assert quick in (None, _Bare.of(text, kind).text)
    assert quick is not None or not text.isascii()

"""Files of site sessions: their fields, codes in messages, and cookies from a browser's export."""

import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import yaml

from replaywright.domain.site_session.codes import CodeSource
from replaywright.errors import InputInvalid
from replaywright.site_sessions.cookies import expired_in, read_storage
from replaywright.site_sessions.file import code_source_of, definition_of, sign_in_task

TOLD = {"url": "https://crm.example.com/account", "expect": [{"text_contains": "ada"}]}
ADA = {"sign_in": "skill:crm-sign-in", "signed_in": TOLD}


def written(tmp_path: Path, sessions: Any = None, codes: Any = None) -> Path:
    file = tmp_path / "sessions.yaml"
    given = {"sessions": {"crm-ada": ADA} if sessions is None else sessions, "codes": codes or {}}
    file.write_text(yaml.safe_dump(given), encoding="utf-8")
    return file


def test_a_session_is_read_with_what_it_leaves_out(tmp_path: Path) -> None:
    found = definition_of(written(tmp_path), "crm-ada")
    assert (found.skill, found.shared, found.keep_alive_s, found.max_age_s) == ("crm-sign-in", 1, 0, 0)
    assert found.may_use("anything")
    more = {**ADA, "keep_alive": "30min", "max_age": "12h", "tasks": ["crm-*"], "shared": 4}
    found = definition_of(written(tmp_path, {"crm-ada": more}), "crm-ada")
    assert (found.keep_alive_s, found.max_age_s, found.shared) == (1800, 43200, 4)
    assert (found.may_use("crm-orders"), found.may_use("shop")) == (True, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shared": 0}, "sessions.crm-ada.shared"),
        ({"keep_alive": "soon"}, "expected a duration such as 30min or 12h, found 'soon'"),
        ({"signed_in": {**TOLD, "url": "crm"}}, "signed_in.url"),
        ({"signed_in": {**TOLD, "expect": []}}, "signed_in.expect"),
        ({"signed_in": {**TOLD, "expect": [{"text_contains": "{{user}}"}]}}, "has a parameter or a secret"),
        ({"password": "x"}, "password"),
    ],
)
def test_a_wrong_session_names_its_field(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        definition_of(written(tmp_path, {"crm-ada": {**ADA, **change}}), "crm-ada")
    assert message in str(refused.value)


def test_what_is_not_declared_is_told_with_what_is(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="declares no such session; it has: crm-ada"):
        definition_of(written(tmp_path), "crm-bob")
    with pytest.raises(InputInvalid, match="set REPLAYWRIGHT_SESSIONS to the file"):
        definition_of(None, "crm-ada")
    with pytest.raises(InputInvalid, match="'mail': REPLAYWRIGHT_SESSIONS declares: none"):
        code_source_of(written(tmp_path), "mail")
    with pytest.raises(InputInvalid, match="'Crm' is no name here"):
        definition_of(written(tmp_path, {"Crm": ADA}), "Crm")


def test_a_task_file_is_found_beside_the_file_of_sessions(tmp_path: Path) -> None:
    task = {
        "task": "in",
        "url": "https://crm.example.com",
        "steps": [{"action": "goto", "url": "https://crm.example.com"}],
    }
    (tmp_path / "in.yaml").write_text(yaml.safe_dump(task), encoding="utf-8")
    file = written(tmp_path, {"crm-ada": {**ADA, "sign_in": "in.yaml"}})
    assert sign_in_task(file, definition_of(file, "crm-ada")).task == "in"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({}, "expected either imap, with password, or webhook"),
        ({"imap": "imaps://ada@mail.example.com"}, "password is missing"),
        ({"imap": "imaps://ada:pw@mail.example.com", "password": "MAIL"}, "without a password"),
        ({"imap": "https://mail.example.com", "password": "MAIL"}, "expected an address such as imaps"),
        ({"webhook": True, "pattern": "(a"}, "not a regular expression"),
        ({"webhook": True, "within": "soon"}, "expected a duration"),
        ({"webhook": True, "within": "1h"}, "expected 15min at most"),
    ],
)
def test_a_wrong_source_of_codes_names_what_is_wrong(tmp_path: Path, source: dict[str, Any], message: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        code_source_of(written(tmp_path, codes={"mail": source}), "mail")
    assert message in str(refused.value)


def mail(text: str, html: str = "", sender: str = "CRM <no-reply@crm.example.com>", subject: str = "Code") -> bytes:
    message = EmailMessage()
    message["From"], message["Subject"] = sender, subject
    message.set_content(text)
    if html:
        if not text:
            message.set_content(html, subtype="html")
        else:
            message.add_alternative(html, subtype="html")
    return message.as_bytes()


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (mail("Your code is 123456."), "123456"),
        (mail("", "<style>x { width: 4321px }</style><p>Code: <b>987654</b></p>"), "987654"),
        (mail("no code here", subject="Your code: 5555"), "5555"),
        (mail("Order 123456789 was sent."), ""),
        (mail("Your code is 123456.", sender="CRM <x@evil.example>"), ""),
        (mail("Your code is 123456.", sender='"no-reply@crm.example.com" <x@evil.example>'), ""),
    ],
)
def test_the_code_is_found_in_a_mail_of_the_right_sender(message: bytes, code: str) -> None:
    source = CodeSource(imap="imaps://ada@mail.example.com", password="MAIL", sender="*@crm.example.com")
    assert source.code_of(message) == code


def test_the_operator_says_what_a_code_looks_like() -> None:
    source = CodeSource(webhook=True, pattern=r"G-(\d{6})")
    assert source.code_in("2026: G-123456 is your code") == "123456"
    assert CodeSource(webhook=True, pattern=r"[A-Z]{3}-[0-9]{3}").code_in("use ABC-123") == "ABC-123"


COOKIE = {"name": "sid", "value": "s3cret", "domain": ".crm.example.com"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"cookies": [COOKIE], "origins": []}),
        json.dumps([{**COOKIE, "hostOnly": False, "expirationDate": 1_900_000_000.5, "sameSite": "no_restriction"}]),
        ".crm.example.com\tTRUE\t/\tTRUE\t1900000000\tsid\ts3cret\n",
        "# Netscape HTTP Cookie File\n#HttpOnly_.crm.example.com\tTRUE\t/\tTRUE\t0\tsid\ts3cret\n",
    ],
)
def test_cookies_are_taken_from_every_known_export(text: str) -> None:
    storage, left_out = read_storage(text, "FILE", ["crm.example.com"])
    [cookie] = storage["cookies"]
    assert (cookie["name"], cookie["value"], cookie["domain"], cookie["path"]) == (
        "sid",
        "s3cret",
        ".crm.example.com",
        "/",
    )
    assert cookie["sameSite"] in ("Lax", "None")
    assert left_out == 0


def test_only_what_is_for_the_site_is_taken() -> None:
    given = [COOKIE, {**COOKIE, "domain": "shop.example.com"}, {**COOKIE, "domain": "example.com", "expires": 5}]
    origins = [
        {"origin": "https://crm.example.com", "localStorage": []},
        {"origin": "https://other.example", "localStorage": []},
    ]
    text = json.dumps({"cookies": given, "origins": origins})
    storage, left_out = read_storage(text, "FILE", ["crm.example.com"])
    assert [cookie["domain"] for cookie in storage["cookies"]] == [".crm.example.com", "example.com"]
    assert [one["origin"] for one in storage["origins"]] == ["https://crm.example.com"]
    assert (left_out, expired_in(storage)) == (1, 1)
    with pytest.raises(InputInvalid, match=r"nothing in it is for bank.example; it has cookies of: crm.example.com"):
        read_storage(json.dumps([COOKIE]), "FILE", ["bank.example"])


@pytest.mark.parametrize(
    "text",
    ["", "hello", "[1]", "{", '{"cookies": 3}', '[{"name": "sid"}]', json.dumps([{**COOKIE, "expires": "soon"}])],
)
def test_what_is_no_export_is_refused_without_its_values(text: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        read_storage(text, "FILE", ["crm.example.com"])
    assert "s3cret" not in str(refused.value)
    assert str(refused.value).startswith("FILE")

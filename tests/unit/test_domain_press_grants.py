"""Grants of what a press sends that a model chose: kinds of requests, and controls that the author's words name."""

import pytest

from replaywright.domain.page.targets import Target
from replaywright.domain.step.press_grants import RequestKind, are_named, field_names, held_consequence, kind_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Send", "Send a mail to Ada"),
        ("send", "the SEND button"),
        ("Save note", "the Save-note button"),
        ("Ｓｅｎｄ", "the Send button"),
        ("Send!", "press send"),
        ("Export", "the button that exports"),
        ("Push", "the button that pushes the branch"),
        ("发送", "给 Ada 发送一封邮件"),
        ("送信", "メールを送信する"),
        ("ส่ง", "กดปุ่มส่งเดี๋ยวนี้"),
        ("저장", "메모를 저장을 눌러"),
        ("Überweisen", "50 Euro überweisen"),
        ("Отправить", "нажми «ок», потом отправить"),
    ],
)
def test_a_control_is_named_by_its_whole_name_in_any_script(name: str, words: str) -> None:
    assert are_named(Target(role="button", name=name), [words])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Delete account", "Save the note"),
        ("Save and delete all", "Save the note"),
        ("Sen", "Send a mail"),
        ("Exporter", "the button that exports"),
        ("Send", "the sender of the mail"),
        ("x", "press x"),
        ("", "press the button"),
        ("🗑", "press 🗑"),
        ("Sеnd", "Send a mail"),
        ("删除账户", "删除草稿"),
    ],
)
def test_a_part_of_a_name_a_look_alike_and_no_name_are_not_named(name: str, words: str) -> None:
    assert not are_named(Target(role="button", name=name), [words])


def test_the_page_itself_is_never_named() -> None:
    assert not are_named(None, ["press Enter on the page"])


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://site/orders/417/pay?token=1#x", "/orders/*/pay"),
        ("http://site/u/3f2a-77/close", "/u/*/close"),
        ("http://site/account/delete", "/account/delete"),
    ],
)
def test_requests_of_one_kind_differ_in_identifiers_and_in_nothing_else(url: str, path: str) -> None:
    assert kind_of("POST", url).path == path
    assert kind_of("POST", url) != kind_of("DELETE", url)
    assert kind_of("POST", url, ["b", "a"]) == kind_of("POST", url, ["a", "b"]) != kind_of("POST", url, ["a"])


def test_messages_of_websockets_are_told_by_address_without_identifiers() -> None:
    assert str(kind_of("SEND", "ws://site:8080/rooms/417/live")) == "SEND ws://site:8080/rooms/*/live"
    assert "opened before" in str(kind_of("SEND", ""))


@pytest.mark.parametrize(
    ("body", "kind", "names"),
    [
        ("to=ada&subject=&to=bob", "application/x-www-form-urlencoded", ("subject", "to")),
        ('{"amount": 5, "iban": "DE"}', "application/json", ("amount", "iban")),
        ('[{"query": "q", "operationName": "Close"}]', "application/json", ("operationName=Close", "query")),
        ("_method=delete&id=3", "application/x-www-form-urlencoded", ("_method=delete", "id")),
        (
            '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx=1\r\n--b--',
            "multipart/form-data; boundary=b",
            ("file",),
        ),
        ("{" * 5000, "application/json", ()),
        ("", "", ()),
    ],
)
def test_a_request_is_told_by_names_and_never_by_values(body: str, kind: str, names: tuple[str, ...]) -> None:
    assert field_names(body, {"Content-Type": kind}) == names


def test_a_person_is_told_of_the_control_of_what_is_around_it_and_of_the_request() -> None:
    target = Target(
        role="button",
        name="Pro\u200bceed",
        container='form "Close account"',
        row=("Everything is lost",),
        attributes={"aria-description": "This cannot be undone"},
    )
    kind = RequestKind(method="POST", origin="http://site:80", path="/account/close", fields=("confirm",))

    assert held_consequence(kind, target).lines() == (
        "control: button 'Proceed'",
        'in: form "Close account"',
        "beside it: Everything is lost | This cannot be undone",
        "would send: POST http://site:80/account/close with confirm",
    )

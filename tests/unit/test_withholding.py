"""A canary's browser sends nothing that came of an input and that no recording knows."""

from typing import Any

import pytest

from replaywright.keeper.gate.withholding import Withholding


def asked(method: str, path: str, kind: str = "XHR") -> dict[str, Any]:
    return {"resourceType": kind, "request": {"method": method, "url": f"https://wiki.example:8443{path}"}}


def permits(withholding: Withholding, method: str, path: str, kind: str = "XHR", *, is_top: bool = True) -> bool:
    return withholding.permits(asked(method, path, kind), is_top=is_top)


@pytest.fixture
def withholding() -> Withholding:
    found = Withholding()
    found.begin(("POST /login",))
    return found


def test_without_a_canary_nothing_is_withheld() -> None:
    withholding = Withholding()
    withholding.note_input()

    assert permits(withholding, "POST", "/drafts")
    assert not withholding.is_on


def test_what_comes_of_an_input_leaves_if_a_recording_knows_it(withholding: Withholding) -> None:
    withholding.note_input()

    assert permits(withholding, "POST", "/login")
    assert not permits(withholding, "POST", "/drafts/17")
    assert not permits(withholding, "PUT", "/login")


def test_pages_may_be_read_and_go_on_sending_what_they_sent_by_themselves(withholding: Withholding) -> None:
    assert permits(withholding, "POST", "/heartbeat/1")
    withholding.note_input()

    assert permits(withholding, "POST", "/heartbeat/2")
    assert permits(withholding, "GET", "/drafts")
    assert not permits(withholding, "POST", "/drafts")


def test_a_new_document_reads_as_it_likes_until_something_is_entered(withholding: Withholding) -> None:
    withholding.note_input()
    assert permits(withholding, "GET", "/list", "Document")

    assert permits(withholding, "POST", "/graphql")
    withholding.note_input()
    assert not permits(withholding, "POST", "/drafts")


def test_the_document_of_a_frame_is_no_new_page(withholding: Withholding) -> None:
    withholding.note_input()
    assert permits(withholding, "GET", "/frame", "Document", is_top=False)

    assert not permits(withholding, "POST", "/drafts")


def test_what_was_withheld_is_told_by_kind(withholding: Withholding) -> None:
    withholding.note_input()
    for path in ("/drafts/17", "/drafts/18", "/tags"):
        permits(withholding, "POST", path)

    assert [(each.host, each.port, each.rule, each.count) for each in withholding.withheld] == [
        ("wiki.example", 8443, "canary: POST /drafts/*", 2),
        ("wiki.example", 8443, "canary: POST /tags", 1),
    ]


def test_while_a_step_is_rehearsed_nothing_unsafe_leaves_and_no_tab_is_left() -> None:
    withholding = Withholding()
    withholding.begin(("POST /login",), holds_back=True)

    sent = [("POST", "/login", "XHR"), ("POST", "/heartbeat", "XHR"), ("GET", "/next", "Document")]
    assert [permits(withholding, *each) for each in sent] == [False, False, False]
    assert permits(withholding, "GET", "/list")
    assert permits(withholding, "GET", "/frame", "Document", is_top=False)
    assert {each.reason for each in withholding.withheld} == {"the step that sent it was only rehearsed"}

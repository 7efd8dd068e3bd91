"""What a reader takes for the same wording, and what never."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.locating.wording import Wording, compare, says_how_long_ago

PAIRS = [
    ("Inbox", "Inbox (3)", Wording.SAME),
    ("Inbox (2)", "INBOX (31)", Wording.SAME),
    ("Löschen", "Loschen", Wording.SAME),
    ("E-mail", "Email:", Wording.SAME),
    ("Log in", "Login", Wording.SAME),
    ("Create new calendar", "Create a new calendar", Wording.SAME),
    ("Datei öffnen", "Die Datei öffnen", Wording.SAME),
    ("Plan A", "Plan", Wording.ALIKE),
    ("Buy now", "Buy", Wording.ALIKE),
    ("Log in", "Sign in", Wording.ALIKE),
    ("Delete", "Remove", Wording.ALIKE),
    ("Save as draft", "Als Entwurf speichern", Wording.ALIKE),
    ("Save as draft", "存为草稿", Wording.ALIKE),
    ("Search mail", "搜索邮件", Wording.ALIKE),
    ("Notes", "Note", Wording.ALIKE),
    ("Send", "Send message", Wording.LONGER),
    ("Save", "Save changes", Wording.LONGER),
    ("Title", "Title for want of a label", Wording.OTHER),
    ("Page 2", "Page 3", Wording.OTHER),
    ("Invoice 12", "Invoice 123", Wording.OTHER),
    ("Slow page", "Second page", Wording.OTHER),
    ("Search messages", "Message body", Wording.OTHER),
    ("Send", "Schedule", Wording.OTHER),
    ("Send", "Archive", Wording.OPPOSED),
    ("Save", "Save and add another", Wording.OPPOSED),
    ("Save", "Save as draft", Wording.OPPOSED),
    ("Send", "Send later", Wording.OPPOSED),
    ("Send", "Don't send", Wording.OPPOSED),
    ("Subscribe", "Unsubscribe", Wording.OPPOSED),
    ("First name", "Last name", Wording.OPPOSED),
    ("发送", "取消发送", Wording.OPPOSED),
]


@pytest.mark.parametrize(("left", "right", "expected"), PAIRS)
def test_wordings_compare_by_what_they_mean(left: str, right: str, expected: Wording) -> None:
    assert compare(left, right) is compare(right, left) is expected


@given(st.text(max_size=20), st.text(max_size=20))
def test_the_comparison_is_symmetric_and_a_text_equals_itself(left: str, right: str) -> None:
    assert compare(left, right) is compare(right, left)
    assert compare(left, left) is Wording.SAME


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *(
            (text, True)
            for text in ("19s ago", "About a minute ago", "now", "Just now", "vor 2 Stunden", "vor einer Stunde")
        ),
        *((text, True) for text in ("il y a 3 jours", "hace una hora", "3 小时前", "5分钟前", "刚刚")),
        *((text, False) for text in ("名前", "vor Ort", "Chicago", "3 days", "10:30", "now or never", "以前")),
    ],
)
def test_a_text_that_says_how_long_ago_something_was_is_told_from_names(text: str, is_one: bool) -> None:
    assert says_how_long_ago(text) is is_one

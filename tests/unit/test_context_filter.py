"""What passes between a DevTools client and the one context that it is shown."""

import json
from typing import Any

import pytest

from replaywright.keeper.chromium.context_filter import OWN_NUMBERS, ContextFilter, Refused

SESSION = "A" * 32


def looks(tabs: tuple[str, ...] = ("mine",)) -> ContextFilter:
    return ContextFilter("ours", tabs=tabs)


def written(**fields: Any) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def test_a_command_for_a_context_gets_this_one() -> None:
    asked = looks().filter_command(written(id=1, method="Storage.getCookies"))

    assert json.loads(asked)["params"] == {"browserContextId": "ours"}


@pytest.mark.parametrize("params", [{}, {"targetId": "mine"}])
def test_a_client_may_ask_about_the_browser_and_its_own_pages(params: dict[str, str]) -> None:
    asked = looks().filter_command(written(id=1, method="Target.getTargetInfo", params=params))

    assert json.loads(asked)["params"] == params


@pytest.mark.parametrize(
    "command",
    [
        {"method": "Target.createBrowserContext"},
        {"method": "Browser.close"},
        {"method": "Target.createTarget", "params": {"url": "about:blank", "browserContextId": "another"}},
        {"method": "Target.closeTarget", "params": {"targetId": "another's"}},
        {"method": "Target.getTargetInfo", "params": {"targetId": "another's"}},
        {"method": "Browser.getWindowForTarget", "params": {"targetId": "another's"}},
        {"method": "DOM.setFileInputFiles", "params": {"files": ["/etc/passwd"]}, "sessionId": SESSION},
        {"method": "Target.getTargets", "sessionId": SESSION},
        {"method": "Target.attachToTarget", "params": {"targetId": "mine"}, "sessionId": SESSION},
        {"method": "Target.getTargetInfo", "params": {"targetId": "another's"}, "sessionId": SESSION},
        {"method": "Browser.close", "sessionId": SESSION},
    ],
)
def test_what_is_not_for_one_context_does_not_reach_the_browser(command: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        looks().filter_command(written(id=7, **command))

    answer = json.loads(refused.value.answer)
    assert answer["id"] == 7
    assert answer["error"]["message"]
    assert answer.get("sessionId") == command.get("sessionId")


def test_a_target_of_another_context_goes_on_and_is_not_shown() -> None:
    ours = looks()
    info = {"targetId": "x", "type": "page", "browserContextId": "theirs", "url": ""}

    event = written(method="Target.attachedToTarget", params={"sessionId": SESSION, "targetInfo": info})
    shown, replies = ours.filter_message(event)

    assert shown is None
    assert [json.loads(reply)["method"] for reply in replies] == [
        "Runtime.runIfWaitingForDebugger",
        "Target.detachFromTarget",
    ]
    assert all(json.loads(reply)["id"] >= OWN_NUMBERS for reply in replies)
    assert ours.filter_message(written(method="Page.frameNavigated", params={}, sessionId=SESSION)) == (None, ())
    assert ours.filter_message(written(id=OWN_NUMBERS + 1, result={})) == (None, ())


def test_a_session_that_is_the_browsers_is_looked_at_like_the_browser() -> None:
    ours = looks()
    ours.filter_command(written(id=3, method="Target.attachToBrowserTarget"))
    ours.filter_message(written(id=3, result={"sessionId": SESSION}))

    asked = json.loads(ours.filter_command(written(id=4, method="Target.createTarget", sessionId=SESSION)))
    assert asked["params"]["browserContextId"] == "ours"
    downloads = {"behavior": "allowAndName", "downloadPath": "/home"}
    asked = json.loads(
        ours.filter_command(written(id=5, method="Browser.setDownloadBehavior", params=downloads, sessionId=SESSION))
    )
    assert asked["params"] == {"behavior": "deny", "browserContextId": "ours", "eventsEnabled": True}


def test_what_is_said_to_and_by_a_page_of_the_context_passes_as_it_is() -> None:
    ours, said = looks(), written(method="Network.dataReceived", params={"data": "x"}, sessionId=SESSION)
    asked = written(id=9, method="Runtime.evaluate", params={"expression": "1"}, sessionId=SESSION)

    assert ours.filter_message(said) == (said, ())
    assert ours.filter_command(asked) == asked
    own = written(id=10, method="Target.getTargetInfo", sessionId=SESSION)
    assert ours.filter_command(own) == own

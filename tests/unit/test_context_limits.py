"""What passes between a DevTools client and the one context of a shared browser that it is shown."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from replaywright.keeper.chromium import remote_uploads
from replaywright.keeper.chromium.context_limits import ContextLimits
from replaywright.keeper.chromium.multiplexer import CommandRefused, Multiplexer
from replaywright.keeper.chromium.pipe import Sender

OTHERS = {"targetId": "x", "type": "page", "browserContextId": "theirs", "url": ""}
SESSION = "A" * 32


@pytest.fixture
def limits(tmp_path: Path) -> ContextLimits:
    made = ContextLimits(tmp_path / "uploads", lambda _: None, tabs=("mine",))
    made.context = "ours"
    return made


async def sent(
    limits: ContextLimits, method: str, params: Mapping[str, Any] | None = None, *, is_of_browser: bool = True
) -> list[tuple[str, Mapping[str, Any]]]:
    return [each async for each in limits.commands(method, params or {}, is_of_browser=is_of_browser)]


async def test_a_command_for_a_context_gets_this_one(limits: ContextLimits) -> None:
    assert await sent(limits, "Storage.getCookies") == [("Storage.getCookies", {"browserContextId": "ours"})]


@pytest.mark.parametrize("params", [{}, {"targetId": "mine"}])
async def test_a_client_may_ask_about_the_browser_and_its_own_pages(
    limits: ContextLimits, params: dict[str, str]
) -> None:
    assert await sent(limits, "Target.getTargetInfo", params) == [("Target.getTargetInfo", params)]


@pytest.mark.parametrize("of_browser", [True, False])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Target.createBrowserContext", {}),
        ("Browser.close", {}),
        ("Target.createTarget", {"url": "about:blank", "browserContextId": "another"}),
        ("Target.closeTarget", {"targetId": "another's"}),
        ("Target.getTargetInfo", {"targetId": "another's"}),
        ("Target.attachToTarget", {"targetId": "another's"}),
        ("Browser.getWindowForTarget", {"targetId": "another's"}),
        ("Storage.getCookies", {"browserContextId": "another"}),
        ("Target.createTarget", {"url": "file:///etc/passwd"}),
        ("Page.navigate", {"url": "chrome://settings"}),
    ],
)
async def test_what_is_not_for_one_context_does_not_reach_the_browser(
    limits: ContextLimits, method: str, params: Mapping[str, Any], of_browser: bool
) -> None:
    with pytest.raises(CommandRefused):
        await sent(limits, method, params, is_of_browser=of_browser)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("Target.getTargets", {}),
        ("Target.attachToTarget", {"targetId": "mine"}),
        ("Input.dispatchDragEvent", {"type": "drop", "x": 1, "y": 1, "data": {"files": ["/etc/passwd"]}}),
        ("DOM.setFileInputFiles", {"files": ["/etc/passwd"], "objectId": "1"}),
        ("DOM.setFileInputFiles", {"files": [], "backendNodeId": 1}),
    ],
)
async def test_a_page_is_asked_for_nothing_outside_it(
    limits: ContextLimits, method: str, params: Mapping[str, Any]
) -> None:
    with pytest.raises(CommandRefused):
        await sent(limits, method, params, is_of_browser=False)


async def test_what_is_said_to_a_page_passes_as_it_is(limits: ContextLimits) -> None:
    for command in (("Runtime.evaluate", {"expression": "1"}), ("Page.navigate", {"url": "https://shop.example"})):
        assert await sent(limits, *command, is_of_browser=False) == [command]


@pytest.mark.parametrize("method", ["Browser.setDownloadBehavior", "Page.setDownloadBehavior"])
async def test_no_client_says_where_downloads_go(limits: ContextLimits, method: str) -> None:
    params = {"behavior": "allow", "downloadPath": "/home"}

    [(instead, given)] = await sent(limits, method, params, is_of_browser=method.startswith("Browser"))

    assert (instead, given) == ("Browser.getVersion", {})


async def test_a_file_goes_with_the_commands_in_blocks(
    limits: ContextLimits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_uploads, "BLOCK_BYTES", 4)
    (tmp_path / "uploads").mkdir()
    file = tmp_path / "uploads" / "a.csv"
    file.write_text("a,b,c")

    commands = await sent(limits, "DOM.setFileInputFiles", {"files": [str(file)], "objectId": "7"}, is_of_browser=False)

    assert {method for method, _ in commands} == {"Runtime.callFunctionOn"}
    assert {params["objectId"] for _, params in commands} == {"7"}
    *blocks, last = [[each["value"] for each in params["arguments"]] for _, params in commands]
    assert b"".join(base64.b64decode(content) for _, content in blocks) == b"a,b,c"
    assert [index for index, _ in blocks] == [0, 0]
    assert [(each["name"], each["type"]) for each in last[0]] == [("a.csv", "text/csv")]


@dataclass
class Browser:
    """Takes what a multiplexer sends."""

    commands: list[dict[str, Any]] = field(default_factory=list)

    def send(self, message: bytes, _sender: Sender | None = None) -> None:
        self.commands.append(json.loads(message))

    async def drain(self) -> None:
        """Nothing waits here."""

    def close(self) -> None:
        """Nothing is open here."""


def test_a_target_of_another_context_that_was_stopped_for_the_keeper_goes_on_and_is_left(limits: ContextLimits) -> None:
    devtools, browser = Multiplexer(limits), Browser()
    events: list[Mapping[str, Any]] = []
    devtools.speak_over(browser)
    devtools.subscribe("B" * 32, lambda _, event: events.append(event))
    event = {"method": "Target.attachedToTarget", "params": {"sessionId": SESSION, "targetInfo": OTHERS}}

    devtools.receive(json.dumps({**event, "sessionId": "B" * 32}, separators=(",", ":")).encode())
    left = {"method": "Target.detachedFromTarget", "params": {"sessionId": SESSION}, "sessionId": "B" * 32}
    devtools.receive(json.dumps(left, separators=(",", ":")).encode())

    assert [command["method"] for command in browser.commands] == [
        "Runtime.runIfWaitingForDebugger",
        "Target.detachFromTarget",
    ]
    assert events == []

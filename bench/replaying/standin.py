"""A stand-in for the peers' models: it is told the flow, finds each element in the listing it is shown, and counts.

No language model: it exists so that a peer can learn without a network, and so that nobody can say of a replay that it
asked nothing without having counted. Tokens are estimated at four characters each, without images.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from bench.replaying.flow import Flow
from replaywright.domain.common.templates import fill
from replaywright.domain.task.steps import Fill, Goto, SelectOption

_CHARACTERS_PER_TOKEN: Final = 4
_LABELS: Final = {
    "the user name field": ("textbox", "User name"),
    "the password field": ("textbox", "Password"),
    "the log in button": ("button", "Log in"),
    "the compose link": ("link", "Compose"),
    "the To field for the recipient": ("textbox", "To"),
    "the subject field": ("textbox", "Subject"),
    "the priority select": ("combobox", "Priority"),
    "the message body field": ("textbox", "Message"),
    "the send button": ("button", "Send"),
}
"""What a reader of the page takes each instruction for: role and accessible name."""
_CONTROLS: Final = {"link": "a", "button": "button"}


@dataclass(frozen=True)
class Turn:
    """One step of the flow, as a person would tell it to a tool."""

    action: str
    """`goto`, `fill`, `select` or `click`."""
    sentence: str
    value: str | None = None
    url: str = ""
    role: str = ""
    label: str = ""


def turns_of(flow: Flow) -> list[Turn]:
    """The steps of the flow's task, with its values."""
    turns = []
    for step in flow.task.steps:
        if isinstance(step, Goto):
            url = fill(step.url, flow.values)
            turns.append(Turn("goto", f"go to {url}", url=url))
            continue
        role, label = _LABELS[step.instruction]
        value: str | None
        match step:
            case Fill(value=template):
                value = fill(template, flow.values, lambda _name: flow.stage.password)
                action, sentence = "fill", f"fill {step.instruction} with %value%"
            case SelectOption(wanted=[label_template]):
                value = fill(label_template, flow.values)
                action, sentence = "select", f"choose %value% in the dropdown {step.instruction}"
            case _:
                value, action, sentence = None, "click", f"click {step.instruction}"
        turns.append(Turn(action, sentence, value, role=role, label=label))
    return turns


@dataclass(frozen=True)
class Asked:
    """What a peer has asked so far."""

    calls: int = 0
    prompt_tokens: int = 0


class NotUnderstood(Exception):
    """A request that the flow has no answer for."""


class StandIn:
    """An OpenAI-compatible server: each peer has a path of its own, `/NAME/v1/chat/completions`."""

    def __init__(self, flow: Flow) -> None:
        self._turns = turns_of(flow)
        self._asked: dict[str, Asked] = {}
        self._at: dict[str, int] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        """Serve on a free port of loopback."""
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status, answer = stand_in._answer(self.path, json.loads(body))
                told = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(told)))
                self.end_headers()
                self.wfile.write(told)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  named by the base class
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def asked(self, name: str) -> Asked:
        """What this peer has asked so far."""
        with self._lock:
            return self._asked.get(name, Asked())

    def begin(self, name: str) -> None:
        """A run of this peer begins: an agent's next question is about the first step."""
        with self._lock:
            self._at[name] = 0

    def _answer(self, path: str, request: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        name = path.split("/")[1]
        tokens = _tokens([_without_images(request["messages"]), request.get("tools"), request.get("response_format")])
        with self._lock:
            asked, at = self._asked.get(name, Asked()), self._at.get(name, 0)
            self._asked[name] = Asked(asked.calls + 1, asked.prompt_tokens + tokens)
        try:
            if name not in _DIALECTS:
                raise NotUnderstood(f"nothing is known of how {name!r} asks")
            content = json.dumps(_DIALECTS[name](self._turns, at, _text_of(request)))
        except NotUnderstood as error:  # the page may not be there yet: an agent looks again, and asks the same
            return 400, {"error": {"message": f"the stand-in: {error}", "type": "invalid_request_error"}}
        with self._lock:
            self._at[name] = at + 1
        answer = {"role": "assistant", "content": content, "refusal": None}
        usage = {"prompt_tokens": tokens, "completion_tokens": _tokens(content)}
        return 200, {
            "id": f"chatcmpl-{at}",
            "object": "chat.completion",
            "created": 0,
            "model": "stand-in",
            "choices": [{"index": 0, "message": answer, "finish_reason": "stop", "logprobs": None}],
            "usage": {**usage, "total_tokens": sum(usage.values())},
        }


def _stagehand(turns: Sequence[Turn], _at: int, text: str) -> dict[str, Any]:
    """One element for one instruction; `%value%` is filled in when the action is done."""
    turn = next((turn for turn in turns if turn.sentence in text), None)
    if turn is None:
        raise NotUnderstood("no step of the flow is in the message")
    method = {"fill": "fill", "select": "selectOptionFromDropdown", "click": "click"}[turn.action]
    return {
        "action": {
            "elementId": by_name(turn, text),
            "description": turn.label,
            "method": method,
            "arguments": [] if turn.value is None else ["%value%"],
        },
        "twoStep": False,
    }


def _hyperagent(turns: Sequence[Turn], at: int, text: str) -> dict[str, Any]:
    """The agent's next action, and at the end that it is done."""
    params: dict[str, Any]
    if at >= len(turns):
        kind, params = "complete", {"success": True, "text": "The mail was sent."}
    elif (turn := turns[at]).action == "goto":
        kind, params = "goToUrl", {"url": turn.url}
    else:
        method = {"fill": "fill", "select": "selectOptionFromDropdown", "click": "click"}[turn.action]
        arguments = [] if turn.value is None else [turn.value]
        kind = "actElement"
        params = {"instruction": turn.sentence, "elementId": by_name(turn, text), "method": method}
        params |= {"arguments": arguments, "confidence": 1}
    return {"thoughts": "", "memory": "", "action": {"type": kind, "params": params}}


def _browser_use(turns: Sequence[Turn], at: int, text: str) -> dict[str, Any]:
    """The agent's next action, and at the end that it is done."""
    action: dict[str, Any]
    if at >= len(turns):
        action = {"done": {"text": "The mail was sent.", "success": True, "files_to_display": []}}
    elif (turn := turns[at]).action == "goto":
        action = {"navigate": {"url": turn.url, "new_tab": False}}
    else:
        index = by_markup(turn, text)
        actions: dict[str, dict[str, Any]] = {
            "fill": {"input": {"index": index, "text": turn.value, "clear": True}},
            "select": {"select_dropdown": {"index": index, "text": turn.value}},
            "click": {"click": {"index": index}},
        }
        action = actions[turn.action]
    goal = turns[at].sentence if at < len(turns) else "tell that it is done"
    return {"evaluation_previous_goal": "Success", "memory": "", "next_goal": goal, "action": [action]}


_DIALECTS: Final[Mapping[str, Callable[[Sequence[Turn], int, str], dict[str, Any]]]] = {
    "stagehand": _stagehand,
    "hyperagent": _hyperagent,
    "browser-use": _browser_use,
}


def by_name(turn: Turn, text: str) -> str:
    """The id in a listing of roles and names: `[0-12] textbox: User name`.

    Raises:
        NotUnderstood: no line, or more than one, fits.
    """
    found = {
        match["id"]
        for match in re.finditer(r"^\s*\[(?P<id>\d+-\d+)\] (?P<role>[\w ,-]+?)(?:: (?P<name>.*))?$", text, re.MULTILINE)
        if (match["name"] or "").strip() == turn.label and turn.role in match["role"].replace("select", "combobox")
    }
    return _only(found, turn)


def by_markup(turn: Turn, text: str) -> int:
    """The index in a listing of tags, `[12]<input type=text />`: a field has its label above, a button its text below.

    Raises:
        NotUnderstood: no line, or more than one, fits.
    """
    label = re.escape(turn.label)
    if turn.role in _CONTROLS:
        pattern = rf"\[(\d+)\]<{_CONTROLS[turn.role]}\b[^>]*>\s*{label}\s*$"
    else:
        pattern = rf"^\s*{label}\s*\n[^\n\[]*\[(\d+)\]<(?:input|select|textarea)\b"
    return int(_only(set(re.findall(pattern, text, re.MULTILINE)), turn))


def _only(found: set[str], turn: Turn) -> str:
    if len(found) != 1:
        raise NotUnderstood(f"{turn.sentence!r} fits {len(found)} elements of the listing")
    (only,) = found
    return only


def _text_of(request: Mapping[str, Any]) -> str:
    """The longest of the messages after the first one: the page as it is now, which agents send once."""
    texts = []
    for message in request["messages"][1:]:
        content = message["content"]
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        texts.append("\n".join(part.get("text", "") for part in parts))
    return max(texts, key=len)


def _without_images(messages: Sequence[Mapping[str, Any]]) -> list[object]:
    parts = [message["content"] for message in messages]
    return [
        [part for part in content if part.get("type") != "image_url"] if isinstance(content, list) else content
        for content in parts
    ]


def _tokens(told: object) -> int:
    return -(-len(json.dumps(told)) // _CHARACTERS_PER_TOKEN)

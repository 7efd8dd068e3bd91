"""The oracle: plays the model over HTTP, in the OpenAI dialect, and knows which element is meant.

It sees what a model would see, an instruction and a listing of the page, and answers with an element's id. What is
meant it knows from a rule that was written for the step; without a rule, or with more than one element that answers to
it, it abstains.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from demo.standin.answers import answer_message, completion, following_in
from demo.standin.reading import Choice, Element, parse_listing
from replaywright.domain.common.templates import fill


@dataclass(frozen=True)
class Pick:
    """A rule: the element of the listing with all that is given."""

    role: str = ""
    name: str | None = None
    """As it is listed, letter by letter; None: any."""
    says: str = ""
    """A regular expression for what stands somewhere on the element's line."""
    nth: int = 0
    """Which of several, counted from 1; 0: there must be only one."""

    def filled(self, values: Mapping[str, str]) -> "Pick":
        """The rule with the values of today's parameters."""
        name = None if self.name is None else fill(self.name, values)
        says = fill(self.says, {key: re.escape(value) for key, value in values.items()})
        return Pick(self.role, name, says, self.nth)

    def choose(self, elements: list[Element]) -> Choice:
        """The one element that answers to the rule; none if there is no such, or more than one."""
        fitting = [element for element in elements if self._fits(element)]
        if self.nth:
            fitting = fitting[self.nth - 1 : self.nth]
        if len(fitting) != 1:
            return Choice(None, f"{len(fitting)} elements answer to {self}", 0.0)
        return Choice(fitting[0].id, f"answers to {self}", 1.0)

    def _fits(self, element: Element) -> bool:
        return (
            (not self.role or element.role in self.role.split("|"))
            and (self.name is None or element.name == self.name)
            and re.search(self.says, f"{element.name} {element.placeholder} {element.context}") is not None
        )


@dataclass
class Oracle:
    """The server, its rules of the moment, and its own count."""

    calls: int = 0
    abstained: list[str] = field(default_factory=list)
    """Why it named no element."""
    _rules: dict[str, Pick] = field(default_factory=dict)
    _users: Counter[str] = field(default_factory=Counter)

    def app(self) -> Starlette:
        """What stands at the model's address."""
        return Starlette(routes=[Route("/v1/chat/completions", self._chat, methods=["POST"])])

    def learn(self, rules: Mapping[str, Pick]) -> None:
        """Know these rules, by instruction, until they are forgotten as often as they were learned."""
        for instruction, pick in rules.items():
            if self._rules.setdefault(instruction, pick) != pick:
                raise ValueError(f"two rules for {instruction!r}: {self._rules[instruction]} and {pick}")
            self._users[instruction] += 1

    def forget(self, rules: Mapping[str, Pick]) -> None:
        """Know these rules no longer."""
        for instruction in rules:
            self._users[instruction] -= 1
            if not self._users[instruction]:
                del self._rules[instruction]

    async def _chat(self, request: Request) -> JSONResponse:
        self.calls += 1
        asked: dict[str, Any] = json.loads(await request.body())
        text = _last_words(asked)
        instruction = re.search(r"<instruction>\n(.*?)\n</instruction>", text, re.DOTALL)
        page = re.search(r"<page>\n(.*)\n</page>", text, re.DOTALL)
        if instruction is None or page is None:
            choice, following = Choice(None, "no instruction, or no page", 0.0), {}
        else:
            elements = parse_listing(page[1])
            choice = self._choice(instruction[1], elements)
            around = text[: page.start()]
            following = {number: self._choice(said, elements) for number, said in following_in(around).items()}
        if choice.element_id is None:
            self.abstained.append(choice.reason)
        return JSONResponse(completion(self.calls, asked, answer_message(asked, choice, following), 0))

    def _choice(self, instruction: str, elements: list[Element]) -> Choice:
        pick = self._rules.get(instruction)
        return Choice(None, f"no rule for {instruction!r}", 0.0) if pick is None else pick.choose(elements)


def _last_words(asked: Mapping[str, Any]) -> str:
    """The newest message of the user that has a page."""
    for message in reversed(asked["messages"]):
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content or ""}]
        text = "".join(str(part.get("text", "")) for part in parts)
        if message.get("role") == "user" and "<page>" in text:
            return text
    return ""

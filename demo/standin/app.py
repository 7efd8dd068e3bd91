"""The stand-in's HTTP server: `/v1/chat/completions`, `/v1/models`, and admin pages to count, log and misbehave."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from demo.standin.answers import (
    MODEL_NAME,
    NotUnderstoodError,
    answer_message,
    asks_for,
    asks_for_a_probe,
    choice_for,
    choices_for_following,
    completion,
    garbled,
    plan_sections,
    sections_in,
    told_message,
)
from demo.standin.goals import choice_of_skill, goal_plan_for, labels_for
from demo.standin.plans import plan_for
from demo.standin.reading import Choice

_HOLD_S = 600
"""How long a `timeout` lasts when the caller does not give up before."""
_UNKNOWN_ID = "e99999"


class Failure(BaseModel):
    """How the next `times` calls go wrong."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["rate_limit", "malformed", "unknown_id", "refusal", "timeout", "server_error", "null"]
    times: int = Field(1, ge=0)
    retry_after: float | None = Field(None, ge=0)
    """Seconds, sent as a header with `rate_limit` and `server_error`."""


def create_app(log: Path | None = None) -> Starlette:
    """The stand-in; with `log`, every request and its answer is appended there as one JSON object a line."""
    server = _StandIn(log)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", server.chat, methods=["POST"]),
            Route("/v1/models", server.models),
            Route("/__admin__/calls", server.calls),
            Route("/__admin__/fail", server.fail, methods=["POST"]),
            Route("/__admin__/reset", server.reset, methods=["POST"]),
        ]
    )


class _StandIn:
    def __init__(self, log: Path | None) -> None:
        self._log = log
        self._failures: list[Failure] = []
        self._counts: Counter[str] = Counter()

    async def chat(self, request: Request) -> Response:
        """Answer one chat request; it counts as a call whatever comes of it."""
        self._counts["calls"] += 1
        number = self._counts["calls"]
        body = await request.body()
        failure = self._failures.pop(0) if self._failures else None
        if failure is not None and failure.kind == "timeout":
            self._counts["failed"] += 1
            self._record(body, 0, None)
            await _until_the_caller_leaves(request)
            return Response(status_code=504)
        status, answer, headers = self._answer(number, body, failure)
        outcome = "failed" if failure is not None or status != 200 else "answered"
        self._counts[outcome] += 1
        for key, value in answer.get("usage", {}).items():
            self._counts[key] += value
        self._record(body, status, answer)
        return JSONResponse(answer, status_code=status, headers=headers)

    def _answer(
        self, number: int, body: bytes, failure: Failure | None
    ) -> tuple[int, dict[str, Any], Mapping[str, str]]:
        """Status, body and headers of the answer."""
        headers = {} if failure is None or failure.retry_after is None else {"retry-after": f"{failure.retry_after:g}"}
        if failure is not None and failure.kind == "rate_limit":
            return 429, _error("Rate limit reached.", "rate_limit_error", "rate_limit_exceeded"), headers
        if failure is not None and failure.kind == "server_error":
            return 500, _error("The server had an error.", "server_error", None), headers
        try:
            request = json.loads(body)
            if not isinstance(request, dict) or request.get("stream"):
                raise NotUnderstoodError("expected a JSON object that asks for no stream")
            message = _message(request, failure)
        except (json.JSONDecodeError, NotUnderstoodError) as error:
            return 400, _error(str(error), "invalid_request_error", None), {}
        return 200, completion(number, request, message, int(time.time())), {}

    async def models(self, _request: Request) -> Response:
        model = {"id": MODEL_NAME, "object": "model", "created": 0, "owned_by": "replaywright"}
        return JSONResponse({"object": "list", "data": [model]})

    async def calls(self, _request: Request) -> Response:
        """How many calls came, how they went, and the tokens of the answers."""
        names = ("calls", "answered", "failed", "prompt_tokens", "completion_tokens", "total_tokens")
        return JSONResponse({name: self._counts[name] for name in names} | {"failures_left": len(self._failures)})

    async def fail(self, request: Request) -> Response:
        """Misbehave in the next calls, after the failures already ordered; `times` 0 calls all of them off."""
        try:
            failure = Failure.model_validate_json(await request.body())
        except ValidationError as error:
            return JSONResponse({"error": error.errors(include_url=False, include_context=False)}, status_code=400)
        self._failures = [*self._failures, *[failure] * failure.times] if failure.times else []
        return JSONResponse({"failures_left": len(self._failures)})

    async def reset(self, _request: Request) -> Response:
        """Forget counts and ordered failures; the log stays."""
        self._failures.clear()
        self._counts.clear()
        return JSONResponse({})

    def _record(self, body: bytes, status: int, answer: Mapping[str, Any] | None) -> None:
        """Append to the log; `status` 0 means that the call was held and never answered."""
        if self._log is None:
            return
        try:
            request = json.loads(body)
        except json.JSONDecodeError:
            request = body.decode(errors="replace")
        line = {"time": time.time(), "request": request, "status": status, "answer": answer}
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _message(request: Mapping[str, Any], failure: Failure | None) -> dict[str, Any]:
    match None if failure is None else failure.kind:
        case "refusal":
            return {"role": "assistant", "content": None, "refusal": "I can't help with that."}
        case _ if asks_for_a_probe(request):
            return told_message(request, {"shows": [], "gave_up": "stand-in: it knows no such page"}, "shows")
        case kind if (of_sentence := _of_sentence(request)) is not None:
            told = told_message(request, *of_sentence)
            return garbled(told) if kind == "malformed" else told
        case kind if (sections := plan_sections(request)) is not None:
            return _plan_message(request, sections, kind)
        case "null":
            return answer_message(request, Choice(None, "told to abstain", 0.0))
        case "unknown_id":
            return answer_message(request, Choice(_UNKNOWN_ID, "told to invent an element", 1.0))
        case "malformed":
            return garbled(answer_message(request, choice_for(request)))
        case _:
            return answer_message(request, choice_for(request), choices_for_following(request))


def _of_sentence(request: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
    """Answer the labeller's question, or which skill a sentence means, with a field of the answer; None for others."""
    if asks_for(request, "near_misses"):
        said = sections_in(request, "goal", "languages")
        return labels_for(said["goal"], said.get("languages", "").replace(",", " ").split()), "near_misses"
    if asks_for(request, "skill"):
        return choice_of_skill(sections_in(request, "goal", "skills")), "skill"
    return None


def _plan_message(request: Mapping[str, Any], sections: Mapping[str, str], kind: str | None) -> dict[str, Any]:
    plan = goal_plan_for(sections) if asks_for(request, "complete") else plan_for(sections)
    match kind:
        case "null":
            return told_message(request, {"steps": [], "gave_up": "told to give up"}, "steps")
        case "unknown_id":
            return told_message(request, {"steps": [{"keep": 99999}], "gave_up": None}, "steps")
        case "malformed":
            return garbled(told_message(request, plan, "steps"))
        case _:
            return told_message(request, plan, "steps")


def _error(message: str, kind: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


async def _until_the_caller_leaves(request: Request) -> None:
    try:
        async with asyncio.timeout(_HOLD_S):
            while (await request.receive())["type"] != "http.disconnect":
                pass
    except TimeoutError:
        pass

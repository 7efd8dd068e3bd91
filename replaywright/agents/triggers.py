"""Runs started over plain HTTP: by programs that have the token, and by webhooks that are signed.

`POST /run/SKILL` and `GET /run` need the token, `POST /hook/SKILL` a signature after Standard Webhooks. What starts a
run carries an idempotency key, and Temporal takes each key once: a request that is repeated finds its run.
"""

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from pydantic import JsonValue
from standardwebhooks import Webhook, WebhookVerificationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from replaywright import __version__
from replaywright.agents.calls import RunSkill, RunStatus, parsed
from replaywright.agents.following import followed
from replaywright.agents.handling import order_of_call
from replaywright.agents.requests import begun
from replaywright.agents.skills import SkillTool, schema_of, skill_tools
from replaywright.cli.command import one_line
from replaywright.cli.people.inbox import waiting_in
from replaywright.cli.people.updates import decide, verdict_on
from replaywright.cli.runs.follow import Ending
from replaywright.cli.servers.connect import Backend
from replaywright.cli.servers.running import RunningBackend
from replaywright.cli.skills.skill_run import runnable_at
from replaywright.domain.run.remedies import remedy_of, shows_steps
from replaywright.domain.run.runs import Progress
from replaywright.errors import InputInvalid, PolicyBlocked, ReplaywrightError, StackFailed, StoreUnavailable
from replaywright.settings import Settings
from replaywright.site_sessions.file import code_source_of

BODY_LIMIT: Final = 256_000
"""Bytes of a request."""
HOOKS: Final = "/hook/"
CODES: Final = "/code/"
"""Beginnings of the addresses that need no token, but a signature."""
_LOOK_EVERY_S: Final = 2.0
_ASKED_WITHIN_S: Final = 20.0
"""Time in which a run may come to ask for a code that has come already."""
_KEY: Final = "Idempotency-Key"


@dataclass(frozen=True)
class Triggers:
    """The routes of one tenant."""

    settings: Settings
    running: RunningBackend
    secret: Callable[[], str] | None = None
    """Returns the secret that verifies webhooks; None: none is taken."""

    def routes(self) -> list[Route]:
        """Return the routes."""
        return [
            Route("/run/{skill}", _told(self._run), methods=["POST"]),
            Route("/run", _told(self._standing)),
            Route(HOOKS + "{skill}", _told(self._hook), methods=["POST"]),
            Route(CODES + "{source}", _told(self._code), methods=["POST"]),
            Route("/openapi.json", _told(self._description)),
        ]

    async def _run(self, request: Request) -> Response:
        key = request.headers.get(_KEY, "").strip('" ')
        if not key:
            raise InputInvalid(
                f"{_KEY}: missing; send a header with an id of this request, such as an order number: a request that "
                "is repeated with it starts nothing twice"
            )
        given = _parsed(await _body(request))
        return await self._started(request.path_params["skill"], {**given, "request_id": f"run {key}"})

    async def _hook(self, request: Request) -> Response:
        given, once = await self._verified(request)
        name = request.path_params["skill"]
        data = given["data"] if isinstance(given.get("data"), dict) else given
        here = await self.running.here()
        known = (await runnable_at(here, name)).task.parameters
        values = {field: _text(field, value) for field, value in data.items() if field in known and value is not None}
        return await self._started(name, {"values": values, "request_id": f"hook {once}"})

    async def _code(self, request: Request) -> Response:
        """Give the code in a message to the run that has waited longest for one from this source."""
        given, _ = await self._verified(request)
        name = request.path_params["source"]
        source = await asyncio.to_thread(code_source_of, self.settings.sessions, name)
        if not source.webhook:
            raise InputInvalid(f"source of codes {name!r}: it is a mailbox; declare one with webhook: true")
        texts = (given.get("data") if isinstance(given.get("data"), dict) else given) or {}
        code = next(filter(None, (source.code_in(text) for text in texts.values() if isinstance(text, str))), "")
        if not code:
            raise InputInvalid(f"source of codes {name!r}: no text of the message has a code ({source.pattern})")
        here = await self.running.here()
        run_id = await _given_to(here, name, code)
        if not run_id:
            raise HTTPException(404, f"no run waits for a code from {name!r}")
        return JSONResponse({"runId": run_id}, 200)

    async def _verified(self, request: Request) -> tuple[dict[str, Any], str]:
        """Return what a webhook says, and its id; refuse one that is not signed."""
        if self.secret is None:
            raise HTTPException(404, "no webhook is taken here: start `replaywright mcp --http` with --hooks SECRET")
        body, headers = await _body(request), dict(request.headers)
        try:
            hook = Webhook(await asyncio.to_thread(self.secret))
        except ValueError as exc:
            raise HTTPException(500, "the secret of the webhooks is not `whsec_` and Base64: set it anew") from exc
        try:
            hook.verify(body, headers)
        except (WebhookVerificationError, ValueError) as exc:
            raise HTTPException(401, f"the webhook's signature does not verify: {exc}") from exc
        return _parsed(body), headers["webhook-id"]

    async def _started(self, skill: str, given: dict[str, Any]) -> Response:
        call = parsed(RunSkill, skill, {"wait_s": 0, **given})
        here = await self.running.here()
        run_id, is_new = await begun(here, skill, call, partial(order_of_call, here, skill, call))
        return await self._answer(run_id, call.wait_s, is_new=is_new)

    async def _standing(self, request: Request) -> Response:
        run_id, wait_s = request.query_params.get("id", ""), request.query_params.get("wait_s", "0")
        if not run_id:
            raise InputInvalid("id: missing from the address: /run?id=RUN")
        call = parsed(RunStatus, "the address", {"run_id": run_id, "wait_s": wait_s})
        return await self._answer(call.run_id, call.wait_s)

    async def _answer(self, run_id: str, wait_s: float, *, is_new: bool | None = None) -> Response:
        found = await followed(await self.running.here(), run_id, wait_s, _no_report)
        is_over = isinstance(found, Ending) and found.status != "waiting"
        headers = {"Location": f"/run?{urlencode({'id': run_id})}"}
        if is_new is False:
            headers["Idempotency-Replayed"] = "true"
        return JSONResponse(standing_of(run_id, found), 200 if is_over or is_new is None else 202, headers)

    async def _description(self, _request: Request) -> Response:
        return JSONResponse(description_of(await skill_tools(self.settings), has_hooks=self.secret is not None))


async def _given_to(here: Backend, source: str, code: str) -> str:
    """Answer the question of the run that waits longest for a code from the source; return its id, "" for none."""
    deadline = time.monotonic() + _ASKED_WITHIN_S
    while True:
        waiting = [one for one in await waiting_in(here) if one.question.source == source]
        for one in waiting:
            verdict = verdict_on(one.run_id, one.question, "answer", code, who=f"webhook {source}", why="")
            try:
                await decide(here, one.run_id, verdict)
            except InputInvalid:  # somebody has answered meanwhile
                continue
            return one.run_id
        if time.monotonic() >= deadline:
            return ""
        await asyncio.sleep(_LOOK_EVERY_S)


def standing_of(run_id: str, now: Ending | Progress | None) -> dict[str, JsonValue]:
    """Tell programs how a run stands; see `following.followed`."""
    told: dict[str, JsonValue] = {"runId": run_id}
    match now:
        case None:
            return told | {"status": "silent", "message": "no worker answers: `replaywright up` starts one"}
        case Progress():
            return told | {"status": now.status, "step": now.step, "steps": now.steps}
        case Ending(status="waiting", progress=progress):
            question = None if progress is None else progress.question
            asked = None if question is None else question.model_dump(mode="json", by_alias=True, exclude={"key"})
            return told | {"status": "waiting", "question": asked}
        case Ending():
            result = now.result
            told |= {"status": now.status, "extracted": dict(result.extracted), "warnings": list(result.warnings)}
            told["files"] = [{"name": file.name, "size": file.size, "sha256": file.sha256} for file in result.files]
            if not result.succeeded:
                told |= {
                    "failedStep": None if result.failed_step is None else result.failed_step + 1,
                    "reason": result.rule or result.reason,
                    "message": result.message,
                    "commits": [str(line) for line in result.commits],
                    "remedy": remedy_of(result.reason, result.message, shows_steps(run_id)),
                }
            return told


def description_of(tools: list[SkillTool], *, has_hooks: bool) -> dict[str, JsonValue]:
    """Return the OpenAPI description of what can be started."""
    paths: dict[str, JsonValue] = {"/run": {"get": _reading()}}
    for tool in tools:
        paths[f"/run/{tool.skill.name}"] = {"post": _starting(tool)}
        if has_hooks:
            paths[f"{HOOKS}{tool.skill.name}"] = {"post": _hooking(tool)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Replaywright", "version": __version__, "description": "Each skill as a request."},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


_RUN_ANSWERS: Final[dict[str, JsonValue]] = {
    "200": {"description": "The run has ended: `status` tells how."},
    "202": {"description": "The run goes on, or waits for a person; `Location` tells how it stands."},
    "400": {"description": "The request is wrong, and nothing was started."},
    "401": {"description": "The token or the signature is missing or wrong."},
    "403": {"description": "A rule of the policy forbids it, and nothing was started."},
    "404": {"description": "There is no such skill or run."},
    "503": {"description": "Temporal or Redis does not answer. Repeat the request with the same key."},
}


def _starting(tool: SkillTool) -> dict[str, JsonValue]:
    body = schema_of(tool.skill)
    properties, required = dict(_mapping(body["properties"])), body.get("required", [])
    properties.pop("request_id")
    body = {**body, "properties": properties, "required": [name for name in _list(required) if name != "request_id"]}
    key: JsonValue = {"name": _KEY, "in": "header", "required": True, "schema": {"type": "string", "maxLength": 190}}
    return {
        "operationId": f"run_{tool.skill.name}",
        "summary": tool.skill.label or tool.skill.name,
        "description": tool.skill.description or tool.skill.task.goal,
        "parameters": [key],
        "requestBody": {"content": {"application/json": {"schema": body}}},
        "responses": _RUN_ANSWERS,
    }


def _hooking(tool: SkillTool) -> dict[str, JsonValue]:
    names = ", ".join(tool.skill.task.parameters) or "none"
    return {
        "operationId": f"hook_{tool.skill.name}",
        "summary": f"{tool.skill.label or tool.skill.name}, by a webhook",
        "description": f"Signed after Standard Webhooks. Fields of `data`, or of the body, are the values: {names}.",
        "security": [],
        "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
        "responses": _RUN_ANSWERS,
    }


def _reading() -> dict[str, JsonValue]:
    parameters: list[JsonValue] = [
        {"name": "id", "in": "query", "required": True, "schema": {"type": "string"}},
        {"name": "wait_s", "in": "query", "schema": {"type": "number", "default": 0}},
    ]
    answers = {code: _RUN_ANSWERS[code] for code in ("200", "401", "404", "503")}
    return {
        "operationId": "run_status",
        "summary": "How a run stands",
        "parameters": parameters,
        "responses": answers,
    }


def _told(handler: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """Answer errors as `application/problem+json`, with what to do."""

    async def answered(request: Request) -> Response:
        try:
            answer: Response = await handler(request)
        except HTTPException as exc:
            return _problem(exc.status_code, exc.detail)
        except ReplaywrightError as exc:
            return _problem(status_of(exc), one_line(exc))
        return answer

    return answered


def status_of(error: ReplaywrightError) -> int:
    """Return the status of HTTP that tells a caller of this error."""
    match error:
        case PolicyBlocked():
            return 403
        case InputInvalid() if str(error).startswith("there is no"):
            return 404
        case InputInvalid():
            return 400
        case StackFailed() | StoreUnavailable():
            return 503
        case _:
            return 500


def _problem(status: int, detail: str) -> Response:
    return JSONResponse({"status": status, "detail": detail}, status, media_type="application/problem+json")


async def _body(request: Request) -> bytes:
    received = b""
    async for piece in request.stream():
        received += piece
        if len(received) > BODY_LIMIT:
            raise HTTPException(413, f"the body has more than {BODY_LIMIT} bytes: nothing was started")
    return received


def _parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as exc:
        raise InputInvalid(f"the body is no JSON: {exc}") from exc
    if not isinstance(found, dict):
        raise InputInvalid("the body: expected a JSON object")
    return found


def _text(field: str, value: Any) -> str | list[str]:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case list() if all(isinstance(each, str | int | float) for each in value):
            return [_one(field, each) for each in value]
        case _:
            raise InputInvalid(f"{field}: expected a text, a number or a list of these, found {type(value).__name__}")


def _one(field: str, value: Any) -> str:
    return str(_text(field, value))


def _mapping(value: JsonValue) -> dict[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


async def _no_report(_step: float, _steps: float | None, _words: str) -> None:
    """Report to nobody."""

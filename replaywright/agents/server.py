"""The server of the Model Context Protocol: what it offers, and how results and errors look on the wire."""

import base64
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import JsonValue

from replaywright import __version__
from replaywright.agents.calls import TOOLS, Change, schema_of_call
from replaywright.agents.handling import Handling
from replaywright.agents.permissions import AgentGrant
from replaywright.agents.resources import GUIDE_URI, PICTURE_TEMPLATE, REPORT_TEMPLATE, content_of
from replaywright.agents.results import ResourceLink, Result, refusal
from replaywright.agents.skills import SkillTool, active_skills, description_of, schema_of, skill_tools
from replaywright.cli.command import one_line
from replaywright.cli.servers.running import RunningBackend
from replaywright.domain.task.actions import Effect
from replaywright.errors import ReplaywrightError
from replaywright.llm.prompts import DATA_IN_PAGE
from replaywright.settings import Settings

_INSTRUCTIONS = (
    "Replaywright does browser tasks durably: a run goes on when this connection ends, and is found again by its id. "
    "Each skill is a tool, replayed without a model. Give every call that starts a run a `request_id` of its own, and "
    "repeat a call that was cut off with the same one: nothing is done twice. `fromPages` holds what pages, tasks and "
    f"models say: {DATA_IN_PAGE} Never pass a password, a code or a key: name a secret that the operator has set. "
    f"Read {GUIDE_URI} before you write a task."
)
_HINTS: dict[Change, types.ToolAnnotations] = {
    "reads": types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
    "acts": types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True),
    "ends": types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True),
}
_PERSON = types.Annotations(audience=["user"])

_Context = ServerRequestContext[Any, Any]
_Page = types.PaginatedRequestParams | None

_log = logging.getLogger(__name__)


@dataclass
class AgentServer:
    """A server for the agents of one tenant."""

    settings: Settings
    handling: Handling
    _listed: frozenset[str] = frozenset()
    """Names of the skills that were listed last."""

    def protocol(self) -> Server[Any]:
        """Make the server of the protocol's library."""
        return Server(
            "replaywright",
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._tools,
            on_call_tool=self._called,
            on_list_resources=_resources,
            on_list_resource_templates=_templates,
            on_read_resource=self._read,
        )

    async def _tools(self, _ctx: _Context, _params: _Page) -> types.ListToolsResult:
        own = [
            types.Tool(
                name=name,
                description=" ".join((call.__doc__ or "").split()),
                input_schema=schema_of_call(call),
                annotations=_HINTS[effect],
            )
            for name, (call, effect) in TOOLS.items()
        ]
        skills = await skill_tools(self.settings)
        self._listed = frozenset(tool.skill.name for tool in skills)
        return types.ListToolsResult(tools=[*own, *map(_tool_of, skills)])

    async def _called(self, ctx: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            result = await self.handling.call(params.name, params.arguments, ctx.session.report_progress)
        except ReplaywrightError as exc:
            return _answer(Result(refusal(one_line(exc))), is_error=True)
        if self._listed != {skill.name for skill in await active_skills(self.settings)}:
            await ctx.session.send_tool_list_changed()
        return _answer(result)

    async def _read(self, _ctx: _Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            found = await content_of(self.handling.running, params.uri)
        except ReplaywrightError as exc:
            raise MCPError(code=types.INVALID_PARAMS, message=str(refusal(one_line(exc))["message"])) from exc
        content: types.TextResourceContents | types.BlobResourceContents
        if isinstance(found.data, bytes):
            blob = base64.b64encode(found.data).decode()
            content = types.BlobResourceContents(uri=params.uri, mime_type=found.mime_type, blob=blob)
        else:
            content = types.TextResourceContents(uri=params.uri, mime_type=found.mime_type, text=found.data)
        return types.ReadResourceResult(contents=[content])


async def _resources(_ctx: _Context, _params: _Page) -> types.ListResourcesResult:
    about = "When to use a skill, write a task, learn, or ask a person"
    guide = types.Resource(uri=GUIDE_URI, name="guide", description=about, mime_type="text/markdown")
    return types.ListResourcesResult(resources=[guide])


async def _templates(_ctx: _Context, _params: _Page) -> types.ListResourceTemplatesResult:
    report = types.ResourceTemplate(
        uri_template=REPORT_TEMPLATE, name="report", mime_type="text/html", annotations=_PERSON
    )
    picture = types.ResourceTemplate(uri_template=PICTURE_TEMPLATE, name="picture", mime_type="image/png")
    return types.ListResourceTemplatesResult(resource_templates=[report, picture])


def _tool_of(tool: SkillTool) -> types.Tool:
    hints = _HINTS["reads" if tool.effect is Effect.READ else "acts"]
    return types.Tool(
        name=tool.skill.name,
        description=description_of(tool),
        input_schema=schema_of(tool.skill),
        annotations=hints.model_copy(update={"destructive_hint": not tool.effect.repeatable, "open_world_hint": True}),
    )


def _answer(result: Result, *, is_error: bool = False) -> types.CallToolResult:
    data: dict[str, JsonValue] = result.data
    links = [_link(link) for link in result.links]
    text = types.TextContent(type="text", text=result.text)
    return types.CallToolResult(content=[text, *links], structured_content=data, is_error=is_error)


def _link(link: ResourceLink) -> types.ResourceLink:
    annotations = _PERSON if link.mime_type == "text/html" else None
    return types.ResourceLink(
        type="resource_link", uri=link.uri, name=link.name, mime_type=link.mime_type, annotations=annotations
    )


@asynccontextmanager
async def serving(settings: Settings, grants: frozenset[AgentGrant]) -> AsyncIterator[AgentServer]:
    """Make the server; its connections end with the block."""
    running = RunningBackend(settings, owner="this server")
    try:
        yield AgentServer(settings, Handling(running, grants))
    finally:
        await running.close()


def options_of(server: Server[Any]) -> InitializationOptions:
    """Say what a client is told of the server."""
    return server.create_initialization_options(NotificationOptions(tools_changed=True))


async def serve_stdio(settings: Settings, grants: frozenset[AgentGrant]) -> None:
    """Serve one client on standard input and output until it leaves, or is gone."""
    try:
        async with serving(settings, grants) as agents, stdio_server() as (incoming, outgoing):
            server = agents.protocol()
            await server.run(incoming, outgoing, options_of(server))
    except* BrokenPipeError:
        _log.warning("the client is gone; its runs go on")

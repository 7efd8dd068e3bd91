"""The model client: one question, its cost, and its errors.

Requests are not repeated here, neither by us nor by the provider's SDK: Temporal repeats the activity, by the kind of
the error. The one exception is an answer that cannot be used: the model is told so once, in the same conversation.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from pydantic_ai import Agent, BinaryContent, ModelRetry, ModelSettings, RunContext, ToolOutput
from pydantic_ai.exceptions import (
    AgentRunError,
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelServerError,
    ModelUnavailableError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.providers import infer_provider_class
from pydantic_ai.usage import RunUsage

from replaywright.domain.run.scope import Usage
from replaywright.errors import ModelFailed, ModelMisconfigured, ModelRateLimited, ModelRefused, ModelUnavailable
from replaywright.llm import prompts
from replaywright.llm.inquiry import Answer, Inquiry, ModelAccess
from replaywright.observing import ModelRequested, observer

_MESSAGE_LIMIT = 300
"""Characters of a provider's own message that are passed on."""

_TEMPORARY = frozenset({408, 409, 425})
"""Client errors that say "not now" instead of "not so"."""

_UNAVAILABLE = (ModelConnectionError, ModelRequestTimeout, ModelUnavailableError, ModelServerError)

_FINAL = (ModelHTTPError, ModelRequestRejectedError, ModelQuotaExceededError)

_KEY_VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "openai-chat": "OPENAI_API_KEY",
    "openai-responses": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
}


class ModelClient:
    """Asks the model of one role."""

    def __init__(self, access: ModelAccess) -> None:
        self._access = access
        self._model: Model | None = None

    async def ask(self, inquiry: Inquiry[Answer]) -> tuple[Answer, Usage]:
        """Return the model's answer, and what it cost; see `ModelRole.ask`."""
        access, agent = self._access, _agent_of(inquiry)
        counted = _Counted(await self._ready(), access.role, self._failure)
        picture = [] if inquiry.picture is None else [BinaryContent(inquiry.picture, media_type="image/png")]
        tokens = RunUsage()
        response: ModelResponse | None = None
        usage = Usage()
        begun, ok = time.perf_counter(), False
        try:
            run = await agent.run(
                [inquiry.message, *picture] if picture else inquiry.message,
                model=counted,
                model_settings=self._settings(counted.wrapped),
                usage=tokens,
            )
            response = run.response
            ok = True
        except (AgentRunError, UserError) as exc:
            raise self._failure(exc) from exc
        finally:
            usage = Usage(
                calls=counted.requests,
                input_tokens=tokens.input_tokens,
                output_tokens=tokens.output_tokens,
                model=(None if response is None else response.model_name) or counted.model_name,
                cost_usd=0.0 if access.price is None else access.price.of(tokens.input_tokens, tokens.output_tokens),
                priced=0 if access.price is None else counted.requests,
                prompts=prompts.VERSION,
            )
            observer().model_asked(access.role, access.model, usage, time.perf_counter() - begun, ok=ok)
        return run.output, usage

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._model is not None:
            # Entering and leaving is how pydantic-ai closes the HTTP client that a provider owns.
            async with self._model:
                pass
            self._model = None

    async def _ready(self) -> Model:
        if self._model is None:
            access = self._access
            try:
                # In a thread: importing a provider's SDK would hold up the heartbeats of everything else here.
                self._model = await asyncio.to_thread(_make, access.model, access.base_url, access.api_key)
            except (UserError, ImportError) as exc:
                raise ModelMisconfigured(self._what_to_set(str(exc))) from exc
        return self._model

    def _settings(self, model: Model) -> ModelSettings:
        settings = ModelSettings(timeout=self._access.timeout_s, request_timeout=self._access.timeout_s, max_retries=0)
        profile: dict[str, Any] = {**model.profile}
        # Reasoning models refuse a temperature; pydantic-ai would drop it with a warning on every request.
        if not profile.get("openai_supports_reasoning") and not profile.get("anthropic_disallows_sampling_settings"):
            settings["temperature"] = 0.0
        return settings

    def _failure(self, exc: AgentRunError | UserError) -> ModelFailed:
        """Our error for one of pydantic-ai's."""
        said = str(exc)[:_MESSAGE_LIMIT]
        if isinstance(exc, ModelRateLimitError):
            wait = exc.retry_after if exc.retry_after is not None else _fraction(exc)
            return ModelRateLimited(f"{self._access.model!r} asks to wait{self._at()}: {said}", retry_after_s=wait)
        if isinstance(exc, _UNAVAILABLE) or (isinstance(exc, ModelHTTPError) and exc.status_code in _TEMPORARY):
            return ModelUnavailable(f"{self._access.model!r} does not answer{self._at()}: {said}")
        if isinstance(exc, ContentFilterError):
            return ModelRefused(f"{self._access.model!r} declined: {said}")
        if isinstance(exc, UnexpectedModelBehavior):
            return ModelRefused(f"{self._access.model!r} gave no usable answer: {said}")
        if isinstance(exc, _FINAL) or not isinstance(exc, ModelAPIError):
            return ModelMisconfigured(self._what_to_set(said))
        # What is left came with no status and no reason: a gateway's page instead of JSON, for example.
        return ModelUnavailable(f"{self._access.model!r} sent no answer{self._at()}: {said}")

    def _what_to_set(self, said: str) -> str:
        if not self._access.model:
            return f"no model is configured; set {self._access.setting}, for example openai:gpt-5-mini"
        variables = [self._access.setting]
        if self._access.base_url:
            variables.append(f"{self._access.setting}_BASE_URL")
        if key := _KEY_VARIABLES.get(self._access.model.partition(":")[0]):
            variables.append(key)
        return f"{self._access.model!r} cannot be used{self._at()}; check {', '.join(variables)}: {said}"

    def _at(self) -> str:
        return f" at {self._access.base_url}" if self._access.base_url else ""


def _agent_of(inquiry: Inquiry[Answer]) -> Agent[object, Answer]:
    output = ToolOutput(inquiry.answer, strict=False) if inquiry.is_loose else inquiry.answer
    agent: Agent[object, Answer] = Agent(output_type=output, instructions=inquiry.prompts, retries=1)

    @agent.output_validator
    def _must_be_usable(ctx: RunContext[object], answer: Answer) -> Answer:
        if correction := inquiry.correction(answer, ctx.retry >= ctx.max_retries):
            raise ModelRetry(correction)
        return answer

    return agent


def _make(name: str, base_url: str | None, api_key: str | None) -> Model:
    if not name:
        raise UserError("no model is configured")
    if base_url is None:
        return infer_model(name)
    provider, _, rest = name.partition(":")
    # A provider's SDK takes one to two seconds to import; a worker that only replays has no use for it.
    if provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
        from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

        return AnthropicModel(rest, provider=AnthropicProvider(base_url=base_url, api_key=api_key))
    try:
        infer_provider_class(provider)
    except (ValueError, ImportError):
        rest = name  # a local server's own name, such as `llama3:8b`
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    return OpenAIChatModel(rest or name, provider=OpenAIProvider(base_url=base_url, api_key=api_key))


def _fraction(exc: ModelRateLimitError) -> float | None:
    """Fractions of a second in `Retry-After`: not in RFC 9110, but sent by gateways; pydantic-ai reads integers."""
    try:
        wait = float((getattr(exc, "headers", None) or {}).get("retry-after", ""))
    except ValueError:
        return None
    return wait if 0 <= wait < float("inf") else None


class _Counted(WrapperModel):
    """Counts the HTTP requests of one question, and tells of each: pydantic-ai's own count leaves out what failed.

    Its own instrumentation was not taken: without contents it still sends the tools' definitions and the messages of
    exceptions, which hold texts of pages.
    """

    def __init__(self, wrapped: Model, role: str, failure: Callable[[AgentRunError | UserError], ModelFailed]) -> None:
        super().__init__(wrapped)
        self._role = role
        self._failure = failure
        self.requests = 0

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        self.requests += 1
        begun_ns, begun = time.time_ns(), time.perf_counter()
        response: ModelResponse | None = None
        error = "cancelled"
        try:
            response = await super().request(messages, model_settings, model_request_parameters)
            error = ""
        except (AgentRunError, UserError) as exc:
            error = type(self._failure(exc)).__name__
            raise
        finally:
            told = self._told(begun_ns, time.perf_counter() - begun, error, model_settings)
            observer().model_requested(told if response is None else _answered(told, response))
        return response

    def _told(self, begun_ns: int, seconds: float, error: str, settings: ModelSettings | None) -> ModelRequested:
        server = urlsplit(self.wrapped.base_url or "")
        return ModelRequested(
            role=self._role,
            provider=self.wrapped.system,
            model=self.wrapped.model_name,
            begun_ns=begun_ns,
            seconds=seconds,
            host=server.hostname or "",
            port=server.port or 0,
            temperature=(settings or {}).get("temperature"),
            error=error,
        )


def _answered(told: ModelRequested, response: ModelResponse) -> ModelRequested:
    return replace(
        told,
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        answered_by=response.model_name or "",
        response_id=response.provider_response_id or "",
        finish_reason=response.finish_reason or "",
    )

"""Requests to models in OpenTelemetry's conventions for generative AI: spans and metrics.

The names are those of the installed conventions. Neither prompts nor answers, nor the messages of a provider's errors,
are among them: they hold texts of pages.
"""

from collections.abc import Iterator

from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names
from opentelemetry.semconv.attributes.error_attributes import ERROR_TYPE
from opentelemetry.semconv.attributes.server_attributes import SERVER_ADDRESS, SERVER_PORT

from replaywright.observing import ModelRequested
from replaywright.telemetry import catalogue
from replaywright.telemetry.catalogue import PREFIX
from replaywright.telemetry.measuring import Measured, Value

_Provider = names.GenAiProviderNameValues
_PROVIDERS = {
    "azure": _Provider.AZURE_AI_OPENAI,
    "bedrock": _Provider.AWS_BEDROCK,
    "google": _Provider.GCP_GEN_AI,
    "google-cloud": _Provider.GCP_VERTEX_AI,
    "google-gla": _Provider.GCP_GEMINI,
    "google-vertex": _Provider.GCP_VERTEX_AI,
    "grok": _Provider.X_AI,
    "mistral": _Provider.MISTRAL_AI,
    "xai": _Provider.X_AI,
}
"""The model library's names of providers → those of the conventions, where they differ."""


def provider_name(system: str) -> str:
    """Return the conventions' name of a provider; one that they do not know keeps its own."""
    known = _PROVIDERS.get(system)
    return system if known is None else known.value


def span_name(request: ModelRequested) -> str:
    """Return `chat` and the model, as the conventions want it."""
    return f"{catalogue.CHAT} {request.model}"


def span_attributes(request: ModelRequested) -> dict[str, Value]:
    """Return the attributes of the span of a request; those that are not known are left out."""
    told: dict[str, Value] = {
        names.GEN_AI_OPERATION_NAME: catalogue.CHAT,
        names.GEN_AI_PROVIDER_NAME: provider_name(request.provider),
        names.GEN_AI_REQUEST_MODEL: request.model,
        names.GEN_AI_RESPONSE_MODEL: request.answered_by,
        names.GEN_AI_RESPONSE_ID: request.response_id,
        names.GEN_AI_RESPONSE_FINISH_REASONS: (request.finish_reason,) if request.finish_reason else (),
        SERVER_ADDRESS: request.host,
        SERVER_PORT: request.port,
        f"{PREFIX}model.role": request.role,
    }
    if request.temperature is not None:
        told[names.GEN_AI_REQUEST_TEMPERATURE] = request.temperature
    if not request.error:
        told[names.GEN_AI_USAGE_INPUT_TOKENS] = request.input_tokens
        told[names.GEN_AI_USAGE_OUTPUT_TOKENS] = request.output_tokens
    return {name: value for name, value in told.items() if value not in ("", 0, ()) or name in _ZERO_IS_SAID}


_ZERO_IS_SAID = (names.GEN_AI_USAGE_INPUT_TOKENS, names.GEN_AI_USAGE_OUTPUT_TOKENS, names.GEN_AI_REQUEST_TEMPERATURE)


def measured_request(request: ModelRequested) -> Iterator[Measured]:
    """Yield the measurements of a request."""
    labels = {
        names.GEN_AI_OPERATION_NAME: catalogue.CHAT,
        names.GEN_AI_PROVIDER_NAME: provider_name(request.provider),
        names.GEN_AI_REQUEST_MODEL: request.model,
    }
    yield Measured(catalogue.GEN_AI_DURATION, request.seconds, {**labels, ERROR_TYPE: request.error})
    if not request.error:
        for kind, tokens in (("input", request.input_tokens), ("output", request.output_tokens)):
            yield Measured(catalogue.GEN_AI_TOKENS, tokens, {**labels, names.GEN_AI_TOKEN_TYPE: kind})

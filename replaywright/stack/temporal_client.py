"""Clients of Temporal, with our payloads, over TLS if that is asked for; and what their namespace knows."""

from functools import cache
from typing import TYPE_CHECKING

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, Plugin
from temporalio.envconfig import ClientConfigProfile
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError, TLSConfig

from replaywright.errors import SettingsInvalid
from replaywright.sealing.codec import converter_of
from replaywright.settings import Settings
from replaywright.stack.keyring import codec_keys_of

if TYPE_CHECKING:
    from replaywright.telemetry.provider import Telemetry


_NAMES = {
    IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD: "Keyword",
    IndexedValueType.INDEXED_VALUE_TYPE_INT: "Int",
}
"""Names of the types that our attributes have."""


@cache
def quiet_runtime() -> Runtime:
    """Return the SDK's runtime of commands: it writes nothing of its own beside what they say."""
    return Runtime(telemetry=TelemetryConfig(logging=None))


async def connect_client(
    settings: Settings,
    plugins: tuple[Plugin, ...] = (),
    telemetry: "Telemetry | None" = None,
    runtime: Runtime | None = None,
) -> Client:
    """Connect to the Temporal in the settings; with `telemetry` client and workers are measured.

    Without a `runtime` it is that of the telemetry, else the SDK's own, which logs.

    Raises:
        SettingsInvalid: keys or certificates cannot be read.
        RuntimeError: nobody answers, or not over TLS as asked for.
    """
    tls, api_key = security_of(settings)
    return await Client.connect(
        settings.temporal_address or "localhost:7233",
        namespace=settings.temporal_namespace,
        data_converter=converter_of(codec_keys_of(settings)),
        tls=tls,
        api_key=api_key,
        plugins=plugins,
        interceptors=() if telemetry is None else (telemetry.interceptor,),
        runtime=runtime if telemetry is None or telemetry.temporal is None else telemetry.temporal.runtime,
    )


async def why_temporal_fails(settings: Settings) -> str:
    """Return why a client cannot use this server; empty when it can."""
    try:
        client = await connect_client(settings)
        request = DescribeNamespaceRequest(namespace=settings.temporal_namespace)
        await client.workflow_service.describe_namespace(request)
    except RPCError as exc:
        return f"{exc.status.name.lower()}: {exc.message}"
    except (RuntimeError, ValueError, SettingsInvalid) as exc:  # what the SDK raises when it cannot connect
        return str(exc)
    return ""


def security_of(settings: Settings) -> tuple[bool | TLSConfig, str | None]:
    """Return TLS and API key of the server, from Temporal's own variables and configuration file.

    Raises:
        SettingsInvalid: what they name cannot be read.
    """
    if settings.temporal_tls is False:
        return False, None
    try:
        profile = ClientConfigProfile.load()
        given = profile.tls.to_connect_tls_config() if profile.tls is not None else False
    except (RuntimeError, ValueError, OSError) as exc:
        raise SettingsInvalid(
            f"TLS for Temporal: {exc}; see TEMPORAL_TLS_SERVER_CA_CERT_PATH, TEMPORAL_TLS_CLIENT_CERT_PATH and "
            "TEMPORAL_TLS_CLIENT_KEY_PATH"
        ) from exc
    disabled = profile.tls is not None and profile.tls.disabled
    wanted = bool(settings.temporal_tls or (profile.api_key and not disabled))
    return given or wanted, profile.api_key


async def known_attributes(client: Client) -> dict[str, str] | None:
    """Return types by name, "" for a type that none of ours has; None where a (hosted) server does not say."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    try:
        answer = await client.operator_service.list_search_attributes(request)
    except RPCError:
        return None
    return {name: _NAMES.get(kind, "") for name, kind in answer.custom_attributes.items()}

"""Surroundings of child processes: variables by an allow-list for each purpose, and no core files.

`up` may have every secret of its user in its environment. Temporal, Redis, keepers and Chromium get none of them; a
worker gets the secrets that its role needs; commands of the operator get what `REPLAYWRIGHT_COMMAND_VARIABLES` names.
"""

import os
import resource
from collections.abc import Iterator, Mapping

from replaywright.domain.common.templates import SECRET_PREFIX

COMMAND_VARIABLES = "REPLAYWRIGHT_COMMAND_VARIABLES"
"""Names of variables, separated by commas, for commands of secrets and notices."""

_PLAIN = frozenset(
    {
        "PATH",
        "HOME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "USER",
        "LOGNAME",
        "SHELL",
        "TERM",
        "VIRTUAL_ENV",
        "LD_LIBRARY_PATH",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
    }
)
_PLAIN_PREFIXES = ("LC_", "PYTHON")
_BROWSER = frozenset(
    {
        "DISPLAY",
        "XAUTHORITY",
        "WAYLAND_DISPLAY",
        "XDG_RUNTIME_DIR",
        "DBUS_SESSION_BUS_ADDRESS",
        "FONTCONFIG_PATH",
        "FONTCONFIG_FILE",
    }
)
_WORKER = frozenset({"NO_PROXY", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "MALLOC_ARENA_MAX"})
_WORKER_PREFIXES = ("REPLAYWRIGHT_", "TEMPORAL_", "OTEL_", "XDG_", "PLAYWRIGHT_")
_SECRET_ROLES = ("all", "browser")
_MODEL_ROLES = ("all", "model")
_MODEL_VARIABLES = tuple(f"REPLAYWRIGHT_{kind}MODEL" for kind in ("", "PLANNER_", "LABELLER_"))
_PROVIDERS: Mapping[str, tuple[str, ...]] = {
    "bedrock": ("AWS_",),
    "azure": ("AZURE_", "OPENAI_API_VERSION"),
    "cohere": ("CO_",),
    "google": ("GOOGLE_", "GEMINI_"),
    "huggingface": ("HF_",),
    "": ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_"),
}
"""Prefixes of the variables that a provider's library reads, where they are not the provider's own name; the empty
name is that of a model without a provider, which pydantic-ai tells by the model's name."""


def for_server(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variables for Temporal, Redis and every other program that needs no setting and no secret."""
    return {name: value for name, value in environ.items() if name in _PLAIN or name.startswith(_PLAIN_PREFIXES)}


def for_browser(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variables for a keeper, its Chromium and the driver of Playwright: those of a server, and the display."""
    return for_server(environ) | {name: environ[name] for name in _BROWSER if name in environ}


def for_worker(role: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variables for a worker of this role.

    Values of secrets are for `browser`, keys of the configured models' providers for `model`, both for `all`; a worker
    for `workflow` gets neither.
    """
    kept = for_browser(environ)
    allowed = (*_WORKER_PREFIXES, *(_provider_prefixes(environ) if role in _MODEL_ROLES else ()))
    for name, value in environ.items():
        if name.startswith(SECRET_PREFIX):
            is_allowed = role in _SECRET_ROLES
        else:
            is_allowed = name.startswith(allowed) or name.upper() in _WORKER
        if is_allowed:
            kept[name] = value
    if role in _SECRET_ROLES:
        kept |= _named(environ)
    return kept


def for_command(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return variables for commands of secrets and notices: a server's, and those that the operator names."""
    return for_server(environ) | _named(environ)


def write_no_core_files() -> None:
    """Let the kernel write no core file of this process and its children: it would hold secrets.

    A limit of 1 and not of 0: at 0 the kernel still hands the memory to a program that collects core dumps.
    """
    _, highest = resource.getrlimit(resource.RLIMIT_CORE)
    limit = min(1, highest) if highest >= 0 else 1
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))


def _named(environ: Mapping[str, str]) -> dict[str, str]:
    names = (name.strip() for name in environ.get(COMMAND_VARIABLES, "").split(","))
    return {name: environ[name] for name in names if name in environ}


def _provider_prefixes(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield prefixes of the variables that the libraries of the configured models' providers read."""
    for variable in _MODEL_VARIABLES:
        if not (model := environ.get(variable, "")):
            continue
        if environ.get(f"{variable}_BASE_URL"):
            yield "OPENAI_"
        provider = model.partition(":")[0] if ":" in model else ""
        family = provider.partition("-")[0].partition("/")[0]
        yield from _PROVIDERS.get(family, (f"{family.upper()}_",))

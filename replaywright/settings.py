"""Settings of a process, read from environment variables that begin with `REPLAYWRIGHT_`.

Only composition roots read them (import-linter keeps it so); everything below receives values. Secrets are not
settings: a step names `{{secret:NAME}}`, and the worker reads `REPLAYWRIGHT_SECRET_NAME` at the last moment. Keys of
model providers keep the names that the providers gave them (`OPENAI_API_KEY`, …). The value of any setting may also be
in the file that its variable with `_FILE` behind it names.
"""

import difflib
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    AliasChoices,
    BeforeValidator,
    Field,
    PlainSerializer,
    StringConstraints,
    ValidationError,
    model_validator,
)
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from replaywright.domain.secrets.starts import UnsignedStarts
from replaywright.domain.task.actions import Effect
from replaywright.domain.task.budgets import Price
from replaywright.errors import SettingsInvalid
from replaywright.home import default_home
from replaywright.telemetry.options import parse_address
from replaywright.value_files import SUFFIX, values_in_files

REASONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "Servers": (
        "Addresses and names of the installation.",
        (
            *("temporal_address", "temporal_namespace", "temporal_tls", "temporal_ui_url", "redis_url", "home"),
            *("task_queue", "tenant", "build_id", "browser_endpoint", "browser_proxy_host"),
        ),
    ),
    "Keys and trust": (
        "The operator's keys, and whom to trust.",
        ("signing_keys", "unsigned", "unsigned_starts", "codec_keys", "codec_token", "artifact_keys"),
    ),
    "Models": (
        "Models cost money and see pages, so the operator chooses them.",
        (
            *("model", "model_base_url", "model_timeout_s", "model_price"),
            *("planner_model", "planner_model_base_url", "planner_model_price", "planner_pictures"),
            *("labeller_model", "labeller_model_base_url"),
            *("labeller_model_price", "recall_languages"),
        ),
    ),
    "The host": (
        "Properties of the machine.",
        ("chromium", "headless", "sandbox", "max_browsers", "spare_browsers"),
    ),
    "Policy": (
        "Limits that apply to every task.",
        ("policy", "own_networks", "upload_roots", "command_variables"),
    ),
    "Sites": (
        "Properties of the sites.",
        ("listen_ms", "sessions"),
    ),
    "Retention": (
        "Time and space for evidence.",
        ("artifacts_url", "artifacts_max_days", "artifacts_max_mb"),
    ),
    "People": (
        "Questions and notices.",
        ("ask_within_s", "approve_recalled", "notices"),
    ),
    "Logs and metrics": (
        "Output for the operator.",
        ("log_level", "log_format", "metrics_address", "otlp_endpoint"),
    ),
}
"""Groups of the settings: heading, subject, and the names."""

PREFIX = "REPLAYWRIGHT_"
"""Prefix of all variables."""

READY_FILE_VARIABLE = "REPLAYWRIGHT_READY_FILE"
"""File to which a worker writes `{"pid": …}` once it polls; its parent waits for it. Not a setting: it differs per
process."""

OWNER_VARIABLE = "REPLAYWRIGHT_STACK_OWNER"
"""Process that owns a worker's servers: `pid:start`. The browsers end with it. Not a setting: it differs per stack."""

_REDIS_SCHEMES = ("redis://", "rediss://", "unix://", "redis+cluster://", "rediss+cluster://")
_NOT_SETTINGS = (READY_FILE_VARIABLE, OWNER_VARIABLE)
_NOT_SETTINGS_PREFIXES = ("REPLAYWRIGHT_SECRET_", "REPLAYWRIGHT_INTERNAL_")


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


def _build_id(build: str) -> str:
    if build == UNVERSIONED:
        raise ValueError(f"{UNVERSIONED!r} stands for workers without a version: leave the variable unset for these")
    return build


def _listened_on(address: str) -> str:
    parse_address(address)
    return address


def _collector(address: str) -> str:
    if not address.startswith(("http://", "https://")):
        raise ValueError("expected an address that begins with http:// or https://, such as http://localhost:4318")
    return address


def _price(value: object) -> object:
    if not isinstance(value, str):
        return value
    parts = value.split(",")
    if len(parts) != 2:
        raise ValueError("expected two numbers, of a million tokens read and written, such as 0.25,2")
    return Price(input_usd=_dollars(parts[0]), output_usd=_dollars(parts[1]))


def _dollars(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < math.inf:
        raise ValueError(f"expected US dollars, such as 0.25, got {text!r}")
    return found


def _price_text(price: Price | None) -> str | None:
    return None if price is None else f"{price.input_usd},{price.output_usd}"


def _networks(text: str) -> str:
    return ",".join(str(ip_network(each.strip())) for each in text.split(",") if each.strip())


def _languages(text: str) -> str:
    tags = [each.strip() for each in text.split(",") if each.strip()]
    if wrong := next((tag for tag in tags if not re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*", tag)), None):
        raise ValueError(f"expected tags of languages joined by commas, such as en,de,zh-Hant, got {wrong!r}")
    return ",".join(tags)


DEFAULT_TENANT = "default"
"""Tenant whose queue has no tenant in its name."""
Seconds = Annotated[float, Field(gt=0)]
Prices = Annotated[Price | None, NoDecode, BeforeValidator(_price), PlainSerializer(_price_text, when_used="json")]
"""Prices of a model, written `0.25,2`."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""A part of keys and queue names: letters, digits, dot, hyphen and underscore, 63 at most."""
UNVERSIONED = "unversioned"
"""Name of the workers without a version in commands; no build has it."""


@dataclass(frozen=True)
class ModelSettings:
    """Address, limit and price of one of the models."""

    model: str | None
    base_url: str | None
    timeout_s: float
    price: Price | None


_PLAN_TAKES = 4 / 3
"""Time limit of the planner, relative to that of the executor's model."""


class Settings(BaseSettings):
    """Settings of a process."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
    )

    temporal_address: str | None = Field(
        default=None, validation_alias=AliasChoices("REPLAYWRIGHT_TEMPORAL_ADDRESS", "TEMPORAL_ADDRESS")
    )
    """`host:port` of a Temporal server. None: the local stack starts one."""

    temporal_namespace: str = Field(
        default="default", validation_alias=AliasChoices("REPLAYWRIGHT_TEMPORAL_NAMESPACE", "TEMPORAL_NAMESPACE")
    )
    """The Temporal namespace that holds the runs."""

    temporal_tls: bool | None = None
    """True requires TLS, false forbids it. None: as in Temporal's own variables and configuration file
    (`TEMPORAL_TLS_SERVER_CA_CERT_PATH`, `TEMPORAL_API_KEY`, …). The local stack has no TLS."""

    temporal_ui_url: str | None = None
    """Address of Temporal's UI. None: that of the local stack; unknown for a configured server."""

    task_queue: Name = "replaywright"
    """Task queue of the workflows; the tenant is appended, and the queues of the other roles are derived from it."""

    build_id: Annotated[Name, AfterValidator(_build_id)] | None = None
    """Version of a worker's code, such as a commit's hash; runs end on the version that they began with. None: any
    worker continues any run. Workers of the local stack have none."""

    redis_url: str | None = None
    """Address of the ledger's Redis: `redis://`, `rediss://` (TLS) or `unix://`; for a Redis Cluster
    `redis+cluster://` or `rediss+cluster://` with any node. It must not evict: a lost intent is a second mail. None:
    the local stack starts one."""

    signing_keys: str | Path | None = Field(default=None, repr=False)
    """`id:base64,id2:base64`, 32 bytes each (`replaywright admin keys new`): the first signs data in Redis, all
    verify it. None: the local stack creates a key in `home`; a configured Redis needs keys, or `unsigned`. Only its
    owner may read a file of keys (`…_FILE`)."""

    unsigned: bool = False
    """Accept data in Redis without signatures. Whoever can write there can then control runs."""

    unsigned_starts: UnsignedStarts | None = None
    """Treatment of a run without a MAC of the signing key: `refuse` ends it at once, `no-secrets` runs it without
    secrets, `trust` accepts it, for a Temporal behind mTLS or an authorizer. None: `refuse` for the local stack,
    `no-secrets` for a configured Temporal, `trust` with `unsigned`."""

    codec_keys: str | Path | None = Field(default=None, repr=False)
    """Keys in the same form: the first encrypts payloads in Temporal, all decrypt. None: clear text."""

    codec_token: str | None = Field(default=None, repr=False)
    """Bearer token for `replaywright admin codec-server`. None: it listens on loopback only, without a token."""

    artifact_keys: str | Path | None = Field(default=None, repr=False)
    """Keys in the same form: the first encrypts artifacts, all decrypt. None: the local stack creates a key in `home`;
    with `artifacts_url`, clear text."""

    tenant: Name = DEFAULT_TENANT
    """Part of every key and queue name: two tenants never see each other's cache, ledger or skills."""

    model: str | None = None
    """`provider:name`, for example `openai:gpt-5-mini`. None: no model; steps that need one fail."""

    model_base_url: str | None = None
    """Address of another server with the provider's API."""

    model_timeout_s: Seconds = 60
    """Time limit of one request to the model, and to the labeller."""

    model_price: Prices = None
    """US dollars per million tokens read and written: `0.25,2`. None: the cost of runs is unknown."""

    planner_model: str | None = None
    """`provider:name` of the model that plans for goals and revises plans after a failed step. None: the model plans
    for goals, and plans of task files are not revised."""

    planner_model_base_url: str | None = None
    """Address of another server for the planner."""

    planner_model_price: Prices = None
    """Prices of the planner, in the same form."""

    planner_pictures: bool = False
    """Show the planner a picture of the page with numbered marks, too; its model must accept pictures."""

    recall_languages: Annotated[str, AfterValidator(_languages)] = "en"
    """Languages of the labeller's recall patterns, beside that of the goal: tags joined by commas, such as
    `en,de,zh`."""

    labeller_model: str | None = None
    """`provider:name` of the model that finds subject and values of a goal. None: the model."""

    labeller_model_base_url: str | None = None
    """Address of another server for the labeller."""

    labeller_model_price: Prices = None
    """Prices of the labeller, in the same form."""

    chromium: Path | None = None
    """Path of the browser. None: the first that is found, see `replaywright.stack.chromium`."""

    headless: bool = True
    """False shows the windows, and needs a display."""

    sandbox: bool | None = None
    """Chromium's sandbox. None: on, except as root, where Chromium refuses it."""

    browser_endpoint: str | None = Field(default=None, repr=False)
    """DevTools address of a running Chromium, `http(s)://host:port` or `ws(s)://…`; sessions are contexts of it. It
    must reach this host. None: each session starts its own Chromium."""

    browser_proxy_host: str | None = None
    """Address of this host as seen from that Chromium, if it differs from that of the connection."""

    home: Annotated[Path, AfterValidator(_absolute)] = Field(default_factory=lambda: Path(default_home(os.environ)))
    """Folder of sockets, profiles, artifacts and the local stack's databases. Only its owner can read it."""

    artifacts_url: str | None = None
    """Address of the artifact store in fsspec's notation (`s3://…`, `gs://…`, a path). None: `artifacts` in `home`."""

    artifacts_max_days: Annotated[float, Field(ge=1, le=36_500)] = 30
    """Days after which an unused artifact is deleted."""

    artifacts_max_mb: Annotated[int, Field(ge=1)] = 10_240
    """Total size of the artifacts, in units of 1,048,576 bytes; above it, the least recently used are deleted."""

    max_browsers: Annotated[int, Field(ge=1)] | None = None
    """Maximum number of browsers of all workers of one `home`; runs wait for a place. None: as many as fit into free
    memory, at least one."""

    spare_browsers: Annotated[int, Field(ge=0, le=16)] | None = None
    """Browsers that a worker starts in advance; a run then begins most of a second sooner. Each takes a place and about
    200 MiB. None: one under `replaywright up`, else none."""

    approve_recalled: Effect | Literal["never"] = Effect.COMMIT
    """Lowest effect of a skill that a person must confirm if a model, and no pattern, chose it for a sentence."""

    ask_within_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0
    """Seconds after which an unanswered question ends the run. 0: never."""

    notices: Annotated[Path, AfterValidator(_absolute)] | None = None
    """YAML file that says who is told when a run asks, fails or heals, or a skill becomes suspect, and how. None:
    nobody."""

    command_variables: str | None = None
    """Environment variables that commands of notices and of secrets get beside `PATH`, `HOME` and locale, separated
    by commas, such as `VAULT_ADDR,VAULT_TOKEN`."""

    upload_roots: str | None = None
    """Folders from which `upload` may take files, absolute, separated as in PATH. None: no uploads."""

    own_networks: Annotated[str, AfterValidator(_networks)] | None = None
    """Networks of Replaywright's own services, such as `10.213.70.0/24,fd00:1::/64`; pages never reach them. None: own
    services are known one by one."""

    listen_ms: Annotated[int, Field(ge=0)] = 15_000
    """Maximum milliseconds for which a run that learned clicks waits for their late requests at its end."""

    sessions: Annotated[Path, AfterValidator(_absolute)] | None = None
    """YAML file that declares the signed-in sessions that tasks may use (`session: NAME`). None: there are none."""

    policy: Annotated[Path, AfterValidator(_absolute)] | None = None
    """YAML file with the policy for all runs of this worker. None: the tasks' own policies only."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Level of the worker's log."""

    log_format: Literal["text", "json"] = "text"
    """Format of the worker's log: lines for people, or one JSON object per line with run, step and trace."""

    metrics_address: Annotated[str, AfterValidator(_listened_on)] | None = None
    """`host:port` on which a worker serves Prometheus; port 0 takes a free one. None: no endpoint."""

    otlp_endpoint: Annotated[str, AfterValidator(_collector)] | None = Field(
        default=None, validation_alias=AliasChoices("REPLAYWRIGHT_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    )
    """Address of an OpenTelemetry collector for OTLP over HTTP, such as `http://localhost:4318`. None: no export."""

    @model_validator(mode="after")
    def _addresses_are_complete(self) -> Self:
        address = self.temporal_address
        if address is not None and not address.rpartition(":")[2].isdecimal():
            raise ValueError(f"temporal_address: expected host:port, got {address!r}")
        if self.redis_url is not None and not self.redis_url.startswith(_REDIS_SCHEMES):
            # The address may hold a password: it is not repeated.
            raise ValueError(f"redis_url: expected an address that begins with one of {', '.join(_REDIS_SCHEMES)}")
        self._require_a_browser_that_can_be_had()
        for root in self.upload_folders:
            if not root.is_absolute() or not root.is_dir():
                raise ValueError(
                    f"upload_roots: expected absolute folders that exist, joined by {os.pathsep!r}, got {str(root)!r}"
                )
        for name in ("model", "planner_model", "labeller_model"):
            value = getattr(self, name)
            if value is not None and not all(value.partition(":")):
                raise ValueError(f"{name}: expected provider:name, for example openai:gpt-5-mini, got {value!r}")
        return self

    def _require_a_browser_that_can_be_had(self) -> None:
        endpoint = self.browser_endpoint  # it may hold a token: it is not repeated
        if endpoint is None:
            return
        if endpoint.startswith("playwright"):
            raise ValueError(
                "browser_endpoint: a Playwright server ends its pages with the connection of the worker; start its "
                "browser with --remote-debugging-port, and give that address"
            )
        parts = urlsplit(endpoint)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise ValueError(
                "browser_endpoint: expected the address of a Chromium's DevTools, such as http://chrome.example:9222"
            )
        if self.max_browsers is None:
            raise ValueError(
                "browser_endpoint: set REPLAYWRIGHT_MAX_BROWSERS too: how much memory that host has is not known here"
            )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment; files are not read."""
        del settings_cls, dotenv_settings, file_secret_settings
        return init_settings, env_settings

    @property
    def starts_rule(self) -> UnsignedStarts:
        """Rule for a start without a MAC."""
        return self.unsigned_starts or (UnsignedStarts.TRUST if self.unsigned else UnsignedStarts.NO_SECRETS)

    @property
    def queue(self) -> str:
        """Queue of this tenant's workflows. No other tenant's can have its name: neither part may hold an `@`."""
        return self.task_queue if self.tenant == DEFAULT_TENANT else f"{self.task_queue}@{self.tenant}"

    @property
    def deployment_name(self) -> str:
        """Temporal's name for the workers that get a new version together."""
        return self.queue.replace(".", "-")

    @property
    def artifacts(self) -> str:
        """Address of the tenant's artifact store; a path of its own below, but for the default tenant."""
        address = self.artifacts_url or str(self.home / "artifacts")
        return address if self.tenant == DEFAULT_TENANT else f"{address.rstrip('/')}/tenants/{self.tenant}"

    @property
    def executor(self) -> ModelSettings:
        """Model that chooses targets and skills."""
        return ModelSettings(self.model, self.model_base_url, self.model_timeout_s, self.model_price)

    @property
    def prober(self) -> ModelSettings:
        """Model that proposes probes; none where no planner is named."""
        timeout_s = self.model_timeout_s * _PLAN_TAKES
        return ModelSettings(self.planner_model, self.planner_model_base_url, timeout_s, self.planner_model_price)

    @property
    def goal_planner(self) -> ModelSettings:
        """The model that plans; the executor's where no other is named. A plan takes longer than a choice."""
        return self.prober if self.planner_model else replace(self.executor, timeout_s=self.prober.timeout_s)

    @property
    def labeller(self) -> ModelSettings:
        """The model that labels goals; the executor's where no other is named."""
        if self.labeller_model is None:
            return self.executor
        limit_s = self.model_timeout_s
        return ModelSettings(self.labeller_model, self.labeller_model_base_url, limit_s, self.labeller_model_price)

    @property
    def overrides_folder(self) -> Path:
        """Folder of the files of override rules."""
        return self.home / "overrides"

    @property
    def upload_folders(self) -> tuple[Path, ...]:
        """Folders that files may be uploaded from."""
        return tuple(Path(root).expanduser() for root in (self.upload_roots or "").split(os.pathsep) if root)

    @property
    def phrase_languages(self) -> tuple[str, ...]:
        """Languages that the labeller writes phrases in."""
        return tuple(filter(None, self.recall_languages.split(",")))

    @property
    def networks_of_own(self) -> tuple[str, ...]:
        """Networks of which everything is ours."""
        return tuple(filter(None, (self.own_networks or "").split(",")))

    @property
    def chromium_sandbox(self) -> bool:
        """Chromium is started with its sandbox."""
        return os.geteuid() != 0 if self.sandbox is None else self.sandbox

    @property
    def why_no_sandbox(self) -> str:
        """Reason why Chromium is started without its sandbox; empty when it is not."""
        if self.chromium_sandbox:
            return ""
        return "REPLAYWRIGHT_SANDBOX is false" if self.sandbox is False else "this is root: use another user"


def load_settings(**overrides: object) -> Settings:
    """Read the settings of this process; `overrides` that are not None win over the environment.

    Raises:
        SettingsInvalid: one line with the variable, what it holds and what was expected. A variable that begins like
            ours and is none of ours is an error too: a misspelt setting must not be ignored.
    """
    _refuse_unknown(os.environ)
    in_files = values_in_files(_FROM_FILES, os.environ)
    given: dict[str, object] = {_FROM_FILES[variable]: value for variable, value in in_files.items()}
    given |= _key_files()
    given |= {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**cast("dict[str, Any]", given))
    except ValidationError as exc:
        raise SettingsInvalid(_one_line(exc, in_files)) from exc


KEYS = ("signing_keys", "codec_keys", "artifact_keys")
"""Settings whose value stays in its file, which is read where the keys are used and must be its owner's only."""

_FROM_FILES = {PREFIX + name.upper(): name for name in Settings.model_fields if name not in KEYS}
"""Variable → setting, of those whose value is read from the file that is named."""


def _key_files() -> dict[str, Path]:
    """The files of keys that are named, by setting.

    Raises:
        SettingsInvalid: the keys themselves are set, too.
    """
    found = {}
    for name in KEYS:
        variable = PREFIX + name.upper()
        if file := os.environ.get(variable + SUFFIX):
            if os.environ.get(variable):
                raise SettingsInvalid(f"{variable} and {variable}{SUFFIX} are both set: set one of them")
            found[name] = Path(file)
    return found


def _refuse_unknown(environment: Mapping[str, str]) -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    known_files = {variable + SUFFIX for variable in known}
    for name in sorted(environment):
        if not name.startswith(PREFIX) or name in known or name in known_files or name in _NOT_SETTINGS:
            continue
        if name.startswith(_NOT_SETTINGS_PREFIXES):
            continue
        near = difflib.get_close_matches(name, sorted(known), n=1)
        hint = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(sorted(known))}"
        raise SettingsInvalid(f"{name} is not a setting: {hint}")


def _one_line(error: ValidationError, in_files: Mapping[str, str]) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    location = str(first["loc"][0]) if first["loc"] else ""
    if not location:
        name, _, rest = message.partition(": ")
        return f"{PREFIX}{name.upper()}: {rest}"
    variable = location if location.isupper() else PREFIX + location.upper()
    message = message[:1].lower() + message[1:]
    if variable in in_files:  # what is in a file may be a secret
        return f"{variable}{SUFFIX}: what is in the file is not right: {message}"
    # A redis address may hold a password, and keys are secrets.
    shown = (
        "" if variable.endswith(("REDIS_URL", "BROWSER_ENDPOINT", "_KEYS", "_TOKEN")) else f", got {first['input']!r}"
    )
    return f"{variable}: {message}{shown}"

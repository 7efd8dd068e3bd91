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
from replaywright.telemetry.options import parse_address
from replaywright.value_files import SUFFIX, values_in_files

REASONS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "Servers": (
        "Every installation has other addresses.",
        (
            *("temporal_address", "temporal_namespace", "temporal_tls", "temporal_ui_url", "redis_url", "home"),
            *("task_queue", "tenant", "build_id", "browser_endpoint", "browser_proxy_host"),
        ),
    ),
    "Keys and trust": (
        "Keys are the operator's secrets, and whom to trust is the operator's decision.",
        ("signing_keys", "unsigned", "unsigned_starts", "codec_keys", "codec_token", "artifact_keys"),
    ),
    "Models": (
        "Models cost money and get to see pages: which ones are asked is for the operator to choose.",
        (
            *("model", "model_base_url", "model_timeout_s", "model_price"),
            *("planner_model", "planner_model_base_url", "planner_model_price", "planner_pictures"),
            *("labeller_model", "labeller_model_base_url", "labeller_model_timeout_s"),
            *("labeller_model_price", "recall_languages"),
        ),
    ),
    "The host": (
        "Hosts differ in memory, in their display and in what they let a process do.",
        ("chromium", "headless", "sandbox", "max_browsers", "spare_browsers"),
    ),
    "Policy": (
        "What pages may reach, get and be given is the operator's rule, above every task.",
        ("policy", "own_networks", "upload_roots", "command_variables"),
    ),
    "Sites": (
        "How late a page sends what it says is sent differs with the sites.",
        ("listen_ms",),
    ),
    "Retention": (
        "How long what pages showed is kept depends on law and disks.",
        ("artifacts_url", "artifacts_max_days", "artifacts_max_mb"),
    ),
    "People": (
        "Who is told, and how long a run waits, differs with the people.",
        ("ask_within_s", "approve_recalled", "notify_command"),
    ),
    "Logs and metrics": (
        "They go where the operator looks.",
        ("log_level", "log_format", "metrics_address", "otlp_endpoint"),
    ),
}
"""Heading → why the settings below it are no constants → these settings."""

PREFIX = "REPLAYWRIGHT_"
"""Every variable of ours begins with it."""

READY_FILE_VARIABLE = "REPLAYWRIGHT_READY_FILE"
"""Where a worker writes `{"pid": …}` once it polls; whoever started it waits for that file. Not a setting: it differs
for every process."""

OWNER_VARIABLE = "REPLAYWRIGHT_STACK_OWNER"
"""Tells a worker which process owns its servers: `pid:start`. Its browsers end with that process. Not a setting: it
differs for every stack."""

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
"""Whose queue has no tenant in its name."""
Seconds = Annotated[float, Field(gt=0)]
Prices = Annotated[Price | None, NoDecode, BeforeValidator(_price), PlainSerializer(_price_text, when_used="json")]
"""What a model costs, written `0.25,2`."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""A part of keys and queue names: letters, digits, dot, hyphen and underscore, 63 at most."""
UNVERSIONED = "unversioned"
"""What commands call the workers without a version; no build has this name."""


def default_home(environment: Mapping[str, str]) -> Path:
    """`replaywright` in the state directory of the XDG base directory specification."""
    base = environment.get("XDG_STATE_HOME", "")
    # The specification says that a relative path is invalid and to be ignored.
    state = Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state"
    return state / "replaywright"


@dataclass(frozen=True)
class ModelSettings:
    """Address, limit and price of one of the models."""

    model: str | None
    base_url: str | None
    timeout_s: float
    price: Price | None


_PLAN_TAKES = 4 / 3
"""So much longer than the executor's model may the planner take to answer."""


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
    """Whether Temporal is reached over TLS. None: as Temporal's own variables and configuration file say
    (`TEMPORAL_TLS_SERVER_CA_CERT_PATH`, `TEMPORAL_API_KEY`, …). The local stack has none."""

    temporal_ui_url: str | None = None
    """Where people see a run. None: that of the local stack, or unknown for a configured server."""

    task_queue: Name = "replaywright"
    """Queue of the workflows, with the tenant behind it (`queue`); those of the other roles are derived from it."""

    build_id: Annotated[Name, AfterValidator(_build_id)] | None = None
    """Version of a worker's code, such as a commit's hash: runs end on the version that they began with. None: any
    worker goes on with any run. A worker of the local stack has none, as nobody keeps an older one running there."""

    redis_url: str | None = None
    """Address of the ledger's Redis: `redis://`, `rediss://` (TLS) or `unix://`; of a Redis Cluster `redis+cluster://`
    or `rediss+cluster://` with any of its nodes. It must not evict: a lost intent is a second mail. None: the local
    stack starts one."""

    signing_keys: str | Path | None = Field(default=None, repr=False)
    """`id:base64,id2:base64`, 32 bytes each (`replaywright admin keys new`): the first signs what is kept in Redis, all
    of them verify it. None: the local stack makes a key in `home`; a configured Redis needs keys, or `unsigned`.
    A file of keys (`…_FILE`) is for its owner only."""

    unsigned: bool = False
    """Take what is found in Redis as it is, without signatures. Whoever can write there can then make runs act."""

    unsigned_starts: UnsignedStarts | None = None
    """What becomes of a run that was started without a MAC of the signing key: `refuse` ends it before anything is
    opened, `no-secrets` runs it without secrets, `trust` takes it for signed: for a Temporal that is itself guarded
    (mTLS, authorizer). None: `refuse` for the Temporal of the local stack, `no-secrets` for a configured one, and
    `trust` with `unsigned`."""

    codec_keys: str | Path | None = Field(default=None, repr=False)
    """Keys as those for signing: the first encrypts the payloads that Temporal keeps, all of them decrypt. None: they
    are kept as clear text."""

    codec_token: str | None = Field(default=None, repr=False)
    """Bearer token that `replaywright admin codec-server` asks for. None: it listens on loopback only and asks for
    none."""

    artifact_keys: str | Path | None = Field(default=None, repr=False)
    """Keys as those for signing: the first encrypts artifacts, all of them decrypt. None: a key that the local stack
    makes in `home`; with `artifacts_url`, clear text."""

    tenant: Name = DEFAULT_TENANT
    """Part of every key and queue name: two tenants never see each other's cache, ledger or skills."""

    model: str | None = None
    """`provider:name`, for example `openai:gpt-5-mini`. None: no model; what is not in the cache fails."""

    model_base_url: str | None = None
    """Another server that speaks the provider's dialect."""

    model_timeout_s: Seconds = 60
    """Limit of one request to the model."""

    model_price: Prices = None
    """US dollars for a million tokens that the model reads, and that it writes: `0.25,2`. None: unknown, and so is the
    cost of a run."""

    planner_model: str | None = None
    """`provider:name` of the model that plans for goals and revises the rest of a plan when a step fails. None: the
    model plans for goals, and the plans of task files are not revised."""

    planner_model_base_url: str | None = None
    """Another server that speaks the provider's dialect, for the planner."""

    planner_model_price: Prices = None
    """The same of the planner."""

    planner_pictures: bool = False
    """Show the planner a picture of the page as well, with numbered marks; its model must take pictures."""

    recall_languages: Annotated[str, AfterValidator(_languages)] = "en"
    """Languages that the labeller writes phrases of a skill in, beside that of the goal: tags joined by commas, such as
    `en,de,zh`."""

    labeller_model: str | None = None
    """`provider:name` of the model that says what a goal is about and what its values are. None: the model."""

    labeller_model_base_url: str | None = None
    """Another server that speaks the provider's dialect, for the labeller."""

    labeller_model_timeout_s: Seconds = 60
    """Limit of one request to the labeller."""

    labeller_model_price: Prices = None
    """The same of the labeller."""

    chromium: Path | None = None
    """The browser to use. None: the first that is found, see `replaywright.stack.chromium`."""

    headless: bool = True
    """False shows the windows; it needs a display."""

    sandbox: bool | None = None
    """Chromium's own sandbox. None: on, except as root, where Chromium refuses to start with it."""

    browser_endpoint: str | None = Field(default=None, repr=False)
    """`http(s)://host:port`, or `ws(s)://…`, of the DevTools of a Chromium that runs already: sessions are contexts of
    it. It has to reach this host. None: each session starts a Chromium of its own."""

    browser_proxy_host: str | None = None
    """What that Chromium's host calls this one, where that is another address than this one's own on the way there."""

    home: Annotated[Path, AfterValidator(_absolute)] = Field(default_factory=lambda: default_home(os.environ))
    """Where sockets, profiles, artifacts and the local stack's databases live. Only its owner can read it."""

    artifacts_url: str | None = None
    """Address of the artifact store in fsspec's notation (`s3://…`, `gs://…`, a path). None: `artifacts` in `home`."""

    artifacts_max_days: Annotated[float, Field(ge=1, le=36_500)] = 30
    """An artifact that was neither written nor read for so many days is deleted."""

    artifacts_max_mb: Annotated[int, Field(ge=1)] = 10_240
    """Size of all artifacts together, in units of 1,048,576 bytes; above it, the longest unused are deleted."""

    max_browsers: Annotated[int, Field(ge=1)] | None = None
    """Browsers on this host at the same time, of all workers of one `home`; runs wait for a place. None: as many as
    the memory that is free at the moment has room for, and one at least."""

    spare_browsers: Annotated[int, Field(ge=0, le=16)] | None = None
    """Browsers that a worker keeps started before a run asks for one, which begins most of a second sooner then. Each
    takes a place and about 200 MiB. None: one for a worker of `replaywright up`, none for others."""

    approve_recalled: Effect | Literal["never"] = Effect.COMMIT
    """Effect of a skill from which on a person confirms it when a model chose it for a sentence, and no pattern did."""

    ask_within_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0
    """A question to a person that nobody answered for so many seconds ends the run. 0: it waits for ever."""

    notify_command: str | None = None
    """What a worker runs when a run asks a person, reminds, or gives up waiting; JSON on its standard input."""

    command_variables: str | None = None
    """Names of environment variables, separated by commas, that the notify command and secret commands get besides
    `PATH`, `HOME`, locale and the like, such as `VAULT_ADDR,VAULT_TOKEN`."""

    upload_roots: str | None = None
    """Folders whose files the step `upload` may give to a site, absolute, separated like those of PATH. None: none."""

    own_networks: Annotated[str, AfterValidator(_networks)] | None = None
    """Networks of Replaywright's own services, such as `10.213.70.0/24,fd00:1::/64`: no page reaches anything there,
    whatever a policy allows. None: own services are known one by one."""

    listen_ms: Annotated[int, Field(ge=0)] = 15_000
    """Milliseconds for which a run that has learned presses listens for their late requests at its end, at most."""

    policy: Annotated[Path, AfterValidator(_absolute)] | None = None
    """YAML file that says what every run of this worker may reach and do. None: what the tasks say."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Of the worker's log."""

    log_format: Literal["text", "json"] = "text"
    """Of the worker's log: lines for people, or one JSON object a line, with run, step and trace."""

    metrics_address: Annotated[str, AfterValidator(_listened_on)] | None = None
    """`host:port` where a worker answers Prometheus; port 0 is any that is free. None: nowhere."""

    otlp_endpoint: Annotated[str, AfterValidator(_collector)] | None = Field(
        default=None, validation_alias=AliasChoices("REPLAYWRIGHT_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    )
    """Address of an OpenTelemetry collector that takes OTLP over HTTP, such as `http://localhost:4318`. None: traces
    and metrics are sent nowhere."""

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
        timeout_s = self.labeller_model_timeout_s
        if self.labeller_model is None:
            return replace(self.executor, timeout_s=timeout_s)
        return ModelSettings(self.labeller_model, self.labeller_model_base_url, timeout_s, self.labeller_model_price)

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

"""Policies as people write them: limits on the network, actions, files and spending of runs.

The operator's file (`REPLAYWRIGHT_POLICY`) limits every run of a worker. A task may ask for hosts beside its own site
and limit itself. A run may do what both allow (`replaywright.domain.policy.effective`); without a file it reaches its
own site and the hosts that its task names.
"""

from typing import Annotated

from pydantic import Field, StringConstraints, ValidationInfo, field_validator, model_validator

from replaywright.domain.common.base import Authored
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.task.actions import Action
from replaywright.errors import InputInvalid

HostPattern = Annotated[str, StringConstraints(min_length=1, max_length=300)]
"""`shop.example`, `*.shop.example` (its subdomains), `10.1.0.0/16`, `[::1]`, each also with `:port`."""

FileType = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_+-]{0,15}(\.[a-z0-9]{1,8})?$")]
"""`pdf`, `tar.gz`."""
Folder = Annotated[str, StringConstraints(pattern=r"^/")]


def _checked(patterns: tuple[str, ...], *, denies: bool = False) -> tuple[str, ...]:
    for index, pattern in enumerate(patterns):
        try:
            host_rule(pattern, f"[{index}]", denies=denies)
        except InputInvalid as exc:
            raise ValueError(str(exc)) from exc
    return patterns


class Hosts(Authored):
    """Allowed and denied hosts; a denial always wins."""

    allow: tuple[HostPattern, ...] = ()
    """Patterns of hosts that may be reached."""
    deny: tuple[HostPattern, ...] = ()
    """Patterns of hosts that may not be reached."""

    @field_validator("allow", "deny")
    @classmethod
    def _are_patterns(cls, patterns: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        return _checked(patterns, denies=info.field_name == "deny")


class Actions(Authored):
    """Allowed and denied actions of steps."""

    allow: tuple[Action, ...] | None = None
    """None: all actions that are not denied."""
    deny: tuple[Action, ...] = ()
    """Denied even if allowed."""


class Downloads(Authored):
    """Limits on the files that a run may download."""

    max_mb: int | None = Field(None, ge=0)
    """Size limit of one file, in units of 1,048,576 bytes. None: the limit of the worker's settings."""
    types: tuple[FileType, ...] | None = None
    """Allowed extensions in lower case, without the dot. None: all."""


class Traffic(Authored):
    """Limits on the bytes that a session sends and receives, in units of 1,048,576; None is no limit."""

    up_mb: int | None = Field(None, ge=0)
    """Limit on sent bytes."""
    down_mb: int | None = Field(None, ge=0)
    """Limit on received bytes."""


class Amounts(Authored):
    """Limits on the activity of a run; None is no limit."""

    navigations: int | None = Field(None, ge=0)
    """Steps that led to another document."""
    popups: int | None = Field(None, ge=0)
    """Tabs that pages open."""
    dialogs: int | None = Field(None, ge=0)
    """Dialogs that pages open."""
    steps: int | None = Field(None, ge=0)
    """Steps performed, including those of override rules."""
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Since the run began, without waiting for people."""


class Spending(Authored):
    """Upper limits for a run's own model budget; None is no limit."""

    calls: int | None = Field(None, ge=0)
    """Requests to models."""
    tokens: int | None = Field(None, ge=0)
    """Tokens in and out together."""
    money: float | None = Field(None, ge=0, allow_inf_nan=False)
    """US dollars."""


class Wishes(Authored):
    """Hosts that a task asks for, and limits that it sets itself."""

    hosts: Hosts | None = None
    """None: the task's own site and the hosts that the task names."""
    actions: Actions = Actions()
    """Actions that steps may have."""
    upload_roots: tuple[Folder, ...] | None = None
    """Absolute folders whose files may be uploaded. None: those of the worker's settings."""
    downloads: Downloads = Downloads()
    """Files that may be downloaded."""
    traffic: Traffic = Traffic()
    """Bytes that may be sent and received."""
    amounts: Amounts = Amounts()
    """Limits on the activity of the run."""
    spending: Spending = Spending()
    """Upper limits of a budget."""

    @field_validator("upload_roots")
    @classmethod
    def _go_nowhere_else(cls, roots: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for root in roots or ():
            if ".." in root.split("/"):
                raise ValueError(f"{root!r} has '..' in it; write the folder's own path")
        return roots


class Learning(Authored):
    """Rules while a task is learned."""

    trust: tuple[HostPattern, ...] = ()
    """Sites on which a press that a model chose needs no approval. `*:*` is every site."""

    @field_validator("trust")
    @classmethod
    def _are_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return _checked(patterns)


class UpstreamProxy(Authored):
    """A proxy of the operator's that connections take, behind everything that limits them."""

    server: str = Field(pattern=r"^(http|socks5)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$")
    """`http://proxy.corp:3128` (CONNECT) or `socks5://proxy.corp:1080`."""
    user: str = Field("", max_length=255, pattern=r"^[^:]*$")
    """Empty: without authentication."""
    password: str = Field("", pattern=r"^\w*$")
    """Name of the secret with the password."""
    hosts: tuple[HostPattern, ...] = ()
    """Hosts that are reached by it, on every port unless one is named. Empty: all."""

    @field_validator("hosts")
    @classmethod
    def _are_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return _checked(patterns, denies=True)

    @model_validator(mode="after")
    def _have_both(self) -> "UpstreamProxy":
        if bool(self.user) != bool(self.password):
            raise ValueError("user and password go together; password is the name of a secret")
        return self


class ClientCertificate(Authored):
    """A client certificate that sites ask for."""

    hosts: tuple[HostPattern, ...] = Field(min_length=1)
    """Hosts that it is shown to, at port 443 unless one is named. TLS with these ends in the gate."""
    certificate: str = Field(pattern=r"^\w+$")
    """Name of the secret with certificate chain and unencrypted private key, as PEM."""

    @field_validator("hosts")
    @classmethod
    def _are_named(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        if any(pattern.strip().partition(":")[0] == "*" for pattern in patterns):
            raise ValueError("'*' would end the TLS of every site in the gate; name the sites that ask for it")
        return _checked(patterns, denies=True)


class Policy(Wishes):
    """Policy of an operator."""

    learning: Learning = Learning()
    """Rules while a task is learned."""
    proxies: tuple[UpstreamProxy, ...] = ()
    """The first that has the host is taken; a host of none is connected to directly."""
    certificates: tuple[ClientCertificate, ...] = ()
    """The first that has the host is shown to it."""

    name: str = Field("policy", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    """Named in every refusal."""

"""What runs may reach and do: the policy that people write.

An operator's file (`REPLAYWRIGHT_POLICY`) is the limit of every run of a worker; a task may ask for hosts beside its
own site, and limit itself. A run may do what both allow: see `replaywright.domain.policy.effective`. Without a file, a
run reaches its own site and what its task names.
"""

from typing import Annotated

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from replaywright.domain.common.base import Authored
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.task.actions import Action
from replaywright.errors import InputInvalid

HostPattern = Annotated[str, StringConstraints(min_length=1, max_length=300)]
"""`shop.example`, `*.shop.example` (its subdomains), `10.1.0.0/16`, `[::1]`, each also with `:port`."""

FileType = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_+-]{0,15}(\.[a-z0-9]{1,8})?$")]
"""`pdf`, `tar.gz`."""
Folder = Annotated[str, StringConstraints(pattern=r"^/")]


class Hosts(Authored):
    """Where connections may go; what is denied is denied, whatever allows it."""

    allow: tuple[HostPattern, ...] = ()
    """Patterns of hosts that may be reached."""
    deny: tuple[HostPattern, ...] = ()
    """Patterns of hosts that may not."""

    @field_validator("allow", "deny")
    @classmethod
    def _are_patterns(cls, patterns: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        for index, pattern in enumerate(patterns):
            try:
                host_rule(pattern, f"[{index}]", denies=info.field_name == "deny")
            except InputInvalid as exc:
                raise ValueError(str(exc)) from exc
        return patterns


class Actions(Authored):
    """Which actions steps may have; None allows all that are not denied."""

    allow: tuple[Action, ...] | None = None
    """None: all that are not denied."""
    deny: tuple[Action, ...] = ()
    """Denied even if they are allowed."""


class Downloads(Authored):
    """Which files a run may take from a site."""

    max_mb: int | None = Field(None, ge=0)
    """Of one file, in units of 1,048,576 bytes. None: what the worker's settings say."""
    types: tuple[FileType, ...] | None = None
    """Extensions without their dot, in lower case. None: all."""


class Traffic(Authored):
    """How many bytes a session may send and receive, in units of 1,048,576; None is without limit."""

    up_mb: int | None = Field(None, ge=0)
    """What may be sent."""
    down_mb: int | None = Field(None, ge=0)
    """What may be received."""


class Amounts(Authored):
    """How much a run may do; None is without limit."""

    navigations: int | None = Field(None, ge=0)
    """Steps that led to another document."""
    popups: int | None = Field(None, ge=0)
    """Tabs that pages open."""
    dialogs: int | None = Field(None, ge=0)
    """Dialogs that pages open."""
    steps: int | None = Field(None, ge=0)
    """Steps performed, those of override rules too."""
    seconds: float | None = Field(None, ge=0, allow_inf_nan=False)
    """Since the run began, without the time that it waited for a person."""


class Spending(Authored):
    """The most that a run's own budget for models may allow; None is without limit."""

    calls: int | None = Field(None, ge=0)
    """Requests to models."""
    tokens: int | None = Field(None, ge=0)
    """Tokens in and out together."""
    money: float | None = Field(None, ge=0, allow_inf_nan=False)
    """US dollars."""


class Wishes(Authored):
    """What a task asks for, and limits itself to."""

    hosts: Hosts | None = None
    """None: the task's own site, and the hosts that the task asks for."""
    actions: Actions = Actions()
    """Which actions steps may have."""
    upload_roots: tuple[Folder, ...] | None = None
    """Folders whose files may be uploaded, absolute. None: what the worker's settings say."""
    downloads: Downloads = Downloads()
    """Which files may be taken from a site."""
    traffic: Traffic = Traffic()
    """How many bytes may go and come."""
    amounts: Amounts = Amounts()
    """How much may be done."""
    spending: Spending = Spending()
    """The most that a budget may be."""

    @field_validator("upload_roots")
    @classmethod
    def _go_nowhere_else(cls, roots: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for root in roots or ():
            if ".." in root.split("/"):
                raise ValueError(f"{root!r} has '..' in it; write the folder's own path")
        return roots


class Learning(Authored):
    """What holds while a task is learned."""

    trust: tuple[HostPattern, ...] = ()
    """Sites on which nobody is asked about what a press sends that a model chose. `*:*` is every site."""

    @field_validator("trust")
    @classmethod
    def _are_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for index, pattern in enumerate(patterns):
            try:
                host_rule(pattern, f"[{index}]")
            except InputInvalid as exc:
                raise ValueError(str(exc)) from exc
        return patterns


class Policy(Wishes):
    """What runs may reach and do, as an operator writes it."""

    learning: Learning = Learning()
    """What holds while a task is learned."""

    name: str = Field("policy", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$")
    """Told with everything that it blocks."""

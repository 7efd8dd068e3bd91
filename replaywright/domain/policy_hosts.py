"""The part of an operator's and a task's policy that is about hosts, joined: both have to allow a connection."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from replaywright.domain.effective import Effective, name_of
from replaywright.domain.guard import Refusal
from replaywright.domain.host_rules import host_rules, network_policy
from replaywright.domain.network_policy import HostRule, HostRules, NetworkPolicy, decide
from replaywright.domain.policy import Policy
from replaywright.domain.steps import ForEach, Goto, Step
from replaywright.domain.tasks import Task
from replaywright.domain.templates import fill, parameters_in
from replaywright.domain.urls import bracketed, web_address
from replaywright.errors import InputInvalid

_MB = 1024 * 1024
_LEFT_TO_THE_TASK = HostRule(text="*", kind="any", ports="all", addresses=("0.0.0.0/0", "::/0"))
"""What an operator allows who says only what is denied: whatever the task names, but for a cloud's metadata."""


def limit_of(operator: Policy | None) -> HostRules | None:
    """What an operator says of hosts; None if that is nothing."""
    if operator is None or operator.hosts is None:
        return None
    rules = host_rules(name_of(operator), operator.hosts)
    if "allow" in operator.hosts.model_fields_set:
        return rules
    return rules.model_copy(update={"allow": (_LEFT_TO_THE_TASK,)})


def narrowed(policy: NetworkPolicy, operator: Policy | None) -> NetworkPolicy:
    """What a run asks for, as far as an operator allows it."""
    if operator is None:
        return policy
    limit = limit_of(operator)
    return policy.model_copy(
        update={
            "rules": policy.rules if limit is None else (limit, *policy.rules),
            "up_bytes": _least(policy.up_bytes, operator.traffic.up_mb),
            "down_bytes": _least(policy.down_bytes, operator.traffic.down_mb),
        }
    )


def wanted(task: Task, values: Mapping[str, str]) -> NetworkPolicy:
    """Where a run of the task asks to go, before an operator is asked."""
    wishes = task.policy
    if wishes is None:
        return network_policy(task, values)
    return network_policy(task, values, hosts=wishes.hosts, traffic=wishes.traffic)


@dataclass(frozen=True)
class Named:
    """An address that a task names."""

    place: str
    """Where it stands: `url`, `steps[2]`."""
    url: str
    host: str = ""
    """With its port; empty if that depends on a parameter without a value."""
    refusal: Refusal | None = None


def named(policy: Effective, task: Task, steps: Iterable[Step], values: Mapping[str, str]) -> Iterator[Named]:
    """The pages that a task opens by their addresses, each held against the policy."""
    network = narrowed(wanted(task, values), policy.operator)
    found = [("url", task.url)] if task.url else []
    for place, url in (*found, *_gotos(steps)):
        if parameters_in(url) - values.keys():
            yield Named(place, url)
            continue
        try:
            address = web_address(fill(url, values), place)
        except InputInvalid as exc:
            yield Named(place, url, refusal=Refusal(rule="addresses of pages", reason=str(exc)))
            continue
        decision = decide(network, address.host, address.port)
        refusal = None if decision.is_allowed else Refusal(rule=decision.rule, reason=decision.reason)
        yield Named(place, url, f"{bracketed(address.host)}:{address.port}", refusal)


def on_goto(operator: Policy | None, step: Step, values: Mapping[str, str]) -> Refusal | None:
    """Why an operator does not let a page be opened; whether the task lets it is the session's to decide."""
    limit = limit_of(operator)
    if limit is None or not isinstance(step, Goto):
        return None
    try:
        address = web_address(fill(step.url, values), "goto")
    except InputInvalid as exc:
        return Refusal(rule="addresses of pages", reason=str(exc))
    decision = decide(NetworkPolicy(rules=(limit,)), address.host, address.port)
    return None if decision.is_allowed else Refusal(rule=decision.rule, reason=decision.reason)


def _gotos(steps: Iterable[Step], within: str = "") -> Iterator[tuple[str, str]]:
    for index, step in enumerate(steps):
        place = f"{within}steps[{index}]"
        if isinstance(step, Goto):
            yield place, step.url
        elif isinstance(step, ForEach):
            yield from _gotos(step.steps, f"{place}.")


def _least(has_bytes: int | None, most_mb: int | None) -> int | None:
    if most_mb is None:
        return has_bytes
    return most_mb * _MB if has_bytes is None else min(has_bytes, most_mb * _MB)

"""Host rules of the operator's and the task's policy, joined: both must allow a connection."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from replaywright.domain.common.elsewhere import MB
from replaywright.domain.common.templates import fill, parameters_in
from replaywright.domain.common.urls import bracketed, web_address
from replaywright.domain.policy.effective import Effective, operator_name
from replaywright.domain.policy.host_rules import host_rules, network_policy
from replaywright.domain.session.guard import Refusal
from replaywright.domain.session.host_patterns import host_rule
from replaywright.domain.session.network_policy import HostRule, HostRules, NetworkPolicy, decide, not_granted
from replaywright.domain.task.policy import Policy
from replaywright.domain.task.steps import Goto, Step, placed
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid

_LEFT_TO_THE_TASK = HostRule(text="*", kind="any", ports="all")
"""Rule of an operator who only denies: every public address that the task names."""


def limit_of(operator: Policy | None) -> HostRules | None:
    """Return the operator's host rules; None without any."""
    if operator is None or operator.hosts is None:
        return None
    rules = host_rules(operator_name(operator), operator.hosts, is_operators=True)
    if "allow" in operator.hosts.model_fields_set:
        return rules
    return rules.model_copy(update={"allow": (_LEFT_TO_THE_TASK,)})


def narrowed(policy: NetworkPolicy, operator: Policy | None, granted: Sequence[HostRule]) -> NetworkPolicy:
    """Limit the requested policy by the operator; claims in the operator's name do not count.

    Args:
        policy: the policy that the run asks for.
        operator: the policy that limits it.
        granted: addresses that are not public and that the operator granted on this machine.
    """
    asked = NetworkPolicy(
        rules=tuple(rules.model_copy(update={"is_operators": False}) for rules in policy.rules),
        granted=tuple(granted),
        up_bytes=policy.up_bytes,
        down_bytes=policy.down_bytes,
    )
    if operator is None:
        return asked
    limit = limit_of(operator)
    return asked.model_copy(
        update={
            "rules": asked.rules if limit is None else (limit, *asked.rules),
            "up_bytes": _least(policy.up_bytes, operator.traffic.up_mb),
            "down_bytes": _least(policy.down_bytes, operator.traffic.down_mb),
        }
    )


@dataclass(frozen=True)
class NamedAddress:
    """An address that a task names."""

    place: str
    """Place in the file: `url`, `steps[2]`."""
    url: str
    host: str = ""
    """Host with port; empty if it depends on a parameter without a value."""
    refusal: Refusal | None = None


def named(
    policy: Effective, task: Task, steps: Iterable[Step], values: Mapping[str, str], granted: Sequence[HostRule]
) -> Iterator[NamedAddress]:
    """Check the pages that a task opens and the addresses that it asks for against the policy."""
    network = narrowed(network_policy(task, values), policy.operator, granted)
    hosts = None if task.policy is None else task.policy.hosts
    refused = None if hosts is None else not_granted(host_rules("task", hosts, "policy.hosts").allow, network)
    if refused is not None:
        yield NamedAddress("policy.hosts.allow", "", refusal=Refusal(rule=refused.rule, reason=refused.reason))
    found = [("url", task.url)] if task.url else []
    found += [(place, step.url) for place, step in placed(steps) if isinstance(step, Goto)]
    for place, url in found:
        if parameters_in(url) - values.keys():
            yield NamedAddress(place, url)
            continue
        yield NamedAddress(place, url, *_judged(network, fill(url, values), place))


def on_goto(
    operator: Policy | None, step: Step, values: Mapping[str, str], granted: Callable[[], Sequence[HostRule]]
) -> Refusal | None:
    """Return the operator's refusal to open a page; the session checks the task's own rules."""
    limit = limit_of(operator)
    if limit is None or not isinstance(step, Goto):
        return None
    network = NetworkPolicy(rules=(limit,), granted=tuple(granted()))
    return _judged(network, fill(step.url, values), "goto")[1]


def _judged(network: NetworkPolicy, url: str, place: str) -> tuple[str, Refusal | None]:
    """Return host and port of an address, and its refusal."""
    try:
        address = web_address(url, place)
    except InputInvalid as exc:
        return "", Refusal(rule="addresses of pages", reason=str(exc))
    decision = decide(network, address.host, address.port)
    refusal = None if decision.is_allowed else Refusal(rule=decision.rule, reason=decision.reason)
    return f"{bracketed(address.host)}:{address.port}", refusal


def trust_rule(operator: Policy | None, origin: str) -> str:
    """Return the operator's rule that exempts this origin from grants; empty for none."""
    if operator is None or not operator.learning.trust:
        return ""
    rules = (host_rule(each, "learning.trust") for each in operator.learning.trust)
    trusted = HostRules(name="learning", allow=tuple(_reaching(rule) for rule in rules))
    try:
        address = web_address(origin)
    except InputInvalid:
        return ""
    is_trusted = decide(NetworkPolicy(rules=(trusted,)), address.host, address.port).is_allowed
    return f"{operator_name(operator)}: learning.trust" if is_trusted else ""


def _reaching(rule: HostRule) -> HostRule:
    """Widen the rule to all addresses of its name, which are checked elsewhere."""
    return rule if rule.kind == "network" else rule.model_copy(update={"addresses": _LEFT_TO_THE_TASK.addresses})


def _least(has_bytes: int | None, most_mb: int | None) -> int | None:
    if most_mb is None:
        return has_bytes
    return most_mb * MB if has_bytes is None else min(has_bytes, most_mb * MB)

"""Network policies for sites on this machine."""

from replaywright.domain.policy.host_rules import host_rules
from replaywright.domain.session.network_policy import HostRules, NetworkPolicy
from replaywright.domain.task.policy import Hosts
from replaywright.testing.grants import ON_LOOPBACK


def rules(*allow: str, deny: tuple[str, ...] = ()) -> HostRules:
    return host_rules("test", Hosts(allow=allow, deny=deny), is_operators=True)


def network(*allow: str, deny: tuple[str, ...] = ()) -> NetworkPolicy:
    return NetworkPolicy(rules=(rules(*allow, deny=deny),))


LOOPBACK = network(*ON_LOOPBACK)
"""Everything on loopback and nothing else."""

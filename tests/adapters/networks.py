"""Network policies for sites on this machine."""

from replaywright.domain.host_rules import host_rules
from replaywright.domain.network_policy import HostRules, NetworkPolicy
from replaywright.domain.policy import Hosts

ON_LOOPBACK = ("127.0.0.0/8:*", "[::1]:*", "localhost:*")


def rules(*allow: str, deny: tuple[str, ...] = ()) -> HostRules:
    return host_rules("test", Hosts(allow=allow, deny=deny))


def network(*allow: str, deny: tuple[str, ...] = ()) -> NetworkPolicy:
    return NetworkPolicy(rules=(rules(*allow, deny=deny),))


LOOPBACK = network(*ON_LOOPBACK)
"""Everything on loopback and nothing else."""

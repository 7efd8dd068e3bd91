"""Where the browsers of a run may connect to: computed from its input alone, so that it is the same in every replay."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.host_rules import network_policy
    from replaywright.domain.network_policy import NetworkPolicy
    from replaywright.domain.runs import RunInput


def network_of(run: RunInput) -> NetworkPolicy:
    """The policy of every session of the run, also of one that takes the place of another."""
    return network_policy(run.task, run.values)

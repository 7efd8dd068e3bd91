"""Where the browsers of a run may connect to: computed from its input alone, so that it is the same in every replay."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from replaywright.domain.policy.policy_hosts import wanted
    from replaywright.domain.run.runs import RunInput
    from replaywright.domain.session.network_policy import NetworkPolicy


def network_of(run: RunInput) -> NetworkPolicy:
    """What every session of the run asks for, also one that takes the place of another: the worker narrows it."""
    return wanted(run.task, run.values)

"""Guard of updates: those of runs and batches are accepted with a MAC only. The key stays outside of the workflow."""

import json

import temporalio.worker

from replaywright.domain.secrets.signing import Signer
from replaywright.domain.secrets.starts import OPEN_UPDATES, UnsignedStarts, update_fault
from replaywright.settings import Settings
from replaywright.stack.keyring import signer_of
from workflows.admission import GUARD, SentUpdate


def update_guards(settings: Settings) -> "list[UpdateGuard]":
    """Interceptors of a worker with workflows; none where the operator trusts whoever reaches Temporal.

    Raises:
        SettingsInvalid: there are no keys to verify with.
    """
    return [] if settings.starts_rule is UnsignedStarts.TRUST else [UpdateGuard(signer_of(settings))]


class UpdateGuard(temporalio.worker.Interceptor):
    """Gives workflows the function that verifies an update before it is taken."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    def workflow_interceptor_class(
        self,
        input: temporalio.worker.WorkflowInterceptorClassInput,  # noqa: A002 - Temporal's name
    ) -> type[temporalio.worker.WorkflowInboundInterceptor] | None:
        """Offer the function to workflows; none of them is intercepted."""
        input.unsafe_extern_functions.update({GUARD: self.objection})
        return None

    def objection(self, asked: SentUpdate) -> str:
        """Return why an update is not accepted; empty for one that is."""
        if asked.name in OPEN_UPDATES:
            return ""
        try:
            given, mac = json.loads(asked.argument), json.loads(asked.mac or b'""')
        except (RecursionError, ValueError):
            given, mac = None, ""
        fault = update_fault(
            self._signer,
            asked.tenant,
            kind=asked.name,
            run_id=asked.run_id,
            update=asked.id,
            given=given,
            mac=mac if isinstance(mac, str) else "",
        )
        if fault is None:
            return ""
        return (
            f"the update {asked.name!r} is not signed ({fault}): send it with `replaywright` or the Python client and "
            "the workers' signing key, or with a MAC (docs/reference/contracts.md)"
        )

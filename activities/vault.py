"""Secrets as activities get them: for a run whose start is signed, and for no other."""

import asyncio
from collections.abc import Iterable

from temporalio import activity

from replaywright.domain.secrets.secret_sites import Site
from replaywright.domain.secrets.starts import RULE, Admission, UnsignedStarts
from replaywright.errors import PolicyBlocked
from replaywright.ports.stores import Secrets, Starts


class Vault:
    """The only way from an activity to the value of a secret."""

    def __init__(self, secrets: Secrets, starts: Starts, unsigned: UnsignedStarts = UnsignedStarts.NO_SECRETS) -> None:
        """`unsigned` is the operator's word on starts without a MAC."""
        self.secrets = secrets
        self.unsigned = unsigned
        self.starts = starts

    async def admission(self) -> Admission:
        """Return how the run of the present activity was started."""
        info = activity.info()
        return await self.starts.of(info.workflow_id or "", info.workflow_run_id or "")

    async def require_signed(self) -> None:
        """See that the run of the present activity may have secrets and codes.

        Raises:
            PolicyBlocked: its start is not signed, and the operator does not trust such starts.
        """
        if self.unsigned is UnsignedStarts.TRUST:
            return
        fault = (await self.admission()).fault
        if fault:
            raise PolicyBlocked(f"{RULE}: {no_secret(fault)}", rule=RULE)

    async def value(self, name: str) -> str:
        """Resolve a secret for the run of the present activity.

        Raises:
            PolicyBlocked: the run's start is not signed.
            SecretMissing: it has no value here.
        """
        await self.require_signed()
        return await asyncio.to_thread(self.secrets.resolve, name)

    def check(self, names: Iterable[str]) -> None:
        """See that each secret has one source on this worker, which is not asked. Raises `SecretMissing`."""
        for name in names:
            self.secrets.check(name)

    def domains(self, name: str) -> tuple[Site, ...]:
        """Sites that the secret is bound to. Raises `SecretMissing` where that cannot be read."""
        return self.secrets.domains(name)


def not_signed(fault: str) -> str:
    """Tell that a start is not signed, and the remedy."""
    return (
        f"the start of this run is not signed ({fault}): start it with `replaywright` or the Python client and the "
        "workers' signing key, or with a MAC (docs/reference/contracts.md)"
    )


def no_secret(fault: str) -> str:
    """Tell that a run gets no secret because its start is not signed, and the remedy."""
    return f"it gets no secret, as {not_signed(fault)}"

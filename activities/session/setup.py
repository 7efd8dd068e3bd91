"""Setup of a session's browser, with the secrets that it refers to."""

from activities.vault import Vault
from replaywright.domain.secrets.secret_sites import RULE, BoundSecret
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.errors import PolicyBlocked, SecretMissing


async def resolved(setup: BrowserSetup, vault: Vault | None) -> BrowserSetup:
    """Return the setup with its secrets, each of which must be bound to the origin that is to get it.

    Raises:
        InputInvalid: a header cannot carry a secret.
        PolicyBlocked: a secret is not bound to the origin, or the run's start is not signed.
        SecretMissing: one has no value here.
    """
    if not setup.secrets:
        return setup
    if vault is None:
        raise SecretMissing(f"this worker has no secrets, and the browser's setup refers to {setup.secrets[0]!r}")
    for name in setup.secrets:
        if why := BoundSecret(name, vault.domains(name)).refusal((setup.origin,)):
            raise PolicyBlocked(why, rule=RULE)
    values = {name: await vault.value(name) for name in setup.secrets}
    return setup.with_secrets(values.__getitem__)

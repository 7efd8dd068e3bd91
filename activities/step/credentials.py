"""Text that a step enters: values, secrets, one-time passwords, and codes that a person gave."""

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass, field, replace

from activities.vault import Vault
from replaywright.domain.common.templates import fill, secrets_in, totps_in, with_secrets
from replaywright.domain.common.totp import totp_of
from replaywright.domain.locating.filling import changed_target
from replaywright.domain.page.targets import Target
from replaywright.domain.run.commands import InputCommand, StepContext
from replaywright.domain.secrets.common_words import is_word
from replaywright.domain.secrets.secret_sites import BoundSecret, own_site
from replaywright.domain.task.questions import CODE_LOST, CODE_NAME
from replaywright.domain.task.steps import Fill, Paste, Type
from replaywright.errors import ActionFailed, CodeLost, SecretMissing, StoreUnavailable
from replaywright.ports.browser import Work
from replaywright.ports.people import Codes

_log = logging.getLogger("replaywright.actions")


@dataclass(frozen=True)
class Entered:
    """Text that a step enters into fields and prompts; never kept, never logged."""

    text: str = field(repr=False)
    dialog_text: str | None = field(repr=False)
    secrets: tuple[BoundSecret, ...]
    """Secrets in `text`."""
    dialog_secrets: tuple[BoundSecret, ...]


class Credentials:
    """Resolves the secrets and codes that steps enter."""

    def __init__(self, vault: Vault, codes: Codes | None = None) -> None:
        """Without `codes` no step gets one from a person."""
        self.secrets = vault.secrets
        self._vault = vault
        self._codes = codes

    async def entered(self, context: StepContext) -> Entered:
        """Return the text that the step enters, secrets resolved, and where these may be entered.

        Raises:
            PolicyBlocked: the run's start is not signed: it gets no secret.
            SecretMissing: one has no value here, or nobody can tell where it belongs.
        """
        step = context.step
        text = step.value if isinstance(step, Fill | Type | Paste) else ""
        prompt = step.dialog_text
        bound = {name: self._bound(name) for name in secrets_in(text) | secrets_in(prompt or "")}
        values = {name: await self._vault.value(name) for name in sorted(bound)}
        codes = {name: await self._one_time(name, values[name]) for name in totps_in(text) | totps_in(prompt or "")}
        given = (context.values, values.__getitem__, codes.__getitem__)
        return Entered(
            text=fill(text, *given),
            dialog_text=None if prompt is None else fill(prompt, *given),
            secrets=tuple(bound[name] for name in sorted(secrets_in(text))),
            dialog_secrets=tuple(bound[name] for name in sorted(secrets_in(prompt or ""))),
        )

    async def named(self, target: Target) -> Target:
        """Return a recorded target as the page has it: a secret's value is filled in if it is a common word.

        Redaction has hidden it in what the page calls the element: it is looked for, and entered nowhere.
        """
        words: dict[str, str] = {}
        for name in secrets_in(target.model_dump_json()):
            with contextlib.suppress(SecretMissing):
                value = await asyncio.to_thread(self.secrets.resolve, name)
                words |= {name: value} if is_word(value) else {}

        def shown(text: str) -> str:
            return str(with_secrets(text, lambda name: words.get(name, f"{{{{secret:{name}}}}}")))

        return changed_target(target, shown) if words else target

    async def coded(self, command: InputCommand, work: Work) -> Work:
        """Return the work with the code that a person gave for the step, if one did: redacted from now on.

        Raises:
            ActionFailed: it cannot be read any more; nothing was done.
            PolicyBlocked: the run's start is not signed: it gets no code.
            StoreUnavailable: it cannot be read at the moment.
        """
        code, run = command.code, command.context.run
        if code is None:
            return work
        if self._codes is None:
            raise ActionFailed(CODE_LOST, "this worker has no keys of codes", dispatched=False)
        await self._vault.require_signed()
        try:
            text = await self._codes.read(
                tenant=run.tenant, run_id=run.run_id, question=code.question, sealed=code.sealed
            )
        except CodeLost as exc:
            raise ActionFailed(CODE_LOST, str(exc), dispatched=False) from exc
        self.secrets.remember(CODE_NAME, text)
        # A code is bound by the person who gives it: to the site that the task begins at, unless hosts are named.
        bound = BoundSecret(CODE_NAME, self.secrets.domains(CODE_NAME) or own_site(run.site))
        return replace(work, text=text, sensitive=True, secrets=(bound,))

    async def forget_code(self, command: InputCommand) -> None:
        """Delete the key of a code that was entered. Without a store the key goes when its time is over."""
        code, run = command.code, command.context.run
        if code is None or self._codes is None:
            return
        try:
            await self._codes.forget(tenant=run.tenant, run_id=run.run_id, question=code.question)
        except StoreUnavailable as exc:
            _log.warning("the key of question %s is not deleted yet: %s", code.question, exc)

    async def _one_time(self, name: str, value: str) -> str:
        """Return the one-time password of now, or of the next period if this one is nearly over; redact it."""
        totp = totp_of(name, value)
        await asyncio.sleep(totp.wait_s(time.time()))
        code = totp.at(time.time())
        self.secrets.remember(name, code)
        return code

    def _bound(self, name: str) -> BoundSecret:
        return BoundSecret(name, self.secrets.domains(name))

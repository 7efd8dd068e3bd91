"""Every error that Replaywright raises, as one tree.

ReplaywrightError
├── InputInvalid               a task file, parameter or option is wrong (exit code 2)
│   ├── Mistakes               a file has mistakes: one line for each
│   └── RunExists              there is a run with the id that a new one was to have
├── SettingsInvalid            an environment variable or option of the process is wrong
├── SecretMissing              a secret that a step names has no value here
├── PolicyBlocked              a rule of the policy forbids what was to be done
├── StackFailed                a part of the local stack (Temporal, Redis, Chromium, worker) did not start
│   ├── ChromiumMissing
│   └── NoPlace                this host has no place for another browser at the moment: whoever wants one waits
├── StoreUnavailable           Redis cannot be reached or refuses writes; the step may be repeated later
├── ValueTooLarge              a value is over the limit of where it was to be kept: never retried
├── SealBroken                 what is encrypted cannot be read here: the key is not known, or it was altered
├── ArtifactMissing            a digest that a record names is not in the artifact store
├── ArtifactsUnavailable       the artifact store cannot be reached or refuses writes: the run goes on without
├── CodeLost                   a code that a person gave cannot be read any more: it is asked for again
├── NoticeFailed               a delivery of notices did not arrive: it is tried again, and no run waits for it
├── DoneElsewhere              the lineage has an intent, or more, for the same act under another fingerprint
├── RequestFailed              a request to a site, sent without a browser, got no answer that can be used
│   ├── RequestNotSent         no byte of it has left: certain
│   └── RequestInDoubt         it may have arrived
├── SessionLost                the live browser of this run is gone, or no longer ours
│   ├── Fenced                 a newer attempt owns this session or step
│   ├── KeeperUnavailable      the keeper's control socket does not answer
│   └── KeeperRefused          the keeper understood the request and said no
├── ActionFailed               the browser could not perform the action (reason code inside)
└── ModelFailed                the model gave no usable answer
    ├── ModelMisconfigured     no model, no key, unknown name, request refused as malformed: never retried
    ├── ModelRateLimited       ask again after `retry_after_s`
    ├── ModelUnavailable       time-out, connection or server error: retried
    ├── ModelRefused           the model declined, or answered nothing usable
    └── PlanRefused            a model's plan breaks a rule, which it is told once
"""

from collections.abc import Sequence


class ReplaywrightError(Exception):
    """The base of all errors that Replaywright raises on purpose."""


class InputInvalid(ReplaywrightError):
    """Input of the user is wrong; the message names place, value and remedy."""


class Mistakes(InputInvalid):
    """A file that people write has mistakes."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = tuple(lines)
        """One for each mistake: place, what was expected, remedy."""


class RunExists(InputInvalid):
    """There is, or was, a run with this id: an id serves once, as the ledger belongs to it."""


class SettingsInvalid(ReplaywrightError):
    """A setting of this process is wrong; the message names the variable and what was expected."""


class SealBroken(ReplaywrightError):
    """Encrypted data cannot be read here: its key is not known, or it was altered."""


class SecretMissing(ReplaywrightError):
    """A step names a secret that has no value on this worker."""


class PolicyBlocked(ReplaywrightError):
    """A rule of the policy forbids what was to be done."""

    def __init__(self, message: str, *, rule: str, dispatched: bool = False) -> None:
        super().__init__(message)
        self.rule = rule
        """Its name, such as `policy 'back-office': actions.deny`."""
        self.dispatched = dispatched
        """Input may have reached the page. False is a promise; True is not."""


class StackFailed(ReplaywrightError):
    """A part of the local stack did not start, or stopped."""


class ChromiumMissing(StackFailed):
    """No Chromium was found and none could be installed."""


class NoPlace(StackFailed):
    """This host has no place for another browser at the moment."""


class StoreUnavailable(ReplaywrightError):
    """Redis cannot be reached or refuses writes."""


class SiteUnavailable(ReplaywrightError):
    """A site does not answer what was asked of it, so that nobody can tell."""


class MailboxFailed(ReplaywrightError):
    """A mailbox cannot be read at the moment."""


class MailboxRefused(MailboxFailed):
    """A mailbox does not let its user in: asked again, its server might lock it."""


class ValueTooLarge(ReplaywrightError):
    """A value is over the limit of where it was to be kept; large values belong in the artifact store."""


class ArtifactMissing(ReplaywrightError):
    """No artifact is stored under this digest."""


class ArtifactsUnavailable(ReplaywrightError):
    """The artifact store cannot be reached or refuses reads or writes (no space, no permission)."""


class PictureUnread(ReplaywrightError):
    """A picture could not be searched for secrets, so that it cannot be kept."""


class SessionLost(ReplaywrightError):
    """The live browser of this run is gone, or no longer ours."""

    untouched = False
    """The step that noticed it had certainly not given any input yet."""


class Fenced(SessionLost):
    """A newer attempt owns this session or step; this one must stop."""


class CodeLost(ReplaywrightError):
    """A code that a person gave cannot be read any more."""


class NoticeFailed(ReplaywrightError):
    """A delivery of notices did not arrive."""


class RequestFailed(ReplaywrightError):
    """A request to a site, sent without a browser, got no answer that can be used."""


class RequestNotSent(RequestFailed):
    """No byte of a request has left: certain."""


class RequestInDoubt(RequestFailed):
    """A request may have arrived, and nobody knows what came of it."""


class DoneElsewhere(ReplaywrightError):
    """The lineage knows the same act under another fingerprint: it may be done already, or be in doubt."""

    def __init__(self, fingerprint: str) -> None:
        super().__init__(f"the same act was intended as step {fingerprint[:12]}")
        self.fingerprint = fingerprint
        """Fingerprint of the step that has the act."""


class KeeperUnavailable(SessionLost):
    """The session keeper's control socket does not answer."""


class KeeperRefused(SessionLost):
    """The session keeper understood the request and refused it."""


class ActionFailed(ReplaywrightError):
    """The browser could not perform the action; nothing says that it had no effect."""

    def __init__(self, reason: str, message: str, *, dispatched: bool) -> None:
        super().__init__(message)
        self.reason = reason
        """A short code: `timeout`, `detached`, `not_editable`, `no_such_option`, `navigation_failed`, …"""
        self.dispatched = dispatched
        """Input may have reached the page. False is a promise; True is not."""


class ModelFailed(ReplaywrightError):
    """The model gave no usable answer."""


class ModelMisconfigured(ModelFailed):
    """No model is configured, or the provider refuses the request for what it is. Not retried."""


class ModelRateLimited(ModelFailed):
    """The provider asks to wait."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        """Value of `Retry-After`; None when the provider sent none."""


class ModelUnavailable(ModelFailed):
    """The provider timed out, could not be reached, or failed on its side. Retried."""


class ModelRefused(ModelFailed):
    """The model declined, or its answer stayed unusable after it was asked again."""


class ProbeRefused(ModelFailed):
    """A probe that a model proposes breaks a rule; the message says which, for the model to read."""


class PlanRefused(ModelFailed):
    """A plan that a model made breaks a rule; the message says which, for the model to read."""

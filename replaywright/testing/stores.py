"""Rules, artifacts, codes and secrets, in memory."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replaywright.domain.secrets.redaction import Redactor, redact
from replaywright.domain.secrets.secret_sites import Site
from replaywright.domain.secrets.starts import Admission
from replaywright.domain.step.overrides import OverrideRule, rules_for
from replaywright.errors import (
    ArtifactMissing,
    ArtifactsUnavailable,
    CodeLost,
    PictureUnread,
    SecretMissing,
)


class FakeOverrides:
    """An `Overrides` with the given rules, for every tenant."""

    def __init__(self, rules: Sequence[OverrideRule] = ()) -> None:
        self.known = tuple(rules)

    async def rules(self, tenant: str, host: str) -> tuple[OverrideRule, ...]:
        """Those for `host`."""
        del tenant
        return rules_for(self.known, host)


class FakeArtifacts:
    """`Artifacts` in memory; a test may take a value out of `values`, or change it."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.is_away = False
        """While set, every method raises `ArtifactsUnavailable`."""

    async def put(self, data: bytes) -> str:
        """Store and return the SHA-256."""
        self._must_answer()
        digest = hashlib.sha256(data).hexdigest()
        self.values[digest] = data
        return digest

    async def put_file(self, path: Path) -> str:
        """Store the content of a file."""
        self._must_answer()
        try:
            return await self.put(path.read_bytes())
        except OSError as exc:
            raise ArtifactsUnavailable(f"{path} cannot be read: {exc}") from exc

    async def get(self, digest: str) -> bytes:
        """Return the value, if it is there and unaltered."""
        self._must_answer()
        data = self.values.get(digest)
        if data is None or hashlib.sha256(data).hexdigest() != digest:
            raise ArtifactMissing(f"no artifact {digest!r}")
        return data

    def _must_answer(self) -> None:
        if self.is_away:
            raise ArtifactsUnavailable("the fake artifact store is away")


class FakeCodes:
    """`Codes` that remember what was asked; a code is its own seal."""

    def __init__(self) -> None:
        self.keys: dict[tuple[str, str, str], float] = {}
        """Lifetimes in seconds by tenant, run and question."""

    async def offer(self, *, tenant: str, run_id: str, question: str, ttl_s: float) -> str:
        """Keep a key."""
        self.keys[tenant, run_id, question] = ttl_s
        return f"key of {question}"

    async def seal(self, *, tenant: str, run_id: str, question: str, code: str, ttl_s: float) -> str:
        """Keep a key; the code is its own seal."""
        await self.offer(tenant=tenant, run_id=run_id, question=question, ttl_s=ttl_s)
        return code

    async def read(self, *, tenant: str, run_id: str, question: str, sealed: str) -> str:
        """Unseal a code while its key is kept."""
        if (tenant, run_id, question) not in self.keys:
            raise CodeLost(f"the key of question {question} is gone")
        return sealed

    async def forget(self, *, tenant: str, run_id: str, question: str) -> None:
        """Delete the key."""
        self.keys.pop((tenant, run_id, question), None)


class FakeStarts:
    """`Starts` of executions that were all started so."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault

    async def of(self, run_id: str, execution: str) -> Admission:
        """Admit the execution, unless there is a fault."""
        return Admission(fault=self.fault, admitted="" if self.fault else f"{run_id}/{execution}")


class FakeFirstStarts:
    """`FirstStarts` in memory."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    async def first(self, tenant: str, run_id: str, execution: str) -> str:
        """Return the first execution of the id."""
        return self._known.setdefault((tenant, run_id), execution)


class FakeSecrets:
    """`Secrets` from a mapping."""

    def __init__(
        self, values: Mapping[str, str] | None = None, bound: Mapping[str, tuple[Site, ...]] | None = None
    ) -> None:
        self._values = dict(values or {})
        self._bound = dict(bound or {})
        self._passing: dict[str, str] = {}
        self.unread = ""
        """Why no picture can be searched."""

    def check(self, name: str) -> None:
        """See that it has a value."""
        self.resolve(name)

    def domains(self, name: str) -> tuple[Site, ...]:
        """Sites that it is bound to."""
        return self._bound.get(name, ())

    def resolve(self, name: str) -> str:
        """Return the value."""
        if not self._values.get(name):
            raise SecretMissing(f"secret {name!r} has no value here; set REPLAYWRIGHT_SECRET_{name}")
        return self._values[name]

    def remember(self, name: str, value: str) -> None:
        """Redact it, too."""
        self._passing[name] = value

    def redact(self, text: str) -> str:
        """`text` without the values."""
        return redact(redact(text, self._values), self._passing)

    async def redact_picture(self, data: bytes, within_s: float) -> bytes:  # noqa: ARG002  as the port has it
        """Return the picture as it is, or raise what `unread` says."""
        if self.unread:
            raise PictureUnread(self.unread)
        return data

    def redact_data(self, value: Any) -> Any:
        """`value` without the values."""
        return Redactor(self._passing.items()).data(Redactor(self._values.items()).data(value))

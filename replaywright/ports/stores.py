"""What an activity needs of the other stores: skills, rules, rows, files, starts and secrets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from replaywright.domain.batch.batches import RowEnd
from replaywright.domain.recall.recall import Outcome, RecallRecord
from replaywright.domain.secrets.secret_sites import Site
from replaywright.domain.secrets.starts import Admission
from replaywright.domain.site_session.codes import CodeSource
from replaywright.domain.site_session.definitions import Definition
from replaywright.domain.skill.skills import Skill, SkillRecord, SkillRun, SkillStatistics, SkillStatus
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.tasks import Task


class DeclaredSessions(Protocol):
    """The operator's file of site sessions and sources of codes, read anew each time.

    Every method raises `InputInvalid` where the file cannot be used, or has nothing of that name.
    """

    def definition(self, name: str) -> Definition:
        """The definition of a site session."""

    def sign_in_task(self, definition: Definition) -> Task:
        """The task file that signs in."""

    def code_source(self, name: str) -> CodeSource:
        """A source of codes."""


class Overrides(Protocol):
    """The override rules: those shipped, those of this worker's folder and those of the tenant."""

    async def rules(self, tenant: str, host: str) -> tuple[OverrideRule, ...]:
        """The rules for `host` (with its port). Answers from memory; a source that fails is logged, and left out."""


class Skills(Protocol):
    """The knowledge base: the skills of each tenant, in versions.

    Every method may raise `StoreUnavailable`, and may be called again after it. What is damaged, or of a newer schema,
    is left out with a warning that names its key.
    """

    async def save(self, tenant: str, skill: Skill, *, who: str, reason: str = "") -> Skill:
        """Add a version and return it with its number and time; the same one from the same run is added once.

        With the status `active` it retires the versions before it, as `set_status` does. Of the versions that are not
        active only the newest are kept.

        Raises:
            ValueTooLarge: over 256 KiB as JSON.
        """

    async def get(self, tenant: str, name: str, version: int | None = None) -> Skill | None:
        """Return that version; without one the newest active, else the newest."""

    async def record(self, tenant: str, name: str) -> SkillRecord | None:
        """All that is known of a skill; the statistics of steps are those of the version that it holds."""

    async def all(self, tenant: str, site: str | None = None) -> Sequence[Skill]:
        """One version of each skill, as `get` chooses it, by name; of one site (origin) only, if it is given.

        The empty site is that of the skills that have none. What did not change since the last call is answered from
        memory.
        """

    async def revision(self, tenant: str, site: str | None = None) -> str:
        """Another text whenever `all` answers otherwise: ask for it first, and keep what was made of the answer."""

    async def statistics(self, tenant: str, skills: Sequence[Skill]) -> Mapping[str, SkillStatistics]:
        """Return the statistics of these versions, by their names."""

    async def set_status(
        self, tenant: str, name: str, version: int, status: SkillStatus, *, who: str, reason: str
    ) -> bool:
        """Change a version's status. False if it is not there.

        Making one active retires the versions before it, and any other that is active.
        """

    async def note_run(self, tenant: str, name: str, run: SkillRun) -> None:
        """Count a run; the same run counts once. One that failed makes its version suspect if that is active.

        Runs of a skill that is gone are not counted.
        """

    async def delete(self, tenant: str, name: str, *, who: str) -> bool:
        """Remove all versions; False if there is none. The history of the name stays, and its numbers go on."""

    async def claim(self, tenant: str, key: str, run_id: str, ttl_s: float) -> str:
        """The run that learns what `key` stands for: `run_id` if it is free or its own, else the other one.

        A claim ends by itself `ttl_s` seconds after it was made or made again.
        """

    async def release(self, tenant: str, key: str, run_id: str) -> None:
        """Give a claim up; nothing if it is another run's."""


class Recalls(Protocol):
    """Recalls and their outcomes: the newest two thousand of each tenant.

    Every method may raise `StoreUnavailable`.
    """

    async def note(self, tenant: str, record: RecallRecord) -> None:
        """Keep one decision; the same run's last one on a skill counts."""

    async def note_outcome(self, tenant: str, run_id: str, outcome: Outcome) -> None:
        """Keep what became of the recall that a run began with; nothing if there is none."""

    async def recent(self, tenant: str) -> Sequence[RecallRecord]:
        """Oldest first, each with what became of it. What is damaged is left out."""


class RowEnds(Protocol):
    """Ends of the rows of batches. Every method may raise `StoreUnavailable`."""

    async def note(self, tenant: str, batch: str, ends: Sequence[RowEnd]) -> None:
        """Keep these, in the place of what was kept of the same rows."""

    async def ends(self, tenant: str, batch: str, numbers: Sequence[int]) -> dict[int, RowEnd]:
        """Return the ends of those of these rows that have ended, by number."""


class Artifacts(Protocol):
    """Content-addressed store for large values.

    Every method raises `ArtifactsUnavailable` when the store cannot be reached or has no space, or a file cannot be
    read. A run goes on without the artifact.
    """

    async def put(self, data: bytes) -> str:
        """Store and return the SHA-256, hexadecimal; storing what is there already changes nothing."""

    async def put_file(self, path: Path) -> str:
        """Store the content of a file, of any size, and return its SHA-256 as `put` does."""

    async def get(self, digest: str) -> bytes:
        """The value whose SHA-256 is `digest`.

        Raises:
            ArtifactMissing: it is not there, or what is there has another digest.
        """


class Starts(Protocol):
    """Starts of workflow executions."""

    async def of(self, run_id: str, execution: str) -> Admission:
        """Return how this execution of the workflow `run_id` was started, by the server's word."""


class FirstStarts(Protocol):
    """Run ids that have served."""

    async def first(self, tenant: str, run_id: str, execution: str) -> str:
        """The first execution that had this id: `execution`, unless there was one before. May be called again.

        Raises:
            StoreUnavailable: it cannot be asked at the moment.
        """


class Secrets(Protocol):
    """Values of secrets, by name, on this worker only."""

    def resolve(self, name: str) -> str:
        """The value, which a vault may take its time for. Raises `SecretMissing` with the name of the variable."""

    def check(self, name: str) -> None:
        """See that it has one source, which is not asked. Raises `SecretMissing` with the names of the variables."""

    def domains(self, name: str) -> tuple[Site, ...]:
        """Sites that it is bound to; none where nobody bound it. Raises `SecretMissing` where that cannot be read."""

    def redact(self, text: str) -> str:
        """`text` with every known secret, in any common encoding, replaced by `{{secret:NAME}}`."""

    async def redact_picture(self, data: bytes, within_s: float) -> bytes:
        """The picture with every known secret painted over that is drawn in it, where something here can read that.

        Raises:
            PictureUnread: it could not be read, or not in time; it must not be kept.
        """

    def remember(self, name: str, value: str) -> None:
        """From now on `value` is redacted, too: a code that is made or given for one use. The oldest are forgotten."""

    def redact_data(self, value: Any) -> Any:
        """JSON-like data (mappings with their keys, lists, texts, numbers) with every known secret replaced."""

"""A knowledge base in memory; its clock moves on by one second with every change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from replaywright.domain.skill.skills import (
    HISTORY_KEPT,
    Rate,
    Skill,
    SkillChange,
    SkillRecord,
    SkillRun,
    SkillStatistics,
    SkillStatus,
)
from replaywright.errors import ReplaywrightError

_VERSIONS_KEPT = 20
_SAVED_AS = {"learned": "relearned", "relearned": "relearned", "imported": "imported", "written": "edited"}
_WORDS = {
    SkillStatus.ACTIVE: "restored",
    SkillStatus.SUSPECT: "suspected",
    SkillStatus.RETIRED: "invalidated",
    SkillStatus.CANDIDATE: "reset",
}


@dataclass
class _Known:
    """One skill."""

    versions: dict[int, Skill] = field(default_factory=dict)
    last: int = 0
    history: list[SkillChange] = field(default_factory=list)
    runs: Rate = field(default_factory=Rate)
    steps: dict[tuple[int, int], Rate] = field(default_factory=dict)
    """Success rates by version and step."""
    last_success: float = 0.0
    last_failure: float = 0.0
    seen: set[str] = field(default_factory=set)

    @property
    def chosen(self) -> Skill | None:
        active = [skill for skill in self.versions.values() if skill.status is SkillStatus.ACTIVE]
        newest = [*self.versions.values(), *active]
        return newest[-1] if newest else None


class FakeSkills:
    """The `Skills` of `replaywright.ports`."""

    def __init__(self, *skills: Skill, tenant: str = "default") -> None:
        """Store these skills of a tenant, each as its first version with its own status."""
        self.now = 0.0
        """Seconds; a claim that began earlier than its time to live before this has ended."""
        self.calls: list[str] = []
        """Names of the methods called."""
        self.fail: ReplaywrightError | None = None
        """Raised by every call while it is set."""
        self._known: dict[tuple[str, str], _Known] = {}
        self._claims: dict[tuple[str, str], tuple[str, float]] = {}
        self._changes: dict[tuple[str, str | None], int] = {}
        for skill in skills:
            self._add(tenant, skill, who="a test", reason="")

    async def save(self, tenant: str, skill: Skill, *, who: str, reason: str = "") -> Skill:
        """Add a version; see the port."""
        self._called("save")
        return self._add(tenant, skill, who=who, reason=reason)

    async def get(self, tenant: str, name: str, version: int | None = None) -> Skill | None:
        """Return one version; see the port."""
        self._called("get")
        known = self._of(tenant, name)
        return known.chosen if version is None else known.versions.get(version)

    async def record(self, tenant: str, name: str) -> SkillRecord | None:
        """Return all that is known of a skill; see the port."""
        self._called("record")
        known = self._of(tenant, name)
        if known.chosen is None:
            return None
        return SkillRecord(
            skill=known.chosen,
            versions=tuple(known.versions),
            statistics=_statistics(known, known.chosen.version),
            history=tuple(known.history),
        )

    async def all(self, tenant: str, site: str | None = None) -> Sequence[Skill]:
        """Return one version of each skill; see the port."""
        self._called("all")
        return self._all(tenant, site)

    async def revision(self, tenant: str, site: str | None = None) -> str:
        """Another text whenever `all` answers otherwise; see the port."""
        self._called("revision")
        return str(self._changes.get((tenant, site), ""))

    async def statistics(self, tenant: str, skills: Sequence[Skill]) -> Mapping[str, SkillStatistics]:
        """Return the statistics of these versions; see the port."""
        self._called("statistics")
        return {skill.name: _statistics(self._of(tenant, skill.name), skill.version) for skill in skills}

    async def set_status(
        self, tenant: str, name: str, version: int, status: SkillStatus, *, who: str, reason: str
    ) -> bool:
        """Change a version's status; see the port."""
        self._called("set_status")
        known = self._of(tenant, name)
        if version not in known.versions:
            return False
        before = self._all(tenant)
        self._set(known, version, status, who=who, reason=reason)
        self._stamp(tenant, before)
        return True

    async def note_run(self, tenant: str, name: str, run: SkillRun) -> None:
        """Count a run; see the port."""
        self._called("note_run")
        known = self._of(tenant, name)
        if not known.versions or run.run_id in known.seen:
            return
        known.seen.add(run.run_id)
        known.runs = known.runs.with_run(run.succeeded)
        if run.succeeded:
            known.last_success = self._tick()
        else:
            known.last_failure = self._tick()
        skill = known.versions.get(run.version)
        if skill is None:
            return
        went = dict.fromkeys(range(run.steps_done), True)
        if run.failed_step is not None and not run.outside:
            went[run.failed_step] = False
        for step, succeeded in went.items():
            place = (run.version, step)
            known.steps[place] = known.steps.get(place, Rate()).with_run(succeeded)
        if not run.succeeded and not run.outside and skill.status is SkillStatus.ACTIVE:
            before = self._all(tenant)
            self._set(known, run.version, SkillStatus.SUSPECT, who=run.run_id, reason=run.why)
            self._stamp(tenant, before)

    async def delete(self, tenant: str, name: str, *, who: str) -> bool:
        """Remove all versions; see the port."""
        self._called("delete")
        known = self._of(tenant, name)
        if not known.versions:
            return False
        before = self._all(tenant)
        self._note(known, max(known.versions), "deleted", who, "")
        self._known[tenant, name] = _Known(last=known.last, history=known.history)
        self._stamp(tenant, before)
        return True

    async def claim(self, tenant: str, key: str, run_id: str, ttl_s: float) -> str:
        """Return the learner of `key`; see the port."""
        self._called("claim")
        holder, until = self._claims.get((tenant, key), (run_id, 0.0))
        if holder != run_id and until > self.now:
            return holder
        self._claims[tenant, key] = (run_id, self.now + ttl_s)
        return run_id

    async def release(self, tenant: str, key: str, run_id: str) -> None:
        """Give a claim up; see the port."""
        self._called("release")
        if self._claims.get((tenant, key), ("", 0.0))[0] == run_id:
            del self._claims[tenant, key]

    def _add(self, tenant: str, skill: Skill, *, who: str, reason: str) -> Skill:
        known = self._known.setdefault((tenant, skill.name), _Known())
        unchanged = {"version", "status", "created"}
        wanted = skill.model_dump(exclude=unchanged)
        for old in known.versions.values():
            if skill.run_id and old.model_dump(exclude=unchanged) == wanted:
                return old
        before = self._all(tenant)
        known.last += 1
        first = "imported" if skill.origin == "imported" else "created"
        self._note(known, known.last, _SAVED_AS[skill.origin] if known.versions else first, who, reason)
        saved = skill.model_copy(update={"version": known.last, "created": self.now})
        known.versions[known.last] = saved
        if skill.status is SkillStatus.ACTIVE:
            self._note(known, known.last, "activated", who, reason)
            self._replace_with(known, known.last, who)
        spare = [number for number, old in known.versions.items() if old.status is not SkillStatus.ACTIVE]
        while len(known.versions) > _VERSIONS_KEPT:
            dropped = spare.pop(0)
            del known.versions[dropped]
            known.steps = {place: rate for place, rate in known.steps.items() if place[0] != dropped}
        self._stamp(tenant, before)
        return saved

    def _set(self, known: _Known, version: int, status: SkillStatus, *, who: str, reason: str) -> None:
        skill = known.versions[version]
        if skill.status is not status:
            is_first = (skill.status, status) == (SkillStatus.CANDIDATE, SkillStatus.ACTIVE)
            known.versions[version] = skill.model_copy(update={"status": status})
            self._note(known, version, "activated" if is_first else _WORDS[status], who, reason)
        if status is SkillStatus.ACTIVE:
            self._replace_with(known, version, who)

    def _replace_with(self, known: _Known, version: int, who: str) -> None:
        for number, skill in known.versions.items():
            is_before = number < version and skill.status is not SkillStatus.RETIRED
            if number != version and (is_before or skill.status is SkillStatus.ACTIVE):
                known.versions[number] = skill.model_copy(update={"status": SkillStatus.RETIRED})
                self._note(known, number, "retired", who, f"version {version} took its place")

    def _note(self, known: _Known, version: int, what: str, who: str, reason: str) -> None:
        known.history.append(SkillChange(at=self._tick(), version=version, what=what, who=who, reason=reason))
        del known.history[:-HISTORY_KEPT]

    def _all(self, tenant: str, site: str | None = None) -> tuple[Skill, ...]:
        chosen = [known.chosen for (whose, _), known in sorted(self._known.items()) if whose == tenant]
        return tuple(skill for skill in chosen if skill is not None and (site is None or skill.site == site))

    def _stamp(self, tenant: str, before: tuple[Skill, ...]) -> None:
        old, new = ({skill.name: skill for skill in skills} for skills in (before, self._all(tenant)))
        changed = [name for name in {*old, *new} if old.get(name) != new.get(name)]
        sites: set[str | None] = {skills[name].site for skills in (old, new) for name in changed if name in skills}
        for site in sites | ({None} if changed else set()):
            self._changes[tenant, site] = self._changes.get((tenant, site), 0) + 1

    def _of(self, tenant: str, name: str) -> _Known:
        return self._known.get((tenant, name), _Known())

    def _tick(self) -> float:
        self.now += 1
        return self.now

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.fail is not None:
            raise self.fail


def _statistics(known: _Known, version: int) -> SkillStatistics:
    return SkillStatistics(
        runs=known.runs,
        steps={step: rate for (number, step), rate in sorted(known.steps.items()) if number == version},
        last_success=known.last_success,
        last_failure=known.last_failure,
    )

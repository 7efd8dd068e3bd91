"""`replaywright skills` on a real server: what it shows, what it changes, and what it refuses."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typer.testing import CliRunner

from cache.connection import open_redis
from cache.skills import RedisSkills
from cache.steps import RedisStepStore
from replaywright.cli.commands import app
from replaywright.cli.skills.skill_run import runnable
from replaywright.cli.skills.skill_store import KnowledgeBase, as_yaml
from replaywright.domain.skill.entries import ActionCacheEntry
from replaywright.domain.skill.skills import Skill, SkillRecord, SkillStatus
from replaywright.errors import InputInvalid
from replaywright.settings import PREFIX
from tests.unit.skills import SITE, learned, run, skill

_Result = TypeVar("_Result")

ACTIVE, SUSPECT = SkillStatus.ACTIVE, SkillStatus.SUSPECT


class Base:
    """The commands, and the knowledge base behind them."""

    def __init__(self, redis_url: str) -> None:
        self.url = redis_url

    def does(self, work: Callable[[RedisSkills], Awaitable[_Result]]) -> _Result:
        async def done() -> _Result:
            async with open_redis(self.url) as client:
                return await work(RedisSkills(client))

        return asyncio.run(done())

    def add(self, one: Skill) -> Skill:
        return self.does(lambda skills: skills.save("default", one, who="r1"))

    def stored(self, work: Callable[[RedisStepStore], Awaitable[_Result]]) -> _Result:
        async def done() -> _Result:
            async with open_redis(self.url) as client:
                return await work(RedisStepStore(client))

        return asyncio.run(done())

    def learns(self, entry: ActionCacheEntry) -> None:
        async def kept(store: RedisStepStore) -> None:
            await store.keep(tenant="default", run_id="r1", entry=entry)
            await store.promote(tenant="default", run_id="r1", content_keys=[entry.content_key])

        self.stored(kept)

    def forgets(self) -> None:
        """Empty the server."""

        async def gone() -> None:
            async with open_redis(self.url) as client:
                await client.flushall()

        asyncio.run(gone())

    def entries(self) -> list[ActionCacheEntry]:
        return [info.entry for info in self.stored(lambda store: store.entries(tenant="default"))]

    def record(self, name: str = "send-mail") -> SkillRecord | None:
        return self.does(lambda skills: skills.record("default", name))

    def cli(self, *arguments: str, given: str = "") -> Any:
        return CliRunner().invoke(app, ["skills", *arguments], input=given, env={"COLUMNS": "300"})

    def said(self, *arguments: str, given: str = "") -> str:
        result = self.cli(*arguments, given=given)
        assert result.exit_code == 0, (result.stdout, result.stderr, result.exception)
        return str(result.stdout)

    def refused(self, *arguments: str) -> str:
        result = self.cli(*arguments)
        assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
        [line] = result.stderr.splitlines()
        return str(line)


@pytest.fixture
def base(redis_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Base:
    for name in ("TEMPORAL_ADDRESS", "REPLAYWRIGHT_TEMPORAL_ADDRESS", "REPLAYWRIGHT_TENANT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{PREFIX}HOME", str(tmp_path / "home"))
    monkeypatch.setenv(f"{PREFIX}REDIS_URL", redis_url)
    return Base(redis_url)


def test_the_list_shows_status_rate_and_last_success(base: Base) -> None:
    base.add(skill(status=ACTIVE))
    base.add(skill("archive-mail", site=""))
    base.does(lambda skills: skills.note_run("default", "send-mail", run("r1")))
    base.does(lambda skills: skills.note_run("default", "archive-mail", run("r2", succeeded=False)))

    table = base.said("list").splitlines()
    [active] = json.loads(base.said("list", "--status", "active", "--json"))["skills"]

    assert [line.split()[:3] for line in table if "-mail" in line] == [
        ["archive-mail", "candidate", "anywhere"],
        ["send-mail", "active", "http://mail.example"],
    ]
    assert "100 %" in table[-1] + table[-2]
    assert (active["name"], active["version"], active["successRate"]) == ("send-mail", 1, 1.0)
    assert active["lastSuccess"] > 0
    assert json.loads(base.said("list", "--site", "nowhere", "--json")) == {"skills": []}


def test_an_empty_list_says_how_to_begin(base: Base) -> None:
    assert "skills import FILE" in base.said("list")


def test_a_skill_is_shown_with_its_steps_parameters_rates_and_history(base: Base) -> None:
    base.add(skill(status=ACTIVE))
    failed = run("r2", succeeded=False, steps_done=1, failed_step=1, reason="not_found")
    base.does(lambda skills: skills.note_run("default", "send-mail", run("r1")))
    base.does(lambda skills: skills.note_run("default", "send-mail", failed))

    shown = base.said("show", "send-mail")
    data = json.loads(base.said("show", "send-mail", "--json"))

    assert "version 1 is suspect" in shown
    assert "给 {{to}} 发邮件" in shown
    assert "to: email" in shown
    assert "secrets: PASSWORD" in shown
    assert "2. fill To = {{to}} (50 % of the last 2)" in shown
    assert "version 1 suspected by r2: step 2: not_found" in shown
    assert data["statistics"]["runs"]["recent"] == [True, False]
    assert [change["what"] for change in data["history"]] == ["created", "activated", "suspected"]


def test_a_name_that_is_not_there_says_which_are_near(base: Base) -> None:
    base.add(skill())
    base.add(skill("open-report"))

    assert "there is no skill 'send-mial'; near: send-mail (" in base.refused("show", "send-mial")
    assert "near: open-report" in base.refused("show", "report")
    assert "none has a name like it" in base.refused("delete", "xyz", "--yes")
    assert "skill 'send-mail' has no such version that can be read; it has: 1" in base.refused(
        "show", "send-mail", "--version", "9"
    )


def test_a_skill_that_was_exported_is_imported_elsewhere_as_a_candidate(base: Base, tmp_path: Path) -> None:
    base.add(skill(status=ACTIVE))
    file = tmp_path / "skills.yaml"
    base.said("export", "-o", str(file))
    first = file.read_text(encoding="utf-8")
    base.said("delete", "send-mail", "--yes")

    told = base.said("import", str(file))
    base.said("export", "send-mail", "-o", str(file))

    record = base.record()
    assert record is not None
    assert (record.skill.status, record.skill.origin, record.skill.task) == ("candidate", "imported", skill().task)
    assert "imported as version 2, a candidate: `replaywright skills run send-mail` verifies it" in told
    assert file.read_text(encoding="utf-8") == first


def test_json_is_exported_and_imported_too(base: Base, tmp_path: Path) -> None:
    base.add(skill(status=ACTIVE))
    file = tmp_path / "skills.json"
    base.said("export", "-o", str(file))

    told = json.loads(base.said("import", str(file), "--json"))

    assert json.loads(file.read_text(encoding="utf-8"))["skills"][0]["name"] == "send-mail"
    assert told == {"skills": [{"name": "send-mail", "version": 1, "imported": False}], "elements": 0}


def test_what_was_learned_of_the_elements_goes_with_the_skill_when_asked_for(base: Base, tmp_path: Path) -> None:
    given, file = skill(status=ACTIVE), tmp_path / "send-mail.yaml"
    base.add(given)
    base.learns(learned(given.task.steps[0], f"{SITE}/compose"))

    base.said("export", "send-mail", "-o", str(file))
    without = file.read_text(encoding="utf-8")
    result = base.cli("export", "send-mail", "--elements", "-o", str(file))
    base.forgets()
    base.said("import", str(file))
    again = json.loads(base.said("import", str(file), "--json"))

    assert "elements:" not in without
    assert "nothing that a run has verified is recorded for `click Send`" in result.stderr
    assert "the password" not in result.stderr
    [entry] = base.entries()
    assert (entry.name, entry.effect, entry.status, entry.origin) == ("Password", "idempotent", "active", "imported")
    assert again["elements"] == 0


def test_elements_that_are_known_here_are_not_replaced_by_those_of_a_file(base: Base, tmp_path: Path) -> None:
    given, file = skill(status=ACTIVE), tmp_path / "send-mail.yaml"
    base.add(given)
    base.learns(learned(given.task.steps[0], f"{SITE}/compose"))
    base.said("export", "send-mail", "--elements", "-o", str(file))
    base.forgets()
    base.learns(learned(given.task.steps[0], f"{SITE}/compose", name="Passphrase"))

    base.said("import", str(file))

    assert [entry.name for entry in base.entries()] == ["Passphrase"]


def test_an_import_over_an_active_version_leaves_that_one_in_use(base: Base, tmp_path: Path) -> None:
    base.add(skill(status=ACTIVE))
    file = tmp_path / "skill.yaml"
    file.write_text(as_yaml(skill(label="Send it")), encoding="utf-8")

    told = base.said("import", str(file))

    record = base.record()
    assert record is not None
    assert (record.skill.version, record.versions) == (1, (1, 2))
    assert "--version 2` verifies it; until then version 1 is run" in told


def test_nothing_is_imported_when_anything_is_wrong(base: Base, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(as_yaml(skill()), encoding="utf-8")
    bad.write_text(as_yaml(skill("other")).replace("action: click", "action: clack"), encoding="utf-8")

    line = base.refused("import", str(good), str(bad))

    assert line.startswith(f"{bad}:28: task.steps[2]: unknown action 'clack'; did you mean 'click'?")
    assert base.record() is None
    assert "is in these files twice" in base.refused("import", str(good), str(good))


def test_the_value_of_a_secret_is_neither_imported_nor_exported(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.add(skill(label="Log in with correct-horse"))
    file = tmp_path / "skill.yaml"
    file.write_text(as_yaml(skill("other", description="Say correct-horse")), encoding="utf-8")
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_PASSWORD", "correct-horse")

    lines = [base.refused("export"), base.refused("import", str(file))]

    assert all("holds the value of a secret" in line and "{{secret:PASSWORD}}" in line for line in lines)
    assert not any("correct-horse" in line for line in lines)


def test_an_edited_skill_is_a_new_version_that_is_active_with_consent(base: Base, tmp_path: Path) -> None:
    base.add(skill(status=ACTIVE))
    file = tmp_path / "skill.yaml"
    file.write_text(as_yaml(skill(label="Send it")), encoding="utf-8")

    told = base.said("edit", "send-mail", "--file", str(file), "--why", "shorter", "--yes")
    again = base.said("edit", "send-mail", "--file", str(file), "--yes")

    record = base.record()
    assert record is not None
    assert (record.skill.version, record.skill.status, record.skill.label) == (2, "active", "Send it")
    assert [(change.what, change.reason) for change in record.history[2:]] == [
        ("edited", "shorter"),
        ("activated", "shorter"),
        ("retired", "version 2 took its place"),
    ]
    assert "-label: Send a mail\n+label: Send it\n" in told
    assert again == "nothing was changed\n"


def test_without_consent_an_edited_version_stays_a_candidate(base: Base, tmp_path: Path) -> None:
    base.add(skill(status=ACTIVE))
    file = tmp_path / "skill.yaml"
    file.write_text(as_yaml(skill(label="Send it")), encoding="utf-8")

    base.said("edit", "send-mail", "--file", str(file), given="n\n")

    record = base.record()
    assert record is not None
    assert (record.skill.version, record.versions) == (1, (1, 2))


def test_an_editor_opens_on_the_skill_as_a_file(base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base.add(skill(status=ACTIVE))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "sed -i 's/^label: .*/label: Send it/'")

    base.said("edit", "send-mail", "--yes")

    record = base.record()
    assert record is not None
    assert (record.skill.version, record.skill.label) == (2, "Send it")


def test_what_is_wrong_in_the_edited_text_is_said_and_may_be_mended(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    base.add(skill(status=ACTIVE))
    monkeypatch.delenv("VISUAL", raising=False)
    script = "s#^site: nowhere#site: http://new.example#; s#^site: http://mail.*#site: nowhere#"
    monkeypatch.setenv("EDITOR", f"sed -i '{script}'")

    left = base.cli("edit", "send-mail", "--yes", given="n\n")
    mended = base.cli("edit", "send-mail", "--yes", given="y\n")

    record = base.record()
    assert record is not None
    assert left.exit_code == 2
    assert "the edited text: site: expected scheme, host and port" in left.stderr
    assert mended.exit_code == 0
    assert (record.versions, record.skill.site) == ((1, 2), "http://new.example:80")


def test_a_redis_that_evicts_is_warned_of_by_what_changes_skills(base: Base) -> None:
    base.add(skill(status=ACTIVE))

    async def evicting(policy: str) -> None:
        async with open_redis(base.url) as client:
            await client.config_set("maxmemory-policy", policy)

    asyncio.run(evicting("allkeys-lru"))
    try:
        result = base.cli("invalidate", "send-mail", "--why", "wrong folder")
    finally:
        asyncio.run(evicting("noeviction"))

    assert result.exit_code == 0
    assert "drops ledger records and skills" in result.stderr


@pytest.mark.parametrize("editor", ["false", "no-such-editor-anywhere", "'"])
def test_an_editor_that_does_not_work_changes_nothing(base: Base, monkeypatch: pytest.MonkeyPatch, editor: str) -> None:
    base.add(skill())
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor)

    assert base.refused("edit", "send-mail").startswith(f"EDITOR {editor!r}: ")


def test_an_invalidated_skill_is_restored_and_the_history_says_who_and_why(base: Base) -> None:
    base.add(skill(status=ACTIVE))

    base.said("invalidate", "send-mail", "--why", "wrong folder")
    invalidated = base.record()
    told = base.said("restore", "send-mail", "--why", "it was right")
    restored = base.record()

    assert invalidated is not None
    assert restored is not None
    assert (invalidated.skill.status, restored.skill.status) == ("retired", "active")
    assert told == "send-mail: version 1 is active\n"
    last = [(change.what, change.reason) for change in restored.history[-2:]]
    assert last == [("invalidated", "wrong folder"), ("restored", "it was right")]
    assert all(change.who for change in restored.history)


def test_restore_takes_the_suspect_version_and_not_an_unverified_one(base: Base) -> None:
    base.add(skill(status=SUSPECT))
    base.add(skill(label="never tried"))

    assert base.said("restore", "send-mail") == "send-mail: version 1 is active\n"
    assert "has no version that is suspect or retired" in base.refused("restore", "send-mail")


def test_an_empty_reason_is_refused(base: Base) -> None:
    base.add(skill())

    assert "--why is empty" in base.refused("invalidate", "send-mail", "--why", " ")


def test_two_versions_are_compared_line_by_line(base: Base) -> None:
    base.add(skill(status=ACTIVE))
    assert "has no version before 1" in base.refused("diff", "send-mail")
    base.add(skill(label="Send it"))

    lines = base.said("diff", "send-mail").splitlines()

    assert lines[:2] == ["--- send-mail version 1 (active)", "+++ send-mail version 2 (candidate)"]
    assert "-label: Send a mail" in lines
    assert "+label: Send it" in lines
    assert json.loads(base.said("diff", "send-mail", "1", "1", "--json"))["diff"] == []


def test_delete_asks_first(base: Base) -> None:
    base.add(skill())

    kept = base.said("delete", "send-mail", given="n\n")
    assert base.record() is not None
    base.said("delete", "send-mail", given="y\n")

    assert "nothing was changed" in kept
    assert base.record() is None


def test_a_retired_skill_is_run_only_when_its_version_is_asked_for(base: Base) -> None:
    base.add(skill(status=ACTIVE))
    base.said("invalidate", "send-mail", "--why", "wrong folder")

    def found(version: int | None) -> Skill:
        return base.does(lambda skills: runnable(KnowledgeBase(skills, "default"), "send-mail", version))

    with pytest.raises(InputInvalid, match=r"was retired \(wrong folder\): `replaywright skills restore send-mail`"):
        found(None)
    assert found(1).version == 1


def test_a_recording_becomes_a_candidate_that_says_what_was_left_out(base: Base) -> None:
    def imported(*more: str) -> Any:
        file = str(Path(__file__).parents[1] / "imports" / "recordings" / "devtools_webmail.json")
        return CliRunner().invoke(
            app, ["record", "--from", file, "--name", "mail", "--skill", *more], env={"COLUMNS": "300"}
        )

    first, again, refused = imported(), imported("--json"), imported("--out", "mail.yaml")
    record = base.record("mail")

    assert first.exit_code == 0, first.output
    assert "mail: imported as version 1, a candidate: `replaywright skills run mail` verifies it" in first.stdout
    assert record is not None
    assert (record.skill.status, record.skill.origin, record.versions) == (SkillStatus.CANDIDATE, "imported", (1,))
    assert set(record.skill.task.parameters) == {"user_name", "to", "priority", "subject", "message"}
    assert "customStep lighthouse" in record.skill.note
    assert json.loads(again.stdout)["skill"] == {"name": "mail", "version": 1, "new": False}
    assert (refused.exit_code, "--skill writes no file" in refused.stderr) == (2, True)

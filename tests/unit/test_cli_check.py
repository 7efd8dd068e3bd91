"""`replaywright check` before anything is begun: what is meant, with which values, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from replaywright.cli.check.check import exit_status
from replaywright.cli.check.check_input import CheckedSkill, Given, Selection, moved, of_store, selected, until_commit
from replaywright.cli.commands import app
from replaywright.domain.skill.recorded import recorded
from replaywright.domain.skill.skill_files import written_file
from replaywright.domain.skill.skills import SkillStatus
from replaywright.domain.trace.checks import SkillCheck
from replaywright.errors import InputInvalid
from tests.unit.skills import OWNER, SITE, learned, skill


def given(pairs: dict[str, str] | None = None, common: dict[str, str] | None = None, **own: dict[str, str]) -> Given:
    return Given(pairs or {}, common or {}, own)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("TEMPORAL_ADDRESS", "REPLAYWRIGHT_TEMPORAL_ADDRESS", "REPLAYWRIGHT_SECRET_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REPLAYWRIGHT_HOME", str(tmp_path / "home"))
    path = tmp_path / "checks" / "send-mail.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(written_file([skill()])), encoding="utf-8")
    return path


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["check", *arguments], env={"COLUMNS": "300"})
    assert result.exit_code == 2, (result.stdout, result.stderr, result.exception)
    return str(result.stderr).splitlines()[-1]


def test_files_and_skills_by_name_are_told_apart() -> None:
    assert selected(["checks/a.yaml", "b.json", "-"], "", every=False).files == ("checks/a.yaml", "b.json", "-")
    assert selected(["send-mail", "send-*"], "", every=False).names == ("send-mail", "send-*")
    assert selected([], "*mail*", every=False).in_store


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to check: name files of skills or tasks, or skills, or give --label or --all"),
        (["a.yaml", "send-mail"], "a.yaml is a file, and send-mail means skills that are kept here"),
        (["a.yaml", "--all"], "a.yaml is a file, and "),
        (["checks/nowhere.yaml"], "checks/nowhere.yaml"),
        (["a.yaml", "--json", "--junit", "-"], "--json and --junit - both want standard output"),
    ],
)
def test_what_cannot_be_checked_is_bad_input(arguments: list[str], said: str) -> None:
    assert said in refused(*arguments)


def test_a_missing_value_names_the_parameter_the_skill_and_what_to_give(file: Path) -> None:
    assert refused(str(file)) == "parameter 'to' of task 'send-mail' has no value; pass --param to=…"


def test_a_value_of_another_type_is_bad_input(file: Path) -> None:
    assert refused(str(file), "-p", "to=nobody") == "parameter 'to' is 'nobody'; expected an e-mail address"


def test_a_missing_secret_is_named_before_anything_is_started(file: Path) -> None:
    said = refused(str(file), "-p", "to=ada@example.com")

    assert "set REPLAYWRIGHT_SECRET_PASSWORD" in said


def test_a_file_for_results_that_cannot_be_written_is_found_out_beforehand(file: Path, tmp_path: Path) -> None:
    assert "--junit" in refused(str(file), "--junit", str(tmp_path))
    assert "cannot be made" in refused(str(file), "--junit", f"{file}/results.xml")
    assert "--reports" in refused(str(file), "--reports", str(file))


def test_a_wrong_file_is_named_with_its_field(file: Path) -> None:
    data = yaml.safe_load(file.read_text("utf-8"))
    data["skills"][0]["task"]["steps"][0]["acton"] = "click"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")

    assert f"{file}:19: skills[0].task.steps[0].acton: unknown field; did you mean 'action'?" in refused(str(file))


def test_errors_are_json_where_json_was_asked_for(file: Path) -> None:
    result = CliRunner().invoke(app, ["check", str(file), "--json"])

    assert json.loads(result.stdout)["exitStatus"] == 2


# ------------------------------------------------------------------------------------------- values


def test_values_come_from_the_caller_then_defaults_then_examples() -> None:
    parameter = {"to": {"type": "email", "example": "ada@example.com"}, "copy": {"default": "007"}}
    task = skill().task.model_validate({**skill().task.model_dump(mode="json"), "parameters": parameter})

    assert given().values_of(task) == {"to": "ada@example.com", "copy": "007"}
    assert given(common={"copy": "1", "to": "b@example.com"}).values_of(task) == {"to": "b@example.com", "copy": "1"}
    own = {"send-mail": {"to": "c@example.com"}}
    assert given(common={"to": "b@example.com"}, **own).values_of(task)["to"] == "c@example.com"
    assert given({"to": "d@example.com"}, **own).values_of(task)["to"] == "d@example.com"


def test_a_value_that_is_for_nothing_is_refused() -> None:
    task = skill().task

    with pytest.raises(InputInvalid, match=r"--param cc: no skill to be checked has such a parameter; they have: copy"):
        given({"cc": "x"}).require_used([task])
    with pytest.raises(InputInvalid, match=r"--params cc: no skill"):
        given(common={"cc": "x"}).require_used([task])
    with pytest.raises(InputInvalid, match=r"--params send-male: holds values for a skill that is not checked"):
        given(**{"send-male": {"to": "x"}}).require_used([task])
    with pytest.raises(InputInvalid, match=r"--params send-mail\.cc: task 'send-mail' has no such parameter"):
        given(**{"send-mail": {"cc": "x"}}).values_of(task)


def test_a_file_of_values_has_some_for_all_and_some_for_one(file: Path, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("copy: 007\nsend-mail: {to: nobody}\n", encoding="utf-8")

    assert "parameter 'to' is 'nobody'" in refused(str(file), "--params", str(values))
    values.write_text("send-mail: {to: {a: b}}\n", encoding="utf-8")
    assert "send-mail.to: expected one value, found dict" in refused(str(file), "--params", str(values))


# ---------------------------------------------------------------------------- what becomes of the task


def wanted(name: str = "send-mail", url: str = f"{SITE}/compose", **fields: Any) -> CheckedSkill:
    task = skill(name).task
    return CheckedSkill(task.model_copy(update={"url": url}), {"to": "ada@example.com", "copy": ""}, **fields)


def test_skills_of_one_site_are_checked_on_its_preview() -> None:
    found = moved([wanted(), wanted("archive-mail")], "https://preview.example")

    assert {each.task.url for each in found} == {"https://preview.example/compose"}


def test_skills_of_several_sites_have_no_common_preview() -> None:
    with pytest.raises(InputInvalid, match=r"the skills are of several sites: http://mail\.example:80, http://shop"):
        moved([wanted(), wanted("buy", url="http://shop.example/")], "https://preview.example")


def test_a_check_can_stop_before_the_first_consequence_and_says_where() -> None:
    found = until_commit(wanted())

    assert [step.action for step in found.task.steps] == ["fill", "fill"]
    assert found.note == "checked up to step 3, click Send, which has consequences"


def test_without_consequences_all_of_it_is_checked() -> None:
    task = skill().task
    steps = task.steps[:2]
    harmless = CheckedSkill(
        task.model_copy(update={"steps": steps}), {}, recorded(task, [learned(steps[0], SITE)], "default", OWNER)
    )

    assert until_commit(harmless) == harmless


# --------------------------------------------------------------------------------------- the knowledge base


class Base:
    """Some skills, as a knowledge base answers."""

    tenant = "default"

    def __init__(self) -> None:
        self.skills = self

    async def all(self, tenant: str) -> list[Any]:
        assert tenant == self.tenant
        active = {"status": SkillStatus.ACTIVE}
        gone = skill("send-fax", status=SkillStatus.RETIRED)
        return [skill("send-mail", **active), skill("archive-mail", label="Put a mail away", **active), gone]

    async def skill(self, name: str, version: int | None = None) -> Any:
        assert version is None
        [found] = [each for each in await self.all(self.tenant) if each.name == name]
        return found


async def chosen(*names: str, label: str = "", every: bool = False) -> list[str]:
    base: Any = Base()
    return [each.name for each in await of_store(Selection((), names, label, every), base)]


async def test_skills_are_chosen_by_name_pattern_label_or_all_and_never_retired_ones() -> None:
    assert await chosen("send-mail") == ["send-mail"]
    assert await chosen("*mail") == ["archive-mail", "send-mail"]
    assert await chosen(label="put*") == ["archive-mail"]
    assert await chosen("send-*", label="*AWAY") == ["archive-mail", "send-mail"]
    assert await chosen(every=True) == ["archive-mail", "send-mail"]


async def test_a_pattern_that_means_nothing_says_what_there_is() -> None:
    with pytest.raises(InputInvalid, match="there is no skill 'fax-\\*'"):
        await chosen("fax-*")
    with pytest.raises(InputInvalid, match="no skill has such a label; there are: 'Send a mail', 'Put a mail away'"):
        await chosen(label="nothing")


# ------------------------------------------------------------------------------------------ exit status


@pytest.mark.parametrize(
    ("checks", "status"),
    [
        ([("passed", "")], 0),
        ([("passed", ""), ("failed", "")], 1),
        ([("error", ""), ("error", "hosts.deny")], 1),
        ([("passed", ""), ("error", "hosts.deny")], 5),
        ([("skipped", "")], 1),
    ],
)
def test_the_exit_status_says_whether_all_passed(checks: list[tuple[Any, str]], status: int) -> None:
    assert exit_status([SkillCheck(skill="a", verdict=verdict, rule=rule) for verdict, rule in checks]) == status

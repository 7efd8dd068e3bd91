"""Skills as files: read strictly, written the same every time, and back to what they were."""

from pathlib import Path
from typing import Any

import pytest

from replaywright.cli.skills.skill_store import as_yaml, yaml_of
from replaywright.cli.tasks.taskfile import read_task
from replaywright.domain.skill.skill_files import edited_skill, imported_skill, skills_in, written, written_file
from replaywright.domain.skill.skills import Skill, SkillContext, SkillStatus
from replaywright.domain.task.tasks import parse_task
from replaywright.errors import InputInvalid
from replaywright.yaml_files import parse_yaml
from tests.unit.skills import SITE, skill

ROOT = Path(__file__).parents[2]
TASKS = sorted([*(ROOT / "demo").glob("*.yaml"), *(ROOT / "bench").rglob("*.yaml")])


def whole(**fields: Any) -> Skill:
    return skill(
        site=f"{SITE}:80",
        description="Sends a mail.",
        precondition=[{"exists": {"role": "textbox", "name": "To"}}],
        context=SkillContext(viewport="1280x720", signed_in=True),
        note="no: yes",
        **fields,
    )


def read_back(one: Skill) -> Skill:
    [found] = skills_in(parse_yaml(yaml_of(written_file([one])), "a file"), "a file")
    return found


def test_what_is_written_reads_back_as_a_candidate() -> None:
    given = whole(status=SkillStatus.ACTIVE, version=7, run_id="r1")

    assert read_back(given) == whole(origin="imported")


def task_files() -> list[Path]:
    return [path for path in TASKS if "steps:" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", task_files(), ids=lambda path: path.stem)
def test_a_task_file_becomes_a_skill_that_survives_a_file(path: Path) -> None:
    task = read_task(str(path))

    taken = imported_skill(task)

    assert read_back(taken) == taken
    assert taken.task == task


def test_the_same_skills_make_the_same_file_in_any_order() -> None:
    one, other = skill("a"), skill("b", version=3, created=5.0, run_id="r2")

    assert yaml_of(written_file([one, other])) == yaml_of(written_file([other.model_copy(update={"version": 1}), one]))


def test_a_file_tells_nothing_of_runs_versions_and_status() -> None:
    text = as_yaml(whole(status=SkillStatus.ACTIVE, version=7, run_id="r1", created=5.0))

    assert "{{secret:PASSWORD}}" in text
    assert not {"status", "version", "run_id", "created", "origin"} & set(parse_yaml(text, "it"))


def test_a_site_is_an_origin_and_its_usual_port_goes_without_saying() -> None:
    [taken] = skills_in({**written(skill()), "site": "HTTPS://Mail.Example/"}, "a file")

    assert taken.site == "https://mail.example:443"
    assert written(taken)["site"] == "https://mail.example"


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://mail.example/compose", "https://mail.example:443"),
        ("http://mail.example:8025/{{to}}", "http://mail.example:8025"),
        ("{{base_url}}/compose", ""),
        ("http://{{host}}/compose", ""),
    ],
)
def test_the_site_of_a_task_is_that_of_its_first_page_where_no_parameter_says_it(url: str, site: str) -> None:
    names = ("to", "base_url", "host")
    step = {"action": "goto", "url": url}
    task = parse_task({"task": "t", "parameters": {name: {} for name in names}, "steps": [step]}, "t")

    assert imported_skill(task).site == site


def changed(**fields: Any) -> dict[str, Any]:
    return {**written(skill()), **fields}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "it: expected a mapping with skills, or a task, found list"),
        ({"skills": []}, "it: skills:"),
        ({"skills": [changed(colour="red")]}, "it: skills[0].colour: unknown field"),
        ({"skills": [written(skill()), written(skill())]}, "the skill 'send-mail' is here twice"),
        (changed(name="Send Mail"), "it: name:"),
        (changed(name="other"), "task.task is 'send-mail' and name is 'other': write the same name in both"),
        (changed(site="mail.example"), "it: site: expected scheme, host and port"),
        (changed(site="http://mail.example/inbox"), "it: site: expected scheme, host and port"),
        (changed(patterns=["send to {{whom}}"]), "patterns[0] uses undeclared parameter 'whom'"),
        (changed(patterns=["log in with {{secret:PASSWORD}}"]), "patterns[0] uses a secret"),
        (changed(patterns=["send {{to-name}}"]), "patterns[0] has '{{to-name}}'"),
        (changed(precondition=[{"text_contains": "{{who}}"}]), "precondition uses undeclared parameter 'who'"),
        (changed(context={"viewport": "wide"}), "it: context.viewport:"),
        ({"task": "t", "steps": []}, "it: steps:"),
    ],
)
def test_what_is_wrong_in_a_file_is_named_with_its_place(data: Any, said: str) -> None:
    with pytest.raises(InputInvalid, match=r"^it: ") as error:
        skills_in(data, "it")

    assert said in str(error.value)


def test_the_example_of_the_reference_is_a_file_of_skills() -> None:
    reference = (ROOT / "docs" / "reference" / "skills.md").read_text(encoding="utf-8")
    example = reference.partition("```yaml\n")[2].partition("```")[0]

    [found] = skills_in(parse_yaml(example, "the example"), "the example")

    assert (found.name, found.site, len(found.task.steps)) == ("send-mail", "https://mail.example:443", 2)


def test_a_skill_is_not_renamed_by_editing() -> None:
    data = written(skill("other"))

    with pytest.raises(InputInvalid, match="name: a skill is not renamed by editing, expected 'send-mail'"):
        edited_skill(data, "it", skill())

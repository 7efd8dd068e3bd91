"""`replaywright skills recall` on a real server: what would be recalled, and why not the others."""

import asyncio
import json
from typing import Any

import pytest
from typer.testing import CliRunner

from cache.connection import open_redis
from cache.keys import skills_key
from cache.skills import RedisSkills
from replaywright.cli.commands import app
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.domain.task.steps import Goto
from replaywright.domain.task.tasks import Parameter, Task
from replaywright.settings import PREFIX

SITE = "https://recall.example.com"
TENANT = "recall-cli"


def known(name: str, verb: str) -> Skill:
    return Skill(
        name=name,
        status=SkillStatus.ACTIVE,
        site=SITE,
        patterns=(f"{verb} the file {{{{file}}}}",),
        task=Task(task=name, url=SITE, parameters={"file": Parameter()}, steps=(Goto(action="goto", url=SITE),)),
    )


@pytest.fixture
def base(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fill() -> None:
        async with open_redis(redis_url) as client:
            skills = RedisSkills(client)
            if not await client.exists(skills_key(TENANT)):
                for one in (known("delete-file", "Delete"), known("print-file", "Print")):
                    await skills.save(TENANT, one, who="a test")

    asyncio.run(fill())
    monkeypatch.setenv(f"{PREFIX}REDIS_URL", redis_url)
    monkeypatch.setenv(f"{PREFIX}TENANT", TENANT)


def recall(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["skills", "recall", *arguments], env={"COLUMNS": "200"})


@pytest.mark.usefixtures("base")
def test_it_names_the_skill_its_values_and_what_spoke_against_the_others() -> None:
    result = recall("Delete the file 'a b.txt'!", "--url", SITE, "--explain")

    assert result.exit_code == 0, result.stderr
    assert "delete-file, version 1" in result.stdout
    assert "file = a b.txt" in result.stdout
    assert "not aligned" in result.stdout


@pytest.mark.usefixtures("base")
def test_it_says_why_nothing_is_recalled() -> None:
    assert "no skill is recalled: not aligned" in recall("don't delete the file 'a.txt'", "--url", SITE).stdout
    assert "no skill is recalled: other site" in recall("delete the file 'a.txt'", "--url", "https://x.example").stdout


@pytest.mark.usefixtures("base")
def test_as_json_it_is_one_object() -> None:
    result = recall("delete the file 'a.txt'", "--url", SITE, "--json")

    answer = json.loads(result.stdout)
    assert (answer["decision"], answer["values"]) == ("accept", {"file": "a.txt"})
    assert {one["name"]: one["reason"] for one in answer["considered"]}["print-file"] == "not_aligned"


@pytest.mark.parametrize(
    ("sentence", "url", "said"), [(" ", SITE, "SENTENCE"), ("delete it", "files", "--url 'files'")]
)
def test_what_cannot_be_meant_is_refused_with_the_field(sentence: str, url: str, said: str) -> None:
    result = recall(sentence, "--url", url)

    assert result.exit_code == 2
    assert said in result.stderr

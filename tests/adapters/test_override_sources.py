"""Where override rules come from: files, Redis on a real server, and both in the memory of a worker."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cache.connection import Client, open_redis
from cache.keys import overrides_key
from cache.overrides import CachedOverrides, RedisOverrides
from replaywright.cli.commands import app
from replaywright.domain.step.overrides import OverrideRule, parse_rules
from replaywright.errors import InputInvalid, StoreUnavailable
from replaywright.overrides import read_rules, rules_in, shipped_rules

CLOSE = {"action": "click", "instruction": "close", "target": {"role": "button", "name": "Close"}}
TEXT = """
rules:
  - name: {name}
    when: {{exists: {{role: dialog}}}}
    do: [{{action: click, instruction: close, target: {{role: button, name: Close}}}}]
"""


def rule(name: str, **fields: Any) -> OverrideRule:
    given = {"name": name, "when": {"exists": {"role": "dialog"}}, "do": [CLOSE], **fields}
    return parse_rules({"rules": [given]}, "test")[0]


# ---------------------------------------------------------------------------------------------- files


def test_shipped_rules_touch_nothing_unless_a_step_is_stuck() -> None:
    rules = shipped_rules()

    assert {one.name for one in rules} >= {"consent-reject", "consent-accept", "offer-decline", "offer-close"}
    assert {one.tried for one in rules} == {"when_stuck"}
    assert {one.site for one in rules} == {None}


def test_a_folder_is_read_in_the_order_of_names_and_may_be_missing(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text(TEXT.format(name="second"))
    (tmp_path / "a.yaml").write_text(TEXT.format(name="first"))
    (tmp_path / "notes.txt").write_text("no rules")

    assert [one.name for one in rules_in(tmp_path)] == ["first", "second"]
    assert rules_in(tmp_path / "nowhere") == ()


def test_a_name_in_two_files_is_refused_with_both(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(TEXT.format(name="same"))

    with pytest.raises(InputInvalid, match=r"b\.yaml: rule 'same' is in a\.yaml too; give one of them another name"):
        rules_in(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules: [", "rules.yaml:1:9: not YAML"),
        ("rules:\n  - name: a\n    name: b\n", "rules.yaml:3:5: not YAML: the key 'name' is here twice"),
        (TEXT.format(name="Drawer"), "rules.yaml: rules[0].name"),
    ],
)
def test_a_wrong_file_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)

    with pytest.raises(InputInvalid) as error:
        read_rules(str(path))

    assert said in str(error.value)


# ---------------------------------------------------------------------------------------------- Redis


async def test_rules_are_kept_for_each_tenant_and_replaced_by_name(client: Client) -> None:
    store = RedisOverrides(client)

    await store.put("acme", [rule("b"), rule("a", at_most=1)])
    await store.put("acme", [rule("a", at_most=5)])

    assert [(one.name, one.at_most) for one in await store.rules("acme")] == [("a", 5), ("b", 3)]
    assert await store.rules("other") == ()
    assert await store.remove("acme", "b")
    assert not await store.remove("acme", "b")


async def test_a_damaged_rule_is_left_out_and_logged(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    store = RedisOverrides(client)
    await store.put("acme", [rule("good")])
    await client.execute_command("HSET", overrides_key("acme"), "bad", b"{")

    with caplog.at_level(logging.WARNING):
        rules = await store.rules("acme")

    assert [one.name for one in rules] == ["good"]
    assert "'bad'" in caplog.text


# ------------------------------------------------------------------------------------------- in memory


class Counting(RedisOverrides):
    """Counts its round trips, and fails when told to."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.read = asyncio.Semaphore(0)
        self.reads = 0
        self.fails = False

    async def rules(self, tenant: str) -> tuple[OverrideRule, ...]:
        try:
            self.reads += 1
            if self.fails:
                raise StoreUnavailable("away")
            return await super().rules(tenant)
        finally:
            self.read.release()


@pytest.fixture
async def counting(client: Client) -> Counting:
    return Counting(client)


@pytest.fixture
async def cached(counting: Counting) -> AsyncIterator[Callable[..., CachedOverrides]]:
    made: list[CachedOverrides] = []

    def make(*files: OverrideRule, shipped: tuple[OverrideRule, ...] = (), **options: Any) -> CachedOverrides:
        made.append(CachedOverrides(counting, lambda: files, shipped, **options))
        return made[-1]

    yield make
    for one in made:
        await one.close()


async def test_the_tenants_rule_wins_over_the_folders_and_that_over_a_shipped_one(
    counting: Counting, cached: Callable[..., CachedOverrides]
) -> None:
    await counting.put("acme", [rule("a", at_most=1), rule("off", at_most=0)])
    shipped = (rule("a", at_most=7), rule("b", at_most=7), rule("c", at_most=7), rule("off"))

    overrides = cached(rule("a", at_most=2), rule("b", at_most=2), shipped=shipped)

    assert {one.name: one.at_most for one in await overrides.rules("acme", "x.example")} == {"a": 1, "b": 2, "c": 7}


async def test_only_the_first_question_asks_redis(counting: Counting, cached: Callable[..., CachedOverrides]) -> None:
    overrides = cached(rule("everywhere"), rule("one", site="one.example"))

    one = await overrides.rules("acme", "one.example")
    two = await overrides.rules("acme", "two.example")

    assert ([each.name for each in one], [each.name for each in two]) == (["everywhere", "one"], ["everywhere"])
    assert counting.reads == 1


async def test_old_rules_answer_while_new_ones_are_read(
    client: Client, counting: Counting, cached: Callable[..., CachedOverrides]
) -> None:
    overrides = cached(lifetime_s=0)
    assert await overrides.rules("acme", "x") == ()
    await RedisOverrides(client).put("acme", [rule("new")])
    await counting.read.acquire()

    stale = await overrides.rules("acme", "x")
    await counting.read.acquire()
    await asyncio.sleep(0)
    fresh = await overrides.rules("acme", "x")

    assert stale == ()
    assert [one.name for one in fresh] == ["new"]


async def test_without_redis_the_rules_stay_as_they_were(
    counting: Counting, cached: Callable[..., CachedOverrides], caplog: pytest.LogCaptureFixture
) -> None:
    counting.fails = True

    with caplog.at_level(logging.WARNING):
        rules = await cached(rule("file")).rules("acme", "x")

    assert [one.name for one in rules] == ["file"]
    assert "stay as they were" in caplog.text


def test_a_wrong_folder_is_told_when_the_worker_starts(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("rules: 1")

    with pytest.raises(InputInvalid, match=r"bad\.yaml: rules"):
        CachedOverrides(RedisOverrides(open_redis("redis://127.0.0.1:1")), lambda: rules_in(tmp_path))


# ---------------------------------------------------------------------------------------- command line


def test_rules_are_added_listed_and_removed_by_the_command_line(redis_url: str, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "overrides"
    folder.mkdir(parents=True)
    (folder / "own.yaml").write_text(TEXT.format(name="drawer"))
    added = tmp_path / "added.yaml"
    added.write_text(TEXT.format(name="drawer").replace("when:", "site: '*.shop.example'\n    when:"))
    environment = {"REPLAYWRIGHT_REDIS_URL": redis_url, "REPLAYWRIGHT_HOME": str(folder.parent), "COLUMNS": "200"}

    def invoked(*words: str) -> Any:
        return CliRunner().invoke(app, ["admin", "overrides", *words], env=environment)

    def listed(*words: str) -> dict[tuple[str, str], bool]:
        rules = json.loads(invoked("list", "--json", *words).stdout)["rules"]
        return {(one["name"], one["source"]): one["counts"] for one in rules if one["source"] != "shipped"}

    assert "1 rule, nothing wrong" in invoked("check", str(added)).stdout
    assert listed() == {("drawer", "folder"): True}
    assert invoked("add", str(added)).exit_code == 0
    assert listed() == {("drawer", "folder"): False, ("drawer", "redis"): True}
    assert listed("--site", "other.example") == {("drawer", "folder"): False}
    assert "folder (replaced: redis)" in invoked("list").stdout
    assert invoked("remove", "drawer").exit_code == 0
    wrong = invoked("remove", "drawer")
    assert wrong.exit_code == 2
    assert "this tenant has no such rule; it has: none" in wrong.stderr

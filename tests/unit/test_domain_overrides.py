"""Override rules: what a file may say, which rules are for a host, and what is due."""

from typing import Any

import pytest
import yaml

from replaywright.domain.page.observed import AssertionContext, ElementProbe, ProbeResult
from replaywright.domain.page.targets import ElementQuery
from replaywright.domain.step.overrides import (
    STEP_TIMEOUT_MS,
    Due,
    OverrideRule,
    due_in,
    host_of,
    is_for,
    merged,
    parse_rules,
    rules_for,
)
from replaywright.domain.task.actions import Effect
from replaywright.errors import InputInvalid

CLOSE = {"action": "click", "instruction": "close", "target": {"role": "button", "name": "Close"}}


def parsed(**fields: Any) -> OverrideRule:
    rule = {"name": "drawer", "when": {"exists": {"role": "dialog"}}, "do": [CLOSE], **fields}
    return parse_rules({"rules": [{key: value for key, value in rule.items() if value is not None}]}, "rules.yaml")[0]


def test_a_file_with_both_kinds_of_rules_is_read() -> None:
    text = """
rules:
  - name: close-drawer
    site: "*.shop.example"
    when: {exists: {role: dialog, name_contains: Offer}}
    do:
      - {action: click, instruction: close, target: {role: button, name: Close, within: {role: dialog}}}
    at_most: 5
  - name: cheapest
    prefer: {among: {role: link, name: Select}, order: lowest, by: "total (.*)"}
"""

    drawer, cheapest = parse_rules(yaml.safe_load(text), "rules.yaml")

    assert (drawer.site, drawer.at_most, drawer.tried) == ("*.shop.example", 5, "before_a_step")
    assert cheapest.prefer is not None
    assert cheapest.prefer.order == "lowest"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": "Close Drawer"}, "rules.yaml: rules[0].name: String should match pattern"),
    ({"site": "https://shop.example/"}, "rules[0].site: expected a host such as *.shop.example, without scheme"),
    ({"when": {"shows": "x"}}, "rules[0].when: expected a mapping with one of the keys url_contains"),
    ({"when": {"exists": {"rol": "dialog"}}}, "rules[0].when.exists.rol: unknown field"),
    ({"when": {"exists": {"text_in": ["a"]}}}, "rules[0].when.exists: text_in would match whole pages; give a role"),
    ({"when": {"not_": {"downloaded": "*.pdf"}}}, "rules[0].when: Downloaded is no condition on a page as it is; use"),
    ({"do": []}, "rules[0]: a rule needs when and do, or prefer"),
    ({"when": None}, "rules[0]: a rule needs when and do, or prefer"),
    ({"do": [CLOSE] * 6}, "rules[0].do: Tuple should have at most 5 items"),
    (
        {"do": [{**CLOSE, "effect": "commit"}]},
        "rules[0].do: step 1 has the effect 'commit'; a rule may only do what may",
    ),
    ({"do": [CLOSE, {**CLOSE, "effect": "irreversible"}]}, "rules[0].do: step 2 has the effect 'irreversible'"),
    ({"do": [{"action": "goto", "url": "http://x/"}]}, "rules[0].do: step 1 is a goto; a rule only acts on the page"),
    ({"do": [{"action": "click", "instruction": "close"}]}, "rules[0].do: step 1 has no target; no model is asked"),
    ({"do": [{"action": "clik", "instruction": "x"}]}, "rules[0].do[0]: unknown action 'clik'; did you mean 'click'?"),
    ({"do": [{**CLOSE, "instruction": "close {{what}}"}]}, "rules[0]: 'close {{what}}': a rule is for any task"),
    ({"at_most": 21}, "rules[0].at_most: should be less than or equal to 20, found 21"),
    ({"tried": "always"}, "rules[0].tried: should be 'before_a_step' or 'when_stuck', found 'always'"),
    (
        {"prefer": {"among": {"role": "link"}, "order": "first"}},
        "rules[0]: prefer stands alone; put when and do into a rule",
    ),
]
PREFERENCES: list[tuple[dict[str, Any], str]] = [
    ({"among": {"css": ".price"}, "order": "first"}, "prefer.among: css, within, nth, frame and the role overlay"),
    (
        {"among": {"role": "link"}, "order": "cheapest"},
        "prefer.order: should be 'first', 'last', 'lowest' or 'highest'",
    ),
    ({"among": {"role": "link"}, "order": "first", "by": "x"}, "prefer: by finds the number to compare; order 'first'"),
    ({"among": {"role": "link"}, "order": "lowest", "by": "("}, "prefer.by: not a regular expression"),
    ({"order": "first"}, "prefer.among: this field is required"),
]


@pytest.mark.parametrize(("fields", "said"), WRONG, ids=[said[:60] for _, said in WRONG])
def test_what_is_wrong_is_said_in_one_line_with_field_and_remedy(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InputInvalid) as error:
        parsed(**fields)

    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("prefer", "said"), PREFERENCES, ids=[said[:60] for _, said in PREFERENCES])
def test_what_is_wrong_with_a_preference_is_said_as_well(prefer: dict[str, Any], said: str) -> None:
    with pytest.raises(InputInvalid) as error:
        parsed(when=None, do=None, prefer=prefer)

    assert said in str(error.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "rules.yaml: expected a mapping with rules, found list"),
        ({"rules": []}, "rules: Tuple should have at least 1 item"),
        ({"rule": []}, "rules: this field is required"),
    ],
)
def test_a_file_that_holds_no_rules_is_refused(data: Any, said: str) -> None:
    with pytest.raises(InputInvalid, match=r"^rules\.yaml: ") as error:
        parse_rules(data, "rules.yaml")

    assert said in str(error.value)


def test_two_rules_of_one_name_in_a_file_are_refused() -> None:
    one = parsed().model_dump(mode="json", exclude_none=True)

    with pytest.raises(InputInvalid, match="'drawer' is here twice; give every rule a name of its own"):
        parse_rules({"rules": [one, one]}, "rules.yaml")


def test_a_rule_that_is_stored_and_read_again_is_the_same() -> None:
    rule = parsed(site="*.shop.example", tried="when_stuck")

    stored = rule.model_dump_json(exclude_none=True, exclude_defaults=True)

    assert OverrideRule.model_validate_json(stored) == rule


@pytest.mark.parametrize(
    ("site", "host", "is_meant"),
    [
        (None, "anything.example", True),
        ("shop.example", "shop.example", True),
        ("shop.example", "www.shop.example", False),
        ("*.shop.example", "www.shop.example", True),
        ("*.shop.example", "a.b.shop.example:8443", True),
        ("*.shop.example", "shop.example", False),
        ("*.shop.example", "evilshop.example", False),
        ("*.shop.example", "www.shop.example.evil.example", False),
        ("*shop.example", "shop.example", True),
        ("Shop.Example", "shop.example", True),
        ("localhost:8000", "localhost:8000", True),
        ("localhost:8000", "localhost:9000", False),
        ("localhost", "localhost:9000", True),
    ],
)
def test_a_site_is_a_host_with_wildcards(site: str | None, host: str, is_meant: bool) -> None:
    assert is_for(parsed(site=site), host) is is_meant


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://me:pw@WWW.Shop.example:8443/a?b", "www.shop.example:8443"),
        ("about:blank", ""),
        ("http://[broken/", ""),
    ],
)
def test_the_host_of_a_url_is_told_without_who_is_logged_in(url: str, host: str) -> None:
    assert host_of(url) == host


def test_the_later_source_wins_and_can_switch_a_rule_off() -> None:
    shipped = (parsed(name="one"), parsed(name="two"))
    own = (parsed(name="one", at_most=0, do=None, when=None), parsed(name="three", site="other.example"))

    rules = merged(shipped, own)

    assert [rule.name for rule in rules] == ["one", "two", "three"]
    assert [rule.name for rule in rules_for(rules, "shop.example")] == ["two"]


def test_a_rule_is_due_while_its_predicate_holds() -> None:
    query = ElementQuery(role="dialog")
    rules = (parsed(), parsed(name="absent", when={"not_exists": {"role": "dialog"}}))

    def names(count: int) -> list[str]:
        probes = ((ElementProbe(query=query), ProbeResult(count=count)),)
        return [rule.name for rule in due_in(rules, AssertionContext(url="http://x/", probes=probes))]

    assert names(1) == ["drawer"]
    assert names(0) == ["absent"]


def test_clicks_of_a_rule_may_be_repeated_and_are_given_up_soon() -> None:
    due = Due.of(parsed(do=[CLOSE, {"action": "press", "keys": "Escape", "timeout_ms": 500}]))

    assert [step.effect for step in due.steps] == [Effect.IDEMPOTENT, Effect.IDEMPOTENT]
    assert [step.timeout_ms for step in due.steps] == [STEP_TIMEOUT_MS, 500]
    assert Due.model_validate_json(due.model_dump_json(by_alias=True)) == due

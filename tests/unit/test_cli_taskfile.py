"""Values from files, names and descriptions of runs, and text that may come from anywhere."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from replaywright.cli import output
from replaywright.cli.tasks import taskfile
from replaywright.domain.run.runs import StepLine, Totals
from replaywright.domain.run.scope import Heal, Mode, Usage
from replaywright.domain.step.outcomes import Lookup, Status
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.errors import InputInvalid
from replaywright.grants import change_grants


def task(**changes: object) -> Task:
    data = {
        "task": "greet",
        "goal": "Say <b>hello</b>",
        "url": "{{base_url}}/hello",
        "parameters": {"base_url": {}, "who": {}},
        "secrets": ["PASSWORD"],
        "steps": [
            {"action": "goto", "url": "{{base_url}}/hello"},
            {"action": "fill", "instruction": "the `name` field", "value": "{{who}}"},
        ],
    }
    return parse_task(data | changes, "test")


def test_yaml_values_stay_the_text_that_was_written(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("number: 007\nanswer: yes\nday: 2026-01-31\nempty:\ntext: 你好 🚀\n")

    values = taskfile.read_parameters([], str(file))

    assert values == {"number": "007", "answer": "yes", "day": "2026-01-31", "empty": "", "text": "你好 🚀"}


def test_json_values_become_text(tmp_path: Path) -> None:
    file = tmp_path / "values.json"
    file.write_text('{"number": 1.50, "flag": true, "text": "a\\nb"}')

    assert taskfile.read_parameters([], str(file)) == {"number": "1.50", "flag": "true", "text": "a\nb"}


def test_a_value_on_the_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("a: file\nb: file\n")

    assert taskfile.read_parameters(["a=x=y"], str(file)) == {"a": "x=y", "b": "file"}


@pytest.mark.parametrize("text", ["a: [{b: c}]", "a: {b: c}", "- a", "just text"])
def test_values_that_are_no_single_text_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(text)

    with pytest.raises(InputInvalid, match=r"values\.yaml"):
        taskfile.read_parameters([], str(file))


def test_a_secret_may_come_from_a_file(tmp_path: Path) -> None:
    bound = {"REPLAYWRIGHT_SECRET_PASSWORD_DOMAINS": "shop.example"}
    taskfile.require_secrets(task(), {}, tmp_path, bound | {"REPLAYWRIGHT_SECRET_PASSWORD_FILE": "anywhere"})

    with pytest.raises(InputInvalid, match="REPLAYWRIGHT_SECRET_PASSWORD"):
        taskfile.require_secrets(task(), {}, tmp_path, bound | {"REPLAYWRIGHT_SECRET_PASSWORD": ""})


def test_a_secret_that_is_bound_to_no_host_is_refused_with_the_command(tmp_path: Path) -> None:
    values, known = {"base_url": "https://shop.example/x"}, {"REPLAYWRIGHT_SECRET_PASSWORD": "x"}
    with pytest.raises(InputInvalid, match=r"`replaywright admin secrets bind PASSWORD shop\.example`"):
        taskfile.require_secrets(task(), values, tmp_path, known)

    change_grants(tmp_path, lambda grants: grants.bound("PASSWORD", ("shop.example",)))

    taskfile.require_secrets(task(), values, tmp_path, known)


def test_the_id_of_a_run_says_task_and_site_and_nothing_of_the_values() -> None:
    values = {"base_url": "http://user:secret@shop.example:8080", "who": "Ada"}

    run_id = taskfile.new_run_id(task(), values)

    name, site, rest = run_id.split("/")
    assert (name, site) == ("greet", "shop.example")
    assert len(rest) == len("20261121-103400-1a2b3c")
    assert "Ada" not in run_id
    assert "secret" not in run_id


@pytest.mark.parametrize(
    "host", ["[2001:db8::1]", "bücher.example", "a" * 200 + ".example", "x_y.example", "ex%61mple"]
)
def test_the_id_of_a_run_has_safe_characters_only_and_is_not_too_long(host: str) -> None:
    run_id = taskfile.new_run_id(task(), {"base_url": f"http://{host}:8080", "who": "Ada"})

    assert re.fullmatch(r"[a-z0-9-]{1,63}/[A-Za-z0-9.-]{1,64}/[0-9]{8}-[0-9]{6}-[0-9a-f]{6}", run_id)


def test_the_plan_shows_templates_and_no_html() -> None:
    plan = taskfile.plan_of(task(), Mode.AUTO, Heal.PROPOSE)

    assert "2. `` fill the `name` field = {{who}} ``" in plan
    assert "<b>" not in plan.replace("\\<b\\>", "")
    assert "`PASSWORD`" in plan
    assert "heal: propose" in plan


def test_the_plan_says_where_the_run_goes_and_what_tells_more_of_it_but_no_value() -> None:
    plan = taskfile.plan_of(task(), Mode.AUTO, Heal.AUTO, run_id="greet/x y", site="shop.example", skill="greeting")

    assert "- site: `shop.example`" in plan
    assert "- skill: `greeting`" in plan
    assert "- more: `replaywright report 'greet/x y'` · `replaywright show 'greet/x y'`" in plan
    assert "- parameters: `base_url`, `who` (values: see the input)" in plan


def test_summary_and_plan_keep_to_the_limits_of_temporal() -> None:
    long = task(goal="ä" * 500, steps=[{"action": "click", "instruction": "ö" * 300}] * 200)

    assert len(taskfile.summary_of(long).encode()) <= 200
    assert len(taskfile.plan_of(long, Mode.AUTO, Heal.AUTO).encode()) <= 20_000


@given(st.text())
def test_printed_text_is_one_line_without_control_characters(text: str) -> None:
    shown = output.plain(text)

    assert shown.isprintable() or all(not c.isspace() or c == " " for c in shown)
    assert "\x1b" not in shown
    assert "\n" not in shown


@pytest.mark.parametrize(
    ("length", "shown"),
    [(0.04, "0.0 s"), (9.96, "10.0 s"), (12.4, "12 s"), (185, "3 min 5 s"), (7440, "2 h 4 min"), (273_600, "3 d 4 h")],
)
def test_durations_are_short(length: float, shown: str) -> None:
    assert output.duration(length) == shown
    assert output.duration(timedelta(seconds=length)) == shown


@pytest.mark.parametrize(
    ("lookup", "shown"),
    [
        (Lookup(hit=True, tier="xpath", score=1), "xpath"),
        (Lookup(hit=True, tier="query"), "declared"),
        (Lookup(hit=True, healed=True, tier="role_name", score=0.934), "healed: role_name 0.93"),
        (Lookup(hit=True, from_model=True), "model"),
        (Lookup(reason="ambiguous"), "miss: ambiguous"),
        (Lookup(), ""),
    ],
)
def test_how_an_element_was_found_is_said_in_few_words(lookup: Lookup, shown: str) -> None:
    assert output.how_found(lookup) == shown


def test_the_stand_in_never_passes_for_a_model() -> None:
    totals = Totals(steps=1, usage=Usage(calls=1, input_tokens=10, output_tokens=2, model="stand-in"))

    assert "a stand-in, no language model" in output.totals_line(totals)
    assert "1 model call (12 tokens" in output.totals_line(totals)


def test_signs_fall_back_to_ascii_where_the_terminal_has_no_others() -> None:
    with Path("/dev/null").open("w", encoding="ascii") as file:
        console = Console(file=file)

        assert output.fitting("✓ …", console) == "+ ..."


def test_a_step_that_was_done_with_a_warning_or_left_alone_says_so() -> None:
    line = StepLine(sequence=3, title="click Save", status=Status.DONE, warnings=("unproven",))
    left = StepLine(sequence=4, title="check I agree", status=Status.DONE, lookup=Lookup(hit=True), already_done=True)

    shown, alone = (output.step_text(each, output.standard_output()).plain for each in (line, left))

    assert shown.endswith("0004 click Save  warning: unproven")
    assert alone.endswith("0005 check I agree  (already done)")
    assert "1 warning, 0 model calls" in output.totals_line(Totals(warnings=1))

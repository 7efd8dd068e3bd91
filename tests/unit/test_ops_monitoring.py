"""Alert rules and dashboard ask for metrics that there are, and whoever is woken finds what to do."""

import copy
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.check_monitoring import (
    COLLECTOR,
    CONFIGURATION,
    DASHBOARD,
    DATA_SOURCES,
    RULES,
    RULES_TEST,
    collector_findings,
    dashboard_findings,
    rule_findings,
    rules_in,
)
from ops.expressions import Selector, errors, selectors
from ops.promtool import PromtoolMissing, promtool

ROOT = Path(__file__).parents[2]
RUNBOOK = ROOT / "docs" / "how-to" / "alerts.md"


def rules_text() -> str:
    return RULES.read_text(encoding="utf-8")


def rule_tests() -> str:
    return RULES_TEST.read_text(encoding="utf-8")


def dashboard() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return loaded


def sources() -> set[str]:
    return {one["uid"] for one in yaml.safe_load(DATA_SOURCES.read_text(encoding="utf-8"))["datasources"]}


def test_rules_and_dashboard_are_right() -> None:
    assert list(rule_findings(rules_text(), rule_tests())) == []
    assert list(dashboard_findings(dashboard(), sources())) == []


def test_the_metrics_of_an_expression_are_read_without_its_functions_words_and_strings() -> None:
    expression = (
        'histogram_quantile(0.95, sum by (queue, le) (rate(a_bucket{queue=~"x|y", le!="sum(b)"}[5m] offset 1h))) > 1e3 '
        "or on (job) group_left () up{job='z'} unless c"
    )

    assert [selector.metric for selector in selectors(expression)] == ["a_bucket", "up", "c"]
    assert selectors(expression)[0] == Selector("a_bucket", (("queue", "=~", "x|y"), ("le", "!=", "sum(b)")))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("rate(replaywright_step_total[5m])", "replaywright_step_total is not in the catalogue"),
        ("replaywright_runs", "replaywright_runs is not in the catalogue"),
        ('replaywright_runs_total{state="done"}', "has no label 'state'"),
        ('replaywright_runs_total{status="ok"}', "status is never 'ok'"),
        ('replaywright_runs_total{status=~"done|lost"}', "status is never 'lost'"),
        ("sum by (run_id) (replaywright_runs_total)", "groups by 'run_id'"),
        ("1 + 1", "asks for no metric"),
    ],
)
def test_what_is_not_in_the_catalogue_is_found(expression: str, expected: str) -> None:
    assert [error for error in errors(expression) if expected in error]


def test_a_rule_that_nobody_could_act_on_or_that_no_test_shows_is_found() -> None:
    data = yaml.safe_load(rules_text())
    first, second = data["groups"][0]["rules"][:2]
    first["labels"] = {"severity": "urgent"}
    del second["annotations"]["runbook_url"]
    second["alert"] = "NobodyTestsThis"

    found = list(rule_findings(yaml.dump(data), rule_tests()))

    assert [line.split(": ", 1)[1][:20] for line in found] == [
        "labels.severity: exp",
        "annotations.runbook_",
        "no test shows it fir",
    ]


def test_a_panel_that_shows_nothing_lies_over_another_or_leaves_a_metric_out_is_found() -> None:
    data = copy.deepcopy(dashboard())
    one, other = [panel for panel in data["panels"] if panel["type"] == "timeseries"][:2]
    one["targets"][0]["expr"] = "rate(nothing_total[5m])"
    other["gridPos"] = dict(one["gridPos"])
    other["datasource"] = {"uid": "none"}
    data["panels"] = [panel for panel in data["panels"] if "replaywright_model_cost" not in json.dumps(panel)]

    found = list(dashboard_findings(data, sources()))

    assert any("nothing_total is not in the catalogue" in line for line in found)
    assert any("it lies over" in line for line in found)
    assert any("its data source is not provisioned" in line for line in found)
    assert "no panel shows replaywright.model.cost" in found


def test_every_alert_has_its_place_in_the_runbook_and_nothing_else_has() -> None:
    headings = re.findall(r"^### (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    rules = rules_in(rules_text())

    assert sorted(headings) == sorted(rule["alert"] for rule in rules)
    for rule in rules:
        expected = f"docs/how-to/alerts.md#{rule['alert'].lower()}"
        assert rule["annotations"]["runbook_url"] == expected


def test_the_collectors_pipelines_have_all_their_parts_and_one_that_is_missing_is_found() -> None:
    text = COLLECTOR.read_text(encoding="utf-8")
    wrong = yaml.safe_load(text)
    wrong["exporters"]["otlp/tempo"] = wrong["exporters"].pop("otlp/jaeger")
    wrong["service"]["pipelines"]["metrics"]["receivers"] = []

    assert list(collector_findings(text)) == []
    assert list(collector_findings(yaml.dump(wrong))) == [
        "the pipeline metrics has no receivers",
        "exporters: otlp/jaeger is used and not configured",
        "exporters: otlp/tempo is configured and not used",
    ]


def test_prometheus_grafana_and_the_collector_ask_services_that_share_a_network_with_them() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    jobs = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))["scrape_configs"]
    sources = yaml.safe_load(DATA_SOURCES.read_text(encoding="utf-8"))["datasources"]
    exporters = yaml.safe_load(COLLECTOR.read_text(encoding="utf-8"))["exporters"]

    asked = {
        ("prometheus", target)
        for job in jobs
        for config in job.get("static_configs", [])
        for target in config["targets"]
    }
    asked |= {("grafana", source["url"].removeprefix("http://")) for source in sources}
    asked |= {("otel-collector", exporter["endpoint"]) for exporter in exporters.values() if exporter}

    for asking, address in asked:
        host = address.partition(":")[0]
        if host != "127.0.0.1":
            assert set(services[asking]["networks"]) & set(services[host]["networks"]), (asking, address)


def test_prometheus_scrapes_every_worker_of_the_compose_file() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    jobs = {job["job_name"]: job for job in yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))["scrape_configs"]}

    names = {name for config in jobs["replaywright"]["dns_sd_configs"] for name in config["names"]}

    assert names == {name for name in services if name.startswith("worker-")}
    assert all("telemetry" in services[name]["networks"] for name in (*names, "prometheus"))


@pytest.mark.long
def test_promtool_says_so_too() -> None:
    try:
        program = promtool()
    except PromtoolMissing as exc:
        pytest.skip(str(exc))

    run = subprocess.run([program, "test", "rules", RULES_TEST], capture_output=True, text=True, check=False)

    assert run.returncode == 0, run.stdout + run.stderr


def test_without_debians_tools_promtool_is_missing_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(PromtoolMissing, match="without apt-get none can be had"):
        promtool(tmp_path / "promtool")

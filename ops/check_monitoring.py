"""Holds alert rules and dashboard against the catalogue of metrics, and has promtool test the rules.

python -m ops.check_monitoring
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from ops.expressions import SERIES, errors, selectors
from ops.promtool import PromtoolMissing, promtool

HERE = Path(__file__).parent
RULES = HERE / "prometheus" / "alerts.yml"
RULES_TEST = HERE / "prometheus" / "alerts_test.yml"
COLLECTOR = HERE / "collector" / "config.yaml"
CONFIGURATION = HERE / "prometheus" / "prometheus.yml"
DASHBOARD = HERE / "grafana" / "dashboards" / "replaywright.json"
DATA_SOURCES = HERE / "grafana" / "provisioning" / "datasources.yml"

SEVERITIES = ("warning", "page")
_COLUMNS = 24
_ASKED_BY_NO_PANEL: frozenset[str] = frozenset()
"""Metrics that the dashboard leaves out on purpose."""


def rules_in(text: str) -> list[dict[str, Any]]:
    """The alert rules of a rule file."""
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def rule_findings(text: str, tests: str) -> Iterator[str]:
    """What is wrong with the rules, and which have no test that shows them firing."""
    fired = {
        case["alertname"]
        for test in yaml.safe_load(tests)["tests"]
        for case in test["alert_rule_test"]
        if case["exp_alerts"]
    }
    names: set[str] = set()
    for rule in rules_in(text):
        name = rule["alert"]
        if name in names:
            yield f"{name}: is there twice"
        names.add(name)
        yield from (f"{name}: {error}" for error in errors(rule["expr"]))
        if rule.get("labels", {}).get("severity") not in SEVERITIES:
            yield f"{name}: labels.severity: expected one of {', '.join(SEVERITIES)}"
        for annotation in ("summary", "description", "runbook_url"):
            if not rule.get("annotations", {}).get(annotation):
                yield f"{name}: annotations.{annotation} is missing"
        if name not in fired:
            yield f"{name}: no test shows it firing"


def dashboard_findings(dashboard: Mapping[str, Any], data_sources: set[str]) -> Iterator[str]:
    """What is wrong with the dashboard, and which metrics it does not show."""
    asked: set[str] = set()
    panels = list(_panels(dashboard))
    if len({panel["id"] for panel in panels}) != len(panels):
        yield "two panels have the same id"
    for panel in panels:
        title = panel["title"]
        yield from (f"{title}: {message}" for message in _place_findings(panel, panels))
        if panel["type"] == "row":
            continue
        if panel.get("datasource", {}).get("uid") not in data_sources:
            yield f"{title}: its data source is not provisioned"
        if not panel.get("description"):
            yield f"{title}: no description"
        for target in panel.get("targets", []):
            yield from (f"{title}: {error}" for error in errors(target["expr"]))
            asked |= {selector.metric for selector in selectors(target["expr"])}
    shown = {SERIES[name].name for name in asked if name in SERIES}
    for metric in sorted({metric.name for metric in SERIES.values()} - shown - _ASKED_BY_NO_PANEL):
        yield f"no panel shows {metric}"


def _panels(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def _place_findings(panel: Mapping[str, Any], panels: list[dict[str, Any]]) -> Iterator[str]:
    place = panel["gridPos"]
    if place["x"] + place["w"] > _COLUMNS:
        yield "it reaches over the right edge"
    for other in panels:
        theirs = other["gridPos"]
        apart = (
            place["x"] + place["w"] <= theirs["x"]
            or theirs["x"] + theirs["w"] <= place["x"]
            or place["y"] + place["h"] <= theirs["y"]
            or theirs["y"] + theirs["h"] <= place["y"]
        )
        if other["id"] > panel["id"] and not apart:
            yield f"it lies over {other['title']}"


def collector_findings(text: str) -> Iterator[str]:
    """Which parts of the collector's pipelines are not configured, and which are configured for nothing."""
    data = yaml.safe_load(text)
    used: dict[str, set[str]] = {"extensions": set(data["service"].get("extensions", []))}
    for name, pipeline in data["service"]["pipelines"].items():
        for kind in ("receivers", "processors", "exporters"):
            if kind != "processors" and not pipeline.get(kind):
                yield f"the pipeline {name} has no {kind}"
            used.setdefault(kind, set()).update(pipeline.get(kind, []))
    for kind, names in used.items():
        declared = set(data.get(kind, {}))
        yield from (f"{kind}: {name} is used and not configured" for name in sorted(names - declared))
        yield from (f"{kind}: {name} is configured and not used" for name in sorted(declared - names))


def _promtool_findings() -> tuple[str, list[str]]:
    """How promtool went, in a line, and what it found."""
    try:
        program = promtool()
    except PromtoolMissing as exc:
        return f"promtool: skipped: {exc}", []
    found: list[str] = []
    for words in (("check", "config", CONFIGURATION), ("test", "rules", RULES_TEST)):
        run = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=120)
        if run.returncode:
            said = (run.stdout + run.stderr).strip()
            found.append(f"promtool {' '.join(map(str, words[:2]))}:\n{said}")
    return f"promtool: {'found faults' if found else 'right'}", found


def main() -> int:
    """Print what is wrong, and return 1 if anything is."""
    sources = {one["uid"] for one in yaml.safe_load(DATA_SOURCES.read_text(encoding="utf-8"))["datasources"]}
    texts = (RULES.read_text(encoding="utf-8"), RULES_TEST.read_text(encoding="utf-8"))
    found = [f"{RULES.name}: {message}" for message in rule_findings(*texts)]
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    found += [f"{DASHBOARD.name}: {message}" for message in dashboard_findings(dashboard, sources)]
    found += [f"collector: {message}" for message in collector_findings(COLLECTOR.read_text(encoding="utf-8"))]
    told, more = _promtool_findings()
    for line in [*found, *more]:
        print(line)
    print(told)
    count = len(found) + len(more)
    print(f"alerts, dashboard and collector: {f'{count} findings' if count else 'right'}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())

"""What a PromQL expression asks for, held against the catalogue of metrics.

Prometheus answers a metric that does not exist with nothing: an alert on it never fires, a panel stays empty.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from replaywright.telemetry.catalogue import METRICS, OTHER, Label, Metric, MetricKind

OTHERS: Mapping[str, frozenset[str]] = {"up": frozenset()}
"""Metrics that are not ours → their labels beside those of every series: Prometheus' own."""
OF_EVERY_SERIES = frozenset({"job", "instance", "role"})
"""Labels that scraping adds: `ops/prometheus/prometheus.yml`."""

_PARTS = {MetricKind.HISTOGRAM: ("_bucket", "_sum", "_count"), MetricKind.COUNTER: ("",), MetricKind.GAUGE: ("",)}
_WORDS = frozenset(
    {"and", "or", "unless", "by", "without", "on", "ignoring", "offset", "bool", "group_left", "group_right"}
)
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_OPAQUE = re.compile(r'"(?:[^"\\]|\\.)*"|\[[^\]]*\]')
_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(\{[^}]*\})?")
_MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
_VARIABLE = re.compile(r"\$\{?\w+(?::\w+)?\}?")


@dataclass(frozen=True)
class Selector:
    """One metric that an expression asks for."""

    metric: str
    matchers: tuple[tuple[str, str, str], ...]
    """Label, operator, value."""


def selectors(expression: str) -> list[Selector]:
    """The metrics that the expression asks for, in order."""
    without_groups = _GROUPING.sub(" ", expression)
    found: list[Selector] = []
    for match in _SELECTOR.finditer(_masked(without_groups)):
        name = match[1]
        behind = without_groups[match.end() :].lstrip()
        is_number = without_groups[: match.start()][-1:].isdigit()
        if name in _WORDS or is_number or (match[2] is None and behind.startswith("(")):
            continue
        braces = without_groups[match.start(2) : match.end(2)] if match[2] else ""
        found.append(Selector(name, tuple((one[1], one[2], one[3]) for one in _MATCHER.finditer(braces))))
    return found


def errors(expression: str) -> Iterator[str]:
    """What the expression asks for that is not in the catalogue."""
    used = selectors(expression)
    if not used:
        yield "asks for no metric"
    known: set[str] = {"le"} | OF_EVERY_SERIES
    for selector in used:
        labels = _labels(selector.metric)
        if labels is None:
            yield f"{selector.metric} is not in the catalogue"
            continue
        known |= labels.keys()
        for label, operator, value in selector.matchers:
            yield from _matcher_errors(selector.metric, labels, label, operator, value)
    for grouping in _GROUPING.finditer(expression):
        for label in filter(None, re.split(r"[\s,]+", grouping[1])):
            if label not in known:
                yield f"groups by {label!r}, which none of its metrics has"


def _labels(name: str) -> dict[str, Label | None] | None:
    """The labels of the series of this name; None when there is no such series."""
    everywhere: dict[str, Label | None] = dict.fromkeys(OF_EVERY_SERIES)
    if name in OTHERS:
        return everywhere | dict.fromkeys(OTHERS[name])
    metric = SERIES.get(name)
    if metric is None:
        return None
    labels = everywhere | {label.prometheus: label for label in metric.labels}
    return labels | {"le": None} if name.endswith("_bucket") else labels


def _matcher_errors(
    metric: str, labels: Mapping[str, Label | None], label: str, operator: str, value: str
) -> Iterator[str]:
    if label not in labels:
        yield f"{metric} has no label {label!r}"
        return
    described = labels[label]
    if described is None or not described.is_closed or _VARIABLE.fullmatch(value):
        return
    for word in value.split("|") if operator in ("=~", "!~") else [value]:
        if word not in (*described.values, OTHER):
            yield f"{metric}: {label} is never {word!r}"


def _masked(text: str) -> str:
    """The same length without what is in strings and ranges, so that nothing in them looks like a name."""
    return _OPAQUE.sub(lambda match: match[0][0] + " " * (len(match[0]) - 2) + match[0][-1], text)


SERIES: Mapping[str, Metric] = {metric.prometheus + part: metric for metric in METRICS for part in _PARTS[metric.kind]}
"""Name of a time series → the metric that it is of."""

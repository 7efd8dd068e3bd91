"""The instruments of the catalogue on a meter of OpenTelemetry's, and what is counted for what is told."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Meter, Observation, _Gauge

from replaywright.domain.run.scope import Usage
from replaywright.observing import ModelRequested, RecoveryTold, StepTold, Told
from replaywright.telemetry import catalogue
from replaywright.telemetry.catalogue import OTHER, Metric, MetricKind
from replaywright.telemetry.gen_ai import measured_request

_log = logging.getLogger("replaywright.telemetry")


class Metrics:
    """All metrics of this process; an `Observer`."""

    def __init__(self, meter: Meter) -> None:
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._seen: dict[str, set[str]] = {}
        self._gauges: dict[str, list[Callable[[], int]]] = {}
        self._settable: dict[str, _Gauge] = {}
        for one in catalogue.METRICS:
            told = {"unit": one.unit, "description": one.description}
            match one.kind:
                case MetricKind.COUNTER:
                    self._counters[one.name] = meter.create_counter(one.name, **told)
                case MetricKind.HISTOGRAM:
                    self._histograms[one.name] = meter.create_histogram(
                        one.name, **told, explicit_bucket_boundaries_advisory=one.buckets
                    )
                case MetricKind.GAUGE if one.labels:
                    self._settable[one.name] = meter.create_gauge(one.name, **told)
                case MetricKind.GAUGE:
                    sources = self._gauges.setdefault(one.name, [])
                    meter.create_observable_gauge(one.name, [partial(_observed, sources)], **told)

    def add(self, metric: Metric, value: float = 1, **labels: str) -> None:
        """Count, note one value of a distribution, or set a gauge.

        Raises:
            ValueError: the labels are not those of the metric, or it is a gauge without labels.
        """
        told = self._labelled(metric, labels)
        match metric.kind:
            case MetricKind.COUNTER:
                self._counters[metric.name].add(value, told)
            case MetricKind.HISTOGRAM:
                self._histograms[metric.name].record(max(0.0, value), told)
            case MetricKind.GAUGE if metric.labels:
                self._settable[metric.name].set(value, told)
            case MetricKind.GAUGE:
                raise ValueError(f"{metric.name} is watched, not counted")

    def watch(self, metric: Metric, count: Callable[[], int]) -> Callable[[], None]:
        """Ask `count` whenever the gauge is read, until what comes back is called; several are added up."""
        sources = self._gauges[metric.name]
        sources.append(count)
        return lambda: sources.remove(count)

    def _labelled(self, metric: Metric, labels: Mapping[str, str]) -> dict[str, str]:
        if labels.keys() != {label.name for label in metric.labels}:
            raise ValueError(f"{metric.name} has the labels {[label.name for label in metric.labels]}, not {labels}")
        return {
            label.name: self._value(label, labels[label.name])
            for label in metric.labels
            if labels[label.name] or not label.is_optional
        }

    def _value(self, label: catalogue.Label, value: str) -> str:
        if label.is_closed:
            return value if value in label.values else OTHER
        seen = self._seen.setdefault(label.name, set())
        if value in seen:
            return value
        if len(seen) >= label.kept:
            return OTHER
        seen.add(value)
        return value

    # ------------------------------------------------------------------------------------- what adapters tell

    def redis_asked(self, operation: str, seconds: float, *, ok: bool) -> None:
        """See `Observer`."""
        self.add(catalogue.REDIS_DURATION, seconds, operation=operation, result=_result(ok))

    def model_asked(self, role: str, model: str, usage: Usage, seconds: float, *, ok: bool) -> None:
        """See `Observer`. Of several requests for one answer all but the last have failed."""
        of = {"role": role, "model": model}
        if ok:
            self.add(catalogue.MODEL_CALLS, 1, **of, result="ok")
        if failed := usage.calls - ok:
            self.add(catalogue.MODEL_CALLS, failed, **of, result="failed")
        self.add(catalogue.MODEL_DURATION, seconds, **of)
        self.add(catalogue.MODEL_TOKENS, usage.input_tokens, **of, direction="input")
        self.add(catalogue.MODEL_TOKENS, usage.output_tokens, **of, direction="output")
        if usage.priced:
            self.add(catalogue.MODEL_COST, usage.cost_usd, **of)

    def model_requested(self, request: ModelRequested) -> None:
        """See `Observer`."""
        for one in measured_request(request):
            self.add(one.metric, one.value, **one.labels)

    def signed_in(self, session: str, *, ok: bool) -> None:
        """See `Observer`."""
        self.add(catalogue.SIGN_INS, 1, session=session, result=_result(ok))

    def not_masked(self, what: str) -> None:
        """See `Observer`."""
        self.add(catalogue.MASK_FAILURES, 1, what=what)

    # ----------------------------------------------------------------------------------- what workflows tell

    def told(self, what: Told) -> None:
        """Count an operation of a workflow that is over."""
        match what:
            case StepTold():
                self.add(catalogue.STEPS, 1, action=what.action, outcome=what.outcome, how=what.how)
            case RecoveryTold():
                seconds = (what.ended_ns - what.begun_ns) / 1e9
                self.add(catalogue.RECOVERY_DURATION, seconds, kind=what.kind)

    def run_ended(self, *, status: str, mode: str, seconds: float) -> None:
        """Count a run that is over."""
        self.add(catalogue.RUNS, 1, status=status, mode=mode)
        self.add(catalogue.RUN_DURATION, seconds, status=status, mode=mode)

    def canary_ended(self, skill: str, outcome: str, at_s: float) -> None:
        """Count a canary that is over."""
        self.add(catalogue.CANARIES, 1, skill=skill, outcome=outcome)
        if outcome in ("intact", "drifted"):
            self.add(catalogue.CANARY_SUCCESS, at_s, skill=skill)


def _result(ok: bool) -> str:
    return "ok" if ok else "failed"


def _observed(sources: Iterable[Callable[[], int]], _options: CallbackOptions) -> Iterable[Observation]:
    yield Observation(sum(count() for count in sources))

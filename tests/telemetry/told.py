"""A meter that remembers, and one example of everything that can be told."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, NumberDataPoint

from replaywright.telemetry.metrics import Metrics

Series = tuple[str, frozenset[tuple[str, object]]]


@dataclass
class Remembering:
    """Metrics that are read back here."""

    reader: InMemoryMetricReader = field(default_factory=InMemoryMetricReader)

    def __post_init__(self) -> None:
        self._provider = MeterProvider([self.reader], shutdown_on_exit=False)
        self.metrics = Metrics(self._provider.get_meter("test"))

    @property
    def series(self) -> dict[Series, float]:
        """The value of each series; of a histogram, how many values it has."""
        return dict(self._series())

    @property
    def names(self) -> set[str]:
        """The metrics that have any value."""
        return {name for name, _ in self.series}

    def value(self, name: str, **labels: str) -> float:
        """The sum over all series of a metric that have these labels."""
        wanted = set(labels.items())
        return sum(value for (one, told), value in self.series.items() if one == name and wanted <= told)

    def _series(self) -> Iterator[tuple[Series, float]]:
        data = self.reader.get_metrics_data()
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        value = point.value if isinstance(point, NumberDataPoint) else point.count
                        yield (metric.name, frozenset((point.attributes or {}).items())), value

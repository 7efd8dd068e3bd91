"""Metrics of Temporal's own client, as far as they are in the catalogue."""

import asyncio

from temporalio.runtime import (
    BufferedMetricUpdate,
    MetricBuffer,
    MetricBufferDurationFormat,
    Runtime,
    TelemetryConfig,
)

from replaywright.telemetry import catalogue
from replaywright.telemetry.metrics import Metrics

BUFFERED = 50_000
"""Updates that fit in between two looks."""
LOOK_EVERY_S = 1.0
_REQUEST = "temporal_request_latency"
_WORKFLOW_WAIT = "temporal_workflow_task_schedule_to_start_latency"


class TemporalMetrics:
    """A runtime for clients, and what comes out of it."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._buffer = MetricBuffer(BUFFERED, MetricBufferDurationFormat.SECONDS)
        self.runtime = Runtime(telemetry=TelemetryConfig(metrics=self._buffer, attach_service_name=False))
        """Clients that are connected with it are measured."""

    async def keep_looking(self) -> None:
        """Take over what was measured, every second, for ever."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_EVERY_S)

    def look(self) -> None:
        """Take over what was measured since the last time."""
        for update in self._buffer.retrieve_updates():
            self._take(update)

    def _take(self, update: BufferedMetricUpdate) -> None:
        match update.metric.name:
            case name if name == _REQUEST:
                operation = str(update.attributes.get("operation", ""))
                self._metrics.add(catalogue.TEMPORAL_DURATION, update.value, operation=operation)
            case name if name == _WORKFLOW_WAIT:
                self._metrics.add(catalogue.QUEUE_WAIT, update.value, queue="workflow")
            case _:
                pass

"""Telemetry of runs for operators: traces, metrics and logs, by OpenTelemetry and Prometheus."""

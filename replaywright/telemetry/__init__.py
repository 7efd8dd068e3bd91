"""What is told of runs to those who watch many: traces, metrics and logs, by OpenTelemetry and Prometheus."""

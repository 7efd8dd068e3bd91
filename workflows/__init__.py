"""Deterministic orchestration: no I/O, no clock of its own, no adapter."""

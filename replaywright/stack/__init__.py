"""Services that Replaywright needs on one machine without Docker: Temporal, Redis, a Chromium, a worker."""

from replaywright.stack.chromium import Chromium, find_chromium
from replaywright.stack.processes import Child, free_port, start_child
from replaywright.stack.services import Stack, settings_environment
from replaywright.stack.state import RunningStack, read_running
from replaywright.stack.workers import announce_ready, start_worker, stop_worker

__all__ = [
    "Child",
    "Chromium",
    "RunningStack",
    "Stack",
    "announce_ready",
    "find_chromium",
    "free_port",
    "read_running",
    "settings_environment",
    "start_child",
    "start_worker",
    "stop_worker",
]

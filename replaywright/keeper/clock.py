"""The keeper's clocks."""

import time


def lease_now_s() -> float:
    """Return seconds since boot, time asleep included: a suspended machine must not keep its lease."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def wall_offset_s() -> float:
    """Return the difference between the wall clock and the monotonic clock."""
    return time.time() - time.monotonic()


def wall_s(monotonic_s: float | None, offset_s: float) -> float | None:
    """Return a recorded monotonic time in seconds since 1970, given the wall clock's offset when it was recorded."""
    return None if monotonic_s is None else round(monotonic_s + offset_s, 6)

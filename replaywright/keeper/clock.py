"""The keeper's clocks."""

import time

from replaywright.keeper.protocol import Moment


def lease_now_s() -> float:
    """Return seconds since boot, time asleep included: a suspended machine must not keep its lease."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def moment() -> Moment:
    """Return this instant on both clocks."""
    return Moment(wall_s=time.time(), monotonic_s=time.monotonic())


def at(monotonic_s: float | None, offset_s: float) -> Moment | None:
    """Return a recorded monotonic time as a `Moment`, given the wall clock's offset when it was recorded."""
    return None if monotonic_s is None else Moment(wall_s=monotonic_s + offset_s, monotonic_s=monotonic_s)


def wall_offset_s() -> float:
    """Return the difference between the wall clock and the monotonic clock."""
    return time.time() - time.monotonic()

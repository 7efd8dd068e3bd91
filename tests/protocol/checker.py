"""Explicit-state model checking: every state that can be reached is visited, breadth first.

Breadth first means that a counter-example is a shortest one. A model is a function from a state to its steps; states
are hashable values. The checker knows nothing of the protocol.
"""

import gc
import time
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

_State = TypeVar("_State", bound=Hashable)


class Step(NamedTuple, Generic[_State]):
    """One thing that can happen next."""

    who: str
    what: str
    progress: bool
    """Whether it is certain to happen in the end: false for faults, and for those who may be dead."""
    after: _State


@dataclass(frozen=True)
class Checked:
    """What was found."""

    states: int
    steps: int
    seconds: float
    """Of the processor."""
    problem: str = ""
    """What is wrong with the last state of `trace`; empty when nothing is."""
    trace: tuple[str, ...] = ()
    """What happened, from the first state to the one with the problem."""

    def told(self) -> str:
        """The counter-example as a numbered list."""
        lines = (f"{number:3}. {line}" for number, line in enumerate(self.trace, 1))
        return "\n".join((*lines, f"  => {self.problem}"))


def check(
    first: _State,
    steps_of: Callable[[_State], Iterable[Step[_State]]],
    problem_of: Callable[[_State], str],
    has_ended: Callable[[_State], bool],
    limit: int = 3_000_000,
) -> Checked:
    """Visit all states; stop at the first with a problem.

    Beside what `problem_of` says, these are problems: a state that has not ended and from which no progress leads on
    (stuck), a way back to a state that was there before (a run that need never end), and more than `limit` states.
    """
    begun = time.process_time()
    with _no_collection():
        order, parents, edges, bad = [first], [0], [array("l")], ""
        numbers = {first: 0}
        at = 0
        for at, state in enumerate(order):
            if bad := problem_of(state) or "endless: more states than there may be" * (len(order) > limit):
                break
            progress = False
            leads_to = edges[at]
            for step in steps_of(state):
                progress = progress or step.progress
                number = numbers.setdefault(step.after, len(order))
                if number == len(order):
                    order.append(step.after)
                    parents.append(at)
                    edges.append(array("l"))
                leads_to.append(number)
            if not progress and not has_ended(state):
                bad = "stuck: nothing is certain to happen any more"
                break
        else:
            if (turning := _on_a_cycle(edges)) is not None:
                at, bad = turning, "a run can come back to this state for ever"
        trace = _trace(order, parents, steps_of, at) if bad else ()
    return Checked(len(order), sum(map(len, edges)), time.process_time() - begun, bad, trace)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without looking for cyclic garbage: there is none, and hundreds of thousands of states to look through."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _trace(
    order: list[_State], parents: list[int], steps_of: Callable[[_State], Iterable[Step[_State]]], last: int
) -> tuple[str, ...]:
    lines = []
    while last:
        parent = parents[last]
        step = next(step for step in steps_of(order[parent]) if step.after == order[last])
        lines.append(f"{step.who}: {step.what}")
        last = parent
    return tuple(reversed(lines))


def _on_a_cycle(edges: "list[array[int]]") -> int | None:
    """A node that lies on a cycle or behind one, after Kahn; None when there is no cycle."""
    incoming = [0] * len(edges)
    for leads_to in edges:
        for node in leads_to:
            incoming[node] += 1
    free = [node for node, count in enumerate(incoming) if not count]
    for node in free:
        for after in edges[node]:
            incoming[after] -= 1
            if not incoming[after]:
                free.append(after)
    return None if len(free) == len(edges) else next(node for node, count in enumerate(incoming) if count)

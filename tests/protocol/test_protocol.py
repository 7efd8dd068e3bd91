"""No interleaving of the protocol sends twice, claims what is not so, or hangs; without one of its guards some do.

`-rP` shows the counter-examples and the sizes. docs/architecture/commit-protocol.md has both, and the reasons.
"""

from dataclasses import dataclass
from functools import cache

import pytest

from tests.protocol.checker import Checked, Step, check
from tests.protocol.model import Faults, Guards
from tests.protocol.protocol import Protocol

WHOLE, ANY_THREE = Guards(), Faults()
RESUMED = Faults(total=1, resume=1)
"""Ended at any moment, or after its end, and resumed."""


def checked(guards: Guards = WHOLE, faults: Faults = ANY_THREE, *, probe: bool = True, stale: bool = False) -> Checked:
    protocol = Protocol(guards, faults, probe=probe, stale=stale)
    return check(protocol.start, protocol.steps, protocol.problem, protocol.has_ended)


@cache
def whole_protocol(faults: Faults, *, probe: bool, stale: bool = False) -> Checked:
    return checked(faults=faults, probe=probe, stale=stale)


@pytest.mark.parametrize(
    "probe",
    [
        pytest.param(True, id="the site can be asked"),
        pytest.param(False, id="only a live page can tell", marks=pytest.mark.long),
    ],
)
def test_the_protocol_holds_in_every_interleaving_with_any_three_faults(probe: bool) -> None:
    found = whole_protocol(Faults(total=3), probe=probe)

    print(f"{found.states} states, {found.steps} steps, {found.seconds:.1f} s")
    assert not found.problem, found.told()
    assert found.states > 100_000  # not held up by a step that never comes


@pytest.mark.parametrize("probe", [True, False], ids=["the site can be asked", "only a live page can tell"])
@pytest.mark.parametrize("total", [pytest.param(2, id="and another fault"), pytest.param(3, marks=pytest.mark.long)])
def test_a_run_that_is_resumed_with_another_chain_of_steps_repeats_no_act(probe: bool, total: int) -> None:
    found = whole_protocol(RESUMED._replace(total=total), probe=probe)

    print(f"{found.states} states, {found.steps} steps, {found.seconds:.1f} s")
    assert not found.problem, found.told()
    assert found.states > 20_000


ONE = Faults(total=1)
TWO = Faults(total=2)
ONLY_LOSSES = Faults(total=2, keeper=0, redis=0)


@dataclass(frozen=True)
class Mutant:
    """The protocol without some of its guards, and the shortest way to what goes wrong then."""

    name: str
    without: tuple[str, ...]
    problem: str
    story: tuple[str, ...]
    """What must happen in the counter-example, in this order."""
    faults: Faults = TWO
    probe: bool = True
    stale: bool = False
    """The page shows what is expected of the step before it already."""

    @property
    def guards(self) -> Guards:
        return Guards(**dict.fromkeys(self.without, False))


BOTH_LAND = ("site: does it, and answers", "site: does it, and answers")
MUTANTS = (
    Mutant(
        "fence: the keeper does not cut the old attempt off",
        ("keeper_fence",),
        "duplicate",
        ("BLACK BOX: nothing has left", "zombie attempt 1: clicks", "attempt 3: clicks", *BOTH_LAND),
        ONE,
    ),
    Mutant(
        "fence: a keeper that cannot be reached is left alone",
        ("stop_unreachable",),
        "duplicate",
        ("keeper: permits", "gives the keeper up", "attempt 3: clicks", "keeper: lets the bytes go", *BOTH_LAND),
    ),
    Mutant(
        "settle 0",
        ("settle",),
        "duplicate",
        ("site: does it", "keeper and browser die", "PROBE: it is not there", "verified absent", "attempt 3: clicks"),
        ONE,
    ),
    Mutant(
        "gate off",
        ("gate",),
        "duplicate",
        ("attempt 1: clicks", "BLACK BOX: nothing has left", "keeper: lets the bytes go", "attempt 3: clicks"),
        ONE,
    ),
    Mutant(
        "epoch compare off in the keeper",
        ("keeper_epoch",),
        "duplicate",
        ("resolver 2: STOP", "zombie attempt 1: clicks", "attempt 3: clicks", *BOTH_LAND),
        ONE,
    ),
    Mutant(
        "Temporal retries the commit activity",
        ("temporal_never_retries",),
        "duplicate",
        ("attempt 1: clicks", "attempt 1 is taken for lost", "attempt 1: clicks", "keeper: permits", *BOTH_LAND),
        ONE,
    ),
    Mutant(
        "the black box is read before the gate is cut",
        ("cut_before_reading",),
        "duplicate",
        ("keeper: permits", "BLACK BOX: nothing has left", "keeper: lets the bytes go", "attempt 3: clicks"),
        ONE,
    ),
    Mutant(
        "the gate is opened over loads that Chromium repeats",
        ("loads_stopped",),
        "duplicate",
        ("attempt 1: clicks", "keeper: cuts", "not dispatched", "attempt 2: clicks", *BOTH_LAND),
        ONE,
    ),
    Mutant(
        "bytes that left are not heeded",
        ("bytes_left_count",),
        "duplicate",
        ("site: does it", "BLACK BOX: nothing has left", "attempt 3: clicks", "site: does it"),
        ONE,
    ),
    Mutant(
        "the black box is not asked",
        ("black_box",),
        "needless question",
        ("attempt 1 is taken for lost", "STOP: fences the keeper", "writes ESCALATED"),
        ONE,
        probe=False,
    ),
    Mutant(
        "a second resolver is told of the first one, and not of the attempt in doubt",
        ("attempt_is_carried",),
        "duplicate",
        ("keeper and browser die", "FENCE: finds DISPATCHED", "FENCE: finds RESOLVING", "has no intent", "clicks"),
    ),
    Mutant(
        "the resolver is not told by the workflow which attempt is in doubt",
        ("attempt_is_told",),
        "needless question",
        ("attempt 1 is taken for lost", "FENCE: finds no record", "it does not know", "writes ESCALATED"),
        ONLY_LOSSES,
        probe=False,
    ),
    Mutant(
        "the keeper does not know what held before, as the intent does",
        ("before_is_noted",),
        "needless question",
        ("site: does it", "Redis comes back empty", "FENCE: finds no record", "bytes have left", "writes ESCALATED"),
        probe=False,
    ),
    Mutant(
        "a ledger that lost nothing is not heeded when no browser is left",
        ("whole_ledger_speaks",),
        "needless question",
        ("attempt 1 is taken for lost", "FENCE: finds no record", "keeper and browser die", "writes ESCALATED"),
        probe=False,
    ),
    Mutant(
        "that the ledger has lost something is not seen",
        ("loss_is_seen",),
        "duplicate",
        ("site: does it", "Redis comes back empty", "keeper and browser die", "has no intent", "attempt 3: clicks"),
    ),
    Mutant(
        "the intent is written before the gate is armed",
        ("gate_before_intent",),
        "needless question",
        ("attempt 1: writes INTENT", "attempt 1 is taken for lost", "it does not know", "writes ESCALATED"),
        ONE,
        probe=False,
    ),
    Mutant(
        "what the page showed before the step decides",
        ("before_is_heeded",),
        "false done",
        ("attempt 1 is taken for lost", "the live page shows what it showed before", "writes COMMITTED"),
        stale=True,
    ),
    Mutant(
        "one negative of the probe is enough",
        ("two_negatives",),
        "duplicate",
        ("site: shows it", "keeper and browser die", "PROBE: it is not there (wrong: it is)", "attempt 3: clicks"),
    ),
    Mutant(
        "a 5xx is read as failed",
        ("error_is_no_answer",),
        "duplicate",
        ("site: does it, and answers with a 5xx", "attempt 1: sees a 5xx", "writes NOT_DONE", "attempt 2: clicks"),
    ),
    Mutant(
        "committed without evidence",
        ("evidence",),
        "false done",
        ("attempt 1: clicks", "takes the click for the effect", "writes COMMITTED"),
        Faults(total=0),
    ),
    Mutant(
        "a person who does not answer is taken for a yes",
        ("person_has_no_deadline",),
        "false done",
        ("PROBE: no usable answer", "writes ESCALATED", "nobody answers in time"),
    ),
    Mutant(
        "no intent in the ledger is taken for not dispatched",
        ("ledger_gap_is_no_answer",),
        "duplicate",
        ("site: does it", "Redis falls back to no record", "FENCE: finds no record", "writes NOT_DONE", "clicks"),
    ),
    Mutant(
        "the ledger is keyed by the run, not by the lineage",
        ("ledger_of_lineage",),
        "duplicate",
        ("attempt 1: writes COMMITTED", "the workflow starts a second time", "attempt 1: clicks", "site: does it"),
        ONE,
    ),
    Mutant(
        "INTENT does not look for the act under another chain",
        ("acts",),
        "duplicate",
        ("attempt 1: clicks", "site: does it", "resumed with another chain", "attempt 2: clicks", "site: does it"),
        RESUMED,
    ),
    Mutant(
        "an act that is in doubt under another chain is taken over",
        ("earlier_doubt_is_resolved",),
        "duplicate",
        ("resumed with another chain", "takes what is open", "attempt 2: clicks", "site: does it, and answers"),
        RESUMED,
    ),
    Mutant(
        "the browser of the run before is left as it is",
        ("earlier_browser_is_ended",),
        "duplicate",
        ("attempt 1: clicks", "resumed with another chain", "writes NOT_DONE", "attempt 4: clicks", *BOTH_LAND),
        RESUMED,
    ),
    Mutant(
        "the ledger does not compare epochs",
        ("ledger_epoch",),
        "duplicate",
        ("zombie attempt 1: writes NOT_DONE", "site: does it", "keeper and browser die", "has no intent", "clicks"),
    ),
    Mutant(
        "an attempt may open a browser of its own",
        ("session_is_given",),
        "duplicate",
        ("attempt 3: clicks", "site: does it", "Redis comes back empty", "zombie attempt 1: clicks", "site: does it"),
    ),
    Mutant(
        "an attempt may open a browser of its own, and FENCE does not raise the ledger's epoch",
        ("session_is_given", "ledger_fence"),
        "duplicate",
        ("attempt 1 is taken for lost", "STOP", "zombie attempt 1: writes INTENT", *BOTH_LAND),
        ONLY_LOSSES,
    ),
    Mutant(
        "an attempt may open a browser of its own, and the ledger does not compare epochs",
        ("session_is_given", "ledger_epoch"),
        "duplicate",
        ("attempt 1 is taken for lost", "zombie attempt 1: writes INTENT", *BOTH_LAND),
        ONLY_LOSSES,
    ),
)


def comes_in_order(story: tuple[str, ...], trace: tuple[str, ...]) -> bool:
    lines = iter(trace)
    return all(any(part in line for line in lines) for part in story)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_without_a_guard_the_checker_shows_what_goes_wrong(mutant: Mutant) -> None:
    found = checked(mutant.guards, mutant.faults, probe=mutant.probe, stale=mutant.stale)

    print(f"{mutant.name}: {found.states} states, {found.seconds:.2f} s\n{found.told()}")
    assert found.problem.startswith(mutant.problem)
    assert comes_in_order(mutant.story, found.trace), found.told()
    assert not whole_protocol(
        mutant.faults, probe=mutant.probe, stale=mutant.stale
    ).problem  # it is the guard that makes the difference


def test_a_browser_that_a_zombie_opens_for_itself_is_kept_idle_by_the_ledger() -> None:
    found = checked(Guards(session_is_given=False), ONLY_LOSSES)

    assert not found.problem, found.told()


@pytest.mark.parametrize(
    ("guard", "probe"),
    [
        ("permit_needs_record", True),
        ("black_box", True),
        ("gate_before_intent", True),
        ("attempt_is_told", True),
        ("whole_ledger_speaks", True),
    ],
)
def test_a_second_line_of_defence_is_not_missed_while_the_first_one_holds(guard: str, probe: bool) -> None:
    found = checked(Guards(**{guard: False}), Faults(total=2), probe=probe)

    assert not found.problem, found.told()


# ----------------------------------------------------------------------------------------- the checker itself


def counting(state: int) -> list[Step[int]]:
    """0 → 1 → 2 → 3, and from 1 also to 5 by chance; 5 leads nowhere."""
    following = {0: (1,), 1: (2,), 2: (3,)}.get(state, ())
    return [*(Step("clock", f"says {n}", True, n) for n in following), *([Step("chance", "", False, 5)] * (state == 1))]


def test_a_run_that_can_get_stuck_is_a_problem_and_the_way_there_is_told() -> None:
    found = check(0, counting, lambda _: "", lambda state: state == 3)

    assert found.problem.startswith("stuck")
    assert found.trace == ("clock: says 1", "chance: ")


def test_a_run_that_need_never_end_is_a_problem() -> None:
    found = check(0, lambda state: [Step("clock", "ticks", True, (state + 1) % 3)], lambda _: "", lambda _: False)

    assert "for ever" in found.problem


def test_a_bad_state_is_reported_with_a_shortest_way_to_it() -> None:
    found = check(0, counting, lambda state: "three" if state == 3 else "", lambda state: state in (3, 5))

    assert (found.problem, found.states) == ("three", 5)
    assert found.trace == ("clock: says 1", "clock: says 2", "clock: says 3")

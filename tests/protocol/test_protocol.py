"""No interleaving of the protocol sends twice, claims what is not so, or hangs; without one of its guards some do.

`-rP` shows the counter-examples and the sizes. docs/internals/commit-protocol.md has both, and the reasons.
"""

from dataclasses import dataclass
from functools import cache

import pytest

from tests.protocol.checker import Checked, Step, check
from tests.protocol.guards import Guards
from tests.protocol.model import Faults, World
from tests.protocol.protocol import Protocol

WHOLE, ANY_THREE = Guards(), Faults()
RESUMED = Faults(total=1, resume=1)
"""Ended at any moment, or after its end, and resumed."""
ASKED, UNASKED = World(), World(probe=False)
PROBES = pytest.mark.parametrize("probe", [True, False], ids=["the site can be asked", "only a live page can tell"])


def checked(guards: Guards = WHOLE, faults: Faults = ANY_THREE, world: World = ASKED) -> Checked:
    protocol = Protocol(guards, faults, world)
    return check(protocol.start, protocol.steps, protocol.problem, protocol.has_ended)


@cache
def whole_protocol(faults: Faults, world: World) -> Checked:
    return checked(faults=faults, world=world)


def assert_that_all_is_well(found: Checked, at_least: int) -> None:
    """`at_least`: so many states that it was not held up by a step that never comes."""
    print(f"{found.states} states, {found.steps} steps, {found.seconds:.1f} s")
    assert not found.problem, found.told()
    assert found.states > at_least


def test_the_protocol_holds_in_every_interleaving_with_any_three_faults() -> None:
    assert_that_all_is_well(whole_protocol(Faults(total=3, everything=0), ASKED), 100_000)


@pytest.mark.long
@PROBES
def test_it_holds_with_any_three_faults_of_which_one_may_be_that_everything_dies(probe: bool) -> None:
    assert_that_all_is_well(whole_protocol(ANY_THREE, World(probe=probe)), 100_000)


@PROBES
def test_it_holds_when_everything_dies_and_with_any_other_fault(probe: bool) -> None:
    assert_that_all_is_well(whole_protocol(TWO, World(probe=probe)), 20_000)


@PROBES
@pytest.mark.parametrize("total", [pytest.param(2, id="and another fault"), pytest.param(3, marks=pytest.mark.long)])
def test_a_run_that_is_resumed_with_another_chain_of_steps_repeats_no_act(probe: bool, total: int) -> None:
    assert_that_all_is_well(whole_protocol(RESUMED._replace(total=total), World(probe=probe)), 20_000)


@PROBES
@pytest.mark.parametrize("page", ["late", "repeats", "twice", "unloads"])
def test_it_holds_with_any_two_faults_on_a_page_that_acts_by_itself(page: str, probe: bool) -> None:
    assert_that_all_is_well(whole_protocol(TWO, World(page=page, probe=probe)), 20_000)


@PROBES
def test_it_holds_with_any_fault_on_a_site_that_is_late(probe: bool) -> None:
    assert_that_all_is_well(whole_protocol(ONE, World(site_is_late=True, probe=probe)), 3_000)


@pytest.mark.long
@PROBES
@pytest.mark.parametrize("page", ["prompt", "late", "repeats", "unloads"])
def test_it_holds_with_any_two_faults_on_any_page_of_a_site_that_is_late(page: str, probe: bool) -> None:
    assert_that_all_is_well(whole_protocol(TWO, World(page=page, site_is_late=True, probe=probe)), 100_000)


ONE = Faults(total=1)
TWO = Faults(total=2)
NONE = Faults(total=0)
ONLY_LOSSES = Faults(total=2, keeper=0, redis=0, everything=0)
ONLY_DEATHS = Faults(3, loss=1, redis=0, everything=0, net=0, silence=0, glitch=0, reply=0, slow=0, second_start=0)
LATE_PAGE, REPEATING_PAGE = World(page="late"), World(page="repeats")
UNLOADING_PAGE, DOUBLE_PAGE = World(page="unloads"), World(page="twice")
LATE_SITE = World(site_is_late=True)


@dataclass(frozen=True)
class Mutant:
    """The protocol without some of its guards, and the shortest way to what goes wrong then."""

    name: str
    without: tuple[str, ...]
    problem: str
    story: tuple[str, ...]
    """What must happen in the counter-example, in this order."""
    faults: Faults = TWO
    world: World = ASKED

    @property
    def guards(self) -> Guards:
        return Guards(**dict.fromkeys(self.without, False))


BOTH_LAND = ("site: does it, and answers", "site: does it, and answers")
MUTANTS = (
    Mutant(
        "fence: the keeper does not cut the old attempt off",
        ("keeper_fence",),
        "needless failure",
        ("STOP: fences the keeper", "zombie attempt 1: arms the gate", "attempt 3: is refused at arm"),
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
        ("site: does it", "everything dies", "PROBE: it is not there", "verified absent", "attempt 3: clicks"),
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
        "needless failure",
        ("resolver 2: STOP", "zombie attempt 1: arms the gate", "is refused at arm"),
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
        "the gate is opened for all, over loads that Chromium repeats",
        ("repeats_held", "loads_stopped"),
        "duplicate",
        ("attempt 1: clicks", "BLACK BOX: nothing has left", "opens the gate for all", "does not take note", "clicks"),
        ONE,
    ),
    Mutant(
        "the keeper permits without asking the ledger",
        ("permit_needs_record",),
        "duplicate",
        ("permits, without asking", "cannot be read", "finds INTENT", "verified absent", "clicks", *BOTH_LAND),
        ONE,
    ),
    Mutant(
        "the page's own word is a witness",
        ("two_witnesses",),
        "false done",
        ("attempt 1: clicks", "believes the page", "writes COMMITTED"),
        NONE,
        LATE_PAGE,
    ),
    Mutant(
        "a request that is late is not waited for",
        ("lateness_awaited",),
        "needless failure",
        ("attempt 1: clicks", "does not wait for one", "BLACK BOX: nothing has left", "ends the browser"),
        NONE,
        LATE_PAGE,
    ),
    Mutant(
        "the browser is closed without leaving its page",
        ("page_is_left",),
        "needless failure",
        ("attempt 1: clicks", "late_ms is over", "BLACK BOX: nothing has left", "ends the browser"),
        NONE,
        UNLOADING_PAGE,
    ),
    Mutant(
        "the gate is opened before the page is left",
        ("left_armed",),
        "duplicate",
        ("attempt 1: leaves the page", "does not take note", "FILE: nothing has left", "attempt 3: clicks"),
        ONE,
        UNLOADING_PAGE,
    ),
    Mutant(
        "a document whose request was cut is acted in again",
        ("dead_document",),
        "duplicate",
        ("BLACK BOX: nothing has left", "page: sends it again", "attempt 3: clicks", *BOTH_LAND),
        ONE,
        REPEATING_PAGE,
    ),
    Mutant(
        "the gate is opened for all after a cut",
        ("repeats_held",),
        "duplicate",
        ("BLACK BOX: nothing has left", "opens the gate for all", "page: sends it again", "attempt 3: clicks"),
        ONE,
        REPEATING_PAGE,
    ),
    Mutant(
        "a negative answer of the site is heeded while something is on its way",
        ("flight_is_heeded",),
        "duplicate",
        ("takes its time", "has waited long enough", "PROBE: it is not there", "verified absent", "attempt 3: clicks"),
        NONE,
        LATE_SITE,
    ),
    Mutant(
        "an answer that comes while the site is asked ends the flight at once",
        ("flight_is_read_first",),
        "duplicate",
        ("SETTLE", "site: does it, and answers", "PROBE: it is not there", "verified absent", "attempt 3: clicks"),
        NONE,
        LATE_SITE,
    ),
    Mutant(
        "an intent in a ledger that lost something is taken for one that was not dispatched",
        ("gap_may_hide_dispatch",),
        "duplicate",
        (
            "the bytes go",
            "Redis comes back empty",
            "cannot be read",
            "verified absent",
            "attempt 3: clicks",
            *BOTH_LAND,
        ),
    ),
    Mutant(
        "a second resolver is not told that the attempt was dispatched",
        ("dispatch_is_carried",),
        "duplicate",
        ("cannot be read", "finds DISPATCHED", "finds RESOLVING", "verified absent", "attempt 4: clicks"),
    ),
    Mutant(
        "what a dead keeper wrote is not read",
        ("file_is_heeded",),
        "needless question",
        ("everything dies", "FILE: it does not tell", "in_flight_ms are over"),
        ONE,
    ),
    Mutant(
        "the keeper writes that bytes left when they have",
        ("line_before_byte",),
        "duplicate",
        (
            "keeper: lets the bytes go",
            "everything dies",
            "FILE: nothing has left",
            "attempt 3: clicks",
            "site: does it",
        ),
        ONE,
    ),
    Mutant(
        "an intent that was resolved is in doubt again when Redis falls back to it",
        ("resolved_is_settled",),
        "needless question",
        ("takes its intent back", "Redis falls back", "attempt 2: is refused at INTENT", "in_flight_ms are over"),
    ),
    Mutant(
        "the second equal request of an irreversible step is let go",
        ("once",),
        "duplicate",
        ("attempt 1: clicks", "page: sends", *BOTH_LAND),
        NONE,
        DOUBLE_PAGE,
    ),
    Mutant(
        "the second equal request is let go after the step's end",
        ("once_is_remembered",),
        "duplicate",
        ("attempt 1: clicks", "site: does it", "opens the gate", "does not take note", "site: does it"),
        NONE,
        DOUBLE_PAGE,
    ),
    Mutant(
        "bytes that left are not heeded",
        ("bytes_left_count",),
        "duplicate",
        ("site: does it", "FILE: nothing has left", "attempt 3: clicks", "site: does it"),
        ONE,
    ),
    Mutant(
        "the black box is not asked",
        ("black_box",),
        "needless question",
        ("attempt 1 is taken for lost", "STOP: fences the keeper", "writes ESCALATED"),
        ONE,
        world=UNASKED,
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
        ("everything dies", "FENCE: finds no record", "it does not tell", "writes ESCALATED"),
        ONE,
        world=UNASKED,
    ),
    Mutant(
        "the keeper does not know what held before, as the intent does",
        ("before_is_noted",),
        "needless question",
        ("site: does it", "Redis comes back empty", "FENCE: finds no record", "bytes have left", "writes ESCALATED"),
        world=UNASKED,
    ),
    Mutant(
        "a ledger that lost nothing is not heeded when no browser is left",
        ("whole_ledger_speaks",),
        "needless question",
        ("attempt 1 is taken for lost", "FENCE: finds no record", "keeper and browser die", "writes ESCALATED"),
        world=UNASKED,
    ),
    Mutant(
        "that the ledger has lost something is not seen",
        ("loss_is_seen",),
        "duplicate",
        ("site: does it", "Redis comes back empty", "cannot be read", "has no intent", "attempt 3: clicks"),
    ),
    Mutant(
        "the intent is written before the gate is armed",
        ("gate_before_intent",),
        "needless question",
        ("attempt 1: writes INTENT", "everything dies", "it does not tell", "writes ESCALATED"),
        ONE,
        world=UNASKED,
    ),
    Mutant(
        "what the page showed before the step decides",
        ("before_is_heeded",),
        "false done",
        ("attempt 1 is taken for lost", "the live page shows what it showed before", "writes COMMITTED"),
        world=World(stale=True),
    ),
    Mutant(
        "one negative of the probe is enough",
        ("two_negatives",),
        "duplicate",
        ("site: shows it", "everything dies", "PROBE: it is not there (wrong: it is)", "attempt 3: clicks"),
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
        ("site: does it", "Redis comes back with no record", "FENCE: finds no record", "writes NOT_DONE", "clicks"),
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
        ("keeper: permits", "resumed with another chain", "person: says NOT_DONE", "attempt 4: clicks", *BOTH_LAND),
        RESUMED,
    ),
    Mutant(
        "the ledger does not compare epochs",
        ("ledger_epoch",),
        "duplicate",
        ("zombie attempt 1: writes NOT_DONE", "site: does it", "cannot be read", "has no intent", "clicks"),
        ONLY_DEATHS,
    ),
    Mutant(
        "an attempt may open a browser of its own",
        ("session_is_given",),
        "needless question",
        (
            "attempt 1 is taken for lost",
            "Redis comes back empty",
            "zombie attempt 1: writes INTENT",
            "writes ESCALATED",
        ),
        Faults(total=2, keeper=0, everything=0),
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
        "needless question",
        ("attempt 1 is taken for lost", "zombie attempt 1: writes INTENT", "writes ESCALATED"),
        ONLY_LOSSES,
    ),
)


def comes_in_order(story: tuple[str, ...], trace: tuple[str, ...]) -> bool:
    lines = iter(trace)
    return all(any(part in line for line in lines) for part in story)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_without_a_guard_the_checker_shows_what_goes_wrong(mutant: Mutant) -> None:
    found = checked(mutant.guards, mutant.faults, mutant.world)

    print(f"{mutant.name}: {found.states} states, {found.seconds:.2f} s\n{found.told()}")
    assert found.problem.startswith(mutant.problem)
    assert comes_in_order(mutant.story, found.trace), found.told()
    # it is the guard that makes the difference
    assert not whole_protocol(mutant.faults, mutant.world).problem


def test_a_browser_that_a_zombie_opens_for_itself_is_kept_idle_by_the_ledger() -> None:
    found = checked(Guards(session_is_given=False), ONLY_LOSSES)

    assert not found.problem, found.told()


@pytest.mark.parametrize("guard", ["ledger_epoch", "loads_stopped", "whole_ledger_speaks", "before_is_noted"])
def test_a_second_line_of_defence_is_not_missed_while_the_first_one_holds(guard: str) -> None:
    found = checked(Guards(**{guard: False}), TWO)

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

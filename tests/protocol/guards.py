"""The guards of the protocol."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guards:
    """What the protocol does; a mutant leaves one of these out."""

    temporal_never_retries: bool = True
    """A commit activity has one attempt; after its loss comes the resolver."""
    keeper_fence: bool = True
    """The keeper cuts off, and refuses, who has a lower epoch, from the resolver's STOP on."""
    ledger_fence: bool = True
    """FENCE raises the epoch in the ledger and makes it RESOLVING."""
    stop_unreachable: bool = True
    """A keeper that cannot be reached is killed, or its lease waited out."""
    gate: bool = True
    """`arm` holds the bytes."""
    ledger_epoch: bool = True
    """The ledger's scripts compare epochs."""
    keeper_epoch: bool = True
    """The keeper compares epochs."""
    permit_needs_record: bool = True
    """The keeper asks DISPATCH of the ledger, and cuts when it is refused or not answered."""
    cut_before_reading: bool = True
    """The resolver closes the gate before it believes the black box."""
    loads_stopped: bool = True
    """After a cut the page's pending loads are stopped before the gate opens again."""
    repeats_held: bool = True
    """After a cut the gate stays closed for the step's request; it opens only for others, to ask the site."""
    dead_document: bool = True
    """Nobody acts again in a browser in which the step may have acted: the run goes on in a new one."""
    two_witnesses: bool = True
    """What the page that was acted in says of itself is no witness: done needs an answered request, or the site."""
    lateness_awaited: bool = True
    """A step of which no request has come is given `late_ms`."""
    page_is_left: bool = True
    """A page of which no request has come is left for another address, so that it sends what it sends on unloading."""
    left_armed: bool = True
    """It is left with the gate still armed."""
    once: bool = True
    """Of an irreversible step the gate refuses a second request that equals the one that has left."""
    once_is_remembered: bool = True
    """It does so after the step's end as well."""
    black_box: bool = True
    """The keeper's word on what has left; without it a live keeper's session is as good as a lost one."""
    bytes_left_count: bool = True
    """That bytes left is heeded, not only that a keeper is there."""
    flight_is_heeded: bool = True
    """While something left that was not answered, a negative answer of the site leads to no second dispatch."""
    flight_is_read_first: bool = True
    """Whether something is on its way is read before SETTLE: an answer that comes later begins the site's lag anew."""
    gap_may_hide_dispatch: bool = True
    """A ledger that lost something may have lost DISPATCHED, though it has an intent."""
    dispatch_is_carried: bool = True
    """The ledger tells a second resolver that the attempt was DISPATCHED."""
    file_is_heeded: bool = True
    """What a keeper of this host wrote before it died is read."""
    line_before_byte: bool = True
    """The keeper writes that bytes leave before they do."""
    resolved_is_settled: bool = True
    """An attempt before the one in doubt, which a Redis that fell back tells of, was resolved already."""
    settle: bool = True
    """Nothing is asked of the site before all that it has done can be seen."""
    two_negatives: bool = True
    error_is_no_answer: bool = True
    """A 5xx does not say that nothing happened."""
    evidence: bool = True
    """COMMITTED is only written when the response was seen."""
    person_has_no_deadline: bool = True
    """A person who does not answer is waited for, not taken for a yes."""
    ledger_gap_is_no_answer: bool = True
    """That the ledger knows of no intent does not show that there was none."""
    before_is_heeded: bool = True
    """What the page showed before the step already does not decide."""
    whole_ledger_speaks: bool = True
    """Without a browser: a ledger that has lost nothing, and has no intent, shows that nothing was dispatched."""
    loss_is_seen: bool = True
    """A ledger that was emptied, or fell back, since the step before is told from one that was not."""
    before_is_noted: bool = True
    """The keeper knows what held before the attempt it was armed for, whatever becomes of Redis."""
    attempt_is_told: bool = True
    """The workflow tells the resolver which attempt is in doubt."""
    attempt_is_carried: bool = True
    """The ledger tells a second resolver of the attempt that the first one found, not of the first one."""
    gate_before_intent: bool = True
    """The gate is armed when the intent is written, so that the keeper knows every attempt that the ledger knows."""
    session_is_given: bool = True
    """An attempt works in the browser that the workflow gave it, and never opens one of its own."""
    ledger_of_lineage: bool = True
    """A second start of the workflow finds the records of the first."""
    acts: bool = True
    """INTENT is refused while the lineage has the same act under another chain of steps."""
    earlier_doubt_is_resolved: bool = True
    """An act that is open under the earlier chain is resolved there before it is taken over."""
    earlier_browser_is_ended: bool = True
    """A resumed run takes the browser of the run before over, and gives it back, before it does anything."""

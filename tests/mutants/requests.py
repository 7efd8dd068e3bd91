"""Guards of the request tier."""

from tests.mutants.mutant import Mutant

_RUNNING = "tests/unit/test_activities_requests.py::"
_REQUESTS = "tests/unit/test_requests.py::"
_HOSTILE = "tests/unit/test_requests_adversarial.py::"

REQUESTS = (
    Mutant(
        "a request that nobody lets go",
        "the ledger is asked right before the first byte of a request with consequences",
        "_Sending._committed",
        "before_send=partial(self._let_go, departed), ",
        "",
        (_RUNNING + "test_nothing_is_sent_that_the_ledger_does_not_let_go",),
    ),
    Mutant(
        "a request without an intent",
        "nothing with consequences is sent before its intent is written",
        "_Sending._intend",
        'if known.state != "INTENT":',
        "if False:",
        (_RUNNING + "test_what_an_earlier_attempt_did_is_not_done_again",),
    ),
    Mutant(
        "an answer of any kind",
        "an answer of another status than in the recorded runs is not taken",
        "Replaying.take",
        "if response.status != expected.status:",
        "if False:",
        (_REQUESTS + "test_an_answer_of_another_status_is_not_taken",),
    ),
    Mutant(
        "a value that was always the same",
        "a parameter that had one value in all recorded runs is replayed with that one only",
        "unfit_values",
        "recipe.pinned.get(name, seen := digest(value)) != seen or ",
        "",
        (_REQUESTS + "test_a_parameter_that_was_always_the_same_binds_the_recipe_to_its_value",),
    ),
    Mutant(
        "a parameter that reaches no request",
        "a parameter whose value no request holds is refused",
        "derived",
        "if unused := [name for name in sketches[0].values if name not in pinned and name not in used]:",
        "if unused := []:",
        (_REQUESTS + "test_a_parameter_that_reaches_no_request_is_refused",),
    ),
    Mutant(
        "the day's date for ever",
        "the date of the day is no constant of a request",
        "_Sketching._own_sources",
        " and not is_of_time(text, self._shown.day)",
        "",
        (_REQUESTS + "test_the_date_of_the_day_is_no_constant",),
    ),
    Mutant(
        "done by its status",
        "a step with consequences is shown by what the site did not show before it",
        "_Sketching._evident",
        "if all(self._held_before(commit, each) for each in ends):",
        "if False:",
        (
            _REQUESTS + "test_what_the_site_showed_before_is_no_evidence_of_the_step",
            _HOSTILE + "test_a_status_alone_does_not_say_that_it_was_done",
        ),
    ),
    Mutant(
        "a permit that was lost",
        "only a ledger that has lost nothing says that a request has not left",
        "RequestActivities._never_left",
        "if may_have_left or not await self.store.is_whole(**lineage, witness=request.witness):",
        "if may_have_left:",
        (_RUNNING + "test_a_ledger_that_may_have_lost_its_permit_does_not_say_that_nothing_has_left",),
    ),
    Mutant(
        "a permit that was given",
        "a request that the ledger has let go may have left",
        "RequestActivities._never_left",
        'before.state not in ("", "NOT_DONE", "INTENT") or',
        "",
        (_RUNNING + "test_a_request_that_was_let_go_when_its_worker_was_lost_is_in_doubt",),
    ),
)

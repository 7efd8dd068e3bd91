"""Guards of what teams share: notices, canaries, and presses that come too soon."""

from tests.mutants.mutant import Mutant

_NOTICES = "tests/workflows/test_notices.py::"
_RUNS = "tests/unit/test_skill_runs.py::"
_EARLY = "tests/adapters/test_early_presses.py::"

TEAMS = (
    Mutant(
        "notices of anybody",
        "only what one of ours has raised is told to people",
        "NoticeActivities.route",
        "        if fault is not None or notice.tenant != self._tenant:",
        "        if False:",
        (_NOTICES + "test_what_nobody_of_ours_has_raised_is_told_to_nobody",),
    ),
    Mutant(
        "questions that are over",
        "nobody is told of a question that was answered",
        "NoticeActivities.deliver",
        "        told = [one for one in request.told if not await self._is_over(one.notice)]",
        "        told = list(request.told)",
        (_NOTICES + "test_a_question_that_was_answered_in_the_meantime_is_told_to_nobody",),
    ),
    Mutant(
        "canaries in earnest",
        "a canary does nothing with consequences",
        "SkillRunActivities.newest_version",
        " if request.is_canary else record.skill",
        " if False else record.skill",
        (_RUNS + "test_a_canary_gets_the_steps_before_the_first_consequence_and_nothing_to_verify",),
    ),
    Mutant(
        "early presses",
        "a press waits for what the page has asked for lately",
        "StepRun.perform",
        "                if self.is_press:",
        "                if False:",
        (_EARLY + "test_an_answer_that_was_asked_for_before_a_press_comes_before_it",),
    ),
)

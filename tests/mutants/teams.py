"""Guards of what teams share: notices, canaries, and presses that come too soon."""

from tests.mutants.mutant import Mutant

_NOTICES = "tests/workflows/test_notices.py::"
_RUNS = "tests/unit/test_skill_runs.py::"
_LEASES = "tests/unit/test_site_session_leases.py::"
_SESSIONS = "tests/e2e/test_site_sessions.py::"
_ACTIONS = "tests/unit/test_activities_actions.py::"
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
        "marks of pages in cards",
        "what a page says is no link in a notice that is read as Markdown",
        "as_markdown",
        "if line in links else escape(line) for line in lines)",
        "if line in links else line for line in lines)",
        ("tests/unit/test_notices.py::test_slack_and_teams_get_messages_in_their_own_formats",),
    ),
    Mutant(
        "passkeys of strangers",
        "passkeys are taken from a run that has the session, and from no other",
        "Leases.registering",
        "if has_it and passkeys is not None else self",
        "if passkeys is not None else self",
        (_LEASES + "test_passkeys_outlive_the_state_and_go_to_who_signs_in_and_who_has_the_session",),
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
        " if request.is_canary else newest",
        " if False else newest",
        (_RUNS + "test_a_canary_gets_the_steps_before_the_first_consequence_and_nothing_to_verify",),
    ),
    Mutant(
        "canaries that store",
        "a canary's browser sends nothing that came of an input and that no recording knows",
        "Withholding.permits",
        "        if text in (self._recorded or ()) or text in self._own:",
        "        if True:",
        ("tests/unit/test_withholding.py::test_what_comes_of_an_input_leaves_if_a_recording_knows_it",),
    ),
    Mutant(
        "rehearsals that store",
        "a browser in which a step is rehearsed sends nothing that may store something, whoever sends it",
        "Withholding.permits",
        "        if self._holds_back:",
        "        if False:",
        ("tests/unit/test_withholding.py::test_while_a_step_is_rehearsed_nothing_unsafe_leaves_and_no_tab_is_left",),
    ),
    Mutant(
        "rehearsals that are not held back",
        "a step is rehearsed only where nothing of it can leave",
        "_given",
        "        if why_not := await parts.browser.hold_back():",
        "        if why_not := (await parts.browser.hold_back() and ''):",
        ("tests/workflows/test_canaries.py::test_what_cannot_be_held_back_is_not_rehearsed",),
    ),
    Mutant(
        "commits healed at once",
        "a step that must not be repeated takes nothing for the recorded element before the page has rested",
        "Finder._compared_at_once",
        "if self._step.before_dispatch is None:",
        "if True:",
        ("tests/adapters/test_heals.py::test_a_press_that_must_not_be_repeated_waits_for_what_may_be_late",),
    ),
    Mutant(
        "foreseen on another page",
        "what was found before the page rested holds only if nothing has changed there since",
        "Finder._has_rested_since",
        "self._attempt.resting_since < moment",
        "True",
        ("tests/adapters/test_heals.py::test_what_looks_alike_is_looked_for_anew_where_something_has_come_since",),
    ),
    Mutant(
        "pictures of what comes later",
        "nothing is made ready in a page while its picture is taken",
        "Finder._begin",
        "self._is_still = self._step.is_pictured",
        "self._is_still = False",
        (
            "tests/adapters/test_step_pictures.py::test_the_page_is_looked_at_and_not_touched_while_its_picture_is_taken",
        ),
    ),
    Mutant(
        "looks that act",
        "a canary only looks for the elements of steps with consequences",
        "StepUnderway.looks",
        "isinstance(self.command, Perform) and self.command.looks",
        "False",
        (_ACTIONS + "test_a_commit_step_that_is_only_looked_for_writes_no_intent_and_teaches_nothing",),
    ),
    Mutant(
        "a sign-in for each who waits",
        "a session is signed in once, however many wait",
        "Leases.needs_sign_in",
        "self.is_expired and self.signing_in is None and",
        "self.is_expired and",
        (_LEASES + "test_many_who_ask_make_one_sign_in_and_get_the_session_in_turn",),
    ),
    Mutant(
        "accounts that get locked",
        "after a sign-in that failed nobody tries again at once",
        "Leases.granting",
        "now < self.paused_until",
        "now > self.paused_until",
        (_LEASES + "test_a_failed_sign_in_is_told_to_all_and_not_tried_again_at_once",),
    ),
    Mutant(
        "old states over new ones",
        "a state from before a sign-in does not take the place of the new one",
        "Leases.returning",
        " or self.is_expired or kept.number != current.number:",
        " or self.is_expired:",
        (_LEASES + "test_a_state_that_comes_back_from_before_a_sign_in_is_not_taken",),
    ),
    Mutant(
        "states of another session",
        "a run gets only what one of ours has kept for this session",
        "SiteSessionBrowsers.enter",
        "            if fault := kept_fault(self._signer, self._tenant, request.name, kept):",
        "            if fault := None:",
        (_SESSIONS + "test_a_state_that_was_kept_for_another_session_is_not_taken",),
    ),
    Mutant(
        "doubts of somebody signed out",
        "a site that asks to sign in says nothing of a step in doubt: it is asked again, signed in",
        "Doubts._told",
        '"may_sign_in": sign_ins > 0}',
        '"may_sign_in": False}',
        (_SESSIONS + "test_a_press_that_meets_the_end_of_its_session_is_done_once_and_nobody_is_asked",),
    ),
    Mutant(
        "sessions for every task",
        "only the tasks that the operator names use a session",
        "SiteSessionActivities.ask",
        "        if not definition.may_use(request.task):",
        "        if False:",
        (_SESSIONS + "test_a_session_that_is_not_there_or_not_for_this_task_ends_the_run_before_it_begins",),
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

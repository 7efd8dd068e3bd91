"""Guards against what a page says: a model that obeys it does nothing that nobody asked for."""

from tests.mutants.mutant import Mutant

_LIMITS = "tests/unit/test_domain_model_limits.py::"
_CONSENT = "tests/unit/test_activities_consent.py::"
_GRANTS = "tests/unit/test_domain_press_grants.py::"
_PLANS = "tests/unit/test_domain_plans.py::"
_MODEL = "tests/unit/test_activities_model.py::"
_PORTS = "tests/unit/test_port_contracts.py::"
_DRAWN = "tests/adapters/test_drawn_editors.py::"
_REPAIRS = "tests/workflows/test_repairs.py::"
_HOSTILE = "tests/adapters/test_injection.py::test_no_page_gets_a_plan_or_an_element_through"

PAGES = (
    Mutant(
        "model's choice not looked at",
        "an element that a model chose for a planned step is compared with where the step may lead",
        "ModelActivities._checked",
        "        if chosen is not None:\n            refused",
        "        if chosen is None:\n            refused",
        (_HOSTILE, _MODEL + "test_a_candidate_is_refused_as_a_model_s_pick_would_be"),
    ),
    Mutant(
        "answer for another page",
        "an element that a model named for a later step is taken only while its page has nothing new to act on",
        "ModelActivities._as_named",
        "element is None or now.adds_to(shown)",
        "element is None",
        (_MODEL + "test_on_a_page_that_has_changed_the_model_is_asked_anew",),
    ),
    Mutant(
        "unseen entries not new",
        "what was there unseen and can be seen now is new to act on",
        "Snapshot.controls",
        "if element.actionable and element.visible",
        "if element.actionable",
        (_MODEL + "test_on_a_page_that_has_changed_the_model_is_asked_anew",),
    ),
    Mutant(
        "candidate given twice",
        "what an unverified run found is given to one attempt only",
        "candidates.lua",
        "if is_open and (taken == '' or taken == taker) then",
        "if is_open then",
        (_PORTS + "test_the_candidates_of_other_runs_are_given_to_one_attempt_and_to_it_again",),
    ),
    Mutant(
        "candidate without proof",
        "what an unverified run found is tried only if its step came true with it",
        "ModelActivities.try_candidate",
        "if entry.is_proven and entry.is_for(request.values)",
        "if entry.is_for(request.values)",
        (_MODEL + "test_what_no_result_has_shown_or_is_for_another_value_is_no_candidate",),
    ),
    Mutant(
        "consequence without a grant",
        "what a press sends that a model chose leaves only if somebody stands behind it",
        "Consenting.permits",
        "            if not by:",
        "            if by is None:",
        (_CONSENT + "test_what_nobody_has_granted_is_thrown_away_and_told_with_its_control",),
    ),
    Mutant(
        "words for another site",
        "the author's words grant nothing beyond the task's own site",
        "Consenting._granted_by",
        "self._is_named and is_same_site(kind.origin, self._consent.site)",
        "self._is_named",
        (_CONSENT + "test_words_grant_nothing_on_another_site_than_the_task_s",),
    ),
    Mutant(
        "repeatable step not held",
        "a step that may be repeated is held as well if a model chose it",
        "StepGate.before_dispatch",
        "        return self._watch if self._needs_grant else None",
        "        return None",
        (_CONSENT + "test_a_step_that_may_be_repeated_is_held_as_well_and_needs_no_intent",),
    ),
    Mutant(
        "part of a name",
        "the author's words name a control by its whole name",
        "are_named",
        'found_whole(_plain(text), form, f"{EDGE}{form}{EDGE}")',
        "found_whole(_plain(text), form, form)",
        (_GRANTS + "test_a_part_of_a_name_a_look_alike_and_no_name_are_not_named",),
    ),
    Mutant(
        "planned link leads away",
        "a planned step's link stays on the site",
        "refuses",
        '        if trusted.origins and href.startswith(("http://", "https://")) and origin_of(href) not in own:',
        '        if trusted.origins and href.startswith("javascript:") and origin_of(href) not in own:',
        (_LIMITS + "test_a_planner_s_link_stays_on_the_site_and_an_author_s_may_lead_away",),
    ),
    Mutant(
        "planned address of another site",
        "a planned goto stays on the site",
        "_stays_on_the_site",
        "    if not led_to <= own:",
        "    if not led_to:",
        (_PLANS + "test_a_plan_that_breaks_a_rule_is_refused_and_says_which",),
    ),
    Mutant(
        "address in an address",
        "a planned address has no other address in it",
        "_is_of_the_task",
        "    if redirects(step, known=known):",
        "    if redirects(step, known=(*known, getattr(step, 'url', ''))):",
        (_HOSTILE,),
    ),
    Mutant(
        "secret in any field",
        "a secret is entered only where a password is, or what it is called",
        "refuses",
        "        if not meant & called:",
        "        if not meant:",
        (_LIMITS + "test_a_secret_is_entered_where_a_password_is_or_its_own_name",),
    ),
    Mutant(
        "page's words entered",
        "a planner enters nothing that the page says and nobody else",
        "invented_text",
        "            if foreign or (len(plain) >= _TOLD and plain in shown):",
        "            if foreign:",
        (_LIMITS + "test_a_planner_enters_no_address_no_long_number_and_no_words_of_the_page",),
    ),
    Mutant(
        "effect lowered by a planner",
        "a planner raises an effect and never lowers it",
        "_fields",
        ' if key != "effect" or value in _WEIGHTY}',
        " if key}",
        (_PLANS + "test_a_model_can_raise_an_effect_and_never_lower_it",),
    ),
    Mutant(
        "text for a field that nobody can see",
        "a transparent field of no size in no editor, as a trap for programs, gets no text",
        "prepare.js",
        "isClearSpeck(control, reading))",
        "isClearSpeck(control, reading) && !control)",
        (_DRAWN + "test_a_hidden_field_that_no_press_gives_the_focus_gets_nothing",),
    ),
    Mutant(
        "late page asked about again as it is",
        "a model is not asked a second time about a page that stayed as it is",
        "AskModel.mend",
        "        if outcome.snapshot == attempt.shown:",
        "        if not outcome.snapshot:",
        (_REPAIRS + "test_a_model_that_finds_nothing_is_not_asked_about_the_same_page_nor_a_third_time",),
    ),
    Mutant(
        "commit planned again",
        "a revised plan repeats no step with consequences",
        "checked_steps",
        "    _repeats_no_commit(steps, rules)\n",
        "",
        (_PLANS + "test_a_plan_that_breaks_a_rule_is_refused_and_says_which",),
    ),
)

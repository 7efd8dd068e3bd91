"""Guards against what a page says: a model that obeys it does nothing that nobody asked for."""

from tests.mutants.mutant import Mutant

_ASKED = "tests/unit/test_domain_asked.py::"
_PLANS = "tests/unit/test_domain_plans.py::"
_HOSTILE = "tests/adapters/test_injection.py::test_no_page_gets_a_plan_or_an_element_through"

PAGES = (
    Mutant(
        "model's choice not looked at",
        "an element that a model chose is held against what was asked for",
        "activities/model.py",
        "            if chosen is not None and request.asked is not None:",
        "            if chosen is not None and request.asked is None:",
        (_HOSTILE,),
    ),
    Mutant(
        "deed that nobody asked for",
        "an element that deletes, sends or pays is chosen only if that was asked for",
        "replaywright/domain/asked.py",
        "        if (why := objection(said, deeds)) and not (asked.is_commit and not deeds):",
        "        if (why := objection(said, deeds)) and deeds:",
        (_ASKED + "test_an_element_that_does_what_nobody_asked_for_is_refused",),
    ),
    Mutant(
        "OK of a dialog that deletes",
        "an element says what the dialog says that it stands in",
        "replaywright/domain/asked.py",
        "            said += _around(target, page)",
        "            said += [target.container]",
        (_ASKED + "test_a_dialog_around_an_element_says_what_its_button_does_unless_the_button_leaves_it",),
    ),
    Mutant(
        "planned deed not looked at",
        "a planned step does only what was asked for",
        "replaywright/domain/goal_plans.py",
        "        if why := objection(planned_deeds(step), rules.asked):",
        "        if why := objection((), rules.asked):",
        ("tests/unit/test_domain_goal_plans.py::test_a_deed_that_the_goal_does_not_ask_for_is_refused",),
    ),
    Mutant(
        "planned link leads away",
        "a planned step's link stays on the site",
        "replaywright/domain/asked.py",
        '        if asked.origins and href.startswith(("http://", "https://")) and origin_of(href) not in own:',
        '        if asked.origins and href.startswith("javascript:") and origin_of(href) not in own:',
        (_ASKED + "test_a_planner_s_link_stays_on_the_site_and_an_author_s_may_lead_away",),
    ),
    Mutant(
        "planned address of another site",
        "a planned goto stays on the site",
        "replaywright/domain/plans.py",
        "    if not led_to <= own:",
        "    if not led_to:",
        (_PLANS + "test_a_plan_that_breaks_a_rule_is_refused_and_says_which",),
    ),
    Mutant(
        "address in an address",
        "a planned address has no other address in it",
        "replaywright/domain/plans.py",
        "    if sends_on(step, known=known):",
        "    if sends_on(step, known=(*known, getattr(step, 'url', ''))):",
        (_HOSTILE,),
    ),
    Mutant(
        "secret in any field",
        "a secret is entered only where a password is, or what it is called",
        "replaywright/domain/asked.py",
        "        if not meant & called:",
        "        if not meant:",
        (_ASKED + "test_a_secret_is_entered_where_a_password_is_or_its_own_name",),
    ),
    Mutant(
        "page's words entered",
        "a planner enters nothing that the page says and nobody else",
        "replaywright/domain/asked.py",
        "            if foreign or (len(plain) >= _TOLD and plain in shown):",
        "            if foreign:",
        (_ASKED + "test_a_planner_enters_no_address_no_long_number_and_no_words_of_the_page",),
    ),
    Mutant(
        "effect lowered by a planner",
        "a planner raises an effect and never lowers it",
        "replaywright/domain/plans.py",
        ' if key != "effect" or value in _WEIGHTY}',
        " if key}",
        (_PLANS + "test_a_model_can_raise_an_effect_and_never_lower_it",),
    ),
    Mutant(
        "commit planned again",
        "a revised plan repeats no step with consequences",
        "replaywright/domain/plans.py",
        "    _repeats_no_commit(steps, rules)\n",
        "",
        (_PLANS + "test_a_plan_that_breaks_a_rule_is_refused_and_says_which",),
    ),
    Mutant(
        "words in disguise",
        "words are read as a person reads them",
        "replaywright/domain/masks.py",
        "    plain = seen(text).translate(_PICTURES)\n",
        "    plain = text\n",
        (_ASKED + "test_an_element_that_does_what_nobody_asked_for_is_refused",),
    ),
)

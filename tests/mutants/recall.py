"""Guards of recall that are left out."""

from tests.mutants.mutant import Mutant

_DOMAIN = "tests/unit/test_domain_recall.py::"
_GOALS = "tests/workflows/test_goals.py::"

RECALL = (
    Mutant(
        "words left over",
        "a sentence that goes on after its pattern does not align",
        "_ways",
        "        if begin == len(tokens):\n",
        "        if begin <= len(tokens):\n",
        (_DOMAIN + "test_a_sentence_with_a_word_more_or_less_recalls_nothing",),
    ),
    Mutant(
        "questions obeyed",
        "a question mark that the pattern does not have is not passed over",
        "_may_align",
        "    if sentence.asks and not parts.asks:\n",
        "    if False:\n",
        (_DOMAIN + "test_a_sentence_with_a_word_more_or_less_recalls_nothing",),
    ),
    Mutant(
        "near misses recalled",
        "a near miss that aligns refuses its skill",
        "_candidate",
        'if resembles(each, sentence)), ""):',
        'if not each), ""):',
        (_DOMAIN + "test_a_near_miss_refuses_whatever_stands_in_its_slots",),
    ),
    Mutant(
        "invented values",
        "a value that a model gives stands in the sentence",
        "checked_choice",
        '    if places.keys() != labelled.keys():\n        return {}, "invented_value"\n',
        "    places = {name: places.get(name, (0, 0)) for name in labelled}\n",
        (_DOMAIN + "test_a_choice_with_other_values_is_refused",),
    ),
    Mutant(
        "values left over",
        "what looks like a value is in one of a model's values",
        "checked_choice",
        '    return ({}, "left_over") if is_left else (values, "")',
        '    return (values, "")',
        (_DOMAIN + "test_something_that_looks_like_a_value_and_is_in_none_refuses_a_choice",),
    ),
    Mutant(
        "a skill that was not offered",
        "a model chooses among the skills that it was offered",
        "decided_by_choice",
        "named = [one.skill for one in offered(candidates) if",
        "named = [one.skill for one in (each.ranked for each in candidates) if",
        (_DOMAIN + "test_only_skills_that_were_offered_are_taken",),
    ),
    Mutant(
        "a model's choice run at once",
        "a skill with consequences that a model chose is confirmed",
        "Goals._rejected",
        "        if skill is None or not recall.by_model or not is_confirmed(",
        "        if skill is None or recall.by_model or not is_confirmed(",
        (_GOALS + "test_a_skill_that_a_person_rejects_is_not_run_and_the_goal_is_learned",),
    ),
)

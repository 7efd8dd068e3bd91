"""Phrases that a labeller wrote: which are kept with the skill, and which are refused."""

import pytest

from replaywright.domain.recall.phrases import PHRASES_LIMIT, Phrases, phrases_for
from replaywright.domain.task.steps import Goto
from replaywright.domain.task.tasks import Parameter, Task

GOAL = "Send 'Hi' to a@example.com"
PARAMETERS = {"to": Parameter(type="email"), "text": Parameter()}


def phrases() -> Phrases:
    return Phrases(GOAL, PARAMETERS, {"to": "a@example.com", "text": "Hi"}, lambda text: "hunter2" in text)


def test_phrases_with_all_parameters_are_kept_in_any_language_each_once() -> None:
    checked = phrases()

    kept = checked.patterns(["send {{text}} to {{to}}", "Send “{{text}}” to  {{to}}.", "把 {{text}} 发给 {{to}}"])

    assert kept == ("send {{text}} to {{to}}", "把 {{text}} 发给 {{to}}")
    assert checked.refused == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("send it to {{to}}", "leaves out"),
        ("send {{text}} to {{to}} and {{cc}}", "no parameter"),
        ("send {{text}} to {{to}} {{a b}}", "no parameter"),
        ("send {{text}} to {{to}} with {{secret:PIN}}", "secret"),
        ("send {{text}} to {{to}} hunter2", "secret"),
        ("{{text}} {{to}}", "too few words"),
        ("say Hi with {{text}} to {{to}}", "value of the goal"),
        ("send " + "x" * 300 + "{{text}} {{to}}", "longer"),
    ],
)
def test_what_cannot_be_a_pattern_is_refused_with_its_reason(text: str, why: str) -> None:
    checked = phrases()

    assert checked.patterns([text]) == ()
    assert why in checked.refused[0]


def test_a_near_miss_that_would_refuse_the_goal_or_a_pattern_is_refused() -> None:
    checked = phrases()
    given = ["do not send {{text}} to {{to}}", "send {{text}} to {{to}}", "please mail {{text}}", "did you send it"]

    kept = checked.near_misses(given, ["please mail {{text}} to {{to}}"])

    assert kept == ("do not send {{text}} to {{to}}", "did you send it")
    assert all("refuse the goal" in why for why in checked.refused)


def test_there_is_a_limit_to_phrases() -> None:
    given = [f"please number{chr(97 + n % 26)}{chr(97 + n // 26)} {{{{text}}}} {{{{to}}}}" for n in range(200)]

    assert len(phrases().patterns(given)) == PHRASES_LIMIT


def test_phrases_fit_a_task_with_the_values_that_it_has_for_good() -> None:
    task = Task(
        task="t", url="http://x/", parameters={"to": Parameter()}, steps=(Goto(action="goto", url="http://x/"),)
    )
    given = ("send {{text}} to {{to}}", "send {{text}} now", "send {{other}} to {{to}}")

    assert phrases_for(given, task, {"text": "Hi"}, whole=True) == ("send Hi to {{to}}",)
    assert phrases_for(given, task, {"text": "Hi"}, whole=False) == ("send Hi to {{to}}", "send Hi now")

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.recall import answer, figures
from bench.recall_set import LOOKED_AT, load
from replaywright.domain.frames import frame_of
from replaywright.domain.patterns import pattern_of
from replaywright.domain.reading import read
from replaywright.domain.recall import (
    LEAST_SCORE,
    LEAST_SCORE_BOUNDS,
    RecallRecord,
    RecallRequest,
    least_score,
    masked,
    site_of,
)
from replaywright.domain.recalling import Recaller, decided
from replaywright.domain.similarity import SkillIndex
from replaywright.domain.skills import Recall, Skill, SkillContext, SkillStatus
from replaywright.domain.steps import Goto
from replaywright.domain.tasks import Parameter, Task

MAIL = "https://mail.example.com"


def skill(
    pattern: str = "给 {{to}} 发送一封邮件，主题是'{{subject}}'，内容是'{{body}}'",
    *,
    name: str = "send-mail",
    verbs: tuple[str, ...] = ("发送",),
    objects: tuple[str, ...] = ("邮件",),
    parameters: dict[str, Parameter] | None = None,
    secrets: tuple[str, ...] = (),
    context: SkillContext | None = None,
    status: SkillStatus = SkillStatus.ACTIVE,
    site: str = MAIL,
) -> Skill:
    if parameters is None:
        parameters = {"to": Parameter(type="email"), "subject": Parameter(), "body": Parameter()}
    return Skill(
        name=name,
        status=status,
        site=site,
        verbs=verbs,
        objects=objects,
        patterns=(pattern,),
        context=context or SkillContext(),
        task=Task(task=name, url=MAIL, parameters=parameters, secrets=secrets, steps=(Goto(action="goto", url=MAIL),)),
    )


def recalled(sentence: str, *skills: Skill, url: str = MAIL + "/inbox", **fields: Any) -> Recall:
    request = RecallRequest.model_validate({"tenant": "t", "goal": sentence, "url": url, **fields})
    recaller = Recaller(SkillIndex(skills or (skill(),)))
    return decided(recaller.consider(request, explain=True))


SENTENCE = "给 a@example.com 发送一封邮件，主题是'早'，内容是'早上好'"


def test_a_sentence_like_the_learned_one_gives_its_skill_and_the_new_values() -> None:
    found = recalled(SENTENCE)

    assert found.skill is not None
    assert found.skill.name == "send-mail"
    assert found.values == {"to": "a@example.com", "subject": "早", "body": "早上好"}


@pytest.mark.parametrize(
    "sentence",
    [
        "请帮我给 a@example.com 发邮件，标题：「早」，正文：“早上好”，谢谢",
        "内容是“早上好”，主题是“早”，发封邮件给 a@example.com",
        'Send an email to a@example.com with the subject "早" and the body "早上好", please',
        "Email a@example.com: subject '早', text '早上好'",
    ],
)
def test_the_same_wish_in_other_words_is_recalled_with_the_same_values(sentence: str) -> None:
    assert recalled(sentence).values == {"to": "a@example.com", "subject": "早", "body": "早上好"}


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("不要" + SENTENCE, "negated"),
        ("Don't send an email to a@example.com with the subject 'x' and the body 'y'", "negated"),
        ("Did you send an email to a@example.com with the subject 'x' and the body 'y'?", "question"),
        ("删除给 a@example.com 的邮件，主题是'早'，内容是'早上好'", "other_act"),
        (SENTENCE + "，然后删除它", "further_demand"),
        (SENTENCE + "，抄送 b@example.com", "left_over"),
        ("明天" + SENTENCE, "left_over"),
        ("给 a@example.com 发送一封邮件，主题是'早'", "missing_parameter"),
        ("给 a@example.com 发送一条短信，主题是'早'，内容是'早上好'", "left_over"),
    ],
)
def test_what_is_nearly_the_skill_is_refused_with_its_reason(sentence: str, reason: str) -> None:
    found = recalled(sentence)

    assert (found.decision, found.considered[0].reason) == ("abstain", reason)


@pytest.mark.parametrize(
    ("known", "fields", "reason"),
    [
        (skill(site="https://other.example.org"), {}, "other_site"),
        (skill(status=SkillStatus.SUSPECT), {}, "not_active"),
        (skill(secrets=("PASSWORD",)), {}, "missing_secret"),
        (skill(context=SkillContext(device="mobile")), {}, "other_context"),
        (skill(context=SkillContext(locale="de-DE")), {"context": {"locale": "en-GB"}}, "other_context"),
        (skill(context=SkillContext(signed_in=True)), {"context": {"signedIn": False}}, "other_context"),
    ],
)
def test_a_skill_that_may_not_be_run_here_is_refused_with_its_reason(
    known: Skill, fields: dict[str, Any], reason: str
) -> None:
    found = recalled(SENTENCE, known, **fields)

    assert (found.decision, found.considered[0].reason) == ("abstain", reason)


def test_of_two_skills_that_mean_the_same_none_is_taken() -> None:
    assert recalled(SENTENCE, skill(), skill(name="send-mail-2")).reason == "low_margin"


def test_a_value_that_reads_like_a_demand_is_a_value_when_it_is_in_quotes() -> None:
    found = recalled("给 a@example.com 发送一封邮件，主题是'删除邮件'，内容是'不要发给 b@example.com'")

    assert found.values["body"] == "不要发给 b@example.com"


def test_values_that_a_model_read_have_to_stand_in_the_sentence_and_leave_nothing_over() -> None:
    sentence = "给 a@example.com 发送一封邮件，主题是早，内容是'早上好'"
    request = RecallRequest(tenant="t", goal=sentence, url=MAIL)
    recaller = Recaller(SkillIndex([skill()]))
    (candidate,) = recaller.consider(request)
    values = {"to": "a@example.com", "subject": "早", "body": "早上好"}

    assert recaller.with_values(request, candidate, values).reason == "accepted"
    assert recaller.with_values(request, candidate, values | {"subject": "晚"}).reason == "values_refused"
    assert recaller.with_values(request, candidate, values | {"cc": "a@example.com"}).reason == "values_refused"
    assert recaller.with_values(request, candidate, values | {"to": "早"}).reason == "values_refused"


def test_a_pattern_has_names_where_the_values_were_and_is_read_back() -> None:
    values = {"to": "a@example.com", "subject": "早", "body": "早上好"}

    pattern = pattern_of(SENTENCE, values)

    assert pattern == "给 {{to}} 发送一封邮件，主题是'{{subject}}'，内容是'{{body}}'"
    assert dict(read(SENTENCE, frame_of(skill(pattern))).values) == values


def test_equal_values_are_told_apart_by_their_order() -> None:
    goal = "Send a mail with the subject 'hi' and the body 'hi'"

    assert pattern_of(goal, {"subject": "hi", "body": "hi"}) == (
        "Send a mail with the subject '{{subject}}' and the body '{{body}}'"
    )


def test_a_pattern_leaves_secrets_and_parts_of_words_alone() -> None:
    assert pattern_of("Sign in with {{secret:PIN}} and pick 1 of 12", {"n": "1", "pin": "PIN"}) == (
        "Sign in with {{secret:PIN}} and pick {{n}} of 12"
    )


@given(
    subject=st.text("abc XYZ早好，,.!12-", min_size=1, max_size=20).filter(lambda text: text.strip() == text),
    body=st.text("def UVW晚安。;:?34@", min_size=1, max_size=20).filter(lambda text: text.strip() == text),
)
def test_whatever_stands_in_quotes_is_read_as_it_is(subject: str, body: str) -> None:
    found = recalled(f"给 q@example.com 发送一封邮件，主题是“{subject}”，内容是“{body}”")

    assert found.values == {"to": "q@example.com", "subject": subject, "body": body}


def test_what_is_kept_of_a_sentence_has_no_values() -> None:
    assert masked("Send 12 EUR to bob@example.com with 'a secret'") == "Send <number> EUR to <email> with <quoted>"


def test_a_site_is_scheme_host_and_port() -> None:
    assert site_of("HTTPS://Mail.Example.com:443/inbox?x=1") == MAIL
    assert site_of("http://127.0.0.1:8025/") == "http://127.0.0.1:8025"


def records(*outcomes: str, score: float = 0.5) -> list[RecallRecord]:
    data = [
        {"decision": "accept", "skill": "send-mail", "score": score, "at": float(number), "outcome": outcome}
        for number, outcome in enumerate(outcomes)
    ]
    return [RecallRecord.model_validate(one) for one in data]


def test_a_recall_that_turned_out_wrong_raises_the_least_score_above_its_own() -> None:
    assert least_score(records("failed"), "send-mail") > 0.5
    assert least_score(records("rejected"), "send-mail") > 0.5
    assert least_score(records("failed"), "another") == LEAST_SCORE


def test_recalls_that_went_well_lower_it_and_both_stay_within_bounds() -> None:
    lowest, highest = LEAST_SCORE_BOUNDS

    assert least_score(records("succeeded"), "send-mail") < LEAST_SCORE
    assert least_score(records(*["succeeded"] * 300), "send-mail") == lowest
    assert least_score(records(*["failed"] * 300, score=1.0), "send-mail") == highest


def test_a_wrong_recall_keeps_the_next_one_like_it_from_being_taken() -> None:
    request = RecallRequest(tenant="t", goal="email a@example.com: subject 'x', body 'y'", url=MAIL)
    recaller = Recaller(SkillIndex([skill()]))
    score = recaller.consider(request)[0].ranked.score

    (after,) = recaller.consider(request, records=records("failed", score=score))

    assert after.reason == "low_score"


def test_embeddings_change_the_order_and_nothing_else() -> None:
    near, far = skill("a {{to}}", name="near"), skill("b {{to}}", name="far")
    index = SkillIndex([far, near], {"a {{to}}": [1.0, 0.0], "b {{to}}": [0.0, 1.0]})

    assert [one.skill.name for one in index.rank("something", None, 2, [1.0, 0.0])] == ["near", "far"]


def test_the_sentences_that_were_looked_at_have_no_wrong_accept() -> None:
    skills, sentences = load()
    recaller = Recaller(SkillIndex(skills))

    found = figures([answer(recaller, sentence) for sentence in sentences if sentence.part in LOOKED_AT])

    assert found.wrong_accepts == 0
    assert found.right_accepts >= 0.85
    assert found.parameters_exact >= 0.98


LABELS = skill(
    "Add the labels {{labels}} to issue {{number}}",
    name="label-issue",
    verbs=("add",),
    objects=("label", "issue"),
    parameters={"labels": Parameter(type="list"), "number": Parameter(type="number")},
)
DELETE = skill(
    'Delete the mail with the subject "{{subject}}"',
    name="delete-mail",
    verbs=("delete",),
    objects=("mail",),
    parameters={"subject": Parameter()},
)


@pytest.mark.parametrize(
    ("sentence", "labels"),
    [
        ("Add the labels 'bug', 'ui' and 'urgent' to issue 318", '["bug", "ui", "urgent"]'),
        ("给工单 318 添加标签“前端”、“缺陷”", '["前端", "缺陷"]'),
        ("add the label 'bug' to issue 318", '["bug"]'),
    ],
)
def test_several_values_are_read_as_one_list(sentence: str, labels: str) -> None:
    found = recalled(sentence, LABELS)

    assert (found.reason, found.values) == ("accepted", {"labels": labels, "number": "318"})


def test_a_value_of_another_kind_does_not_belong_to_a_list() -> None:
    assert recalled("Add the labels 'bug' and 7 to issue 318", LABELS).decision == "abstain"


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("Can I delete the mail with the subject 'X'?", "question"),
        ("删除主题为“X”的邮件？", "question"),
        ("我删除了主题为“X”的邮件", "told"),
        ("We delete the mail with the subject 'X'", "told"),
        ("I no longer want to delete the mail with the subject 'X'", "further_demand"),
        ("I want the deleted mail with the subject 'X'", "further_demand"),
        ("The mail with the subject 'X' should have been deleted", "further_demand"),
        ("Delete the mail with the subject 'X' ~5", "left_over"),
    ],
)
def test_what_is_no_order_is_not_obeyed(sentence: str, reason: str) -> None:
    found = recalled(sentence, DELETE)

    assert (found.decision, found.reason) == ("abstain", reason)


@pytest.mark.parametrize(
    "sentence",
    [
        "Could you please delete the mail with the subject 'X'?",
        "把主题为“X”的邮件删了吧",
        "I no longer need the mail with the subject 'X', delete it",
        "主题为“X”的邮件不要了，删掉吧",
        "I would like the mail with the subject 'X' deleted",
        "please delet the mail with the subjcet 'X'",
    ],
)
def test_a_wish_a_reason_and_a_typing_error_change_nothing(sentence: str) -> None:
    found = recalled(sentence, DELETE)

    assert (found.reason, found.values) == ("accepted", {"subject": "X"})


@pytest.mark.parametrize(
    "sentence",
    [
        "assign issue 318 to him",
        "assign issue 318 to kim tomorrow",
        "assign issue 318 to the new guy",
        "assign issue 318 to whoever is free",
        "assign issue up to 318 to kim",
        "工单 318 分配给谁了？",
    ],
)
def test_who_is_not_named_is_no_value(sentence: str) -> None:
    assign = skill(
        "Assign issue {{number}} to {{assignee}}",
        name="assign-issue",
        verbs=("assign",),
        objects=("issue",),
        parameters={"number": Parameter(type="number"), "assignee": Parameter()},
    )

    assert recalled("assign issue 318 to kim", assign).values == {"number": "318", "assignee": "kim"}
    assert recalled(sentence, assign).decision == "abstain"


def test_a_name_after_a_value_is_of_that_value() -> None:
    found = recalled("send a mail to a@example.com with 'Plan' as the subject and 'See you' as the body")

    assert found.values == {"to": "a@example.com", "subject": "Plan", "body": "See you"}


@pytest.mark.parametrize(
    "sentence",
    [
        "hey, sorry to bother you, when you get a minute close issue 5, no rush, thanks a bunch",
        "Quick one: would it be possible for you to close issue no. 5 as soon as you can?",
        "plese could you close issue 5",
        "不好意思打扰一下，麻烦您有空的时候尽快把 issue 5 关闭一下，不急，感谢您的帮助",
        "close issue 5 because it takes too long",
        "can I have issue 5 closed please",
    ],
)
def test_what_is_said_around_a_task_changes_nothing(sentence: str) -> None:
    found = recalled(sentence, CLOSING)
    assert (found.decision, dict(found.values)) == ("accept", {"number": "5"})


@pytest.mark.parametrize(
    "sentence",
    [
        "close issue 5 when it is fixed",
        "close issue 5 as soon as Kim is back",
        "close issue 5 because of issue 6",
        "close issue 5 for now",
        "no, close issue 5",
        "close the issues 5 and 6 quickly",
        "有空的时候再说，先别关闭 issue 5",
    ],
)
def test_what_only_looks_like_chat_is_not_passed_over(sentence: str) -> None:
    assert recalled(sentence, CLOSING).decision == "abstain"


def test_a_greeting_inside_of_what_is_looked_for_is_part_of_it() -> None:
    search = skill(
        "Search for {{query}}",
        name="search",
        verbs=("search",),
        objects=("product",),
        parameters={"query": Parameter()},
    )
    assert recalled("search for hello kitty", search).decision == "abstain"
    assert dict(recalled("search for kettle when you get a minute", search).values) == {"query": "kettle"}


CLOSING = skill(
    "Close issue {{number}}",
    name="close-issue",
    verbs=("close",),
    objects=("issue",),
    parameters={"number": Parameter(type="number")},
)

"""Classes of wording that recall understands, each beside near misses that it abstains from."""

import pytest

from replaywright.domain.choices import choice_of
from replaywright.domain.frames import frame_of
from replaywright.domain.patterns import pattern_of
from replaywright.domain.reading import read
from replaywright.domain.recall import RecallRequest
from replaywright.domain.recalling import Recaller, decided
from replaywright.domain.similarity import SkillIndex
from replaywright.domain.skills import Recall, Skill, SkillStatus
from replaywright.domain.steps import Goto
from replaywright.domain.tasks import Parameter, Task

SITE = "https://app.example.com"


def skill(name: str, pattern: str, verb: str, things: tuple[str, ...], /, **parameters: Parameter) -> Skill:
    return Skill(
        name=name,
        status=SkillStatus.ACTIVE,
        site=SITE,
        verbs=(verb,),
        objects=things,
        patterns=(pattern,),
        task=Task(task=name, url=SITE, parameters=parameters, steps=(Goto(action="goto", url=SITE),)),
    )


TEXT, NUMBER, DATE, EMAIL = (Parameter(type=kind) for kind in ("text", "number", "date", "email"))
ORDER = skill("cancel-order", "Cancel order {{order}}", "cancel", ("order",), order=TEXT)
ISSUE = skill("close-issue", "Close issue {{number}}", "close", ("issue",), number=NUMBER)
ASSIGN = skill("assign", "Assign issue {{number}} to {{assignee}}", "assign", ("issue",), number=NUMBER, assignee=TEXT)
MAIL = skill(
    "send-mail",
    "给 {{to}} 发送一封邮件，主题是'{{subject}}'，内容是'{{body}}'",
    "发送",
    ("邮件",),
    to=EMAIL,
    subject=TEXT,
    body=TEXT,
)
LEAVE = skill("approve", "批准{{name}}的请假申请", "批准", ("请假申请",), name=TEXT)
LABELS = skill(
    "label",
    "Add the labels {{labels}} to issue {{number}}",
    "add",
    ("label", "issue"),
    labels=Parameter(type="list"),
    number=NUMBER,
)
HOTEL = skill(
    "book-hotel",
    "预订{{city}}的酒店，{{checkin}}入住，{{checkout}}退房",
    "预订",
    ("酒店",),
    city=TEXT,
    checkin=DATE,
    checkout=DATE,
)
EXPORT = skill(
    "export",
    "Export the customer list as {{format}}",
    "export",
    ("customer", "list"),
    format=Parameter(type="choice", choices=("CSV", "PDF", "Excel sheet")),
)
OWN = skill(
    "transfer",
    "从{{source}}转{{amount}}元到{{target}}",
    "转",
    ("账户",),
    source=Parameter(type="choice", choices=("储蓄账户", "活期账户")),
    amount=NUMBER,
    target=Parameter(type="choice", choices=("储蓄账户", "活期账户")),
)
RENAME = skill("rename", "Rename the file {{old}} to {{new}}", "rename", ("file",), old=TEXT, new=TEXT)
ARCHIVE = skill("archive", "把来自 {{sender}} 的邮件归档", "归档", ("邮件",), sender=EMAIL)
READ = skill("read", "Mark all mails as read", "mark", ("mails",))
FOLDER = skill("folder", "Create a folder named {{name}}", "create", ("folder",), name=TEXT)
SEARCH = skill("search", "Search for {{query}}", "search", ("product",), query=TEXT)
CART = skill("cart", "把 {{quantity}} 件“{{product}}”加入购物车", "加入", ("购物车",), quantity=NUMBER, product=TEXT)
GUEST = skill("invite", "Invite {{guest}} to the event '{{title}}'", "invite", ("event",), guest=EMAIL, title=TEXT)
CARD = skill("freeze", "冻结尾号为 {{card}} 的银行卡", "冻结", ("银行卡",), card=NUMBER)
STATEMENT = skill("statement", "下载{{month}}的对账单", "下载", ("对账单",), month=TEXT)
WEEKLY = skill("weekly", "Send the weekly report to {{people}}", "send", ("report",), people=Parameter(type="list"))
CONTACT = skill(
    "contact", "Add a contact named '{{name}}' with the email {{email}}", "add", ("contact",), name=TEXT, email=EMAIL
)
LATER = (ARCHIVE, READ, FOLDER, SEARCH, CART, GUEST, CARD, STATEMENT, WEEKLY, CONTACT)
KNOWN = {one.name: one for one in (*LATER, ORDER, ISSUE, ASSIGN, MAIL, LEAVE, LABELS, HOTEL, EXPORT, OWN, RENAME)}


def recalled(sentence: str, name: str) -> Recall:
    request = RecallRequest(tenant="t", goal=sentence, url=SITE)
    return decided(Recaller(SkillIndex([KNOWN[name]])).consider(request))


@pytest.mark.parametrize(
    ("name", "sentence", "values"),
    [
        # what led to it
        ("cancel-order", "I ordered the wrong size, please cancel order 5512", {"order": "5512"}),
        ("cancel-order", "取消订单 5512，拍错了", {"order": "5512"}),
        ("cancel-order", "财务在催，麻烦取消订单 5512", {"order": "5512"}),
        ("close-issue", "hi, back from holiday :) can you close issue 12 please", {"number": "12"}),
        ("close-issue", "issue 12 is fixed on prod, could you close it?", {"number": "12"}),
        # tags, and what kind of note it is
        ("cancel-order", "[FIN-88] Please cancel order 5512", {"order": "5512"}),
        ("close-issue", "Task: close issue 12", {"number": "12"}),
        # acts in another form
        ("close-issue", "Would you mind closing issue 12?", {"number": "12"}),
        ("cancel-order", "Call order 5512 off", {"order": "5512"}),
        ("cancel-order", "I don't want order 5512 anymore, please cancel it", {"order": "5512"}),
        ("close-issue", "issue 12 has to be closed", {"number": "12"}),
        # what goes without saying
        ("close-issue", "close #12", {"number": "12"}),
        ("rename", "rename a.txt -> b.txt", {"old": "a.txt", "new": "b.txt"}),
        ("export", "Export customers as CSV", {"format": "CSV"}),
        # names and values one after the other
        ("send-mail", "给 a@b.cn 发邮件，主题和内容分别是“早”和“晚”", {"to": "a@b.cn", "subject": "早", "body": "晚"}),
        ("send-mail", "给 a@b.cn 发邮件，主题和内容都是“早”", {"to": "a@b.cn", "subject": "早", "body": "早"}),
        (
            "book-hotel",
            "预订成都酒店，5月1日入住5月3日退房",
            {"city": "成都", "checkin": "5月1日", "checkout": "5月3日"},
        ),
        ("transfer", "活期账户→储蓄账户 转 300 元", {"source": "活期账户", "amount": "300", "target": "储蓄账户"}),
        # who somebody is
        (
            "send-mail",
            "Send an email to Ann Lee <a@b.de> with the subject 'x' and the body 'y'",
            {"to": "a@b.de", "subject": "x", "body": "y"},
        ),
        ("approve", "何静的请假申请，批准", {"name": "何静"}),
        ("approve", "Please approve the leave request from Anna Schmidt", {"name": "Anna Schmidt"}),
        # lists without quotes
        (
            "label",
            "Add the labels ui, backend and regression to issue 91",
            {"labels": '["ui", "backend", "regression"]', "number": "91"},
        ),
        ("label", "给工单 91 添加标签 前端、后端", {"labels": '["前端", "后端"]', "number": "91"}),
        # where things are taken from or put into, and who sent them
        ("archive", "把 a@b.cn 的邮件移入归档", {"sender": "a@b.cn"}),
        ("archive", "Put everything that a@b.de sent me in the archive", {"sender": "a@b.de"}),
        ("archive", "Archive everything from a@b.de", {"sender": "a@b.de"}),
        ("read", "mark everything in here as read", {}),
        ("cart", "往购物车放 2 件“毛巾”", {"quantity": "2", "product": "毛巾"}),
        ("contact", "Add 'Ann Lee' to the contacts, email a@b.de", {"name": "Ann Lee", "email": "a@b.de"}),
        # signs that are written in more than one way, and typing errors in phrases
        ("statement", "2026年3月的對帳單下載一下", {"month": "2026年3月"}),
        ("freeze", "freeze my bnak card 8814", {"card": "8814"}),
        (
            "send-mail",
            "plese sent a mial to a@b.de with subject 'x' and body 'y'",
            {"to": "a@b.de", "subject": "x", "body": "y"},
        ),
        # names with signs of acts in them, and what the person is to do
        ("approve", "批准李建国的请假申请", {"name": "李建国"}),
        ("approve", "王发的请假申请，批准", {"name": "王发"}),
        ("assign", "工单 305 分给陈开来处理", {"number": "305", "assignee": "陈开来"}),
        ("assign", "Assign issue 305 to Ann Lee to handle", {"number": "305", "assignee": "Ann Lee"}),
        # names of several words
        ("folder", "make me a new folder called Receipts 2026", {"name": "Receipts 2026"}),
        ("search", "search for USB-C hub", {"query": "USB-C hub"}),
        ("invite", "add a@b.de as a guest to the event Kick-off", {"guest": "a@b.de", "title": "Kick-off"}),
        ("rename", "文件 a.txt 的名字改成 b.txt", {"old": "a.txt", "new": "b.txt"}),
        ("search", "帮我找找无线鼠标", {"query": "无线鼠标"}),
        # lists of people, of words and codes, and behind a verb
        ("weekly", "Send the weekly report to Ann, Bob and Carla please", {"people": '["Ann", "Bob", "Carla"]'}),
        ("label", "给工单 91 加上标签 ui、a11y", {"labels": '["ui", "a11y"]', "number": "91"}),
        ("label", "工单 91 加标签：ui、api", {"labels": '["ui", "api"]', "number": "91"}),
        ("label", "Label issue 91 with bug and mobile", {"labels": '["bug", "mobile"]', "number": "91"}),
    ],
)
def test_a_class_of_wording_is_understood(name: str, sentence: str, values: dict[str, str]) -> None:
    found = recalled(sentence, name)

    assert (found.reason, dict(found.values)) == ("accepted", values)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("cancel-order", "cancel order 5512, my wife wants the blue one"),
        ("cancel-order", "cancel order 5512, I was joking"),
        ("cancel-order", "cancel order 5512, she is paying by card"),
        ("cancel-order", "取消订单 5512，算了"),
        ("cancel-order", "取消订单 5512，客户要发票"),
        ("cancel-order", "订单 5512 取消了，买错了"),
        ("close-issue", "Issue 12 is fixed on staging, close it when it is on prod"),
        ("close-issue", "等客户确认，关闭工单 12"),
        ("close-issue", "Customer will confirm the fix, close issue 12 afterwards"),
        ("cancel-order", "[on hold] Cancel order 5512"),
        ("cancel-order", "[FIN-88] Please cancel the order"),
        ("close-issue", "Would you mind not closing issue 12?"),
        ("close-issue", "Never mind closing issue 12"),
        ("cancel-order", "Call order 5512"),
        ("cancel-order", "I don't want order 5512 cancelled anymore"),
        ("close-issue", "close PR #12"),
        ("close-issue", "close #12 and #13"),
        ("rename", "rename a.txt <- b.txt"),
        ("rename", "rename a.txt -> b.txt -> c.txt"),
        ("export", "Export the customer as CSV"),
        ("send-mail", "给 a@b.cn 发邮件，主题、内容、签名都是“早”"),
        ("transfer", "活期账户←储蓄账户 转 300 元"),
        ("send-mail", "Send an email to Bob, Ann <a@b.de> with the subject 'x' and the body 'y'"),
        ("approve", "昨天的请假申请，批准"),
        ("approve", "批准待审的请假申请"),
        ("approve", "何静和王芳的请假申请，批准"),
        ("approve", "Approve the leave request from Monday"),
        ("assign", "把工单 77 分配给有空的人"),
        ("label", "Add the labels of issue 90 to issue 91"),
        ("label", "给工单 91 加上标签 前端，关闭它"),
        ("label", "Add the labels ui or backend to issue 91"),
        ("archive", "把来自 a@b.cn 的邮件移出归档"),
        ("archive", "把来自 a@b.cn 的邮件从归档里移出来"),
        ("archive", "把 a@b.cn 的邮件从归档移到收件箱"),
        ("archive", "Move the mails from a@b.de out of the archive"),
        ("archive", "Move the mails from a@b.de from the archive to the inbox"),
        ("archive", "Archive everything I sent a@b.de"),
        ("archive", "Archive everything"),
        ("archive", "Archive everything a@b.de sent me last week"),
        ("read", "mark everything from a@b.de as read"),
        ("cart", "把 2 件“毛巾”移出购物车"),
        ("cart", "从购物车拿出 2 件“毛巾”"),
        ("cart", "放弃购物车里的 2 件“毛巾”"),
        ("contact", "Add 'Ann Lee' to the contacts of 'Acme', email a@b.de"),
        ("statement", "2026年3月的對帳單打印一下"),
        ("freeze", "freeze my blank card 8814"),
        ("send-mail", "I sent a mail to a@b.de with subject 'x' and body 'y'"),
        ("approve", "批准李建国和王芳的请假申请"),
        ("approve", "批准王芳处理的请假申请"),
        ("assign", "把工单 305 交给王芳关闭"),
        ("assign", "工单 305 分给李建国或王芳"),
        ("book-hotel", "定做杭州的酒店，5月1日入住，5月3日退房"),
        ("folder", "create a folder called Taxes in the folder 2025"),
        ("search", "search for USB sticks and sort by price"),
        ("invite", "Add the event 'Kick-off' with a@b.de"),
        ("invite", "Create the event 'Kick-off' with a@b.de as a guest"),
        ("invite", "Add a@b.de as the organiser of the event 'Kick-off'"),
        ("rename", "文件 a.txt 的内容改成 b.txt"),
        ("weekly", "Send the weekly report to Ann and the team"),
        ("weekly", "Send the weekly report to Ann on Friday"),
        ("weekly", "把 weekly report 发给王芳看"),
        ("cart", "留 2 件“毛巾”在购物车"),
        ("label", "Label issue 91 with labels"),
        ("label", "Label issue 91 with care"),
        ("label", "Label issue 91 with bug and close it"),
        ("label", "Label issue 91 with the same labels"),
    ],
)
def test_what_only_looks_like_it_is_abstained_from(name: str, sentence: str) -> None:
    assert recalled(sentence, name).decision == "abstain"


@pytest.mark.parametrize(
    ("sentence", "choice"),
    [
        ("Export the customer list as csv", "CSV"),
        ("Export the customer list as ＰＤＦ", "PDF"),
        ("Export the customer list as excel", "Excel sheet"),
        ("Export the customer list as 'Excel Sheet'", "Excel sheet"),
    ],
)
def test_a_choice_is_read_as_people_write_it_and_is_the_one_that_is_listed(sentence: str, choice: str) -> None:
    assert recalled(sentence, "export").values == {"format": choice}


@pytest.mark.parametrize("said", ["JSON", "'Word'", "sheets.pdf"])
def test_what_is_none_of_the_choices_is_refused_with_that_reason(said: str) -> None:
    found = recalled(f"Export the customer list as {said}", "export")

    assert (found.decision, found.reason) == ("abstain", "no_choice")
    assert "none of CSV, PDF, Excel sheet" in found.considered[0].details


def test_of_several_choices_that_fit_none_is_taken() -> None:
    rooms = ("North room", "South room", "Room 3")

    assert choice_of("north", rooms) == "North room"
    assert choice_of("room", rooms) is None
    assert choice_of("储蓄", ("储蓄账户", "活期账户")) == "储蓄账户"
    assert choice_of("账户", ("储蓄账户", "活期账户")) is None


@pytest.mark.parametrize(
    ("goal", "pattern"),
    [
        ("Add the labels 'bug', 'ui' to issue 7", "Add the labels '{{labels}}' to issue {{number}}"),
        ("Add the labels bug and ui to issue 7", "Add the labels {{labels}} to issue {{number}}"),
        ("给工单 7 添加标签“bug”、“ui”", "给工单 {{number}} 添加标签“{{labels}}”"),
    ],
)
def test_a_goal_that_was_learned_with_a_list_has_a_place_for_it(goal: str, pattern: str) -> None:
    made = pattern_of(goal, {"labels": '["bug", "ui"]', "number": "7"})
    learned = LABELS.model_copy(update={"patterns": (made,)})

    assert made == pattern
    assert dict(read("Add the labels 'a', 'b' and 'c' to issue 8", frame_of(learned)).values) == {
        "labels": '["a", "b", "c"]',
        "number": "8",
    }


def test_a_list_that_does_not_stand_together_has_no_place() -> None:
    goal = "Add the label bug, not api, and the label ui to issue 7"

    assert "{{labels}}" not in pattern_of(goal, {"labels": '["bug", "ui"]', "number": "7"})


def test_a_choice_that_a_model_read_is_the_one_that_is_listed() -> None:
    recaller = Recaller(SkillIndex([EXPORT]))
    request = RecallRequest(tenant="t", goal="Export the customer list as csv", url=SITE)
    (candidate,) = recaller.consider(request)

    assert recaller.with_values(request, candidate, {"format": "csv"}).values == {"format": "CSV"}
    refused = recaller.with_values(request, candidate, {"format": "customer"})
    assert (refused.reason, refused.details) == ("values_refused", "format: the value is none of CSV, PDF, Excel sheet")

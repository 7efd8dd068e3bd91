"""Acts of a person as the steps of a task, and the commands of the person who records."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from replaywright.cli.record.panel import TerminalPanel
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import ElementQuery, Target
from replaywright.domain.step.outcomes import Evidence, UnsafeRequest
from replaywright.domain.task.actions import Cause, Effect
from replaywright.domain.task.tasks import Task
from replaywright.errors import InputInvalid
from replaywright.ports.recording import Act, ActedOn, DialogAnswer, Outcome
from replaywright.recording.recorder import DemonstrationRecorder
from replaywright.recording.trial import before_consequences, values_shown
from replaywright.recording.writing import Recorded, written

URL = "https://shop.example/"
POSTED = Evidence(requests=(UnsafeRequest(method="POST", url=URL),))


def acted_on(name: str, role: str = "textbox", **fields: Any) -> ActedOn:
    target = Target(tag="input", role=role, name=name, attributes=fields.pop("attributes", {}))
    is_field = role in ("textbox", "combobox")
    return ActedOn(
        number=name, target=target, query=ElementQuery(role=role, name=name), is_field=is_field, **fields
    )  # fmt: skip


def fill(name: str, value: str, **fields: Any) -> Act:
    return Act(kind="fill", tab="t1", url=URL, element=acted_on(name), value=value, **fields)


def click(name: str, tab: str = "t1", **fields: Any) -> Act:
    return Act(kind="click", tab=tab, url=fields.pop("url", URL), element=acted_on(name, "button"), **fields)


def page(*texts: str, url: str = URL) -> Snapshot:
    elements = (
        Element(id=f"e{n}", target=Target(tag="p", role="status", name=text), actionable=False)
        for n, text in enumerate(texts)
    )
    return Snapshot(url=url, elements=tuple(elements))


def task_of(*steps: Recorded | Act, secrets: Sequence[str] = ()) -> Task:
    recorded = [step if isinstance(step, Recorded) else Recorded(step) for step in steps]
    return written(recorded, "shop", URL, secrets).task


def brief(task: Task) -> list[dict[str, Any]]:
    return [
        step.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude={"instruction", "target"})
        for step in task.steps
    ]


def test_what_was_sent_and_what_appeared_become_effect_and_expectation() -> None:
    order = Recorded(
        click("Order"), page("Cart"), Outcome(evidence=POSTED, after=page("Thanks Ada"), again=page("Thanks Ada"))
    )

    task = task_of(fill("Name", "Ada"), order)

    expected = {"exists": {"role": "status", "name": "Thanks {{name}}"}}
    assert brief(task) == [
        {"action": "fill", "value": "{{name}}"},
        {"action": "click", "effect": "commit", "expect": [expected]},
    ]
    assert [one.model_dump(exclude_none=True) for one in task.verify] == [expected]


def test_what_a_page_says_of_two_readings_differently_is_not_expected() -> None:
    order = Recorded(click("Order"), page("Cart"), Outcome(after=page("Wait"), again=page("Done")))

    assert brief(task_of(order)) == [{"action": "click", "effect": "read"}]


def test_the_persons_word_on_an_effect_counts_more_than_the_traffic() -> None:
    steps = [Recorded(click("Log in"), outcome=Outcome(evidence=POSTED), effect=Effect.IDEMPOTENT)]

    assert brief(task_of(*steps))[0]["effect"] == "idempotent"


def test_a_step_after_the_password_of_an_account_may_be_repeated() -> None:
    log_in = Recorded(click("Log in"), outcome=Outcome(evidence=POSTED), signs_in=True)

    task = task_of(fill("Password", "correct horse", secret=True), log_in, secrets=["BANK"])

    assert brief(task)[1]["effect"] == "idempotent"
    assert task.secrets == ("BANK",)
    assert "horse" not in task.model_dump_json()


def test_secrets_without_a_name_are_named_for_their_fields() -> None:
    task = task_of(fill("Card code", "123456", secret=True), fill("Card code", "123456", secret=True))

    assert task.secrets == ("CARD_CODE",)


def test_a_secret_that_the_page_repeats_is_expected_of_no_page() -> None:
    shown = page("You are correct horse")
    steps = (
        fill("Password", "correct horse", secret=True),
        Recorded(click("Go"), page(), Outcome(after=shown, again=shown)),
    )

    assert "horse" not in written([Recorded(steps[0]), steps[1]], "shop", URL).model_dump_json()


def test_values_that_are_the_same_in_every_run_stand_in_the_file() -> None:
    assert brief(task_of(Recorded(fill("Name", "Ada"), is_parameter=False)))[0]["value"] == "Ada"


def test_braces_that_were_typed_are_a_parameter_all_the_same() -> None:
    task = task_of(Recorded(fill("Name", "{{ada}}"), is_parameter=False))

    assert brief(task)[0]["value"] == "{{name}}"


def test_dialogs_keep_their_answers() -> None:
    answers = (DialogAnswer(accepted=True, text="Ada"), DialogAnswer(accepted=False))

    [step] = brief(task_of(Recorded(click("Ask"), outcome=Outcome(dialogs=answers))))

    assert (step["dialog"], step["dialog_text"]) == (["accept", "dismiss"], "{{answer}}")


def test_downloads_are_expected_without_their_numbers() -> None:
    [step] = brief(task_of(Recorded(click("Export"), outcome=Outcome(evidence=Evidence(downloads=("report-17.csv",))))))

    assert step["expect"] == [{"downloaded": "report-*.csv"}]


def test_an_element_that_came_late_gets_the_time_that_it_took() -> None:
    late = Recorded(click("Done"), page("Wait"), waited_s=30)

    assert brief(task_of(late))[0]["timeout_ms"] == 60_000
    assert "timeout_ms" not in brief(task_of(Recorded(click("Done"), page("Wait"), waited_s=3)))[0]


POPUP = Outcome(evidence=Evidence(causes=(Cause.POPUP,)))


def test_a_replay_goes_on_in_the_tab_that_a_step_opened_and_is_told_of_others() -> None:
    second = URL + "second"
    steps = (
        Recorded(click("Open"), outcome=POPUP), click("In it", "t2", url=second), click("Back"),
        click("Again in it", "t2", url=second), Act(kind="close_tab", tab="t2", opener="t1", url=second), click("End"),
    )  # fmt: skip

    assert [(step["action"], step.get("tab") or step.get("url_contains")) for step in brief(task_of(*steps))] == [
        ("click", None), ("click", None), ("switch_tab", "first"), ("click", None), ("switch_tab", second),
        ("click", None), ("close_tab", None), ("click", None),
    ]  # fmt: skip


def test_who_stays_in_the_first_tab_switches_back_to_it() -> None:
    steps = brief(task_of(click("Begin"), Recorded(click("Open"), outcome=POPUP), click("Stay")))

    assert [step["action"] for step in steps] == ["click", "click", "switch_tab", "click"]


def test_a_click_that_only_gave_the_focus_is_no_step() -> None:
    focus = click("Name").model_copy(update={"element": acted_on("Name")})
    seen = Recorded(focus, page("Form"), Outcome(after=page("Form"), again=page("Form")))
    opened = Recorded(focus, page("Form"), Outcome(after=page("Form", "Calendar"), again=page("Form", "Calendar")))

    assert [step["action"] for step in brief(task_of(seen, click("Go")))] == ["click"]
    assert [step["action"] for step in brief(task_of(opened, click("Go")))] == ["click", "click"]


def test_an_upload_through_a_hidden_field_is_that_of_the_button_that_opened_it() -> None:
    hidden = acted_on("File", is_hidden=True)
    upload = Act(kind="upload", tab="t1", element=hidden, values=("a.txt",))

    task = task_of(click("Attach"), upload)

    assert brief(task) == [{"action": "upload", "files": ["{{file}}"]}]
    assert task.steps[0].target == ElementQuery(role="button", name="Attach")  # type: ignore[union-attr]


def test_nothing_shown_is_bad_input() -> None:
    with pytest.raises(InputInvalid, match="no step"):
        task_of()


class ShownActs:
    """A demonstration that is a list of acts."""

    def __init__(self, *acts: Act) -> None:
        self.acts: asyncio.Queue[Act | None] = asyncio.Queue()
        for act in acts:
            self.acts.put_nowait(act)
        self.heard: list[tuple[bool, bool]] = []

    async def open(self, url: str) -> None:
        assert url == URL

    async def next_act(self) -> Act | None:
        return await self.acts.get()

    async def outcome(self, number: int, secrets: Sequence[str]) -> Outcome:
        return Outcome(after=page("Done"), again=page("Done"))

    def so_far(self, number: int) -> Outcome:
        return Outcome()

    async def look(self, secrets: Sequence[str]) -> Snapshot | None:
        return page("Done")

    def listen(self, *, on: bool, pointing: bool = False) -> None:
        self.heard.append((on, pointing))

    async def close(self) -> None:
        pass


async def recorded(*acts: Act) -> tuple[DemonstrationRecorder, ShownActs]:
    shown = ShownActs(*acts)
    shown.acts.put_nowait(None)
    recorder = DemonstrationRecorder(shown, URL, changed=lambda: None)
    await recorder.run()
    return recorder, shown


async def test_the_letters_of_a_field_make_one_step_and_two_clicks_a_double_click() -> None:
    one = click("Open")
    recorder, _ = await recorded(
        fill("Name", "A", number=1), fill("Name", "Ada", number=1), one.model_copy(update={"number": 2}),
        one.model_copy(update={"number": 3}), one.model_copy(update={"number": 4, "kind": "double_click"}),
    )  # fmt: skip

    assert recorder.lines == ['1. fill the "Name" field = Ada', '2. double click the "Open" button']


async def test_a_click_into_a_field_that_is_filled_next_is_no_step() -> None:
    focus = click("Name", number=1).model_copy(update={"element": acted_on("Name")})

    recorder, _ = await recorded(focus, fill("Name", "Ada", number=2))

    assert recorder.lines == ['1. fill the "Name" field = Ada']


async def test_letters_of_the_terminal_change_the_last_step() -> None:
    said: list[str] = []
    panel = TerminalPanel(said.append)
    recorder, shown = await recorded(fill("Name", "Ada", number=1), click("Order", number=2))

    for line in ("c\n", "p\n", "s\n", "x\n"):
        panel.obey(recorder, line)
        panel.show(recorder)

    assert recorder.lines == [
        '1. fill the "Name" field = Ada  [always this value]', '2. click the "Order" button  [has consequences]',
    ]  # fmt: skip
    assert shown.heard == [(False, False)]
    assert "paused" in said
    assert said[-1].startswith("'x' is no command: u undo; p ")
    panel.obey(recorder, "u\n")
    panel.show(recorder)
    assert said[-1] == "undone; 1 steps are left"


def test_the_trial_ends_before_the_first_step_with_consequences() -> None:
    order = Recorded(click("Order"), outcome=Outcome(evidence=POSTED))

    trial = before_consequences(task_of(fill("Name", "Ada"), order, click("Home")))

    assert trial is not None
    assert [step.action for step in trial.steps] == ["fill"]
    assert not trial.verify
    assert before_consequences(task_of(order)) is None
    assert values_shown(task_of(fill("Name", "Ada"))) == {"name": "Ada"}
    assert values_shown(task_of(fill("Name", "A" * 2_000))) is None

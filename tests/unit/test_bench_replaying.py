"""The rounds of `make bench`: what is timed, what is told as failed, and what the ratios are made of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bench.replaying.contest import Failed, Learned, Result, Skipped, Window, hold, p95, ratios
from bench.replaying.report import figures, write
from bench.replaying.standin import NotUnderstood, Turn, by_markup, by_name


class MailSite:
    """Says when the mail came: told before, one answer a run; None is no mail."""

    def __init__(self, arrivals: Sequence[float | None]) -> None:
        self._arrivals = iter(arrivals)

    async def clear(self) -> None:
        """Nothing is kept."""

    async def arrived(self) -> float:
        at = next(self._arrivals)
        if at is None:
            raise Failed("the site accepted 0 mails, not 1")
        return at


@dataclass
class Contender:
    """Takes so many milliseconds each time."""

    name: str
    ms: float
    base: bool = False
    calls_each: int = 0
    why_not: str = ""
    replays: bool = True
    most_rounds: int | None = None
    version: str = "1"
    verifies: str = "nothing"
    keeps: str = "nothing"
    calls: int = 0
    runs: list[float] = field(default_factory=list)

    async def learn(self) -> Learned | None:
        if self.why_not:
            raise Skipped(self.why_not)
        return Learned(9, 1_234)

    def model_calls(self) -> int:
        return self.calls

    async def run(self) -> Window:
        self.calls += self.calls_each if self.runs else 0
        self.runs.append(self.ms)
        return Window(100.0, 100.0 + self.ms / 1000)


def quietly(_text: str) -> None:
    """Say nothing."""


async def test_a_run_ends_when_the_contestant_is_through_and_the_mail_is_there_whichever_is_later() -> None:
    [result] = await hold([Contender("raw", 500)], MailSite([100.2, 100.2, 100.9]), rounds=2, tell=quietly)

    assert [round(ms) for ms in result.times] == [500, 900]


async def test_a_run_whose_mail_is_missing_is_told_and_not_timed() -> None:
    [result] = await hold([Contender("raw", 500)], MailSite([100.1, None, 100.1]), rounds=2, tell=quietly)

    assert list(result.ms) == [1]
    assert result.failures == ["round 1: the site accepted 0 mails, not 1"]


async def test_a_replay_that_asks_a_model_is_not_timed() -> None:
    asks, learns = Contender("asks", 500, calls_each=2), Contender("learns", 500, calls_each=2, replays=False)

    results = await hold([asks, learns], MailSite([100.1] * 4), rounds=1, tell=quietly)

    assert [len(result.times) for result in results] == [0, 1]
    assert results[0].failures == ["round 1: 2 model calls"]
    assert [result.model_calls for result in results] == [2, 2]


async def test_who_cannot_take_part_is_left_out_with_the_reason() -> None:
    away, here = Contender("away", 1, why_not="no npm on PATH"), Contender("here", 1)

    results = await hold([away, here], MailSite([100.1] * 3), rounds=2, tell=quietly)

    assert (results[0].skipped, results[0].times) == ("no npm on PATH", [])
    assert len(results[1].times) == 2


async def test_everybody_is_first_in_turn() -> None:
    order: list[str] = []

    class Noting(Contender):
        async def run(self) -> Window:
            order.append(self.name)
            return await super().run()

    await hold([Noting("a", 1), Noting("b", 1)], MailSite([100.1] * 6), rounds=2, tell=quietly)

    assert order == ["a", "b", "a", "b", "b", "a"]  # the first two are not timed


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    base = Result(Contender("checked", 0, base=True), ms={0: 100.0, 1: 1_000.0, 2: 100.0})
    other = Result(Contender("other", 0), ms={0: 150.0, 1: 1_200.0, 3: 5.0})

    assert ratios([base, other]) == {"checked": 1.0, "other": pytest.approx(1.35)}


def test_without_the_base_there_are_no_ratios() -> None:
    result = Result(Contender("other", 0), ms={0: 150.0})

    assert ratios([result]) == {}
    assert figures([result], rounds=1)["ratio"] is None


def test_the_95th_percentile_is_one_of_the_values() -> None:
    assert p95([float(number) for number in range(1, 21)]) == 19.0
    assert p95([7.0]) == 7.0


def test_table_and_chart_name_everybody_and_say_who_was_left_out(tmp_path: Path) -> None:
    results = [
        Result(Contender("checked", 0, base=True), ms={0: 100.0}),
        Result(Contender("A & B", 0), learned=Learned(9, 1_234), ms={0: 250.0}),
        Result(Contender("away", 0), skipped="no npm on PATH"),
    ]

    page, chart = write(results, tmp_path / "out")

    told = page.read_text(encoding="utf-8")
    assert "| A & B | 1 | 1 | 250 | 250 | 2.50 | 0 | 1,234 (9 calls) |" in told
    assert "away: skipped: no npm on PATH" in told
    assert "A &amp; B" in chart.read_text(encoding="utf-8")


TO = Turn("fill", "fill the To field", role="textbox", label="To")
SEND = Turn("click", "click the send button", role="button", label="Send")


def test_the_stand_in_finds_an_element_by_role_and_name() -> None:
    listing = "[0-1] RootWebArea: Compose\n  [0-7] LabelText: To\n  [0-8] textbox: To\n  [0-9] button: Send"

    assert (by_name(TO, listing), by_name(SEND, listing)) == ("0-8", "0-9")


def test_the_stand_in_finds_an_element_by_its_tag() -> None:
    listing = (
        "To\n[3]<input type=text id=compose-to name=to />\n*[4]<button name=action />\n\tSend\n[5]<button />\n\tSave"
    )

    assert (by_markup(TO, listing), by_markup(SEND, listing)) == (3, 4)


def test_the_stand_in_chooses_none_of_two() -> None:
    with pytest.raises(NotUnderstood, match="fits 2 elements"):
        by_name(SEND, "[0-8] button: Send\n[0-9] button: Send")

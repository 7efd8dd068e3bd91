"""A person in the loop, on the real stack and in a real browser: codes, approvals, and a payment that is made once."""

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from cache.connection import open_redis
from demo.stage import Stage
from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.people.inbox import waiting_in
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.common.totp import totp_of
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.run.scope import Mode
from replaywright.domain.task.questions import Question, QuestionKind
from replaywright.settings import load_settings
from replaywright.stack.keyring import artifact_keys_of
from tests.e2e.bank import Bank
from tests.e2e.lab import Lab, runs_with, until

pytestmark = pytest.mark.slow

CODE = {"action": "verification_code"}
RIGHT = "493027"
LOGIN = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.fixture
def bank(lab: Lab) -> Iterator[Bank]:
    bank = Bank()
    with bank.served():
        lab.stage.bind("LOGIN", bank.url)
        yield bank


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File that notices are written to."""
    return tmp_path_factory.mktemp("notices") / "told"


@pytest.fixture(scope="module")
async def lab(told: Path) -> AsyncIterator[Lab]:
    """A stage on which nothing is learned, as the task declares its elements; browsers are given back soon."""
    notices = told.with_suffix(".yaml")
    notices.write_text(f"to: {{desk: {{command: tee -a {told}}}}}")
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        environment.setenv("REPLAYWRIGHT_NOTICES", str(notices))
        environment.setenv("REPLAYWRIGHT_SECRET_LOGIN", LOGIN)
        async with Stage(load_settings(), tell=lambda _text: None) as stage:
            with runs_with(hibernate_after_s=1.0):
                yield Lab(stage)


def order_of(bank: Bank, code: dict[str, Any]) -> Order:
    task = bank.task(code)
    return Order(task, {}, new_run_id(task, {}), mode=Mode.REPLAY)


async def asked(lab: Lab, order: Order, kind: QuestionKind) -> Question:
    """What the inbox says of the run, once it waits with such a question."""
    found: list[Question] = []

    async def is_there() -> bool:
        found[:] = [one.question for one in await waiting_in(lab.place) if one.run_id == order.run_id]
        return [question.kind for question in found] == [kind]

    await until(f"{kind} is asked", is_there)
    return found[0]


def answer(lab: Lab, order: Order, *arguments: str, value: str = "") -> None:
    """Answer by the command line, a value by its standard input."""
    command = [sys.executable, "-m", "replaywright", "answer", order.run_id, *arguments]
    settings = lab.place.settings
    here = {
        "REPLAYWRIGHT_HOME": str(settings.home),
        "REPLAYWRIGHT_TEMPORAL_ADDRESS": settings.temporal_address or "",
        "REPLAYWRIGHT_TENANT": settings.tenant,
    }
    environment = os.environ | here
    ended = subprocess.run(command, input=value, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


async def everything_written(lab: Lab, order: Order) -> dict[str, bytes]:
    """What the run left anywhere, by its place."""
    history = await lab.handle(order).fetch_history()
    places = {"history": b"".join(event.SerializeToString() for event in history.events)}
    redis = open_redis(lab.place.settings.redis_url or "")
    await redis.config_set("rdbcompression", "no")  # a dump must not hide what it holds
    async for key in redis.scan_iter():
        places[f"redis {key!r}"] = (await redis.dump(key)) or b""
    await redis.aclose()
    places["trace"] = json.dumps(await lab.trace(order)).encode()
    for path in Path(lab.stage.home).rglob("*"):
        if path.is_file() and "profile" not in path.parts:
            places[f"file {path.relative_to(lab.stage.home)}"] = path.read_bytes()
    return places


def titles(told: Path) -> list[str]:
    """What was told, in order."""
    text, decoder, found = told.read_text() if told.exists() else "", json.JSONDecoder(), []
    while text:
        delivery, end = decoder.raw_decode(text)
        found += [notice["title"] for notice in delivery["notices"]]
        text = text[end:].lstrip()
    return found


async def test_a_payment_waits_for_a_code_and_an_approval_and_the_code_is_kept_nowhere(
    lab: Lab, bank: Bank, told: Path
) -> None:
    order = order_of(bank, CODE)
    await start(lab.place, order)
    code = await asked(lab, order, QuestionKind.VERIFICATION_CODE)
    await until("somebody is told", lambda: len(titles(told)) == 1)
    picture = await ArtifactStore(lab.place.settings.artifacts, artifact_keys_of(lab.place.settings)).get(code.picture)
    answer(lab, order, "answer", "--value-file", "-", value=RIGHT)
    approval = await asked(lab, order, QuestionKind.APPROVE)
    paid_before = list(bank.payments)
    verdict = PersonVerdict(sequence=6, verdict="approve", who="the test")
    await decide(lab.place, order.run_id, verdict)
    ending = await lab.follow(order)
    places = await everything_written(lab, order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert picture.startswith(b"\x89PNG")
    assert titles(told)[0] == f"{order.task.task} waits for a person: {code.text}"
    assert "Your code" in code.site_says
    assert approval.shows == ("8. click the Pay now button (irreversible)",)
    assert (bank.codes, paid_before, bank.payments) == ([RIGHT], [], ["12.50"])
    assert [name for name, data in places.items() if RIGHT.encode() in data] == []
    assert await lab.audited(order) == ()


@pytest.mark.long
async def test_questions_outlive_worker_and_browser_and_the_payment_is_made_once(lab: Lab, bank: Bank) -> None:
    order = order_of(bank, CODE)
    await start(lab.place, order)
    await asked(lab, order, QuestionKind.VERIFICATION_CODE)
    await until("the browser is given back", lambda: not lab.sessions())
    await lab.replace_worker()
    answer(lab, order, "answer", "--value-file", "-", value=RIGHT)
    await asked(lab, order, QuestionKind.APPROVE)
    await until("the browser is given back", lambda: not lab.sessions())
    await lab.replace_worker()
    answer(lab, order, "approve", "--why", "the amount is right")
    ending = await lab.follow(order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert bank.payments == ["12.50"]
    assert bank.codes == [RIGHT]


@pytest.mark.long
async def test_a_wrong_code_does_not_pass_and_a_refused_payment_is_not_made(lab: Lab, bank: Bank) -> None:
    order = order_of(bank, CODE)
    await start(lab.place, order)
    await asked(lab, order, QuestionKind.VERIFICATION_CODE)
    answer(lab, order, "answer", "--value-file", "-", value="111111")
    ending = await lab.follow(order)

    second = order_of(bank, CODE)
    await start(lab.place, second)
    await asked(lab, second, QuestionKind.VERIFICATION_CODE)
    answer(lab, second, "answer", "--value-file", "-", value=RIGHT)
    await asked(lab, second, QuestionKind.APPROVE)
    answer(lab, second, "refuse")
    refused = await lab.follow(second)

    assert (ending.status, ending.result.failed_step) == ("failed", 4)
    assert (refused.status, refused.result.reason) == ("failed", "not_approved")
    assert bank.payments == []


@pytest.mark.long
async def test_a_one_time_password_needs_no_person(lab: Lab, bank: Bank) -> None:
    login = totp_of("LOGIN", LOGIN)
    bank.right = lambda code: code == login.at(time.time())
    order = order_of(bank, {"value": "{{totp:LOGIN}}"})
    await start(lab.place, order)
    await asked(lab, order, QuestionKind.APPROVE)
    answer(lab, order, "approve")
    ending = await lab.follow(order)
    places = await everything_written(lab, order)

    assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
    assert bank.payments == ["12.50"]
    [code] = bank.codes
    assert [name for name, data in places.items() if code.encode() in data] == []

"""The password of the demo's account is typed into a page, and is nowhere else while it runs and afterwards."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from demo.stage import Stage
from replaywright.artifacts.store import ArtifactStore
from replaywright.cli.people.updates import decide
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.commit_requests import PersonVerdict
from replaywright.domain.task.questions import QuestionKind
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.settings import Settings
from replaywright.stack.keyring import artifact_keys_of
from tests.e2e.lab import Lab, until
from tests.e2e.test_people import asked
from tests.e2e.test_stack_life import those_in
from tests.leaks import Place, artifacts, dumps, files, histories, keys, leaks, processes

pytestmark = pytest.mark.slow

PLANTED = "planted-Control-7272-value"
"""In an address: it may be written anywhere, so that the search of the profile has something to find."""
WORKERS_THAT_TYPE = ("--role all", "--role browser")
"""How the command lines end of the only processes of a run that may have a secret of it in their environment."""
SITE = "demo.webmail"
"""Whose password it is: the site is no process of the run."""


@pytest.fixture(scope="module")
async def lab(lab_settings: Settings) -> AsyncIterator[Lab]:
    """The demo's task, learned; home and temporary folder are this module's own, so that both can be searched."""
    with tempfile.TemporaryDirectory(prefix="rw-") as folder, pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        for variable, name in (("HOME", "home"), ("TMPDIR", "tmp")):
            (Path(folder) / name).mkdir()
            environment.setenv(variable, str(Path(folder) / name))
        environment.setattr(tempfile, "tempdir", str(Path(folder) / "tmp"))
        async with Stage(lab_settings, tell=lambda _text: None) as stage:
            lab = Lab(stage)
            await lab.learn()
            yield lab


def signs_in_and_waits(lab: Lab) -> Task:
    """The demo's task up to the sign-in; then a person has the browser."""
    written = lab.task.model_dump(mode="json", exclude_defaults=True)
    hand_over = {"action": "take_over", "instruction": "look around", "expect": [{"url_contains": "/inbox"}]}
    return parse_task(
        {
            **{name: written[name] for name in ("task", "parameters", "secrets")},
            "steps": [
                *written["steps"][:4],
                {"action": "goto", "url": f"{{{{base_url}}}}/inbox?planted={PLANTED}"},
                hand_over,
            ],
        },
        "the test",
    )


def stack_of(lab: Lab) -> set[psutil.Process]:
    """Every process of the lab: what this one started, and what names the lab's home, as keepers do."""
    found = set(psutil.Process().children(recursive=True)) | those_in(lab.stage.home)
    return {process for process in found if SITE not in commanded(process)}


def commanded(process: psutil.Process) -> list[str]:
    """Command line; that of the site for one that has ended."""
    try:
        return process.cmdline()
    except psutil.Error:
        return [SITE]


async def test_a_secret_is_in_no_history_store_trace_log_prompt_or_output(lab: Lab) -> None:
    order = lab.order()
    ending = await lab.run(order)
    settings = lab.stage.place.settings
    store = ArtifactStore(settings.artifacts, artifact_keys_of(settings))

    places = [Place("output", ending.result.model_dump_json().encode())]
    places += [place async for place in histories(lab.stage.place.client)]
    places += [place async for place in keys(settings.redis_url or "")]
    places += [place async for place in artifacts(store)]
    places += files(lab.stage.home, without=("webmail",))

    assert ending.status == "done"
    assert leaks(places, {"PASSWORD": lab.stage.password}) == []
    names = [place.name for place in places]
    for kind in ("history of", "redis ", "artifact ", "file standin.jsonl", "file log/worker"):
        assert any(name.startswith(kind) for name in names), kind


@pytest.mark.long
async def test_a_secret_is_in_no_profile_cache_dump_or_process_while_its_browser_waits_and_no_profile_stays(
    lab: Lab,
) -> None:
    task, secrets = signs_in_and_waits(lab), {"PASSWORD": lab.stage.password, "CONTROL": PLANTED}
    values = {"base_url": lab.stage.webmail, "to": "a@example.com", "subject": "none", "body": "none"}
    order = Order(task, values, new_run_id(task, values))
    await start(lab.place, order)
    await asked(lab, order, QuestionKind.TAKE_OVER)
    profile = Path((await lab.session()).profile)

    def has_written() -> bool:
        found = leaks(files(profile, without=()), {"CONTROL": PLANTED})
        return "row of History urls" in {leak.place for leak in found}

    await until("Chromium writes where it was", has_written)
    own_home, own_temporary = Path.home(), Path(tempfile.gettempdir())
    on_disk = leaks((*files(own_home, without=()), *files(own_temporary, without=("webmail",))), secrets)
    looked_at = list(processes(stack_of(lab)))
    lines = {process: " ".join(process.cmdline()) for process, _ in looked_at}
    held = {(lines[process], leak.secret) for process, place in looked_at for leak in leaks([place], secrets)}
    dumped = [*dumps(own_home), *dumps(own_temporary)]
    await decide(lab.place, order.run_id, PersonVerdict(sequence=5, verdict="done", who="ada", why="by the app"))
    ending = await lab.follow(order)
    await until("nothing of the profile is left", lambda: not profile.parent.exists())
    left = [path for path in own_temporary.rglob("*") if "chromium" in path.name.lower()]

    assert ending.status == "done", ending
    assert profile.is_relative_to(own_temporary)
    assert [leak for leak in on_disk if leak.secret == "PASSWORD"] == []
    assert [line for line, _ in held if not line.endswith(WORKERS_THAT_TYPE)] == []
    assert {name for _, name in held} == {"PASSWORD"}, "the worker's environment is not looked at"
    for part in ("replaywright.keeper", "--type=renderer", "valkey-server", "start-dev", "run-driver", "demo.standin"):
        assert any(part in line for line in lines.values()), (part, lines)
    assert dumped == []
    assert left == []

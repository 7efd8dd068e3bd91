"""The resident of `up`: what it carries out is as if it had been done by the process that was started for it."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from replaywright.cli.resident.client import SOCKET, surroundings
from replaywright.cli.resident.server import has_the_same_rights, parse
from tests.waiting import until

ROOT = Path(__file__).parents[2]
COMMAND = "import sys; sys.argv[0] = 'replaywright'; from replaywright.cli import main; main()"
HANDED_OVER = "import sys; from replaywright.cli.resident.client import hand_over; print(hand_over(sys.argv[1:]))"
NOT_YAML = "standard input:1:9: not YAML: expected ',' or ']', but got '<stream end>'\n"


@dataclass(frozen=True)
class Resident:
    """One that runs."""

    home: Path
    process: "subprocess.Popen[bytes]"

    def environment(self, **more: str) -> dict[str, str]:
        """Variables of commands that find it."""
        return {**os.environ, "REPLAYWRIGHT_HOME": str(self.home), **more}

    def begin(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start a command, which the resident carries out."""
        return subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            env=self.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    async def commands(self, number: int) -> list[psutil.Process]:
        """Its processes of commands, once there are so many."""

        def found() -> list[psutil.Process]:
            return psutil.Process(self.process.pid).children()

        await until(lambda: len(found()) == number, timeout_s=60)
        return found()


@contextlib.contextmanager
def started(home: Path, more: Mapping[str, str] | None = None) -> Iterator[Resident]:
    """One that serves during the block."""
    command = [sys.executable, "-P", "-m", "replaywright.cli.resident.server", str(home)]
    with subprocess.Popen(command, env={**os.environ, **(more or {})}, stdin=subprocess.DEVNULL) as process:
        try:
            yield Resident(home, process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def resident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Resident]:
    home = tmp_path_factory.mktemp("home")
    with started(home) as found:
        asyncio.run(until((home / SOCKET).exists, timeout_s=60))
        yield found


def done(
    resident: Resident,
    *arguments: str,
    code: str = COMMAND,
    given: str = "",
    folder: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    command, environment = [sys.executable, "-c", code, *arguments], resident.environment(**more or {})
    return subprocess.run(
        command, env=environment, input=given, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def is_carried_out(resident: Resident, *arguments: str, begin: str = "", more: Mapping[str, str] | None = None) -> bool:
    """Whether the resident takes the command."""
    ended = done(resident, *arguments, code=begin + HANDED_OVER, more=more)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip() != "None"


def test_a_command_has_the_arguments_streams_folder_and_variables_of_its_process(
    resident: Resident, tmp_path: Path
) -> None:
    (tmp_path / "here.yaml").write_text("task: [2")

    of_input = done(resident, "run", "-", given="task: [1")
    of_file = done(resident, "run", "here.yaml", folder=tmp_path)
    of_variable = done(resident, "run", "-", more={"REPLAYWRIGHT_HOMES": "1"})

    assert is_carried_out(resident, "run", "nowhere.yaml")
    assert (of_input.returncode, of_input.stdout, of_input.stderr) == (2, "", NOT_YAML)
    assert of_file.stderr.startswith("here.yaml:1:9: not YAML")
    assert of_variable.stderr == "REPLAYWRIGHT_HOMES is not a setting: did you mean REPLAYWRIGHT_HOME?\n"


async def test_ctrl_c_reaches_the_command(resident: Resident) -> None:
    process = resident.begin("run", "-")
    await resident.commands(1)

    def ended_by_a_press() -> bool:
        process.send_signal(signal.SIGINT)  # the first one is for the event loop, which waits for the input
        return process.poll() is not None

    await until(ended_by_a_press, timeout_s=60)
    assert process.returncode == 130
    process.communicate()


async def test_a_command_ends_with_the_process_that_was_started_for_it(resident: Resident) -> None:
    process = resident.begin("run", "-")
    (command,) = await resident.commands(1)

    process.kill()

    await until(lambda: not command.is_running(), timeout_s=60)
    process.communicate()


async def test_a_command_outlives_the_resident(tmp_path: Path) -> None:
    with started(tmp_path) as resident:
        await until((tmp_path / SOCKET).exists, timeout_s=60)
        begun = resident.begin("run", "-")
        await resident.commands(1)

    said = begun.communicate("task: [1")

    assert (begun.returncode, *said) == (2, "", NOT_YAML)


@pytest.mark.parametrize("arguments", [("runs",), ("run", "x.yaml", "--debug"), ("run", "--help"), ()], ids=str)
def test_other_commands_are_carried_out_by_their_process(resident: Resident, arguments: tuple[str, ...]) -> None:
    assert not is_carried_out(resident, *arguments)


def test_a_process_with_other_variables_of_python_does_it_itself(resident: Resident) -> None:
    assert not is_carried_out(resident, "run", "nowhere.yaml", more={"PYTHONWARNINGS": "ignore"})


def test_a_process_that_may_do_less_does_it_itself(resident: Resident) -> None:
    no_new_privileges = "import ctypes; assert ctypes.CDLL(None).prctl(38, 1, 0, 0, 0) == 0\n"

    assert not is_carried_out(resident, "run", "nowhere.yaml", begin=no_new_privileges)


def test_a_closed_stream_is_no_reason_to_fail(resident: Resident) -> None:
    assert not is_carried_out(resident, "run", "nowhere.yaml", begin="import os, sys; os.close(0); sys.stdin = None\n")


def test_nobody_without_a_process_may_do_the_same() -> None:
    assert has_the_same_rights(os.getpid())
    assert not has_the_same_rights(0)


@pytest.mark.parametrize(
    ("changed", "number"), [({"PYTHONUTF8": "1"}, 4), ({}, 3)], ids=["another Python", "a stream too few"]
)
def test_a_request_that_does_not_fit_is_refused(changed: Mapping[str, str], number: int) -> None:
    words = [surroundings({**os.environ, **changed}), "18", "1", "1", "run", "A=b=c"]

    with pytest.raises(ValueError, match="another installation"):
        parse("\0".join(words).encode(), list(range(number)))


async def test_a_resident_whose_libraries_were_changed_starts_anew(tmp_path: Path) -> None:
    installed = tmp_path / "more-packages"
    installed.mkdir()
    path = {"PYTHONPATH": os.pathsep.join((os.environ.get("PYTHONPATH", str(ROOT)), str(installed)))}
    with started(tmp_path, path) as resident:
        await until((tmp_path / SOCKET).exists, timeout_s=60)
        assert is_carried_out(resident, "run", "nowhere.yaml", more=path)

        os.utime(installed, ns=(1, 1))

        assert not is_carried_out(resident, "run", "nowhere.yaml", more=path)
        await until(lambda: is_carried_out(resident, "run", "nowhere.yaml", more=path), timeout_s=60)

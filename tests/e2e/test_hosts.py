"""Runs on several hosts, which are network namespaces here: see `bench.hosts`."""

import asyncio
import json
import sys

import pytest

from bench.namespaces import why_not

pytestmark = pytest.mark.skipif(bool(why := why_not()), reason=why or "namespaces can be had")

_LIMIT_S = 280


async def _figures(*arguments: str, limit_s: float = _LIMIT_S) -> dict[str, int]:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.hosts", *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        said, complained = await asyncio.wait_for(program.communicate(), limit_s)
    finally:
        if program.returncode is None:
            program.terminate()
            await program.wait()
    assert said.strip(), complained.decode()
    figures: dict[str, int] = json.loads(said.splitlines()[-1])
    return figures


@pytest.mark.long
async def test_runs_of_a_host_that_dies_are_brought_back_on_another_and_send_once() -> None:
    figures = await _figures("--rounds", "1", "--runs", "3")

    assert figures["done"] == figures["runs"] == 4
    assert (figures["duplicates"], figures["lost"]) == (0, 0)
    assert figures["spread"] == 1
    assert figures["moved"] >= 1


@pytest.mark.long
async def test_no_run_is_lost_or_sends_twice_wherever_in_a_step_its_host_dies() -> None:
    figures = await _figures("--rounds", "5", limit_s=1_800)

    assert figures["done"] == figures["runs"] == 21
    assert (figures["duplicates"], figures["lost"]) == (0, 0)
    assert figures["spread"] == 5
    assert figures["moved"] >= 5

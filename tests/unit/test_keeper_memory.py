"""How much memory is free for browsers: that of the host, or of the control groups where it is less."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from replaywright.keeper.host.memory import memory, resident

MIB = 1024 * 1024


@pytest.fixture
def host(tmp_path: Path) -> Path:
    (tmp_path / "proc" / "self").mkdir(parents=True)
    return tmp_path


def belongs_to(host: Path, *lines: str) -> None:
    (host / "proc" / "self" / "cgroup").write_text("\n".join(lines) + "\n")


def group(host: Path, path: str, **files: str) -> None:
    folder = host / "cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def found(host: Path) -> tuple[int, int]:
    there_is = memory(host / "proc", host / "cgroup")
    return there_is.total // MIB, there_is.available // MIB


def test_without_a_control_group_it_is_what_the_host_has_available(host: Path) -> None:
    available = psutil.virtual_memory().available
    there_is = memory(host / "proc", host / "cgroup")

    assert there_is.total == psutil.virtual_memory().total
    assert abs(there_is.available - available) < available / 4  # others take and give meanwhile


def test_the_limit_of_its_own_group_counts_and_files_it_has_cached_are_free(host: Path) -> None:
    belongs_to(host, "0::/jobs/one")
    group(
        host,
        "jobs/one",
        memory__max=str(64 * MIB),
        memory__current=str(50 * MIB),
        memory__stat=f"anon 1\nactive_file {9 * MIB}\ninactive_file {20 * MIB}",
    )

    assert found(host) == (64, 34)


def test_the_tightest_of_the_groups_around_it_counts(host: Path) -> None:
    belongs_to(host, "0::/jobs/one")
    group(host, "jobs/one", memory__max="max", memory__current=str(MIB))
    group(host, "jobs", memory__max=str(32 * MIB), memory__current=str(30 * MIB))

    assert found(host) == (32, 2)


def test_the_groups_of_the_first_version_are_read_too(host: Path) -> None:
    belongs_to(host, "4:cpu,memory:/work", "0::/")
    group(
        host,
        "memory/work",
        memory__limit_in_bytes=str(16 * MIB),
        memory__usage_in_bytes=str(20 * MIB),
        memory__stat=f"total_inactive_file {MIB}",
    )

    assert found(host) == (16, 0)


def test_in_a_container_the_path_of_the_host_is_not_there_and_its_own_group_is_at_the_root(host: Path) -> None:
    belongs_to(host, "0::/docker/0123")
    group(host, "", memory__max=str(8 * MIB), memory__current=str(MIB))

    assert found(host) == (8, 7)


def test_the_memory_of_a_process_group_is_that_of_all_its_processes() -> None:
    size = 64 * MIB
    parent = f"""
import os, subprocess, sys
own = bytearray(os.urandom(1024)) * {size // 1024}
child = subprocess.Popen([sys.executable, "-c", {CHILD!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
child.stdin.close()
child.wait()
"""
    command = [sys.executable, "-c", parent]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0) as process:
        assert process.stdout is not None
        process.stdout.readline()
        has = resident([process.pid, os.getpid()])[process.pid]
        process.communicate()

    gone = resident([process.pid])[process.pid]

    assert 2 * size < has.private < 3 * size
    assert has.total == has.private + has.shared
    assert (gone.private, gone.shared) == (0, 0)


CHILD = f"""
import os, sys
own = bytearray(os.urandom(1024)) * {64 * 1024}
print("ready", flush=True)
sys.stdin.read()
"""

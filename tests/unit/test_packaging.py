"""The names that we ship are ours alone, and the lock is complete."""

import re
import tomllib
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
OUR_NAMES = ("workflows", "activities", "cache", "worker", "demo", "replaywright")
PLATFORMS = [("linux", "Linux", "x86_64"), ("linux", "Linux", "aarch64"), ("darwin", "Darwin", "arm64")]
PYTHONS = ["3.11.0", "3.11.2", "3.12.3", "3.13.5"]


def locked_text() -> str:
    return (ROOT / "requirements.lock").read_text(encoding="utf-8")


def locked() -> dict[str, str]:
    return {
        canonicalize_name(match[1]): match[2] for match in re.finditer(r"^(\S+?)==(\S+)", locked_text(), re.MULTILINE)
    }


def project() -> Distribution:
    return distribution("replaywright")


@pytest.mark.parametrize("name", OUR_NAMES)
def test_no_other_installed_distribution_ships_our_import_name(name: str) -> None:
    owners = {canonicalize_name(owner) for owner in packages_distributions().get(name, [])}

    assert owners <= {"replaywright"}


def test_every_locked_distribution_has_a_hash_of_each_of_its_files() -> None:
    without_comments = re.sub(r"^\s*(#.*)?\n", "", locked_text(), flags=re.MULTILINE)
    for block in re.split(r"\n(?=\S)", without_comments.strip()):
        assert re.match(r"\S+==\S+ \\\n", block), block
        assert "--hash=sha256:" in block, block


def test_the_lock_names_no_index_no_address_and_no_path() -> None:
    for line in filter(None, locked_text().splitlines()):
        assert re.fullmatch(r"[A-Za-z0-9._-]+==\S+ \\|    --hash=sha256:[0-9a-f]{64}( \\)?|# [A-Za-z ]+:", line), line


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(("sys_platform", "system", "machine"), PLATFORMS)
def test_the_lock_is_complete_on(python: str, sys_platform: str, system: str, machine: str) -> None:
    environment = {str(key): str(value) for key, value in default_environment().items()} | {
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
        "implementation_version": python,
        "sys_platform": sys_platform,
        "platform_system": system,
        "platform_machine": machine,
    }
    versions = locked()
    extras = ("local", "dev", "interpreters")
    pending: list[tuple[str, tuple[str, ...]]] = [(line, extras) for line in project().requires or []]
    seen: set[tuple[str, tuple[str, ...]]] = set()

    while pending:
        line, wanted_extras = pending.pop()
        requirement = Requirement(line)
        if requirement.marker is not None and not any(
            requirement.marker.evaluate({**environment, "extra": extra}) for extra in ("", *wanted_extras)
        ):
            continue
        name = canonicalize_name(requirement.name)
        assert name in versions, f"{name} is needed ({line}) and not locked: add it to the extra `interpreters`"
        assert requirement.specifier.contains(versions[name], prereleases=True), line
        key = (name, tuple(sorted(requirement.extras)))
        if key not in seen:
            seen.add(key)
            pending += [(below, key[1]) for below in distribution(name).requires or []]


def test_the_lock_and_the_project_file_agree() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        *declared["dependencies"],
        *(line for extra, lines in declared["optional-dependencies"].items() if extra != "ocr" for line in lines),
    ]
    versions = locked()

    for line in lines:
        requirement = Requirement(line)
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)], prereleases=True), line


def test_the_build_backend_is_locked_too() -> None:
    assert {"hatchling", "editables"} <= locked().keys()


def test_the_image_does_not_run_as_root_and_copies_everything_that_is_shipped() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]

    assert "\nUSER 10001:10001\n" in dockerfile
    for name in shipped["only-include"]:
        assert re.search(rf"^COPY .*\b{re.escape(name)}\b", dockerfile, re.MULTILINE), name

"""The environments of foreign pages: what is not there is made whole or not at all."""

from pathlib import Path

import pytest

from bench.environments import EnvironmentFailed, environment, main


def test_an_installation_that_fails_leaves_nothing_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "no-wheels"))

    with pytest.raises(EnvironmentFailed, match=r"(?s)'miniwob'.*python.* -m bench\.environments miniwob"):
        environment("miniwob", home=tmp_path / "home")

    assert [path.name for path in (tmp_path / "home").iterdir()] == ["miniwob.lock"]


def test_a_package_of_debian_that_is_not_the_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, line in (("apt-get", "echo something else > fossil.deb"), ("dpkg", "exit 1")):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")

    with pytest.raises(EnvironmentFailed, match=r"fossil\.deb is not the package that .*packages\.txt pins"):
        environment("fossil", home=tmp_path / "home")

    assert [path.name for path in (tmp_path / "home").iterdir()] == ["fossil.lock"]


def test_an_unknown_name_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["netscape"]) == 1

    assert "'netscape'" in capsys.readouterr().err

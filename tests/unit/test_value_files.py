"""A setting whose value is in a file: what is mounted into a container as a secret."""

import os
from pathlib import Path

import pytest

from replaywright.domain.secrets.signing import written_key
from replaywright.errors import SettingsInvalid
from replaywright.settings import Settings, load_settings
from replaywright.stack import keyring, settings_environment
from replaywright.stack.keyring import new_key, signer_of
from replaywright.value_files import take_provider_keys


@pytest.fixture(autouse=True)
def _no_settings_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("REPLAYWRIGHT_", "TEMPORAL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def named(monkeypatch: pytest.MonkeyPatch, variable: str, file: Path, content: str) -> None:
    file.write_text(content, encoding="utf-8")
    monkeypatch.setenv(variable, str(file))


def test_a_file_holds_the_value_of_a_setting_but_for_one_line_break(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named(monkeypatch, "REPLAYWRIGHT_REDIS_URL_FILE", tmp_path / "url", "redis://rw:hunter2@ledger:6379/0\n")
    named(monkeypatch, "REPLAYWRIGHT_MAX_BROWSERS_FILE", tmp_path / "browsers", "3")

    settings = load_settings()

    assert settings.redis_url == "redis://rw:hunter2@ledger:6379/0"
    assert settings.max_browsers == 3


def test_every_setting_without_a_file_of_its_own_may_be_in_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("tenant", "codec_token", "temporal_address", "model_base_url"):
        named(monkeypatch, f"REPLAYWRIGHT_{name.upper()}_FILE", tmp_path / name, "value:1")
    (tmp_path / "tenant").write_text("acme", encoding="utf-8")

    settings = load_settings()

    assert (settings.tenant, settings.codec_token, settings.temporal_address) == ("acme", "value:1", "value:1")


@pytest.mark.parametrize(
    ("content", "expected"), [(None, "No such file"), ("", "is empty"), ("\n", "is empty"), ("x" * 70_000, "65,536")]
)
def test_a_file_that_holds_no_value_is_an_error_with_variable_and_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None, expected: str
) -> None:
    file = tmp_path / "url"
    monkeypatch.setenv("REPLAYWRIGHT_REDIS_URL_FILE", str(file))
    if content is not None:
        file.write_text(content, encoding="utf-8")

    with pytest.raises(SettingsInvalid) as caught:
        load_settings()

    assert str(caught.value).startswith(f"REPLAYWRIGHT_REDIS_URL_FILE: {file} ")
    assert expected in str(caught.value)


def test_a_wrong_value_in_a_file_is_not_repeated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named(monkeypatch, "REPLAYWRIGHT_TENANT_FILE", tmp_path / "tenant", "hunter two")

    with pytest.raises(SettingsInvalid) as caught:
        load_settings()

    assert str(caught.value).startswith("REPLAYWRIGHT_TENANT_FILE: ")
    assert "hunter" not in str(caught.value)


def test_two_different_values_are_an_error_and_the_same_one_twice_is_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    named(monkeypatch, "REPLAYWRIGHT_TENANT_FILE", tmp_path / "tenant", "acme")
    settings = load_settings()
    for name, value in settings_environment(settings).items():
        monkeypatch.setenv(name, value)

    assert load_settings() == settings, "a child process gets both"

    monkeypatch.setenv("REPLAYWRIGHT_TENANT", "other")

    with pytest.raises(SettingsInvalid, match=r"REPLAYWRIGHT_TENANT and REPLAYWRIGHT_TENANT_FILE are both set"):
        load_settings()


def test_a_misspelt_file_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_REDIS_URI_FILE", "/run/secrets/redis_url")

    with pytest.raises(SettingsInvalid, match=r"REPLAYWRIGHT_REDIS_URI_FILE is not a setting"):
        load_settings()


def test_keys_that_a_container_runtime_mounts_may_be_readable_by_the_whole_container(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "signing_keys"
    file.write_text(written_key(new_key()), encoding="utf-8")
    file.chmod(0o444)
    settings = Settings(signing_keys=file, redis_url="redis://ledger:6379/0")

    with pytest.raises(SettingsInvalid, match="chmod 600"):
        signer_of(settings)

    monkeypatch.setattr(keyring, "CONTAINER_SECRETS", tmp_path)

    assert not signer_of(settings).is_unsigned


def test_the_keys_of_providers_come_from_files_and_an_empty_file_is_a_provider_that_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "openai").write_text("sk-hunter2\n", encoding="utf-8")
    (tmp_path / "anthropic").write_text("", encoding="utf-8")
    environ = {
        "OPENAI_API_KEY_FILE": str(tmp_path / "openai"),
        "ANTHROPIC_API_KEY_FILE": str(tmp_path / "anthropic"),
    }

    take_provider_keys(environ)

    assert environ["OPENAI_API_KEY"] == "sk-hunter2"
    assert "ANTHROPIC_API_KEY" not in environ


def test_a_provider_key_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"OPENAI_API_KEY_FILE: .*cannot be read: No such file"):
        take_provider_keys({"OPENAI_API_KEY_FILE": str(tmp_path / "missing")})

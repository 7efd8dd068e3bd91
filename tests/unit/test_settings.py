import os
from pathlib import Path

import pytest
from pydantic import ValidationError

from replaywright.domain.task.budgets import Price
from replaywright.errors import SettingsInvalid
from replaywright.home import default_home
from replaywright.settings import Settings, load_settings
from replaywright.stack.services import settings_environment, without_password


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.startswith(("REPLAYWRIGHT_", "TEMPORAL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_without_any_variable_everything_is_embedded(tmp_path: Path) -> None:
    settings = load_settings()

    assert (settings.temporal_address, settings.redis_url, settings.model) == (None, None, None)
    assert settings.home == tmp_path / "replaywright"
    assert settings.artifacts == str(tmp_path / "replaywright" / "artifacts")
    assert settings.max_browsers is None


def test_variables_are_read_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_TENANT", "acme")
    monkeypatch.setenv("REPLAYWRIGHT_HEADLESS", "false")
    monkeypatch.setenv("REPLAYWRIGHT_TASK_QUEUE", "one")

    settings = load_settings(task_queue="two", model=None)

    assert (settings.tenant, settings.headless, settings.task_queue) == ("acme", False, "two")


def test_temporals_own_variable_is_honoured_and_ours_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEMPORAL_ADDRESS", "theirs:7233")

    assert load_settings().temporal_address == "theirs:7233"

    monkeypatch.setenv("REPLAYWRIGHT_TEMPORAL_ADDRESS", "ours:7233")

    assert load_settings().temporal_address == "ours:7233"


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_REDIS_URL", "")

    assert load_settings().redis_url is None


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("REPLAYWRIGHT_MODEL_TIMEOUT_S", "soon", "valid number"),
        ("REPLAYWRIGHT_PLANNER_MODEL", "gpt", "expected provider:name"),
        ("REPLAYWRIGHT_MODEL_PRICE", "2", "expected two numbers"),
        ("REPLAYWRIGHT_PLANNER_MODEL_PRICE", "0.5,-1", "expected US dollars"),
        ("REPLAYWRIGHT_LABELLER_MODEL_PRICE", "2", "expected two numbers"),
        ("REPLAYWRIGHT_TENANT", "a b", "pattern"),
        ("REPLAYWRIGHT_LOG_LEVEL", "loud", "'DEBUG'"),
        ("REPLAYWRIGHT_MODEL", "gpt", "provider:name"),
        ("REPLAYWRIGHT_RECALL_LANGUAGES", "en,klingon!", "tags of languages joined by commas"),
        ("REPLAYWRIGHT_APPROVE_RECALLED", "sometimes", "'commit'"),
        ("REPLAYWRIGHT_REDIS_URL", "localhost:6379", "redis://"),
        ("REPLAYWRIGHT_TEMPORAL_ADDRESS", "localhost", "host:port"),
    ],
)
def test_a_wrong_value_is_one_line_with_variable_and_expectation(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: str
) -> None:
    monkeypatch.setenv(variable, value)

    with pytest.raises(SettingsInvalid) as caught:
        load_settings()

    message = str(caught.value)
    assert message.startswith(f"{variable}: ")
    assert expected in message
    assert "\n" not in message


def test_a_misspelt_variable_is_an_error_with_the_right_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_MODLE", "openai:x")

    with pytest.raises(
        SettingsInvalid, match=r"REPLAYWRIGHT_MODLE is not a setting: did you mean REPLAYWRIGHT_MODEL\?"
    ):
        load_settings()


def test_secrets_are_no_settings_and_stay_out_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_SECRET_PASSWORD", "hunter2")

    assert "hunter2" not in repr(load_settings())


def test_the_password_of_a_wrong_redis_address_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_REDIS_URL", "http://:hunter2@host")

    with pytest.raises(SettingsInvalid) as caught:
        load_settings()

    assert "hunter2" not in str(caught.value)


def test_settings_cannot_be_changed() -> None:
    settings = load_settings()

    with pytest.raises(ValidationError):
        settings.tenant = "other"  # type: ignore[misc]  # that is what is refused


def test_a_relative_state_directory_is_ignored() -> None:
    assert default_home({"XDG_STATE_HOME": "state"}) == str(Path.home() / ".local" / "state" / "replaywright")


def test_a_child_process_reads_back_the_same_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = Settings(
        temporal_address="127.0.0.1:7233",
        redis_url="redis://:p%40ss@127.0.0.1:6379/3",
        home=tmp_path / "home",
        sandbox=False,
        headless=False,
        max_browsers=3,
        model="openai:x",
        model_price=Price(input_usd=0.25, output_usd=2),
        signing_keys=tmp_path / "keys",
        chromium=tmp_path / "chromium",
    )

    for name, value in settings_environment(settings).items():
        monkeypatch.setenv(name, value)

    assert load_settings() == settings


def test_a_shown_address_has_no_password() -> None:
    assert without_password("redis://user:hunter2@host:6379/0") == "redis://user:***@host:6379/0"
    assert without_password("redis://host:6379/0") == "redis://host:6379/0"


@pytest.mark.parametrize("address", [None, "s3://bucket", "s3://bucket/kept/"])
def test_a_tenant_has_a_part_of_the_artifact_store_to_itself(address: str | None, tmp_path: Path) -> None:
    given = {"artifacts_url": address, "home": tmp_path}

    whole, part = load_settings(**given), load_settings(**given, tenant="acme")

    assert part.artifacts == f"{whole.artifacts.rstrip('/')}/tenants/acme"


@pytest.mark.parametrize(
    ("endpoint", "places", "remedy"),
    [
        ("playwright+ws://chrome.example:3000", "4", "--remote-debugging-port"),
        ("chrome.example:9222", "4", "http://chrome.example:9222"),
        ("http://chrome.example:9222?token=hidden", None, "REPLAYWRIGHT_MAX_BROWSERS"),
    ],
)
def test_an_endpoint_that_cannot_be_used_is_refused_with_a_remedy_and_without_its_token(
    monkeypatch: pytest.MonkeyPatch, endpoint: str, places: str | None, remedy: str
) -> None:
    monkeypatch.setenv("REPLAYWRIGHT_BROWSER_ENDPOINT", endpoint)
    if places is not None:
        monkeypatch.setenv("REPLAYWRIGHT_MAX_BROWSERS", places)

    with pytest.raises(SettingsInvalid, match="REPLAYWRIGHT_BROWSER_ENDPOINT") as told:
        load_settings()

    assert remedy in str(told.value)
    assert "hidden" not in str(told.value)

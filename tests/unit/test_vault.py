"""Secrets from the environment, and log records without them."""

import io
import logging
from pathlib import Path

import pytest

from replaywright.errors import SecretMissing
from replaywright.ports import Secrets
from replaywright.vault.environment import EnvironmentSecrets
from replaywright.vault.logs import redact_logs

VALUE = "correct horse/battery"


@pytest.fixture
def secrets() -> Secrets:
    return EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD": VALUE, "HOME": "/home/ada"})


def test_a_secret_comes_from_its_variable(secrets: Secrets) -> None:
    assert secrets.resolve("PASSWORD") == VALUE


def test_a_missing_secret_names_both_variables(secrets: Secrets) -> None:
    with pytest.raises(SecretMissing, match=r"REPLAYWRIGHT_SECRET_PIN or REPLAYWRIGHT_SECRET_PIN_FILE"):
        secrets.resolve("PIN")


def test_an_empty_variable_is_a_missing_secret() -> None:
    with pytest.raises(SecretMissing, match="REPLAYWRIGHT_SECRET_PIN"):
        EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PIN": ""}).resolve("PIN")


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_secret_comes_from_the_file_that_a_variable_names(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(f" spaces count {ending}".encode())

    secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD_FILE": str(file)})

    assert secrets.resolve("PASSWORD") == " spaces count "


def test_a_rotated_file_is_read_anew_and_the_old_value_stays_redacted(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("old-value\n")
    secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD_FILE": str(file)})
    file.write_text("new-value\n")

    assert secrets.resolve("PASSWORD") == "new-value"
    assert secrets.redact("old-value new-value") == "{{secret:PASSWORD}} {{secret:PASSWORD}}"


def test_a_file_that_cannot_be_read_is_a_missing_secret(tmp_path: Path) -> None:
    secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD_FILE": str(tmp_path / "nowhere")})

    with pytest.raises(SecretMissing, match=r"REPLAYWRIGHT_SECRET_PASSWORD_FILE names '.*nowhere'"):
        secrets.resolve("PASSWORD")


def test_two_sources_for_one_secret_are_refused(tmp_path: Path) -> None:
    variable = "REPLAYWRIGHT_SECRET_PASSWORD"

    with pytest.raises(SecretMissing, match="unset one"):
        EnvironmentSecrets({variable: "a", f"{variable}_FILE": str(tmp_path)}).resolve("PASSWORD")


def test_a_configured_secret_is_redacted_before_it_was_ever_used(secrets: Secrets) -> None:
    assert secrets.redact(f"typed {VALUE}") == "typed {{secret:PASSWORD}}"
    assert secrets.redact_data({"url": "?q=correct+horse%2Fbattery"}) == {"url": "?q={{secret:PASSWORD}}"}


def test_variables_that_are_no_secrets_are_not_redacted(secrets: Secrets) -> None:
    assert secrets.redact("/home/ada") == "/home/ada"


# ---------------------------------------------------------------------------------------------------- logs


class Log:
    def __init__(self, secrets: Secrets) -> None:
        self.stream = io.StringIO()
        self.logger = logging.getLogger(f"{__name__}.{id(self)}")
        self.logger.propagate = False
        handler = logging.StreamHandler(self.stream)
        handler.setFormatter(logging.Formatter("%(message)s"))
        self.records: list[logging.LogRecord] = []

        def keep(record: logging.LogRecord) -> bool:
            self.records.append(record)
            return True

        handler.addFilter(keep)
        self.logger.addHandler(handler)
        redact_logs(secrets, self.logger)

    @property
    def text(self) -> str:
        return self.stream.getvalue()


@pytest.fixture
def log(secrets: Secrets) -> Log:
    return Log(secrets)


def test_message_and_arguments_are_redacted(log: Log) -> None:
    log.logger.warning("typed %s into %r", VALUE, {"value": VALUE})

    assert log.text == "typed {{secret:PASSWORD}} into {'value': '{{secret:PASSWORD}}'}\n"


def test_exceptions_and_their_causes_are_redacted_and_cannot_be_reached_any_more(log: Log) -> None:
    try:
        try:
            raise ValueError(f"cannot type {VALUE!r}")
        except ValueError as exc:
            raise RuntimeError("step failed") from exc
    except RuntimeError:
        log.logger.exception("oh")

    assert VALUE not in log.text
    assert "ValueError: cannot type '{{secret:PASSWORD}}'" in log.text
    assert "RuntimeError: step failed" in log.text
    assert log.records[0].exc_info is None


def test_a_message_that_does_not_fit_its_arguments_is_redacted_too(log: Log) -> None:
    log.logger.error("%d steps", VALUE)  # noqa: PLE1205, PLE1206, RUF100 - wrong on purpose

    assert log.text == "%d steps ('{{secret:PASSWORD}}',)\n"


def test_extra_fields_and_stacks_are_redacted(log: Log) -> None:
    log.logger.warning("x", extra={"step": {"value": VALUE}, "error": ValueError(VALUE), "n": 3}, stack_info=True)

    record = vars(log.records[0])
    assert record["step"] == {"value": "{{secret:PASSWORD}}"}
    assert record["error"] == "{{secret:PASSWORD}}"
    assert record["n"] == 3
    assert "Stack (most recent call last)" in log.text

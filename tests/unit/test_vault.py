"""Secrets from the environment, and log records without them."""

import io
import logging
import shlex
import sys
from pathlib import Path

import psutil
import pytest

from replaywright.errors import InputInvalid, SecretMissing
from replaywright.ports.stores import Secrets
from replaywright.vault import environment, sources
from replaywright.vault.environment import EnvironmentSecrets
from replaywright.vault.logs import RedactingFilter

VALUE = "correct horse/battery"


@pytest.fixture
def secrets() -> Secrets:
    return EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD": VALUE, "HOME": "/home/ada"})


def test_a_secret_comes_from_its_variable(secrets: Secrets) -> None:
    assert secrets.resolve("PASSWORD") == VALUE


def test_a_missing_secret_names_all_variables(secrets: Secrets) -> None:
    with pytest.raises(SecretMissing, match=r"_PIN, REPLAYWRIGHT_SECRET_PIN_FILE or REPLAYWRIGHT_SECRET_PIN_COMMAND"):
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


@pytest.mark.parametrize(
    "suffixes", [("", "_FILE"), ("", "_COMMAND"), ("_FILE", "_COMMAND"), ("", "_FILE", "_COMMAND")]
)
def test_several_sources_for_one_secret_are_refused_and_named(suffixes: tuple[str, ...]) -> None:
    variables = [f"REPLAYWRIGHT_SECRET_PASSWORD{suffix}" for suffix in suffixes]

    with pytest.raises(SecretMissing, match=f"{' and '.join(variables)} are set; keep one"):
        EnvironmentSecrets(dict.fromkeys(variables, "/nowhere")).resolve("PASSWORD")


@pytest.mark.parametrize("name", ["PASSWORD_FILE", "PASSWORD_COMMAND", "PASSWORD_DOMAINS"])
def test_what_is_said_about_a_secret_is_no_secret_itself(name: str) -> None:
    secrets = EnvironmentSecrets({f"REPLAYWRIGHT_SECRET_{name}": "echo example.com"})

    with pytest.raises(SecretMissing, match="is no name of a secret"):
        secrets.resolve(name)
    assert secrets.names == ("PASSWORD",)
    assert secrets.redact("echo example.com") == "echo example.com"


# ------------------------------------------------------------------------------------------------- commands


def program(folder: Path, *lines: str) -> str:
    """A command with the arguments `--as "two words"`, which are `sys.argv[1:]`."""
    script = folder / "vault.py"
    script.write_text("import os, pathlib, sys, time\n" + "\n".join(lines))
    return f'{shlex.quote(sys.executable)} {shlex.quote(str(script))} --as "two words"'


def by_command(folder: Path, *lines: str, **environ: str) -> EnvironmentSecrets:
    return EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD_COMMAND": program(folder, *lines), **environ})


def test_a_secret_is_what_a_command_prints_without_one_line_break(tmp_path: Path) -> None:
    assert by_command(tmp_path, "print(f' {sys.argv[2]} ')").resolve("PASSWORD") == " two words "


def test_no_shell_reads_the_command(tmp_path: Path) -> None:
    variable = "REPLAYWRIGHT_SECRET_PASSWORD_COMMAND"

    value = EnvironmentSecrets({variable: "echo $(id) ; echo `id` > x"}).resolve("PASSWORD")

    assert value == "$(id) ; echo `id` > x"


def test_a_command_that_fails_tells_its_exit_code_and_variable_and_nothing_that_it_printed(tmp_path: Path) -> None:
    secrets = by_command(tmp_path, "print('hunter2'); print('hunter2', file=sys.stderr); sys.exit(3)")

    with pytest.raises(SecretMissing) as told:
        secrets.resolve("PASSWORD")

    assert str(told.value) == (
        "secret 'PASSWORD': the command in REPLAYWRIGHT_SECRET_PASSWORD_COMMAND ended with exit code 3"
    )
    assert told.value.__cause__ is None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("pass", "printed nothing"),
        ("print()", "printed nothing"),
        ("sys.stdout.buffer.write(b'\\xff')", "no UTF-8 text"),
        ("print('x' * 70_000)", "more than 65536 bytes"),
    ],
)
def test_what_is_no_value_is_refused(tmp_path: Path, lines: str, said: str) -> None:
    with pytest.raises(SecretMissing, match=said):
        by_command(tmp_path, lines).resolve("PASSWORD")


@pytest.mark.parametrize(
    ("command", "said"), [("/no/such/program", "No such file"), ("'open", "No closing"), (" ", "no ")]
)
def test_a_command_that_cannot_be_run_is_named(command: str, said: str) -> None:
    with pytest.raises(SecretMissing, match=f"REPLAYWRIGHT_SECRET_PASSWORD_COMMAND.*{said}"):
        EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PASSWORD_COMMAND": command}).resolve("PASSWORD")


def test_a_command_that_does_not_end_is_ended_with_all_that_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "COMMAND_LIMIT_S", 0.5)
    child = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"

    with pytest.raises(SecretMissing, match=r"did not end within 0\.5 s"):
        by_command(tmp_path, f"os.fork(); {child}; time.sleep(600)").resolve("PASSWORD")

    child_id = int((tmp_path / "pid").read_text())
    gone, alive = psutil.wait_procs([psutil.Process(child_id)] if psutil.pid_exists(child_id) else [], timeout=10)
    assert gone or all(process.status() == psutil.STATUS_ZOMBIE for process in alive)


def test_a_command_gets_the_variables_that_the_operator_names_and_no_other_secret(tmp_path: Path) -> None:
    told = "print(','.join(sorted(n for n in os.environ if n != 'LC_CTYPE')))"

    secrets = by_command(
        tmp_path,
        told,
        PATH="/bin",
        REPLAYWRIGHT_SECRET_OTHER="x1",
        VAULT_TOKEN="t",
        VAULT_ADDR="http://vault",
        OPENAI_API_KEY="k",
        REPLAYWRIGHT_COMMAND_VARIABLES="VAULT_TOKEN, VAULT_ADDR, MISSING",
    )

    assert secrets.resolve("PASSWORD") == "PATH,VAULT_ADDR,VAULT_TOKEN"


def test_a_command_is_not_run_for_every_step_and_a_rotated_value_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("value-1")
    secrets = by_command(tmp_path, f"print(pathlib.Path({str(kept)!r}).read_text())")
    first = secrets.resolve("PASSWORD")
    kept.write_text("value-2")

    again = secrets.resolve("PASSWORD")
    monkeypatch.setattr(environment, "COMMAND_TTL_S", 0.0)
    later = secrets.resolve("PASSWORD")

    assert (first, again, later) == ("value-1", "value-1", "value-2")
    assert secrets.redact("value-1 value-2") == "{{secret:PASSWORD}} {{secret:PASSWORD}}"


def test_what_a_command_prints_is_redacted_before_it_was_ever_used(tmp_path: Path) -> None:
    secrets = by_command(tmp_path, "print('hunter2')")

    secrets.learn()

    assert secrets.redact("typed hunter2") == "typed {{secret:PASSWORD}}"


# -------------------------------------------------------------------------------------------------- domains


def test_a_secret_is_bound_to_the_domains_that_its_variable_names() -> None:
    secrets = EnvironmentSecrets({"REPLAYWRIGHT_SECRET_A_DOMAINS": "example.com, *.example.com:8443"})

    assert [str(site) for site in secrets.domains("A")] == ["example.com", "*.example.com:8443"]
    assert secrets.domains("B") == ()


@pytest.mark.parametrize("domains", ["", "https://example.com/login"])
def test_a_binding_that_cannot_be_read_is_an_error_and_never_no_binding(domains: str) -> None:
    with pytest.raises(SecretMissing, match="secret 'A' is not used: REPLAYWRIGHT_SECRET_A_DOMAINS"):
        EnvironmentSecrets({"REPLAYWRIGHT_SECRET_A_DOMAINS": domains}).domains("A")


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
        handler.addFilter(RedactingFilter(secrets))

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


def test_a_file_of_the_home_counts_and_is_redacted_as_soon_as_it_is_there(tmp_path: Path) -> None:
    secrets = EnvironmentSecrets({}, tmp_path)
    with pytest.raises(SecretMissing, match="`replaywright admin secrets set PIN`"):
        secrets.check("PIN")

    file = sources.keep_secret("PIN", VALUE, tmp_path)

    assert secrets.redact(f"it is {VALUE}") == "it is {{secret:PIN}}"
    assert (secrets.resolve("PIN"), secrets.names) == (VALUE, ("PIN",))
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_file_of_the_home_that_others_may_read_is_refused(tmp_path: Path) -> None:
    sources.keep_secret("PIN", VALUE, tmp_path).chmod(0o640)

    with pytest.raises(SecretMissing, match=r"others may read .*: chmod 600 it"):
        EnvironmentSecrets({}, tmp_path).resolve("PIN")


def test_a_variable_and_a_file_of_the_home_are_one_too_many(tmp_path: Path) -> None:
    sources.keep_secret("PIN", VALUE, tmp_path)

    with pytest.raises(SecretMissing, match=r"REPLAYWRIGHT_SECRET_PIN and .*/secrets/PIN are set; keep one"):
        EnvironmentSecrets({"REPLAYWRIGHT_SECRET_PIN": "1"}, tmp_path).resolve("PIN")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [("../PIN", "1", "no name of a secret"), ("PIN_FILE", "1", "no name"), ("PIN", "", "expected a value")],
)
def test_only_a_value_with_a_name_is_kept(tmp_path: Path, name: str, value: str, says: str) -> None:
    with pytest.raises(InputInvalid, match=says):
        sources.keep_secret(name, value, tmp_path)

    assert not sources.secrets_folder(tmp_path).exists()

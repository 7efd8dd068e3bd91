"""Which variables of the environment child processes get."""

import pytest

from replaywright.children import for_browser, for_command, for_server, for_worker

SECRET = "REPLAYWRIGHT_SECRET_X"
ENVIRON = {
    "PATH": "/bin",
    "LC_ALL": "C",
    "PYTHONPATH": "/code",
    "DISPLAY": ":0",
    SECRET: "s3cret",
    "REPLAYWRIGHT_HOME": "/home",
    "TEMPORAL_API_KEY": "t",
    "https_proxy": "http://proxy",
    "OPENAI_API_KEY": "o",
    "ANTHROPIC_API_KEY": "a",
    "AWS_SECRET_ACCESS_KEY": "w",
    "GITHUB_TOKEN": "g",
}
SETTINGS = {"PATH", "LC_ALL", "PYTHONPATH", "DISPLAY", "REPLAYWRIGHT_HOME", "TEMPORAL_API_KEY", "https_proxy"}


def test_servers_and_browsers_get_nothing_that_is_a_secret_or_a_setting() -> None:
    assert set(for_server(ENVIRON)) == {"PATH", "LC_ALL", "PYTHONPATH"}
    assert set(for_browser(ENVIRON)) == {"PATH", "LC_ALL", "PYTHONPATH", "DISPLAY"}


@pytest.mark.parametrize(
    ("role", "model", "more"),
    [
        ("workflow", "openai:gpt", set()),
        ("browser", "openai:gpt", {SECRET}),
        ("model", "openai:gpt", {"OPENAI_API_KEY"}),
        ("model", "openai-chat:gpt", {"OPENAI_API_KEY"}),
        ("model", "bedrock:claude", {"AWS_SECRET_ACCESS_KEY"}),
        ("model", "claude", {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}),
        ("all", "anthropic:claude", {SECRET, "ANTHROPIC_API_KEY"}),
    ],
)
def test_a_worker_gets_the_secrets_that_its_role_needs(role: str, model: str, more: set[str]) -> None:
    given = for_worker(role, {**ENVIRON, "REPLAYWRIGHT_MODEL": model})

    assert set(given) == SETTINGS | {"REPLAYWRIGHT_MODEL"} | more


def test_a_server_of_models_that_speaks_openais_protocol_gets_its_key() -> None:
    given = for_worker(
        "model", {**ENVIRON, "REPLAYWRIGHT_MODEL": "llama3:8b", "REPLAYWRIGHT_MODEL_BASE_URL": "http://x"}
    )

    assert "OPENAI_API_KEY" in given


def test_commands_get_what_the_operator_names_and_so_do_the_workers_that_run_them() -> None:
    environ = {**ENVIRON, "REPLAYWRIGHT_COMMAND_VARIABLES": "GITHUB_TOKEN, MISSING"}

    assert set(for_command(environ)) == {"PATH", "LC_ALL", "PYTHONPATH", "GITHUB_TOKEN"}
    assert "GITHUB_TOKEN" in for_worker("browser", environ)
    assert "GITHUB_TOKEN" not in for_worker("model", environ)

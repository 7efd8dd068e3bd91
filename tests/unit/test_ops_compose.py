"""docker-compose.yml is right, and what is wrong in one is found: no Docker is needed for either."""

import copy
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ops.check_compose import ROOT, findings, found_in
from ops.compose_file import ComposeInvalid, interpolated, read, schema_errors
from replaywright import __version__
from replaywright.domain.secrets.signing import parse_keys
from replaywright.domain.trace.search_attributes import kinds
from replaywright.settings import PREFIX, READY_FILE_VARIABLE, Settings
from replaywright.stack.redis import DURABILITY
from replaywright.stack.temporal import DYNAMIC_CONFIG
from worker import ROLES

Change = Callable[[dict[str, Any]], Any]


def compose_text() -> str:
    return (ROOT / "docker-compose.yml").read_text(encoding="utf-8")


@cache
def compose() -> dict[str, Any]:
    return read(compose_text(), {})


def test_the_compose_file_is_right() -> None:
    assert findings(compose_text(), {}) == []


# ------------------------------------------------------------------------------ what is wrong is found


def redis(data: dict[str, Any]) -> dict[str, Any]:
    service: dict[str, Any] = data["services"]["redis-ledger"]
    return service


def browser(data: dict[str, Any]) -> dict[str, Any]:
    service: dict[str, Any] = data["services"]["worker-browser"]
    return service


WRONG: dict[str, tuple[Change, str]] = {
    "an image without a version": (lambda data: redis(data).update(image="redis"), "redis-ledger: image"),
    "an image that is the latest": (lambda data: redis(data).update(image="redis:latest"), "redis-ledger: image"),
    "a major version only": (lambda data: redis(data).update(image="redis:8"), "redis-ledger: image"),
    "a misspelt key": (lambda data: redis(data).update(heathcheck={}), "services.redis-ledger"),
    "a number where a text is": (lambda data: redis(data).update(restart=True), "services.redis-ledger"),
    "no health check": (lambda data: redis(data).pop("healthcheck"), "redis-ledger: healthcheck"),
    "a health check that is off": (
        lambda data: redis(data).update(healthcheck={"test": ["NONE"]}),
        "redis-ledger: healthcheck",
    ),
    "a health check without a limit": (
        lambda data: redis(data)["healthcheck"].pop("timeout"),
        "redis-ledger: healthcheck.timeout",
    ),
    "no limit of memory": (
        lambda data: redis(data)["deploy"]["resources"]["limits"].pop("memory"),
        "redis-ledger: deploy.resources.limits.memory",
    ),
    "no limits": (lambda data: browser(data).pop("deploy"), "worker-browser: deploy.resources.limits.pids"),
    "a log that grows": (lambda data: redis(data)["logging"].pop("options"), "redis-ledger: logging.options"),
    "capabilities": (lambda data: redis(data).pop("cap_drop"), "redis-ledger: cap_drop"),
    "a capability that is given back": (
        lambda data: browser(data).update(cap_add=["SYS_ADMIN"]),
        "worker-browser: cap_drop",
    ),
    "new privileges": (
        lambda data: browser(data).update(security_opt=["seccomp=./ops/seccomp/chromium.json"]),
        "worker-browser: security_opt",
    ),
    "no seccomp profile at all": (
        lambda data: browser(data)["security_opt"].append("seccomp=unconfined"),
        "worker-browser: security_opt: unconfined",
    ),
    "a seccomp profile that is not there": (
        lambda data: browser(data)["security_opt"].append("seccomp=./ops/seccomp/none.json"),
        "worker-browser: security_opt: there is no profile",
    ),
    "a privileged container": (lambda data: browser(data).update(privileged=True), "worker-browser: privileged"),
    "Docker's socket": (
        lambda data: browser(data)["volumes"].append("/var/run/docker.sock:/var/run/docker.sock"),
        "worker-browser: volumes: with Docker's socket",
    ),
    "root": (lambda data: redis(data).update(user="0:0"), "redis-ledger: user"),
    "a root file system that can be written to": (
        lambda data: redis(data).update(read_only=False),
        "redis-ledger: read_only",
    ),
    "a port for everybody": (lambda data: redis(data).update(ports=["6379:6379"]), "redis-ledger: ports"),
    "a port for everybody, by address": (
        lambda data: redis(data).update(ports=["0.0.0.0:6379:6379"]),
        "redis-ledger: ports",
    ),
    "a port twice": (lambda data: redis(data).update(ports=["127.0.0.1:7233:6379"]), "ports: 7233 is also that of"),
    "a port from inside": (lambda data: redis(data).update(networks=["ledger"]), "redis-ledger: ports: it is in"),
    "a worker with a port": (
        lambda data: browser(data).update(ports=["127.0.0.1:9464:9464"]),
        "worker-browser: ports: a worker",
    ),
    "a name for a container": (
        lambda data: browser(data).update(container_name="browser"),
        "worker-browser: container_name",
    ),
    "a dependency that is not there": (
        lambda data: browser(data)["depends_on"].update(redis={"condition": "service_healthy"}),
        "worker-browser: depends_on: there is no service 'redis'",
    ),
    "waiting for the health of what has no check": (
        lambda data: browser(data)["depends_on"].update({"temporal-schema": {"condition": "service_healthy"}}),
        "temporal-schema has no healthcheck",
    ),
    "waiting for the end of what runs always": (
        lambda data: browser(data)["depends_on"].update(
            {"redis-ledger": {"condition": "service_completed_successfully"}}
        ),
        "redis-ledger runs always",
    ),
    "not waiting for health": (
        lambda data: browser(data).update(depends_on=["redis-ledger"]),
        "redis-ledger is only known to have been started",
    ),
    "an end that nothing waits for": (
        lambda data: data["services"]["temporal"].pop("depends_on"),
        "temporal-schema: nothing waits for its end",
    ),
    "waiting for itself": (
        lambda data: redis(data).update(depends_on={"worker-browser": {"condition": "service_healthy"}}),
        "redis-ledger: depends_on: it waits for itself",
    ),
    "waiting for what is not started": (
        lambda data: browser(data)["depends_on"].update({"demo-model": {"condition": "service_healthy"}}),
        "demo-model is in a profile",
    ),
    "a secret that is not declared": (
        lambda data: browser(data)["secrets"].append("door_key"),
        "worker-browser: secrets: 'door_key' is not declared",
    ),
    "a secret that is not mounted": (
        lambda data: browser(data)["secrets"].remove("redis_url"),
        "/run/secrets/redis_url is not mounted",
    ),
    "a secret that nothing uses": (
        lambda data: data["secrets"].update(door_key={"file": "./secrets/door_key"}),
        "secrets.door_key: nothing uses it",
    ),
    "a secret in the repository": (
        lambda data: data["secrets"]["redis_url"].update(file="./ops/redis_url"),
        "secrets.redis_url: ./ops/redis_url is not below ./secrets",
    ),
    "a secret in the environment": (
        lambda data: browser(data)["environment"].update(OPENAI_API_KEY="sk-1"),
        "worker-browser: environment.OPENAI_API_KEY",
    ),
    "a password in an address": (
        lambda data: browser(data)["environment"].update(REPLAYWRIGHT_REDIS_URL="redis://u:p@redis-ledger/0"),
        "worker-browser: environment: redis://… holds a password",
    ),
    "a configuration that is not there": (
        lambda data: data["configs"]["alerts"].update(file="./ops/prometheus/none.yml"),
        "configs.alerts: there is no file",
    ),
    "a volume that is not declared": (
        lambda data: data["volumes"].pop("artifacts"),
        "worker-browser: volumes: 'artifacts' is not declared",
    ),
    "a folder that is not there": (
        lambda data: browser(data)["volumes"].append("./policies:/policies:ro"),
        "worker-browser: volumes: there is no ./policies",
    ),
    "a network that is not declared": (
        lambda data: redis(data)["networks"].append("store"),
        "redis-ledger: networks: 'store' is not declared",
    ),
    "a browser beside the databases": (
        lambda data: browser(data)["networks"].append("database"),
        "networks.database: worker-browser can reach PostgreSQL",
    ),
    "a browser beside the dashboards": (
        lambda data: browser(data)["networks"].append("monitoring"),
        "worker-browser: networks: it does not need monitoring",
    ),
    "the ledger beside the pages": (
        lambda data: redis(data)["networks"].append("web"),
        "networks.web: the pages that browsers open could reach redis-ledger",
    ),
    "a ledger that reaches the outside": (
        lambda data: data["networks"].update(ledger={}),
        "networks.ledger: expected internal",
    ),
    "a network that keepers do not know": (
        lambda data: data["networks"]["edge"]["ipam"]["config"][0].update(subnet="10.214.0.0/24"),
        "networks.edge: REPLAYWRIGHT_OWN_NETWORKS of worker-browser does not name 10.214.0.0/24",
    ),
    "a network without a subnet": (
        lambda data: data["networks"].update(models={}),
        "networks.models: without a subnet of its own",
    ),
    "pages in a network of services": (
        lambda data: browser(data)["environment"].update(REPLAYWRIGHT_OWN_NETWORKS="10.213.0.0/16,10.213.77.0/24"),
        "networks.web: REPLAYWRIGHT_OWN_NETWORKS of worker-browser names it",
    ),
    "an address outside of its network": (
        lambda data: data["services"]["demo-site"]["networks"]["web"].update(ipv4_address="10.1.2.3"),
        "demo-site: networks.web: 10.1.2.3 is in none of its subnets",
    ),
    "no time to end": (lambda data: redis(data).pop("stop_grace_period"), "redis-ledger: stop_grace_period"),
    "a build without a Dockerfile": (
        lambda data: data["services"]["otel-collector"].update(build="ops/prometheus"),
        "otel-collector: build: there is no ops/prometheus/Dockerfile",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_it_is_found(what: str) -> None:
    change, expected = WRONG[what]
    data = copy.deepcopy(compose())
    change(data)

    found = found_in(data)

    assert [line for line in found if expected in line], found


def test_what_is_no_compose_file_is_refused_with_why(tmp_path: Path) -> None:
    assert "no YAML" in findings("services: [", {}, tmp_path)[0]
    assert (
        "'image' is there twice" in findings("services:\n  a:\n    image: x:1.0\n    image: x:1.1\n", {}, tmp_path)[0]
    )
    assert "expected a mapping" in findings("- services", {}, tmp_path)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a$$b", "a$b"),
        ("$HOME/x", "/home/ada/x"),
        ("${HOME}", "/home/ada"),
        ("${EMPTY:-there}", "there"),
        ("${EMPTY-there}", ""),
        ("${NONE-there}", "there"),
        ("${NONE:-${HOME:-x}}", "/home/ada"),
        ("${HOME:+set}${EMPTY:+set}${EMPTY+set}", "setset"),
        ("${HOME:?needed}", "/home/ada"),
    ],
)
def test_variables_are_filled_in_as_compose_does(text: str, expected: str) -> None:
    assert interpolated(text, {"HOME": "/home/ada", "EMPTY": ""}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${KEYS:?run ops/secrets.sh}", "KEYS is not set: run ops/secrets.sh"),
        ("${EMPTY:?needed}", "EMPTY is not set: needed"),
        ("${NONE}", "NONE is not set"),
        ("${NONE", "without its `}`"),
        ("${HOME!x}", "expected `:-`"),
        ("costs 5$", "written `$$`"),
    ],
)
def test_a_variable_that_is_missing_or_misspelt_is_refused(text: str, expected: str) -> None:
    with pytest.raises(ComposeInvalid, match=re.escape(expected)):
        interpolated(text, {"HOME": "/home/ada", "EMPTY": ""})


# ------------------------------------------------------------------------- it fits the code beside it


def test_temporal_and_redis_get_what_the_local_stack_gives_them() -> None:
    dynamic = yaml.safe_load((ROOT / "ops/temporal/dynamic.yaml").read_text(encoding="utf-8"))
    command = redis(compose())["command"]

    given = {f"{name}={values[0]['value']}" for name, values in dynamic.items()}
    assert given == {setting.replace('"', "") for setting in DYNAMIC_CONFIG}
    assert tuple(command[1 : 1 + len(DURABILITY)]) == DURABILITY


def test_redis_is_full_before_its_container_is() -> None:
    command, limits = redis(compose())["command"], redis(compose())["deploy"]["resources"]["limits"]

    # It forks to rewrite its file, and what is written meanwhile is there twice.
    assert (command[command.index("--maxmemory") + 1], limits["memory"]) == ("1gb", "2g")


def test_temporals_schema_for_postgresql_has_columns_for_the_search_attributes() -> None:
    columns = {"Bool": 3, "Datetime": 3, "Double": 3, "Int": 3, "Keyword": 10, "KeywordList": 3, "Text": 3}

    for kind, count in Counter(kinds().values()).items():
        assert count <= columns[kind], f"{count} search attributes of type {kind}"


def test_there_is_a_worker_for_each_role_and_each_may_be_there_any_number_of_times() -> None:
    workers = {name: service for name, service in compose()["services"].items() if name.startswith("worker-")}

    assert {service["command"][1] for service in workers.values()} == set(ROLES) - {"all"}
    assert all(service["command"][0] == "--role" for service in workers.values())
    assert all("hostname" not in service and "ports" not in service for service in workers.values())


def test_every_variable_of_ours_is_a_setting() -> None:
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {READY_FILE_VARIABLE}
    variables = {
        variable
        for service in compose()["services"].values()
        for variable in service.get("environment", {})
        if variable.startswith(PREFIX)
    }
    image = set(re.findall(rf"{PREFIX}\w+", (ROOT / "Dockerfile").read_text(encoding="utf-8")))

    assert {variable.removesuffix("_FILE") for variable in variables - known} <= known
    assert image <= known


def test_what_the_page_adds_to_the_file_fits_the_schema_and_reaches_every_service_of_ours() -> None:
    page = (ROOT / "docs" / "how-to" / "docker.md").read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    ours = {name for name, service in compose()["services"].items() if "signing_keys" in service.get("secrets", [])}

    assert blocks
    for block in blocks:
        assert schema_errors(block) == []
        assert block["services"].keys() == ours
        assert {source for service in block["services"].values() for source in service["secrets"]} == set(
            block["secrets"]
        )


def test_the_image_is_that_of_this_version() -> None:
    def images(environ: dict[str, str]) -> set[str]:
        services = read(compose_text(), environ)["services"].values()
        return {service["image"] for service in services if service.get("build") == "."}

    assert images({}) == {f"replaywright:{__version__}"}
    assert images({"REPLAYWRIGHT_BUILD_ID": "4f1c2ab"}) == {"replaywright:4f1c2ab"}


def test_only_browser_workers_get_the_sites_secrets() -> None:
    holding = {name for name, service in compose()["services"].items() if "secrets/sites" in str(service)}

    assert holding == {"worker-browser"}


@pytest.mark.parametrize("page", ["docker.md", "alerts.md"])
def test_the_pages_name_services_volumes_and_secrets_that_there_are(page: str) -> None:
    text = (ROOT / "docs" / "how-to" / page).read_text(encoding="utf-8")
    commands = re.findall(r"docker compose .*", text)

    services = {word for line in commands for word in re.findall(r"(?<![\w/.-])[a-z]+(?:-[a-z]+)+(?![\w.-])", line)}
    volumes = set(re.findall(r"--volume replaywright_([\w-]+):", text))
    files = set(re.findall(r"secrets/([a-z]+_[a-z_]+)", text))

    assert services <= compose()["services"].keys()
    assert volumes <= compose()["volumes"].keys()
    assert files <= compose()["secrets"].keys()
    if page == "docker.md":
        assert services
        assert volumes
        assert files


# -------------------------------------------------------------------------------------- ops/secrets.sh


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder with nothing but the script."""
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops" / "secrets.sh").write_bytes((ROOT / "ops/secrets.sh").read_bytes())
    return tmp_path


def make_secrets(checkout: Path, *arguments: str, value: str = "") -> "subprocess.CompletedProcess[str]":
    command = ["sh", str(checkout / "ops" / "secrets.sh"), *arguments]
    return subprocess.run(command, input=value, capture_output=True, text=True, check=False, timeout=60)


def test_the_script_makes_every_secret_of_the_compose_file_once(checkout: Path) -> None:
    assert make_secrets(checkout).returncode == 0
    made = {path: path.read_text(encoding="utf-8") for path in checkout.glob("secrets/*_*")}
    assert make_secrets(checkout).stdout == ""

    assert {checkout / declared["file"] for declared in compose()["secrets"].values()} == set(made)
    assert {path: path.read_text(encoding="utf-8") for path in made} == made
    assert parse_keys(made[checkout / "secrets/signing_keys"].strip())
    assert parse_keys(made[checkout / "secrets/artifact_keys"].strip())
    assert (checkout / "secrets").stat().st_mode & 0o077 == 0
    assert all(path.stat().st_mode & 0o477 == 0o444 for path in made), "the users in the containers read them"


def test_the_acl_holds_no_password(checkout: Path) -> None:
    make_secrets(checkout)
    url = (checkout / "secrets/redis_url").read_text(encoding="utf-8")
    acl = (checkout / "secrets/redis_acl").read_text(encoding="utf-8")

    password = re.fullmatch(r"redis://replaywright:([0-9a-f]{48})@redis-ledger:6379/0\n", url)
    assert password is not None
    assert password[1] not in acl


def test_a_secret_of_a_site_is_added_and_replaced_and_a_name_that_is_none_is_refused(checkout: Path) -> None:
    make_secrets(checkout, "site", "SHOP", "shop.example", value="one\n")
    make_secrets(checkout, "site", "SHOP", "other.example", value="two\n")
    refused = make_secrets(checkout, "site", "../SHOP", "shop.example", value="three\n")
    unbound = make_secrets(checkout, "site", "SHOP", value="four\n")

    assert (checkout / "secrets/sites/SHOP").read_text(encoding="utf-8") == "two\n"
    lines = (checkout / "secrets/sites.env").read_text(encoding="utf-8").splitlines()
    assert lines == [
        "REPLAYWRIGHT_SECRET_SHOP_FILE=/run/site-secrets/SHOP",
        "REPLAYWRIGHT_SECRET_SHOP_DOMAINS=other.example",
    ]
    assert (unbound.returncode, "NAME DOMAINS" in unbound.stderr) == (2, True)
    assert refused.returncode == 2
    assert "capital letters" in refused.stderr

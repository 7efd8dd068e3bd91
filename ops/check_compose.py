"""Holds docker-compose.yml against the Compose specification's schema, and against our own rules; needs no Docker.

    python -m ops.check_compose [FILE]

The schema says what may be written; it does not say that what is named exists, that nothing is open to the network, or
that every service can be told to be ill. Where Docker Compose is installed, it is asked, too.
"""

import ipaddress
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ops.compose_file import ComposeInvalid, read, schema_errors

ROOT = Path(__file__).parents[1]
MADE = ROOT / "secrets"
"""What `ops/secrets.sh` makes: it is not in the repository."""

WRITABLE = {"temporal-ui": "its start script writes its configuration"}
"""Services whose root file system is not read-only, and why."""
DATABASE_SERVICES = {"postgresql", "temporal-schema", "temporal"}
"""The only ones that PostgreSQL can be reached from."""
BROWSER_NETWORKS = {"temporal", "ledger", "telemetry", "web"}
"""The only ones that browser workers are in."""
PAGES = "web"
"""The network of the pages that browsers open."""
OWN_NETWORKS = "REPLAYWRIGHT_OWN_NETWORKS"
KEPT_OUT_OF_WEB = {
    "postgresql",
    "redis-ledger",
    "temporal",
    "temporal-ui",
    "otel-collector",
    "prometheus",
    "grafana",
    "jaeger",
}
"""What shares no network with the pages that browsers open."""

_PINNED = re.compile(r"[^:@\s]+(?:/[^:@\s]+)*:v?\d+\.\d+(?:\.\d+)?[\w.-]*(?:@sha256:[0-9a-f]{64})?")
_SECRET_NAME = re.compile(r"PASSWORD|PASSWD|PWD|TOKEN|SECRET|API_KEY|_KEYS?$")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:us|ms|s|m|h))+")

Data = Mapping[str, Any]


def findings(text: str, environ: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """Everything that is wrong with this compose file, one line each; `root` is the folder that it is in."""
    try:
        data = read(text, environ)
    except ComposeInvalid as exc:
        return [str(exc)]
    return found_in(data, root)


def found_in(data: Data, root: Path = ROOT) -> list[str]:
    """The same of a file that was read."""
    if errors := schema_errors(data):
        return errors
    found = [*_declarations(data, root), *_network_findings(data)]
    for name, service in data["services"].items():
        found += [f"{name}: {message}" for rule in RULES for message in rule(name, service, data)]
        found += [f"{name}: {message}" for message in _files(service, root)]
    return found


def is_long_running(service: Data) -> bool:
    """Whether it is started again whenever it ends."""
    return service.get("restart") in ("always", "unless-stopped")


# ------------------------------------------------------------------------------------- of one service


def _image(name: str, service: Data, data: Data) -> Iterator[str]:
    del name, data
    image = service.get("image", "")
    if not _PINNED.fullmatch(image):
        yield f"image {image!r} is not pinned: give a version, `name:1.2.3`"


def _identity(name: str, service: Data, data: Data) -> Iterator[str]:
    del name, data
    if "container_name" in service:
        yield "container_name: a service with a name for its container cannot be scaled"
    if service.get("privileged"):
        yield "privileged: it would have the whole machine"
    if str(service.get("user", "")).partition(":")[0] in ("root", "0"):
        yield "user: root is not needed here"
    if service.get("network_mode") == "host" or service.get("pid") == "host":
        yield "network_mode, pid: it would be in the machine's own namespaces"
    if "/var/run/docker.sock" in str(service.get("volumes", "")):
        yield "volumes: with Docker's socket it would have the whole machine"


def _hardening(name: str, service: Data, data: Data) -> Iterator[str]:
    del data
    if service.get("cap_drop") != ["ALL"] or service.get("cap_add"):
        yield "cap_drop: expected [ALL], and no cap_add"
    options = service.get("security_opt", [])
    if "no-new-privileges:true" not in options:
        yield "security_opt: expected no-new-privileges:true"
    if any(re.fullmatch(r"(?:seccomp|apparmor)[=:]unconfined", option) for option in options):
        yield "security_opt: unconfined takes away what the container is for"
    if not service.get("read_only") and name not in WRITABLE:
        yield "read_only: expected true; a service that has to write gets a tmpfs or a volume"
    if not service.get("init"):
        yield "init: expected true, for the processes that nobody waits for"


def _limits(name: str, service: Data, data: Data) -> Iterator[str]:
    del name, data
    limits = service.get("deploy", {}).get("resources", {}).get("limits", {})
    for limit in ("cpus", "memory", "pids"):
        if limit not in limits:
            yield f"deploy.resources.limits.{limit}: one service must not starve the others"
    logging = service.get("logging", {}).get("options", {})
    if not {"max-size", "max-file"} <= logging.keys():
        yield "logging.options: without max-size and max-file the log fills the disk"


def _health(name: str, service: Data, data: Data) -> Iterator[str]:
    check = service.get("healthcheck", {})
    if not is_long_running(service):
        if service.get("restart", "no").partition(":")[0] not in ("no", "on-failure"):
            yield f"restart: {service['restart']!r} is neither for what runs once nor for what runs always"
        if not service.get("profiles") and not _is_awaited(name, data):
            yield "nothing waits for its end: `docker compose up --wait` would take that for a failure"
        return
    if not check or check.get("disable") or check.get("test") in (None, [], ["NONE"], "NONE"):
        yield "healthcheck: nobody would know that it is ill"
        return
    for field in ("interval", "timeout", "start_period"):
        if not _DURATION.fullmatch(str(check.get(field, ""))):
            yield f"healthcheck.{field}: expected a duration such as 10s, got {check.get(field)!r}"
    if not _DURATION.fullmatch(str(service.get("stop_grace_period", ""))):
        yield "stop_grace_period: how long it has to end is not said"


def _ports(name: str, service: Data, data: Data) -> Iterator[str]:
    networks = data.get("networks", {})
    ports = service.get("ports", [])
    for port in ports:
        match = re.fullmatch(r"127\.0\.0\.1:(\d+):(\d+)", str(port))
        if match is None:
            yield f"ports: {port!r} is not for this machine alone: write 127.0.0.1:PORT:PORT"
            continue
        taken = [
            other
            for other, service_of in data["services"].items()
            for theirs in service_of.get("ports", [])
            if other != name and str(theirs).startswith(f"127.0.0.1:{match[1]}:")
        ]
        if taken:
            yield f"ports: {match[1]} is also that of {taken[0]}"
    if ports and name.startswith("worker-"):
        yield "ports: a worker with a port of its own cannot be scaled"
    if ports and all((networks.get(network) or {}).get("internal") for network in service.get("networks", ["default"])):
        yield "ports: it is in internal networks only, from which none can be opened"


def _dependencies(name: str, service: Data, data: Data) -> Iterator[str]:
    for other, how in _depends_on(service).items():
        wanted = data["services"].get(other)
        if wanted is None:
            yield f"depends_on: there is no service {other!r}"
            continue
        condition = how.get("condition", "service_started")
        if condition == "service_healthy" and not wanted.get("healthcheck"):
            yield f"depends_on: {other} has no healthcheck, and will never be healthy"
        if condition == "service_completed_successfully" and is_long_running(wanted):
            yield f"depends_on: {other} runs always, and will never have completed"
        if condition == "service_started":
            yield f"depends_on: {other} is only known to have been started; say service_healthy or …_completed_…"
        if set(wanted.get("profiles", [])) - set(service.get("profiles", [])):
            yield f"depends_on: {other} is in a profile that {name} is not in"
    if name in _reached(name, data):
        yield "depends_on: it waits for itself"


def _environment(name: str, service: Data, data: Data) -> Iterator[str]:
    del name, data
    environment = service.get("environment", {})
    if isinstance(environment, list):
        yield "environment: write it as a mapping"
        return
    for variable, value in environment.items():
        is_secret = _SECRET_NAME.search(variable) and not variable.endswith("_FILE")
        if is_secret and value not in (None, ""):
            yield f"environment.{variable}: a secret is given as a file, in {variable}_FILE"
        mounted = str(value).removeprefix("/run/secrets/")
        if mounted != str(value) and mounted not in _sources(service.get("secrets", [])):
            yield f"environment.{variable}: {value} is not mounted: add {mounted} to its secrets"
    for url in re.findall(r"[a-z]+://[^:@/\s]+:[^@/\s]+@", str(environment)):
        yield f"environment: {url.partition(':')[0]}://… holds a password"


def _uses(name: str, service: Data, data: Data) -> Iterator[str]:
    del name
    for kind in ("secrets", "configs"):
        for source in _sources(service.get(kind, [])):
            if source not in data.get(kind, {}):
                yield f"{kind}: {source!r} is not declared"
    for network in service.get("networks", ["default"]):
        if network not in data.get("networks", {}):
            yield f"networks: {network!r} is not declared"
    for volume in _named_volumes(service):
        if volume not in data.get("volumes", {}):
            yield f"volumes: {volume!r} is not declared"


RULES: tuple[Callable[[str, Data, Data], Iterator[str]], ...] = (
    _image,
    _identity,
    _hardening,
    _limits,
    _health,
    _ports,
    _dependencies,
    _environment,
    _uses,
)
"""What every service keeps to."""


# --------------------------------------------------------------------------------- of the whole file


def _declarations(data: Data, root: Path) -> Iterator[str]:
    services = data["services"].values()
    used = {
        "secrets": {source for service in services for source in _sources(service.get("secrets", []))},
        "configs": {source for service in services for source in _sources(service.get("configs", []))},
        "volumes": {volume for service in services for volume in _named_volumes(service)},
        "networks": {network for service in services for network in service.get("networks", ["default"])},
    }
    for kind, names in used.items():
        for name, declared in data.get(kind, {}).items():
            if name not in names:
                yield f"{kind}.{name}: nothing uses it"
            file = str((declared or {}).get("file") or "")
            if kind in ("secrets", "configs") and not file:
                yield f"{kind}.{name}: expected a file"
            elif kind == "secrets" and not (root / file).resolve().is_relative_to((root / MADE.name).resolve()):
                yield f"secrets.{name}: {file} is not below ./{MADE.name}, which is kept out of the repository"
            elif kind == "configs" and not (root / file).is_file():
                yield f"configs.{name}: there is no file {file}"


def _network_findings(data: Data) -> Iterator[str]:
    networks = {name: declared or {} for name, declared in data.get("networks", {}).items()}
    within: dict[str, set[str]] = {name: set() for name in networks}
    for name, service in data["services"].items():
        for network in service.get("networks", []):
            within.setdefault(network, set()).add(name)
        if isinstance(service.get("networks"), dict):
            yield from _addresses(name, service["networks"], networks)
    if strangers := within.get("database", set()) - DATABASE_SERVICES:
        yield f"networks.database: {', '.join(sorted(strangers))} can reach PostgreSQL"
    for name in ("database", "temporal", "ledger", "telemetry", "monitoring"):
        if not networks.get(name, {}).get("internal"):
            yield f"networks.{name}: expected internal: true, nothing in it needs the outside"
    if exposed := within.get("web", set()) & KEPT_OUT_OF_WEB:
        yield f"networks.web: the pages that browsers open could reach {', '.join(sorted(exposed))}"
    yield from _subnet_findings(data, networks)
    browser = data["services"].get("worker-browser", {}).get("networks", [])
    if extra := set(browser) - BROWSER_NETWORKS:
        yield f"worker-browser: networks: it does not need {', '.join(sorted(extra))}"


def _subnet_findings(data: Data, networks: Mapping[str, Data]) -> Iterator[str]:
    """Find networks that the keepers would not know as ours, by their fixed subnets."""
    environment = data["services"].get("worker-browser", {}).get("environment", {})
    own = {ipaddress.ip_network(each) for each in str(environment.get(OWN_NETWORKS, "")).split(",") if each}
    for name, declared in networks.items():
        subnets = {ipaddress.ip_network(block["subnet"]) for block in declared.get("ipam", {}).get("config", [])}
        if not subnets:
            yield f"networks.{name}: without a subnet of its own the keepers do not know which addresses it has"
        elif name == PAGES and subnets & own:
            yield f"networks.{name}: {OWN_NETWORKS} of worker-browser names it, and no page could be opened there"
        elif name != PAGES and subnets - own:
            missing = ", ".join(map(str, subnets - own))
            yield f"networks.{name}: {OWN_NETWORKS} of worker-browser does not name {missing}"


def _addresses(name: str, attached: Data, networks: Mapping[str, Data]) -> Iterator[str]:
    for network, options in attached.items():
        address = (options or {}).get("ipv4_address")
        if address is None:
            continue
        subnets = [block.get("subnet") for block in networks.get(network, {}).get("ipam", {}).get("config", [])]
        if not any(subnet and ipaddress.ip_address(address) in ipaddress.ip_network(subnet) for subnet in subnets):
            yield f"{name}: networks.{network}: {address} is in none of its subnets"


def _files(service: Data, root: Path) -> Iterator[str]:
    build = service.get("build")
    context = build.get("context", ".") if isinstance(build, dict) else build
    if context is not None:
        dockerfile = (
            root / context / (build.get("dockerfile", "Dockerfile") if isinstance(build, dict) else "Dockerfile")
        )
        if not dockerfile.is_file():
            yield f"build: there is no {dockerfile.relative_to(root)}"
    for option in service.get("security_opt", []):
        kind, _, path = option.partition("=")
        if kind == "seccomp" and not (root / path).is_file():
            yield f"security_opt: there is no profile {path}"
    for source in _bound(service):
        inside = (root / source).resolve()
        if not inside.exists() and not inside.is_relative_to((root / MADE.name).resolve()):
            yield f"volumes: there is no {source}"


# ------------------------------------------------------------------------------------------ readers


def _depends_on(service: Data) -> dict[str, Data]:
    given = service.get("depends_on", {})
    return {name: {} for name in given} if isinstance(given, list) else dict(given)


def _is_awaited(name: str, data: Data) -> bool:
    conditions = (_depends_on(service).get(name, {}).get("condition") for service in data["services"].values())
    return "service_completed_successfully" in conditions


def _reached(name: str, data: Data) -> set[str]:
    reached: set[str] = set()
    pending = list(_depends_on(data["services"][name]))
    while pending:
        one = pending.pop()
        if one not in reached:
            reached.add(one)
            pending += _depends_on(data["services"].get(one, {}))
    return reached


def _sources(given: Sequence[Any]) -> list[str]:
    return [one if isinstance(one, str) else one["source"] for one in given]


def _volumes(service: Data) -> Iterator[tuple[str, str]]:
    for volume in service.get("volumes", []):
        if isinstance(volume, str):
            source, separator, _ = volume.partition(":")
            kind = "bind" if source.startswith((".", "/", "~")) else "volume"
            yield (kind, source if separator else "")
        else:
            yield (volume["type"], volume.get("source", ""))


def _named_volumes(service: Data) -> list[str]:
    return [source for kind, source in _volumes(service) if kind == "volume" and source]


def _bound(service: Data) -> list[str]:
    return [source for kind, source in _volumes(service) if kind == "bind"]


# ------------------------------------------------------------------------------------------- program


def _asked_docker(file: Path) -> tuple[str, list[str]]:
    """What Docker Compose itself says: how it went, in a word, and what is wrong."""
    docker = shutil.which("docker")
    if docker is None:
        return "docker compose config: skipped, there is no docker here", []
    version = subprocess.run([docker, "compose", "version"], capture_output=True, check=False, timeout=60)
    if version.returncode:
        return "docker compose config: skipped, this docker has no compose", []
    command = [docker, "compose", "--file", str(file), "--profile", "*", "config", "--quiet"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    if run.returncode:
        return "docker compose config: failed", [line for line in run.stderr.splitlines() if line.strip()]
    return "docker compose config: right", []


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong, and return how many things are, at most 1."""
    given = sys.argv[1:] if arguments is None else arguments
    file = Path(given[0]) if given else ROOT / "docker-compose.yml"
    found = findings(file.read_text(encoding="utf-8"), {}, file.resolve().parent)
    told, more = _asked_docker(file)
    for line in [*found, *more]:
        print(f"{file.name}: {line}")
    print(told)
    print(f"{file.name}: {'right' if not found and not more else f'{len(found) + len(more)} findings'}")
    return 1 if found or more else 0


if __name__ == "__main__":
    sys.exit(main())

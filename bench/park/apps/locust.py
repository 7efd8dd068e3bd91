"""Locust: a load generator, in its legacy and its modern interface. Its own API is the judge."""

from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Command, Edition
from bench.park.job import Seen, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick


def _command(*more: str) -> Command:
    def command(place: Place) -> Sequence[str | Path]:
        where = ("--web-host", "127.0.0.1", "--web-port", str(place.port))
        return place.python("-m", "locust", "-f", place.folder / "locustfile.py", *where, *more)

    return command


def _prepare(place: Place) -> None:
    lines = (
        "from locust import HttpUser, constant, task",
        "class Visitor(HttpUser):",
        "    host = 'http://127.0.0.1:9'",
        "    wait_time = constant(1)",
        "    @task",
        "    def look(self): self.client.get('/')",
    )
    (place.folder / "locustfile.py").write_text("\n".join([*lines, ""]))


def _runs(seen: Seen) -> str:
    now = seen.place.asked("/stats/requests")
    right = now["user_count"] == int(seen.values["users"]) and now["state"] in ("running", "spawning")
    return "" if right else f"{now['state']}, {now['user_count']} users"


def _stopped(seen: Seen) -> str:
    now = seen.place.asked("/stats/requests")
    return "" if now["state"] == "stopped" and now["stats"] else f"{now['state']}, {now['user_count']} users"


def _statistics(seen: Seen) -> str:
    words = [data.decode() for name, data in seen.files.items() if name.endswith(".csv")]
    return "" if len(words) == 1 and words[0].startswith("Type,Name,") else f"downloaded {list(seen.files)}"


_CSV = {"downloaded": "*.csv"}
_RATE = "the rate at which users start"
_USERS = enter("", "{{users}}", "the number of users", says="(?i)number of users")
_STEPS = (goto("/"), _USERS, enter("", "{{rate}}", _RATE, says="(?i)spawn rate|ramp up"))
_START = saved("button", "Start", text("running"))
_STOP = click("link", "STOP", "what stops the test", effect="idempotent", expect=[text("stopped")])
_STOP_NOW = {"what stops the test": Pick("button", "Stop")}
_DOWNLOADS = {
    "the section with the downloads": Pick("tab", "Download Data"),
    "the request statistics": Pick("link", "Download requests CSV"),
}

JOBS = (
    job(
        "start-a-test",
        *_STEPS,
        enter("", "{{host}}", "the host to test", says="(?i)^host"),
        _START,
        values={"users": "3", "rate": "3", "host": "http://127.0.0.1:9"},
        new={"users": "5", "rate": "2", "host": "http://localhost:9"},
        verify=text("running"),
        judge=_runs,
    ),
    job(
        "start-and-stop",
        *_STEPS,
        _START,
        _STOP,
        values={"users": "2", "rate": "1"},
        new={"users": "4", "rate": "4"},
        verify=text("stopped"),
        judge=_stopped,
        rules={"2.47": _STOP_NOW},
    ),
    job(
        "change-the-users",
        goto("/"),
        enter("", "1", "the number of users at the beginning", says="(?i)number of users"),
        _START,
        click("link", "Edit", "what changes the running test"),
        _USERS,
        saved("button", "", instruction="the button that takes the change", says="(?i)start|upd"),
        values={"users": "6"},
        new={"users": "4"},
        verify=text("running"),
        judge=_runs,
        rules={"2.47": {"what changes the running test": Pick("button", "Edit")}},
    ),
    job(
        "download-statistics",
        *_STEPS,
        _START,
        click("link", "Download Data", "the section with the downloads"),
        click("link", "", "the request statistics", says="(?i)download request statistics", expect=[_CSV]),
        values={"users": "2", "rate": "2"},
        new={"users": "3", "rate": "3"},
        verify=text("running"),
        judge=_statistics,
        rules={"2.47": _DOWNLOADS},
    ),
)

APP = App(
    "locust",
    (
        Edition("2.25 legacy", "locust-old", "locust", _command("--legacy-ui"), _prepare),
        Edition("2.47", "locust", "locust", _command(), _prepare),
    ),
    ("/",),
    JOBS,
)

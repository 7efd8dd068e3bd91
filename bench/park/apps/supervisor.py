"""Supervisor: a page of processes that are started and stopped. Its own API is the judge."""

import xmlrpc.client
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.park.app import App, Edition
from bench.park.job import Seen, click, goto, in_row, job, text
from bench.park.place import Place

PROGRAMS = ("baker", "cook", "gardener", "painter")


def _command(place: Place) -> Sequence[str | Path]:
    return place.python("-m", "supervisor.supervisord", "-n", "-c", place.folder / "supervisord.conf")


def _prepare(place: Place) -> None:
    lines = [
        "[supervisord]",
        f"logfile={place.folder / 'supervisord.log'}",
        f"pidfile={place.folder / 'pid'}",
        f"childlogdir={place.folder}",
        "[inet_http_server]",
        f"port=127.0.0.1:{place.port}",
        "[rpcinterface:supervisor]",
        "supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface",
    ]
    for name in PROGRAMS:
        lines += [f"[program:{name}]", "command=/bin/sleep 3600", f"autostart={name != 'painter'}", "startsecs=0"]
    (place.folder / "supervisord.conf").write_text("\n".join([*lines, ""]))


def _run(seen: Seen, wanted: set[str]) -> str:
    with xmlrpc.client.ServerProxy(f"{seen.place.url}/RPC2") as server:
        told: Any = server.supervisor.getAllProcessInfo()
    now = {each["name"] for each in told if each["statename"] == "RUNNING"}
    return "" if now == wanted else f"{sorted(now)} run"


_STARTED = frozenset(PROGRAMS) - {"painter"}

JOBS = (
    job(
        "stop-one-of-many",
        goto("/"),
        click(
            "link", "Stop", "the Stop link of {{name}}", nth=2, effect="idempotent", expect=[text("{{name}} stopped")]
        ),
        click("link", "Refresh"),
        values={"name": "cook"},
        new={"name": "gardener"},
        verify=text("Page refreshed"),
        judge=lambda seen: _run(seen, {*_STARTED} - {seen.values["name"]}),
    ),
    job(
        "stop-all-and-start-one",
        goto("/"),
        click("link", "Stop All", effect="idempotent", expect=[text("All stopped")]),
        in_row("link", "Start", "{{name}}", effect="idempotent", expect=[text("{{name}} started")]),
        values={"name": "baker"},
        new={"name": "painter"},
        verify=text("{{name}} started"),
        judge=lambda seen: _run(seen, {seen.values["name"]}),
    ),
    job(
        "stop-two-and-start-one",
        goto("/"),
        in_row("link", "Stop", "{{one}}", effect="idempotent", expect=[text("{{one}} stopped")]),
        in_row("link", "Stop", "{{other}}", effect="idempotent", expect=[text("{{other}} stopped")]),
        in_row("link", "Start", "painter", effect="idempotent", expect=[text("painter started")]),
        values={"one": "baker", "other": "cook"},
        new={"one": "gardener", "other": "baker"},
        verify=text("painter started"),
        judge=lambda seen: _run(seen, {*PROGRAMS} - {seen.values["one"], seen.values["other"]}),
    ),
)

APP = App("supervisor", (Edition("4.3", "supervisor", "supervisor", _command, _prepare),), ("/",), JOBS)

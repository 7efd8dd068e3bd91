"""Node-RED: an editor of flows, in two major versions. Its flows are a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.park.app import App, Edition
from bench.park.job import Seen, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import Do, declared, learned

TABS = ("Garden", "House")
NODES = {"Start": "in0", "Stop": "in1"}
"""Name and number, of the first flow."""
_QUIET = {"props": [], "repeat": "", "crontab": "", "once": False, "onceDelay": 0.1, "topic": "", "wires": [[]]}


def _command(place: Place) -> Sequence[str | Path]:
    return place.node("node-red/red.js", "-u", place.folder, "-p", str(place.port))


def _prepare(place: Place) -> None:
    settings = "module.exports = {flowFile: 'flows.json', editorTheme: {tours: false}, telemetry: {enabled: false}}\n"
    (place.folder / "settings.js").write_text(settings)
    flows: list[dict[str, Any]] = [{"id": f"tab{name}", "type": "tab", "label": name} for name in TABS]
    for at, name in enumerate(NODES):
        place_of = {"x": 140, "y": 80 + 80 * at, "z": f"tab{TABS[0]}"}
        flows.append({"id": f"in{at}", "type": "inject", "name": name, **_QUIET, **place_of})
    (place.folder / "flows.json").write_text(json.dumps(flows))


def _flows(seen: Seen) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads((seen.place.folder / "flows.json").read_text())
    return told


def _names(seen: Seen, kind: str) -> list[str]:
    return sorted(str(each.get("label") or each.get("name", "")) for each in _flows(seen) if each["type"] == kind)


def _are(seen: Seen, kind: str, *names: str) -> str:
    return "" if _names(seen, kind) == sorted(names) else f"of the type {kind} there are {_names(seen, kind)}"


def _dragged(seen: Seen) -> str:
    added = [each for each in _flows(seen) if each["type"] not in ("tab", "inject", "global-config")]
    right = [each["type"] for each in added] == [seen.values["type"]] and added[0]["z"] == f"tab{TABS[0]}"
    return "" if right else f"there are {[each['type'] for each in added]}"


_OPENED = goto("/", expect=[{"exists": {"role": "link", "name": "Garden"}, "within_ms": 30_000}])
_DEPLOY = saved("link", "Deploy", text("Successfully deployed"))
_DONE = click("button", "Done")
_NAME = enter("Name", "{{name}}", "the name field")
_NODE = {"css": "[id='{{id}}']"}

JOBS = (
    job(
        "drag-a-node",
        _OPENED,
        declared(
            "drag",
            "the {{type}} node of the palette",
            {"css": ".red-ui-palette-node[data-palette-type='{{type}}']"},
            to={"css": "#red-ui-workspace-chart"},
            to_position={"x": 420, "y": 300},
        ),
        _DEPLOY,
        values={"type": "debug"},
        new={"type": "comment"},
        verify=text("{{type}}"),
        judge=_dragged,
    ),
    job(
        "rename-a-flow",
        _OPENED,
        learned("double_click", "the tab of the flow {{flow}}", Pick("link", "{{flow}}")),
        _NAME,
        _DONE,
        _DEPLOY,
        values={"flow": "House", "name": "Cellar"},
        new={"flow": "Garden", "name": "Orchard"},
        verify={"exists": {"role": "link", "name": "{{name}}"}},
        judge=lambda seen: _are(seen, "tab", *({*TABS, seen.values["name"]} - {seen.values["flow"]})),
    ),
    job(
        "rename-one-node",
        _OPENED,
        declared("double_click", "the node {{id}}", _NODE),
        _NAME,
        _DONE,
        _DEPLOY,
        values={"id": "in0", "name": "Water the roses"},
        new={"id": "in1", "name": "Close the tap"},
        verify=text("{{name}}"),
        judge=lambda seen: _are(
            seen, "inject", seen.values["name"], *(name for name in NODES if NODES[name] != seen.values["id"])
        ),
    ),
    job(
        "import-a-flow",
        _OPENED,
        Do({"action": "press", "keys": "Control+i"}),
        learned("fill", "the text to import", Pick("textbox", says="file to import"), value="{{json}}"),
        click("link", "new flow"),
        click("button", "Import"),
        # What was imported hangs at the pointer until a click puts it down.
        declared("click", "the workspace", {"css": "#red-ui-workspace-chart"}, position={"x": 420, "y": 300}),
        _DEPLOY,
        values={"json": '[{"id":"a1","type":"comment","name":"Read me"}]'},
        new={"json": '[{"id":"a2","type":"comment","name":"And me"},{"id":"a3","type":"comment","name":"Me too"}]'},
        verify=text("Flow 1"),
        judge=lambda seen: (
            _are(seen, "comment", *(each["name"] for each in json.loads(seen.values["json"])))
            or _are(seen, "tab", *TABS, "Flow 1")
        ),
    ),
    job(
        "delete-one-node",
        _OPENED,
        declared("click", "the node {{id}}", _NODE),
        Do({"action": "press", "keys": "Delete"}),
        _DEPLOY,
        values={"id": "in1"},
        new={"id": "in0"},
        verify={"not_exists": _NODE},
        judge=lambda seen: _are(seen, "inject", *(name for name in NODES if NODES[name] != seen.values["id"])),
    ),
)

APP = App(
    "node-red",
    (
        Edition("3.1", "node-red-old", "node-red", _command, _prepare),
        Edition("4.1", "node-red", "node-red", _command, _prepare),
    ),
    ("/",),
    JOBS,
)

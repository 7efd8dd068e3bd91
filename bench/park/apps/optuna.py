"""Optuna's dashboard: studies of experiments. Its database is the judge."""

from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import Seen, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import learned

STUDIES = ("bread", "cake", "pizza", "soup")
_DATABASE = "studies.db"


def _command(place: Place) -> Sequence[str | Path]:
    start = "from optuna_dashboard._cli import main; main()"
    return place.python("-c", start, f"sqlite:///{place.folder / _DATABASE}", "--port", str(place.port))


def _prepare(place: Place) -> None:
    lines = (
        "import optuna",
        f"for name in {STUDIES}:",
        f"    study = optuna.create_study(storage='sqlite:///{place.folder / _DATABASE}', study_name=name)",
        "    study.optimize(lambda trial: trial.suggest_float('heat', 0, 9), n_trials=3)",
    )
    place.run(place.python("-c", "\n".join(lines)))


def _names(seen: Seen, wanted: set[str]) -> str:
    now = {row["study_name"] for row in seen.place.rows(_DATABASE, "select study_name from studies")}
    return "" if now == wanted else f"the studies are {sorted(now)}"


def _created(seen: Seen) -> str:
    query = "select direction from study_directions join studies using (study_id) where study_name = ?"
    rows = seen.place.rows(_DATABASE, f"{query} order by objective", seen.values["name"])
    wanted = ["MINIMIZE", "MAXIMIZE"] if "second" in seen.values else [seen.values["direction"].upper()]
    right = [row["direction"] for row in rows] == wanted
    return _names(seen, {*STUDIES, seen.values["name"]}) or ("" if right else f"the directions are {rows}")


_OPENED = goto("/dashboard", expect=[{"exists": {"role": "link", "text": "soup"}, "within_ms": 30_000}])
_NEW = click("button", "Create", "the button that opens a new study")
_NAME = enter("Study name", "{{name}}", "the name of the study")
_CREATE = click(
    "button", "Create", "the button that creates the study", nth=2, effect="commit", expect=[text("{{name}}")]
)
_YES = saved("button", "Yes")
_LOADED = goto("/dashboard")
"""The list shows what was deleted until it is loaded again."""
_GONE = {"not_exists": {"role": "heading", "text": "{{name}}"}}

JOBS = (
    job(
        "create-a-study",
        _OPENED,
        _NEW,
        _NAME,
        learned("select_option", "the direction", Pick("combobox", "Minimize"), value="{{direction}}"),
        _CREATE,
        values={"name": "salad", "direction": "Maximize"},
        new={"name": "stew", "direction": "Minimize"},
        verify=text("{{name}}"),
        judge=_created,
    ),
    job(
        "create-a-study-of-two-objectives",
        _OPENED,
        _NEW,
        _NAME,
        click("button", "Add", "the button that adds an objective"),
        learned("select_option", "the second direction", Pick("combobox", "Minimize", nth=2), value="{{second}}"),
        _CREATE,
        values={"name": "curry", "second": "Maximize"},
        new={"name": "risotto", "second": "Maximize"},
        verify=text("{{name}}"),
        judge=_created,
    ),
    job(
        "rename-one-study",
        _OPENED,
        click("button", "rename study", "the button that renames {{old}}", nth=3),
        _NAME,
        saved("button", "Rename", text("{{name}}")),
        values={"old": "cake", "name": "tart"},
        new={"old": "soup", "name": "broth"},
        verify=text("{{name}}"),
        judge=lambda seen: _names(seen, {*STUDIES, seen.values["name"]} - {seen.values["old"]}),
    ),
    job(
        "delete-one-study",
        _OPENED,
        click("button", "delete study", "the button that deletes {{name}}", nth=2),
        _YES,
        _LOADED,
        values={"name": "pizza"},
        new={"name": "bread"},
        verify=_GONE,
        judge=lambda seen: _names(seen, {*STUDIES} - {seen.values["name"]}),
    ),
    job(
        "search-and-delete",
        _OPENED,
        enter("Search study", "{{name}}", "the search field"),
        click("button", "delete study", "the button that deletes the found study"),
        _YES,
        _LOADED,
        values={"name": "bread"},
        new={"name": "cake"},
        verify=_GONE,
        judge=lambda seen: _names(seen, {*STUDIES} - {seen.values["name"]}),
    ),
)

APP = App("optuna", (Edition("0.21", "optuna", "optuna-dashboard", _command, _prepare),), ("/dashboard",), JOBS)

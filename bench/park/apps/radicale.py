"""Radicale: a server of calendars and address books with a web interface. Its collections are folders and files."""

import json
from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import PASSWORD, Judge, Seen, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import learned

TITLES = ("Birthdays", "Choir", "Garden", "Work")


def _command(place: Place) -> Sequence[str | Path]:
    return place.python("-m", "radicale", "--config", place.folder / "config")


def _prepare(place: Place) -> None:
    (place.folder / "users").write_text(f"ada:{PASSWORD}\n")
    lines = (
        "[server]",
        f"hosts = 127.0.0.1:{place.port}",
        "[auth]",
        "type = htpasswd",
        f"htpasswd_filename = {place.folder / 'users'}",
        "htpasswd_encryption = plain",
        "delay = 0",
        "[storage]",
        f"filesystem_folder = {place.folder / 'collections'}",
    )
    (place.folder / "config").write_text("\n".join([*lines, ""]))
    for title in TITLES:
        folder = place.folder / "collections" / "collection-root" / "ada" / title.lower()
        folder.mkdir(parents=True)
        props = {"tag": "VCALENDAR", "D:displayname": title, "C:supported-calendar-component-set": "VEVENT"}
        (folder / ".Radicale.props").write_text(json.dumps(props))


def _collections(seen: Seen) -> dict[str, tuple[str, str]]:
    """Return description and kind of every collection, by title."""
    found = {}
    for file in (seen.place.folder / "collections").rglob(".Radicale.props"):
        props = json.loads(file.read_text())
        kind = props["tag"] + " " + props.get("C:supported-calendar-component-set", "")
        found[props.get("D:displayname", "")] = (props.get("C:calendar-description", ""), kind.strip())
    return found


def _made(kind: str) -> Judge:
    def judge(seen: Seen) -> str:
        now = _collections(seen)
        added = {title: now[title] for title in now if title not in TITLES}
        wanted = {seen.values["title"]: (seen.values.get("description", ""), kind)}
        return "" if added == wanted and len(now) == len(TITLES) + 1 else f"added {added}"

    return judge


def _titles(seen: Seen, wanted: set[str]) -> str:
    now = _collections(seen)
    return "" if now.keys() == wanted else f"there are {sorted(now)}"


_LOG_IN = (
    goto("/.web/"),
    enter("Username", "ada"),
    enter("Password", "{{secret:PASSWORD}}"),
    click("button", "Next", "the button that logs in", effect="idempotent", expect=[text("ada")]),
)
_NEW = click("link", "Create new addressbook or calendar", "the link that creates a collection")
_PLUS = {"the link that creates a collection": Pick("link", "➕")}
_KIND = learned("select_option", "the list of the collection's types", Pick("combobox", says="Type:"), value="{{kind}}")
_TITLE = enter("", "{{title}}", "the title field", says='label="Title:"')

# Of several collections the old page's listing says nothing that tells them apart: the stand-in is told by their order.
JOBS = (
    job(
        "create-calendar",
        *_LOG_IN,
        _NEW,
        _TITLE,
        _KIND,
        saved("button", "Create", text("{{title}}")),
        values={"title": "Holidays", "kind": "CALENDAR"},
        new={"title": "Trade fairs", "kind": "CALENDAR"},
        verify=text("{{title}}"),
        judge=_made("VCALENDAR VEVENT"),
        rules={"3.9": _PLUS},
    ),
    job(
        "create-described-tasks",
        *_LOG_IN,
        _NEW,
        _TITLE,
        enter("", "{{description}}", "the description field", says='label="Description:"'),
        _KIND,
        saved("button", "Create", text("{{title}}")),
        values={"title": "Repairs", "description": "What is broken", "kind": "TASKS"},
        new={"title": "Shopping", "description": "Every Friday", "kind": "TASKS"},
        verify=text("{{title}}"),
        judge=_made("VCALENDAR VTODO"),
        rules={"3.9": _PLUS},
    ),
    job(
        "rename-one-of-many",
        *_LOG_IN,
        click("link", "Edit", "the Edit link of {{title}}", nth=2),
        enter("", "{{name}}", "the title field", says='label="Title:"'),
        saved("button", "Save", text("{{name}}")),
        values={"title": "Choir", "name": "Choir and band"},
        new={"title": "Work", "name": "Office"},
        verify=text("{{name}}"),
        judge=lambda seen: _titles(seen, {*TITLES, seen.values["name"]} - {seen.values["title"]}),
        other_flow=frozenset({"3.9"}),  # the link is there only while the pointer is on the collection
    ),
    job(
        "delete-one-of-many",
        *_LOG_IN,
        click("link", "Delete", "the Delete link of {{title}}", nth=3),
        saved("button", "Yes", text("Collections"), instruction="the Yes button"),
        values={"title": "Garden"},
        new={"title": "Birthdays"},
        verify={"not_exists": {"role": "link", "text": "{{title}}", "substring": True}},
        judge=lambda seen: _titles(seen, {*TITLES} - {seen.values["title"]}),
        other_flow=frozenset({"3.9"}),  # asks to type a word first
    ),
)

APP = App(
    "radicale",
    (
        Edition("3.1", "radicale-old", "radicale", _command, _prepare),
        Edition("3.9", "radicale", "radicale", _command, _prepare),
    ),
    ("/.web/",),
    JOBS,
)

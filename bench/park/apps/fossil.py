"""Fossil: wiki, tickets and users of a project in one program, with skins of its own. Its repository is the judge."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.park.app import App, Command, Edition
from bench.park.job import PASSWORD, Seen, choose, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import learned

PAGES = ("Anchors", "Masts", "Sails", "Winches")
USERS = ("bob", "carol", "dave", "erin")
_REPOSITORY = "ship.fossil"


def _libraries(place: Place) -> Mapping[str, str]:
    folders = (place.made / part / "x86_64-linux-gnu" for part in ("lib", "usr/lib"))
    return {"LD_LIBRARY_PATH": ":".join(map(str, folders)), "USER": "ada"}


def _fossil(place: Place, *arguments: str | Path) -> Sequence[str | Path]:
    return [place.made / "usr" / "bin" / "fossil", *arguments]


def _prepare(place: Place) -> None:
    repository = place.folder / _REPOSITORY
    variables = _libraries(place)
    place.run(_fossil(place, "init", "--admin-user", "ada", repository), **variables)
    place.run(_fossil(place, "user", "password", "ada", PASSWORD, "-R", repository), **variables)
    for name in USERS:
        place.run(_fossil(place, "user", "new", name, "sailor", PASSWORD, "-R", repository), **variables)
    for name in PAGES:
        place.run(_fossil(place, "wiki", "create", name, "-R", repository), f"All about {name}.\n", **variables)


def _command(skin: str) -> Command:
    def command(place: Place) -> Sequence[str | Path]:
        where = ("--port", str(place.port), "--localhost", "--skin", skin)
        return _fossil(place, "server", *where, place.folder / _REPOSITORY)

    return command


def _ticket(seen: Seen) -> str:
    rows = seen.place.rows(_REPOSITORY, "select title, type, severity, icomment from ticket, ticketchng using (tkt_id)")
    wanted = [seen.values[name] for name in ("title", "type", "severity", "description")]
    return "" if [list(row.values()) for row in rows] == [wanted] else f"the tickets are {rows}"


def _page(seen: Seen) -> str:
    command = _fossil(seen.place, "wiki", "export", seen.values["page"], "-R", seen.place.folder / _REPOSITORY)
    words = seen.place.run(command, **_libraries(seen.place)).strip()
    return "" if words == seen.values["text"] else f"the page says {words!r}"


def _user(seen: Seen) -> str:
    query = "select login, cap, info from user where login not in ('ada', 'anonymous', 'nobody', 'developer', 'reader')"
    rows = [tuple(row.values()) for row in seen.place.rows(_REPOSITORY, query) if row["login"] not in USERS]
    wanted = (seen.values["login"], "u", seen.values["info"])
    return "" if rows == [wanted] else f"the new users are {rows}"


def _contacts(seen: Seen) -> str:
    rows = seen.place.rows(_REPOSITORY, "select login, info from user")
    now = {row["login"]: row["info"] for row in rows if row["login"] in USERS}
    wanted = dict.fromkeys(USERS, "sailor") | {seen.values["user"]: seen.values["info"]}
    return "" if now == wanted else f"the contacts are {now}"


def _project(seen: Seen) -> str:
    rows = seen.place.rows(_REPOSITORY, "select value from config where name = 'project-name'")
    return "" if rows == [{"value": seen.values["name"]}] else f"the name is {rows}"


_LOG_IN = (
    goto("/login"),
    enter("User ID:", "ada", "the user name field"),
    enter("Password:", "{{secret:PASSWORD}}", "the password field"),
    click("button", "Login", "the button that logs in", effect="idempotent", expect=[text("Logout")]),
)
_NAMED = text("{{name}}")
_APPLY = saved("button", "Apply Changes")

JOBS = (
    job(
        "new-ticket",
        *_LOG_IN,
        click("link", "Tickets"),
        click("link", "New ticket", "the link to a new ticket"),
        enter("", "{{title}}", "the summary of the ticket", says="one-line summary"),
        choose("", "{{type}}", "the type of the ticket", says="Code_Defect"),
        choose("", "{{severity}}", "the severity of the ticket", says="Cosmetic"),
        enter("", "{{description}}", "the detailed description", says="^(?!.*label=)"),
        click("button", "Preview"),
        saved("button", "Submit", text("{{title}}")),
        values={"title": "Leak", "type": "Incident", "severity": "Severe", "description": "Water in the bow."},
        new={"title": "Paint", "type": "Documentation", "severity": "Minor", "description": "Which blue?"},
        verify=text("{{title}}"),
        judge=_ticket,
    ),
    job(
        "edit-one-page",
        *_LOG_IN,
        goto("/wiki?name={{page}}"),
        click("link", "Edit", "the link that edits the page"),
        enter("", "{{text}}", "the text of the page", says="localStorage"),
        saved("button", "Save", text("Saved")),
        values={"page": "Sails", "text": "Three of them, all white."},
        new={"page": "Masts", "text": "Two, of spruce."},
        verify=text("{{page}}"),
        judge=_page,
    ),
    job(
        "add-a-user",
        *_LOG_IN,
        goto("/setup_uedit"),
        enter("Login:", "{{login}}", "the login of the new user"),
        enter("Contact Info:", "{{info}}", "the contact of the new user"),
        learned("check", "the Reader checkbox", Pick("checkbox", "Reader")),
        enter("Password:", "{{secret:PASSWORD}}", "the password of the new user"),
        _APPLY,
        values={"login": "frank", "info": "cook"},
        new={"login": "grace", "info": "pilot"},
        verify={"url_contains": "/setup"},
        judge=_user,
    ),
    job(
        "change-one-user",
        *_LOG_IN,
        click("link", "Admin"),
        click("link", "Users"),
        click("link", "{{user}}", "the user {{user}}"),
        enter("Contact Info:", "{{info}}", "the contact of the user"),
        _APPLY,
        values={"user": "carol", "info": "captain"},
        new={"user": "dave", "info": "mate"},
        verify={"url_contains": "/setup"},
        judge=_contacts,
    ),
    job(
        "project-settings",
        *_LOG_IN,
        goto("/setup_config"),
        enter("Project Name", "{{name}}", "the name of the project"),
        click("button", "Apply Changes", "the first Apply Changes button", nth=1, effect="commit"),
        goto("/home", expect=[_NAMED]),
        values={"name": "The old ship"},
        new={"name": "The new boat"},
        verify=text("{{name}}"),
        judge=_project,
    ),
)

APP = App(
    "fossil",
    tuple(
        Edition(skin, "fossil", "fossil", _command(skin), _prepare, _libraries)
        for skin in ("default", "ardoise", "khaki")
    ),
    ("/home",),
    JOBS,
)

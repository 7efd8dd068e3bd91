"""Trac: a wiki and a tracker. Its database is the judge."""

from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import Seen, choose, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import learned

COMPONENTS = ("engine", "gears", "lights", "wheels")
_DATABASE = "project/db/trac.db"


def _command(place: Place) -> Sequence[str | Path]:
    where = ("--hostname", "127.0.0.1", "--port", str(place.port), "--single-env")

    return place.python("-m", "trac.web.standalone", *where, place.folder / "project")


def _prepare(place: Place) -> None:
    project = place.folder / "project"
    admin = place.python("-m", "trac.admin.console", project)
    place.run([*admin, "initenv", "Park", "sqlite:db/trac.db"])
    place.run([*admin, "permission", "add", "anonymous", "TRAC_ADMIN"])
    for name in COMPONENTS:
        place.run([*admin, "component", "add", name, "somebody"])


def _ticket(seen: Seen) -> str:
    rows = seen.place.rows(_DATABASE, "select summary, type, priority, component, keywords from ticket")
    wanted = {**seen.values, "keywords": seen.values.get("keywords", "")}
    return "" if rows == [wanted] else f"the tickets are {rows}"


def _page(seen: Seen) -> str:
    rows = seen.place.rows(_DATABASE, "select text, comment from wiki where name = ?", seen.values["page"])
    got = [(row["text"].replace("\r", ""), row["comment"]) for row in rows]
    return "" if got == [(seen.values["text"], seen.values["comment"])] else f"the page is {got}"


def _components(seen: Seen) -> list[str]:
    return [row["name"] for row in seen.place.rows(_DATABASE, "select name from component order by name")]


def _without(seen: Seen) -> str:
    wanted = sorted({*COMPONENTS, "component1", "component2"} - {seen.values["name"]})
    return "" if _components(seen) == wanted else f"the components are {_components(seen)}"


def _milestone(seen: Seen) -> str:
    rows = seen.place.rows(_DATABASE, "select name, due from milestone where name = ?", seen.values["name"])
    return "" if len(rows) == 1 and rows[0]["due"] > 0 else f"the milestone is {rows}"


def _resolved(seen: Seen) -> str:
    rows = seen.place.rows(_DATABASE, "select status, resolution from ticket")
    comments = seen.place.rows(_DATABASE, "select newvalue from ticket_change where field = 'comment'")
    wanted = [{"status": "closed", "resolution": seen.values["resolution"]}]
    said = [row["newvalue"] for row in comments]
    return "" if rows == wanted and said == [seen.values["comment"]] else f"the tickets are {rows}, comments {said}"


_NEW_TICKET = (
    goto("/newticket"),
    enter("Summary:", "{{summary}}", "the summary field"),
    choose("Type:", "{{type}}", "the type list"),
    choose("Priority:", "{{priority}}", "the priority list"),
    choose("Component:", "{{component}}", "the component list"),
)
_CREATE = saved("button", "Create ticket", text("{{summary}}"))

JOBS = (
    job(
        "create-ticket",
        *_NEW_TICKET,
        enter("Keywords:", "{{keywords}}", "the keywords field"),
        _CREATE,
        values={
            "summary": "The bell does not ring",
            "type": "task",
            "priority": "minor",
            "component": "lights",
            "keywords": "bell sound",
        },
        new={
            "summary": "Brakes squeal in the rain",
            "type": "enhancement",
            "priority": "blocker",
            "component": "wheels",
            "keywords": "wet",
        },
        verify=text("{{summary}}"),
        judge=_ticket,
    ),
    job(
        "write-wiki-page",
        goto("/wiki/{{page}}?action=edit"),
        enter("", "{{text}}", "the text of the page", says="Edit side-by-side"),
        enter("Comment about this change (optional):", "{{comment}}", "the comment about the change"),
        saved("button", "Submit changes", text("{{text}}")),
        values={"page": "RoadBook", "text": "Turn left at the mill.", "comment": "first way"},
        new={"page": "SpareParts", "text": "Two tubes and a chain.", "comment": "counted today"},
        verify=text("{{text}}"),
        judge=_page,
    ),
    job(
        "remove-one-component",
        goto("/"),
        click("link", "Admin"),
        click("link", "Components"),
        learned("check", "the checkbox of {{name}}", Pick("checkbox", says="{{name}}")),
        saved("button", "Remove selected items", text("removed")),
        values={"name": "gears"},
        new={"name": "wheels"},
        verify={"not_exists": {"role": "link", "name": "{{name}}"}},
        judge=_without,
    ),
    job(
        "add-milestone",
        goto("/admin/ticket/milestones"),
        enter("Name:", "{{name}}", "the name of the new milestone"),
        enter("Due:", "{{due}}", "the due date"),
        saved("button", "Add", text("{{name}}")),
        values={"name": "Spring", "due": "Mar 4, 2031, 12:00:00 PM"},
        new={"name": "Autumn", "due": "Oct 9, 2032, 12:00:00 PM"},
        verify=text("{{name}}"),
        judge=_milestone,
    ),
    job(
        "create-and-resolve",
        *_NEW_TICKET[:2],
        _CREATE,
        enter("", "{{comment}}", "the comment", says="WikiFormatting"),
        click("link", "Modify Ticket", "the heading that opens the form to modify the ticket"),
        learned("check", "the resolve action", Pick("radio", says="(?i)resolve")),
        learned("select_option", "the resolution", Pick("combobox", says="(?i)fixed"), value="{{resolution}}"),
        saved("button", "Submit changes", text("closed")),
        values={"summary": "A spoke is broken", "comment": "replaced it", "resolution": "fixed"},
        new={"summary": "The lamp flickers", "comment": "cannot see it", "resolution": "worksforme"},
        verify=text("{{comment}}"),
        judge=_resolved,
    ),
)

APP = App("trac", (Edition("1.6", "trac", "Trac", _command, _prepare),), ("/wiki",), JOBS)

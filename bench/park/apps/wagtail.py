"""Wagtail: a content management system, in two major versions, with the project that it makes itself."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import PASSWORD, UPLOADS, Seen, choose, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import Do, learned

REDIRECTS = ("about", "blog", "contact", "shop")
_DATABASE = "site/db.sqlite3"
_STORY = """

from wagtail.admin.panels import FieldPanel
from wagtail.fields import RichTextField


class Story(Page):
    body = RichTextField()
    content_panels = [*Page.content_panels, FieldPanel("body")]
"""
"""A page with rich text, which the project has none of."""


def _manage(place: Place, *arguments: str) -> list[str | Path]:
    return place.python(place.folder / "site" / "manage.py", *arguments)


def _command(place: Place) -> Sequence[str | Path]:
    return _manage(place, "runserver", "--noreload", "--insecure", f"127.0.0.1:{place.port}")


def _variables(_place: Place) -> Mapping[str, str]:
    return {"DJANGO_SETTINGS_MODULE": "park.settings.dev"}


def _prepare(place: Place) -> None:
    (place.folder / "site").mkdir()
    start = "from wagtail.bin.wagtail import main; main()"
    place.run(place.python("-c", start, "start", "park", place.folder / "site"))
    with (place.folder / "site" / "home" / "models.py").open("a") as models:
        models.write(_STORY)
    place.run(_manage(place, "makemigrations", "home"))
    place.run(_manage(place, "migrate"))
    words = {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    place.run(_manage(place, "createsuperuser", "--noinput", "--username", "ada", "--email", "ada@park.test"), **words)
    made = f"[Redirect.objects.create(old_path=f'/{{n}}', redirect_link='/') for n in {REDIRECTS}]"
    place.run(_manage(place, "shell", "-c", f"from wagtail.contrib.redirects.models import Redirect; {made}"))


def _pages(seen: Seen) -> str:
    query = "select title, search_description, live from wagtailcore_page where depth > 2"
    wanted = [{"title": seen.values["title"], "search_description": seen.values["description"], "live": 0}]
    rows = seen.place.rows(_DATABASE, query)
    return "" if rows == wanted else f"the pages are {rows}"


def _stories(seen: Seen) -> str:
    query = "select title, body, live from home_story join wagtailcore_page on page_ptr_id = id"
    rows = [tuple(row.values()) for row in seen.place.rows(_DATABASE, query)]
    bold = [f"<b>{line}</b>" for line in seen.values["text"].splitlines()]
    right = [(title, re.findall("<p[^>]*>(.*?)</p>", body), live) for title, body, live in rows]
    return "" if right == [(seen.values["title"], bold, 0)] else f"the stories are {rows}"


def _redirects(seen: Seen) -> list[tuple[str, int, str]]:
    rows = seen.place.rows(_DATABASE, "select old_path, is_permanent, redirect_link from wagtailredirects_redirect")
    return sorted((row["old_path"], row["is_permanent"], row["redirect_link"]) for row in rows)


def _redirected(seen: Seen) -> str:
    wanted = [*((f"/{name}", 1, "/") for name in REDIRECTS), (seen.values["from"], 0, seen.values["to"])]
    return "" if _redirects(seen) == sorted(wanted) else f"the redirects are {_redirects(seen)}"


def _not_redirected(seen: Seen) -> str:
    wanted = [(f"/{name}", 1, "/") for name in REDIRECTS if f"/{name}" != seen.values["from"]]
    return "" if _redirects(seen) == sorted(wanted) else f"the redirects are {_redirects(seen)}"


def _collections(seen: Seen) -> str:
    rows = seen.place.rows(_DATABASE, "select name from wagtailcore_collection where depth = 2")
    return "" if rows == [{"name": seen.values["name"]}] else f"the collections are {rows}"


def _site(seen: Seen) -> str:
    rows = seen.place.rows(_DATABASE, "select hostname, site_name from wagtailcore_site")
    return "" if rows == [{"hostname": seen.values["host"], "site_name": seen.values["name"]}] else f"sites {rows}"


def _documents(seen: Seen) -> str:
    rows = seen.place.rows(_DATABASE, "select title, file from wagtaildocs_document")
    if [row["title"] for row in rows] != [seen.values["title"]]:
        return f"the documents are {rows}"
    stored = (seen.place.folder / "site" / "media" / rows[0]["file"]).read_bytes()
    return "" if stored == UPLOADS[seen.values["file"]] else f"the file is {stored!r}"


_LOG_IN = (
    goto("/admin/"),
    enter("Username*", "ada", "the user name field"),
    enter("Password*", "{{secret:PASSWORD}}", "the password field"),
    click("button", "Sign in", effect="idempotent", expect=[{"exists": {"role": "link", "name": "Documents"}}]),
)

JOBS = (
    job(
        "draft-page",
        *_LOG_IN,
        goto("/admin/pages/add/home/homepage/3/"),
        enter("Title*", "{{title}}", "the page title"),
        click("tab", "Promote"),
        enter("Meta description", "{{description}}", "the meta description"),
        saved("button", "Save draft", text("created")),
        values={"title": "Opening hours", "description": "When we are there"},
        new={"title": "How to find us", "description": "By train and on foot"},
        verify=text("{{title}}"),
        judge=_pages,
    ),
    job(
        "write-a-bold-story",
        *_LOG_IN,
        goto("/admin/pages/add/home/story/3/"),
        enter("Title*", "{{title}}", "the page title"),
        learned("fill", "the body of the story", Pick("textbox", ""), value="{{text}}"),
        Do({"action": "press", "keys": "Control+a"}),
        Do({"action": "press", "keys": "Control+b"}),
        saved("button", "Save draft", text("created")),
        values={"title": "Opening hours", "text": "We open at nine.\nWe close at five."},
        new={"title": "How to find us", "text": "Take the train.\nWalk to the lake.\nTurn left."},
        verify=text("{{title}}"),
        judge=_stories,
    ),
    job(
        "add-redirect",
        *_LOG_IN,
        goto("/admin/redirects/add/"),
        enter("Redirect from*", "{{from}}", "the path to redirect from"),
        learned("uncheck", "the permanent checkbox", Pick("checkbox", "Permanent")),
        enter("Redirect to any URL", "{{to}}", "the URL to redirect to"),
        saved("button", "Save", text("{{from}}"), instruction="the button that stores the redirect"),
        values={"from": "/old", "to": "http://park.test/new"},
        new={"from": "/summer", "to": "http://park.test/winter"},
        verify=text("{{from}}"),
        judge=_redirected,
        rules={"8": {"the button that stores the redirect": Pick("button", "Create")}},
    ),
    job(
        "delete-one-redirect",
        *_LOG_IN,
        goto("/admin/redirects/"),
        click("link", "{{from}}", "the redirect from {{from}}"),
        click("link", "Delete redirect", "the link that deletes the redirect"),
        saved("button", "Yes, delete", text("deleted")),
        values={"from": "/blog"},
        new={"from": "/contact"},
        verify=text("deleted"),
        judge=_not_redirected,
        other_flow=frozenset({"8"}),  # the link is in a menu that must be opened
    ),
    job(
        "add-collection",
        *_LOG_IN,
        goto("/admin/collections/"),
        click("link", "Add a collection"),
        enter("Name*", "{{name}}", "the name of the collection"),
        choose("Parent*", "Root", "the parent of the collection"),
        saved("button", "Create", text("{{name}}")),
        values={"name": "Maps"},
        new={"name": "Press photos"},
        verify=text("{{name}}"),
        judge=_collections,
    ),
    job(
        "site-settings",
        *_LOG_IN,
        goto("/admin/sites/"),
        click("link", "localhost", "the site localhost"),
        enter("Hostname*", "{{host}}", "the host name"),
        enter("Site name", "{{name}}", "the name of the site"),
        saved("button", "Save", text("{{host}}")),
        values={"host": "park.test", "name": "The park"},
        new={"host": "zoo.test", "name": "The zoo"},
        verify=text("{{host}}"),
        judge=_site,
    ),
    job(
        "upload-document",
        *_LOG_IN,
        goto("/admin/documents/multiple/add/"),
        learned("upload", "the file field", Pick("button", ""), files=["{{file}}"], effect="commit"),
        enter("Title*", "{{title}}", "the title of the document"),
        saved("button", "Update"),
        goto("/admin/documents/", expect=[text("{{title}}")]),
        values={"file": "first.txt", "title": "First things"},
        new={"file": "second.txt", "title": "Second thoughts"},
        verify=text("{{title}}"),
        judge=_documents,
    ),
)

APP = App(
    "wagtail",
    (
        Edition("4", "wagtail-old", "wagtail", _command, _prepare, _variables),
        Edition("8", "wagtail", "wagtail", _command, _prepare, _variables),
    ),
    ("/admin/login/",),
    JOBS,
)

"""TiddlyWiki: a notebook of small pages on its own server, in two versions. Its pages are files."""

from collections.abc import Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import Seen, click, enter, goto, job, saved, text
from bench.park.place import Place
from bench.wob.oracle import Pick

NOTES = ("Birch", "Oak", "Pine", "Willow")


def _command(place: Place) -> Sequence[str | Path]:
    where = ("--listen", f"port={place.port}", "host=127.0.0.1")
    return place.node("tiddlywiki/tiddlywiki.js", place.folder / "wiki", *where)


def _prepare(place: Place) -> None:
    place.run(place.node("tiddlywiki/tiddlywiki.js", place.folder / "wiki", "--init", "server"))
    notes = place.folder / "wiki" / "tiddlers"
    notes.mkdir()
    for name in NOTES:
        (notes / f"{name}.tid").write_text(f"title: {name}\ntags: Tree\n\nA tree called {name}.\n")


def _notes(seen: Seen) -> dict[str, tuple[str, str]]:
    """Return tags and text of every note, by title; what the wiki keeps for itself is left out."""
    found = {}
    for file in (seen.place.folder / "wiki" / "tiddlers").glob("*.tid"):
        head, _, body = file.read_text().partition("\n\n")
        fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
        if not fields["title"].startswith(("$:/", "Draft of")):
            found[fields["title"]] = (fields.get("tags", ""), body.strip())
    return found


def _are(seen: Seen, **changes: tuple[str, str] | None) -> str:
    """Say how the notes differ from those of the beginning with these changes; None: it is gone."""
    wanted: dict[str, tuple[str, str] | None] = {name: ("Tree", f"A tree called {name}.") for name in NOTES}
    wanted = {name: note for name, note in {**wanted, **changes}.items() if note is not None}
    now = _notes(seen)
    return "" if now == wanted else f"the notes are {now}"


def _title(seen: Seen) -> str:
    files = list((seen.place.folder / "wiki" / "tiddlers").glob("*SiteTitle.tid"))
    said = [file.read_text().partition("\n\n")[2].strip() for file in files]
    return "" if said == [seen.values["title"]] else f"the title is {said}"


_EDIT = click("button", "edit", "the button that edits the note", effect="idempotent")  # it stores a draft
_OK = saved("button", "ok", instruction="the button that confirms the changes")
_TEXT = enter("Type the text for this tiddler", "{{text}}", "the text of the note")
_NOW = {
    "the button that edits the note": Pick("button", "Edit this tiddler", says="{{name}}"),
    "the button that confirms the changes": Pick("button", "Confirm changes to this tiddler"),
    "the button that adds the tag": Pick("button", "add", nth=1),
    "the button that deletes the note": Pick("button", "Delete this tiddler"),
}

JOBS = (
    job(
        "write-a-note",
        goto("/"),
        click("button", "new tiddler"),
        enter("", "{{title}}", "the title of the note", says="New Tiddler"),
        _TEXT,
        enter("tag name", "{{tag}}", "the tag"),
        click("button", "add", "the button that adds the tag", says="tag name"),
        _OK,
        values={"title": "Hazel", "text": "Has nuts in autumn.", "tag": "Shrub"},
        new={"title": "Fern", "text": "Grows in the shade.", "tag": "Herb"},
        verify=text("{{text}}"),
        judge=lambda seen: _are(seen, **{seen.values["title"]: (seen.values["tag"], seen.values["text"])}),
        rules={"5.4": _NOW},
    ),
    job(
        "edit-one-note",
        goto("/#{{name}}"),
        _EDIT,
        _TEXT,
        _OK,
        values={"name": "Oak", "text": "Lives for a thousand years."},
        new={"name": "Pine", "text": "Is green in winter too."},
        verify=text("{{text}}"),
        judge=lambda seen: _are(seen, **{seen.values["name"]: ("Tree", seen.values["text"])}),
        rules={"5.4": _NOW},
    ),
    job(
        "delete-one-note",
        goto("/#{{name}}"),
        _EDIT,
        click("button", "delete", "the button that deletes the note", effect="commit", dialog="accept"),
        values={"name": "Willow"},
        new={"name": "Birch"},
        verify={"not_exists": {"role": "heading", "name": "{{name}}"}},
        judge=lambda seen: _are(seen, **{seen.values["name"]: None}),
        rules={"5.4": _NOW},
    ),
    job(
        "search-and-tag",
        goto("/"),
        enter("", "{{name}}", "the search field", role="searchbox"),
        click("link", "{{name}}", "the first found note {{name}}", nth=1),
        click("button", "edit", "the button that edits the note", says="{{name}}", effect="idempotent"),
        enter("tag name", "{{tag}}", "the tag"),
        click("button", "add", "the button that adds the tag", says="tag name"),
        _OK,
        values={"name": "Birch", "tag": "Light"},
        new={"name": "Pine", "tag": "Evergreen"},
        verify=text("{{tag}}"),
        judge=lambda seen: _are(
            seen, **{seen.values["name"]: (f"Tree {seen.values['tag']}", f"A tree called {seen.values['name']}.")}
        ),
        rules={"5.4": _NOW},
    ),
    job(
        "change-the-settings",
        goto("/"),
        click("button", "control panel"),
        enter("", "{{title}}", "the title of the wiki", says="Title of this", effect="commit"),
        values={"title": "Notes of the forester"},
        new={"title": "Wood and field"},
        verify=text("{{title}}"),
        judge=_title,
    ),
)

APP = App(
    "tiddlywiki",
    (
        Edition("5.1", "tiddlywiki-old", "tiddlywiki", _command, _prepare),
        Edition("5.4", "tiddlywiki", "tiddlywiki", _command, _prepare),
    ),
    ("/",),
    JOBS,
)

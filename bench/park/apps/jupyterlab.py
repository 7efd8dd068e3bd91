"""JupyterLab: files, texts and notebooks, in two major versions. The folder that it works in is the judge."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.park.app import App, Edition
from bench.park.job import UPLOADS, Seen, click, enter, goto, job
from bench.park.place import Place
from bench.wob.oracle import Pick
from bench.wob.spec import Do, declared, learned

FILES = {"plan.md": "# Plan\n", "figures.csv": "year,sum\n2030,1\n", "notes.txt": "notes\n", "list.txt": "list\n"}
_NO_TRASH = "--FileContentsManager.delete_to_trash=False"
_OPEN = ("--ServerApp.token=", "--ServerApp.password=", "--ServerApp.allow_root=True", "--no-browser", _NO_TRASH)


def _command(place: Place) -> Sequence[str | Path]:
    where = (f"--ServerApp.root_dir={place.folder / 'work'}", f"--ServerApp.port={place.port}")
    return place.python("-m", "jupyterlab", *where, *_OPEN)


def _prepare(place: Place) -> None:
    work = place.folder / "work"
    (work / "reports").mkdir(parents=True)
    for name, words in FILES.items():
        (work / name).write_text(words)
    news = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
    settings = place.folder / ".jupyter" / "labconfig"
    settings.mkdir(parents=True)
    (settings / "page_config.json").write_text(json.dumps(news))


def _are(seen: Seen, changes: Mapping[str, str | None]) -> str:
    """Say how the files differ from those of the beginning with these changes; None: it is gone."""
    wanted = {name: words for name, words in {**FILES, **changes}.items() if words is not None}
    work = seen.place.folder / "work"
    now = {str(file.relative_to(work)): file.read_text() for file in work.rglob("*") if file.is_file()}
    now = {name: words for name, words in now.items() if ".ipynb_checkpoints" not in name}
    return "" if now == wanted else f"the files are {now}"


def _folder(seen: Seen) -> str:
    folders = sorted(each.name for each in (seen.place.folder / "work").glob("[!.]*") if each.is_dir())
    return "" if folders == sorted(["reports", seen.values["name"]]) else f"the folders are {folders}"


def _downloaded(seen: Seen) -> str:
    wanted = {seen.values["file"]: FILES[seen.values["file"]].encode()}
    return "" if dict(seen.files) == wanted else f"downloaded {dict(seen.files)}"


_FILE = {"css": "li.jp-DirListing-item", "text": "{{file}}"}
_OPENED = goto("/lab", expect=[{"exists": {"role": "menuitem", "name": "Settings"}, "within_ms": 60_000}])
_MENU = declared("click", "the file {{file}}", _FILE, button="right")
_NAME = enter("", "{{name}}", "the field with the new name", says="focused")
_ENTER = Do({"action": "press", "keys": "Enter", "effect": "commit", "evidence": "page"})
_ITEM = {"exists": {"css": "li.jp-DirListing-item", "text": "{{name}}"}}
_GONE = {"not_exists": _FILE}

JOBS = (
    job(
        "rename-one-file",
        _OPENED,
        _MENU,
        click("menuitem", "Rename F2", "the menu item that renames"),
        _NAME,
        _ENTER,
        values={"file": "notes.txt", "name": "thoughts.txt"},
        new={"file": "plan.md", "name": "route.md"},
        verify=_ITEM,
        judge=lambda seen: _are(seen, {seen.values["file"]: None, seen.values["name"]: FILES[seen.values["file"]]}),
    ),
    job(
        "delete-one-file",
        _OPENED,
        _MENU,
        click("menuitem", "Delete Del", "the menu item that deletes"),
        click("button", "Delete", "the button that confirms", effect="commit", expect=[_GONE]),
        values={"file": "figures.csv"},
        new={"file": "list.txt"},
        verify=_GONE,
        judge=lambda seen: _are(seen, {seen.values["file"]: None}),
    ),
    job(
        "make-a-folder",
        _OPENED,
        click("button", "New Folder"),
        _NAME,
        _ENTER,
        values={"name": "drafts"},
        new={"name": "pictures"},
        verify=_ITEM,
        judge=_folder,
    ),
    job(
        "edit-a-file",
        _OPENED,
        declared("double_click", "the file {{file}}", _FILE),
        enter("", "{{text}}", "the text of the file", says="focused"),
        Do({"action": "press", "keys": "Control+s", "effect": "commit", "evidence": "page"}),
        values={"file": "notes.txt", "text": "Call the plumber."},
        new={"file": "list.txt", "text": "Bread and salt"},
        verify={"text_contains": "{{text}}"},
        judge=lambda seen: _are(seen, {seen.values["file"]: seen.values["text"]}),
    ),
    job(
        "upload-a-file",
        _OPENED,
        learned("upload", "the upload button", Pick("button", "Upload Files"), files=["{{name}}"], effect="commit"),
        values={"name": "first.csv"},
        new={"name": "second.csv"},
        verify=_ITEM,
        judge=lambda seen: _are(seen, {seen.values["name"]: UPLOADS[seen.values["name"]].decode()}),
    ),
    job(
        "download-one-file",
        _OPENED,
        _MENU,
        click("menuitem", "Download", expect=[{"downloaded": "{{file}}"}]),
        values={"file": "plan.md"},
        new={"file": "figures.csv"},
        verify={"exists": _FILE},
        judge=_downloaded,
    ),
)

APP = App(
    "jupyterlab",
    (
        Edition("3.6", "jupyterlab-old", "jupyterlab", _command, _prepare),
        Edition("4.6", "jupyterlab", "jupyterlab", _command, _prepare),
    ),
    ("/lab",),
    JOBS,
)

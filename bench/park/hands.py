"""What a person does for tasks of the park, at the application's own controls: each act becomes one step."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from playwright.async_api import Locator, Page

from bench.hands import Act
from bench.park.app import App
from bench.park.apps import APPS
from bench.park.job import PASSWORD, Job
from bench.wob.spec import Values

FOLDER = "folder"
"""Among the values, where files to upload are."""


@dataclass(frozen=True)
class Demonstration:
    """One task of an application as a person shows it: with the task's values, and with others."""

    app: App
    job: Job
    start: str
    """Path where it begins."""
    others: Values
    acts: Sequence[Act]


async def _typed(found: Locator, value: str) -> None:
    await found.focus()
    await found.page.keyboard.type(value)


async def _down(found: Locator, value: str) -> None:
    await found.focus()
    for _ in range(int(value)):
        await found.page.keyboard.press("ArrowDown")


_VERBS: Mapping[str, Callable[[Locator, str], Awaitable[object]]] = {
    "click": lambda found, _value: found.click(),
    "right_click": lambda found, _value: found.click(button="right"),
    "check": lambda found, _value: found.check(),
    "fill": Locator.fill,
    "select": _typed,
    "down": _down,
    "upload": Locator.set_input_files,
}


def act(verb: str, selector: str, value: str = "") -> Act:
    """Return one act on what Playwright's selector finds; `{key}` stands for a value in both texts."""

    async def perform(page: Page, values: Values) -> None:
        await _VERBS[verb](page.locator(selector.format(**values)), value.format(**values, password=PASSWORD))

    return perform


def click(selector: str) -> Act:
    """Press it."""
    return act("click", selector)


def button(name: str) -> Act:
    """Press the button of this name."""
    return click(f'role=button[name="{name}"s]')


def link(name: str) -> Act:
    """Follow the link of this name."""
    return click(f'role=link[name="{name}"s]')


def fill(name: str, value: str, role: str = "textbox") -> Act:
    """Write into the field of this name."""
    return act("fill", f'role={role}[name="{name}"s]', value)


_TRAC_TICKET = (
    fill("Summary:", "{summary}"),
    act("select", "#field-type", "{type}"),
    act("select", "#field-priority", "{priority}"),
    act("select", "#field-component", "{component}"),
    fill("Keywords:", "{keywords}"),
    button("Create ticket"),
)
_WAGTAIL = (fill("Username*", "ada"), act("fill", "input[type=password]", "{password}"), button("Sign in"))
_FOSSIL = (fill("User ID:", "ada"), act("fill", "#p", "{password}"), click("input[value=Login]"))
_ADMINER = (
    act("select", 'select[name="auth[driver]"]', "SQLite 3"),
    act("fill", "#username", "ada"),
    act("fill", 'input[name="auth[password]"]', "{password}"),
    act("fill", 'input[name="auth[db]"]', "../../shop.db"),
    button("Login"),
)
_RADICALE = (
    act("fill", "#loginscene [data-name=user]", "ada"),
    act("fill", "#loginscene [data-name=password]", "{password}"),
    button("Next"),
)

_HANDS: Mapping[tuple[str, str], tuple[str, Values, Sequence[Act]]] = {
    ("trac", "create-ticket"): (
        "/newticket",
        {"summary": "Saddle is wet", "type": "enhancement", "priority": "critical", "component": "gears",
         "keywords": "rain"},
        _TRAC_TICKET,
    ),
    ("trac", "remove-one-component"): (
        "/admin/ticket/components",
        {"name": "lights"},
        (act("check", 'role=row[name=/{name}/] >> role=checkbox'), button("Remove selected items")),
    ),
    ("trac", "add-milestone"): (
        "/admin/ticket/milestones",
        {"name": "Winter", "due": "Dec 1, 2033, 12:00:00 PM"},
        (fill("Name:", "{name}"), fill("Due:", "{due}"), button("Add")),
    ),
    ("sqlite-web", "edit-one-row"): (
        "/customers/content/",
        {"name": "Customer 12", "city": "Riga"},
        (
            click('tr:has(td:text-is("{name}")) >> role=link[name="Edit"]'),
            act("check", "input[name=chk_city]"),
            act("fill", "#id_city", "{city}"),
            button("Update"),
        ),
    ),
    ("sqlite-web", "delete-one-row"): (
        "/customers/content/",
        {"name": "Customer 9"},
        (click('tr:has(td:text-is("{name}")) >> role=link[name="Delete"]'), button("Delete")),
    ),
    ("sqlite-web", "insert"): (
        "/customers/",
        {"id": "200", "name": "Grace Hopper", "city": "New York"},
        (
            link("Insert"),
            act("fill", "#id_id", "{id}"),
            act("fill", "#id_name", "{name}"),
            act("fill", "#id_city", "{city}"),
            button("Insert"),
        ),
    ),
    ("datasette", "run-a-query-that-adds"): (
        "/shop",
        {"name": "Grace Hopper", "city": "New York"},
        (
            link("new_customer"),
            act("fill", 'input[name="name"]', "{name}"),
            act("fill", 'input[name="city"]', "{city}"),
            button("Run SQL"),
        ),
    ),
    ("supervisor", "stop-one-of-many"): (
        "/",
        {"name": "baker"},
        (click('tr:has-text("{name}") >> role=link[name="Stop"]'),),
    ),
    ("fossil", "new-ticket"): (
        "/login",
        {"title": "Rope", "type": "Feature_Request", "severity": "Critical", "description": "Too short."},
        (
            *_FOSSIL,
            link("Tickets"),
            link("New ticket"),
            act("fill", 'input[name="title"]', "{title}"),
            act("select", 'select[name="type"]', "{type}"),
            act("select", 'select[name="severity"]', "{severity}"),
            act("fill", 'textarea[name="icomment"], textarea[name="mutype"], textarea', "{description}"),
            button("Preview"),
            button("Submit"),
        ),
    ),
    ("fossil", "change-one-user"): (
        "/login",
        {"user": "erin", "info": "cook"},
        (*_FOSSIL, link("Admin"), link("Users"), link("{user}"), act("fill", "[name=info]", "{info}"),
         click('input[name="apply"] >> nth=0')),
    ),
    ("radicale", "create-calendar"): (
        "/.web/",
        {"title": "Concerts", "kind": "CALENDAR"},
        (*_RADICALE, link("Create new addressbook or calendar"),
         act("fill", "#createcollectionscene [data-name=displayname]", "{title}"),
         act("down", "#createcollectionscene select", "4"), button("Create")),
    ),
    ("radicale", "delete-one-of-many"): (
        "/.web/",
        {"title": "Work"},
        (*_RADICALE, click('article:has-text("{title}") >> role=link[name="Delete"]'), button("Yes")),
    ),
    ("optuna", "search-and-delete"): (
        "/dashboard",
        {"name": "pizza"},
        (act("fill", 'role=textbox[name="Search study"]', "{name}"), button("delete study"), button("Yes")),
    ),
    ("wagtail", "upload-document"): (
        "/admin/documents/multiple/add/",
        {"file": "first.csv", "title": "Tables"},
        (*_WAGTAIL, act("upload", "input[type=file]", "{folder}/{file}"), fill("Title*", "{title}"), button("Update")),
    ),
    ("wagtail", "add-collection"): (
        "/admin/collections/",
        {"name": "Stamps"},
        (*_WAGTAIL, link("Add a collection"), fill("Name*", "{name}"),
         act("select", 'role=combobox[name="Parent*"]', "Root"), button("Create")),
    ),
    ("adminer", "insert-a-row"): (
        "/adminer/park.php",
        {"name": "Grace Hopper", "city": "New York"},
        (*_ADMINER, click("#tables a[href*='select=customers'] >> nth=0"), link("New item"),
         act("fill", 'input[name="fields[name]"], textarea[name="fields[name]"]', "{name}"),
         act("fill", 'input[name="fields[city]"], textarea[name="fields[city]"]', "{city}"),
         button("Save")),
    ),
    ("locust", "start-a-test"): (
        "/",
        {"users": "4", "rate": "1", "host": "http://127.0.0.2:9"},
        (act("fill", "#user_count", "{users}"), act("fill", "#spawn_rate", "{rate}"), act("fill", "#host", "{host}"),
         button("Start")),
    ),
    ("jupyterlab", "delete-one-file"): (
        "/lab",
        {"file": "plan.md"},
        (
            act("right_click", ".jp-LabShell:has(.jp-LauncherCard) .jp-DirListing-itemText:has-text('{file}')"),
            click("li[data-command='filebrowser:delete']"),
            button("Delete"),
        ),
    ),
}  # fmt: skip

PARK: Mapping[str, Demonstration] = {
    f"{app.name}/{job.name}": Demonstration(app, job, *_HANDS[app.name, job.name])
    for app in APPS
    for job in app.jobs
    if (app.name, job.name) in _HANDS
}
"""The tasks by `application/task`."""

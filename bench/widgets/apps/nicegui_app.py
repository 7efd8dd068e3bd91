"""NiceGUI (Quasar on Vue): `python -m bench.widgets.apps.nicegui_app`."""
# mypy: disable-error-code="import-not-found, no-untyped-call, untyped-decorator"

from collections.abc import Callable
from typing import Any

from nicegui import events, ui

from bench.widgets.apps.heard import port, tell

COUNTRIES = ["Austria", "Belgium", "Denmark", "Finland", "France", "Germany", "Greece", "Italy", "Spain", "Sweden"]
CODES = [f"Item {number:04}" for number in range(1000)]
TREE = [
    {"id": "Fruit", "children": [{"id": "Apple"}, {"id": "Pear"}]},
    {"id": "Vegetables", "children": [{"id": "Carrot"}, {"id": "Leek"}]},
]
ROWS = [{"id": number, "name": name, "qty": number * 2} for number, name in enumerate(("Anna", "Boris", "Clara"), 1)]
COLUMNS = [
    {"name": "name", "label": "Name", "field": "name", "sortable": True},
    {"name": "qty", "label": "Qty", "field": "qty"},
]

_Values = dict[str, Any]


def _noted(values: _Values, name: str, first: Any) -> Callable[[Any], None]:
    """A handler that keeps the value of a change under this name."""
    values[name] = first

    def changed(event: Any) -> None:
        values[name] = event.value
        tell(values)

    return changed


def _counted(values: _Values, name: str, what: str) -> Callable[[], None]:
    values.setdefault(name, "")

    def pressed() -> None:
        values[name] = what
        tell(values)

    return pressed


@ui.page("/choices")
def choices() -> None:
    """Lists, and what is on or off."""
    values: _Values = {}

    def on(name: str, first: Any = None) -> Callable[[Any], None]:
        return _noted(values, name, first)

    ui.select(COUNTRIES, label="Country", on_change=on("country")).classes("w-64")
    ui.select(COUNTRIES, label="Birthplace", with_input=True, on_change=on("birthplace")).classes("w-64")
    ui.select(COUNTRIES, label="Visited", multiple=True, value=["Italy"], on_change=on("visited", ["Italy"])).classes(
        "w-64"
    ).props("use-chips")
    ui.select(COUNTRIES, label="Lived in", multiple=True, with_input=True, on_change=on("lived")).classes("w-64")
    ui.select(CODES, label="Item", on_change=on("item")).classes("w-64")
    ui.select(CODES, label="Spare item", with_input=True, on_change=on("spare")).classes("w-64")
    ui.select(["red", "blue"], label="Tags", new_value_mode="add-unique", multiple=True, on_change=on("tags")).classes(
        "w-64"
    )
    ui.select({1: "One", 2: "Two", 3: "Three"}, label="Count", value=1, clearable=True, on_change=on("count", 1))
    ui.input("City", autocomplete=["Berlin", "Bern", "Bergen"], on_change=on("city", ""))
    ui.checkbox("I agree", on_change=on("agree", False))
    ui.switch("Notifications", value=True, on_change=on("notifications", True))
    ui.radio(["Small", "Medium", "Large"], value="Small", on_change=on("size", "Small")).props("inline")
    ui.toggle(["Day", "Week", "Month"], value="Day", on_change=on("span", "Day"))
    ui.chip("Vegan", selectable=True, on_selection_change=on("vegan", False))
    with ui.dropdown_button("Sort by", auto_close=True):
        ui.item("Price", on_click=_counted(values, "sort", "price"))
        ui.item("Rating", on_click=_counted(values, "sort", "rating"))
    with ui.button("File"), ui.menu():
        ui.menu_item("Open", _counted(values, "menu", "open"))
        ui.menu_item("Close", _counted(values, "menu", "close"))
    ui.rating(value=1, max=5, on_change=on("rating", 1))
    ui.input_chips("Words", value=["one"], on_change=on("words", ["one"]))
    tell(values)


@ui.page("/fields")
def fields() -> None:
    """What text, numbers and times are entered into."""
    values: _Values = {}

    def on(name: str, first: Any = None) -> Callable[[Any], None]:
        return _noted(values, name, first)

    ui.input("Name", on_change=on("name", ""))
    ui.input("Password", password=True, password_toggle_button=True, on_change=on("password", ""))
    ui.input("Phone", on_change=on("phone", "")).props('mask="(###) ###-####"')
    ui.number("Amount", value=1, min=0, max=1000, precision=2, on_change=on("amount", 1))
    ui.number("Price", value=10, format="%.2f", prefix="$", on_change=on("price", 10))
    ui.textarea("Notes", on_change=on("notes", ""))
    ui.date_input("Departure", on_change=on("departure"))
    ui.time_input("Alarm", on_change=on("alarm"))
    ui.color_input("Paint", on_change=on("paint", ""))
    with ui.input("Booked", on_change=on("booked", "")) as booked:
        with ui.menu().props("no-parent-event") as menu, ui.date(value="2026-11-02").bind_value(booked):
            ui.button("Done", on_click=menu.close).props("flat")
        with booked.add_slot("append"):
            ui.button(icon="edit_calendar", on_click=menu.open).props('flat aria-label="Pick a date"')
    ui.editor(placeholder="Write here", on_change=on("letter", "")).props('aria-label="Letter"')
    ui.codemirror("x = 1", language="Python", on_change=on("program", "x = 1")).props('aria-label="Program"').classes(
        "h-32 w-96"
    )
    tell(values)


@ui.page("/pointer")
def pointer() -> None:
    """What is pulled, opened, dropped on, or found in a table."""
    values: _Values = {}

    def on(name: str, first: Any = None) -> Callable[[Any], None]:
        return _noted(values, name, first)

    ui.slider(min=0, max=100, value=50, on_change=on("volume", 50)).props('aria-label="Volume" label')
    ui.range(min=0, max=100, value={"min": 20, "max": 80}, on_change=on("span", {"min": 20, "max": 80})).props(
        'aria-label="Span"'
    )
    ui.knob(0.3, min=0, max=1, step=0.1, show_value=True, on_change=on("knob", 0.3)).props('aria-label="Level"')
    with ui.tabs(on_change=on("tab", "Home")) as tabs:
        home, about = ui.tab("Home"), ui.tab("About")
    with ui.tab_panels(tabs, value=home):
        with ui.tab_panel(home):
            ui.label("At home")
        with ui.tab_panel(about):
            ui.input("Motto", on_change=on("motto", ""))
    with ui.expansion("More", on_value_change=on("more", False)):
        ui.checkbox("Express", on_change=on("express", False))
    tree = ui.tree(TREE, label_key="id", tick_strategy="leaf", on_tick=on("ticked", []), on_select=on("node"))
    tree.expand(["Fruit"])

    async def chosen(event: events.UploadEventArguments) -> None:
        values["file"] = [event.file.name, event.file.size()]
        tell(values)

    values["file"] = None
    ui.upload(label="Attachment", on_upload=chosen, auto_upload=True)

    def selected() -> None:
        values["rows"] = sorted(row["name"] for row in table.selected)
        tell(values)

    values["rows"] = []
    table = ui.table(rows=ROWS, columns=COLUMNS, row_key="name", selection="multiple", on_select=selected)
    with ui.dialog() as dialog, ui.card():
        nickname = ui.input("Nickname")

        def saved() -> None:
            values["nickname"] = nickname.value
            tell(values)
            dialog.close()

        ui.button("Save", on_click=saved)
    values["nickname"] = ""
    ui.button("Edit", on_click=dialog.open)
    with ui.stepper().props("vertical") as stepper:
        with ui.step("Plan"), ui.stepper_navigation():
            ui.button("Next", on_click=lambda: (_counted(values, "stage", "Pack")(), stepper.next()))
        with ui.step("Pack"):
            ui.label("Packing")
    values["stage"] = ""
    tell(values)


ui.run(host="127.0.0.1", port=port(), reload=False, show=False, show_welcome_message=False)

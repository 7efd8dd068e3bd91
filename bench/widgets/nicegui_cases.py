"""What is done with NiceGUI's widgets."""

from typing import Any

from bench.widgets.case import Case, Do, Entry, do, entry, role, same

VALUE = "{{value}}"
FILE = "{{file}}"


def _on(path: str) -> Any:
    def case(widget: str, kind: str, *parts: Do | Entry, also: tuple[str, ...] = ()) -> Case:
        steps = tuple(part for part in parts if isinstance(part, Do))
        recorded, replayed = (part for part in parts if isinstance(part, Entry))
        return Case(path, widget, kind, steps, recorded, replayed, frozenset(also))

    return case


_choices, _fields, _pointer = _on("/choices"), _on("/fields"), _on("/pointer")


def _select(name: str) -> Do:
    return do("select_option", role("combobox", name), value=VALUE)


def _several(name: str) -> Do:
    return do("select_option", role("combobox", name), values=VALUE)


def _fill(name: str, of: str = "textbox") -> Do:
    return do("fill", role(of, name), text=VALUE)


CASES: tuple[Case, ...] = (
    _choices("country", "select", _select("Country"), same("Denmark"), same("Sweden")),
    _choices(
        "country",
        "select by its label",
        do("select_option", {"label": "Country"}, value=VALUE),
        same("Denmark"),
        same("Sweden"),
    ),
    _choices("birthplace", "select with filter", _select("Birthplace"), same("Finland"), same("Spain")),
    _choices(
        "visited",
        "select of several, chips",
        _several("Visited"),
        entry(["France", "Greece"], value=["France", "Greece"]),
        entry(["Italy", "Spain"], value=["Italy", "Spain"]),
    ),
    _choices(
        "lived",
        "select of several, filter",
        _several("Lived in"),
        entry(["Austria", "Spain"], value=["Austria", "Spain"]),
        entry(["Belgium"], value=["Belgium"]),
    ),
    _choices("item", "select of 1000, virtual", _select("Item"), same("Item 0007"), same("Item 0642")),
    _choices("spare", "select of 1000, filter", _select("Spare item"), same("Item 0008"), same("Item 0999")),
    _choices(
        "tags",
        "select with new values",
        _several("Tags"),
        entry(["red"], value=["red"]),
        entry(["blue", "red"], value=["blue", "red"]),
    ),
    _choices("count", "select of numbers", _select("Count"), entry(2, value="Two"), entry(3, value="Three")),
    _choices(
        "count",
        "select, cleared",
        _select("Count"),
        do("click", role("button", "Clear")),
        entry(None, value="Two"),
        entry(None, value="Three"),
    ),
    _choices("city", "input with suggestions", _fill("City"), same("Berlin"), same("Bergen")),
    _choices("agree", "checkbox", do("check", role("checkbox", "I agree")), entry(True), entry(True)),
    _choices("notifications", "switch", do("uncheck", role("switch", "Notifications")), entry(False), entry(False)),
    _choices("size", "radio", do("check", role("radio", VALUE)), same("Medium"), same("Large")),
    _choices("span", "toggle", do("click", role("button", VALUE)), same("Week"), same("Month")),
    _choices("span", "toggle, checked", do("check", role("button", VALUE)), same("Week"), same("Month")),
    _choices("vegan", "chip", do("click", {"text": "Vegan"}), entry(True), entry(True)),
    _choices(
        "sort",
        "dropdown button",
        do("click", {"role": "button", "name_contains": "Sort by"}),
        do("click", {"text": VALUE}),
        entry("price", value="Price"),
        entry("rating", value="Rating"),
    ),
    _choices(
        "menu",
        "menu",
        do("click", role("button", "File")),
        do("click", {"text": VALUE}),
        entry("open", value="Open"),
        entry("close", value="Close"),
    ),
    _choices("rating", "rating", do("check", role("radio", "grade {{value}}")), same(3), same(5)),
    _choices(
        "words",
        "input with chips",
        do("type", role("combobox", "Words"), text=VALUE),
        do("press", None, keys="Enter"),
        entry(["one", "two"], value="two"),
        entry(["one", "three"], value="three"),
    ),
    _fields("name", "input", _fill("Name"), same("Ada"), same("Boris O'Neil")),
    _fields("password", "password", _fill("Password"), same("secret"), same("other secret")),
    _fields(
        "phone",
        "input with mask",
        _fill("Phone"),
        entry("(415) 555-0123", value="4155550123"),
        entry("(212) 555-0199", value="(212) 555-0199"),
    ),
    _fields(
        "phone",
        "input with mask, typed",
        do("type", role("textbox", "Phone"), text=VALUE),
        entry("(415) 555-0123", value="4155550123"),
        entry("(212) 555-0199", value="2125550199"),
    ),
    _fields("amount", "number", _fill("Amount", "spinbutton"), same(12), same(3.5)),
    _fields("price", "number with format", _fill("Price", "spinbutton"), same(12), same(1234.5)),
    _fields("notes", "textarea", _fill("Notes"), same("one\ntwo"), same("three\n\nfour")),
    _fields("departure", "date input", _fill("Departure"), same("2026-11-21"), same("2027-02-03")),
    _fields(
        "departure",
        "date input, calendar",
        do("click", {"css": "label:has([aria-label=Departure]) button"}),
        do("click", role("button", VALUE)),
        entry("TODAY-10", value="10"),
        entry("TODAY-17", value="17"),
    ),
    _fields("alarm", "time input", _fill("Alarm"), same("14:30"), same("07:05")),
    _fields("paint", "color input", _fill("Paint"), same("#1a2b3c"), same("#ff0000")),
    _fields(
        "booked",
        "date in a menu",
        do("click", role("button", "Pick a date")),
        do("click", role("button", VALUE)),
        do("click", role("button", "Done")),
        entry("2026-11-10", value="10"),
        entry("2026-11-17", value="17"),
    ),
    _fields(
        "letter",
        "editor (contenteditable)",
        do("fill", {"placeholder": "Write here"}, text=VALUE),
        entry("Dear Ada", value="Dear Ada"),
        entry("Dear Boris", value="Dear Boris"),
    ),
    _fields("program", "codemirror", do("fill", {"text": "x = 1"}, text=VALUE), same("y = 2"), same("z = 'three'")),
    _fields(
        "program",
        "codemirror, by its role",
        do("fill", {"css": ".cm-content"}, text=VALUE),
        same("for a in b:\n    print(a)"),
        same("if a:\n    b = 1\nelse:\n    b = 2"),
    ),
    _fields(
        "program", "codemirror, typed", do("type", {"css": ".cm-editor"}, text=VALUE), same("y = 2"), same("w = 4")
    ),
    _pointer("volume", "slider", do("fill", role("slider", "Volume"), text=VALUE), same(60), same(7)),
    _pointer(
        "span",
        "range, a thumb's keys",
        do("press", {"css": "[aria-label=Span] .q-slider__thumb:nth-child(3)"}, keys=VALUE),
        entry({"min": 21, "max": 80}, value="ArrowRight"),
        entry({"min": 19, "max": 80}, value="ArrowLeft"),
    ),
    _pointer("knob", "knob", do("fill", role("slider", "Level"), text=VALUE), same(0.7), same(0.1)),
    _pointer(
        "motto",
        "input in another tab",
        do("click", role("tab", "About")),
        _fill("Motto"),
        same("Onwards"),
        same("Upwards"),
        also=("tab",),
    ),
    _pointer(
        "express",
        "checkbox in an expansion",
        do("click", {"role": "button", "name_contains": "More"}),
        do("check", role("checkbox", "Express")),
        entry(True),
        entry(True),
        also=("more",),
    ),
    _pointer(
        "ticked",
        "tree, ticked",
        do("check", role("treeitem", VALUE)),
        entry(["Apple"], value="Apple"),
        entry(["Pear"], value="Pear"),
    ),
    _pointer("node", "tree, selected", do("click", {"role": "treeitem", "name": VALUE}), same("Apple"), same("Pear")),
    _pointer(
        "file",
        "upload",
        do("upload", {"role": "button", "text": "add_box"}, files=[FILE]),
        entry(["first.txt", 5], file="first.txt"),
        entry(["second.txt", 6], file="second.txt"),
    ),
    _pointer(
        "file",
        "upload by its field",
        do("upload", {"css": "input[type=file]"}, files=[FILE]),
        entry(["first.txt", 5], file="first.txt"),
        entry(["second.txt", 6], file="second.txt"),
    ),
    _pointer(
        "rows",
        "table, row selected",
        do("check", {"role": "row", "text": VALUE}),
        entry(["Boris"], value="Boris"),
        entry(["Clara"], value="Clara"),
    ),
    _pointer(
        "nickname",
        "input in a dialog",
        do("click", role("button", "Edit")),
        _fill("Nickname"),
        do("click", role("button", "Save")),
        same("Addy"),
        same("Bo"),
    ),
    _pointer("stage", "stepper", do("click", role("button", "Next")), entry("Pack"), entry("Pack")),
)

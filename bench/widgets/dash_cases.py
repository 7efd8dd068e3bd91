"""What is done with Dash's widgets."""

from bench.widgets.case import Case, Do, Entry, do, entry, role, same

VALUE = "{{value}}"
_TAB = do("press", None, keys="Tab")
"""Takes what was entered into a date field, as leaving it does."""
ROWS = [{"name": "Anna", "qty": 2}, {"name": "Boris", "qty": 4}]


def _case(widget: str, kind: str, *parts: Do | Entry, also: tuple[str, ...] = ()) -> Case:
    steps = tuple(part for part in parts if isinstance(part, Do))
    recorded, replayed = (part for part in parts if isinstance(part, Entry))
    return Case("/", widget, kind, steps, recorded, replayed, frozenset(also))


def _fill(name: str, of: str = "textbox") -> Do:
    return do("fill", role(of, name), text=VALUE)


def _rows(name: str) -> list[dict[str, object]]:
    return [{**ROWS[0], "name": name}, ROWS[1]]


CASES: tuple[Case, ...] = (
    _case(
        "country", "dropdown", do("select_option", {"css": "#country"}, value=VALUE), same("Denmark"), same("Sweden")
    ),
    _case(
        "country",
        "dropdown by its value",
        do("select_option", role("button", "France"), value=VALUE),
        same("Italy"),
        same("Finland"),
    ),
    _case(
        "item",
        "dropdown of 1000, virtual",
        do("select_option", {"role": "button", "name": "Item"}, value=VALUE),
        same("Item 0007"),
        same("Item 0642"),
    ),
    _case(
        "visited",
        "dropdown of several",
        do("select_option", {"css": "#visited"}, values=VALUE),
        entry(["Italy", "France"], value=["Italy", "France"]),
        entry(["Italy", "Spain"], value=["Italy", "Spain"]),
    ),
    _case("day", "date picker", _fill("Select Date"), _TAB, same("2026-11-21"), same("2027-02-03")),
    _case(
        "day",
        "date picker, calendar",
        do("click", role("textbox", "Select Date")),
        do("click", {"role": "cell", "text": VALUE}),
        entry("2026-11-10", value="10"),
        entry("2026-11-17", value="17"),
    ),
    _case("start", "date range, start", _fill("Start Date"), _TAB, same("2026-11-01"), same("2026-11-03")),
    _case("volume", "slider", do("fill", {"css": "#volume [role=slider]"}, text=VALUE), same(60), same(5)),
    _case(
        "range",
        "range slider, maximum",
        do("fill", role("slider", "Maximum"), text=VALUE),
        entry([20, 60], value="60"),
        entry([20, 95], value="95"),
    ),
    _case("name", "input", _fill("Name"), same("Ada"), same("Boris O'Neil")),
    _case("amount", "number input", _fill("Amount", "spinbutton"), same(12), same(3.5)),
    _case("amount", "number input, step up", do("click", role("button", "Increase value")), entry(2), entry(2)),
    _case("notes", "textarea", _fill("Notes"), same("one\ntwo"), same("three")),
    _case(
        "extras",
        "checklist",
        do("check", role("checkbox", VALUE)),
        entry(["Gift", "Express"], value="Express"),
        entry(["Gift", "Insured"], value="Insured"),
    ),
    _case(
        "extras",
        "checklist as a list",
        do("select_option", {"css": "#extras"}, values=VALUE),
        entry(["Express"], value=["Express"]),
        entry(["Gift", "Insured"], value=["Gift", "Insured"]),
    ),
    _case("size", "radio items", do("check", role("radio", VALUE)), same("Medium"), same("Large")),
    _case("tab", "tabs", do("click", {"text": "About"}), entry("about"), entry("about")),
    _case(
        "file",
        "upload area",
        do("upload", {"text": "Drop a file"}, files=["{{file}}"]),
        entry("first.txt", file="first.txt"),
        entry("second.txt", file="second.txt"),
    ),
    _case(
        "file",
        "upload area, dropped",
        do("upload", {"css": "#file"}, files=["{{file}}"], drop=True),
        entry("first.txt", file="first.txt"),
        entry("second.txt", file="second.txt"),
    ),
    _case(
        "rows",
        "table cell, double click and type",
        do("double_click", {"role": "cell", "text": "Anna"}),
        do("fill", {"css": "td.focused input"}, text=VALUE),
        do("press", None, keys="Enter"),
        entry(_rows("Ada"), value="Ada"),
        entry(_rows("Boris O'Neil"), value="Boris O'Neil"),
    ),
    _case(
        "rows",
        "table cell, filled",
        do("fill", {"role": "cell", "text": "Anna"}, text=VALUE),
        do("press", None, keys="Enter"),
        entry(_rows("Ada"), value="Ada"),
        entry(_rows("Eve"), value="Eve"),
    ),
    _case(
        "selected",
        "table, row selected",
        do("check", {"role": "row", "text": VALUE}),
        entry([0], value="Anna"),
        entry([1], value="Boris"),
    ),
    _case("sent", "button", do("click", role("button", "Send")), entry(1), entry(1)),
)

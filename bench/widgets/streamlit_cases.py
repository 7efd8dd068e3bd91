"""What is done with Streamlit's widgets."""

from bench.widgets.case import Case, Do, Entry, do, entry, role, same

VALUE = "{{value}}"


def _on(path: str, widget: str, kind: str, *parts: Do | Entry, also: tuple[str, ...] = ()) -> Case:
    steps = tuple(part for part in parts if isinstance(part, Do))
    recorded, replayed = (part for part in parts if isinstance(part, Entry))
    return Case(path, widget, kind, steps, recorded, replayed, frozenset(also))


def _choices(widget: str, kind: str, *parts: Do | Entry) -> Case:
    return _on("/?part=choices", widget, kind, *parts)


def _fields(widget: str, kind: str, *parts: Do | Entry, also: tuple[str, ...] = ()) -> Case:
    return _on("/", widget, kind, *parts, also=also)


def _fill(name: str, of: str = "textbox") -> Do:
    return do("fill", role(of, name), text=VALUE)


_ENTER = do("press", None, keys="Enter")
_AWAY = do("click", role("tab", "Home"))
"""Dates and times are taken when the focus leaves them."""

CASES: tuple[Case, ...] = (
    _choices(
        "country",
        "selectbox",
        do("select_option", role("combobox", "Country"), value=VALUE),
        same("Denmark"),
        same("Sweden"),
    ),
    _choices(
        "country",
        "selectbox by its label",
        do("select_option", {"label": "Country"}, value=VALUE),
        same("Italy"),
        same("Finland"),
    ),
    _choices(
        "item",
        "selectbox of 1000, virtual",
        do("select_option", role("combobox", "Item"), value=VALUE),
        same("Item 0007"),
        same("Item 0642"),
    ),
    _choices(
        "visited",
        "multiselect",
        do("select_option", role("combobox", "Visited"), values=VALUE),
        entry(["Italy", "France"], value=["Italy", "France"]),
        entry(["Italy", "Spain"], value=["Italy", "Spain"]),
    ),
    _choices(
        "items",
        "multiselect of 1000",
        do("select_option", role("combobox", "Items"), values=VALUE),
        entry(["Item 0003", "Item 0500"], value=["Item 0003", "Item 0500"]),
        entry(["Item 0998"], value=["Item 0998"]),
    ),
    _choices("size", "radio", do("check", role("radio", VALUE)), same("Medium"), same("Large")),
    _choices("agree", "checkbox", do("check", role("checkbox", "I agree")), entry(True), entry(True)),
    _choices("sound", "toggle", do("uncheck", {"label": "Sound"}), entry(False), entry(False)),
    _choices("span", "segmented control", do("click", {"text": VALUE, "role": "radio"}), same("Week"), same("Month")),
    _choices(
        "tags",
        "pills",
        do("click", role("button", VALUE)),
        entry(["green"], value="green"),
        entry(["blue"], value="blue"),
    ),
    _choices(
        "open",
        "checkbox in a popover",
        do("click", role("button", "Filters")),
        do("check", role("checkbox", "Open only")),
        entry(True),
        entry(True),
    ),
    _choices(
        "express",
        "checkbox in an expander",
        do("click", role("button", "More")),
        do("check", role("checkbox", "Express")),
        entry(True),
        entry(True),
    ),
    _fields("name", "text input", _fill("Name"), _ENTER, same("Ada"), same("Boris O'Neil")),
    _fields(
        "notes", "text area", _fill("Notes"), do("press", None, keys="Control+Enter"), same("one\ntwo"), same("three")
    ),
    _fields("amount", "number input", _fill("Amount", "spinbutton"), _ENTER, same(12.5), same(1234.5)),
    _fields("amount", "number input, step up", do("click", role("button", "Increment")), entry(1.5), entry(1.5)),
    _fields(
        "day",
        "date input, calendar",
        do("click", {"label": "Day"}),
        do("click", {"role": "button", "name_contains": VALUE}),
        entry("2026-11-10", value="November 10"),
        entry("2026-11-17", value="November 17"),
    ),
    _fields(
        "day", "date input", do("fill", role("group", "Day"), text=VALUE), _AWAY, same("2026-11-21"), same("2027-02-03")
    ),
    _fields(
        "day",
        "date input, one part",
        do("fill", role("spinbutton", "month, Day"), text=VALUE),
        _AWAY,
        entry("2026-12-02", value="12"),
        entry("2026-03-02", value="3"),
    ),
    _fields(
        "alarm",
        "time input",
        do("fill", role("group", "Alarm"), text=VALUE),
        _AWAY,
        entry("14:30:00", value="14:30"),
        entry("07:15:00", value="07:15"),
    ),
    _fields(
        "volume", "slider", do("fill", {"role": "slider", "name_contains": "Volume"}, text=VALUE), same(60), same(7)
    ),
    _fields(
        "step",
        "select slider, keys",
        do("press", {"role": "slider", "name_contains": "Step"}, keys=VALUE),
        entry("middle", value="ArrowRight"),
        entry("highest", value="End"),
    ),
    _fields(
        "file",
        "file uploader",
        do("upload", {"role": "button", "name_contains": "Upload"}, files=["{{file}}"]),
        entry(["first.txt", 5], file="first.txt"),
        entry(["second.txt", 6], file="second.txt"),
    ),
    _fields(
        "file",
        "file uploader, dropped",
        do("upload", {"css": "[data-testid=stFileUploaderDropzone]"}, files=["{{file}}"], drop=True),
        entry(["first.txt", 5], file="first.txt"),
        entry(["second.txt", 6], file="second.txt"),
    ),
    _fields(
        "motto",
        "text input in another tab",
        do("click", role("tab", "About")),
        _fill("Motto"),
        _ENTER,
        same("Onwards"),
        same("Upwards"),
    ),
    _fields(
        "chat",
        "chat input",
        _fill("Say something"),
        do("click", role("button", "Send message")),
        same("Hello"),
        same("Good bye"),
    ),
)

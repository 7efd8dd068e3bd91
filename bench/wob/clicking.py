"""Tasks of MiniWoB++ that are done by clicking: buttons, links, tabs, menus, dialogs, lists, dates."""

import re

from bench.wob.oracle import Pick
from bench.wob.pages import Utterance
from bench.wob.spec import SUBMIT, Do, Spec, Values, button, declared, learned, nothing, said, spec

_ORDER = "1st|2nd|3rd|4th|5th|6th|7th|8th|9th"


def _checkboxes(name: str) -> Spec:
    def steps(values: Values) -> list[Do]:
        ticks = [
            declared("check", f"the checkbox {{{{{key}}}}}", {"role": "checkbox", "name": f"{{{{{key}}}}}"})
            for key in values
        ]
        return [*ticks, SUBMIT]

    def read(utterance: Utterance) -> Values | None:
        found = re.fullmatch(r"Select (.*) and click Submit\.", str(utterance))
        names = [] if found is None or found[1] == "nothing" else found[1].split(", ")
        return None if found is None else {f"box{number}": box for number, box in enumerate(names, start=1)}

    return Spec(name, read, steps)


def _menu() -> Spec:
    def steps(values: Values) -> list[Do]:
        *above, last = values
        opened = [
            declared(
                "hover",
                f"the menu item {{{{{key}}}}}",
                {"role": "menuitem", "name": f"{{{{{key}}}}}"},
                expect=[{"exists": {"role": "menuitem", "name": f"{{{{{below}}}}}"}}],
            )
            for key, below in zip(above, [*above[1:], last], strict=True)
        ]
        target = {"role": "menuitem", "name": f"{{{{{last}}}}}"}
        return [*opened, declared("click", f"the menu item {{{{{last}}}}}", target)]

    def read(utterance: Utterance) -> Values:
        path = str(utterance).removeprefix("Select ").split(">")
        return {f"item{number}": item for number, item in enumerate(path, start=1)}

    return Spec("click-menu", read, steps)


_PLAYBACK = ("Prev", "Stop", "Play", "Next")


def _menu_2() -> Spec:
    def steps(values: Values) -> list[Do]:
        below = {"exists": {"role": "menuitem", "name": "{{item}}"}}
        return [
            button("Menu", expect=[{"exists": {"role": "menuitem", "name": "Playback"}}]),
            *(
                [learned("hover", "the Playback menu", Pick("menuitem", "Playback"), expect=[below])]
                if values["item"] in _PLAYBACK
                else []
            ),
            declared("click", "the menu item {{item}}", {"role": "menuitem", "name": "{{item}}"}),
        ]

    read = said(r'Click the "Menu" button, and then find and click on the item labeled "(?P<item>.*)"\.')
    return Spec("click-menu-2", read, steps)


def _date(name: str, opens_at: str) -> Spec:
    """A date picker that opens at a month and is turned back from there; `opens_at` is `YYYY-MM`."""

    def steps(values: Values) -> list[Do]:
        year, month = (int(part) for part in opens_at.split("-"))
        back = (year - int(values["year"])) * 12 + month - int(values["month"])
        turns = [declared("click", "the previous month arrow", {"css": ".ui-datepicker-prev"})] * back
        day = {"role": "link", "name": "{{day}}"}
        return [
            learned("click", "the date field", Pick("textbox"), expect=[{"exists": {"css": "#ui-datepicker-div"}}]),
            *turns,
            declared("click", "the day {{day}}", day, expect=[{"value_equals": "{{date}}", "of": {"role": "textbox"}}]),
            SUBMIT,
        ]

    def read(utterance: Utterance) -> Values | None:
        found = re.fullmatch(r"Select ((\d\d)/(\d\d)/(\d{4})) as the date and hit submit\.", str(utterance))
        return found and {"date": found[1], "month": found[2], "day": str(int(found[3])), "year": found[4]}

    return Spec(name, read, steps)


def _search() -> Spec:
    def steps(values: Values) -> list[Do]:
        turn = [declared("click", "page {{page}} of the results", {"role": "link", "name": "{{page}}"})]
        return [
            learned("fill", "the search field", Pick("textbox"), value="{{query}}"),
            button("Search"),
            *(turn if values["page"] != "1" else []),
            declared(
                "click",
                "result {{place}} on this page",
                {"css": "#page-content > div:nth-child({{place}}) a.search-title"},
            ),
        ]

    words = said(
        rf'Use the textbox to enter "(?P<query>.*)" and press "Search", then find and click the (?P<nth>{_ORDER}) '
        r"search result\.",
        nth=lambda text: text[0],
    )

    def read(utterance: Utterance) -> Values | None:
        values = words(utterance)
        if values is None:
            return None
        page, place = divmod(int(values["nth"]) - 1, 3)
        return values | {"page": str(page + 1), "place": str(place + 1)}

    return Spec("search-engine", read, steps)


def _food() -> Spec:
    def steps(values: Values) -> list[Do]:
        more = [
            declared("click", f"one more {{{{{key}}}}}", {"css": f'.food-item[data-item*="{{{{{key}}}}}"] .add'})
            for key in values
        ]
        return [*more, button("Order!")]

    def read(utterance: Utterance) -> Values | None:
        found = re.fullmatch(r"Order one of each item: (.*)", str(utterance))
        return found and {f"item{n}": item.strip() for n, item in enumerate(found[1].split(", "), start=1)}

    return Spec("order-food", read, steps)


def _scroll_list() -> Spec:
    def steps(values: Values) -> list[Do]:
        items = [f"{{{{{key}}}}}" for key in values]
        return [learned("select_option", "the list of several choices", Pick("listbox"), values=items), SUBMIT]

    def read(utterance: Utterance) -> Values | None:
        found = re.fullmatch(r"Select (.*) from the scroll list and click Submit\.", str(utterance))
        return found and {f"item{number}": item for number, item in enumerate(found[1].split(", "), start=1)}

    return Spec("click-scroll-list", read, steps)


CLICKING = (
    spec("click-test", nothing, button("Click Me!")),
    spec("click-test-2", nothing, button("ONE")),
    spec("click-test-transfer", nothing, button("ONE")),
    spec("click-button", said(r'Click on the "(?P<name>.*)" button\.'), button("{{name}}")),
    spec("unicode-test", said(r'Click on the "(?P<name>.*)" button\.'), button("{{name}}")),
    spec("click-button-sequence", nothing, button("ONE"), button("TWO")),
    spec("click-dialog", nothing, button("Close")),
    spec(
        "click-dialog-2",
        said(
            r'Click the button in the dialog box labeled "(?P<name>.*)"\.',
            name=lambda text: {"x": "Close"}.get(text, text),
        ),
        button("{{name}}", "the {{name}} button of the dialog box"),
    ),
    spec(
        "click-link",
        said(r'Click on the link "(?P<name>.*)"\.'),
        learned("click", "the link {{name}}", Pick("span|link", "{{name}}")),
    ),
    spec(
        "click-tab", said(r"Click on (?P<tab>Tab #\d)\."), learned("click", "the tab {{tab}}", Pick("link", "{{tab}}"))
    ),
    spec(
        "click-option",
        said(r"Select (?P<name>.*) and click Submit\."),
        learned("check", "the radio button {{name}}", Pick("radio", "{{name}}")),
        SUBMIT,
    ),
    _checkboxes("click-checkboxes"),
    _checkboxes("click-checkboxes-large"),
    _checkboxes("click-checkboxes-transfer"),
    _menu(),
    _menu_2(),
    spec(
        "click-collapsible",
        nothing,
        declared("click", "the header of the first section", {"css": "#area > h3:first-child", "text": "Section"}),
        SUBMIT,
    ),
    spec(
        "click-collapsible-nodelay",
        nothing,
        declared("click", "the header of the first section", {"css": "#area > h3:first-child", "text": "Section"}),
        SUBMIT,
    ),
    spec(
        "click-color",
        said(r"Click on the (?P<color>\w+) colored box\."),
        declared("click", "the {{color}} box", {"css": '#area [data-color="{{color}}"]'}),
    ),
    spec(
        "grid-coordinate",
        said(r"Click on the grid coordinate (?P<at>\(-?\d,-?\d\))\."),
        declared("click", "the point {{at}}", {"css": 'circle[id="{{at}}"]'}),
    ),
    spec(
        "circle-center",
        nothing,
        declared("click", "the circle", {"css": "circle.black-circle"}, expect=[{"exists": {"css": "circle.blue"}}]),
        SUBMIT,
    ),
    _date("choose-date-easy", "2016-12"),
    _date("choose-date-medium", "2016-12"),
    _date("choose-date-nodelay", "2016-12"),
    _date("choose-date", "2016-12"),
    _search(),
    _food(),
    _scroll_list(),
)

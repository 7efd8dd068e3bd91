"""Tasks of MiniWoB++ that are done by entering something: texts, numbers, dates, choices, the clipboard."""

import re
from datetime import datetime

from bench.wob.oracle import Pick
from bench.wob.pages import Utterance
from bench.wob.spec import SUBMIT, Do, Spec, Values, button, declared, learned, nothing, said, spec

_TEXT = Pick("textbox")


def _day(text: str) -> str:
    month, day, year = text.split("/")
    return f"{year}-{month}-{day}"


def _clock(text: str) -> str:
    return datetime.strptime(text, "%I:%M %p").strftime("%H:%M")  # noqa: DTZ007  a time of day, of no day


def _cased(utterance: Utterance) -> Values | None:
    found = re.fullmatch(r'Type "(.*)" in all (lower|upper) case letters in the text input .*', str(utterance))
    return found and {"text": found[1].lower() if found[2] == "lower" else found[1].upper()}


def _password() -> Spec:
    first = learned("fill", "the new password field", Pick("textbox", nth=1), value="{{password}}")
    again = learned("fill", "the verify password field", Pick("textbox", nth=2), value="{{password}}")
    return spec("enter-password", said(r'Enter the password "(?P<password>.*)" into .*'), first, again, SUBMIT)


def _films(name: str, *, new_seeds: bool) -> Spec:
    def field(words: str, label: str) -> Do:
        return learned("fill", f"the {words} field", Pick("textbox", says=label), value=f"{{{{{words}}}}}")

    send = learned("click", "the button that starts the search", Pick("button|div", says="Submit|Search|Go!"))
    return spec(
        name,
        said(r"Search for (?P<genre>.*) movies directed by (?P<director>.*) from year (?P<year>\d+)\."),
        field("genre", "Genre"),
        field("director", "Director"),
        field("year", "Year|Date"),
        send,
        new_seeds=new_seeds,
    )


def _scroll_text() -> Spec:
    def steps(values: Values) -> list[Do]:
        return [declared("scroll", "the text area", {"css": "#text-area"}, to=values["end"]), SUBMIT]

    read = said(r"Scroll the textarea to the (?P<end>top|bottom) of the text hit submit\.")
    return Spec("scroll-text-2", read, steps)


def _agreement() -> Spec:
    def steps(values: Values) -> list[Do]:
        if "name" not in values:
            return [button("{{answer}}")]
        return [
            declared("scroll", "the agreement", {"css": "#text-area"}, to="bottom"),
            learned("fill", "the name field of the agreement", Pick("textbox", says=r"\bName\b"), value="{{name}}"),
            button("{{answer}}"),
        ]

    signed = said(r'Scroll to the bottom of the textarea, enter the name "(?P<name>.*)" then press "(?P<answer>.*)"')

    def read(utterance: Utterance) -> Values | None:
        return signed(utterance) or ({"answer": "Cancel"} if utterance == "Click the cancel button." else None)

    return Spec("sign-agreement", read, steps, recorded_seed=3)


_FIRST = {"1st": "1", "2nd": "2", "3rd": "3"}.__getitem__

FILLING = (
    spec(
        "enter-text",
        said(r'Enter "(?P<text>.*)" into the text field and press Submit\.'),
        learned("fill", "the text field", _TEXT, value="{{text}}"),
        SUBMIT,
    ),
    spec("enter-text-2", _cased, learned("fill", "the text field", _TEXT, value="{{text}}"), SUBMIT),
    spec(
        "enter-text-dynamic",
        said(r'Enter "(?P<text>.*)" into the text field and press Submit\.'),
        learned("type", "the text field", _TEXT, value="{{text}}"),
        SUBMIT,
    ),
    spec(
        "enter-date",
        said(r"Enter (?P<date>.*) as the date and hit submit\.", date=_day),
        learned("fill", "the date field", _TEXT, value="{{date}}"),
        SUBMIT,
    ),
    spec(
        "enter-time",
        said(r"Enter (?P<time>.*) as the time and press submit\.", time=_clock),
        learned("fill", "the time field", _TEXT, value="{{time}}"),
        SUBMIT,
    ),
    _password(),
    spec(
        "login-user",
        said(r'Enter the username "(?P<user>.*)" and the password "(?P<password>.*)" into the text fields .*'),
        learned("fill", "the user name field", Pick("textbox", nth=1), value="{{user}}"),
        learned("fill", "the password field", Pick("textbox", nth=2), value="{{password}}"),
        button("Login"),
    ),
    spec("focus-text", nothing, learned("click", "the text field", _TEXT)),
    spec(
        "focus-text-2",
        said(r"Focus into the (?P<nth>1st|2nd|3rd) input textbox\.", nth=_FIRST),
        declared("click", "text field {{nth}}", {"css": "#tt{{nth}}"}),
    ),
    spec(
        "choose-list",
        said(r"Select (?P<item>.*) from the list and click Submit\."),
        learned("select_option", "the list", Pick("combobox"), value="{{item}}"),
        SUBMIT,
    ),
    spec(
        "form-sequence-2",
        said(
            r'Check the (?P<radio>1st|2nd|3rd) radio button and enter the number "(?P<number>-?\d+)" into the '
            r"(?P<box>1st|2nd|3rd) textbox\.",
            radio=_FIRST,
            box=_FIRST,
        ),
        declared("check", "radio button {{radio}}", {"css": '#area input[type="radio"][value="{{radio}}"]'}),
        declared("fill", "text field {{box}}", {"css": "#input-{{box}}"}, value="{{number}}"),
        SUBMIT,
    ),
    spec(
        "form-sequence-3",
        said(r'Choose (?P<height>.*) from the dropdown, then click the button labeled "(?P<name>.*)"\.'),
        declared("click", "the list of heights", {"css": ".selectric", "text": "▾"}),
        declared("click", "the height {{height}}", {"css": ".selectric-items li", "text": "{{height}}"}),
        button("{{name}}"),
    ),
    spec(
        "use-spinner",
        said(r"Select (?P<number>-?\d+) with the spinner and hit Submit\."),
        learned("fill", "the number field", Pick("spinbutton"), value="{{number}}"),
        SUBMIT,
    ),
    spec(
        "copy-paste",
        nothing,
        declared("press", "the text area", {"css": "#to-copy"}, keys="Control+A"),
        declared("press", "the text area", {"css": "#to-copy"}, keys="Control+C"),
        declared("press", "the answer field", {"css": "#answer-input"}, keys="Control+V"),
        SUBMIT,
    ),
    spec(
        "copy-paste-2",
        said(r"Copy the text from the (?P<nth>1st|2nd|3rd) text area below and paste it into .*", nth=_FIRST),
        declared("press", "text area {{nth}}", {"css": "#text-{{nth}}"}, keys="Control+A"),
        declared("press", "text area {{nth}}", {"css": "#text-{{nth}}"}, keys="Control+C"),
        declared("press", "the answer field", {"css": "#answer-input"}, keys="Control+V"),
        SUBMIT,
    ),
    _scroll_text(),
    _agreement(),
    spec(
        "text-editor",
        said(
            r"Using the text editor, give everything the style (?P<style>bold|italics|underlined) and press Submit\.",
            style={"bold": "bold", "italics": "italic", "underlined": "underline"}.__getitem__,
        ),
        declared("press", "the editor", {"css": ".ql-editor"}, keys="Control+A"),
        declared("click", "the {{style}} button", {"css": "button.ql-{{style}}"}),
        SUBMIT,
    ),
    _films("multi-layouts", new_seeds=False),  # another page with other words each time: nothing to bind
    _films("multi-orderings", new_seeds=True),
)

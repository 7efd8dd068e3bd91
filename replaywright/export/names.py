"""Names of variables in a script: those of the task where they can be, never one that means something else there."""

import builtins
import keyword
import re
from collections.abc import Callable, Iterable
from typing import Final

_PYTHON_WORDS: Final = """
    argparse arguments asked browser cells code context contextmanager download download_info element entry
    executable_path expect expect_asked expect_status file_chooser file_chooser_info frame headed help item items
    json Locator main number os page Page parser Path playwright popup_info pytest re Response response_info result
    row rows sync_playwright sys tab time Any Callable Dialog Download Error Iterable Iterator answering
    answering_dialogs approve drag_by expect_any holds keep paste parameter secret set_open set_pressed slide
    table_rows totp at_most closed alike self cls hmac base64 hashlib struct error tab_with value
"""
_TYPESCRIPT_WORDS: Final = """
    abstract any arguments as async await boolean break case catch class const constructor continue debugger declare
    default delete do else enum eval export extends false finally for from function get if implements import in infer
    instanceof interface is keyof let module namespace never new null number object of package private protected public
    readonly require return set static string super switch symbol this throw true try type typeof undefined unique
    unknown var void while with yield NaN Infinity Array Buffer Date Error JSON Math Number Object Promise RegExp Set
    String Symbol Map console process globalThis global exports __dirname __filename test expect baseExpect page
    firstPage browser context result entry items rows Page Locator Dialog Download Response answering answeringDialogs
    dragBy expectAny expectAsked expectStatus holds keep literally paste parameter secret setOpen setPressed slide
    tableRows totp atMost closed cells alike createHmac path asked tabs tab error popupPromise downloadPromise
    responsePromise fileChooser fileChooserPromise
"""
PYTHON_RESERVED: Final = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *_PYTHON_WORDS.split()})
TYPESCRIPT_RESERVED: Final = frozenset(_TYPESCRIPT_WORDS.split())


def identifiers(names: Iterable[str], written: Callable[[str], str], reserved: Iterable[str]) -> dict[str, str]:
    """Choose a distinct identifier for each name; `written` makes one of letters, digits and underscores."""
    taken = set(reserved)
    found: dict[str, str] = {}
    for name in names:
        wanted = written(name)
        unique, number = wanted, 2
        if unique in taken:
            unique = f"{wanted}_"
        while unique in taken:
            unique, number = f"{wanted}_{number}", number + 1
        taken.add(unique)
        found[name] = unique
    return found


def snake(name: str) -> str:
    """Convert to Python's style: `Invoice no.` to `invoice_no`."""
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "value"
    return f"_{plain}" if plain[0].isdigit() else plain


def camel(name: str) -> str:
    """Convert to JavaScript's style: `base_url` to `baseUrl`."""
    first, *rest = [word for word in snake(name).split("_") if word] or ["value"]
    joined = first + "".join(word[:1].upper() + word[1:] for word in rest)
    return f"_{joined}" if joined[0].isdigit() else joined


def environment_name(task: str, parameter: str) -> str:
    """Return the environment variable that gives a parameter to a test: `SEND_MAIL_BASE_URL`."""
    return f"{snake(task)}_{parameter}".upper()

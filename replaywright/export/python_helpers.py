"""Functions that a script in Python brings with it, each only where it is used."""

from collections.abc import Mapping
from typing import Final

from replaywright.export.helpers import functions_of

HELPERS: Final[Mapping[str, str]] = functions_of(r'''
def secret(name: str) -> str:
    """A secret, from the environment: it stands nowhere in this script."""
    variable = f"REPLAYWRIGHT_SECRET_{name}"
    if variable not in os.environ:
        raise RuntimeError(f"set {variable} to the secret {name}")
    return os.environ[variable]


def parameter(variable: str, default: str | None = None) -> str:
    """A parameter of the test, from the environment."""
    value = os.environ.get(variable, default)
    if value is None:
        raise RuntimeError(f"set {variable}")
    return value


def totp(name: str) -> str:
    """The one-time password of now (RFC 6238), of a secret in Base32."""
    letters = secret(name).replace(" ", "").replace("-", "").rstrip("=").upper()
    key = base64.b32decode(letters + "=" * (-len(letters) % 8))
    told = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30), "sha1")
    begin = told[-1] & 15
    number = int.from_bytes(told[begin : begin + 4], "big") & 0x7FFFFFFF
    return f"{number % 1_000_000:06d}"


def holds(check: Callable[[], object]) -> bool:
    """Return True if an assertion holds."""
    try:
        check()
    except AssertionError:
        return False
    return True


def expect_any(*checks: Callable[[], object]) -> None:
    """Pass as soon as one of the assertions holds."""
    ends = time.monotonic() + 10
    while not any(holds(check) for check in checks):
        if time.monotonic() > ends:
            raise AssertionError("none of the conditions holds")


@contextmanager
def answering_dialogs(
    page: Page, answers: list[bool], *, every: bool = False, text: str | None = None
) -> Iterator[list[str]]:
    """Answer what the page asks meanwhile, in turn, and dismiss the rest."""
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        number = 0 if every else len(asked)
        asked.append(f"{dialog.type} {dialog.message}")
        if number < len(answers) and answers[number]:
            dialog.accept(text)
        else:
            dialog.dismiss()

    page.on("dialog", answer)
    try:
        yield asked
    finally:
        page.remove_listener("dialog", answer)


def expect_asked(asked: list[str], part: str) -> None:
    """See that one of the dialogs was of this kind, or said this."""
    if not any(part.casefold() in said.casefold() for said in asked):
        raise AssertionError(f"no dialog said {part!r}, but {asked}")


def keep(download: Download, name: str = "*") -> None:
    """See that this is the file that is meant, and keep it in `downloads`."""
    pattern = ".*".join(re.escape(part) for part in name.split("*"))
    if not re.fullmatch(pattern, download.suggested_filename, re.DOTALL):
        raise AssertionError(f"downloaded {download.suggested_filename!r}, not {name}")
    download.save_as(Path("downloads") / Path(download.suggested_filename).name)


def answering(part: str, method: str) -> Callable[[Response], bool]:
    """Match responses by address and method, else those that count."""

    def is_meant(response: Response) -> bool:
        request = response.request
        if part or method:
            return part in request.url and method in ("", request.method)
        return request.resource_type == "document" or request.method not in (
            "GET",
            "HEAD",
            "OPTIONS",
        )

    return is_meant


def expect_status(response: Response, wanted: str) -> None:
    """See that an answer has this status, or one of this class."""
    status = str(response.status)
    if status != wanted and not (wanted.endswith("xx") and status[0] == wanted[0]):
        raise AssertionError(f"{response.url} answered {status}, not {wanted}")


def paste(page: Page, text: str) -> None:
    """Paste a text in place of what the focused field holds."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", text)
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("ControlOrMeta+V")


def slide(slider: Locator, value: str) -> None:
    """Move a slider by its keys until it has the value."""
    for _ in range(1_000):
        now = float(slider.get_attribute("aria-valuenow") or 0)
        if now == float(value):
            return
        slider.press("ArrowRight" if now < float(value) else "ArrowLeft")
    raise AssertionError(f"the slider does not come to {value}")


def set_open(control: Locator, wanted: bool) -> None:
    """Press what opens a menu or section, unless that is as wanted."""
    is_open = control.evaluate(
        """element => {
          const details = element.closest("summary")?.parentElement;
          return details ? details.open : element.ariaExpanded === "true";
        }"""
    )
    if is_open != wanted:
        control.click()


def set_pressed(button: Locator, wanted: bool) -> None:
    """Press a toggle button, unless it is as wanted."""
    state = "true" if wanted else "false"
    if (button.get_attribute("aria-pressed") or "false") != state:
        button.click()
    expect(button).to_have_attribute("aria-pressed", state)


def drag_by(element: Locator, right: float, down: float) -> None:
    """Take an element by its middle and drag it this far."""
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    if box is None:
        raise AssertionError("what is to be dragged is not shown")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    mouse = element.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x + right, y + down, steps=10)
    mouse.up()


def table_rows(table: Locator) -> list[dict[str, str]]:
    """The rows of a table, each as column to text."""
    rows: list[dict[str, str]] = table.evaluate(
        """table => {
          const cells = row => [...row.querySelectorAll(
            "th, td, [role=columnheader], [role=rowheader], [role=cell], [role=gridcell]"
          )].map(cell => cell.innerText.trim());
          const isHead = row => !row.querySelector("td, [role=cell], [role=gridcell]");
          const rows = [...table.querySelectorAll("tr, [role=row]")];
          const names = cells(rows.find(isHead) ?? rows[0] ?? table);
          return rows.filter(row => row !== rows[0] && !isHead(row)).map(row =>
            Object.fromEntries(cells(row).map((text, at) => [names[at] || `column ${at + 1}`, text])));
        }"""
    )
    return rows


def alike(text: str) -> str:
    """A text as it is compared: case and spacing do not count."""
    return " ".join(text.split()).casefold()


def at_most(limit: int, items: Iterable[Any], *, stop: bool = False) -> list[Any]:
    """Each item once; more than `limit` are refused, or left out."""
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    if len(found) > limit and not stop:
        raise AssertionError(f"there are {len(found)} items, and at most {limit}")
    return found[:limit]


def number(text: str) -> float:
    """The number in a text such as `1,234.50 €`."""
    return float(re.sub(r"[^\d.-]", "", text.replace(",", "")))


def tab_with(page: Page, part: str, *, titled: bool) -> Page:
    """The tab with this in its title or address."""
    for tab in page.context.pages:
        if part.casefold() in tab.title().casefold() if titled else part in tab.url:
            return tab
    raise AssertionError(f"no tab has {part!r} in its title or address")


def approve(question: str) -> None:
    """Ask whether to go on."""
    if input(f"{question} [y/N] ").strip().lower() not in {"y", "yes"}:
        raise SystemExit("not approved: nothing more is done")
''')

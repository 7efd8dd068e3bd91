"""What a person does for tasks of MiniWoB++: one act after the other, at the real page."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from playwright.async_api import Page

from bench.wob.spec import Values

Act = Callable[[Page, Values], Awaitable[None]]
"""One act, which becomes one step."""


def press(name: str, role: str = "button") -> Act:
    """Click on what has this role and name, in which `{key}` stands for a value."""

    async def act(page: Page, values: Values) -> None:
        wanted = name.format(**values)
        found = page.get_by_role("button" if role == "button" else "link", name=wanted, exact=True)
        await found.first.click()

    return act


def click(css: str) -> Act:
    """Click on the only element of a selector, in which `{key}` stands for a value."""

    async def act(page: Page, values: Values) -> None:
        await page.locator(css.format(**values)).click()

    return act


def tick(name: str) -> Act:
    """Click on the text beside a radio button."""

    async def act(page: Page, values: Values) -> None:
        await page.get_by_role("radio", name=name.format(**values), exact=True).click()

    return act


def write(css: str, key: str, change: Callable[[str], str] = str) -> Act:
    """Write a value into a field, letter by letter."""

    async def act(page: Page, values: Values) -> None:
        await page.locator(css).focus()
        await page.keyboard.press("Control+A")
        await page.keyboard.type(change(values[key]))

    return act


def choose(css: str, key: str) -> Act:
    """Choose from a list by the letters of the option."""

    async def act(page: Page, values: Values) -> None:
        await page.locator(css).focus()
        await page.keyboard.type(values[key])

    return act


async def _drag_box(page: Page, _values: Values) -> None:
    small, large = page.locator("#draggableSmall"), page.locator("#draggableLarge")
    start, end = await small.bounding_box(), await large.bounding_box()
    assert start is not None
    assert end is not None
    await page.mouse.move(start["x"] + 10, start["y"] + 10)
    await page.mouse.down()
    await page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=8)
    await page.mouse.up()


def _typed_day(text: str) -> str:
    year, month, day = text.split("-")
    return f"{month}{day}{year}"


def _typed_time(text: str) -> str:
    hour, minute = (int(part) for part in text.split(":"))
    return f"{hour % 12 or 12:02}{minute:02}{'PM' if hour >= 12 else 'AM'}"


SUBMIT = press("Submit")
_MAIL = click("#main .email-thread:has(.email-sender:text-is('{by}')) .email-sender")

HANDS: Mapping[str, Sequence[Act]] = {
    "click-test": (press("Click Me!"),),
    "click-test-2": (press("ONE"),),
    "click-test-transfer": (press("ONE"),),
    "click-button": (press("{name}"),),
    "unicode-test": (press("{name}"),),
    "click-button-sequence": (press("ONE"), press("TWO")),
    "click-dialog": (press("Close"),),
    "click-dialog-2": (press("{name}"),),
    "click-link": (click("#area .alink:text-is('{name}')"),),
    "click-tab": (press("{tab}", "link"),),
    "click-option": (tick("{name}"), SUBMIT),
    "click-color": (click('#area [data-color="{color}"]'),),
    "click-collapsible-nodelay": (click("#area > h3:first-child"), SUBMIT),
    "enter-text": (write("#tt", "text"), SUBMIT),
    "enter-text-2": (write("#tt", "text"), SUBMIT),
    "enter-text-dynamic": (write("#area input[type=text]", "text"), SUBMIT),
    "enter-date": (write("#tt", "date", _typed_day), SUBMIT),
    "enter-time": (write("#tt", "time", _typed_time), SUBMIT),
    "focus-text": (click("#tt"),),
    "choose-list": (choose("#options", "item"), SUBMIT),
    "email-inbox-delete": (_MAIL, click("#email .trash")),
    "email-inbox-important": (_MAIL, click("#email .star")),
    "email-inbox-reply": (_MAIL, click("#email .email-reply"), write("#reply-text", "message"), click("#send-reply")),
    "email-inbox-forward": (
        _MAIL, click("#email .email-forward"), write(".forward-sender", "to"), click("#send-forward"),
    ),
    "drag-box": (_drag_box, SUBMIT),
}  # fmt: skip
"""The acts of each task; their locators are fixed but for the values that the page asks for."""

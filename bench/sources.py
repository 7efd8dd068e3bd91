"""Pages to locate on: the demo webmail in all its skins, the tests' pages, MiniWoB++ and the Django admin."""

import contextlib
import hashlib
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, ViewportSize

from bench.django_admin import Version, django_admin
from bench.environments import miniwob_pages, serve_folder
from bench.wob.pages import Pages
from bench.wob.serving import serving
from demo.webmail.app import create_app
from demo.webmail.skins import FORM_FIELDS, OTHER_FLOWS, SKINS, Skin
from demo.webmail.store import Draft, MailStore

TEST_PAGES = Path(__file__).parents[1] / "tests" / "pages"
WEBMAIL_PATHS = ("/inbox", "/compose", "/settings", "/message/3", "/drafts")
ADMIN_PATHS = (
    "/admin/",
    "/admin/auth/user/",
    "/admin/auth/user/add/",
    "/admin/auth/user/2/change/",
    "/admin/auth/group/",
    "/admin/auth/group/add/",
    "/admin/auth/user/3/delete/",
    "/admin/auth/user/2/history/",
    "/admin/password_change/",
)
JUDGED = "webmail"
"""The application on which weights are never fitted."""
OF_MANY = frozenset({"tests", "miniwob"})
"""Sites whose pages have nothing to do with each other."""
_PASSWORD = "a password of the benchmark"  # noqa: S105  a site that lives as long as the benchmark
_MINIWOB_SEED = 7
_NEVER_AT_REST = ("browser_hung", "browser_late", "browser_moving")
_TAKEN_APART = "clobbered"
"""A page whose elements hide what the DOM calls `children` and the like: the mutations cannot go through it."""
VIEWPORT: ViewportSize = {"width": 1280, "height": 900}

# Tasks that are a picture, a canvas or a moving target have nothing to locate.
_PICTURES = ("bisect", "chase", "circle", "count", "draw", "drag", "moving", "pie", "angle", "shape", "simon", "visual")


@dataclass(frozen=True)
class Source:
    """One page as it was recorded."""

    site: str
    """webmail, tests, miniwob, django."""
    name: str
    url: str
    context: BrowserContext
    """Where the visitor is signed in, or not."""
    version: str = ""
    """Which version of the site it is, for pairs of versions."""
    field_names: tuple[tuple[str, str], ...] = ()
    """What form controls are called in this version, and what they are for, where names are generated."""

    @property
    def calibrates(self) -> bool:
        """Whether weights may be fitted on the page.

        An application is fitted on or judged on as a whole, in all its versions; so is each page of the sites
        `OF_MANY`, as a fixed hash of its name decides.
        """
        if self.site in OF_MANY:
            return hashlib.sha256(f"{self.site} {self.name}".encode()).digest()[0] % 2 == 0
        return self.site != JUDGED


@contextlib.asynccontextmanager
async def webmail(browser: Browser) -> AsyncIterator[list[Source]]:
    """Every page of the demo site in every skin; the visitor is signed in."""
    async with contextlib.AsyncExitStack() as stack:
        sources: list[Source] = []
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replaywright-webmail-")))
        nobody = await stack.enter_async_context(await browser.new_context(viewport=VIEWPORT))
        for skin in (name for name in SKINS if name not in OTHER_FLOWS):
            store = MailStore(folder / skin)
            store.skin = skin
            for number in range(4):
                store.save_draft(Draft(to=f"ann{number}@example.com", subject=f"Plan {number}", body="…"))
            url = await stack.enter_async_context(serving(create_app(store, password=_PASSWORD)))
            context = await stack.enter_async_context(await browser.new_context(viewport=VIEWPORT))
            login = await context.request.post(f"{url}/login", form={"user": "demo", "password": _PASSWORD})
            assert login.ok, login.status
            names = tuple((Skin(skin).control_name(field), field) for field in FORM_FIELDS)
            sources += [Source("webmail", path, url + path, context, skin, names) for path in WEBMAIL_PATHS]
            sources.append(Source("webmail", "/login", f"{url}/login", nobody, skin, names))
        yield sources


@contextlib.asynccontextmanager
async def tests(browser: Browser) -> AsyncIterator[list[Source]]:
    """The pages that this project's tests are made of."""
    async with await browser.new_context(viewport=VIEWPORT) as context:
        with serve_folder(TEST_PAGES) as url:
            names = sorted(
                path.name for path in TEST_PAGES.glob("*.html") if path.stem not in (*_NEVER_AT_REST, _TAKEN_APART)
            )
            yield [Source("tests", name, f"{url}/{name}", context) for name in names]


@contextlib.asynccontextmanager
async def miniwob(browser: Browser) -> AsyncIterator[list[Source]]:
    """Every task of MiniWoB++ that has elements, with one seed."""
    folder = miniwob_pages()
    async with await browser.new_context(viewport=VIEWPORT) as context, serving(Pages(folder).app()) as url:
        names = sorted(path.stem for path in (folder / "miniwob").glob("*.html"))
        yield [
            Source("miniwob", name, f"{url}/miniwob/{name}.html?seed={_MINIWOB_SEED}", context)
            for name in names
            if not any(word in name for word in _PICTURES)
        ]


def _admin(name: str, versions: Sequence[Version]) -> Callable[[Browser], AbstractAsyncContextManager[list[Source]]]:
    """Return what opens the pages of the Django admin in these versions; the visitor is signed in."""

    @contextlib.asynccontextmanager
    async def opened(browser: Browser) -> AsyncIterator[list[Source]]:
        async with contextlib.AsyncExitStack() as stack:
            sources: list[Source] = []
            nobody = await stack.enter_async_context(await browser.new_context(viewport=VIEWPORT))
            for version in versions:
                site = await stack.enter_async_context(django_admin(version))
                context = await stack.enter_async_context(await browser.new_context(viewport=VIEWPORT))
                page = await context.new_page()
                await page.goto(f"{site.url}/admin/")
                await page.fill("[name=username]", site.username)
                await page.fill("[name=password]", site.password)
                async with page.expect_navigation():
                    await page.press("[name=password]", "Enter")
                await page.close()
                sources += [Source(name, path, site.url + path, context, version) for path in ADMIN_PATHS]
                sources.append(Source(name, "/admin/login/", f"{site.url}/admin/login/", nobody, version))
            yield sources

    return opened


SITES: Mapping[str, Callable[[Browser], AbstractAsyncContextManager[list[Source]]]] = {
    "webmail": webmail,
    "tests": tests,
    "miniwob": miniwob,
    "django": _admin("django", ("old", "new")),
    "skins": _admin("skins", ("new", "grappelli", "interface", "jazzmin")),
    "other-skins": _admin("other-skins", ("baton", "semantic", "unfold")),
}
"""What opens the pages of a site, by its name."""

"""The part of a shared Chromium that one session has: a browser context, shown as if it were the whole browser.

A client of the browser itself may do what is listed here, and that in its context only; targets of other contexts do
not exist for it. What it says to a page goes through as it is, except for files, which are on another host than the
worker, and addresses of the browser's own host. Nor may it speak of the browser there: Chromium lets a page's session
find, drive and close the pages of others, and end them all.
"""

from collections.abc import AsyncIterator, Callable, Container, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from replaywright.keeper.chromium.multiplexer import CommandRefused
from replaywright.keeper.chromium.remote_uploads import upload_commands

_IN_CONTEXT = frozenset(
    {
        "Browser.cancelDownload",
        "Browser.grantPermissions",
        "Browser.resetPermissions",
        "Browser.setPermission",
        "Storage.clearCookies",
        "Storage.getCookies",
        "Storage.setCookies",
        "Target.createTarget",
    }
)
"""Commands that are for one context, and get this one."""
_OF_TARGET = frozenset({"Target.activateTarget", "Target.attachToTarget", "Target.closeTarget"})
"""Commands on a page. Whatever names a page, these and others, has to name one of this context."""
_PLAIN = frozenset(
    {
        "Browser.getVersion",
        "Browser.getWindowForTarget",
        "Target.attachToBrowserTarget",
        "Target.detachFromTarget",
        "Target.getTargetInfo",
        "Target.getTargets",
        "Target.setAutoAttach",
        "Target.setDiscoverTargets",
    }
)
_OF_PAGE = frozenset(
    {
        "Browser.getVersion",
        "Browser.getWindowBounds",
        "Browser.getWindowForTarget",
        "Browser.setWindowBounds",
        "Target.detachFromTarget",
        "Target.getTargetInfo",
        "Target.setAutoAttach",
    }
)
"""Commands about the browser that a client may send in a session of a page."""
_OF_BROWSER = ("Browser.", "Target.")
_DOWNLOADS = ("Browser.setDownloadBehavior", "Page.setDownloadBehavior")
"""Commands about where downloads go; the keeper has said that (`replaywright.keeper.chromium.remote_downloads`)."""
_ANSWERED: tuple[str, Mapping[str, Any]] = ("Browser.getVersion", {})
"""Sent instead of a command that has nothing to do: its client waits for an answer."""
_SCHEMES = frozenset({"http", "https", "about", "blob", "data", "javascript", ""})
"""Schemes of addresses that a client may open; `file:` and `chrome:` lead to the browser's host and its settings."""
_NO_DROP = (
    "files cannot be dropped on a page of a remote browser, as they are not on its host: leave `drop` out, and give "
    "them to the file field or to the button that opens the file chooser"
)


class ContextLimits:
    """The limits of one context's clients."""

    def __init__(self, uploads: Path, on_cancel: Callable[[str], None], *, tabs: Container[str]) -> None:
        """Limit clients to the pages in `tabs`, and to giving pages the files in the folder `uploads`.

        `on_cancel` is told of a download that a client has given up.
        """
        self._uploads = uploads
        self._on_cancel = on_cancel
        self._tabs = tabs
        self.context = ""
        """Id of the context; there is none before it is made."""

    def shows(self, info: Mapping[str, Any]) -> bool:
        """Return whether a target is of the context; see `ClientLimits`."""
        return info["type"] == "browser" or info.get("browserContextId") == self.context

    async def commands(
        self, method: str, params: Mapping[str, Any], *, is_of_browser: bool
    ) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
        """Yield what the browser is sent for a client's command; see `ClientLimits`."""
        if params.get("browserContextId", self.context) != self.context:
            raise CommandRefused("there is one context only")
        if urlsplit(str(params.get("url", ""))).scheme.lower() not in _SCHEMES:
            raise CommandRefused("addresses of the browser's own host are not opened in a shared browser")
        if method == "Browser.cancelDownload":
            self._on_cancel(str(params.get("guid", "")))
        if method in _DOWNLOADS:
            yield _ANSWERED
        elif is_of_browser:
            yield method, self._of_browser(method, params)
        elif method == "DOM.setFileInputFiles":
            async for command in upload_commands(params, self._uploads):
                yield command
        else:
            self._require_for_page(method, params)
            yield method, params

    def _of_browser(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters of a command that a client may send to the browser.

        Raises:
            CommandRefused: it may not.
        """
        if (method in _OF_TARGET or "targetId" in params) and params.get("targetId") not in self._tabs:
            raise CommandRefused("No target with given id found")
        if method in _IN_CONTEXT:
            return {**params, "browserContextId": self.context}
        if method not in _OF_TARGET and method not in _PLAIN:
            raise CommandRefused(f"{method} is not for one session of a shared browser")
        return params

    def _require_for_page(self, method: str, params: Mapping[str, Any]) -> None:
        """Refuse what a client may not send to a page.

        Raises:
            CommandRefused: it may not.
        """
        if method.startswith(_OF_BROWSER) and (method not in _OF_PAGE or "targetId" in params):
            raise CommandRefused(f"{method} is not for a page of a shared browser")
        if method == "Input.dispatchDragEvent" and params.get("data", {}).get("files"):
            raise CommandRefused(_NO_DROP)

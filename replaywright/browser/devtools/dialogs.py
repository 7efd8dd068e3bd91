"""Dialogs: each is answered at once, by the step that causes it or with dismissal, and recorded."""

import contextlib
from collections.abc import Iterator

from playwright.async_api import Dialog
from playwright.async_api import Error as PlaywrightError

from replaywright.browser.devtools.evidence import DIALOG_LIMIT, TEXT_LIMIT, Recorder
from replaywright.browser.tabs import Tabs
from replaywright.domain.common.text import shorten
from replaywright.domain.secrets.secret_sites import refusal
from replaywright.domain.task.steps import Answer
from replaywright.ports.browser import Work

BEFORE_UNLOAD = "beforeunload"


class DialogHandler:
    """Answers the dialogs of all tabs.

    A declared answer is for dialogs that the step causes. Dialogs before its input, in other tabs and between steps
    are dismissed.
    """

    def __init__(self, tabs: Tabs) -> None:
        self._tabs = tabs
        self._is_leaving = False
        self._work: Work | None = None
        self._earlier: list[str] = []

    @contextlib.contextmanager
    def leaving(self) -> Iterator[None]:
        """Let pages be left without their consent: their state is not needed any more."""
        self._is_leaving = True
        try:
            yield
        finally:
            self._is_leaving = False

    def declare(self, work: Work) -> None:
        """Use the answers of this step from now on."""
        self._work = work

    def note(self, text: str) -> None:
        """Remember something that no step caused, for the next report."""
        if len(self._earlier) < DIALOG_LIMIT:
            self._earlier.append(text)

    def earlier(self) -> tuple[str, ...]:
        """Return the dialogs from before the present step acted, or elsewhere; each once."""
        earlier, self._earlier = tuple(self._earlier), []
        return earlier

    async def answer(self, dialog: Dialog) -> None:
        """Answer one dialog and remember it."""
        recorder = self._tabs.recorder
        ours = recorder is not None and self._tabs.is_step_page(dialog.page)
        answer, text = self._answer(recorder if ours else None)
        why = self._refusal(dialog) if text is not None else ""
        if why:
            answer, text = "dismiss", None
        if dialog.type == BEFORE_UNLOAD and self._is_leaving:
            answer = "accept"
        outcome = {"accept": "accepted", "dismiss": "dismissed"}[answer]
        if dialog.type == "prompt" and answer == "accept" and text is not None:
            outcome = "accepted with a text"
        line = f"{shorten(f'{dialog.type}: {dialog.message}', TEXT_LIMIT)} ({outcome})"
        line += f"; {why}" if why else ""
        if recorder is not None and ours:
            recorder.dialog(dialog.type, line, accepted=answer == "accept")
        else:
            self.note(f"{line} before the step acted" if recorder is None else f"{line} in another tab")
        try:
            if answer == "dismiss":
                await dialog.dismiss()
            elif dialog.type == "prompt" and text is not None:
                await dialog.accept(text)
            else:
                await dialog.accept(dialog.default_value if dialog.type == "prompt" else "")
        except PlaywrightError:  # the page is gone, and the dialog with it
            pass
        finally:
            self._tabs.pulse.beat()

    def _refusal(self, dialog: Dialog) -> str:
        """Return why the step's text must not go to the page that asks; "" if it may.

        Only the top document's site can open a prompt, and the page cannot navigate while it is open.
        """
        page = dialog.page
        return refusal(self._work.dialog_secrets, [page.url] if page is not None else []) if self._work else ""

    def _answer(self, recorder: Recorder | None) -> tuple[Answer, str | None]:
        if recorder is None or self._work is None:
            return "dismiss", None
        return self._work.step.answer_to(recorder.asked), self._work.dialog_text

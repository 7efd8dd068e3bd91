"""What the webmail keeps: the judge's record of sent messages, drafts, settings and the current skin.

`sent.jsonl` is written before the sender gets an answer and is never rewritten except by a reset: one line there is
one message that the site accepted, whatever the browser or the automation believes.
"""

import json
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from demo.webmail.skins import Skin, skin_from


class Draft(BaseModel):
    """A message as the compose page holds it."""

    model_config = ConfigDict(frozen=True)

    id: str = ""
    to: str = ""
    cc: str = ""
    subject: str = ""
    body: str = ""
    priority: str = "Normal"


class SentMessage(Draft):
    """A message that the site accepted, as one line of `sent.jsonl`."""

    time: datetime
    skin: str
    """The skin that was current when the message arrived."""


class Settings(BaseModel):
    """What the settings page edits."""

    model_config = ConfigDict(frozen=True)

    display_name: str = "Demo Account"
    signature: str = ""
    compact_list: bool = False


_DRAFTS = TypeAdapter(list[Draft])


class MailStore:
    """Files in one directory; one process writes them. `skin` may be written by anybody, at any time."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._sent_file = directory / "sent.jsonl"
        self._drafts_file = directory / "drafts.json"
        self._settings_file = directory / "settings.json"
        self._skin_file = directory / "skin"
        self._key_file = directory / "session.key"
        self.discarded = 0
        """How many messages were thrown away by Discard since the start or the last reset."""
        self._sent_file.touch()
        if not self._key_file.exists():
            self._key_file.touch(mode=0o600)
            _replace(self._key_file, secrets.token_hex(32))

    @property
    def session_key(self) -> bytes:
        """Signs session cookies; kept, so that a restart of the site logs nobody out."""
        return self._key_file.read_bytes()

    @property
    def skin(self) -> str:
        """The current skin as text; `classic` when the file is missing or names none that exists."""
        try:
            return str(skin_from(self._skin_file.read_text()))
        except (FileNotFoundError, ValueError):
            return str(Skin("classic"))

    @skin.setter
    def skin(self, text: str) -> None:
        _replace(self._skin_file, str(skin_from(text)))

    def send(self, draft: Draft) -> SentMessage:
        """Append the message to `sent.jsonl`; it is on disk when this returns."""
        message = SentMessage(
            **draft.model_dump(exclude={"id"}), id=secrets.token_hex(6), time=datetime.now(UTC), skin=self.skin
        )
        with self._sent_file.open("a", encoding="utf-8") as file:
            file.write(message.model_dump_json() + "\n")
            file.flush()
            os.fsync(file.fileno())
        if draft.id:
            self.delete_draft(draft.id)
        return message

    def sent(self) -> list[SentMessage]:
        """Every message ever accepted, oldest first."""
        lines = self._sent_file.read_text(encoding="utf-8").splitlines()
        return [SentMessage.model_validate_json(line) for line in lines]

    def drafts(self) -> list[Draft]:
        """Saved drafts, the last saved one last."""
        if not self._drafts_file.exists():
            return []
        return _DRAFTS.validate_json(self._drafts_file.read_bytes())

    def save_draft(self, draft: Draft) -> Draft:
        """Add the draft, or replace the one with its id."""
        saved = draft if draft.id else draft.model_copy(update={"id": secrets.token_hex(6)})
        self._write_drafts([*(other for other in self.drafts() if other.id != saved.id), saved])
        return saved

    def delete_draft(self, draft_id: str) -> None:
        """Remove the draft with this id, if there is one."""
        self._write_drafts([draft for draft in self.drafts() if draft.id != draft_id])

    def settings(self) -> Settings:
        """What was saved last, or the defaults."""
        if not self._settings_file.exists():
            return Settings()
        return Settings.model_validate_json(self._settings_file.read_bytes())

    def save_settings(self, settings: Settings) -> None:
        """Keep these settings in place of the old ones."""
        _replace(self._settings_file, settings.model_dump_json())

    def reset(self) -> None:
        """Forget messages, drafts and settings; the skin and the sessions stay."""
        self._sent_file.write_text("")
        self._drafts_file.unlink(missing_ok=True)
        self._settings_file.unlink(missing_ok=True)
        self.discarded = 0

    def _write_drafts(self, drafts: list[Draft]) -> None:
        _replace(self._drafts_file, json.dumps([draft.model_dump() for draft in drafts]))


def _replace(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new, never half of it."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.touch(mode=0o600)
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)

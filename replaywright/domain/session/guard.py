"""What the browser itself keeps to while a step is performed: files that go in and out, and tabs that open."""

import mimetypes
import posixpath

from replaywright.domain.common.base import Record

_SAY_NOTHING = frozenset(
    {
        "",
        "application/binary",
        "application/download",
        "application/force-download",
        "application/octet-stream",
        "application/x-download",
        "binary/octet-stream",
        "text/plain",
    }
)
"""Types that servers give to files of every kind: then only the name tells."""
_KNOWN = mimetypes.MimeTypes(filenames=())
for _program in ("x-msdownload", "x-msdos-program", "vnd.microsoft.portable-executable"):
    _KNOWN.add_type(f"application/{_program}", ".exe")
_MB = 1024 * 1024


class Refusal(Record):
    """A rule that forbids something."""

    rule: str
    """Its name: who wrote it, and the field, such as `policy 'back-office': actions.deny`."""
    reason: str
    """What it forbids, and what to do about it."""

    @property
    def message(self) -> str:
        """The whole of it in one line."""
        return f"{self.rule}: {self.reason}"


class UploadRoots(Record):
    """Folders that files may be uploaded from."""

    rule: str
    folders: tuple[str, ...]

    def refuses(self, path: str) -> Refusal | None:
        """Why the file at this absolute path, without links and `..`, may not be uploaded."""
        if any(posixpath.commonpath((root, path)) == root for root in map(posixpath.normpath, self.folders)):
            return None
        shown = ", ".join(self.folders) or "none"
        return Refusal(
            rule=self.rule, reason=f"{path!r} is in none of the folders that files may be uploaded from: {shown}"
        )


class FileTypes(Record):
    """Which kinds of files may be taken from a site."""

    rule: str
    types: tuple[str, ...]

    def refuses(self, name: str, mime: str) -> Refusal | None:
        """Why a file of this name, which the server sent as `mime` ("" if nobody knows), may not be taken."""
        shown = ", ".join(self.types) or "none"
        if not any(name.lower().endswith(f".{kind}") for kind in self.types):
            return Refusal(rule=self.rule, reason=f"{name[:100]!r} is of none of the allowed types ({shown})")
        plain = mime.partition(";")[0].strip().lower()
        known = () if plain in _SAY_NOTHING else _KNOWN.guess_all_extensions(plain, strict=False)
        endings = {kind.rpartition(".")[2] for kind in self.types}
        if known and endings.isdisjoint(each.lstrip(".") for each in known):
            said = f"{name[:100]!r} was sent as {plain[:60]}, which is none of the allowed types ({shown})"
            return Refusal(rule=self.rule, reason=said)
        return None


class Most(Record):
    """A number that something may reach, and which rule says so."""

    rule: str
    value: float


class Guard(Record):
    """The part of a policy that the browser keeps to."""

    uploads: tuple[UploadRoots, ...] = ()
    """All of them have to hold a file."""
    types: tuple[FileTypes, ...] = ()
    """All of them have to have a file's type."""
    bytes: Most | None = None
    """Of one downloaded file; None is without limit."""
    popups: Most | None = None
    """Tabs that may still open; one beyond is closed at once. None is without limit."""

    def refuses_file(self, name: str, mime: str, size: int) -> Refusal | None:
        """Why a file that a site sends may not be taken; `size` is what is known of its bytes."""
        for kind in self.types:
            if (refusal := kind.refuses(name, mime)) is not None:
                return refusal
        if self.bytes is not None and size > self.bytes.value:
            said = f"{name[:100]!r} has {size} bytes or more, and {self.bytes.value:.0f} are allowed"
            return Refusal(rule=self.bytes.rule, reason=said)
        return None

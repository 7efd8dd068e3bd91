"""Rules that the browser enforces during a step: uploads, downloads and popups."""

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
"""Types that servers give to files of any kind; only the name counts then."""
_KNOWN = mimetypes.MimeTypes(filenames=())
for _program in ("x-msdownload", "x-msdos-program", "vnd.microsoft.portable-executable"):
    _KNOWN.add_type(f"application/{_program}", ".exe")


class Refusal(Record):
    """A refusal by a rule."""

    rule: str
    """Author and field, such as `policy 'back-office': actions.deny`."""
    reason: str
    """The prohibition and its remedy."""

    @property
    def message(self) -> str:
        """Rule and reason in one line."""
        return f"{self.rule}: {self.reason}"


class UploadRoots(Record):
    """Folders that files may be uploaded from."""

    rule: str
    folders: tuple[str, ...]

    def refuses(self, path: str) -> Refusal | None:
        """Return the refusal of the file at this absolute path without links and `..`."""
        if any(posixpath.commonpath((root, path)) == root for root in map(posixpath.normpath, self.folders)):
            return None
        shown = ", ".join(self.folders) or "none"
        return Refusal(
            rule=self.rule, reason=f"{path!r} is in none of the folders that files may be uploaded from: {shown}"
        )


class FileTypes(Record):
    """Types of files that may be downloaded."""

    rule: str
    types: tuple[str, ...]

    def refuses(self, name: str, mime: str) -> Refusal | None:
        """Return the refusal of a download with this name and `mime` type ("" if unknown)."""
        shown = ", ".join(self.types) or "none"
        if not any(name.lower().endswith(f".{kind}") for kind in self.types):
            return Refusal(rule=self.rule, reason=f"{name[:100]!r} is of none of the allowed types ({shown})")
        plain = mime.partition(";")[0].strip().lower()
        known = () if plain in _SAY_NOTHING else _KNOWN.guess_all_extensions(plain, strict=False)
        endings = {kind.rpartition(".")[2] for kind in self.types}
        if known and endings.isdisjoint(each.lstrip(".") for each in known):
            reason = f"{name[:100]!r} was sent as {plain[:60]}, which is none of the allowed types ({shown})"
            return Refusal(rule=self.rule, reason=reason)
        return None


class RuleLimit(Record):
    """A limit with its rule."""

    rule: str
    value: float


class StepGuard(Record):
    """The part of a policy that the browser enforces."""

    uploads: tuple[UploadRoots, ...] = ()
    """A file must be in a folder of each."""
    types: tuple[FileTypes, ...] = ()
    """A file must have a type of each."""
    bytes: RuleLimit | None = None
    """Size limit of a download; None for no limit."""
    popups: RuleLimit | None = None
    """Tabs that may still open; further ones are closed at once. None for no limit."""

    def refuses_file(self, name: str, mime: str, size: int) -> Refusal | None:
        """Return the refusal of a download; `size` is its known size in bytes."""
        for kind in self.types:
            if (refusal := kind.refuses(name, mime)) is not None:
                return refusal
        if self.bytes is not None and size > self.bytes.value:
            reason = f"{name[:100]!r} has {size} bytes or more, and {self.bytes.value:.0f} are allowed"
            return Refusal(rule=self.bytes.rule, reason=reason)
        return None

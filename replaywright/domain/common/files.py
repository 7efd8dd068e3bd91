"""Safe file names for the names that pages suggest."""

import unicodedata

NAME_LIMIT = 120
"""Characters of a file name; the extension is kept."""
EXTENSION_LIMIT = 16
_UNUSABLE = frozenset('<>:"|?*')
"""Characters that some file system refuses."""
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})


def safe_name(suggested: str) -> str:
    r"""Return the last part of `suggested` as a plain file name: never empty, a path or hidden.

    It drops control characters, those that change the writing direction (`invoice\u202efdp.exe`), and leading and
    trailing dots and spaces; device names get an underscore.
    """
    base = unicodedata.normalize("NFC", suggested).replace("\\", "/").rpartition("/")[2]
    plain = "".join(
        "_" if character in _UNUSABLE else character
        for character in base
        if not unicodedata.category(character).startswith("C")
    )
    name = " ".join(plain.split()).strip(". ")
    if name.partition(".")[0].lower() in _RESERVED:
        name = f"_{name}"
    if len(name) > NAME_LIMIT:
        stem, dot, extension = name.rpartition(".")
        kept = f"{dot}{extension}" if stem and len(extension) <= EXTENSION_LIMIT else ""
        name = name[: NAME_LIMIT - len(kept)].rstrip(". ") + kept
    return name or "download"

"""How visible text is compared: what a reader sees as the same must compare equal."""

import re
import unicodedata

_QUOTES = str.maketrans({"‘": "'", "’": "'", "‚": "'", "‛": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_INVISIBLE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff\u00ad\u200b-\u200f\u2060\ufeff]")
_SPACE = re.compile(r"\s+")
_LIVE = re.compile(r"(?=://)|(?<=www)(?=\.)|(?=@)|(?<=\])(?=[(\[])|(?<=<)(?=[a-z/!?])", re.IGNORECASE)
_LINKED = re.compile(r"(?=://)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)


def normalise(text: str) -> str:
    """NFKC, icon-font glyphs and invisible characters dropped, quotes made equal, spaces collapsed, case folded.

    The page script has the same function (`normalise` in `browser/page/text.js`); a test compares the two.
    """
    if text.isascii():
        return _SPACE.sub(" ", text).strip().lower()
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_QUOTES)
    return _SPACE.sub(" ", plain).strip().lower()


def tokens(text: str) -> frozenset[str]:
    """The words of a normalised text; for scripts without spaces, its single characters."""
    return frozenset(re.findall(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W_]+", normalise(text)))


def shorten(text: str, limit: int = 80) -> str:
    """At most `limit` characters, with an ellipsis when something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def inert(text: str) -> str:
    """`text` on one line, without what Markdown or HTML would act on.

    What Temporal's UI makes a link of without any markup, addresses of pages and of people, has an invisible word
    joiner in it that breaks it.
    """
    escaped = re.sub(r"([\\`*_\[\]<>#|~!&])", r"\\\1", " ".join(text.split()))
    return _LINKED.sub("\u2060", escaped)


def unlinked(text: str) -> str:
    """`text` on one line and as it reads: for what is shown as plain text in one place and as Markdown in another.

    Where Markdown would make a link, a picture or a tag of it, an invisible word joiner breaks it.
    """
    return _LIVE.sub("\u2060", " ".join(text.split()))


def code_span(text: str) -> str:
    """`text` on one line as Markdown code, whatever it holds: nothing acts on it there."""
    line = " ".join(text.split())
    if not line:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


_DIRECTIONS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """`text` on one line, without control and direction characters."""
    return still(" ".join(text.split()))


def still(line: str) -> str:
    """A line whose spaces and tabs stay, without other control and direction characters."""
    return "".join(
        "�" if c != "\t" and (unicodedata.category(c) in {"Cc", "Cs"} or c in _DIRECTIONS) else c for c in line
    )

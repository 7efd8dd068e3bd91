"""Checks of a probe that a model proposes, before anybody opens it."""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote, urlsplit

from replaywright.domain.common.templates import fill, malformed_in, parameters_in, secrets_in
from replaywright.domain.common.urls import web_address
from replaywright.domain.proof.probing import SiteProbe
from replaywright.domain.proof.proof import is_same_site
from replaywright.errors import InputInvalid, ProbeRefused

TEXTS_LIMIT = 3
"""Maximum texts that a probe looks for."""
TELLING = 4
"""Minimum length of a parameter's value that identifies one step."""
NOBODY = "zq{number}nobodyhasthis"
"""Placeholder value that never occurred on the site, for a negative trial of a probe."""
_ACTING = re.compile(
    r"\b(accept|approve|buy|cancel|checkout|close|confirm|decline|delete|destroy|disable|log(off|out)|pay|purchase|reject|"
    r"remove|reset|revoke|send|sign(off|out)|submit|unsubscribe|update)\b"
)
"""Words in the path or query of an address whose opening may have an effect."""


def checked_probe(
    url: str, shows: Iterable[str], *, values: Mapping[str, str], page: str, seen: Iterable[str]
) -> SiteProbe:
    """Return the probe that a model proposes, if it may be tried.

    Args:
        url: template of the address to open.
        shows: templates of texts.
        values: of the task's parameters.
        page: address of the page that the step led to.
        seen: addresses that its links lead to.

    Raises:
        ProbeRefused: it breaks a rule.
    """
    texts = tuple(dict.fromkeys(text.strip() for text in shows if text.strip()))
    if not 1 <= len(texts) <= TEXTS_LIMIT:
        raise ProbeRefused(f"it looks for 1 to {TEXTS_LIMIT} texts; this one has {len(texts)}")
    for text in (url, *texts):
        if secrets_in(text) or malformed_in(text) is not None:
            raise ProbeRefused(f"{text!r} uses a secret, or braces that are no parameter")
        if unknown := parameters_in(text) - values.keys():
            raise ProbeRefused(f"{text!r} uses {min(unknown)!r}, which is none of the task's parameters")
    named = frozenset().union(*map(parameters_in, texts))
    if not any(len(values[name].strip()) >= TELLING for name in named):
        raise ProbeRefused("no text names a parameter whose value tells this step's effect from any other's")
    _only_opens(fill(url, values), page, seen)
    return SiteProbe(url=url, shows=texts)


def _only_opens(url: str, page: str, seen: Iterable[str]) -> None:
    """Refuse an address outside the site, or one whose opening may have an effect."""
    try:
        parts = urlsplit(web_address(url).url)
    except InputInvalid as exc:
        raise ProbeRefused(f"goto may only open pages of the same site, by their whole address: {exc}") from exc
    # Another port is another server, possibly with another owner.
    same_server = parts.hostname != urlsplit(page).hostname or parts.netloc == urlsplit(page).netloc
    if not (is_same_site(parts.geturl(), page) and same_server):
        raise ProbeRefused("goto may only open pages of the same site, by their whole address")
    known = {(urlsplit(each).netloc, urlsplit(each).path.rstrip("/")) for each in (page, *seen)}
    if (parts.netloc, parts.path.rstrip("/")) not in known:
        raise ProbeRefused("goto may only open what the page links to, or the page itself")
    names = " ".join(re.findall(r"(?:^|&)([^=&]+)", parts.query))
    words = unquote(f"{parts.path} {names}").lower().replace("_", " ")
    if acting := _ACTING.search(words):
        raise ProbeRefused(f"an address with {acting[0]!r} in it may do something when it is opened")


def with_nonexistent_values(values: Mapping[str, str], probe: SiteProbe) -> dict[str, str]:
    """Replace the values that the probe uses by placeholders that never occurred."""
    named = frozenset().union(*map(parameters_in, (probe.url, *probe.shows)))
    return {**values, **{name: NOBODY.format(number=number) for number, name in enumerate(sorted(named))}}

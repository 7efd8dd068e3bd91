"""Names of everything that is kept in Redis.

Every key carries a version, the tenant, and a cluster hash tag in braces, so that what one script touches lies in one
slot. Names are percent-encoded: no tenant, lineage or key can end a tag, add a segment, or meet another's.
"""

from urllib.parse import quote

VERSION = 1
"""Of the layout: a change of it must not meet old keys."""


def _escaped(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def _key(tag: tuple[str, ...], *rest: str) -> str:
    return f"rw:{VERSION}:{{{'/'.join(map(_escaped, tag))}}}:{':'.join(rest)}"


def ledger_key(tenant: str, lineage: str, fingerprint: str) -> str:
    """Hash: what is known of one step of a lineage."""
    return _key((tenant, lineage), "ledger", _escaped(fingerprint))


def acts_key(tenant: str, lineage: str) -> str:
    """Hash: for each act of a lineage that must not be repeated, the fingerprint of the step that has it."""
    return _key((tenant, lineage), "acts")


def trace_key(tenant: str, lineage: str) -> str:
    """List: the lines of a lineage's trace, JSON, oldest first."""
    return _key((tenant, lineage), "trace")


def entry_key(tenant: str, content_key: str) -> str:
    """Hash: the versions of one entry of the action cache."""
    return _key((tenant, content_key), "entry")


def index_key(tenant: str) -> str:
    """Sorted set, all scores 0: the tenant's content keys, in the order of their bytes."""
    return _key((tenant,), "entries")


def overrides_key(tenant: str) -> str:
    """Hash: the tenant's override rules, JSON, by name."""
    return _key((tenant,), "overrides")


def check_key(nonce: str) -> str:
    """String: written, read and deleted by the start check."""
    return _key(("check", nonce), "check")

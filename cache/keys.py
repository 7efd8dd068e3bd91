"""Names of all keys in Redis.

Every key has a version, the tenant, and a cluster hash tag in braces, so that all keys of one script lie in one slot.
Names are percent-encoded: none can end a tag, add a segment, or collide.
"""

from urllib.parse import quote

VERSION = 1
"""Version of the layout: a change must not meet old keys."""


def _escaped(name: str) -> str:
    return quote(name, safe="", errors="surrogatepass")


def _key(tag: tuple[str, ...], *rest: str) -> str:
    return f"rw:{VERSION}:{{{'/'.join(map(_escaped, tag))}}}:{':'.join(rest)}"


def ledger_key(tenant: str, lineage: str, fingerprint: str) -> str:
    """Name the hash of one step of a lineage."""
    return _key((tenant, lineage), "ledger", _escaped(fingerprint))


def acts_key(tenant: str, lineage: str) -> str:
    """Name the hash of unrepeatable actions of a lineage: the fingerprint of the owner step by action."""
    return _key((tenant, lineage), "acts")


def trace_key(tenant: str, lineage: str) -> str:
    """Name the list of a lineage's trace lines, JSON, oldest first."""
    return _key((tenant, lineage), "trace")


def entry_key(tenant: str, content_key: str) -> str:
    """Name the hash with the versions of one entry of the action cache."""
    return _key((tenant, content_key), "entry")


def index_key(tenant: str) -> str:
    """Name the sorted set (scores 0) of the tenant's content keys."""
    return _key((tenant,), "entries")


def overrides_key(tenant: str) -> str:
    """Name the hash of the tenant's override rules, JSON, by name."""
    return _key((tenant,), "overrides")


def skills_key(tenant: str) -> str:
    """Name the sorted set (scores 0) of the tenant's skills as site, NUL, name."""
    return _skills_key(tenant, "skills")


def skill_changes_key(tenant: str) -> str:
    """Name the hash of change stamps: of all skills, of each site and of each skill."""
    return _skills_key(tenant, "skill-changes")


def skill_key(tenant: str, name: str) -> str:
    """Name the hash with the versions of one skill."""
    return _skills_key(tenant, "skill", name)


def skill_statuses_key(tenant: str, name: str) -> str:
    """Name the text with the last signed statuses of a skill; it outlives the skill."""
    return _skills_key(tenant, "skill-statuses", name)


def skill_statistics_key(tenant: str, name: str) -> str:
    """Name the hash with the statistics of a skill and its steps."""
    return _skills_key(tenant, "skill-statistics", name)


def skill_history_key(tenant: str, name: str) -> str:
    """Name the list of changes of a skill, JSON, oldest first; it outlives the skill."""
    return _skills_key(tenant, "skill-history", name)


def recalls_key(tenant: str) -> str:
    """Name the list of recalls and their outcomes, JSON, oldest first."""
    return _key((tenant,), "recalls")


def alerts_key(tenant: str) -> str:
    """Name the hash with the number of refused records of each kind, and the last of them."""
    return _key((tenant,), "alerts")


def _skills_key(tenant: str, what: str, *name: str) -> str:
    """Name a key in the one slot of a tenant's skills, so that one script can change them together."""
    return _key((tenant, "skills"), what, *map(_escaped, name))


def claim_key(tenant: str, claimed: str) -> str:
    """Name the expiring text with the run that learns `claimed`."""
    return _key((tenant, claimed), "claim")


def answer_key_key(tenant: str, run_id: str, question: str) -> str:
    """Name the expiring text with the private key for a question's code."""
    return _key((tenant, run_id), "answer-key", _escaped(question))


def first_start_key(tenant: str, run_id: str) -> str:
    """Name the text with the first execution of a run id."""
    return _key((tenant, run_id), "first-start")


def row_ends_key(tenant: str, batch: str, part: int) -> str:
    """Name the hash of results of the rows in one `part` of a batch, JSON, by number."""
    return _key((tenant, batch), "row-ends", str(part))


def check_key(nonce: str) -> str:
    """Name the text that the start check writes, reads and deletes."""
    return _key(("check", nonce), "check")

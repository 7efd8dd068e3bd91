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


def skills_key(tenant: str) -> str:
    """Sorted set, all scores 0: the tenant's skills, each as site, NUL, name; in the order of their bytes."""
    return _skills_key(tenant, "skills")


def skill_changes_key(tenant: str) -> str:
    """Hash: a stamp for all skills, for each site and for each skill, which is new when what is read there changed."""
    return _skills_key(tenant, "skill-changes")


def skill_key(tenant: str, name: str) -> str:
    """Hash: the versions of one skill."""
    return _skills_key(tenant, "skill", name)


def skill_statuses_key(tenant: str, name: str) -> str:
    """Text: what was signed last of a skill's statuses; it outlives the skill."""
    return _skills_key(tenant, "skill-statuses", name)


def skill_statistics_key(tenant: str, name: str) -> str:
    """Hash: how a skill and its steps went."""
    return _skills_key(tenant, "skill-statistics", name)


def skill_history_key(tenant: str, name: str) -> str:
    """List: changes of a skill, JSON, oldest first; it outlives the skill."""
    return _skills_key(tenant, "skill-history", name)


def recalls_key(tenant: str) -> str:
    """List: what was recalled and what became of it, JSON, oldest first."""
    return _key((tenant,), "recalls")


def alerts_key(tenant: str) -> str:
    """Hash: how many records of each kind were refused because of their signature, and the last of them."""
    return _key((tenant,), "alerts")


def _skills_key(tenant: str, what: str, *name: str) -> str:
    """A tenant's skills lie in one slot: a skill, its place in the index and the stamps change together."""
    return _key((tenant, "skills"), what, *map(_escaped, name))


def claim_key(tenant: str, claimed: str) -> str:
    """String that expires: the run that learns what `claimed` stands for."""
    return _key((tenant, claimed), "claim")


def answer_key_key(tenant: str, run_id: str, question: str) -> str:
    """String that expires: the private key with which a code for a question is read."""
    return _key((tenant, run_id), "answer-key", _escaped(question))


def first_start_key(tenant: str, run_id: str) -> str:
    """Text: the first execution of the run with this id."""
    return _key((tenant, run_id), "first-start")


def row_ends_key(tenant: str, batch: str, part: int) -> str:
    """Hash: how some rows of a batch ended, JSON, by number; those of one `part` of its file."""
    return _key((tenant, batch), "row-ends", str(part))


def check_key(nonce: str) -> str:
    """String: written, read and deleted by the start check."""
    return _key(("check", nonce), "check")

"""Names of all keys in Redis.

Every key has a version, the tenant, and a cluster hash tag in braces, so that all keys of one script lie in one slot.
Names are percent-encoded: none can end a tag, add a segment, or collide.
"""

import re
from typing import Final
from urllib.parse import quote

VERSION = 1
"""Version of the layout: a change must not meet old keys."""

_NAME: Final = re.compile(r"<(\w+)>")


class KeyKind:
    """A kind of key; called with the names that stand in `<>`, in their order, it returns the key's own name."""

    def __init__(self, tag: str, rest: str) -> None:
        self._text = f"rw:{VERSION}:{{{tag}}}:{rest}"
        self._wanted = _NAME.findall(self._text)

    def __call__(self, *names: str | int, **named: str | int) -> str:
        """Return the name of one key.

        Raises:
            TypeError: it has other names.
        """
        given = {**dict(zip(self._wanted, names, strict=False)), **named}
        if len(names) + len(named) != len(self._wanted) or given.keys() != set(self._wanted):
            raise TypeError(f"expected the names {', '.join(self._wanted)}, found {len(names)} and {sorted(named)}")
        return _NAME.sub(lambda name: quote(str(given[name[1]]), safe="", errors="surrogatepass"), self._text)


ledger_key = KeyKind("<tenant>/<lineage>", "ledger:<fingerprint>")
"""Hash of one step of a lineage."""
acts_key = KeyKind("<tenant>/<lineage>", "acts")
"""Hash of unrepeatable actions of a lineage: the fingerprint of the owner step by action."""
trace_key = KeyKind("<tenant>/<lineage>", "trace")
"""List of a lineage's trace lines, JSON, oldest first."""
entry_key = KeyKind("<tenant>/<content_key>", "entry")
"""Hash with the versions of one entry of the action cache."""
recipe_key = KeyKind("<tenant>/<task_key>", "requests")
"""Text with the requests behind one task's steps, and its signature."""
index_key = KeyKind("<tenant>", "entries")
"""Sorted set (scores 0) of the tenant's content keys."""
overrides_key = KeyKind("<tenant>", "overrides")
"""Hash of the tenant's override rules, JSON, by name."""

# A tenant's skills lie in one slot, so that one script can change them together.
skills_key = KeyKind("<tenant>/skills", "skills")
"""Sorted set (scores 0) of the tenant's skills as site, NUL, name."""
skill_changes_key = KeyKind("<tenant>/skills", "skill-changes")
"""Hash of change stamps: of all skills, of each site and of each skill."""
skill_key = KeyKind("<tenant>/skills", "skill:<name>")
"""Hash with the versions of one skill."""
skill_statuses_key = KeyKind("<tenant>/skills", "skill-statuses:<name>")
"""Text with the last signed statuses of a skill; it outlives the skill."""
skill_statistics_key = KeyKind("<tenant>/skills", "skill-statistics:<name>")
"""Hash with the statistics of a skill and its steps."""
skill_history_key = KeyKind("<tenant>/skills", "skill-history:<name>")
"""List of changes of a skill, JSON, oldest first; it outlives the skill."""

recalls_key = KeyKind("<tenant>", "recalls")
"""List of recalls and their outcomes, JSON, oldest first."""
alerts_key = KeyKind("<tenant>", "alerts")
"""Hash with the number of refused records of each kind, and the last of them."""
claim_key = KeyKind("<tenant>/<claimed>", "claim")
"""Expiring text with the run that learns `claimed`."""
answer_key_key = KeyKind("<tenant>/<run_id>", "answer-key:<question>")
"""Expiring text with the private key for a question's code."""
first_start_key = KeyKind("<tenant>/<run_id>", "first-start")
"""Text with the first execution of a run id."""
row_ends_key = KeyKind("<tenant>/<batch>", "row-ends:<part>")
"""Hash of results of the rows in one `part` of a batch, JSON, by number."""
check_key = KeyKind("check/<nonce>", "check")
"""Text that the start check writes, reads and deletes."""

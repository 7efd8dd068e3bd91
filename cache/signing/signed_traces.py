"""Signed lines of traces.

A line has `sig` beside its content and its link: `by` signs the content's digest and `after`, which names the last line
that the writer had seen, as `position/hash`. So a line is bound to tenant, lineage and its predecessor. Nobody without
the key can remove or move lines before the last attested one, although the server computes the chain.
"""

import json
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from cache.alerts import Alerts
from cache.keys import trace_key
from cache.scripts import APPEND, RedisCommand
from replaywright.domain.secrets.signing import Fault, Signer
from replaywright.domain.trace.trace import VERSION, content_digest, line_fault, line_signature, origin
from replaywright.errors import ValueTooLarge

LINE_LIMIT = 64 * 1024
"""Maximum bytes of a line."""
_HEADS_KEPT = 1_000


class SignedTraces:
    """Signs lines, and remembers the last line of each trace that it wrote."""

    def __init__(self, signer: Signer, alerts: Alerts) -> None:
        self._signer = signer
        self._alerts = alerts
        self._heads: OrderedDict[str, str] = OrderedDict()

    def appending(self, tenant: str, lineage: str, line: Mapping[str, Any], line_id: str = "") -> RedisCommand:
        """Return the command that appends the line.

        Raises:
            ValueTooLarge: the line is too long.
        """
        key = trace_key(tenant, lineage)
        line_id = line_id or secrets.token_hex(8)
        rest = {name: value for name, value in line.items() if name not in {"id", "at", "chain", "sig"}}
        text = json.dumps({"id": line_id, "v": VERSION, **rest}, separators=(",", ":"))
        content = content_digest(json.loads(text))
        if not self._signer.is_unsigned:
            after = self._heads.get(key, "")
            by = line_signature(self._signer, tenant, lineage, content, after)
            text = f'{text[:-1]},"sig":{json.dumps({"after": after, "by": by}, separators=(",", ":"))}}}'
        if (size := len(text.encode())) > LINE_LIMIT:
            raise ValueTooLarge(
                f"a line of the trace has {size} bytes, the limit is {LINE_LIMIT}: put large values in the artifact "
                "store"
            )
        return RedisCommand(APPEND, key, (f'"id":"{line_id}"', text, content, origin(tenant, lineage)))

    def appended(self, key: str, reply: Sequence[Any]) -> None:
        """Remember the appended line."""
        if len(reply) == 3 and not self._signer.is_unsigned:
            self._heads[key] = f"{int(reply[1])}/{bytes(reply[2]).decode()}"
            self._heads.move_to_end(key)
            while len(self._heads) > _HEADS_KEPT:
                self._heads.popitem(last=False)

    def may_be_used(self, tenant: str, lineage: str, line: Mapping[str, Any], seen: set[str]) -> bool:
        """Return True for an unaltered line that was not `seen` before; others are reported."""
        fault = line_fault(self._signer, tenant, lineage, line)
        if fault is None and not self._signer.is_unsigned:
            fault = Fault.ALTERED if str(line.get("id")) in seen else None
            seen.add(str(line.get("id")))
        if fault is not None:
            self._alerts.report(tenant, "trace", f"{trace_key(tenant, lineage)} line {line.get('id')}", fault)
        return fault is None

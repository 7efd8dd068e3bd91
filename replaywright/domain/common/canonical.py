"""Canonical JSON after RFC 8785: the same bytes wherever the same value is digested or signed."""

from typing import Any

import rfc8785

EXACT = 2**53 - 1
"""The largest integer that RFC 8785 can write."""


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of `value`.

    Raises:
        ValueError: JSON cannot carry it exactly.
    """
    return rfc8785.dumps(value)

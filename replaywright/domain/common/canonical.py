"""Canonical JSON after RFC 8785: the same bytes wherever the same value is digested or signed."""

import json
from typing import Any

import rfc8785

EXACT = 2**53 - 1
"""The largest integer that RFC 8785 can write."""
_SMALLEST, _LARGEST = 1e-4, 1e15
"""Python writes numbers between them without an exponent, too."""

_encoded = json.JSONEncoder(ensure_ascii=False, check_circular=False, sort_keys=True, separators=(",", ":")).encode


class _NotPlain(Exception):
    pass


def canonical(value: Any) -> bytes:
    """Return the canonical JSON of `value`.

    The standard library writes nearly everything, ten times as fast as rfc8785, which writes the rest.

    Raises:
        ValueError: JSON cannot carry it exactly.
    """
    try:
        return _encoded(_plain(value)).encode()
    except (_NotPlain, UnicodeEncodeError):
        return rfc8785.dumps(value)


def _plain(value: Any) -> Any:
    """Return the value, with whole numbers as integers, if the standard library writes it like RFC 8785.

    Raises:
        _NotPlain: it has another type, a number with an exponent, or a key that is not ASCII: RFC 8785 sorts by UTF-16,
            Python by code points.
    """
    kind = type(value)
    if isinstance(value, str) or value is None or kind is bool:
        return value
    if kind is dict:
        return {_plain_key(key): _plain(inner) for key, inner in value.items()}
    if kind is list or kind is tuple:
        return [_plain(inner) for inner in value]
    if kind is int and -EXACT <= value <= EXACT:
        return value
    if kind is float and (value == 0 or _SMALLEST <= abs(value) < _LARGEST):
        return int(value) if value.is_integer() else value
    raise _NotPlain


def _plain_key(key: Any) -> str:
    if type(key) is str and key.isascii():
        return key
    raise _NotPlain

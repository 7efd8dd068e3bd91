"""Runs a program under a seccomp profile as Docker would: no capabilities, no new privileges, not as root.

    python -m tests.seccomp PROFILE PROGRAM [ARGUMENT …]

Reads the profiles of Docker, with libseccomp; for x86-64 and what a container without capabilities gets of them.
"""

import ctypes
import json
import os
import sys
from collections.abc import Sequence
from ctypes.util import find_library
from typing import Any

NOBODY = 65534
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_COMPARISONS = {
    f"SCMP_CMP_{name}": number for number, name in enumerate(("NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"), 1)
}
_ALREADY_THERE = -17


class _Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def library() -> ctypes.CDLL | None:
    """libseccomp, where this machine has it."""
    name = find_library("seccomp")
    return None if name is None else ctypes.CDLL(name)


def applies(rule: dict[str, Any]) -> bool:
    """Whether a container without capabilities on x86-64 gets this rule."""
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    if includes.get("caps") or "amd64" not in includes.get("arches", ["amd64"]):
        return False
    return "amd64" not in excludes.get("arches", [])


def load(profile: dict[str, Any]) -> None:
    """Put this process, and all that come of it, under the profile."""
    seccomp = library()
    assert seccomp is not None
    seccomp.seccomp_init.restype = ctypes.c_void_p
    filter_ = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(_action(profile["defaultAction"], None))))
    for rule in filter(applies, profile["syscalls"]):
        arguments = [
            _Argument(one["index"], _COMPARISONS[one["op"]], one["value"], one.get("valueTwo", 0))
            for one in rule.get("args") or []
        ]
        for name in rule["names"]:
            number = seccomp.seccomp_syscall_resolve_name(name.encode())
            if number < 0:  # a call of another architecture, or newer than the library
                continue
            action = ctypes.c_uint32(_action(rule["action"], rule.get("errnoRet")))
            array = (_Argument * len(arguments))(*arguments)
            added = seccomp.seccomp_rule_add_array(filter_, action, number, len(arguments), array)
            assert added in (0, _ALREADY_THERE), (name, added)
    loaded = seccomp.seccomp_load(filter_)
    assert loaded == 0, loaded


def _action(name: str, errno: int | None) -> int:
    return _ALLOW if name == "SCMP_ACT_ALLOW" else _ERRNO | (errno or 1)


def main(arguments: Sequence[str]) -> None:
    """Become the program, as nobody if this is root."""
    with open(arguments[0], encoding="utf-8") as stream:  # noqa: PTH123
        profile = json.load(stream)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    load(profile)
    os.execv(arguments[1], list(arguments[1:]))


if __name__ == "__main__":
    main(sys.argv[1:])

"""The seccomp profile of browser workers is Docker's, but for what Chromium's sandbox needs."""

import json
from typing import Any

from ops.check_compose import ROOT

SECCOMP = ROOT / "ops" / "seccomp"
NEW_NAMESPACES = {
    "CLONE_NEWNS": 0x00020000,
    "CLONE_NEWCGROUP": 0x02000000,
    "CLONE_NEWUTS": 0x04000000,
    "CLONE_NEWIPC": 0x08000000,
    "CLONE_NEWUSER": 0x10000000,
    "CLONE_NEWPID": 0x20000000,
    "CLONE_NEWNET": 0x40000000,
}


def profile(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((SECCOMP / name).read_text(encoding="utf-8"))
    return loaded


def test_three_calls_are_added_three_are_left_out_and_nothing_else_differs() -> None:
    docker, ours = profile("docker-default.json"), profile("chromium.json")

    added = ours["syscalls"][len(docker["syscalls"]) :]
    for rule in docker["syscalls"]:
        rule["names"] = [name for name in rule["names"] if not name.startswith("io_uring_")]

    assert ours == {**docker, "syscalls": [*docker["syscalls"], *added]}
    assert [(rule["names"], rule["action"]) for rule in added] == [
        (["clone"], "SCMP_ACT_ALLOW"),
        (["unshare"], "SCMP_ACT_ALLOW"),
        (["chroot"], "SCMP_ACT_ALLOW"),
    ]


def test_new_namespaces_are_those_of_users_processes_and_networks_only() -> None:
    rules = {rule["names"][0]: rule["args"] for rule in profile("chromium.json")["syscalls"][-3:]}

    refused = sum(NEW_NAMESPACES[name] for name in ("CLONE_NEWNS", "CLONE_NEWCGROUP", "CLONE_NEWUTS", "CLONE_NEWIPC"))
    # The bits of the mask have to be zero.
    assert rules["clone"] == rules["unshare"] == [{"index": 0, "value": refused, "op": "SCMP_CMP_MASKED_EQ"}]

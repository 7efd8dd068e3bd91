"""Files of policies."""

from pathlib import Path

from replaywright.domain.task.policy import Policy
from replaywright.domain.task.tasks import parse_authored
from replaywright.errors import InputInvalid
from replaywright.yaml_files import parse_yaml, read_text

SETTING = "REPLAYWRIGHT_POLICY"


def read_policy(path: str) -> Policy:
    """Read the policy in this YAML file; `-` is standard input.

    Raises:
        InputInvalid: one line with file, line or field, and what was expected.
    """
    source = "standard input" if path == "-" else path
    data = parse_yaml(read_text(path, source), source)
    return parse_authored(Policy, data, source, "the fields of a policy (`replaywright admin schema --policy`)")


def operators_policy(path: Path | None) -> Policy | None:
    """Read the policy that the setting names; None where it names none.

    Raises:
        InputInvalid: it names no file, or one that is wrong. A worker without the policy that was meant would do what
            nobody allowed.
    """
    if path is None:
        return None
    try:
        return read_policy(str(path))
    except InputInvalid as exc:
        raise InputInvalid(f"{SETTING}: {exc}") from exc

"""Override rules in files: those that are shipped, beside this module, and those of a folder."""

from functools import cache
from importlib import resources
from pathlib import Path

from replaywright.domain.step.overrides import OverrideRule, merged, parse_rules
from replaywright.errors import InputInvalid
from replaywright.yaml_files import parse_yaml, read_text

SUFFIXES = (".yaml", ".yml")


@cache
def shipped_rules() -> tuple[OverrideRule, ...]:
    """The rules of this package: consent banners and offers, tried when a step is stuck."""
    files = (file for file in resources.files(__name__).iterdir() if file.name.endswith(SUFFIXES))
    texts = {file.name: file.read_text(encoding="utf-8") for file in files}
    return merged(*(parse_rules(parse_yaml(texts[name], name), name) for name in sorted(texts)))


def read_rules(path: str) -> tuple[OverrideRule, ...]:
    """The rules of one file; `-` is standard input.

    Raises:
        InputInvalid: one line with file, line or field, and what was expected.
    """
    source = "standard input" if path == "-" else path
    return parse_rules(parse_yaml(read_text(path, source), source), source)


def rules_in(folder: Path) -> tuple[OverrideRule, ...]:
    """The rules of all YAML files in `folder`, in the order of their names; none when there is no such folder.

    Raises:
        InputInvalid: the first file that is wrong, as in `read_rules`, or two files with a rule of one name.
    """
    found: dict[str, str] = {}
    rules: list[OverrideRule] = []
    try:
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as exc:
        raise InputInvalid(f"{folder}: cannot be read: {exc.strerror}; let this user read the folder") from exc
    for path in paths:
        if path.suffix.lower() not in SUFFIXES:
            continue
        for rule in read_rules(str(path)):
            if rule.name in found:
                raise InputInvalid(
                    f"{path}: rule {rule.name!r} is in {found[rule.name]} too; give one of them another name"
                )
            found[rule.name] = path.name
            rules.append(rule)
    return tuple(rules)

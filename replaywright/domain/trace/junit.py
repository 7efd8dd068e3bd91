"""Checks as JUnit XML for Jenkins, GitLab and GitHub Actions.

Each skill is a `testsuite`; each step and the final verification is a `testcase`. An unmet check is a `failure`, any
other problem an `error`; `type` is the reason's code. `system-out` names the evidence, with the line
`[[ATTACHMENT|path]]` for GitLab and Jenkins.

Texts of pages are escaped; characters that XML forbids are replaced (XML 1.0, section 2.2).
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final
from xml.etree import ElementTree as ET

from replaywright.domain.trace.checks import Case, SkillCheck

NAME: Final = "replaywright check"
_NOT_IN_XML: Final = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_MESSAGE_LIMIT: Final = 500
"""Characters of the attribute `message`; the element has the whole text."""
_NAME_LIMIT: Final = 300


def junit_xml(checks: Sequence[SkillCheck]) -> bytes:
    """Return the document in UTF-8 with its declaration."""
    root = ET.Element("testsuites", {"name": NAME, **_counts([case for each in checks for case in each.cases])})
    root.set("time", _seconds(sum(check.seconds for check in checks)))
    for check in checks:
        root.append(_suite(check))
    ET.indent(root)
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _suite(check: SkillCheck) -> ET.Element:
    suite = ET.Element("testsuite", {"name": _text(check.skill), **_counts(check.cases)})
    suite.set("time", _seconds(check.seconds))
    suite.set("timestamp", datetime.fromtimestamp(check.started, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    if check.file:
        suite.set("file", _text(check.file))
    facts = {"run": check.run_id, "note": check.note, "report": check.report}
    if any(facts.values()):
        properties = ET.SubElement(suite, "properties")
        for name, value in facts.items():
            if value:
                ET.SubElement(properties, "property", {"name": name, "value": _text(value)})
    for case in check.cases:
        suite.append(_case(case, check))
    return suite


def _case(case: Case, check: SkillCheck) -> ET.Element:
    names = {"name": _text(case.name)[:_NAME_LIMIT], "classname": f"replaywright.{_text(check.skill)}"}
    found = ET.Element("testcase", {**names, "time": _seconds(case.seconds)})
    if check.file:
        found.set("file", _text(check.file))
    match case.verdict:
        case "skipped":
            ET.SubElement(found, "skipped", {"message": _text(case.reason)})
        case "failed" | "error":
            kind = "failure" if case.verdict == "failed" else "error"
            attributes = {"type": _text(case.reason), "message": _text(case.message)[:_MESSAGE_LIMIT]}
            ET.SubElement(found, kind, attributes).text = _text("\n".join(_lines(case, check)))
            ET.SubElement(found, "system-out").text = _text("\n".join(_evidence(case, check)))
        case "passed":
            pass
    return found


def _lines(case: Case, check: SkillCheck) -> Iterator[str]:
    yield case.message
    yield from case.lines
    if check.to_do:
        yield f"what to do: {check.to_do}"


def _evidence(case: Case, check: SkillCheck) -> Iterator[str]:
    if check.run_id:
        yield f"run {check.run_id}"
    for kind, digest in case.artifacts.items():
        yield f"{kind}: artifact {digest}"
    if check.report:
        yield f"report: {check.report}"
        yield f"[[ATTACHMENT|{check.report}]]"


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    verdicts = [case.verdict for case in cases]
    return {
        "tests": str(len(verdicts)),
        "failures": str(verdicts.count("failed")),
        "errors": str(verdicts.count("error")),
        "skipped": str(verdicts.count("skipped")),
    }


def _seconds(seconds: float) -> str:
    return f"{max(0.0, seconds):.3f}"


def _text(text: str) -> str:
    return _NOT_IN_XML.sub("�", text)

"""JUnit XML of checks: what Jenkins, GitLab and GitHub's actions read, whatever the texts are."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.trace.checks import Case, SkillCheck
from replaywright.domain.trace.junit import junit_xml

# What the schema that Jenkins publishes for JUnit results allows (junit-10.xsd of its xUnit plugin), and beside that
# `file`, which GitLab, CircleCI and pytest know.
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out", "system-err"},
    "properties": {"property"},
    "property": set(),
    "testcase": {"skipped", "error", "failure", "system-out", "system-err"},
    "skipped": set(),
    "error": set(),
    "failure": set(),
    "system-out": set(),
}
REQUIRED = {"testsuite": {"name", "tests"}, "testcase": {"name"}, "property": {"name", "value"}}
ALLOWED = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "file"},
    "testcase": {"name", "classname", "time", "file"},
    "property": {"name", "value"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"message"},
}

FAILED = Case(
    name="2. click Send",
    verdict="failed",
    seconds=0.25,
    reason="not_found",
    message="no button <Send> & more",
    lines=("page: http://shop.example/",),
    artifacts={"screenshot": "abc123"},
)
ONE = SkillCheck(
    skill="send-mail",
    verdict="failed",
    file="checks/send-mail.yaml",
    run_id="send-mail/-/1",
    reason="not_found",
    to_do="look at it",
    started=1_700_000_000.5,
    seconds=1.5,
    report="reports/send-mail.html",
    cases=(
        Case(name="1. goto x", verdict="passed", seconds=0.5),
        FAILED,
        Case(name="3. click Sent", verdict="skipped", reason="not reached"),
    ),
)


def read(document: bytes) -> ET.Element:
    """The document, held against the schema."""
    root = ET.fromstring(document)
    assert root.tag == "testsuites"
    for parent in root.iter():
        assert {child.tag for child in parent} <= CHILDREN[parent.tag]
        assert REQUIRED.get(parent.tag, set()) <= set(parent.attrib) <= ALLOWED.get(parent.tag, set())
        for name in {"tests", "failures", "errors", "skipped"} & set(parent.attrib):
            assert int(parent.attrib[name]) >= 0
        assert float(parent.get("time", "0")) >= 0
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        assert int(suite.attrib["failures"]) == sum(case.find("failure") is not None for case in cases)
        assert int(suite.attrib["errors"]) == sum(case.find("error") is not None for case in cases)
        assert int(suite.attrib["skipped"]) == sum(case.find("skipped") is not None for case in cases)
    return root


def test_a_skill_is_a_suite_and_each_of_its_steps_a_case() -> None:
    [suite] = read(junit_xml([ONE]))

    assert suite.attrib == {
        "name": "send-mail",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "1.500",
        "timestamp": "2023-11-14T22:13:20",
        "file": "checks/send-mail.yaml",
    }
    assert [case.get("name") for case in suite.iter("testcase")] == ["1. goto x", "2. click Send", "3. click Sent"]
    assert {case.get("classname") for case in suite.iter("testcase")} == {"replaywright.send-mail"}
    assert [case.get("time") for case in suite.iter("testcase")] == ["0.500", "0.250", "0.000"]


def test_a_failure_says_why_what_to_do_and_where_the_evidence_is() -> None:
    [suite] = read(junit_xml([ONE]))

    [failure] = suite.iter("failure")
    [output] = suite.iter("system-out")
    assert failure.attrib == {"type": "not_found", "message": "no button <Send> & more"}
    assert failure.text == "no button <Send> & more\npage: http://shop.example/\nwhat to do: look at it"
    assert output.text is not None
    assert output.text.splitlines() == [
        "run send-mail/-/1",
        "screenshot: artifact abc123",
        "report: reports/send-mail.html",
        "[[ATTACHMENT|reports/send-mail.html]]",
    ]


def test_what_says_nothing_of_the_skill_is_an_error() -> None:
    case = Case(name="begin the run", verdict="error", reason="SecretMissing", message="PASSWORD is not set")

    [suite] = read(junit_xml([SkillCheck(skill="pay", verdict="error", cases=(case,))]))

    assert [each.get("type") for each in suite.iter("error")] == ["SecretMissing"]
    assert not list(suite.iter("failure"))


def test_the_document_counts_all_suites() -> None:
    root = read(junit_xml([ONE, ONE.model_copy(update={"skill": "another"})]))

    assert (root.get("tests"), root.get("failures"), root.get("skipped"), root.get("time")) == ("6", "2", "2", "3.000")


@pytest.mark.parametrize(
    "text",
    ["]]>", "<!-- -->", '"><script>', "\x00\x08\x1b[31m", "￾￿", "\ud800", "&amp;&#0;", "a\nb", "💸", "\x85\u2028"],
)
def test_no_text_breaks_the_document(text: str) -> None:
    case = FAILED.model_copy(update={"name": text, "message": text, "reason": text, "lines": (text,)})
    check = ONE.model_copy(update={"cases": (case,), "to_do": text, "note": text, "file": f"x{text}"})

    [suite] = read(junit_xml([check]))

    assert len(list(suite.iter("failure"))) == 1
    assert not list(suite.iter("script"))


@given(st.text())
def test_any_text_comes_back_but_for_what_xml_cannot_hold(text: str) -> None:
    case = FAILED.model_copy(update={"message": text, "lines": ()})
    check = ONE.model_copy(update={"cases": (case,), "to_do": ""})

    [suite] = read(junit_xml([check]))

    [failure] = suite.iter("failure")
    assert len(failure.text or "") == len(text.replace("\r\n", "\n"))
    for given_letter, letter in zip(text.replace("\r\n", "\n"), failure.text or "", strict=True):
        assert letter in (given_letter, "\n" if given_letter == "\r" else "�")


def test_a_long_message_is_cut_in_the_attribute_only() -> None:
    case = FAILED.model_copy(update={"message": "x" * 5000})

    [suite] = read(junit_xml([ONE.model_copy(update={"cases": (case,)})]))

    [failure] = suite.iter("failure")
    assert len(failure.attrib["message"]) == 500
    assert failure.text is not None
    assert failure.text.startswith("x" * 5000)

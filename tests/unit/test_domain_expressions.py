"""Regular expressions of files: RE2's syntax, bounded time and memory, and the same meaning in exported scripts."""

import json
import re
import resource
import shutil
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.common import expressions
from replaywright.domain.predicate.predicates import UrlMatches
from replaywright.domain.step.overrides import Preference
from replaywright.domain.task.steps import CellTest
from replaywright.export import patterns

CATASTROPHIC = (
    r"^(\w+\s?)*$",
    r"(a+)+$",
    r"(a|a)*$",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(.*a){20}",
    r"(x+x+)+y",
    "(a?){30}a{30}",
)


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_a_pattern_that_backtracks_without_end_elsewhere_is_answered_at_once(pattern: str) -> None:
    began = time.process_time()

    expressions.found_in(pattern, "a" * 30 + "!")
    expressions.found_in(pattern, "a" * 1_000_000 + "!")

    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("pattern", "remedy"),
    [
        ("(?=a)b", "look-around is not supported"),
        ("(?!a)b", "look-around is not supported; write a second condition"),
        ("(?<=a)b", "look-around is not supported"),
        ("(?<!a)b", "look-around is not supported"),
        (r"(a)\1", "back references are not supported"),
        ("(?P<x>a)(?P=x)", "back references are not supported"),
        (r"a\Z", r"write \z for the end of the text"),
        ("a++", "possessive repetition is not supported"),
        ("((a{100}){100}){100}", "repetitions may come to 1000"),
        (r"\p{L}{1,900}\p{L}{1,100}", "use fewer repetitions"),
        ("a" * 1_001, "1000 characters at most"),
        ("(", "missing )"),
    ],
)
def test_what_re2_does_not_know_is_refused_with_the_field_the_pattern_and_the_remedy(pattern: str, remedy: str) -> None:
    for model, data in (
        (UrlMatches, {"url_matches": pattern}),
        (CellTest, {"matches": pattern}),
        (Preference, {"among": {"role": "link"}, "order": "lowest", "by": pattern}),
    ):
        with pytest.raises(ValueError, match=re.escape(remedy)) as refused:
            model.model_validate(data)
        assert next(iter(set(data) & {"url_matches", "matches", "by"})) in str(refused.value)


def test_a_pattern_takes_a_bounded_part_of_memory() -> None:
    script = (
        "from replaywright.domain.common import expressions\n"
        "for n in range(200):\n"
        "    try: expressions.found_in(r'(\\p{L}|\\p{N}){1,%d}x' % (n % 20 + 1) + str(n), 'é' * 20_000)\n"
        "    except expressions.Unusable: pass\n"
        "from pathlib import Path\n"
        "[peak] = [line.split()[1] for line in Path('/proc/self/status').open() if line.startswith('VmHWM:')]\n"
        "print(int(peak) // 1024)"  # not `ru_maxrss`, which a child takes over from the process that forked it
    )

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))

    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, preexec_fn=limited, check=True
    )

    assert int(done.stdout) < 250


def test_classes_mean_ascii_and_letters_of_any_language_are_asked_for_by_name() -> None:
    assert not expressions.found_in(r"\d", "٣")
    assert not expressions.found_in(r"^\w$", "é")
    assert expressions.found_in(r"^\p{L}$", "é")
    assert expressions.found_in("(?i)É", "é")
    assert not expressions.found_in("a$", "a\n")
    assert expressions.found_in(r"a\ud".replace("ud", "."), "a.\ud800")


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_pattern_is_refused_or_answered_whatever_it_is(pattern: str, text: str) -> None:
    try:
        expressions.check(pattern)
    except expressions.Unusable:
        return
    expressions.found_in(pattern, text)
    expressions.part_found(pattern, text)


@given(st.text(max_size=30))
def test_the_value_of_a_parameter_is_found_as_it_is(value: str) -> None:
    if "\ud7ff" < max(value, default="") < "\ue000" or any("\ud800" <= one <= "\udfff" for one in value):
        return
    assert expressions.found_in("^" + re.escape(value) + "$", value)


PIECES = (
    r"\d",
    r"\w",
    r"\s",
    r"\D",
    r"\W",
    r"\S",
    r"\b",
    "$",
    "^",
    ".",
    "a",
    "É",
    "[a-c]",
    r"[^\d]",
    r"[\s_]",
    "[]a]",
    "[^]]",
    "(?:a|b)",
    "(?P<n>a)",
    "x?",
    r"\.",
    r"\z",
    r"\x41",
    "[:/]",
)
TEXTS = ("", "a", "É", "é", "a b", "a\u00a0b", "٣", "3", "_", "a\x0bb", "]", "b.", "Ax", ":", "ſ", "a-É")


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5), st.booleans(), st.sampled_from(TEXTS))
def test_python_reads_an_exported_pattern_as_re2_does(pieces: list[str], ignore_case: bool, text: str) -> None:
    pattern = ("(?i)" if ignore_case else "") + "".join(pieces)
    try:
        expressions.check(pattern)
    except expressions.Unusable:
        return
    translated = patterns.in_python(pattern)

    assert translated is None or (re.search(translated, text) is not None) == expressions.found_in(pattern, text)


def test_javascript_reads_an_exported_pattern_as_re2_does() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node on PATH")
    cases = []
    for first in PIECES:
        for second in ("", *PIECES):
            try:
                expressions.check(first + second)
            except expressions.Unusable:
                continue
            found = patterns.shared(first + second)
            if found is not None:
                source = "".join(part if isinstance(part, str) else part.literal or "" for part in found.parts)
                cases.append([source, [expressions.found_in(first + second, text) for text in TEXTS]])

    script = (
        "const [cases, texts] = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "for (const [source, wanted] of cases) texts.forEach((text, at) => {"
        " if (new RegExp(source).test(text) !== wanted[at]) console.log(source, JSON.stringify(text), wanted[at]); });"
    )
    done = subprocess.run(
        [node, "-e", script], input=json.dumps([cases, TEXTS]), capture_output=True, text=True, timeout=60, check=True
    )

    assert len(cases) > 300
    assert done.stdout == ""


@pytest.mark.parametrize(
    "pattern", [r"\pLa", r"[[:alpha:]]", r"\Qa.b\E", r"(?s:.)", r"\x{1F600}", r"[\S]", r"(?U)a*", r"\C"]
)
def test_what_re2_alone_knows_is_in_no_script(pattern: str) -> None:
    assert patterns.shared(pattern) is None
    assert patterns.in_python(pattern) is None

"""Texts of tasks and pages in scripts: whatever they hold, they stay texts."""

import ast
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.domain.skill.skills import Skill
from replaywright.export import Format, Recordings
from replaywright.export.quoting import plain, python_body, python_raw, python_string, typescript_string
from tests.exports.node_packages import node_packages
from tests.exports.samples import recorded, skill_of, written

NASTY = (
    '"',
    "'",
    "\"'",
    "\\",
    '\\"',
    "\\'",
    "\n",
    "\r\n",
    "\t",
    "\x00",
    "\x1b[31m",
    "\x7f\x85",
    "\u2028",
    "\u2029",
    "\u202e",
    "\ud800",
    "\udfff\ud800",
    "\U0001f680",
    "\U000e0041",
    "${1+1}",
    "`${process.exit(1)}`",
    "{to}",
    "{{",
    "}}",
    "{0!r:>{1}}",
    "%s %(x)d",
    "</script><script>alert(1)</script>",
    "<!--",
    "*/ throw 1; /*",
    "// @ts-nocheck",
    '"""',
    "'''",
    '\\"""',
    "# type: ignore",
    "# noqa",
    "\\N{BULLET}",
    "\\u0022",
    "$(rm -rf /)",
    "__import__('os').system('id')",
    "eval(atob('YQ=='))",
    "a" * 300,
    "x y " * 60,
    "发送邮件",
    " leading and trailing ",
)
WORDS = "words_of_an_attacker"


_LITERAL = r'"(?:[^"\\]|\\.)*"'
_CONDITION = rf"""(?:
    location\.href\.includes\({_LITERAL}\)
  | document\.(?:title|body\.innerText)\.toLowerCase\(\)\.includes\({_LITERAL}\.toLowerCase\(\)\)
)"""
_EXPRESSION = re.compile(_CONDITION, re.VERBOSE)


def hostile_texts(number: int) -> list[str]:
    """Sums of nasty texts, the same ones every time."""
    choose = random.Random(71)
    sums = ["".join(choose.choices(NASTY, k=choose.randint(2, 5))) for _ in range(number)]
    return [*NASTY, *sums]


def in_a_task(text: str) -> str:
    """What a task may hold of it: its data is Unicode, and what looks like a parameter is refused there."""
    return text.encode("utf-8", "replace").decode().replace("{{", "{ {").replace("}}", "} }")


def everywhere(hostile: str) -> tuple[Skill, Recordings]:
    """A skill with the text wherever people, models and pages can write one."""
    text = in_a_task(hostile)
    named = text if text.strip() else "x"
    query = {"role": "button", "name": named}
    skill = skill_of(
        [
            {"action": "goto", "url": f"https://shop.example/{text}", "expect": [{"url_contains": named}]},
            {"action": "fill", "instruction": named, "value": text},
            {"action": "fill", "instruction": f"the field {named}", "value": f"{text}{{{{to}}}}{text}"},
            {"action": "click", "instruction": "ask", "dialog": "accept", "dialog_text": text, "target": query},
            {"action": "select_option", "instruction": "list", "value": text, "target": {"css": named}},
            {
                "action": "wait_for",
                "expect": [
                    {"text_contains": named},
                    {"title_contains": f"{named}{{{{to}}}}"},
                    {"value_equals": text, "of": {"label": named}},
                    {"text_equals": text, "of": {"role": "row", "text": named}},
                    {"any_of": [{"exists": query}, {"not_": {"url_contains": named}}]},
                    {"exists": {"role": "link", "name_in": [named, "b"]}},
                ],
            },
            {"action": "extract", "fields": {named[:30]: {"take": "text", "find": {"placeholder": named}}}},
        ],
        goal=text,
        parameters={"to": {"description": text, "default": text, "example": text}},
    )
    skill = skill.model_copy(update={"label": text, "description": text})
    seen = {"tag": "input", "role": "textbox", "name": named, "label": named, "css": f'[title="{WORDS}"]'}
    other = {"tag": "div", "attributes": {"data-testid": named}, "text": named, "container": f'form "{named}"'}
    return skill, recorded(skill, {1: seen, 2: other})


def identifiers(text: str) -> set[str]:
    """What stands in a program as code."""
    tree = ast.parse(text)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@given(st.text(alphabet=st.characters(codec=None)))  # surrogates too
def test_a_literal_of_python_is_the_text(text: str) -> None:
    for literal in (python_string(text), python_raw(text)):
        assert ast.literal_eval(literal) == text
        assert "\n" not in literal


@given(st.text(), st.text())
def test_an_f_string_is_the_text_with_the_value_in_it(before: str, after: str) -> None:
    literal = f'f"{python_body(before, chr(34), formatted=True)}{{value}}{python_body(after, chr(34), formatted=True)}"'

    assert eval(literal, {"value": "{x}"}) == f"{before}{{x}}{after}"


@given(st.text())
def test_a_comment_is_one_line_of_what_can_be_seen(text: str) -> None:
    assert plain(text).isprintable()
    assert len(plain(text).splitlines()) <= 1


@pytest.mark.parametrize("form", [Format.PYTHON, Format.PYTEST])
def test_hostile_texts_are_no_code_of_a_program(form: Format) -> None:
    usual = identifiers(written(*everywhere("plain words"), form)) | {"element", "row", "value"}

    for hostile in hostile_texts(60):
        text = written(*everywhere(hostile), form)
        compile(text, "script.py", "exec", dont_inherit=True)
        assert identifiers(text) <= usual, hostile
        assert WORDS not in text


def test_programs_with_hostile_texts_are_as_the_formatter_and_the_linter_want_them(tmp_path: Path) -> None:
    for number, hostile in enumerate(hostile_texts(12)):
        for form in (Format.PYTHON, Format.PYTEST):
            text = written(*everywhere(hostile), form)
            (tmp_path / f"{form}_{number}.py").write_text(text, encoding="utf-8", newline="\n")

    for command in (["format", "--check"], ["check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3_000:]


def test_hostile_texts_stay_texts_in_a_recording() -> None:
    for hostile in hostile_texts(60):
        skill, recordings = everywhere(hostile)
        steps = skill.task.steps
        # What the format has no words for is refused, and is not what is looked at here.
        able = skill.model_copy(update={"task": skill.task.model_copy(update={"steps": (*steps[:3], *steps[4:])})})

        text = written(able, recordings, Format.DEVTOOLS, to=hostile)

        data = json.loads(text)
        assert data["title"] == plain(in_a_task(hostile)) or not plain(hostile)
        assert in_a_task(hostile) + hostile + in_a_task(hostile) in [step.get("value") for step in data["steps"]]
        for step in data["steps"]:
            if expression := step.get("expression"):
                assert expression.isascii()
                assert re.fullmatch(_EXPRESSION, expression), expression
        assert not set(text) & set("\u2028\u2029\ud800\x85")


_READER = """
import { readFileSync } from 'node:fs';
import ts from 'typescript';
for (const text of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  const file = ts.createSourceFile('a.ts', text, ts.ScriptTarget.ES2022, true);
  const names = new Set();
  const literals = new Set();
  const visit = (node) => {
    if (ts.isIdentifier(node)) names.add(node.text);
    if (ts.isStringLiteralLike(node)) literals.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(file);
  const faults = file.parseDiagnostics.map((one) => one.messageText);
  console.log(JSON.stringify({ faults, names: [...names], literals: [...literals] }));
}
"""


def read_by_typescript(folder: Path, texts: list[str]) -> list[dict[str, Any]]:
    """What the compiler's parser makes of each: faults, names and literals."""
    (folder / "node_modules").symlink_to(node_packages() / "node_modules")
    (folder / "read.mjs").write_text(_READER, encoding="utf-8")
    (folder / "texts.json").write_text(json.dumps(texts), encoding="ascii")
    command = ["node", "read.mjs", "texts.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return [json.loads(line) for line in done.stdout.decode("utf-8", "surrogatepass").split("\n") if line]


@pytest.mark.slow
def test_hostile_texts_are_no_code_of_a_test_in_typescript(tmp_path: Path) -> None:
    texts = hostile_texts(60)
    literals = "\n".join(f"f({typescript_string(text)});" for text in texts)

    usual, alone, *read = read_by_typescript(
        tmp_path,
        [
            written(*everywhere("plain words"), Format.TYPESCRIPT),
            literals,
            *(written(*everywhere(text), Format.TYPESCRIPT) for text in texts),
        ],
    )

    assert usual["faults"] == alone["faults"] == []
    assert alone["literals"] == list(dict.fromkeys(texts))
    for text, one in zip(texts, read, strict=True):
        assert one["faults"] == [], text
        names = {re.sub(r"^(element|row|value)\d*$", "element", name) for name in one["names"]}
        assert names <= {*usual["names"], "element"}, text
        assert any(in_a_task(text) in literal for literal in one["literals"]), text
